"""What a transformer is: its shapes, and from them its parameters.

Everything that a forward pass needs to know of a model, apart from its weights, is in ``Architecture``;
what all models of a family share (which norm, which positions, which activation) is in ``Family``; what one
block does is in ``Layer``, since in some models the blocks differ.
"""

import functools
from dataclasses import dataclass
from math import inf, prod, sqrt
from typing import Literal

from whygpu.engine import UserError
from whygpu.models.rope import Rope, RopeScaling

__all__ = ["FAMILIES", "Architecture", "Experts", "Family", "Layer", "family"]

QKV = frozenset({"q", "k", "v"})
EVERY = QKV | {"attention_norm", "out", "mlp_norm", "up", "down", "norm"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """What the models of one family have in common."""

    name: str
    norm: Literal["rms", "layer"] = "rms"
    """RMSNorm (Zhang and Sennrich 2019) or LayerNorm (Ba et al. 2016)."""
    positions: Literal["rope", "learned"] = "rope"
    """Rotary (Su et al. 2021) or a table of learned vectors."""
    activation: Literal["silu", "gelu_tanh"] = "silu"
    gated: bool = True
    """Whether the MLP is SwiGLU-like (gate, up, down) or plain (up, down)."""
    biases: frozenset[str] = frozenset()
    """The tensors whose result a bias is added to."""
    qk_norm: bool = False
    """Whether the queries and keys of each head are normalised (Henry et al. 2020)."""
    post_norms: bool = False
    """Whether attention and MLP are normalised after they ran too, before they join the stream."""
    scaled_embedding: bool = False
    """Whether the embedding vectors are multiplied by the root of ``d_model``."""
    experts: bool = False
    """Whether the MLPs are mixtures of experts (Shazeer et al. 2017)."""


FAMILIES = {
    family.name: family
    for family in (
        Family(name="llama"),  # Touvron et al. 2023; Mistral (Jiang et al. 2023) is the same
        Family(  # Radford et al. 2019
            name="gpt2",
            norm="layer",
            positions="learned",
            activation="gelu_tanh",
            gated=False,
            biases=EVERY,
        ),
        Family(name="qwen2", biases=QKV),  # Yang et al. 2024, arXiv 2407.10671
        Family(name="qwen3", qk_norm=True),  # arXiv 2505.09388
        Family(name="phi3"),  # Abdin et al. 2024, arXiv 2404.14219
        # arXiv 2408.00118 and 2503.19786
        Family(name="gemma2", activation="gelu_tanh", post_norms=True, scaled_embedding=True),
        Family(name="gemma3", activation="gelu_tanh", post_norms=True, scaled_embedding=True, qk_norm=True),
        Family(name="mixtral", experts=True),  # Jiang et al. 2024, arXiv 2401.04088
        Family(name="qwen3moe", qk_norm=True, experts=True),  # arXiv 2505.09388
    )
}


def family(name: str, where: str = "family") -> Family:
    """Look a family up by name; ``where`` begins the error's line.

    Raises
    ------
    UserError
        For a family that is not known here.
    """
    found = FAMILIES.get(name)
    if found is None:
        raise UserError(
            f"{where}: architecture {name[:60]!r} is not supported; supported: {', '.join(FAMILIES)}"
        )
    return found


@dataclass(frozen=True, slots=True)
class Experts:
    """An MLP of several, of which each token takes a few."""

    count: int
    used: int
    """Experts that each token goes through."""
    d_ff: int
    """Width of one expert."""
    normalised: bool
    """Whether the shares of those used are scaled to sum to 1."""


@dataclass(frozen=True, slots=True)
class Layer:
    """The shapes and constants of one block."""

    heads: int
    kv_heads: int
    d_ff: int
    window: int | None
    """Tokens that a token sees, itself included; None: all before it."""
    rope: Rope | None
    experts: Experts | None
    """What stands in the MLP's place; None: one MLP of width ``d_ff``."""

    @property
    def group(self) -> int:
        """Query heads that share one K/V head."""
        return self.heads // self.kv_heads

    def seen(self, past: int, new: int) -> int:
        """Keys that a pass over ``new`` tokens after ``past`` reads."""
        return past + new if self.window is None else min(past + new, self.window - 1 + new)


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """The shapes and constants of one model.

    Where blocks differ, ``heads``, ``kv_heads`` and ``d_ff`` are the largest of them and the ``layer_...``
    fields say each; ``blocks`` has everything of each block, resolved.
    """

    name: str
    family: str
    layers: int
    d_model: int
    heads: int
    kv_heads: int
    """K/V heads: ``heads`` for multi-head attention, fewer for grouped-query, 1 for multi-query."""
    head_dim: int
    """Not always ``d_model / heads``."""
    d_ff: int
    vocab: int
    """Rows of the embedding table; may be more than the tokenizer's tokens."""
    context: int
    """The longest sequence, in tokens, that the model was made for."""
    norm_eps: float = 1e-5
    rope_theta: float = 10000.0
    rope_dims: int = 0
    """Numbers of each head that turn; 0: all."""
    rope_scaling: RopeScaling | None = None
    """Of the layers that see everything; local layers of a model with a ``rope_theta_local`` have none."""
    rope_theta_local: float = 0.0
    """Base of the frequencies in the layers with a window; 0: as in the others."""
    window: int = 0
    """Tokens that a token sees in a local layer, itself included; 0: no layer is local."""
    local_layers: tuple[int, ...] = ()
    """Which layers have the window."""
    attention_scale: float = 0.0
    """What scores are multiplied by; 0: ``head_dim ** -0.5``."""
    attention_cap: float = 0.0
    """Bound of the attention scores, by a tangent (soft cap); 0: none."""
    logit_cap: float = 0.0
    """The same of the head's scores."""
    experts: int = 0
    experts_used: int = 0
    expert_d_ff: int = 0
    experts_normalised: bool = True
    """As ``Experts`` explains them."""
    dense_layers: tuple[int, ...] = ()
    """Layers of a mixture of experts that have one ordinary MLP."""
    layer_heads: tuple[int, ...] = ()
    layer_kv_heads: tuple[int, ...] = ()
    layer_d_ff: tuple[int, ...] = ()
    extra_biases: frozenset[str] = frozenset()
    """Tensors with a bias beyond those of the family."""
    tied_head: bool = False
    """Whether the head is the embedding table again, not a matrix of its own."""
    quant: str = "F16"
    """How the weights are stored (a name of the quantisation table); what memory and speed depend on."""
    bits_per_weight: float = 16.0
    """Average over all weights as stored; a file mixes several block types."""
    source: str = ""
    """Where these figures come from."""

    def __post_init__(self) -> None:
        known = family(self.family, self.name)
        for field in ("layers", "d_model", "heads", "kv_heads", "head_dim", "d_ff", "vocab", "context"):
            if getattr(self, field) < 1:
                raise UserError(f"{self.name}: {field} is {getattr(self, field)}; it must be 1 or more")
        for field in ("norm_eps", "rope_theta"):
            if not 0 < getattr(self, field) < inf:
                raise UserError(f"{self.name}: {field} is {getattr(self, field)}; it must be above 0")
        for field in ("rope_theta_local", "window", "attention_scale", "attention_cap", "logit_cap"):
            if not 0 <= getattr(self, field) < inf:
                raise UserError(f"{self.name}: {field} is {getattr(self, field)}; it must be 0 or more")
        self._check_heads()
        self._check_layers()
        if known.positions == "rope" and (self._turning % 2 or not 0 < self._turning <= self.head_dim):
            what = f"rope_dims {self.rope_dims}" if self.rope_dims else f"head_dim {self.head_dim}"
            raise UserError(f"{self.name}: {what} is odd or too large; rotary positions turn pairs")
        if known.experts and not (1 <= self.experts_used <= self.experts and self.expert_d_ff >= 1):
            raise UserError(
                f"{self.name}: {self.experts_used} of {self.experts} experts of width {self.expert_d_ff} "
                "cannot be; a mixture uses 1 or more of those it has"
            )
        if self.experts and not known.experts:
            raise UserError(f"{self.name}: {self.family} models have no experts; experts is {self.experts}")

    def _check_heads(self) -> None:
        heads = self.layer_heads or (self.heads,) * len(self.layer_kv_heads or (1,))
        shared = self.layer_kv_heads or (self.kv_heads,) * len(heads)
        for of, by in zip(heads, shared, strict=False):  # lengths are checked with the layers
            if of < 1 or by < 1 or of % by:
                raise UserError(f"{self.name}: {of} heads cannot share {by} K/V heads evenly")
        if self.layer_d_ff and min(self.layer_d_ff) < 1:
            raise UserError(f"{self.name}: a layer's d_ff is {min(self.layer_d_ff)}; it must be 1 or more")

    def _check_layers(self) -> None:
        for field in ("layer_heads", "layer_kv_heads", "layer_d_ff"):
            given = len(getattr(self, field))
            if given not in (0, self.layers):
                raise UserError(f"{self.name}: {field} has {given} numbers for {self.layers} layers")
        for field in ("local_layers", "dense_layers"):
            outside = [layer for layer in getattr(self, field) if not 0 <= layer < self.layers]
            if outside:
                raise UserError(f"{self.name}: {field} names layer {outside[0]} of {self.layers}")
        if bool(self.window) != bool(self.local_layers):
            raise UserError(
                f"{self.name}: a window of {self.window} tokens for {len(self.local_layers)} layers; "
                "local layers need a window, and a window local layers"
            )

    @property
    def _turning(self) -> int:
        return self.rope_dims or self.head_dim

    @property
    def features(self) -> Family:
        """What all models of its family share."""
        return FAMILIES[self.family]

    @property
    def blocks(self) -> tuple[Layer, ...]:
        """Every block, in order."""
        return _blocks(self)

    @property
    def uniform(self) -> bool:
        """Whether all blocks are the same."""
        return len(set(self.blocks)) == 1

    @property
    def group(self) -> int:
        """Query heads that share one K/V head, where all blocks have as many."""
        return self.heads // self.kv_heads

    @property
    def score_scale(self) -> float:
        """What attention scores are multiplied by."""
        return self.attention_scale or self.head_dim**-0.5

    @property
    def embedding_scale(self) -> float:
        """What embedding vectors are multiplied by."""
        return sqrt(self.d_model) if self.features.scaled_embedding else 1.0

    @property
    def parameters(self) -> int:
        """Every weight once; a tied head counts as the embedding alone."""
        return sum(prod(shape) for shape in self.tensors().values())

    def tensors(self) -> dict[str, tuple[int, ...]]:
        """Every weight array by name, with its shape.

        Matrices are (n, k), rows are outputs: a product is ``x @ W.T``; those of experts are stacked,
        (experts, n, k). Block tensors are named ``<layer>.<name>``.
        """
        shapes = self.top_tensors()
        for layer in range(self.layers):
            shapes |= {f"{layer}.{name}": shape for name, shape in self.block_tensors(layer).items()}
        return shapes

    def top_tensors(self) -> dict[str, tuple[int, ...]]:
        """The weight arrays outside the blocks."""
        d = self.d_model
        shapes: dict[str, tuple[int, ...]] = {"embedding": (self.vocab, d)}
        if self.features.positions == "learned":
            shapes["positions"] = (self.context, d)
        shapes["norm"] = (d,)
        if "norm" in self.features.biases:
            shapes["norm_bias"] = (d,)
        if not self.tied_head:
            shapes["head"] = (self.vocab, d)
        return shapes

    def block_tensors(self, layer: int = 0) -> dict[str, tuple[int, ...]]:
        """The weight arrays of one block, in the order in which data meets them."""
        known, d, block = self.features, self.d_model, self.blocks[layer]
        attention, shared = block.heads * self.head_dim, block.kv_heads * self.head_dim
        shapes: dict[str, tuple[int, ...]] = {
            "attention_norm": (d,),
            "q": (attention, d),
            "k": (shared, d),
            "v": (shared, d),
        }
        if known.qk_norm:
            shapes |= {"q_norm": (self.head_dim,), "k_norm": (self.head_dim,)}
        shapes["out"] = (d, attention)
        if known.post_norms:
            shapes["attention_post_norm"] = (d,)
        shapes["mlp_norm"] = (d,)
        shapes |= self._mlp_tensors(block)
        if known.post_norms:
            shapes["mlp_post_norm"] = (d,)
        biases = known.biases | self.extra_biases
        return shapes | {f"{name}_bias": shape[:1] for name, shape in shapes.items() if name in biases}

    def _mlp_tensors(self, block: Layer) -> dict[str, tuple[int, ...]]:
        d, e = self.d_model, block.experts
        if e is not None:
            return {
                "router": (e.count, d),
                "expert_gate": (e.count, e.d_ff, d),
                "expert_up": (e.count, e.d_ff, d),
                "expert_down": (e.count, d, e.d_ff),
            }
        gate = {"gate": (block.d_ff, d)} if self.features.gated else {}
        return {**gate, "up": (block.d_ff, d), "down": (d, block.d_ff)}


@functools.lru_cache(maxsize=64)
def _blocks(a: Architecture) -> tuple[Layer, ...]:
    turns = a.features.positions == "rope"
    everywhere = Rope(a.rope_theta, a.rope_dims or a.head_dim, a.rope_scaling) if turns else None
    nearby = (
        Rope(a.rope_theta_local, a.rope_dims or a.head_dim) if turns and a.rope_theta_local else everywhere
    )
    experts = (
        Experts(a.experts, a.experts_used, a.expert_d_ff, a.experts_normalised)
        if a.features.experts
        else None
    )
    local, dense = frozenset(a.local_layers), frozenset(a.dense_layers)
    return tuple(
        Layer(
            heads=a.layer_heads[i] if a.layer_heads else a.heads,
            kv_heads=a.layer_kv_heads[i] if a.layer_kv_heads else a.kv_heads,
            d_ff=a.layer_d_ff[i] if a.layer_d_ff else a.d_ff,
            window=a.window if i in local else None,
            rope=nearby if i in local else everywhere,
            experts=None if i in dense else experts,
        )
        for i in range(a.layers)
    )
