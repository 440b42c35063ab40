"""The lab while it runs: thinker, scenes, ledger, runs; who draws and who thinks take turns."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from whygpu import engine, models, predict, think
from whygpu.engine import Backend
from whygpu.lab.frames import FrameRequest, frame
from whygpu.lab.history import History, default_file
from whygpu.lab.live import Live
from whygpu.lab.options import hosted
from whygpu.lab.roots import Roots
from whygpu.lab.runs import Runs
from whygpu.lab.scenes import Scenes
from whygpu.lab.thinker import Thinker
from whygpu.lab.turns import Turns

__all__ = ["Lab"]

OF_A_MODEL = ("readings", "lengths", "job", "exhibits")
"""What ``shared`` holds that belongs to the model."""


class Lab:
    """Everything that the views share; ``close`` it in the end."""

    def __init__(
        self,
        model: think.Model,
        backend: Backend,
        *,
        place: str = models.DEFAULT,
        roots: Sequence[str] = (),
        history: Path | None = None,
        **how: Any,
    ) -> None:
        self.backend = backend
        self.turns, self.live = Turns(), Live()
        named = Roots(roots)
        self.scenes = Scenes(named)
        self.history = History(history or default_file())
        self.runs = Runs(self.history, self.turns)
        self.shared: dict[str, Any] = {}
        """Exhibits' numbers, found out once."""
        self.host = hosted(model, place, named, self.forget, turns=self.turns, heard=self.live.hear, **how)

    @property
    def thinker(self) -> Thinker:
        """Who answers now; raises ``Busy`` while another model is being loaded."""
        return self.host.thinker

    @property
    def model(self) -> think.Model:
        """What it thinks with."""
        return self.host.thinker.model

    def told(self) -> dict[str, Any]:
        """What the pages must know of the model."""
        a = self.model.architecture
        return {
            "name": a.name,
            "layers": a.layers,
            "heads": a.heads,
            "d_model": a.d_model,
            "context": self.thinker.context,
            "invented": self.model.invented,
            "chat": self.model.chat_template is not None,
        }

    def forget(self) -> None:
        """What was found out with the model that goes."""
        with self.turns:  # an exhibit may just use it
            for name in OF_A_MODEL:
                self.shared.pop(name, None)

    def warm(self) -> None:
        """Compile what is not compiled yet: later it would be a visitor who waits."""
        self.thinker.warm()
        with self.turns, engine.using(self.backend):
            predict.inference("llama-3.1-8b", "RTX 4090")  # reads its tables once
            frame(
                self.scenes.scene("cube"),
                FrameRequest.model_validate({"width": 64, "height": 64}),
                self.backend,
            )

    def close(self) -> None:
        """End what runs; the thinker ends by itself."""
        self.runs.close()
        self.history.close()
        self.scenes.close()
