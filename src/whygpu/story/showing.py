"""Step 7: what the exhibits show, with what the main job has measured already."""

from typing import Any

from whygpu.engine import Progress, UserError
from whygpu.measure.roof import Roofline
from whygpu.story import exhibits
from whygpu.story.drawing import Pictures
from whygpu.story.results import Thinking

__all__ = ["exhibits_job", "show", "use_again"]

DRAWN = ("rotation", "cube", "chain", "sphere", "pipeline")
"""Exhibits of drawing ..."""
THOUGHT = ("embedding", "block", "mlp", "attention", "batch")
"""... of a model ..."""
BOTH = ("same", "roofline")
"""... and of both."""
COSTLY = ("parallel", "sphere", "batch")
"""Left out of a quick run: seconds of plain Python, eight spheres, 256 sequences."""


def exhibits_job(roofline: Roofline, model_name: str | None, progress: Progress) -> exhibits.Job:
    """A job with the roofs that the main job has measured."""
    job = exhibits.Job(model_name=model_name, progress=progress)
    job.roofline = roofline
    return job


def use_again(job: exhibits.Job, pictures: Pictures, thinking: Thinking | None, model: Any) -> None:
    """Nothing is loaded or measured again: the model and the rates are those of the main job."""
    if model is None or thinking is None:
        return
    job.model = model
    drawn = [each for each in pictures.drawings if (each.scene, each.path) == ("character", "fast")]
    if drawn and thinking.decode_tokens_per_second > 0:
        frame = drawn[0]
        scene = pictures.scenes["character"]
        job.known = exhibits.Known(scene, frame.seconds, frame.stages, 1 / thinking.decode_tokens_per_second)


def show(
    job: exhibits.Job, *, drew: bool, thought: bool, quick: bool
) -> tuple[dict[str, exhibits.Numbers], dict[str, str]]:
    """The numbers of every exhibit that fits what was run, and why any other cannot be shown."""
    missing = {
        *(() if drew else DRAWN),
        *(() if thought else THOUGHT),
        *(() if drew and thought else BOTH),
        *(COSTLY if quick else ()),
    }
    names = [name for name in exhibits.NAMES if name not in missing]
    shown: dict[str, exhibits.Numbers] = {}
    left_out: dict[str, str] = {}
    for place, name in enumerate(names):
        job.progress("exhibit.working", place / len(names), name=name)
        try:
            shown[name] = exhibits.load(name).numbers(job)
        except UserError as error:  # another model: its layers differ, its words are several tokens
            left_out[name] = str(error)
    return shown, left_out
