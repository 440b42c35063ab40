"""What a prediction needs to know of a model: how many weights it reads and multiplies, and its cache.

An ``Architecture`` says everything that running a model needs; an ``Outline`` only what it costs. So it also
covers what is not run here: latent attention (MLA), shared experts, linear attention, per-layer embeddings.
Units are weights and values (not bytes) and multiply-adds (2 FLOP each).
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from whygpu.engine import UserError
from whygpu.models.architecture import Architecture

__all__ = ["FIGURES", "Group", "Outline", "outline", "outline_of_figures"]

Number = int | float


@dataclass(frozen=True, slots=True)
class Group:
    """Blocks that are alike."""

    count: int
    mixer: int
    """Weights of the attention's (or its linear stand-in's) projections."""
    cached: int
    """Values that a token adds to the cache: 2 x kv_heads x head_dim; MLA: rank + rotary part; linear: 0."""
    pair: int
    """Multiply-adds of one query token with one key token, scores and weighted V, all heads, decoding."""
    prompt_pair: int
    """The same in prefill, where MLA multiplies with the keys themselves, not with their latent form."""
    window: int
    """Tokens that a token sees; 0: all."""
    state: int
    """Values of a state that does not grow (linear attention)."""
    dense: int
    """Weights of an MLP that every token meets, shared experts and router included."""
    expert: int
    """Weights of one expert; 0: none."""
    experts: int
    used: int

    def seen(self, tokens: float) -> float:
        """Keys that a token sees of ``tokens``."""
        return min(tokens, self.window) if self.window else tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class Outline:
    """The cost of one model."""

    name: str
    d_model: int
    vocab: int
    context: int
    tied: bool
    groups: tuple[Group, ...]
    heads: int
    beside: int = 0
    """Weights looked up by rows and never multiplied whole, beside the embedding (positions, per-layer
    tables)."""
    small: int = 0
    """Norms, biases and other vectors."""
    source: str = ""

    @property
    def layers(self) -> int:
        """Blocks."""
        return sum(group.count for group in self.groups)

    @property
    def head(self) -> int:
        """Weights of the output head."""
        return self.vocab * self.d_model

    @property
    def fixed(self) -> int:
        """Block weights that every token is multiplied with."""
        return sum(group.count * (group.mixer + group.dense) for group in self.groups)

    @property
    def expert_weights(self) -> int:
        """Weights of all experts."""
        return sum(group.count * group.expert * group.experts for group in self.groups)

    @property
    def is_mixture(self) -> bool:
        """Whether tokens choose among experts."""
        return self.expert_weights > 0

    @property
    def chosen(self) -> float:
        """The share of a block's experts that one token meets; 1 without any."""
        found = [g.used / g.experts for g in self.groups if g.expert]
        return max(found, default=1.0)

    @property
    def parameters(self) -> int:
        """Every weight once."""
        embedding = self.head * (1 if self.tied else 2)
        return self.fixed + self.expert_weights + embedding + self.beside + self.small

    @property
    def active(self) -> int:
        """Weights that one token is multiplied with, the head included (the "active parameters")."""
        return self.fixed + self.head + sum(g.count * g.expert * g.used for g in self.groups)

    def experts_read(self, tokens: float, evenness: float = 1.0) -> float:
        """Expert weights that ``tokens`` together read: E (1 - (1 - k/E)^n), times ``evenness`` between k
        and E.

        Balanced and independent choice; skewed routing reads fewer: ``evenness`` < 1 scales what is beyond k.
        """
        total = 0.0
        for g in self.groups:
            if g.expert:
                met = g.experts * (1 - (1 - g.used / g.experts) ** max(tokens, 1.0))
                met = g.used + (met - g.used) * evenness
                total += g.count * g.expert * met
        return total

    def cached(self, tokens: float) -> float:
        """Values of cache that one sequence of ``tokens`` holds and a decode step reads."""
        return float(sum(g.count * (g.cached * g.seen(tokens) + g.state) for g in self.groups))

    def decode_attention(self, tokens: float) -> float:
        """Multiply-adds of attention for one new token after ``tokens``."""
        return float(sum(g.count * (g.pair * g.seen(tokens) + g.state) for g in self.groups))

    def prefill_attention(self, tokens: float, past: float = 0) -> float:
        """Multiply-adds of causal attention over ``tokens`` new ones after ``past``; half of the square."""
        total = 0.0
        for g in self.groups:
            if g.window:
                total += g.count * g.prompt_pair * tokens * min(past + (tokens + 1) / 2, g.window)
            else:
                total += g.count * g.prompt_pair * (tokens * past + tokens * (tokens + 1) / 2)
            total += g.count * g.state * tokens
        return total


