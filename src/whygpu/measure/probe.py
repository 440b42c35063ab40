"""The roofline probe: runs every measurement within its time, notes what to mistrust, keeps the result."""

import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

from whygpu.engine.cache import cache_dir
from whygpu.engine.errors import UserError
from whygpu.engine.files import write_whole
from whygpu.engine.progress import Progress, silent
from whygpu.measure.arithmetic import gemm_rates, gemv_rates
from whygpu.measure.bandwidth import buffer_bytes, cache_rates, memory_rates, thread_counts
from whygpu.measure.disturbance import Disturbance
from whygpu.measure.host import Host, this_host
from whygpu.measure.launch import launch_costs
from whygpu.measure.machine import Figure
from whygpu.measure.peak import theoretical_peak
from whygpu.measure.rates import Flag, Launch, Rate
from whygpu.measure.roof import Roofline

__all__ = ["cache_file", "flags_of", "kept_roofline", "roofline"]

FORMAT = 2
"""Of the cached file; raise it when the meaning of a figure changes."""

FULL = {"launch": 0.6, "memory": 5.0, "caches": 1.0, "gemm fp32": 4.0, "gemm fp64": 3.0, "gemv": 2.0}
QUICK = {"launch": 0.2, "memory": 1.2, "caches": 0.3, "gemm fp32": 0.9, "gemm fp64": 0.7, "gemv": 0.5}
"""Seconds planned for each step; compiling, filling buffers and random numbers come on top."""
DISTURBED = {"busy", "stolen", "battery"}
"""Flags of a result that is kept for ``DISTURBED_AGE`` seconds only: a quieter hour may follow."""
DISTURBED_AGE = 600.0
LIMITS = {False: 20.0, True: 6.0}
"""Seconds, by ``quick``: a step that would begin after the limit is skipped, and the result says so."""


def roofline(
    *,
    force: bool = False,
    quick: bool = False,
    threads: int | None = None,
    portable: bool = False,
    progress: Progress = silent,
) -> Roofline:
    """Measure this machine, or return what an earlier run measured.

    Parameters
    ----------
    force
        Measure again even where a result is kept.
    quick
        At most 6 seconds instead of 20; a kept full result serves as well.
    threads
        At most so many threads; None: as many as this process may run.
    portable
        Read and write memory with NumPy in plain threads instead of kernels.
    progress
        Told ``measure.roofline`` with the fraction done and ``step``.

    Raises
    ------
    UserError
        For a number of threads below 1 or above what this process may run.
    """
    host = this_host()
    if threads is not None and not 1 <= threads <= host.threads:
        raise UserError(f"threads: {threads} cannot be measured here; give 1 to {host.threads}")
    usable = threads or host.threads
    if not force:
        kept = _kept(host, (False, True) if quick else (False,), usable, portable)
        if kept is not None:
            return kept
    result = _Probe(host, usable, quick, portable, progress).run()
    with contextlib.suppress(UserError):  # a cache that cannot be written is no reason to fail
        save(cache_file(host, quick, usable, portable), result)
    return result


def kept_roofline() -> Roofline | None:
    """What an earlier run measured with all threads, full before quick; None: nothing. Measures nothing."""
    host = this_host()
    return _kept(host, (False, True), host.threads, portable=False)


def _kept(host: Host, kinds: tuple[bool, ...], threads: int, portable: bool) -> Roofline | None:
    """The first kept result; ``kinds`` says in which order to look for quick (True) and full ones."""
    found = (load(cache_file(host, quick, threads, portable), host) for quick in kinds)
    return next((kept for kept in found if kept is not None), None)


def cache_file(host: Host, quick: bool, threads: int, portable: bool = False) -> Path:
    """Where the roofline of this machine is kept."""
    kind = f"{'quick' if quick else 'full'}-{threads}{'-portable' if portable else ''}"
    return cache_dir() / "roofline" / f"{host.identity}-{kind}.json"


