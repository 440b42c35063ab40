"""Fitting a form of time to measurements, leaving parts out, and what is known of how far it errs."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from whygpu.predict.cases import Case, group_of
from whygpu.predict.fit import Fit, Floats, Key, Problem, fit, jacobian, name_of, problem, seconds
from whygpu.predict.terms import Form, looseness

__all__ = ["Calibration", "Fitted", "Sample", "calibrate", "doubt_of", "held_out", "refitted", "sample"]

CROWD = 0.7
"""Repeats of one case (same device, runtime, model, storage, count) share a weight that grows as n^(1 -
CROWD)."""
OUTLIER = 0.7
"""A residual of log t counts for at most so much in a device's or model's own factor."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Measured cases as the fit needs them."""

    cases: Sequence[Case]
    seconds: Floats
    weights: Floats
    device: NDArray[np.str_]
    """Chip and runtime: what has a factor of its own."""
    chip: NDArray[np.str_]
    model: NDArray[np.str_]


@dataclass(frozen=True, slots=True)
class Calibration:
    """The constants of one form, with the factors of known devices and models."""

    form: Form
    constants: Mapping[str, float]
    """Logarithms by name."""
    devices: Mapping[str, float]
    models: Mapping[str, float]
    low: float = -1.4
    high: float = 1.4
    """Quantiles 10 % and 90 % of (log measured - log predicted) / spread, over devices and models left
    out."""
    support: Mapping[str, int] = field(default_factory=dict)
    """Chips that speak for a constant."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """What a fit leaves behind for leaving parts out."""

    problem: Problem
    full: Fit


def sample(cases: Sequence[Case], measured: Sequence[float], trust: Sequence[float] | None = None) -> Sample:
    """Weights by repetition and by ``trust`` (0: a case that is only predicted)."""
    chips = [group_of(case.machine) for case in cases]
    same = [
        (chip, case.runtime, case.outline.name, case.storage.name, case.count)
        for chip, case in zip(chips, cases, strict=True)
    ]
    weight = np.ones(len(cases)) if trust is None else np.array(trust, float)
    often = Counter(key for key, w in zip(same, weight, strict=True) if w > 0)
    weight *= np.array([max(often[key], 1) ** -CROWD for key in same])
    return Sample(
        cases,
        np.array(measured, float),
        weight,
        np.array([f"{chip}|{case.runtime}" for chip, case in zip(chips, cases, strict=True)]),
        np.array(chips),
        np.array([case.outline.name for case in cases]),
    )


def matrices(form: Form, s: Sample) -> tuple[Problem, dict[str, int]]:
    """Terms and constants; what only one chip speaks for is left to that chip's own factor."""
    work, keys = [form.work(case) for case in s.cases], [form.keys(case) for case in s.cases]
    seen: dict[str, set[str]] = defaultdict(set)
    for case, chip, weight in zip(keys, s.chip, s.weights, strict=True):
        if weight > 0:
            for term in case:
                for key in term:
                    seen[name_of(key)].add(str(chip))
    kept = sorted(name for name, by in seen.items() if len(by) >= form.chips or name.endswith(":"))
    priors = {key: (centre, form.width * sd) for key, (centre, sd) in form.priors.items()}
    built = problem(work, keys, priors, form.groups, form.power, kept)
    return built, {name: len(seen[name]) for name in kept}


Factors = tuple[dict[str, float], dict[str, float], Floats]


def factors(form: Form, residual: Floats, s: Sample, weights: Floats, turns: int = 4) -> Factors:
    """Shrunk mean residual of each device and each model, and their sum for each case."""
    devices, at_device = np.unique(s.device, return_inverse=True)
    models, at_model = np.unique(s.model, return_inverse=True)
    of_device, of_model = np.zeros(len(devices)), np.zeros(len(models))
    seen_d, seen_m = (
        np.bincount(at_device, weights, len(devices)),
        np.bincount(at_model, weights, len(models)),
    )
    heavy_d, heavy_m = seen_d + (form.noise / form.device) ** 2, seen_m + (form.noise / form.model) ** 2
    clipped = np.clip(residual, -OUTLIER, OUTLIER)
    for _ in range(turns):
        of_device = np.bincount(at_device, weights * (clipped - of_model[at_model]), len(devices)) / heavy_d
        of_model = np.bincount(at_model, weights * (clipped - of_device[at_device]), len(models)) / heavy_m
    return (
        {str(d): float(v) for d, v, seen in zip(devices, of_device, seen_d, strict=True) if seen > 0},
        {str(m): float(v) for m, v, seen in zip(models, of_model, seen_m, strict=True) if seen > 0},
        of_device[at_device] + of_model[at_model],
    )