def outline(a: Architecture) -> Outline:
    """The outline of an architecture that can be run here; its sums are those of ``models.matmuls``."""
    groups: list[Group] = []
    matrices = 0
    for block, count in Counter(a.blocks).items():
        wide, shared = block.heads * a.head_dim, block.kv_heads * a.head_dim
        sides = 3 if a.features.gated else 2
        e = block.experts
        group = Group(
            count=count,
            mixer=a.d_model * (2 * wide + 2 * shared),
            cached=2 * shared,
            pair=2 * wide,
            prompt_pair=2 * wide,
            window=block.window or 0,
            state=0,
            dense=e.count * a.d_model if e else sides * a.d_model * block.d_ff,
            expert=sides * a.d_model * e.d_ff if e else 0,
            experts=e.count if e else 0,
            used=e.used if e else 0,
        )
        groups.append(group)
        matrices += count * (group.mixer + group.dense + group.expert * group.experts)
    beside = a.context * a.d_model if a.features.positions == "learned" else 0
    embedding = a.vocab * a.d_model * (1 if a.tied_head else 2)
    return Outline(
        name=a.name,
        d_model=a.d_model,
        vocab=a.vocab,
        context=a.context,
        tied=a.tied_head,
        groups=tuple(groups),
        heads=a.heads,
        beside=beside,
        small=a.parameters - matrices - embedding - beside,
        source=a.source,
    )


FIGURES: dict[str, Any] = {
    "layers": None,
    "d_model": None,
    "heads": None,
    "vocab": None,
    "context": None,
    "kv_heads": 0,
    "head_dim": 0,
    "d_ff": 0,
    "tied_head": False,
    "gated": True,
    "positions": 0,
    "window": 0,
    "global_every": 0,
    "full_layers": (),
    "global_head_dim": 0,
    "global_kv_heads": 0,
    "experts": 0,
    "experts_used": 0,
    "expert_d_ff": 0,
    "shared_d_ff": 0,
    "dense_first": 0,
    "moe_every": 1,
    "dense_layers": (),
    "kv_rank": 0,
    "q_rank": 0,
    "nope_dim": 0,
    "rope_dim": 0,
    "v_dim": 0,
    "linear_every": 0,
    "linear_k_heads": 0,
    "linear_k_dim": 0,
    "linear_v_heads": 0,
    "linear_v_dim": 0,
    "gated_attention": False,
    "kv_shared_layers": 0,
    "per_layer_d": 0,
    "per_layer_vocab": 0,
    "wide_shared": False,
    "same_kv": False,
    "source": "",
}
"""The figures that make an outline, with what stands where one is left out (None: needed)."""


def outline_of_figures(name: str, figures: Mapping[str, Any]) -> Outline:
    """An outline from plain figures, named as in ``FIGURES``.

    Raises
    ------
    UserError
        For a figure that is missing, unknown or impossible; the line names it.
    """
    for key in figures:
        if key not in FIGURES:
            raise UserError(f"{name}: figure {key!r} is unknown; known: {', '.join(FIGURES)}")
    f = {**FIGURES, **figures}
    for key, value in f.items():
        if value is None:
            raise UserError(f"{name}: {key} is missing; it is needed")
        if isinstance(value, int | float) and not 0 <= value < 2**40:
            raise UserError(f"{name}: {key} is {value}; a number from 0 to 2^40 is needed")
    for key in ("layers", "d_model", "heads", "vocab", "context"):
        if f[key] < 1:
            raise UserError(f"{name}: {key} is {f[key]}; it must be 1 or more")
    if f["layers"] > 10_000:
        raise UserError(f"{name}: {f['layers']} layers; up to 10,000 are possible")
    if f["experts"] and not 1 <= f["experts_used"] <= f["experts"]:
        raise UserError(f"{name}: {f['experts_used']} of {f['experts']} experts cannot be used")
    if not f["d_ff"] and not f["experts"]:
        raise UserError(f"{name}: d_ff is missing; it is needed")
    alike = Counter(_group(f, layer) for layer in range(f["layers"]))
    per_layer = f["layers"] * f["per_layer_d"]
    return Outline(
        name=name,
        d_model=f["d_model"],
        vocab=f["vocab"],
        context=f["context"],
        tied=bool(f["tied_head"]),
        groups=tuple(Group(count, *fields) for fields, count in alike.items()),
        heads=f["heads"],
        beside=f["positions"] * f["d_model"] + per_layer * (f["per_layer_vocab"] or f["vocab"]),
        small=f["layers"] * 2 * f["d_model"] + f["d_model"] + per_layer * 2 * f["d_model"],
        source=str(f["source"]),
    )


