"""Which models the fast path runs, and why not the others."""

from whygpu.models import Checkpoint
from whygpu.think.fast.formats import BLOCK, FORMATS, LANES
from whygpu.think.fast.state import MATRICES

__all__ = ["matrices_of", "why_not"]


def matrices_of(checkpoint: Checkpoint) -> dict[str, tuple[int, ...]]:
    """The shape of every matrix that tokens are multiplied with; (experts, n, k) of stacked ones."""
    a = checkpoint.architecture
    found = {
        f"{layer}.{name}": shape
        for layer in range(a.layers)
        for name, shape in a.block_tensors(layer).items()
        if name in MATRICES
    }
    return found | {"embedding" if a.tied_head else "head": (a.vocab, a.d_model)}


def why_not(checkpoint: Checkpoint) -> str | None:
    """What the fast path does not do of this model; None: it runs it."""
    a = checkpoint.architecture
    if a.head_dim % LANES:
        return (
            f"{a.name}: heads of {a.head_dim} dimensions are no multiple of {LANES}, as the fast path needs"
        )
    for name, shape in matrices_of(checkpoint).items():
        if shape[-1] % BLOCK:
            return f"{a.name}: {name} has {shape[-1]} columns, no multiple of {BLOCK}, as the fast path needs"
        kind = checkpoint.kind(name)
        if kind not in FORMATS:
            return f"{a.name}: weights stored as {kind} are not built into the fast path"
    return None
