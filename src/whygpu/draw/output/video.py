"""MP4: H.264, 8-bit 4:2:0, which every player plays (extra ``video``: PyAV)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from whygpu.draw.output.film import Film, Picture, rgba_of
from whygpu.engine import UserError, current

__all__ = ["write"]

CODEC = "libx264"
OPTIONS = {"crf": "18", "preset": "medium"}
"""Constant quality, hard to tell from the original."""
BT709, SRGB, LIMITED = 1, 13, 1
"""Codes of ITU-T H.273: primaries and matrix, transfer function, range."""


def write(path: Path, pictures: Iterable[Picture], film: Film) -> None:
    """Write a film whose index comes first, so that a browser can play it while it loads.

    Raises
    ------
    UserError
        Where PyAV lacks the H.264 encoder.
    """
    import av

    if CODEC not in av.codecs_available:
        raise UserError(f"this PyAV has no {CODEC}; pip install --upgrade av, or write .webp")
    with av.open(str(path), "w", format="mp4", options={"movflags": "+faststart"}) as container:
        stream: Any = container.add_stream(CODEC, rate=film.rate, options=OPTIONS)
        stream.width, stream.height, stream.pix_fmt = film.width, film.height, "yuv420p"
        context = stream.codec_context
        context.thread_count = current().threads
        context.color_primaries, context.colorspace = BT709, BT709
        context.color_trc, context.color_range = SRGB, LIMITED
        for picture, ticks in zip(pictures, film.ticks, strict=True):
            rgb = np.ascontiguousarray(rgba_of(picture)[..., :3])
            frame = _in_bt709(av.VideoFrame.from_ndarray(rgb, format="rgb24"))
            for _ in range(ticks):
                frame.pts = None
                for packet in stream.encode(frame):
                    container.mux(packet)
        for packet in stream.encode(None):
            container.mux(packet)


def _in_bt709(frame: Any) -> Any:
    from av.video.reformatter import ColorRange, Colorspace, Interpolation

    return frame.reformat(
        format="yuv420p",
        src_colorspace=Colorspace.ITU709,
        dst_colorspace=Colorspace.ITU709,
        src_color_range=ColorRange.JPEG,
        dst_color_range=ColorRange.MPEG,
        interpolation=Interpolation.AREA,
    )
