"""Fitting a form of time to measurements, leaving parts out, and what is known of how far it errs."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from whygpu.predict.cases import Case, group_of
from whygpu.predict.fit import Fit, Floats, Key, Problem, Terms, fit, problem, seconds
from whygpu.predict.terms import Form

__all__ = ["Calibration", "Sample", "calibrate", "held_out"]

CROWD = 0.7
"""Repeats of one case (same device, model, storage, count) share a weight that grows as n^(1 - CROWD)."""


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
    """Quantiles 10 % and 90 % of (log measured - log predicted) / spread, over devices left out."""
    support: Mapping[str, int] = field(default_factory=dict)
    """Devices that speak for a constant."""


def sample(cases: Sequence[Case], measured: Sequence[float], trust: Sequence[float] | None = None) -> Sample:
    """Weights by repetition and by trust."""
    chips = [group_of(case.machine) for case in cases]
    same = [
        (chip, case.runtime, case.outline.name, case.storage.name, case.count)
        for chip, case in zip(chips, cases, strict=True)
    ]
    often = Counter(same)
    weight = np.array([often[key] ** -CROWD for key in same]) * (1.0 if trust is None else np.asarray(trust))
    return Sample(
        cases,
        np.array(measured, float),
        weight,
        np.array([f"{chip}|{case.runtime}" for chip, case in zip(chips, cases, strict=True)]),
        np.array(chips),
        np.array([case.outline.name for case in cases]),
    )


def name_of(key: Key) -> str:
    """A constant's name."""
    return key if isinstance(key, str) else key[0]


def matrices(form: Form, cases: Sequence[Case], chips: Sequence[str] | NDArray[np.str_]) -> tuple[Problem, dict[str, int]]:
    """Terms and constants; a constant that only one chip speaks for is left to that chip's own factor."""
    pieces = [form.pieces(case) for case in cases]
    seen: dict[str, set[str]] = defaultdict(set)
    for (_, keys), chip in zip(pieces, chips, strict=True):
        for term in keys:
            for key in term:
                seen[name_of(key)].add(str(chip))
    kept = sorted(name for name, by in seen.items() if len(by) > 1 or name.endswith(":"))
    x = np.array([values for values, _ in pieces], float).T
    keys = tuple(tuple(keys[j] for _, keys in pieces) for j in range(len(form.terms)))
    built = problem(Terms(x, keys, form.groups, form.power), form.priors, kept)
    return built, {name: len(seen[name]) for name in kept}


def factors(form: Form, residual: Floats, s: Sample, weights: Floats, turns: int = 4) -> tuple[dict[str, float], dict[str, float], Floats]:
    """Shrunk mean residual of each device and model, and their sum for each case."""
    devices, at_device = np.unique(s.device, return_inverse=True)
    models, at_model = np.unique(s.model, return_inverse=True)
    of_device, of_model = np.zeros(len(devices)), np.zeros(len(models))
    heavy_d = np.bincount(at_device, weights, len(devices)) + (form.noise / form.device) ** 2
    heavy_m = np.bincount(at_model, weights, len(models)) + (form.noise / form.model) ** 2
    clipped = np.clip(residual, -0.7, 0.7)
    for _ in range(turns):
        of_device = np.bincount(at_device, weights * (clipped - of_model[at_model]), len(devices)) / heavy_d
        of_model = np.bincount(at_model, weights * (clipped - of_device[at_device]), len(models)) / heavy_m
    known_d = np.bincount(at_device, weights, len(devices)) > 0
    known_m = np.bincount(at_model, weights, len(models)) > 0
    return (
        {str(d): float(v) for d, v, k in zip(devices, of_device, known_d, strict=True) if k},
        {str(m): float(v) for m, v, k in zip(models, of_model, known_m, strict=True) if k},
        of_device[at_device] + of_model[at_model],
    )


def calibrate(form: Form, s: Sample) -> tuple[Calibration, Problem, Fit, Floats]:
    """Constants and factors of all cases, and what leaving out starts from."""
    p, support = matrices(form, s.cases, s.chip)
    full = fit(p, s.seconds, s.weights, form.fit_noise)
    own = np.zeros(len(s.seconds))
    for _ in range(2):
        residual = np.log(s.seconds / seconds(p.terms, p.z, full.theta)[0])
        devices, models, own = factors(form, residual, s, s.weights)
        full = fit(p, s.seconds / np.exp(own), s.weights, form.fit_noise, start=full.theta, steps=6)
    constants = dict(zip(full.names, full.theta.tolist(), strict=True))
    return Calibration(form, constants, devices, models, support=support), p, full, own


def held_out(s: Sample, p: Problem, full: Fit, own: Floats, form: Form, groups: NDArray[np.str_], steps: int = 3) -> tuple[Floats, Floats]:
    """(n,) seconds and sd of log t, each case predicted by constants fitted without its group."""
    found, spread = np.zeros(len(s.seconds)), np.zeros(len(s.seconds))
    for group in np.unique(groups):
        at = groups == group
        weights = np.where(at, 0.0, s.weights)
        part = fit(p, s.seconds / np.exp(own), weights, form.fit_noise, start=full.theta, steps=steps)
        total, shares = seconds(p.terms, p.z, part.theta)
        devices, models, _ = factors(form, np.log(s.seconds / total), s, weights)
        unseen = np.array([str(d) not in devices for d in s.device[at]]) * form.device**2
        unread = np.array([str(m) not in models for m in s.model[at]]) * form.model**2
        extra = [devices.get(str(d), 0.0) + models.get(str(m), 0.0) for d, m in zip(s.device[at], s.model[at], strict=True)]
        found[at] = total[at] * np.exp(extra)
        supported = ((p.z.sum(axis=0) != 0) & (weights > 0)[:, None]).any(axis=0)
        doubt = _doubt(shares[:, at], p.z[:, at], np.where(supported, 0.0, p.parameters.prior))
        spread[at] = np.sqrt(form.noise**2 + unseen + unread + doubt)
    return found, spread


def _doubt(shares: Floats, z: Floats, prior: Floats) -> Floats:
    """(n,) variance of log t by constants for which nothing was measured."""
    jacobian = sum((shares[j][:, None] * z[j] for j in range(1, len(z))), shares[0][:, None] * z[0])
    return np.asarray((jacobian**2) @ prior**2)


def doubt_of(form: Form, calibration: Calibration, keys: Sequence[Sequence[Key]], shares: Sequence[float]) -> float:
    """The same for one case of a stored calibration."""
    total: dict[str, float] = defaultdict(float)
    for term, share in zip(keys, shares, strict=True):
        for key in term:
            name, value = (key, 1.0) if isinstance(key, str) else key
            if name not in calibration.constants:
                total[name] += share * value
    return sum((value * form.priors[name.split(":")[0]][1]) ** 2 for name, value in total.items())
