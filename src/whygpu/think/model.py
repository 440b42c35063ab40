"""A model ready to think: its weights as arrays of a backend, with its architecture and tokenizer."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whygpu import engine, models
from whygpu.engine import Backend, Progress, UserError, ranks, silent
from whygpu.models import Architecture, Checkpoint, Layer, Tokenizer

if TYPE_CHECKING:
    from whygpu.think.fast.run import PackedModel

__all__ = ["Block", "Model", "Weights", "gather", "load"]

PATHS = ("auto", "fast", "portable")


@dataclass(frozen=True, slots=True)
class Block:
    """The weights of one block: matrices are (n, k), a product is ``x @ W.T``.

    What a family lacks is None.
    """

    attention_norm: Any  # (d,)
    q: Any  # (heads * head_dim, d)
    k: Any  # (kv_heads * head_dim, d)
    v: Any  # (kv_heads * head_dim, d)
    out: Any  # (d, heads * head_dim)
    mlp_norm: Any  # (d,)
    up: Any = None  # (d_ff, d)
    down: Any = None  # (d, d_ff)
    gate: Any = None  # (d_ff, d)
    q_norm: Any = None  # (head_dim,)
    k_norm: Any = None  # (head_dim,)
    attention_post_norm: Any = None  # (d,)
    mlp_post_norm: Any = None  # (d,)
    router: Any = None  # (experts, d)
    expert_gate: Any = None  # (experts, d_ff, d)
    expert_up: Any = None  # (experts, d_ff, d)
    expert_down: Any = None  # (experts, d, d_ff)
    attention_norm_bias: Any = None
    q_bias: Any = None
    k_bias: Any = None
    v_bias: Any = None
    out_bias: Any = None
    mlp_norm_bias: Any = None
    gate_bias: Any = None
    up_bias: Any = None
    down_bias: Any = None
    shares_attention: bool = False
    """Whether other ranks have the rest of the heads, so that attention gives a part of a sum."""


@dataclass(frozen=True, slots=True)
class Weights:
    """All weights of a model on its backend, or of several ranks one's share.

    Matrices are held in the type that was asked for, vectors in float32.
    """

    embedding: Any  # (vocab, d)
    blocks: tuple[Block, ...]
    norm: Any  # (d,)
    head: Any  # (vocab, d); the embedding itself where the head is tied
    positions: Any = None  # (context, d)
    norm_bias: Any = None
    shapes: tuple[Layer, ...] = ()
    """The blocks' shapes where they are this rank's share; empty: those of the architecture."""
    vocabulary: tuple[int, ...] = ()
    """Tokens whose rows of embedding and head each rank has; empty: this one has all."""
    first_token: int = 0
    """The first of this rank's."""


@dataclass(frozen=True, slots=True)
class Model:
    """What ``think.load`` gives and everything else in ``think`` takes."""

    architecture: Architecture
    tokenizer: Tokenizer
    portable: Callable[[], Weights]
    """Makes the float32 weights of the portable path on first use, and gives them."""
    backend: Backend
    source: str
    """The file's name, or what the weights are instead."""
    chat_template: str | None = None
    invented: bool = False
    """True where the weights are random: timings hold, words mean nothing; say so wherever they are shown."""
    path: Path | None = None
    """The file or folder that it was loaded from."""
    checkpoint: Checkpoint | None = None
    """The weights as they are stored; None where they were invented."""
    packed: "PackedModel | None" = None
    """The weights of the fast path, where that runs this model on this backend."""
    dtype: str = "float32"
    """What the portable path holds matrices and cache in."""
    steps: dict[tuple[int, tuple[bool, ...]], Any] = field(default_factory=dict, compare=False, repr=False)
    """Compiled decode steps by the room of the cache and the kind of positions (``static``)."""

    def with_weights(self, weights: Weights) -> "Model":
        """The same model with other arrays (those that a compiled step is given)."""
        return replace(self, portable=lambda: weights)

    @property
    def weights(self) -> Weights:
        """The float32 weights of the portable path."""
        return self.portable()


