"""The lab while it runs: thinker, scenes, ledger, runs; who draws and who thinks take turns."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from whygpu import engine, predict, think
from whygpu.engine import Backend
from whygpu.lab.frames import FrameRequest, frame
from whygpu.lab.history import History, default_file
from whygpu.lab.live import Live
from whygpu.lab.runs import Runs
from whygpu.lab.scenes import Scenes
from whygpu.lab.thinker import Thinker
from whygpu.lab.turns import Turns

__all__ = ["Lab"]


class Lab:
    """Everything that the views share; ``close`` it in the end."""

    def __init__(
        self,
        model: think.Model,
        backend: Backend,
        *,
        roots: Sequence[str] = (),
        history: Path | None = None,
        **how: Any,
    ) -> None:
        self.model, self.backend = model, backend
        self.turns, self.live = Turns(), Live()
        self.scenes = Scenes(roots)
        self.history = History(history or default_file())
        self.runs = Runs(self.history, self.turns)
        self.thinker = Thinker(model, turns=self.turns, heard=self.live.hear, **how)
        self.shared: dict[str, Any] = {}
        """Exhibits' numbers, found out once."""

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
