"""Constants of the time model from measurements: a sum of physical terms, each scaled by a product of
factors.

    t = sum over groups of ( sum over terms of (x exp(z . theta))^p )^(1/p)

``x`` is the time that a term takes at the datasheet's rate, ``z`` says which constants apply (family,
runtime,
quantisation ...), ``theta`` are their logarithms. A normal prior on each (sd by level) makes the fit
hierarchical: a family with few measurements stays near the mean of all. Residuals are of log t; a Student-t
weight keeps gross outliers from pulling. Gauss-Newton.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

__all__ = ["Fit", "Floats", "Key", "Problem", "fit", "jacobian", "problem", "seconds"]

Floats = NDArray[np.float64]
Key = str | tuple[str, float]
"""A constant, or a constant and by how much its logarithm counts."""

TAIL = 4.0
"""Degrees of freedom of the Student-t weight."""


@dataclass(frozen=True, slots=True)
class Problem:
    """n cases of one form, as matrices."""

    x: Floats
    """(terms, n) seconds at the datasheet's rate."""
    z: Floats
    """(n, constants) by how much each constant's logarithm counts."""
    scales: Floats
    """(terms, constants) 1 where a constant scales a term: one efficiency may serve several terms."""
    names: tuple[str, ...]
    centre: Floats
    prior: Floats
    """(constants,) mean and sd of the logarithms before any measurement."""
    groups: tuple[int, ...]
    """Group of each term: terms of one group overlap (p-norm), groups add."""
    power: float


@dataclass(frozen=True, slots=True)
class Fit:
    """Fitted constants."""

    names: tuple[str, ...]
    theta: Floats


def name_of(key: Key) -> str:
    """A constant's name."""
    return key if isinstance(key, str) else key[0]


def problem(
    work: Sequence[Sequence[float]],
    keys: Sequence[Sequence[Sequence[Key]]],
    priors: Mapping[str, tuple[float, float]],
    groups: tuple[int, ...],
    power: float,
    kept: Sequence[str],
) -> Problem:
    """Matrices of n cases. ``priors``: (centre, sd) by the part of a constant's name before the colon."""
    index = {name: i for i, name in enumerate(kept)}
    z = np.zeros((len(work), len(kept)))
    scales = np.zeros((len(groups), len(kept)))
    for i, case in enumerate(keys):
        for j, scaled in enumerate(case):
            for key in scaled:
                name, value = (key, 1.0) if isinstance(key, str) else key
                at = index.get(name)
                if at is not None:
                    z[i, at] = value
                    scales[j, at] = 1.0
    level = [priors[name.split(":")[0]] for name in kept]
    centre, sd = np.array([c for c, _ in level]), np.array([s for _, s in level])
    return Problem(np.array(work, float).T, z, scales, tuple(kept), centre, sd, groups, power)


def seconds(p: Problem, theta: Floats, at: NDArray[np.bool_] | slice = slice(None)) -> tuple[Floats, Floats]:
    """(n,) predicted seconds of the cases ``at``, and (terms, n) the share of each term in them."""
    x, z = p.x[:, at], p.z[at]
    logs = np.stack([z[:, on] @ theta[on] for on in p.scales > 0])
    scaled = x * np.exp(np.clip(logs, -40, 40))
    total = np.zeros(x.shape[1])
    shares = np.zeros_like(scaled)
    for group in sorted(set(p.groups)):
        members = [j for j, g in enumerate(p.groups) if g == group]
        part = scaled[members]
        top = np.maximum(part.max(axis=0), 1e-30)
        powered = (part / top) ** p.power
        joint = top * powered.sum(axis=0) ** (1 / p.power) if len(members) > 1 else part[0]
        total += joint
        shares[members] = joint * powered / np.maximum(powered.sum(axis=0), 1e-30)
    return total, shares / total


def jacobian(p: Problem, shares: Floats, at: NDArray[np.bool_] | slice = slice(None)) -> Floats:
    """(n, constants) derivative of log t."""
    return np.asarray((shares.T @ p.scales) * p.z[at])


def fit(
    p: Problem, measured: Floats, weights: Floats, noise: float, start: Floats | None = None, steps: int = 25
) -> Fit:
    """The posterior mode. ``measured`` (n,) seconds; ``weights`` (n,), 0 leaves a case out."""
    theta = p.centre.copy() if start is None else start.copy()
    counted = weights > 0
    p, weights = replace(p, x=p.x[:, counted], z=p.z[counted]), weights[counted]
    target, inverse = np.log(measured[counted]), 1 / p.prior**2
    for _ in range(steps):
        total, shares = seconds(p, theta)
        residual = target - np.log(total)
        weight = weights * (TAIL + 1) / (TAIL + (residual / noise) ** 2) / noise**2
        root = np.sqrt(weight)
        j = jacobian(p, shares) * root[:, None]
        matrix = j.T @ j  # of one array with itself: half of the products
        matrix[np.diag_indices_from(matrix)] += inverse
        step = np.linalg.solve(matrix, j.T @ (root * residual) - inverse * (theta - p.centre))
        step *= min(1.0, 1.5 / max(np.abs(step).max(), 1e-9))
        theta = theta + step
        if np.abs(step).max() < 1e-3:
            break
    return Fit(p.names, theta)
