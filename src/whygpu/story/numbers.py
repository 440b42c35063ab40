"""How numbers are written for people: three significant digits, SI prefixes, times in the unit that fits."""

import math

__all__ = ["count", "duration", "percent", "ratio", "si", "si_range", "significant", "size"]

YEAR = 365.25 * 86_400
_PREFIXES = ((1e18, "E"), (1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))


def significant(value: float, digits: int = 3) -> str:
    """``digits`` significant digits, with thousands separators and no exponent."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    places = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    if round(abs(value), places) >= 10 ** (digits - places) and places:  # 9.996 becomes 10.0, not 10.00
        places -= 1
    return f"{value:,.{places}f}"


def si(value: float, unit: str) -> str:
    """``1.23 GFLOP/s``: three significant digits with an SI prefix."""
    for scale, prefix in _PREFIXES:
        if abs(value) >= scale * 0.9995:
            return f"{significant(value / scale)} {prefix}{unit}".rstrip()
    return f"{significant(value)} {unit}".rstrip()


def si_range(low: float, high: float, unit: str) -> str:
    """``27.7 – 29.4 GB/s``: both ends in the prefix of the higher one."""
    scale, prefix = next((pair for pair in _PREFIXES if abs(high) >= pair[0] * 0.9995), (1.0, ""))
    return f"{significant(low / scale)} – {significant(high / scale)} {prefix}{unit}".rstrip()


def size(value: float) -> str:
    """Bytes, by powers of 1000 as memory makers write bandwidth."""
    return si(value, "B")


def duration(seconds: float) -> str:
    """A time in the unit that a person would choose, from ns to years."""
    if seconds < 0 or not math.isfinite(seconds):
        return str(seconds)
    for limit, scale, unit in ((1e-6, 1e9, "ns"), (1e-3, 1e6, "µs"), (1.0, 1e3, "ms"), (120.0, 1.0, "s")):
        if seconds < limit * 0.9995:
            return f"{significant(seconds * scale)} {unit}"
    for limit, scale, unit in ((7200.0, 60.0, "min"), (172800.0, 3600.0, "h")):
        if seconds < limit:
            return f"{significant(seconds / scale)} {unit}"
    if seconds < 2 * YEAR:
        return f"{significant(seconds / 86400)} d"
    return f"{significant(seconds / YEAR)} yr"


def count(value: float) -> str:
    """A whole number with thousands separators."""
    return f"{round(value):,}"


def ratio(value: float) -> str:
    """``12,300x``."""
    return f"{significant(value)}x"


def percent(value: float) -> str:
    """A share between 0 and 1; a small one keeps its digits, so that 0.04 % is not shown as 0."""
    value *= 100
    return f"{value:.1f} %" if value >= 1 or value == 0 else f"{significant(value, 2)} %"
