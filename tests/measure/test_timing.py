"""Timings: quantiles by definition, bounded time."""

import time

import pytest

from whygpu.measure.timing import Timing, first_and_warm, summary, time_call


def test_summary_of_known_samples() -> None:
    timing = summary([5.0, 1.0, 2.0, 3.0, 4.0])
    assert (timing.minimum, timing.q1, timing.median, timing.q3, timing.maximum) == (1, 2, 3, 4, 5)
    assert timing.count == 5
    assert timing.spread == pytest.approx(2 / 3)


def test_one_sample_is_every_quantile() -> None:
    timing = summary([0.25])
    assert {timing.minimum, timing.q1, timing.median, timing.q3, timing.maximum} == {0.25}


@pytest.mark.parametrize("samples", [[0.1 + 0.2, 0.3], [1e-9, 1e-9, 1e-9], [3.3, 1.1, 2.2, 2.2]])
def test_quantiles_stay_in_order(samples: list[float]) -> None:
    t = summary(samples)
    assert t.minimum <= t.q1 <= t.median <= t.q3 <= t.maximum
    assert Timing.from_dict(t.as_dict()) == t


def test_quantiles_out_of_order_are_refused() -> None:
    values = summary([1.0, 2.0]).as_dict() | {"median": 9.0}
    with pytest.raises(ValueError, match="order"):
        Timing.from_dict(values)


def test_a_slow_call_is_sampled_and_bounded() -> None:
    calls = 0

    def slow() -> None:
        nonlocal calls
        calls += 1
        time.sleep(0.02)

    timing = time_call(slow, seconds=0.01, least=2)
    assert calls == 3  # one to warm up, two samples
    assert timing.count == 2
    assert timing.minimum >= 0.019


def test_a_sleep_takes_its_time() -> None:
    timing = time_call(lambda: time.sleep(0.002), seconds=0.1)
    assert 0.0019 < timing.minimum < 0.02


def test_a_short_call_is_timed_many_at_once() -> None:
    calls = 0

    def short() -> None:
        nonlocal calls
        calls += 1

    timing = time_call(short, seconds=0.05)
    assert calls > 10 * timing.count
    assert timing.median < 1e-5


def test_the_first_call_is_apart() -> None:
    pauses = iter([0.05])
    first, warm = first_and_warm(lambda: time.sleep(next(pauses, 0.0)), seconds=0.02)
    assert first >= 0.049
    assert warm.median < 0.01
