"""The fitted constants that the package ships, and one case's time by them."""

import functools
import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from whygpu.predict.calibrate import Calibration, doubt_of
from whygpu.predict.cases import Case, group_of
from whygpu.predict.fit import Key
from whygpu.predict.read_training import TRAINING
from whygpu.predict.serving import SERVING_DENSE, SERVING_MOE
from whygpu.predict.terms import DECODE, PREFILL, Form, looseness

__all__ = ["FORMS", "Estimate", "calibration", "estimate"]

FORMS: Mapping[str, Form] = {f.name: f for f in (DECODE, PREFILL, SERVING_DENSE, SERVING_MOE, TRAINING)}

WIDEST = 0.7
"""sd of log t where nothing was measured of a runtime or a family: no more (assumed), about a factor of three
each way."""
FOREIGN = 0.3
"""sd of log t of serving on a family that no serving measurement is of (all are of data-centre NVIDIA):
measurements on RTX 3090, RTX 4090 and MI300X (llm_speed.csv, none of them fitted to here) are that far
off."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A predicted time with its band and what it is made of."""

    seconds: float
    low: float
    """p10: nine of ten are slower."""
    high: float
    """p90."""
    shares: Mapping[str, float]
    """Of the time, by term; sum 1."""
    bound: float
    """Seconds that nothing can beat: reading, or multiplying, at the datasheet's rate."""
    basis: str
    """How well the machine and model are known: measured here / fitted on itself / on its family /
    assumed."""


@functools.cache
def _stored() -> dict[str, Any]:
    text = resources.files("whygpu.predict").joinpath("data/constants.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


@functools.cache
def calibration(name: str) -> Calibration:
    """The shipped constants of a form (``decode``, ``prefill``, ``serving_dense``, ``serving_moe``,
    ``training``)."""
    row = _stored()[name]
    return Calibration(
        FORMS[name],
        row["constants"],
        row["devices"],
        row["models"],
        row["low"],
        row["high"],
        row.get("support", {}),
    )


def scale(constants: Mapping[str, float], term: tuple[Key, ...]) -> float:
    """The logarithm of what one term is multiplied with."""
    total = 0.0
    for key in term:
        if isinstance(key, str):
            total += constants.get(key, 0.0)
        else:
            total += constants.get(key[0], 0.0) * key[1]
    return total


def combine(form: Form, scaled: list[float]) -> tuple[float, list[float]]:
    """Seconds of all terms, and each one's share."""
    total, parts = 0.0, [0.0] * len(scaled)
    for group in dict.fromkeys(form.groups):
        members = [j for j, g in enumerate(form.groups) if g == group]
        if len(members) == 1:
            parts[members[0]] = scaled[members[0]]
            total += scaled[members[0]]
            continue
        top = max(*(scaled[j] for j in members), 1e-30)
        powered = [(scaled[j] / top) ** form.power for j in members]
        joint = top * sum(powered) ** (1 / form.power)
        total += joint
        for j, value in zip(members, powered, strict=True):
            parts[j] = joint * value / (sum(powered) or 1.0)
    return total, [part / total for part in parts] if total else parts


def estimate(
    form: Form, case: Case, c: Calibration | None = None, own: float | None = None, like: Case | None = None
) -> Estimate:
    """The time of one case by stored or given constants.

    Parameters
    ----------
    own
        The machine's own factor (logarithm) where it was measured here; None: that of the calibration, if it
        has one.
    like
        A case whose constants to use, where only the work differs (what would change it).
    """
    c = calibration(form.name) if c is None else c
    keys, work = form.keys(like or case), form.work(case)
    scaled = [x * math.exp(scale(c.constants, term)) for x, term in zip(work, keys, strict=True)]
    seconds, shares = combine(form, scaled)
    device = f"{group_of(case.machine)}|{case.runtime}"
    known = device in c.devices or own is not None
    seconds *= math.exp(
        (c.devices.get(device, 0.0) if own is None else own) + c.models.get(case.outline.name, 0.0)
    )
    unknown = (0.0 if known else form.device**2) + (0.0 if case.outline.name in c.models else form.model**2)
    spread = looseness(case) * math.sqrt(
        form.noise**2 + unknown + (form.source**2 if own is None else 0.0) + doubt_of(form, c, keys, shares)
    )
    if form.name.startswith("serving") and f"wF:{case.family}" not in c.constants:
        spread = math.hypot(spread, FOREIGN)
    spread = min(spread, WIDEST)
    basis = "here" if own is not None else "itself" if known else "family"
    if (
        not known
        and f"{form.terms[0][:3]}F:{case.family}" not in c.constants
        and not any(name.endswith(f"F:{case.family}") for name in c.constants)
    ):
        basis = "kin"
    joined = [(j,) for j, group in enumerate(form.groups) if group == form.groups[0]]
    alone = max(sum(work[j] for j in part) for part in form.bounds or joined)
    bound = alone if form.limit is None else form.limit(case)
    low = seconds * math.exp(c.low * spread)
    if type(case) is Case and (case.batch == 1 or not case.outline.is_mixture):  # else experts are a guess
        low = max(low, min(bound, seconds))  # no tenth of what is measured beats physics
    high = seconds * math.exp(c.high * spread)
    return Estimate(seconds, low, high, dict(zip(form.terms, shares, strict=True)), bound, basis)
