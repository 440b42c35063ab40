"""Which models the fast path runs, and why not the others."""

from whygpu.models import Checkpoint
from whygpu.think.fast.pack import FORMATS, LANES

__all__ = ["why_not"]

TENSORS = {"attention_norm", "q", "k", "v", "out", "mlp_norm", "gate", "up", "down"}
MATRICES = ("q", "k", "v", "out", "gate", "up", "down")


def why_not(checkpoint: Checkpoint) -> str | None:
    """What the fast path does not do of this model; None: it runs it."""
    a = checkpoint.architecture
    block = a.blocks[0]
    extra = sorted(set(a.block_tensors()) ^ TENSORS)
    known, rope = a.features, block.rope
    reasons = {
        f"{a.family}: its {', '.join(extra)} are": bool(extra),
        f"{a.family}: its norm or activation is": known.norm != "rms" or known.activation != "silu",
        f"{a.name}: unlike blocks are": not a.uniform,
        f"{a.name}: a window is": block.window is not None,
        f"{a.name}: soft caps and scaled embeddings are": bool(a.attention_cap or a.logit_cap)
        or a.embedding_scale != 1,
        f"{a.name}: its rotary positions are": rope is None
        or rope.dims != a.head_dim
        or rope.is_long(a.context),
        f"{a.name}: dimensions that are not multiples of 16 and 32 are": bool(
            a.head_dim % LANES or a.d_model % 32 or a.d_ff % 32 or a.vocab % LANES
        ),
    }
    for reason, holds in reasons.items():
        if holds:
            return f"{reason} not built into the fast path"
    names = [f"{layer}.{name}" for layer in range(a.layers) for name in MATRICES]
    names.append("embedding" if a.tied_head else "head")
    other = {checkpoint.kind(name) for name in names} - set(FORMATS)
    if other:
        return f"{a.name}: weights stored as {', '.join(sorted(other))} are not built into the fast path"
    return None
