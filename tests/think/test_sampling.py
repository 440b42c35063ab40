"""Choosing a token: each filter against transformers, their order against a slow account in plain Python."""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from transformers.generation.logits_process import (
    MinPLogitsWarper,
    RepetitionPenaltyLogitsProcessor,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from whygpu.engine import UserError
from whygpu.think.sampling import Sampler, penalised

SCORES = np.random.default_rng(3).standard_normal(200).astype(np.float32) * 3


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ({"top_k": 17}, TopKLogitsWarper(17)),
        ({"top_k": 1}, TopKLogitsWarper(1)),
        ({"top_p": 0.8}, TopPLogitsWarper(0.8)),
        ({"top_p": 0.05}, TopPLogitsWarper(0.05)),
        ({"min_p": 0.1}, MinPLogitsWarper(0.1)),
    ],
)
def test_filters_keep_what_transformers_keeps(ours: dict[str, Any], theirs: Any) -> None:
    expected = theirs(torch.tensor([[0]]), torch.from_numpy(SCORES)[None].double())[0].numpy()
    ids, chances = Sampler(temperature=1.0, **ours).distribution(SCORES)
    assert ids.tolist() == np.flatnonzero(np.isfinite(expected)).tolist()
    np.testing.assert_allclose(chances, torch.softmax(torch.from_numpy(expected), 0).numpy()[ids], rtol=1e-12)


def test_repeat_penalty_is_that_of_transformers() -> None:
    history = [1, 5, 5, 80]
    processor = RepetitionPenaltyLogitsProcessor(1.3)
    expected = processor(torch.tensor([history]), torch.from_numpy(SCORES)[None])[0].numpy()
    np.testing.assert_allclose(penalised(SCORES, history, 1.3), expected, rtol=1e-6)
    assert penalised(SCORES, [1, 999], 2.0)[1] == pytest.approx(SCORES[1] * (0.5 if SCORES[1] > 0 else 2))


def slow(scores: list[float], history: Iterable[int], how: dict[str, Any]) -> dict[int, float]:
    """The documented order, one token at a time: what may be said, with its chance."""
    r, k, p, m = how["repeat_penalty"], how["top_k"], how["top_p"], how["min_p"]
    left, history = {}, set(history)
    for token, score in enumerate(scores):
        lowered = score / r if score > 0 else score * r
        left[token] = (lowered if token in history else score) / how["temperature"]
    if k:
        kth = sorted(left.values(), reverse=True)[min(k, len(left)) - 1]
        left = {token: score for token, score in left.items() if score >= kth}
    highest = max(left.values())
    chances = normalised({token: math.exp(score - highest) for token, score in left.items()})
    if p < 1:
        kept, together = {}, 0.0
        for token in sorted(chances, key=lambda token: (-chances[token], token)):
            if together >= p:
                break
            kept[token] = chances[token]
            together += chances[token]
        chances = normalised(kept)
    if m:
        best = max(chances.values())
        chances = {token: chance for token, chance in chances.items() if chance >= m * best}
    return normalised(chances)


def normalised(weights: dict[int, float]) -> dict[int, float]:
    whole = math.fsum(weights.values())
    return {token: weight / whole for token, weight in weights.items()}


def drawn(chances: dict[int, float], u: float) -> int:
    """Tokens side by side in the order of their ids, each as wide as its chance; the one that u falls on."""
    at = 0.0
    for token in sorted(chances):
        at += chances[token]
        if u < at:
            return token
    return max(chances)


HOW = st.fixed_dictionaries(
    {
        "temperature": st.floats(0.05, 4),
        "top_k": st.integers(0, 60),
        "top_p": st.floats(0.01, 1),
        "min_p": st.floats(0, 0.6),
        "repeat_penalty": st.floats(0.5, 2),
    }
)


@settings(max_examples=300, deadline=None)
@example(
    {"temperature": 3.0, "top_k": 0, "top_p": 0.5, "min_p": 0.0, "repeat_penalty": 1.0},
    [0.0, 2.0, 2.139049359392727e-16], [], 0,
)  # fmt: skip
@given(
    HOW,
    st.lists(st.floats(-9, 9, width=32), min_size=2, max_size=50),
    st.lists(st.integers(0, 60), max_size=5),
    st.integers(0, 2**40),
)
def test_the_order_of_the_filters(
    how: dict[str, Any], scores: list[float], history: list[int], seed: int
) -> None:
    array = np.array(scores, np.float32)
    sampler = Sampler(**how, seed=seed)
    expected = slow([float(score) for score in array], history, how)
    lowered = penalised(array.astype(np.float64), history, how["repeat_penalty"]) if history else array
    ids, chances = sampler.distribution(lowered)
    if set(ids.tolist()) != set(expected):  # only where a sum of chances meets a limit to the last digit
        odd = sorted(set(ids.tolist()) ^ set(expected))
        assert len(odd) == 1 or np.ptp(np.asarray(lowered)[odd]) < 1e-12  # or where two are as likely
        return
    np.testing.assert_allclose(chances, [expected[token] for token in ids.tolist()], rtol=1e-9)
    u = np.random.Generator(np.random.PCG64(seed)).random()
    choice = sampler.choose(array, history, candidates=len(array))
    edges = np.cumsum([expected[token] for token in sorted(expected)])
    if np.abs(edges - u).min() > 1e-9:
        assert choice.token == drawn(expected, float(u))
    for odds in choice.candidates:
        assert odds.chance == pytest.approx(expected.get(odds.id, 0.0), rel=1e-9)


