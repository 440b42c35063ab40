"""Frames become a file: GIF, WebP, APNG, AVIF, one PNG, or MP4."""

import importlib
import io
from collections.abc import Iterable
from typing import Any

from whygpu.engine import UserError
from whygpu.story.exhibits.base import Frame
from whygpu.story.exhibits.raster import Rasteriser

__all__ = ["FORMATS", "encode"]

FORMATS = ("gif", "webp", "apng", "avif", "png", "mp4")


def encode(frames: Iterable[Frame], form: str, size: tuple[int, int], theme: str = "light") -> bytes:
    """The loop as a file's bytes; of a ``png`` the first frame alone.

    Raises
    ------
    UserError
        For a format that is unknown, or ``mp4`` without PyAV or of an odd size.
    """
    if form not in FORMATS:
        raise UserError(f"format {form!r} is unknown; known: {', '.join(FORMATS)}, html")
    brush = Rasteriser(size, theme)
    pictures, times = [], []
    photographic = False
    for frame in frames:
        pictures.append(brush.draw(frame.shapes))
        times.append(frame.milliseconds)
        photographic = photographic or any(shape.kind == "image" for shape in frame.shapes)
        if form == "png":
            break
    if form == "mp4":
        return _mp4(pictures, times)
    stream = io.BytesIO()
    first, rest = pictures[0], pictures[1:]
    more: dict[str, Any] = {} if form == "png" else {"save_all": True, "append_images": rest, "loop": 0}
    if form != "png":
        more["duration"] = times
    if form == "webp":
        more |= (
            {"quality": 82, "method": 2} if photographic else {"lossless": True, "quality": 40, "method": 2}
        )
    elif form == "avif":
        more |= {"quality": 70, "speed": 9}
    elif form == "gif":
        palette = _palette(pictures)
        first, *rest = (picture.quantize(palette=palette, dither=0) for picture in pictures)
        more |= {"append_images": rest, "optimize": False, "disposal": 1}
    first.save(stream, {"apng": "PNG", "png": "PNG"}.get(form, form.upper()), **more)
    return stream.getvalue()


def _palette(pictures: list[Any]) -> Any:
    """256 colours that serve a sample of the frames, so that none of them flickers."""
    from PIL import Image

    sample = pictures[:: max(1, len(pictures) // 6)]
    width, height = sample[0].size
    sheet = Image.new("RGB", (width, height * len(sample)))
    for row, picture in enumerate(sample):
        sheet.paste(picture, (0, row * height))
    return sheet.quantize(256, method=Image.Quantize.MEDIANCUT)


def _mp4(pictures: list[Any], times: list[int]) -> bytes:
    try:
        av: Any = importlib.import_module("av")
    except ImportError as error:
        raise UserError("mp4 needs PyAV; pip install 'whygpu[video]', or write .webp") from error
    if any(side % 2 for side in pictures[0].size):
        raise UserError(f"mp4: {pictures[0].size} has an odd side; both must be even")
    stream = io.BytesIO()
    with av.open(stream, "w", format="mp4") as container:
        video = container.add_stream("libx264", rate=1000 // _tick(times))
        video.width, video.height = pictures[0].size
        video.pix_fmt = "yuv420p"
        video.options = {"crf": "20", "preset": "veryfast"}
        for picture, milliseconds in zip(pictures, times, strict=True):
            frame = av.VideoFrame.from_image(picture)
            for _ in range(milliseconds // _tick(times)):
                frame.pts = None
                container.mux(video.encode(frame))
        container.mux(video.encode(None))
    return stream.getvalue()


def _tick(times: list[int]) -> int:
    return min(times)
