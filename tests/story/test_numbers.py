"""Numbers for people: the digits that they expect."""

import pytest

from whygpu.story import numbers


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, "0"),
        (1234567, "1,234,567"),
        (999.6, "1,000"),
        (99.96, "100"),
        (9.996, "10.0"),
        (1.234, "1.23"),
        (0.0456789, "0.0457"),
        (-12.34, "-12.3"),
    ],
)
def test_three_significant_digits(value: float, expected: str) -> None:
    assert numbers.significant(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1.5e9, "1.50 GFLOP/s"), (999.6e9, "1.00 TFLOP/s"), (12, "12.0 FLOP/s"), (0.5, "0.500 FLOP/s")],
)
def test_si_prefixes(value: float, expected: str) -> None:
    assert numbers.si(value, "FLOP/s") == expected


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (2.5e-9, "2.50 ns"),
        (1e-6, "1.00 µs"),
        (0.0255, "25.5 ms"),
        (1.5, "1.50 s"),
        (119, "119 s"),
        (6720, "112 min"),
        (36000, "10.0 h"),
        (518400, "6.00 d"),
    ],
)
def test_durations(seconds: float, expected: str) -> None:
    assert numbers.duration(seconds) == expected


def test_shares_ranges_and_ratios() -> None:
    assert numbers.percent(0.997) == "99.7 %"
    assert numbers.percent(0.00042) == "0.042 %"
    assert numbers.percent(1.0) == "100.0 %"
    assert numbers.percent(0) == "0.0 %"
    assert numbers.si_range(27.7e9, 29.4e9, "B/s") == "27.7 – 29.4 GB/s"
    assert numbers.si_range(0.97e9, 1.02e9, "B/s") == "0.970 – 1.02 GB/s"
    assert numbers.ratio(2046.99) == "2,047x"