def load(
    name_or_path: str | Path = models.DEFAULT,
    *,
    backend: Backend | str | None = None,
    path: str = "auto",
    dtype: str = "float32",
    progress: Progress = silent,
) -> Model:
    """Load a model; among several ranks, this one's share of it.

    Parameters
    ----------
    name_or_path
        A catalogue name (fetched on first use), a GGUF file (of a split one the first part), a folder with
        config.json and safetensors files, or a Hugging Face id (``owner/name``, ``owner/name:Q4_K_M``).
    backend
        Where its products run; None: on the current one.
    path
        Which of the two ways through the model: ``fast`` (Numba kernels on the weights as they are stored, on
        the CPU), ``portable`` (weights dequantised), or ``auto``, the first that can.
    dtype
        What the portable path holds matrices and cache in: ``float32``, or where the device multiplies in
        them ``bfloat16`` or ``float16``.
    progress
        Keys: ``fetch.model``, ``think.load``.

    Raises
    ------
    models.Unavailable
        Where the model cannot be had (offline and not cached, or only its shapes are known).
    UserError
        For a name that is unknown, a file that is damaged or not supported, or too little memory.
    """
    if path not in PATHS:
        raise UserError(f"path {path!r:.40} is unknown; known: {', '.join(PATHS)}")
    place = models.locate(name_or_path, progress=progress)
    checkpoint = models.open_checkpoint(place)
    architecture = checkpoint.architecture
    if str(name_or_path).lower() in models.names():  # the catalogue's name reads better than the file's own
        architecture = replace(architecture, name=str(name_or_path).lower())
    tokenizer = checkpoint.tokenizer()
    with engine.using(backend) as here:
        check_dtype(here, dtype)
        alone = ranks.here().size == 1 and dtype == "float32"
        packed = _pack(checkpoint, here, path, progress) if alone else None

    @functools.cache
    def portable() -> Weights:
        from whygpu.think.parallel import gather_share
        from whygpu.think.room import check_room

        check_room(architecture, here, dtype, ranks.here().size)
        with engine.using(here):
            if ranks.here().size > 1:
                return gather_share(checkpoint, here, dtype, progress)
            return gather(architecture, checkpoint.array, here, progress, dtype)

    if packed is None:
        portable()
    return Model(
        architecture,
        tokenizer,
        portable,
        here,
        source=str(name_or_path) if models.is_hub_id(name_or_path) else place.name,
        chat_template=checkpoint.chat_template,
        path=place,
        checkpoint=checkpoint,
        packed=packed,
        dtype=dtype,
    )


def check_dtype(backend: Backend, dtype: str) -> None:
    """Refuse what this device does not hold weights in."""
    if dtype not in engine.DTYPES:
        raise UserError(f"dtype {dtype!r:.40} is unknown; known: {', '.join(engine.DTYPES)}")
    if dtype not in backend.dtypes:
        raise UserError(
            f"dtype {dtype}: device {backend.name} holds {', '.join(backend.dtypes)}; "
            f"torch:<device> and jax hold {', '.join(engine.DTYPES)}"
        )


def _pack(checkpoint: Checkpoint, backend: Backend, path: str, progress: Progress) -> "PackedModel | None":
    """The fast path's weights, or None where it is not wanted or cannot.

    Raises
    ------
    UserError
        Where it was asked for and cannot; the line says why.
    """
    if path == "portable" or (path == "auto" and not backend.fast):
        return None
    from whygpu.think.fast.eligible import why_not
    from whygpu.think.fast.run import PackedModel

    reason = why_not(checkpoint) if backend.fast else f"{backend.name}: the fast path runs on cpu alone"
    if reason is None:
        return PackedModel(checkpoint, backend.threads, progress)
    if path == "fast":
        raise UserError(f"{reason}; use the portable path")
    return None


def gather(
    architecture: Architecture,
    array: Callable[[str], Any],
    backend: Backend,
    progress: Progress = silent,
    dtype: str = "float32",
    **share: Any,
) -> Weights:
    """Put ``array(name)`` of each of ``architecture.tensors()`` on a backend, in its place.

    Matrices are held in ``dtype``, vectors in float32; what ``array`` has nothing of (None) is left out.
    ``share`` is what ``Weights`` and ``Block`` say of a share.
    """

    def put(name: str) -> Any:
        values = array(name)
        return None if values is None else backend.asarray(values, dtype if values.ndim > 1 else "float32")

    whole = [False] * architecture.layers
    shared = share.pop("shares_attention", whole)
    blocks = []
    for layer in range(architecture.layers):
        progress("think.load", layer / architecture.layers, model=architecture.name)
        names = architecture.block_tensors(layer)
        own = {name: put(f"{layer}.{name}") for name in names}
        blocks.append(Block(**own, shares_attention=shared[layer]))
    top = {name: put(name) for name in architecture.top_tensors()}
    top.setdefault("head", top["embedding"])
    progress("think.load", 1.0, model=architecture.name)
    return Weights(blocks=tuple(blocks), **top, **share)
