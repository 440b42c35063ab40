"""A mixture of experts: each token goes through the few MLPs that a small product, the router, chooses.

Shazeer et al. 2017; Fedus et al. 2022. All weights must be in memory, few are read for one token.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from whygpu import engine
from whygpu.models import Experts

__all__ = ["Routes", "mixture", "route"]

FLOAT = 4
"""Bytes of a float32."""


class Routes(NamedTuple):
    """Where the tokens of a pass go. Slots are the places of a token: ``used`` each."""

    rows: list[Any]
    """For each expert the rows that it gets, ascending; (tokens of that expert,) NumPy integers."""
    back: Any
    """Where, in the experts' results end to end, each slot's result stands: (rows * used,) NumPy integers."""
    shares: Any
    """What each slot counts in its token's sum: (rows, used, 1) float32 NumPy."""


def mixture(experts: Experts, x: Any, scores: Any, expert: Callable[[int, Any], Any]) -> Any:
    """Send every row to its experts and add up what they say, by their shares.

    Parameters
    ----------
    x
        (rows, d).
    scores
        (rows, experts): the router's product.
    expert
        ``expert(i, part)`` is the MLP number ``i``: (some rows, d) -> the same shape.

    Returns
    -------
    array
        (rows, d).
    """
    backend = engine.current()
    xp = backend.xp
    rows, d = x.shape
    slots = rows * experts.used
    with engine.other("routing", flop=6 * rows * experts.count, size=FLOAT * 2 * rows * experts.count):
        routes = route(backend.to_numpy(scores), experts)
    said = []
    for i, chosen in enumerate(routes.rows):
        if len(chosen):
            with engine.other("routing", size=FLOAT * 2 * len(chosen) * d):
                part = xp.take(x, backend.asarray(chosen, dtype="int64"), axis=0)  # (rows of this expert, d)
            said.append(expert(i, part))
    with engine.other("routing", flop=2 * slots * d, size=FLOAT * 2 * slots * d):
        together = xp.take(xp.concat(said, axis=0), backend.asarray(routes.back, dtype="int64"), axis=0)
        together = xp.reshape(together, (rows, experts.used, d))
        return xp.sum(together * backend.asarray(routes.shares), axis=1)


def route(scores: Any, experts: Experts) -> Routes:
    """The ``used`` likeliest experts of each row of ``scores`` (rows, experts) NumPy, and their shares."""
    raised = np.exp(scores - scores.max(axis=1, keepdims=True))
    shares = raised / raised.sum(axis=1, keepdims=True)
    chosen = np.argsort(-shares, axis=1, kind="stable")[:, : experts.used]  # (rows, used)
    shares = np.take_along_axis(shares, chosen, axis=1)
    if experts.normalised:
        shares = shares / shares.sum(axis=1, keepdims=True)
    order = np.argsort(chosen.reshape(-1), kind="stable")  # slots, those of expert 0 first
    counts = np.bincount(chosen.reshape(-1), minlength=experts.count)
    rows = np.split(order // experts.used, np.cumsum(counts)[:-1])
    return Routes(rows, np.argsort(order, kind="stable"), shares[:, :, None].astype(np.float32))
