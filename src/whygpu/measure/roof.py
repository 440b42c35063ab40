"""The measured roofline of this machine: arithmetic and bandwidth roofs, and where they meet."""

from dataclasses import dataclass
from typing import Any

from whygpu.engine.basis import Basis
from whygpu.engine.errors import UserError
from whygpu.measure.host import Host
from whygpu.measure.machine import Figure, Machine, dtype_key
from whygpu.measure.rates import Flag, Launch, Rate

__all__ = ["Roofline"]


@dataclass(frozen=True, slots=True)
class Roofline:
    """Everything that the probe measured.

    A headline is a median; a roof (``as_machine``, ``ridge``) is the fastest repeat, as in STREAM, since
    nothing may run faster than its roof.
    """

    host: Host
    taken_at: str
    """ISO 8601, UTC."""
    seconds: float
    """How long the probe took."""
    quick: bool
    streams: str
    """``numba`` or ``numpy``: who read and wrote the buffers."""
    rates: tuple[Rate, ...]
    launches: tuple[Launch, ...]
    flags: tuple[Flag, ...] = ()
    skipped: tuple[str, ...] = ()
    """Names of the steps for which no time was left."""

    def all(self, name: str, dtype: str | None = None) -> list[Rate]:
        """Every rate of that name (``gemm``, ``gemv``, ``read``, ``copy``, ``triad``, ``L1`` ...)."""
        key = None if dtype is None else dtype_key(dtype)
        return [rate for rate in self.rates if rate.name == name and key in (None, rate.dtype)]

    def best(self, name: str, dtype: str | None = None) -> Rate:
        """The rate with the highest median: its thread count is the one to use.

        Raises
        ------
        UserError
            Where that was not measured.
        """
        rates = self.all(name, dtype)
        if not rates:
            what = name if dtype is None else f"{name} in {dtype}"
            known = ", ".join(dict.fromkeys(f"{rate.name} {rate.dtype}" for rate in self.rates))
            raise UserError(f"roofline: {what} was not measured; measured: {known or 'nothing'}")
        if rates[0].flop and name.startswith("ge"):
            return max(rates, key=lambda rate: rate.flops)
        return max(rates, key=lambda rate: rate.bandwidth)

    def gflops(self, dtype: str = "fp32") -> float:
        """GFLOP/s of the best matrix multiply (median)."""
        return self.best("gemm", dtype).flops / 1e9

    @property
    def read_bandwidth(self) -> float:
        """Bytes/s of reading memory, the fastest repeat of the best thread count: the roof for MBU."""
        return max(rate.best_bandwidth for rate in self.all("read"))

    def launch(self, name: str = "matmul") -> Launch:
        """The launch cost of that name (``numpy``, ``matmul``, ``team``); of a team, the largest."""
        found = [launch for launch in self.launches if launch.name == name]
        if not found:
            raise UserError(f"roofline: the launch cost of {name!r} was not measured")
        return max(found, key=lambda launch: launch.threads)

    def ridge(self, dtype: str = "fp32") -> float:
        """FLOP/byte at which the two roofs meet."""
        return self.as_machine().ridge(dtype)

    def as_machine(self) -> Machine:
        """This machine as the predictions take it, every figure measured here."""
        if not self.all("read"):
            raise UserError("roofline: the memory bandwidth was not measured; run it again with --force")
        read = max(self.all("read"), key=lambda rate: rate.best_bandwidth)
        flops = {}
        for dtype in ("fp64", "fp32"):
            if self.all("gemm", dtype):
                gemm = max(self.all("gemm", dtype), key=lambda rate: rate.best_flops)
                flops[dtype] = Figure(gemm.best_flops, Basis.MEASURED, self._gemm_source(gemm))
        launch = next((launch for launch in self.launches if launch.name == "matmul"), None)
        return Machine(
            name=self.host.cpu,
            kind="cpu",
            flops=flops,
            bandwidth=Figure(
                read.best_bandwidth,
                Basis.MEASURED,
                f"reading {read.bytes >> 20} MiB on {_threads(read.threads)}, best of {read.timing.count}",
            ),
            memory=Figure(float(self.host.usable_memory), Basis.MEASURED, "what the operating system allows"),
            launch=None
            if launch is None
            else Figure(launch.timing.median, Basis.MEASURED, f"a chain of {launch.chain} 4x4 products"),
            details={"measured": self.taken_at, "threads": str(self.host.threads)},
        )

    def _gemm_source(self, gemm: Rate) -> str:
        blas = self.host.blas
        m, n, k = gemm.shape
        return (
            f"({m}x{k}) @ ({k}x{n}) by {blas.name} {blas.version} ({blas.kernel}) on "
            f"{_threads(gemm.threads)}, best of {gemm.timing.count}"
        )

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "host": self.host.as_dict(),
            "taken_at": self.taken_at,
            "seconds": self.seconds,
            "quick": self.quick,
            "streams": self.streams,
            "rates": [rate.as_dict() for rate in self.rates],
            "launches": [launch.as_dict() for launch in self.launches],
            "flags": [flag.as_dict() for flag in self.flags],
            "skipped": list(self.skipped),
        }

    @classmethod
    def from_dict(cls, values: dict[str, Any], host: Host) -> "Roofline":
        """From ``as_dict``, on the same machine.

        Raises
        ------
        KeyError, TypeError, ValueError
            Where ``values`` is not a roofline of ``host``.
        """
        if values["host"]["identity"] != host.identity:
            raise ValueError("the roofline of another machine")
        return cls(
            host=host,
            taken_at=str(values["taken_at"]),
            seconds=float(values["seconds"]),
            quick=bool(values["quick"]),
            streams=str(values["streams"]),
            rates=tuple(Rate.from_dict(rate) for rate in values["rates"]),
            launches=tuple(Launch.from_dict(launch) for launch in values["launches"]),
            flags=tuple(
                Flag(str(flag["code"]), str(flag["text"]), dict(flag["values"])) for flag in values["flags"]
            ),
            skipped=tuple(str(name) for name in values["skipped"]),
        )


def _threads(count: int) -> str:
    return f"{count} thread" if count == 1 else f"{count} threads"
