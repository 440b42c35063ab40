"""A machine as predictions see it: roofs, memory and price, each figure with its basis and source."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from whygpu.engine.basis import Basis
from whygpu.engine.errors import UserError

__all__ = ["DTYPES", "KINDS", "Figure", "Machine", "dtype_key"]

KINDS = ("cpu", "gpu", "soc", "npu", "tpu")

DTYPES = ("fp64", "fp32", "tf32", "fp16", "fp16_fp16acc", "fp8", "fp4", "int8")
"""Number formats of the dense peaks. fp16 stands for bf16 too and sums in fp32; ``fp16_fp16acc``
sums in fp16 (twice as fast on GeForce cards, too coarse for long sums)."""

_SYNONYMS = {
    "float64": "fp64",
    "double": "fp64",
    "float32": "fp32",
    "float": "fp32",
    "float16": "fp16",
    "bfloat16": "fp16",
    "bf16": "fp16",
    "half": "fp16",
}


def dtype_key(name: str) -> str:
    """``fp32`` for ``float32``, ``fp16`` for ``bfloat16`` and so on.

    Raises
    ------
    UserError
        For a name that is no number format here.
    """
    key = _SYNONYMS.get(name.lower(), name.lower())
    if key not in DTYPES:
        raise UserError(f"dtype {name!r} is unknown; known: {', '.join(DTYPES)}")
    return key


@dataclass(frozen=True, slots=True)
class Figure:
    """One number in SI units with where it comes from."""

    value: float
    basis: Basis
    source: str

    def __post_init__(self) -> None:
        if not (math.isfinite(self.value) and self.value >= 0):
            raise UserError(f"{self.source}: {self.value} is not a figure; a finite number >= 0 is needed")

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {"value": self.value, "basis": str(self.basis), "source": self.source}


@dataclass(frozen=True, slots=True)
class Machine:
    """What predictions need to know of a machine. A figure that nobody published is None, never guessed."""

    name: str
    kind: str
    """``cpu``, ``gpu``, ``soc``, ``npu`` or ``tpu``."""
    flops: Mapping[str, Figure]
    """Dense peak FLOP/s (int8: operations a second) by number format."""
    bandwidth: Figure
    """Bytes a second between memory and the chip, reading."""
    memory: Figure | None = None
    """Bytes that a model may fill."""
    launch: Figure | None = None
    """Seconds that starting one product costs beyond its work."""
    watts: Figure | None = None
    price: Figure | None = None
    """US dollars at launch."""
    hourly: Figure | None = None
    """US dollars an hour in a cloud."""
    link: Figure | None = None
    """Bytes a second to its peers, one way."""
    vendor: str = ""
    year: int | None = None
    details: Mapping[str, str] = field(default_factory=dict)
    """What sources disagree on, notes, the rest of the row."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UserError(f"{self.name}: kind {self.kind!r} is unknown; known: {', '.join(KINDS)}")
        for dtype in self.flops:
            if dtype not in DTYPES:
                raise UserError(f"{self.name}: dtype {dtype!r} is unknown; known: {', '.join(DTYPES)}")
        if not self.bandwidth.value:
            raise UserError(f"{self.name}: the memory bandwidth is 0; bytes a second are needed")

    def peak(self, dtype: str) -> Figure:
        """Peak FLOP/s in ``dtype`` (``fp16`` or ``float16`` alike).

        Raises
        ------
        UserError
            Where this machine has no figure for that number format; the message lists what it has.
        """
        key = dtype_key(dtype)
        if key not in self.flops:
            known = ", ".join(self.flops) or "no peak at all"
            raise UserError(f"{self.name}: no published peak for {key}; it has {known}")
        return self.flops[key]

    def ridge(self, dtype: str) -> float:
        """FLOP/byte at which the arithmetic and the bandwidth roof meet."""
        return self.peak(dtype).value / self.bandwidth.value

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON: FLOP/s, bytes/s, bytes, seconds, watts, US dollars."""
        single = {
            key: None if figure is None else figure.as_dict()
            for key in ("bandwidth", "memory", "launch", "watts", "price", "hourly", "link")
            for figure in [getattr(self, key)]
        }
        return {
            "name": self.name,
            "vendor": self.vendor,
            "kind": self.kind,
            "year": self.year,
            "flops": {key: figure.as_dict() for key, figure in self.flops.items()},
            **single,
            "details": dict(self.details),
        }
