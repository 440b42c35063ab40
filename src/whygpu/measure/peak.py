"""The theoretical arithmetic peak, only where clock and SIMD width are known."""

from whygpu.engine.basis import Basis
from whygpu.measure.host import Host
from whygpu.measure.machine import Figure

__all__ = ["theoretical_peak"]


def theoretical_peak(host: Host, dtype: str) -> Figure | str:
    """An upper bound on FLOP/s in ``fp32`` or ``fp64``, or the reason why there is none.

    Cores x highest clock x lanes x 2 fused multiply-adds x 2 FLOP: two vector FMA units a core is the most
    that x86 has (Intel SDM, AMD software optimisation guides), four 128-bit ones the most that Arm has.
    """
    if host.virtual:
        return "a virtual machine does not tell its clock"
    if host.clock is None:
        return "this system does not tell its clock"
    if host.cores is None:
        return "this system does not tell its physical cores"
    lanes = _lanes(host.features)
    if lanes is None:
        return "the SIMD width of this processor is not known here"
    wide, units = lanes
    per_cycle = wide * units * 2 // (2 if dtype == "fp64" else 1)
    cores = min(host.cores, host.threads)
    value = cores * host.clock * per_cycle
    formula = f"{cores} cores x {host.clock / 1e9:.2f} GHz x {per_cycle} FLOP a cycle ({units} FMA units)"
    return Figure(value, Basis.DERIVED, formula)


def _lanes(features: tuple[str, ...]) -> tuple[int, int] | None:
    """(float32 lanes, FMA units) at most."""
    if "avx512f" in features:
        return 16, 2
    if "fma" in features:
        return 8, 2
    if "asimd" in features and "sve" not in features:  # SVE's width differs from chip to chip
        return 4, 4
    return None
