"""What must be held: weights, cache, buffers; and what would still fit."""

import math
from dataclasses import dataclass, replace
from typing import Any

from whygpu.predict.cases import Case
from whygpu.predict.terms import SPLIT_TENSORS

__all__ = ["Memory", "memory"]

CACHE_BYTES = {"f16": 2.0, "q8": 34 / 32, "q4": 18 / 32}
"""Bytes a value of the K/V cache, scales included (GGUF blocks q8_0 and q4_0)."""
RESERVED = {"gpu": 0.94, "npu": 0.94, "tpu": 0.94, "soc": 0.75, "cpu": 0.9}
"""Share of a device's memory that a model may take: drivers and displays take the rest; Apple's default
limit for the
GPU is about three quarters of unified memory."""
CONTEXT = 0.5e9
"""Bytes of a GPU runtime's own context (CUDA, ROCm): about half a gigabyte."""
LADDER = ("F16", "Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "Q3_K_M", "Q2_K", "IQ2_XXS")


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes that a model takes on all devices together, and what fits."""

    weights: float
    cache: float
    buffers: float
    available: float | None
    """Bytes of all devices that a model may take; None where the machine's memory is unknown."""
    largest_context: int | None
    largest_quant: str | None
    """The widest storage of a usual ladder that fits with this context."""
    largest_batch: int | None
    layers_held: int
    """Blocks that the devices hold; the host's processor takes the others."""
    layers: int

    @property
    def needed(self) -> float:
        """All of it."""
        return self.weights + self.cache + self.buffers

    @property
    def fits(self) -> bool | None:
        """Whether everything is on the devices; None where unknown."""
        return None if self.available is None else self.needed <= self.available

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON: bytes."""
        return {
            "weights": self.weights,
            "cache": self.cache,
            "buffers": self.buffers,
            "needed": self.needed,
            "available": self.available,
            "fits": self.fits,
            "largest_context": self.largest_context,
            "largest_quant": self.largest_quant,
            "largest_batch": self.largest_batch,
            "layers_held": self.layers_held,
            "layers": self.layers,
        }


def buffers_of(case: Case) -> float:
    """Bytes of activations and logits of one pass of 512 tokens, and of the runtime itself, a device."""
    o = case.outline
    widest = max((g.dense // max(1, 3 * o.d_model) for g in o.groups), default=o.d_model)
    rows = min(512.0, max(case.prompt, case.batch))
    activations = rows * 4 * (6 * o.d_model + 3 * widest + o.vocab / 8) + case.batch * o.vocab * 4
    scores = 0.0 if case.flash else rows * o.heads * case.depth * 4
    return case.count * (activations + scores + (CONTEXT if case.machine.kind == "gpu" else 0.1e9))


def memory(case: Case, context: float) -> Memory:
    """What the case holds with ``context`` tokens a sequence.

    Weights by their storage; the cache of all sequences (windowed layers hold their window, MLA its latent
    form);
    tensor-parallel devices each hold at least one K/V head.
    """
    o = case.outline
    weights = o.parameters * case.bits / 8
    copies = 1.0
    if case.runtime in SPLIT_TENSORS and case.count > 1:
        heads = max(
            (round(o.heads * g.cached / g.pair) for g in o.groups if g.pair and g.pair == g.prompt_pair),
            default=1,
        )
        copies = max(1.0, case.count / max(1, heads))
    each = o.cached(context) * case.kv_bytes * copies
    buffers = buffers_of(case)
    held = case.machine.memory
    if held is None:
        return Memory(weights, case.batch * each, buffers, None, None, None, None, o.layers, o.layers)
    available = held.value * case.count * RESERVED[case.machine.kind]
    room = available - weights - buffers
    return Memory(
        weights,
        case.batch * each,
        buffers,
        available,
        _longest(case, room, copies),
        _widest(case, available - buffers - case.batch * each),
        max(0, int(room // each)) if each else None,
        _layers_held(case, available, buffers, case.batch * each),
        o.layers,
    )


def _longest(case: Case, room: float, copies: float) -> int:
    """Tokens a sequence that the room holds, up to the model's own limit; by halving."""
    o, low, high = case.outline, 0, case.outline.context
    if room <= 0:
        return 0
    while low < high:
        middle = (low + high + 1) // 2
        if case.batch * o.cached(middle) * case.kv_bytes * copies <= room:
            low = middle
        else:
            high = middle - 1
    return low


def _widest(case: Case, room: float) -> str | None:
    from whygpu.predict.quants import storage

    for name in LADDER:
        if case.outline.parameters * storage(name).bits / 8 <= room:
            return name
    return None


def _layers_held(case: Case, available: float, buffers: float, cache: float) -> int:
    o = case.outline
    body = (o.fixed + o.expert_weights) * case.bits / 8 + cache
    rest = o.parameters * case.bits / 8 + cache - body
    if body + rest + buffers <= available:
        return o.layers
    return max(0, min(o.layers, math.floor((available - buffers - rest) / (body / o.layers))))


def spilled(case: Case, held: Memory, layers: int | None = None) -> Case:
    """The case with the share of its blocks that the host's processor takes."""
    on_device = held.layers_held if layers is None else min(layers, held.layers)
    if case.runtime == "cpu" or case.machine.kind != "gpu":
        return replace(case, spilled=0.0)
    return replace(case, spilled=1 - on_device / held.layers)
