"""Constants of the time model from measurements: a sum of physical terms, each scaled by a product of factors.

    t = sum over groups of ( sum over terms of (x exp(z . theta))^p )^(1/p)

``x`` is the time that a term takes at the datasheet's rate, ``z`` says which constants apply (family, runtime,
quantisation ...), ``theta`` are their logarithms. A normal prior on each (sd by level) makes the fit
hierarchical: a family with few measurements stays near the mean of all. Residuals are of log t; a Student-t
weight keeps gross outliers from pulling. Gauss-Newton; the inverse of its last matrix is the posterior's
covariance, so that a prediction for an unmeasured family gets a wider band.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Fit", "Parameters", "Problem", "Terms", "fit"]

Floats = NDArray[np.float64]

Key = str | tuple[str, float]

TAIL = 4.0
"""Degrees of freedom of the Student-t weight."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of n cases."""

    x: Floats
    """(terms, n) seconds at the datasheet's rate; 0 where a term does not occur."""
    keys: tuple[tuple[tuple[Key, ...], ...], ...]
    """[term][n] constants whose logarithms scale it: a name, or a name and by how much it counts."""
    groups: tuple[int, ...]
    """Group of each term: terms of one group overlap (p-norm), groups add."""
    power: float = 4.0


@dataclass(frozen=True, slots=True)
class Parameters:
    """The constants by name: a level's prior sd follows from the first part of the name."""

    names: tuple[str, ...]
    prior: Floats
    centre: Floats


@dataclass(frozen=True, slots=True)
class Fit:
    """Fitted constants with their spread."""

    names: tuple[str, ...]
    theta: Floats
    covariance: Floats
    sigma: float
    """Robust sd of the residuals of log t."""
    weight: Floats
    """(n,) final weight of each case; 0 where it was left out."""

    def value(self, name: str) -> float:
        """exp(theta): the factor itself; 1 for a constant that was not fitted."""
        return float(np.exp(self.theta[self.names.index(name)])) if name in self.names else 1.0


@dataclass(frozen=True, slots=True)
class Problem:
    """Terms and measured seconds, made into matrices once so that parts can be left out cheaply."""

    terms: Terms
    parameters: Parameters
    z: Floats
    """(terms, n, constants) 0 or 1."""


def _name(key: Key) -> str:
    return key if isinstance(key, str) else key[0]


def problem(terms: Terms, priors: Mapping[str, tuple[float, float]], known: Sequence[str] | None = None) -> Problem:
    """Matrices for these cases. ``priors``: (centre, sd) of log by the name's part before the first ``:``."""
    names = list(known) if known is not None else sorted({_name(k) for row in terms.keys for case in row for k in case})
    index = {name: i for i, name in enumerate(names)}
    count = terms.x.shape[1]
    z = np.zeros((len(terms.keys), count, len(names)))
    for j, row in enumerate(terms.keys):
        for i, case in enumerate(row):
            for key in case:
                name, value = (key, 1.0) if isinstance(key, str) else key
                if name in index:
                    z[j, i, index[name]] += value
    level = [priors[name.split(":")[0]] for name in names]
    return Problem(
        terms, Parameters(tuple(names), np.array([sd for _, sd in level]), np.array([c for c, _ in level])), z
    )


def seconds(terms: Terms, z: Floats, theta: Floats) -> tuple[Floats, Floats]:
    """(n,) predicted seconds, and (terms, n) their derivative by each term's log scale over the seconds."""
    scaled = terms.x * np.exp(np.clip(z @ theta, -40, 40))  # (terms, n)
    total = np.zeros(terms.x.shape[1])
    shares = np.zeros_like(scaled)
    for group in sorted(set(terms.groups)):
        members = [j for j, g in enumerate(terms.groups) if g == group]
        if len(members) == 1:
            total += scaled[members[0]]
            shares[members[0]] = scaled[members[0]]
            continue
        part = scaled[members]
        top = np.maximum(part.max(axis=0), 1e-30)
        powered = (part / top) ** terms.power
        joint = top * powered.sum(axis=0) ** (1 / terms.power)
        total += joint
        shares[members] = joint * powered / powered.sum(axis=0)
    return total, shares / total


