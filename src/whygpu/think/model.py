"""A model ready to think: its weights as arrays of a backend, with its architecture and tokenizer."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whygpu import engine, models
from whygpu.engine import Backend, Progress, UserError, silent
from whygpu.models import Architecture, Checkpoint, Tokenizer

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


@dataclass(frozen=True, slots=True)
class Weights:
    """All weights of a model, float32, on its backend."""

    embedding: Any  # (vocab, d)
    blocks: tuple[Block, ...]
    norm: Any  # (d,)
    head: Any  # (vocab, d); the embedding itself where the head is tied
    positions: Any = None  # (context, d)
    norm_bias: Any = None


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

    @property
    def weights(self) -> Weights:
        """The float32 weights of the portable path."""
        return self.portable()


def load(
    name_or_path: str | Path = models.DEFAULT,
    *,
    backend: Backend | str | None = None,
    path: str = "auto",
    progress: Progress = silent,
) -> Model:
    """Load a model.

    Parameters
    ----------
    name_or_path
        A catalogue name (fetched on first use), a GGUF file (of a split one the first part), a folder with
        config.json and safetensors files, or a Hugging Face id (``owner/name``, ``owner/name:Q4_K_M``).
    backend
        Where its products run; None: on the current one.
    path
        Which of the two ways through the model: ``fast`` (Numba kernels on the weights as they are stored, on
        the CPU), ``portable`` (weights dequantised to float32), or ``auto``, the first that can.
    progress
        Keys: ``fetch.model``, ``think.load``.

    Raises
    ------
    models.Unavailable
        Where the model cannot be had (offline and not cached, or only its shapes are known).
    UserError
        For a name that is unknown or a file that is damaged or not supported.
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
        packed = _pack(checkpoint, here, path, progress)

    @functools.cache
    def portable() -> Weights:
        with engine.using(here):
            return gather(architecture, checkpoint.array, here, progress)

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
) -> Weights:
    """Put ``array(name)`` of each of ``architecture.tensors()`` on a backend, in its place."""
    blocks = []
    for layer in range(architecture.layers):
        progress("think.load", layer / architecture.layers, model=architecture.name)
        names = architecture.block_tensors(layer)
        blocks.append(Block(**{name: backend.asarray(array(f"{layer}.{name}")) for name in names}))
    top = {name: backend.asarray(array(name)) for name in architecture.top_tensors()}
    top.setdefault("head", top["embedding"])
    progress("think.load", 1.0, model=architecture.name)
    return Weights(blocks=tuple(blocks), **top)
