"""What a transformer is: its shapes, and from them its parameters.

Everything that a forward pass needs to know of a model, apart from its weights, is in ``Architecture``;
what all models of a family share (which norm, which positions, which activation) is in ``Family``.
"""

from dataclasses import dataclass
from math import inf, prod
from typing import Literal

from whygpu.engine import UserError

__all__ = ["FAMILIES", "Architecture", "Family", "family"]


@dataclass(frozen=True, slots=True)
class Family:
    """What the models of one family have in common."""

    name: str
    norm: Literal["rms", "layer"]
    """RMSNorm (Zhang and Sennrich 2019) or LayerNorm (Ba et al. 2016)."""
    positions: Literal["rope", "learned"]
    """Rotary (Su et al. 2021) or a table of learned vectors."""
    activation: Literal["silu", "gelu_tanh"]
    gated: bool
    """Whether the MLP is SwiGLU-like (gate, up, down) or plain (up, down)."""
    biases: bool
    """Whether products and norms add a bias."""


FAMILIES = {
    family.name: family
    for family in (
        # Touvron et al. 2023: pre-norm RMSNorm, rotary positions, SwiGLU, no biases
        Family("llama", norm="rms", positions="rope", activation="silu", gated=True, biases=False),
        # Radford et al. 2019: pre-norm LayerNorm, learned positions, GELU (tanh form), biases
        Family("gpt2", norm="layer", positions="learned", activation="gelu_tanh", gated=False, biases=True),
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
        raise UserError(f"{where}: architecture {name!r} is not supported; supported: {', '.join(FAMILIES)}")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """The shapes and constants of one model."""

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
    rope_factors: bool = False
    """Whether the checkpoint brings a divisor for each rotary frequency (Llama 3.1 and later)."""
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
        if self.heads % self.kv_heads:
            raise UserError(f"{self.name}: {self.heads} heads cannot share {self.kv_heads} K/V heads evenly")
        if known.positions == "rope" and self.head_dim % 2:
            raise UserError(f"{self.name}: head_dim {self.head_dim} is odd; rotary positions turn pairs")

    @property
    def group(self) -> int:
        """Query heads that share one K/V head."""
        return self.heads // self.kv_heads

    @property
    def parameters(self) -> int:
        """Every weight once; a tied head counts as the embedding alone."""
        return sum(prod(shape) for shape in self.tensors().values())

    def tensors(self) -> dict[str, tuple[int, ...]]:
        """Every weight array by name, with its shape.

        Matrices are (n, k), rows are outputs: a product is ``x @ W.T``. Block tensors are named
        ``<layer>.<name>``.
        """
        known, d = family(self.family), self.d_model
        shapes: dict[str, tuple[int, ...]] = {"embedding": (self.vocab, d)}
        if known.positions == "learned":
            shapes["positions"] = (self.context, d)
        for layer in range(self.layers):
            shapes |= {f"{layer}.{name}": shape for name, shape in self.block_tensors().items()}
        shapes["norm"] = (d,)
        if known.biases:
            shapes["norm_bias"] = (d,)
        if not self.tied_head:
            shapes["head"] = (self.vocab, d)
        return shapes

    def block_tensors(self) -> dict[str, tuple[int, ...]]:
        """The weight arrays of one block, in the order in which data meets them."""
        known, d = family(self.family), self.d_model
        attention, shared = self.heads * self.head_dim, self.kv_heads * self.head_dim
        shapes: dict[str, tuple[int, ...]] = {
            "attention_norm": (d,),
            "q": (attention, d),
            "k": (shared, d),
            "v": (shared, d),
            "out": (d, attention),
            "mlp_norm": (d,),
        }
        if known.gated:
            shapes["gate"] = (self.d_ff, d)
        shapes |= {"up": (self.d_ff, d), "down": (d, self.d_ff)}
        if known.biases:
            shapes |= {f"{name}_bias": shape[:1] for name, shape in list(shapes.items())}
        return shapes
