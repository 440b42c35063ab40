"""The roofline of a device behind a backend: products by number format, memory, what a launch costs.

Every time is the device's own (``Backend.seconds``: events where it has them, else waiting before and after).
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from time import perf_counter
from typing import Any

from whygpu.engine import Backend, UserError, using
from whygpu.engine.basis import Basis
from whygpu.engine.progress import Progress, silent
from whygpu.measure.machine import Figure, Machine
from whygpu.measure.timing import Timing, summary

__all__ = ["DeviceRate", "DeviceRoofline", "device_roofline", "time_on"]

SIDES = (256, 512, 1024, 2048, 4096, 8192)
BUFFER = 1 << 30
"""Bytes of the buffer that is read: above any cache."""
CHAIN = 64
"""Small products in a row, each on the result of the last, for the cost of a launch."""


@dataclass(frozen=True, slots=True)
class DeviceRate:
    """One measured rate: ``gemm`` in a number format, ``read`` or ``copy`` of memory, or ``launch``."""

    name: str
    dtype: str
    """fp32, tf32, fp16, bf16, fp8; of memory the type that was moved."""
    shape: tuple[int, ...]
    flop: int
    bytes: int
    timing: Timing

    @property
    def flops(self) -> float:
        """FLOP/s of the fastest repeat."""
        return self.flop / self.timing.minimum

    @property
    def bandwidth(self) -> float:
        """Bytes/s of the fastest repeat."""
        return self.bytes / self.timing.minimum

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "name": self.name,
            "dtype": self.dtype,
            "shape": list(self.shape),
            "flop": self.flop,
            "bytes": self.bytes,
            "timing": self.timing.as_dict(),
            "best_gflops": self.flops / 1e9,
            "best_gbs": self.bandwidth / 1e9,
            "basis": str(Basis.MEASURED),
        }


@dataclass(frozen=True, slots=True)
class DeviceRoofline:
    """What a device was measured to do, and what could not be tried."""

    device: str
    card: str
    taken_at: str
    rates: tuple[DeviceRate, ...]
    skipped: dict[str, str]
    """What was not run, and why."""

    def best(self, name: str, dtype: str | None = None) -> DeviceRate | None:
        """The fastest rate of that name."""
        found = [rate for rate in self.rates if rate.name == name and dtype in (None, rate.dtype)]
        key = (lambda rate: rate.flops) if name == "gemm" else (lambda rate: rate.bandwidth)
        return max(found, key=key, default=None)

    @property
    def dtypes(self) -> tuple[str, ...]:
        """Number formats in which products were measured."""
        return tuple(dict.fromkeys(rate.dtype for rate in self.rates if rate.name == "gemm"))

    def as_machine(self) -> Machine:
        """This device as the predictions take it, every figure measured here."""
        read = self.best("read") or self.best("copy")
        if read is None:
            raise UserError(f"{self.device}: its memory was not measured")
        flops: dict[str, Figure] = {}
        for dtype in self.dtypes:
            key = "fp16" if dtype == "bf16" else dtype
            rate = self.best("gemm", dtype)
            if rate is not None and (key not in flops or flops[key].value < rate.flops):
                flops[key] = Figure(rate.flops, Basis.MEASURED, f"{dtype} product of {rate.shape[0]} squared")
        launch = next((rate for rate in self.rates if rate.name == "launch"), None)
        return Machine(
            name=self.card,
            kind="gpu" if not self.device.endswith("cpu") else "cpu",
            flops=flops,
            bandwidth=Figure(read.bandwidth, Basis.MEASURED, f"{read.name} of {read.shape[0]} B"),
            launch=None
            if launch is None
            else Figure(launch.timing.minimum, Basis.MEASURED, f"a chain of {CHAIN} small products"),
        )

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "device": self.device,
            "card": self.card,
            "taken_at": self.taken_at,
            "rates": [rate.as_dict() for rate in self.rates],
            "skipped": self.skipped,
        }


def device_roofline(backend: Backend, *, quick: bool = False, progress: Progress = silent) -> DeviceRoofline:
    """Measure a device: each number format that its backend multiplies in, memory, the cost of a launch.

    About 10 seconds; ``quick``: 3. Sides grow while a product is short enough.
    """
    each = 0.3 if quick else 1.0
    rates: list[DeviceRate] = []
    skipped: dict[str, str] = {}
    kinds = backend.products()
    with using(backend):
        for number, (dtype, make) in enumerate(kinds.items()):
            progress("measure.device", number / (len(kinds) + 2), step=dtype)
            try:
                rates += _gemms(backend, dtype, make, each)
            except (RuntimeError, TypeError, ValueError, NotImplementedError, AttributeError) as error:
                skipped[dtype] = (str(error).strip().splitlines() or [type(error).__name__])[0][:120]
        progress("measure.device", len(kinds) / (len(kinds) + 2), step="memory")
        rates += _memory(backend, each)
        rates.append(_launch(backend, each))
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return DeviceRoofline(backend.name, backend.card, now, tuple(rates), skipped)


def time_on(backend: Backend, call: Callable[[], object], seconds: float, *, inner: int = 1) -> Timing:
    """Time ``inner`` calls at once by the device's clock until ``seconds`` are over; seconds of one."""
    for _ in range(2):  # compiled, allocated, clocked up
        backend.seconds(call)
    samples: list[float] = []
    ends = perf_counter() + seconds

    def several() -> None:
        for _ in range(inner):
            call()

    while len(samples) < 3 or (perf_counter() < ends and len(samples) < 1000):
        samples.append(max(backend.seconds(several), 1e-9) / inner)
    return summary(samples)


