"""Many predictions at once: every model on every machine in every storage and at every depth, as arrays."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from whygpu.measure.machine import Machine
from whygpu.models.lookup import find_outline
from whygpu.models.outline import Outline
from whygpu.predict.cases import HOST_BANDWIDTH, Case, group_of, native_runtime
from whygpu.predict.constants import calibration, scale
from whygpu.predict.names import hardware
from whygpu.predict.quants import always_bits, storage
from whygpu.predict.rates import peak
from whygpu.predict.terms import DECODE, EVENNESS, LAYER, STEP, stored

__all__ = ["COLUMNS", "table"]

COLUMNS = np.dtype(
    [
        ("model", np.intp),
        ("machine", np.intp),
        ("quant", np.intp),
        ("context", float),
        ("batch", float),
        ("seconds", float),
        ("tokens_per_second", float),
        ("weights", float),
        ("cache", float),
        ("fits", bool),
    ]
)
"""Places in the lists given; seconds of a decode step; bytes."""


def table(
    models: Sequence[Outline | str],
    machines: Sequence[Machine | str],
    quants: Sequence[str] = ("Q4_K_M",),
    contexts: Sequence[float] = (512,),
    batches: Sequence[float] = (1,),
) -> NDArray[np.void]:
    """One record a combination, in the order models, machines, quants, contexts, batches.

    The same times as ``inference`` gives for one machine without offload, for llama.cpp's usual backend
    there.

    Raises
    ------
    UserError
        For an unknown name.
    """
    outlines = [m if isinstance(m, Outline) else find_outline(m) for m in models]
    found = [m if isinstance(m, Machine) else hardware(m) for m in machines]
    kinds = [storage(q) for q in quants]
    c = calibration("decode")
    depth, batch = (
        a.ravel() for a in np.meshgrid(np.asarray(contexts, float), np.asarray(batches, float), indexing="ij")
    )
    out = np.zeros((len(outlines), len(found), len(kinds), depth.size), COLUMNS)
    for i, o in enumerate(outlines):
        experts = [o.experts_read(b, EVENNESS) for b in batch]  # (k,) weights
        cache = batch * np.array([o.cached(d) for d in depth]) * 2.0  # (k,) bytes
        flop = 2 * batch * (o.active + np.array([o.decode_attention(d) for d in depth]))
        for j, m in enumerate(found):
            held = math.inf if m.memory is None else 0.94 * m.memory.value
            first = Case(
                outline=o, storage=kinds[0], bits=kinds[0].bits, machine=m, runtime=native_runtime(m)
            )
            own = c.devices.get(f"{group_of(m)}|{first.runtime}", 0.0) + c.models.get(o.name, 0.0)
            for q, kind in enumerate(kinds):
                case = replace(
                    first, storage=kind, bits=kind.bits, always_bits=always_bits(o, kind, kind.name)
                )
                logs = [scale(c.constants, term) for term in DECODE.keys(case)]
                weights = o.parameters * kind.bits / 8
                spilled = 0.0 if m.kind != "gpu" else max(0.0, 1 - held / weights)
                moved = np.array([stored(case, e) for e in experts])  # (k,) bytes
                x = (
                    np.stack(
                        [
                            moved * (1 - spilled) / m.bandwidth.value,
                            flop / peak(case),
                            np.full(depth.size, o.layers * LAYER),
                            cache / m.bandwidth.value,
                            np.full(depth.size, STEP),
                            moved * spilled / HOST_BANDWIDTH,
                        ]
                    )
                    * np.exp(logs)[:, None]
                )
                joint = (x[0] ** DECODE.power + x[1] ** DECODE.power) ** (1 / DECODE.power)
                seconds = (joint + x[2:].sum(axis=0)) * math.exp(own)
                row = out[i, j, q]
                row["model"], row["machine"], row["quant"] = i, j, q
                row["context"], row["batch"], row["seconds"] = depth, batch, seconds
                row["tokens_per_second"], row["weights"], row["cache"] = batch / seconds, weights, cache
                row["fits"] = weights + cache <= held
    return out.ravel()