@pytest.mark.parametrize(
    "how", [{}, {"top_k": 40}, {"top_k": 900}, {"top_p": 0.9}, {"top_k": 300, "min_p": 0.01}]
)
def test_a_whole_vocabulary(how: dict[str, Any]) -> None:
    """Large enough for the short cuts; many equal scores."""
    random = np.random.default_rng(8)
    scores = (random.standard_normal(9000) * 3).round(1).astype(np.float32)
    every = {"temperature": 0.9, "top_k": 0, "top_p": 1.0, "min_p": 0.0, "repeat_penalty": 1.2, **how}
    history = random.integers(0, 9000, 100).tolist()
    expected = slow([float(score) for score in scores], history, every)
    sampler = Sampler(**every, seed=5)
    numbers = np.random.Generator(np.random.PCG64(5))
    for _ in range(20):
        assert sampler.choose(scores, history).token == drawn(expected, float(numbers.random()))


def test_ties_stay_together_in_top_k_and_fall_by_id_in_top_p() -> None:
    even = np.zeros(8, np.float32)
    assert Sampler(temperature=1.0, top_k=3).distribution(even)[0].tolist() == list(range(8))
    assert Sampler(temperature=1.0, top_p=0.3).distribution(even)[0].tolist() == [0, 1, 2]  # 3/8 reaches 0.3
    assert Sampler(temperature=1.0, min_p=1.0).distribution(even)[0].tolist() == list(range(8))
    assert Sampler().choose(even, []).token == 0


def test_temperature_comes_before_the_filters() -> None:
    """At temperature 1 the first two have 0.9 together; at 4 they have 0.63, and a third is let in."""
    scores = np.log(np.array([0.6, 0.3, 0.06, 0.04], np.float32))
    assert Sampler(temperature=1.0, top_p=0.85).distribution(scores)[0].tolist() == [0, 1]
    heated = np.array([0.6, 0.3, 0.06, 0.04]) ** 0.25
    share = heated[:2].sum() / heated.sum()
    assert share < 0.85
    assert (
        Sampler(temperature=4.0, top_p=0.85).distribution(scores)[0].tolist()
        == [0, 1, 2, 3][: 3 if heated[:3].sum() / heated.sum() >= 0.85 else 4]
    )


def test_sampling_follows_the_distribution() -> None:
    scores = np.log(np.array([0.6, 0.3, 0.1], np.float32))
    sampler = Sampler(temperature=1.0, seed=4)
    choices = [sampler.choose(scores, []) for _ in range(4000)]
    shares = np.bincount([choice.token for choice in choices], minlength=3) / 4000
    np.testing.assert_allclose(shares, [0.6, 0.3, 0.1], atol=0.03)
    assert {round(choice.probability, 5) for choice in choices if choice.token == 1} == {0.3}
    greedy = Sampler().choose(scores, [], candidates=2)
    assert (greedy.token, greedy.probability) == (0, pytest.approx(0.6))
    assert [(odds.id, odds.chance) for odds in greedy.candidates] == [(0, 1.0), (1, 0.0)]


def test_the_seed_s_numbers_are_numpy_s_pcg64() -> None:
    """0.6369616873214543 and 0.2697867137638703: the first of NumPy's documented default_rng(0)."""
    quarters = np.zeros(100, np.float32)
    sampler = Sampler(temperature=1.0, seed=0)
    assert [sampler.choose(quarters, []).token for _ in range(2)] == [63, 26]


def test_tiny_temperatures_and_certain_scores_do_not_overflow() -> None:
    scores = np.array([3e38, 1, -3e38, -np.inf], np.float32)
    for temperature in (1e-300, 1e-10, 1.0, 1e30):
        assert Sampler(temperature=temperature, top_p=0.5).choose(scores, []).token == 0
    assert Sampler().choose(scores, [], candidates=4).probability == 1.0


@pytest.mark.parametrize("broken", [[np.nan, 1.0], [np.inf, 1.0], [-np.inf, -np.inf]])
def test_scores_must_be_numbers(broken: list[float]) -> None:
    with pytest.raises(UserError, match="scores are not numbers"):
        Sampler().choose(np.array(broken, np.float32), [])