def _gemms(
    backend: Backend, dtype: str, make: Callable[[int], Callable[[], object]], seconds: float
) -> list[DeviceRate]:
    rates: list[DeviceRate] = []
    for side in SIDES:
        if rates and 8 * rates[-1].timing.minimum * 5 > seconds:
            break
        timing = time_on(backend, make(side), seconds / 3)
        rates.append(DeviceRate("gemm", dtype, (side, side, side), 2 * side**3, 0, timing))
    return rates


def _memory(backend: Backend, seconds: float) -> list[DeviceRate]:
    """Read (a sum) and copy of a float32 buffer."""
    xp, free = backend.xp, backend.memory()
    size = BUFFER if free is None else min(BUFFER, free // 8)
    if backend.name.endswith("cpu") or not free:
        size = min(size, 1 << 28)
    values = xp.ones(size // 4, dtype=xp.float32, device=backend.device)
    read = time_on(backend, lambda: _kept(xp.sum(values)), seconds / 2)
    copy = time_on(backend, lambda: _kept(values + 1.0), seconds / 2)
    return [
        DeviceRate("read", "fp32", (size,), size // 4, size, read),
        DeviceRate("copy", "fp32", (size,), size // 4, 2 * size, copy),
    ]


_last: list[Any] = [None]


def _kept(value: Any) -> Any:
    """Hold on to a result: a framework that sees nobody take it might not compute it."""
    _last[0] = value
    return value


def _launch(backend: Backend, seconds: float) -> DeviceRate:
    """A 4 x 4 product in a chain: what starting one costs."""
    xp = backend.xp
    a = xp.ones((4, 4), dtype=xp.float32, device=backend.device)
    b = backend.asarray([[0.25] * 4] * 4)

    def chain() -> None:
        x = a
        for _ in range(CHAIN):
            x = backend.matmul(x, b)
        _kept(x)

    timing = time_on(backend, chain, seconds / 3)
    each = summary([timing.minimum / CHAIN, timing.median / CHAIN, timing.maximum / CHAIN])
    return DeviceRate("launch", "fp32", (4, 4, 4), 128, 0, each)
