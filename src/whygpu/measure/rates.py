"""What the probe notes: a rate with its spread, a launch cost, a flag."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from whygpu.measure.timing import Timing

__all__ = ["Flag", "Launch", "Rate"]


@dataclass(frozen=True, slots=True)
class Rate:
    """One measured rate: what ran, on how many threads, its work a call and the seconds a call."""

    name: str
    """``gemm``, ``gemv``, ``read``, ``copy``, ``triad``, or ``L1`` ... (reading within that cache)."""
    dtype: str
    """``fp32`` or ``fp64``."""
    threads: int
    shape: tuple[int, ...]
    """gemm: (m, n, k); gemv: (m, k); streams: bytes of each buffer."""
    flop: int
    bytes: int
    """What the program itself reads and writes (STREAM's convention)."""
    traffic: int
    """Bytes with write-allocate: each line that an ordinary store writes is read first."""
    timing: Timing

    @property
    def flops(self) -> float:
        """FLOP/s at the median."""
        return self.flop / self.timing.median

    @property
    def best_flops(self) -> float:
        """FLOP/s of the fastest repeat."""
        return self.flop / self.timing.minimum

    @property
    def bandwidth(self) -> float:
        """Bytes/s at the median."""
        return self.bytes / self.timing.median

    @property
    def best_bandwidth(self) -> float:
        """Bytes/s of the fastest repeat."""
        return self.bytes / self.timing.minimum

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON, with the rates in GFLOP/s and GB/s."""
        return {
            **asdict(self),
            "gflops": self.flops / 1e9,
            "best_gflops": self.best_flops / 1e9,
            "gbs": self.bandwidth / 1e9,
            "best_gbs": self.best_bandwidth / 1e9,
            "traffic_gbs": self.traffic / self.timing.median / 1e9,
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Rate":
        """From ``as_dict``; raises ``KeyError``, ``TypeError`` or ``ValueError`` where it is not one."""
        work = {key: int(values[key]) for key in ("threads", "flop", "bytes", "traffic")}
        return cls(
            name=str(values["name"]),
            dtype=str(values["dtype"]),
            shape=tuple(int(side) for side in values["shape"]),
            timing=Timing.from_dict(values["timing"]),
            **work,
        )


@dataclass(frozen=True, slots=True)
class Launch:
    """Seconds to start one small piece of work, from a chain of ``chain`` of them, each after the last."""

    name: str
    """``numpy`` (add 8 numbers), ``matmul`` (4x4 through the engine), ``team`` (the kernels' threads)."""
    threads: int
    chain: int
    timing: Timing
    """Seconds a link of the chain."""

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {**asdict(self), "microseconds": self.timing.median * 1e6}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "Launch":
        """From ``as_dict``; raises ``KeyError``, ``TypeError`` or ``ValueError`` where it is not one."""
        timing = Timing.from_dict(values["timing"])
        return cls(str(values["name"]), int(values["threads"]), int(values["chain"]), timing)


@dataclass(frozen=True, slots=True)
class Flag:
    """Something that a reader of the figures must know: a stable code, a sentence, and the values in it."""

    code: str
    text: str
    values: Mapping[str, str] = field(default_factory=dict)
    """What the sentence says, for other languages."""

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {"code": self.code, "text": self.text, "values": dict(self.values)}