def fit(
    p: Problem,
    measured: Floats,
    weights: Floats,
    noise: float = 0.1,
    start: Floats | None = None,
    steps: int = 25,
) -> Fit:
    """The posterior mode. ``measured`` (n,) seconds, ``weights`` (n,) 0 leaves a case out."""
    q = p.parameters
    theta = q.centre.copy() if start is None else start.copy()
    used = np.flatnonzero(weights > 0)
    terms = Terms(p.terms.x[:, used], (), p.terms.groups, p.terms.power)
    z, target, w0 = p.z[:, used], np.log(measured[used]), weights[used]
    inverse = 1 / q.prior**2
    matrix = np.diag(inverse)
    residual, weight = np.zeros(len(target)), w0 / noise**2
    for _ in range(steps):
        total, shares = seconds(terms, z, theta)
        residual = target - np.log(total)
        weight = w0 * (TAIL + 1) / (TAIL + (residual / noise) ** 2) / noise**2
        jacobian = _jacobian(shares, z)
        matrix = jacobian.T @ (jacobian * weight[:, None]) + np.diag(inverse)
        step = np.linalg.solve(matrix, jacobian.T @ (weight * residual) - inverse * (theta - q.centre))
        step *= min(1.0, 1.5 / max(np.abs(step).max(), 1e-9))
        theta = theta + step
        if np.abs(step).max() < 1e-4:
            break
    spread = float(1.4826 * np.median(np.abs(residual))) if len(residual) else noise
    final = np.zeros(len(measured))
    final[used] = weight
    return Fit(q.names, theta, np.linalg.inv(matrix), spread, final)


def _jacobian(shares: Floats, z: Floats) -> Floats:
    """(n, constants) derivative of log t."""
    return sum((shares[j][:, None] * z[j] for j in range(1, len(z))), shares[0][:, None] * z[0])


REFIT = 40
"""A group with more cases than this is left out by fitting again; a smaller one by one Newton step."""


def left_out(p: Problem, full: Fit, measured: Floats, weights: Floats, groups: NDArray[np.str_], noise: float = 0.1) -> tuple[Floats, Floats]:
    """(n,) seconds, each predicted without its own group, and their sd of log t.

    Without a small group the mode moves by one Newton step from the full fit (the other cases' weights kept);
    t is then evaluated there exactly. Large groups are fitted again.
    """
    total, shares = seconds(p.terms, p.z, full.theta)
    jacobian = _jacobian(shares, p.z)
    residual = np.log(measured) - np.log(total)
    found, spread = np.zeros(len(measured)), np.zeros(len(measured))
    for group in np.unique(groups):
        at = np.flatnonzero(groups == group)
        j = jacobian[at]
        covariance, theta = full.covariance, full.theta
        if (weights[at] > 0).sum() > REFIT:
            without = weights.copy()
            without[at] = 0
            again = fit(p, measured, without, noise, start=theta, steps=8)
            theta, covariance = again.theta, again.covariance
        elif (full.weight[at] > 0).any():
            reach = covariance @ j.T  # (constants, cases)
            gram = j @ reach
            inner = np.linalg.solve(np.eye(len(at)) - full.weight[at][:, None] * gram, full.weight[at] * residual[at])
            theta = theta - reach @ inner
            covariance = covariance + reach @ np.linalg.solve(np.eye(len(at)) - full.weight[at][:, None] * gram, full.weight[at][:, None] * reach.T)
        part, z = Terms(p.terms.x[:, at], (), p.terms.groups, p.terms.power), p.z[:, at]
        found[at], there = seconds(part, z, theta)
        j = _jacobian(there, z)
        spread[at] = np.sqrt(np.maximum(np.einsum("nk,kl,nl->n", j, covariance, j), 0.0))
    return found, spread