def load(path: Path, host: Host) -> Roofline | None:
    """The kept roofline; None where there is none or it is damaged, disturbed or another machine's."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        if values["format"] != FORMAT:
            return None
        kept = Roofline.from_dict(values["roofline"], host)
        age = datetime.now(UTC).timestamp() - datetime.fromisoformat(kept.taken_at).timestamp()
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    if age > DISTURBED_AGE and DISTURBED & {flag.code for flag in kept.flags}:
        return None
    return kept if kept.all("read") and kept.all("gemm", "fp32") else None


def save(path: Path, result: Roofline) -> None:
    """Keep it. Raises ``UserError`` where the folder cannot be written."""
    with write_whole(path) as temporary:
        temporary.write_text(json.dumps({"format": FORMAT, "roofline": result.as_dict()}), encoding="utf-8")


@dataclass
class _Probe:
    host: Host
    threads: int
    quick: bool
    portable: bool
    progress: Progress

    def run(self) -> Roofline:
        began = perf_counter()
        plan = QUICK if self.quick else FULL
        watch = Disturbance()
        rates: list[Rate] = []
        launches: list[Launch] = []
        skipped: list[str] = []
        size, flags = buffer_bytes(self.host)
        steps = self._steps(size)
        for number, (name, step) in enumerate(steps.items()):
            left = LIMITS[self.quick] - (perf_counter() - began)
            seconds = min(plan[name], left * plan[name] / sum(list(plan.values())[number:]))
            if left <= 0:
                skipped.append(name)
                continue
            self.progress("measure.roofline", number / len(steps), step=name)
            for result in step(seconds):
                (launches if isinstance(result, Launch) else rates).append(result)
        self.progress("measure.roofline", 1.0, step="")
        flags += [*flags_of(self.host, rates), *watch.flags(self.threads)]
        return Roofline(
            host=self.host,
            taken_at=datetime.now(UTC).isoformat(timespec="seconds"),
            seconds=perf_counter() - began,
            quick=self.quick,
            streams="numpy" if self.portable else "numba",
            rates=tuple(rates),
            launches=tuple(launches),
            flags=tuple(flags),
            skipped=tuple(skipped),
        )

    def _steps(self, size: int) -> dict[str, Callable[[float], list[Any]]]:
        """Memory before arithmetic: BLAS's threads spin for a while after a product."""
        counts = thread_counts(self.threads)
        few = [counts[0], counts[-1]] if self.quick and len(counts) > 1 else counts
        portable, progress = self.portable, self.progress
        memory = self.host.usable_memory // 8

        def gemm(dtype: str) -> Callable[[float], list[Any]]:
            return lambda seconds: gemm_rates(
                dtype, few, seconds=seconds, most_bytes=memory, progress=progress
            )

        return {
            "launch": lambda seconds: launch_costs(few, seconds=seconds, portable=portable),
            "memory": lambda seconds: memory_rates(
                size, few, seconds=seconds, portable=portable, progress=progress
            ),
            "caches": lambda seconds: cache_rates(
                self.host, self.threads, seconds=seconds, portable=portable
            ),
            "gemm fp32": gemm("fp32"),
            "gemm fp64": gemm("fp64"),
            "gemv": lambda seconds: gemv_rates(
                size, few, seconds=seconds, portable=portable, progress=progress
            ),
        }


def flags_of(host: Host, rates: list[Rate]) -> list[Flag]:
    """What the figures themselves give reason to mistrust."""
    flags: list[Flag] = []
    for dtype in ("fp32", "fp64"):
        peak = theoretical_peak(host, dtype)
        gemm = [rate for rate in rates if rate.name == "gemm" and rate.dtype == dtype]
        if isinstance(peak, str):
            if dtype == "fp32":
                flags.append(
                    Flag("peak-unknown", f"no theoretical peak to compare with: {peak}", {"reason": peak})
                )
        elif gemm and max(rate.best_flops for rate in gemm) > peak.value:
            flags.append(_above(dtype, max(rate.best_flops for rate in gemm), peak))
    cached = [rate.best_bandwidth for rate in rates if rate.name.startswith("L")]
    read = [rate.best_bandwidth for rate in rates if rate.name == "read"]
    if cached and read and max(read) > max(cached):
        text = f"memory reads at {max(read) / 1e9:.1f} GB/s, faster than any cache: the system hides one"
        flags.append(Flag("read-above-cache", text, {"rate": f"{max(read) / 1e9:.1f} GB/s"}))
    restless = [rate for rate in rates if rate.timing.spread > 0.1]
    if restless:
        worst = max(restless, key=lambda rate: rate.timing.spread)
        flags.append(
            Flag(
                "unsteady",
                f"{len(restless)} of {len(rates)} rates vary by more than 10 % between quartiles "
                f"(most: {worst.name} {worst.dtype}, {worst.timing.spread:.0%})",
                {
                    "restless": str(len(restless)),
                    "rates": str(len(rates)),
                    "worst": f"{worst.name} {worst.dtype}",
                    "spread": f"{worst.timing.spread:.0%}",
                },
            )
        )
    return flags


def _above(dtype: str, value: float, peak: Figure) -> Flag:
    text = f"{dtype} gemm measures {value / 1e9:.0f} GFLOP/s, above {peak.value / 1e9:.0f} = {peak.source}"
    values = {"dtype": dtype, "measured": f"{value / 1e9:.0f}", "peak": f"{peak.value / 1e9:.0f}"}
    return Flag("above-peak", text, {**values, "source": peak.source})
