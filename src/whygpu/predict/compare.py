"""Which machines to compare, and in which order."""

import functools
import tomllib
from collections.abc import Sequence
from importlib import resources

from whygpu.predict.inference import Inference

__all__ = ["ORDERS", "choose", "spread"]

ORDERS = ("price", "speed", "watts")


@functools.cache
def spread() -> tuple[str, ...]:
    """Names of a useful spread of machines."""
    text = resources.files("whygpu.predict").joinpath("data/spread.toml").read_text(encoding="utf-8")
    return tuple(tomllib.loads(text)["machines"])


def choose(
    results: Sequence[Inference],
    *,
    least: float | None = None,
    budget: float | None = None,
    order: str | None = None,
) -> list[Inference]:
    """Those that are fast enough and cheap enough, sorted.

    Parameters
    ----------
    least
        Tokens a second at batch 1, expected.
    budget
        US dollars for all devices at their launch price; machines without a price drop out.
    order
        ``price`` (cheapest first), ``speed`` (fastest first), ``watts`` (least energy a token first); None:
        as
        given. What is unknown comes last.
    """
    kept = [
        r
        for r in results
        if (least is None or r.tokens_per_second >= least)
        and (
            budget is None
            or (r.case.machine.price is not None and r.case.machine.price.value * r.case.count <= budget)
        )
    ]
    if order == "speed":
        return sorted(kept, key=lambda r: -r.tokens_per_second)
    if order == "price":
        return sorted(
            kept, key=lambda r: r.case.machine.price.value * r.case.count if r.case.machine.price else 1e18
        )
    if order == "watts":
        return sorted(kept, key=lambda r: r.joules_per_token if r.joules_per_token is not None else 1e18)
    return kept
