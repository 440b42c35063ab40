"""Frames a second of a scene by the same roofline: vertices, triangles and pixels as work."""

from dataclasses import dataclass
from typing import Any

from whygpu.engine import UserError
from whygpu.measure.machine import Machine
from whygpu.predict.names import hardware

__all__ = ["Drawing", "drawing"]

VERTEX_FLOP = 2 * 16 + 2 * 9 + 20
"""A 4x4 and a 3x3 product, the perspective division and the viewport."""
VERTEX_BYTES = 32 + 32
"""Read position and normal, write the transformed vertex."""
TRIANGLE_FLOP = 60
"""Set-up: three edge functions and their area."""
PIXEL_FLOP = 2 * 9 + 2 * 18 + 60
"""Edge functions, interpolation of six attributes, shading."""
PIXEL_BYTES = 4 + 4 + 8
"""Depth read and written once more than hidden, colour written."""
OVERDRAW = 2.5
"""Fragments tested a covered pixel: assumed (a scene of a few layers, drawn unsorted)."""
COVERED = 0.7
"""Share of the picture that is covered: assumed."""
ARITHMETIC, BANDWIDTH = 0.15, 0.6
"""Shares of the datasheet's rates that rasterisers reach: assumed; a frame is many small dependent steps."""
FRAME_SECONDS = {"gpu": 0.2e-3, "soc": 0.3e-3, "cpu": 0.1e-3}
"""Starting and showing a frame: assumed."""
SPREAD = 2.5
"""The band is a factor of so much each way: no measurements of other machines stand behind this."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A frame's work and time on a machine."""

    machine: Machine
    triangles: int
    width: int
    height: int
    flop: float
    bytes: float
    arithmetic_seconds: float
    bandwidth_seconds: float

    @property
    def seconds(self) -> float:
        """Expected, of one frame."""
        fixed = FRAME_SECONDS.get(self.machine.kind, 0.2e-3)
        return fixed + max(self.arithmetic_seconds / ARITHMETIC, self.bandwidth_seconds / BANDWIDTH)

    @property
    def binds(self) -> str:
        """``arithmetic``, ``bandwidth`` or ``launches``."""
        parts = {
            "arithmetic": self.arithmetic_seconds / ARITHMETIC,
            "bandwidth": self.bandwidth_seconds / BANDWIDTH,
            "launches": FRAME_SECONDS.get(self.machine.kind, 0.2e-3),
        }
        return max(parts, key=lambda name: parts[name])

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "machine": self.machine.name,
            "triangles": self.triangles,
            "size": [self.width, self.height],
            "flop": self.flop,
            "bytes": self.bytes,
            "frames_per_second": 1 / self.seconds,
            "frames_per_second_p10": 1 / self.seconds / SPREAD,
            "frames_per_second_p90": SPREAD / self.seconds,
            "frames_per_second_bound": 1 / max(self.arithmetic_seconds, self.bandwidth_seconds),
            "binds": self.binds,
            "basis": "assumed",
        }


def frame_work(triangles: int, width: int, height: int) -> tuple[float, float]:
    """FLOP and bytes of one frame: half as many vertices as triangles (closed meshes), fragments by
    overdraw."""
    vertices = triangles / 2 + 2
    fragments = COVERED * OVERDRAW * width * height
    flop = vertices * VERTEX_FLOP + triangles * TRIANGLE_FLOP + fragments * PIXEL_FLOP
    size = vertices * VERTEX_BYTES + triangles * 12 + fragments * PIXEL_BYTES + width * height * 4
    return flop, size


def drawing(on: Machine | str, *, triangles: int, size: tuple[int, int]) -> Drawing:
    """What a scene of so many triangles costs at that picture size.

    Raises
    ------
    UserError
        For impossible numbers, or a machine without a float32 rate.
    """
    machine = on if isinstance(on, Machine) else hardware(on)
    if not 1 <= triangles <= 10**12:
        raise UserError(f"triangles: {triangles} is not possible; give 1 to 1,000,000,000,000")
    rate = machine.flops.get("fp32")
    if rate is None:
        raise UserError(f"{machine.name} has no published float32 rate; nothing can be said of drawing")
    flop, moved = frame_work(triangles, *size)
    return Drawing(machine, triangles, *size, flop, moved, flop / rate.value, moved / machine.bandwidth.value)
