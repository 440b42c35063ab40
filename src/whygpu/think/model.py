"""A model ready to think: its weights as arrays of a backend, with its architecture and tokenizer."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from whygpu import engine, models
from whygpu.engine import Backend, Progress, silent
from whygpu.models import Architecture, Tokenizer

__all__ = ["Block", "Model", "Weights", "gather", "load"]


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
    up: Any  # (d_ff, d)
    down: Any  # (d, d_ff)
    gate: Any = None  # (d_ff, d)
    attention_norm_bias: Any = None
    q_bias: Any = None
    k_bias: Any = None
    v_bias: Any = None
    out_bias: Any = None
    mlp_norm_bias: Any = None
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
    rope_factors: Any = None  # (head_dim / 2,), NumPy


@dataclass(frozen=True, slots=True)
class Model:
    """What ``think.load`` gives and everything else in ``think`` takes."""

    architecture: Architecture
    tokenizer: Tokenizer
    weights: Weights
    backend: Backend
    source: str
    """The file's name, or what the weights are instead."""
    chat_template: str | None = None
    invented: bool = False
    """True where the weights are random: timings hold, words mean nothing; say so wherever they are shown."""
    path: Path | None = None


def load(
    name_or_path: str | Path = models.DEFAULT,
    *,
    backend: Backend | str | None = None,
    progress: Progress = silent,
) -> Model:
    """Load a GGUF model: a catalogue name (fetched on first use) or a local file.

    Weights are dequantised to float32. Progress keys: ``fetch.model``, ``think.load``.

    Raises
    ------
    models.Unavailable
        Where the model cannot be had (offline and not cached, or only its shapes are known).
    UserError
        For a name that is unknown or a file that is damaged or not supported.
    """
    path = models.locate(name_or_path, progress=progress)
    checkpoint = models.open_checkpoint(path)
    metadata = checkpoint.file.metadata
    tokenizer = models.tokenizer_from_metadata(metadata, str(path))
    template = metadata.get("tokenizer.chat_template")
    architecture = checkpoint.architecture
    if str(name_or_path).lower() in models.names():  # the catalogue's name reads better than the file's own
        architecture = replace(architecture, name=str(name_or_path).lower())
    with engine.using(backend) as here:
        weights = gather(architecture, checkpoint.array, here, checkpoint.rope_factors(), progress)
    return Model(
        architecture,
        tokenizer,
        weights,
        here,
        source=path.name,
        chat_template=template if isinstance(template, str) else None,
        path=path,
    )


def gather(
    architecture: Architecture,
    array: Callable[[str], Any],
    backend: Backend,
    rope_factors: Any = None,
    progress: Progress = silent,
) -> Weights:
    """Put ``array(name)`` of each of ``architecture.tensors()`` on a backend, in its place."""
    block_names = list(architecture.block_tensors())
    blocks = []
    for layer in range(architecture.layers):
        progress("think.load", layer / architecture.layers, model=architecture.name)
        blocks.append(Block(**{name: backend.asarray(array(f"{layer}.{name}")) for name in block_names}))
    top = {
        name: backend.asarray(array(name))
        for name in ("embedding", "positions", "norm", "norm_bias", "head")
        if name in architecture.tensors()
    }
    top.setdefault("head", top["embedding"])
    progress("think.load", 1.0, model=architecture.name)
    return Weights(blocks=tuple(blocks), rope_factors=rope_factors, **top)
