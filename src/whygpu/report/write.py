"""The report folder: ``report.html``, ``results.json`` and the pictures, each whole or not at all."""

import json
from collections.abc import Mapping
from pathlib import Path

from whygpu.engine.files import write_together
from whygpu.report.page import html
from whygpu.report.pictures import check_name
from whygpu.story.exhibits import Numbers
from whygpu.story.results import Results

__all__ = ["write"]

RESERVED = ("report.html", "results.json")


def write(
    results: Results,
    folder: Path,
    *,
    language: str,
    images: Mapping[str, bytes],
    exhibits: Mapping[str, Numbers] | None = None,
) -> Path:
    """Write the report into ``folder`` (made if it is missing) and return the path of ``report.html``.

    ``images`` holds the pictures by the file names that ``results.drawings`` gives; they are written too.
    ``exhibits`` holds what each exhibit shows, by name.
    All files appear together or none does.

    Raises
    ------
    UserError
        When the folder cannot be written, the disk is full, or a picture is none.
    """
    folder = Path(folder)
    page = html(results, language=language, images=images, exhibits=exhibits)
    files = {check_name(name): data for name, data in images.items() if name not in RESERVED}
    files["results.json"] = _json(results)
    files["report.html"] = page.encode("utf-8", errors="replace")
    write_together(folder, files)
    return folder / "report.html"


def _json(results: Results) -> bytes:
    text = json.dumps(results.model_dump(mode="json"), indent=2, ensure_ascii=False, allow_nan=False)
    return f"{text}\n".encode("utf-8", errors="replace")
