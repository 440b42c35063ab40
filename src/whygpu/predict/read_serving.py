"""Measurements of serving runtimes (the columns of ``serving.csv``) as cases with measured times per
token."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from whygpu.engine import UserError
from whygpu.measure.machine import Machine
from whygpu.models.lookup import find_outline
from whygpu.models.outline import Outline
from whygpu.predict.cases import Case, runtime_of
from whygpu.predict.fit import Key
from whygpu.predict.names import hardware
from whygpu.predict.quants import Storage
from whygpu.predict.read_speed import Row, number
from whygpu.predict.terms import EVENNESS, LAYER, STEP, Form, Keys, Work

__all__ = ["SERVING_DENSE", "SERVING_MOE", "Serving", "serving_rows"]

BITS = {
    "fp4": 4.5,
    "nvfp4": 4.5,
    "int4": 4.5,
    "int4_wo": 4.5,
    "fp8": 8.0,
    "fp8_block": 8.06,
    "bf16": 16.0,
    "": 16.0,
    "int8": 8.0,
}
RATE = {
    "bf16": 1.0,
    "": 1.0,
    "int4_wo": 1.0,
    "int4": 1.0,
    "fp8": 2.0,
    "fp8_block": 2.0,
    "nvfp4": 2.0,
    "fp4": 2.0,
    "int8": 2.0,
}
"""Arithmetic rate against half precision; FP4 doubles again from Blackwell on (and is unpacked before)."""


ALPHA = {1: 0.0, 2: 7e-6, 3: 9e-6, 4: 11e-6, 5: 13e-6, 6: 15e-6, 7: 17e-6, 8: 18e-6}
"""Seconds of a small all-reduce over so many devices: NCCL on NVLink, measured (research note C.5)."""


NODES = 25e-6
"""More for each doubling beyond one node of eight: assumed from network latency."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving(Case):
    """Many sequences on several devices at once."""

    input: float = 1024
    output: float = 1024
    dense_mode: str = ""
    expert_mode: str = ""
    copies: int = 1
    """Attention replicas (data-parallel attention)."""
    expert_parallel: int = 1
    version: str = ""
    """Of the runtime, its first two numbers."""

    @property
    def running(self) -> float:
        """Sequences under way at once: the batch, unless the cache has no room for it; others wait."""
        memory = self.machine.memory
        if memory is None:
            return self.batch
        o = self.outline
        held = (o.fixed + 2 * o.head) * self.bits / 8 * self.copies + o.expert_weights * BITS.get(
            self.expert_mode, 16.0
        ) / 8
        room = 0.9 * memory.value * self.count - held - self.count * 2.5e9
        devices = self.count if kv_heads(o) > 1 else self.copies
        replicas = (
            max(1.0, self.count / max(1, kv_heads(o) * self.copies))
            if kv_heads(o) > 1
            else self.count / devices
        )
        each = o.cached(self.input + self.output / 2) * 2 * replicas
        return max(1.0, min(self.batch, room / each)) if room > 0 else min(self.batch, 4.0)


def serving_rows(row: Mapping[str, str]) -> list[Row]:
    """The time per output token of one line.

    Raises
    ------
    UserError
        Where the system, the model or the numbers cannot be made sense of.
    """
    machine = hardware(row.get("system") or "")
    model = row.get("model_path") or ""
    outline = find_outline(model)
    seconds = number(row, "silicon_tpot_ms")
    batch = number(row, "batch_size")
    if seconds is None or batch is None:
        raise UserError("silicon_tpot_ms and batch_size are needed")
    dense, expert = (row.get("gemm_quant_mode") or "").strip(), (row.get("moe_quant_mode") or "").strip()
    precision = (row.get("precision") or "").strip()
    dense = dense or (precision if precision in BITS else "")
    expert = expert or dense
    if "gpt-oss" in outline.name:
        expert, dense = "nvfp4", ""  # its experts are stored in four bits whatever the label says
    experts = int(number(row, "moe_tp_size", zero=True) or 1) * int(
        number(row, "moe_ep_size", zero=True) or 1
    )
    copies = int(number(row, "attention_dp_size") or 1)
    count = max(int(number(row, "tp_size") or 1), experts if outline.is_mixture else 1, copies)
    case = Serving(
        outline=outline,
        storage=Storage(expert or "bf16", BITS.get(expert, 16.0), expert or "bf16"),
        bits=BITS.get(dense, 16.0),
        machine=machine,
        runtime=runtime_of(row.get("backend") or "vllm", machine),
        count=count,
        batch=batch,
        input=number(row, "isl") or 1024.0,
        output=number(row, "osl") or 1024.0,
        dense_mode=dense,
        expert_mode=expert,
        version=".".join((row.get("backend_version") or "").split(".")[:2]),
        copies=copies,
        expert_parallel=int(number(row, "moe_ep_size", zero=True) or 1),
    )
    labels = {
        "device": machine.name,
        "model": outline.name,
        "runtime": case.runtime,
        "quantisation": expert or "bf16",
        "device family": case.family,
        "backend": case.runtime,
        "source": "serving",
    }
    target = "serving TPOT, MoE" if outline.is_mixture else "serving TPOT, dense"
    return [Row(row["id"], target, case, seconds / 1e3, "A", labels)]


