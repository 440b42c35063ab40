"""The types of file that a picture, or a row of them, can become."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from whygpu.draw.output.film import Film, Picture
from whygpu.engine import UserError

__all__ = ["FORMATS", "Format", "format_of"]

Writer = Callable[[Path, Iterable[Picture], Film], None]


@dataclass(frozen=True, slots=True)
class Format:
    """One type of file, and what it cannot do."""

    suffix: str
    """With the dot, in small letters."""
    module: str
    """In this package; its ``write`` does the work."""
    moves: bool = True
    """Whether it holds more than one picture."""
    still: bool = True
    """Whether one picture makes sense in it."""
    alpha: Literal["full", "mask", "none"] = "full"
    """``mask``: a pixel is there or not."""
    lossless: Literal["yes", "still", "no"] = "yes"
    """``still``: a single picture is kept exactly, a film is not."""
    most_pixels: int = 16384
    """Of a side."""
    most_fps: float = 1000.0
    even: bool = False
    """Whether sides must be even."""
    needs: str | None = None
    """A module that is not always installed ..."""
    extra: str = ""
    """... and the extra of ours that brings it."""

    @property
    def installed(self) -> bool:
        """Whether it can be written here."""
        return self.needs is None or importlib.util.find_spec(self.needs) is not None

    def writer(self) -> Writer:
        """What writes it: ``write(path, pictures, film)``."""
        writer: Writer = importlib.import_module(f"whygpu.draw.output.{self.module}").write
        return writer

    def check(self, film: Film, name: object) -> None:
        """Refuse, before any work, a film that this type of file cannot hold.

        Raises
        ------
        UserError
            It says what the file can hold, or what must be installed.
        """
        if not self.installed:
            raise UserError(
                f"{name}: {self.suffix} files need the extra {self.extra!r}; "
                f"pip install 'whygpu[{self.extra}]'"
            )
        if film.count > 1 and not self.moves:
            films = ", ".join(kind.suffix for kind in FORMATS.values() if kind.moves)
            raise UserError(
                f"{name}: a {self.suffix} file holds one picture, not {film.count}; use one of {films}"
            )
        if film.count == 1 and not self.still:
            raise UserError(
                f"{name}: one picture is no film; add --turntable or --animation NAME, or write a .png"
            )
        if film.transparent and self.alpha == "none":
            raise UserError(
                f"{name}: {self.suffix} files have no transparency; "
                "choose a colour as background, or write .webp, .apng or .avif"
            )
        self._check_numbers(film, name)

    def _check_numbers(self, film: Film, name: object) -> None:
        sides = (film.width, film.height)
        if max(sides) > self.most_pixels:
            raise UserError(
                f"{name}: a side of {max(sides)} pixels; {self.suffix} files hold at most {self.most_pixels}"
            )
        if self.even and (film.width % 2 or film.height % 2):
            width, height = (side + side % 2 for side in sides)
            raise UserError(
                f"{name}: {self.suffix} files need even sides, not {film.width}x{film.height}; "
                f"use {width}x{height}"
            )
        fps = 1000 / max(min(film.times), 1) if film.times else film.fps
        if film.count > 1 and not 0 < fps <= self.most_fps:
            raise UserError(
                f"{name}: {fps:g} pictures a second; {self.suffix} files show at most {self.most_fps:g}"
            )


FORMATS = {
    kind.suffix: kind
    for kind in (
        Format(".png", "png", moves=False),
        Format(".gif", "gif", alpha="mask", lossless="no", most_fps=50),  # 2/100 s: faster is shown slower
        Format(".webp", "webp", lossless="still", most_pixels=16383),
        Format(".apng", "apng"),
        Format(".avif", "avif", lossless="no"),
        Format(
            ".mp4", "video", still=False, alpha="none", lossless="no", even=True, needs="av", extra="video"
        ),
        Format(".npy", "npy"),
        Format(".npz", "npz"),
    )
}
"""By suffix."""

INSTEAD = {
    **dict.fromkeys((".bmp", ".jpg", ".jpeg", ".ppm", ".tga", ".tif", ".tiff"), ".png"),
    **dict.fromkeys((".avi", ".mkv", ".mov", ".webm"), ".mp4"),
}
"""What to write in place of other types of file that people know."""


def format_of(path: str | Path, suffix: str | None = None) -> Format:
    """The type of file that a name asks for, or a suffix that was given apart.

    Raises
    ------
    UserError
        For a suffix that is none of ours; it says which are.
    """
    suffix = Path(path).suffix.lower() if suffix is None else suffix.lower()
    kind = FORMATS.get(suffix)
    if kind is None:
        near = INSTEAD.get(suffix) or next(iter(difflib.get_close_matches(suffix, FORMATS, 1, 0.6)), None)
        hint = f"did you mean {near}? " if near else ""
        what = f"{suffix} files are not written" if suffix else "the name has no suffix"
        raise UserError(f"{path}: {what}; {hint}written are {', '.join(FORMATS)}")
    return kind
