"""From a checkpoint to the kernel's tables: every matrix packed, in memory that is taken once."""

# mypy: disable-error-code="no-untyped-call"

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import Any

import numpy as np

from whygpu.engine import Progress
from whygpu.models import Architecture, Checkpoint
from whygpu.think.fast.eligible import matrices_of
from whygpu.think.fast.formats import FORMATS, LANES
from whygpu.think.fast.kernels import ATTENTION, addresses, compile_beside
from whygpu.think.fast.pack import pack, packed_bytes
from whygpu.think.fast.state import MATRICES, VECTORS, Buffers, Cache, Mixture, Tables, shapes, sizes

__all__ = ["Weights", "load"]

ALIGNED = 64
"""Bytes of a cache line; matrices begin on one."""


@dataclass(frozen=True, slots=True)
class Weights:
    """All weights as the kernel finds them."""

    tables: Tables
    memory: Any
    """What the tables' addresses point into; it must live as long as they do."""
    sizes: dict[str, int]
    """Bytes of each packed matrix, of all experts together."""
    kinds: dict[str, str]
    """How each is stored."""
    attend: int
    """Address of the function for attention."""


def load(checkpoint: Checkpoint, threads: int, progress: Progress) -> Weights:
    """Pack every matrix, ``threads`` at a time, while another process compiles what is not yet compiled."""
    matrices = matrices_of(checkpoint)
    kinds = {name: checkpoint.kind(name) for name in matrices}
    compiled = compile_beside([*kinds.values(), ATTENTION])
    sizes = {name: _bytes(kinds[name], shape) for name, shape in matrices.items()}
    starts, total = {}, 0
    for name, size in sizes.items():
        starts[name] = total
        total += -(-size // ALIGNED) * ALIGNED
    memory = np.empty(total + ALIGNED, np.uint8)
    first = -memory.ctypes.data % ALIGNED
    _pack_all(checkpoint, matrices, memory[first:], starts, sizes, threads, progress)
    vectors, places = _vectors(checkpoint)
    if compiled is not None:
        _compile_forward(checkpoint.architecture)
        compiled()
    functions = addresses([*kinds.values(), ATTENTION])
    base = memory.ctypes.data + first
    table = np.zeros((checkpoint.architecture.layers + 1, len(MATRICES), 5), np.int64)
    for name, shape in matrices.items():
        form = FORMATS[kinds[name]]
        group = shape[-1] // form.columns * form.bytes
        expert = sizes[name] // shape[0] if len(shape) == 3 else 0
        row = (base + starts[name], functions[kinds[name]], group, shape[-1], expert)
        layer, _, slot = name.rpartition(".")
        table[int(layer or -1), MATRICES.index(slot) if layer else 0] = row
    return Weights(
        Tables(table, vectors, places, shapes(checkpoint.architecture)),
        memory,
        sizes,
        kinds,
        functions[ATTENTION],
    )


def _compile_forward(a: Architecture) -> None:
    """Run it over no layers, which compiles it, while another process compiles what it calls."""
    from whygpu.think.fast.forward import forward

    none = Tables(0, 0, 0, 0), Cache(0, 0, 0, 0, 0, 0, 0), Buffers(*[0] * len(Buffers._fields))
    experts = Mixture(*[0] * len(Mixture._fields)) if a.experts else None
    forward(
        0, 1, np.zeros(16, np.int64), sizes(a)._replace(layers=0), *none, experts, 0, 1, 1, False, False, 0
    )


def _bytes(kind: str, shape: tuple[int, ...]) -> int:
    experts, n, k = shape if len(shape) == 3 else (1, *shape)
    return experts * packed_bytes(kind, n, k)


def _pack_all(
    checkpoint: Checkpoint,
    matrices: dict[str, tuple[int, ...]],
    memory: Any,
    starts: dict[str, int],
    sizes: dict[str, int],
    threads: int,
    progress: Progress,
) -> None:
    """NumPy copies without the GIL, so that threads help; the file's pages are let go as they were read."""
    lock, done, whole = Lock(), 0, sum(sizes.values())

    def one(name: str) -> None:
        nonlocal done
        shape, (raw, kind) = matrices[name], checkpoint.stored(name)
        rows = raw.reshape(-1, shape[-2], raw.shape[-1]) if len(shape) == 3 else raw[None]
        out = memory[starts[name] :][: sizes[name]].reshape(len(rows), -1)
        for expert, part in enumerate(rows):
            pack(part, kind, shape[-1], out[expert])
        checkpoint.let_go(name)
        with lock:
            done += sizes[name]
            progress("think.load", done / whole, model=checkpoint.architecture.name)

    largest_first = sorted(matrices, key=lambda name: -sizes[name])
    with ThreadPoolExecutor(threads) as pool:
        for _ in pool.map(one, largest_first):
            pass


def _vectors(checkpoint: Checkpoint) -> tuple[Any, Any]:
    """Norms and biases end to end, and where each begins; -1 where the family has none."""
    a = checkpoint.architecture
    names = {
        (layer, slot): f"{layer}.{name}"
        for layer in range(a.layers)
        for slot, name in enumerate(VECTORS)
        if name in a.block_tensors(layer)
    }
    names |= {
        (a.layers, slot): name for slot, name in enumerate(("norm", "norm_bias")) if name in a.top_tensors()
    }
    places = np.full((a.layers + 1, len(VECTORS)), -1, np.int64)
    parts, total = [], 0
    for place, name in names.items():
        values = checkpoint.array(name).reshape(-1)
        places[place] = total
        room = -(-values.size // LANES) * LANES
        parts.append(np.concatenate([values, np.zeros(room - values.size, np.float32)]))
        total += room
    return np.concatenate(parts), places