def _is_global(f: Mapping[str, Any], layer: int) -> bool:
    if not f["window"]:
        return True
    if f["full_layers"]:
        return layer in f["full_layers"]
    return bool(f["global_every"]) and (layer + 1) % f["global_every"] == 0


def _group(f: Mapping[str, Any], layer: int) -> tuple[int, ...]:
    """The fields of ``Group`` after ``count`` for one block."""
    everything = _is_global(f, layer)
    if f["linear_every"] and (layer + 1) % f["linear_every"]:
        mixer, cached, pair, prompt_pair, state = _linear(f)
    elif f["kv_rank"]:
        mixer, cached, pair, prompt_pair, state = _latent(f)
    else:
        mixer, cached, pair, prompt_pair, state = _grouped(f, layer, everything)
    window = 0 if everything else f["window"]
    dense, expert, experts, used = _mlp(f, layer)
    return mixer, cached, pair, prompt_pair, window, state, dense, expert, experts, used


def _grouped(f: Mapping[str, Any], layer: int, everything: bool) -> tuple[int, int, int, int, int]:
    """Multi-head, grouped-query or multi-query attention."""
    width = f["head_dim"] or f["d_model"] // f["heads"]
    kv_heads = f["kv_heads"] or f["heads"]
    if everything and f["window"]:
        width, kv_heads = f["global_head_dim"] or width, f["global_kv_heads"] or kv_heads
    wide, shared = f["heads"] * width, kv_heads * width
    reused = layer >= f["layers"] - f["kv_shared_layers"]
    kinds = 0 if reused else (1 if everything and f["same_kv"] else 2)
    gate = f["d_model"] * wide if f["gated_attention"] else 0
    return (
        f["d_model"] * (2 * wide + kinds * shared) + gate,
        0 if reused else 2 * shared,
        2 * wide,
        2 * wide,
        0,
    )


def _latent(f: Mapping[str, Any]) -> tuple[int, int, int, int, int]:
    """MLA (arXiv 2405.04434); decoding absorbs the up-projections, so a pair costs the rank."""
    d, h = f["d_model"], f["heads"]
    width = f["nope_dim"] + f["rope_dim"]
    q = d * f["q_rank"] + f["q_rank"] * h * width if f["q_rank"] else d * h * width
    kv = d * (f["kv_rank"] + f["rope_dim"]) + f["kv_rank"] * h * (f["nope_dim"] + f["v_dim"])
    absorbed, plain = h * (2 * f["kv_rank"] + f["rope_dim"]), h * (width + f["v_dim"])
    return q + kv + h * f["v_dim"] * d, f["kv_rank"] + f["rope_dim"], absorbed, plain, 0


def _linear(f: Mapping[str, Any]) -> tuple[int, int, int, int, int]:
    """Gated delta net (arXiv 2412.06464): q, k, v, gate, output; a state of k x v a head."""
    keys, values = f["linear_k_heads"] * f["linear_k_dim"], f["linear_v_heads"] * f["linear_v_dim"]
    weights = f["d_model"] * (2 * keys + 2 * values + 2 * f["linear_v_heads"]) + values * f["d_model"]
    return weights, 0, 0, 0, f["linear_v_heads"] * f["linear_k_dim"] * f["linear_v_dim"]


def _mlp(f: Mapping[str, Any], layer: int) -> tuple[int, int, int, int]:
    sides = 3 if f["gated"] else 2
    d = f["d_model"]
    routed = f["experts"] and layer >= f["dense_first"] and (layer + 1) % f["moe_every"] == 0
    if routed and layer not in f["dense_layers"]:
        always = sides * d * f["shared_d_ff"] + d * f["experts"]
        return always, sides * d * f["expert_d_ff"], f["experts"], f["experts_used"]
    wide = 2 if f["wide_shared"] and layer >= f["layers"] - f["kv_shared_layers"] else 1
    return sides * d * f["d_ff"] * wide, 0, 0, 0