def calibrate(form: Form, s: Sample) -> tuple[Calibration, Fitted]:
    """Constants and factors of all cases with a weight."""
    p, support = matrices(form, s)
    full = fit(p, s.seconds, s.weights, form.fit_noise)
    own = np.zeros(len(s.seconds))
    devices: dict[str, float] = {}
    models: dict[str, float] = {}
    for _ in range(2):
        residual = np.log(s.seconds / seconds(p, full.theta)[0])
        devices, models, own = factors(form, residual, s, s.weights)
        full = fit(p, s.seconds / np.exp(own), s.weights, form.fit_noise, start=full.theta, steps=6)
    constants = dict(zip(full.names, full.theta.tolist(), strict=True))
    return Calibration(form, constants, devices, models, support=support), Fitted(p, full)


def refitted(c: Calibration, s: Sample) -> Fitted:
    """What ``calibrate`` leaves behind, from stored constants of the same cases (others have no weight)."""
    p, _ = matrices(c.form, s)
    theta = np.array([c.constants.get(name, centre) for name, centre in zip(p.names, p.centre, strict=True)])
    return Fitted(p, Fit(p.names, theta))


def held_out(
    form: Form,
    s: Sample,
    fitted: Fitted,
    groups: NDArray[np.str_],
    only: NDArray[np.bool_] | None = None,
    *,
    unheard: bool = False,
    steps: int = 4,
) -> tuple[Floats, Floats]:
    """(n,) seconds and spread of log t, each case predicted by constants fitted without its group.

    Groups without a case in ``only`` are skipped (nan). ``unheard``: the groups are sources.
    """
    p = fitted.problem
    at_first, _ = seconds(p, fitted.full.theta)
    found, spread = np.full(len(s.seconds), np.nan), np.full(len(s.seconds), np.nan)
    for group in np.unique(groups if only is None else groups[only]):
        at = groups == group
        weights = np.where(at, 0.0, s.weights)
        theta = fitted.full.theta
        if (s.weights[at] > 0).any():
            _, _, own = factors(form, np.log(s.seconds / at_first), s, weights)
            theta = fit(p, s.seconds / np.exp(own), weights, form.fit_noise, start=theta, steps=steps).theta
        total, _ = seconds(p, theta)
        devices, models, _ = factors(form, np.log(s.seconds / total), s, weights)
        extra = [
            devices.get(str(d), 0.0) + models.get(str(m), 0.0)
            for d, m in zip(s.device[at], s.model[at], strict=True)
        ]
        found[at] = total[at] * np.exp(extra)
        unseen = np.array([str(d) not in devices for d in s.device[at]]) * form.device**2
        unread = np.array([str(m) not in models for m in s.model[at]]) * form.model**2
        supported = ((p.z != 0) & (weights > 0)[:, None]).any(axis=0)
        _, shares = seconds(p, theta, at)
        doubt = jacobian(p, shares, at) ** 2 @ np.where(supported, 0.0, p.prior / form.width) ** 2
        loose = np.array([looseness(case) for case, here in zip(s.cases, at, strict=True) if here])
        spread[at] = loose * np.sqrt(form.noise**2 + unseen + unread + doubt + unheard * form.source**2)
    return found, spread


def doubt_of(
    form: Form, calibration: Calibration, keys: Sequence[Sequence[Key]], shares: Sequence[float]
) -> float:
    """Variance of log t by constants of a case for which nothing was measured."""
    total: dict[str, float] = defaultdict(float)
    for term, share in zip(keys, shares, strict=True):
        for key in term:
            name, value = (key, 1.0) if isinstance(key, str) else key
            if name not in calibration.constants:
                total[name] += share * value
    return sum((value * form.priors[name.split(":")[0]][1]) ** 2 for name, value in total.items())