def serving_work(case: Case) -> Work:
    """One step that decodes ``batch`` sequences and pushes their successors' prompts through beside."""
    assert isinstance(case, Serving)
    o, n, b = case.outline, case.count, case.running
    bandwidth, tensor = case.machine.bandwidth.value, max(1, case.count // case.copies)
    tokens = b * (1 + case.input / case.output)
    depth = case.input + case.output / 2
    expert_bits = BITS.get(case.expert_mode, 16.0)
    fixed = (o.fixed / tensor + o.head / tensor) * case.bits / 8
    experts = o.experts_read(min(tokens, 8192), EVENNESS) / n * expert_bits / 8
    used = o.active - o.fixed - o.head
    half = peak_half(case.machine)
    dense_flop = 2 * ((o.fixed + 0.0) * tokens / n + o.head * b / n)
    expert_flop = 2 * used * tokens / n
    kv_tensor = min(tensor, max(1, kv_heads(o)))
    cache = b / case.copies * o.cached(depth) * 2 / kv_tensor
    attention = 2 * (b * o.decode_attention(depth) + b / case.output * o.prefill_attention(case.input)) / n
    link = case.machine.link.value if case.machine.link else 32e9
    steps = 2 * o.layers if n > 1 else 0
    move = steps * 2 * (n - 1) / n * (tokens / case.copies) * o.d_model * 2 / link
    return (
        (fixed + experts) / bandwidth,
        dense_flop / (half * rate_of(case.dense_mode, case.machine))
        + expert_flop / (half * rate_of(case.expert_mode, case.machine)),
        cache / bandwidth,
        attention / half,
        o.layers * LAYER,
        steps * (ALPHA[n] if n <= 8 else ALPHA[8] + NODES * math.log2(n / 8)),
        move,
        STEP,
        b / case.copies * 1e-5,
        b / case.output * 1e-3,
    )


def serving_keys(case: Case) -> Keys:
    """Constants of a step."""
    assert isinstance(case, Serving)
    n, tokens = case.count, case.running * (1 + case.input / case.output)
    r, f = case.runtime, case.family
    kind = "moe" if case.outline.is_mixture else "dense"
    e = _mode(case.expert_mode)
    mla = "mla" if case.outline.groups[-1].pair != case.outline.groups[-1].prompt_pair else "gqa"
    spread = f"{'ep' if case.expert_parallel > 1 else 'tp'}{'dp' if case.copies > 1 else ''}"
    version = f"{r}|{case.version}"
    weights: list[Key] = ["w:", f"wR:{r}", f"wV:{version}", f"wQ:{e}", f"wF:{f}", (f"wN:{kind}", _log(n / 4))]
    product: list[Key] = [f"c_{e}:", f"cR:{r}", f"cF:{f}", (f"cM:{kind}", _log(tokens / 256))]
    layer: list[Key] = ["lay:", f"layR:{r}|{kind}", f"layX:{mla}", f"layV:{version}|{kind}"]
    if kind == "moe":
        weights += ["wX:moe", f"wX:{spread}", ("wM:moe", _log(tokens / 64))]
        product += ["cX:moe", f"cX:{spread}"]
        layer += ["layX:moe"]
    return (
        tuple(weights),
        tuple(product),
        ("kv:", f"kvR:{r}", f"kvX:{mla}", f"kvF:{f}"),
        ("at:", f"atR:{r}", f"atX:{mla}"),
        tuple(layer),
        ("al:", f"alR:{r}"),
        ("be:", f"beR:{r}"),
        ("st:", f"stR:{r}", f"stV:{version}"),
        ("seq:", f"seqR:{r}", f"seqV:{version}"),
        ("new:", f"newR:{r}"),
    )


def _mode(name: str) -> str:
    """Arithmetic class of a quantisation mode."""
    return {"": "bf16", "bf16": "bf16", "fp8": "fp8", "fp8_block": "block", "nvfp4": "nv4", "fp4": "nv4"}.get(
        name, "int4"
    )


def _log(value: float) -> float:
    from math import log

    return log(max(value, 1e-3))


def kv_heads(o: Outline) -> int:
    """Over how many devices a token's cache can be divided: K/V heads; 1 for MLA."""
    group = max(o.groups, key=lambda g: g.cached)
    if group.pair != group.prompt_pair or not group.pair:
        return 1
    return max(1, round(o.heads * group.cached / group.pair))


def peak_half(machine: Machine) -> float:
    """Dense FLOP/s in half precision."""
    found = machine.flops.get("fp16") or machine.flops.get("fp32")
    return found.value if found else 1e14


def rate_of(mode: str, machine: Machine) -> float:
    """Arithmetic rate of a mode against half precision on that machine."""
    if mode in ("nvfp4", "fp4"):
        return 4.0 if "fp4" in machine.flops else 1.0
    if mode.startswith("fp8") and "fp8" not in machine.flops:
        return 1.0
    return RATE.get(mode, 1.0)


PRIORS: dict[str, tuple[float, float]] = {
    "w": (0.29, 0.1),
    "wR": (0, 0.08),
    "wQ": (0, 0.1),
    "wF": (0, 0.05),
    "wX": (0, 0.15),
    "wM": (0, 0.05),
    "wN": (0, 0.1),
    "c_bf16": (0.36, 0.15),
    "c_fp8": (0.69, 0.15),
    "c_block": (0.8, 0.15),
    "c_nv4": (1.2, 0.2),
    "c_int4": (0.8, 0.2),
    "cR": (0, 0.1),
    "cF": (0, 0.08),
    "cX": (0, 0.2),
    "cM": (0, 0.07),
    "kv": (0.43, 0.15),
    "kvR": (0, 0.1),
    "kvX": (0, 0.2),
    "kvF": (0, 0.08),
    "at": (0.69, 0.2),
    "atR": (0, 0.1),
    "atX": (0, 0.2),
    "lay": (0.69, 0.2),
    "layR": (0, 0.4),
    "layV": (0, 0.35),
    "seqV": (0, 0.35),
    "stV": (0, 0.3),
    "wV": (0, 0.1),
    "layX": (0, 0.3),
    "al": (0.0, 0.2),
    "alR": (0, 0.15),
    "be": (0.45, 0.2),
    "beR": (0, 0.15),
    "st": (0.69, 0.4),
    "stR": (0, 0.3),
    "seq": (-0.5, 0.7),
    "seqR": (0, 0.3),
    "new": (0.0, 0.7),
    "newR": (0, 0.3),
}
"""Centres: set once from tables of single operations (research notes C.5, C.8), from none of these rows."""
TERMS = (
    "weights",
    "arithmetic",
    "cache",
    "attention",
    "launches",
    "messages",
    "link",
    "step",
    "sequences",
    "prompts",
)
GROUPS = (0, 0, 1, 2, 3, 4, 5, 6, 7, 8)
SERVING_DENSE = Form(
    "serving_dense",
    TERMS,
    GROUPS,
    {key: (centre, sd / 2) for key, (centre, sd) in PRIORS.items()},
    serving_work,
    serving_keys,
    device=0.03,
    model=0.03,
    noise=0.15,
    fit_noise=0.3,
    power=3.0,
)
SERVING_MOE = Form(
    "serving_moe",
    TERMS,
    GROUPS,
    PRIORS,
    serving_work,
    serving_keys,
    device=0.05,
    model=0.05,
    noise=0.30,
    fit_noise=0.3,
    power=3.0,
)
"""Few rows speak for each constant, so the fit may move the centres only a little."""
