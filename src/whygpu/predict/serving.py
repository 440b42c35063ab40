"""The time of one step of a serving runtime: many sequences on several devices at once.

Prompts of newcomers are pushed through between and beside decode steps. While they are few, most steps only
decode (and read few experts) and some carry a chunk of a prompt; once they are many, every step carries some.
"""

import math
from dataclasses import dataclass

from whygpu.measure.machine import Machine
from whygpu.models.outline import Outline
from whygpu.predict.cases import Case
from whygpu.predict.fit import Key
from whygpu.predict.rates import TYPICAL
from whygpu.predict.terms import EVENNESS, LAYER, STEP, Form, Keys, Work

__all__ = ["BITS", "SERVING_DENSE", "SERVING_MOE", "Serving"]

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
HEAD_BITS = 16.0
"""Published 8 and 4 bit checkpoints leave the output head as it was."""
BURST = {"sglang": 0.45, "trtllm": 0.1, "vllm": 0.1}
"""The share of a request's time that passes before its first token where prompts are 16 times as long as
replies: about the medians of the time to first token in measurements/serving.csv at batches of 128, of other
runtimes assumed like vLLM. Prompts that wait together are pushed through together, and so interrupt the
replies of fewer others."""
BUDGET = 8192
"""Tokens that a step pushes through at most: the usual setting of vLLM, SGLang and TensorRT-LLM on large
devices."""


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
    expert_bits: float = 16.0
    sparse: bool = False
    """Whether an indexer picks the tokens that attention sees (DeepSeek-V3.2, arXiv 2512.02556; GLM-5)."""

    @property
    def prompted(self) -> tuple[float, float]:
        """The share of steps that carry a part of a prompt, and how many tokens it has.

        Within a sequence's reply every other one is replaced once, so its prompt comes in between.
        """
        each = (self.running - 1) * self.input / self.output
        chunk = max(min(BUDGET * self.copies, self.input), each)
        return min(1.0, each / chunk), chunk

    @property
    def running(self) -> float:
        """Sequences under way at once: the batch, unless the cache has no room for it; others wait."""
        memory = self.machine.memory
        if memory is None:
            return self.batch
        o = self.outline
        held = (o.fixed * self.bits + 2 * o.head * HEAD_BITS) / 8 * self.copies
        held += o.expert_weights * self.expert_bits / 8
        room = 0.9 * memory.value * self.count - held - self.count * 2.5e9
        devices = self.count if kv_heads(o) > 1 else self.copies
        replicas = (
            max(1.0, self.count / max(1, kv_heads(o) * self.copies))
            if kv_heads(o) > 1
            else self.count / devices
        )
        each = o.cached(self.input + self.output / 2) * 2 * replicas
        return max(1.0, min(self.batch, room / each)) if room > 0 else min(self.batch, 4.0)


def held(case: Serving, tokens: float) -> float:
    """Bytes of weights that each device reads for so many tokens."""
    o, tensor = case.outline, max(1, case.count // case.copies)
    always = (o.fixed * case.bits + o.head * HEAD_BITS) / 8 / tensor
    return always + o.experts_read(tokens, EVENNESS) * case.expert_bits / 8 / case.count


def size_key(case: Serving, tokens: float, name: str) -> Key:
    """Large matrices are read at a better rate: log of bytes a layer against 64 MB, from 8 to 512."""
    size = held(case, tokens) / case.outline.layers / 64e6
    return name, math.log(min(8.0, max(0.125, size)))


def serving_work(case: Case) -> Work:
    """One step of ``running`` sequences, averaged over steps with and without a part of a prompt."""
    assert isinstance(case, Serving)
    o, n, b = case.outline, case.count, case.running
    bandwidth, tensor = case.machine.bandwidth.value, max(1, case.count // case.copies)
    share, chunk = case.prompted
    newcomers = share * chunk / case.input  # prompts a step
    depth = case.input + case.output / 2
    half = peak_half(case.machine)
    dense_rate = half * rate_of(case.dense_mode, case.machine) * n
    expert_rate = half * rate_of(case.expert_mode, case.machine) * n
    used = o.active - o.fixed - o.head

    def read(tokens: float) -> float:
        return held(case, tokens) / bandwidth

    def multiply(tokens: float) -> float:
        head = 2 * o.head * b / (half * n)
        return 2 * tokens * (o.fixed / dense_rate + used / expert_rate) + head

    prompts = share * multiply(b + chunk)
    spared = 1 - BURST.get(case.runtime, 0.1) * prompts / (prompts + read(b))

    kv_tensor = min(tensor, max(1, kv_heads(o)))
    cache = b / case.copies * o.cached(depth) * case.kv_bytes / kv_tensor
    link = case.machine.link.value if case.machine.link else 32e9
    sums = 2 * o.layers if n > 1 else 0
    moved = (b + share * chunk) / case.copies * o.d_model * 2
    return (
        (1 - share) * read(b),
        (1 - share) * multiply(b),
        spared * share * read(b + chunk),
        spared * prompts,
        cache / bandwidth,
        2 * b * o.decode_attention(depth) / n / half,
        spared * 2 * newcomers * o.prefill_attention(case.input) / n / half,
        o.layers * LAYER,
        sums * wired(case.machine) * (ALPHA[n] if n in ALPHA else ALPHA[8] + NODES * math.log2(n / 8)),
        sums * 2 * (n - 1) / n * moved / link,
        STEP,
        b / case.copies * 1e-5,
        newcomers / case.copies * 1e-3,
    )


def serving_keys(case: Case) -> Keys:
    """Constants of a step."""
    assert isinstance(case, Serving)
    b, (_, chunk) = case.running, case.prompted
    r, f = case.runtime, case.family
    kind = "moe" if case.outline.is_mixture else "dense"
    e = _mode(case.expert_mode)
    mla = "mla" if case.outline.groups[-1].pair != case.outline.groups[-1].prompt_pair else "gqa"
    spread = f"{'ep' if case.expert_parallel > 1 else 'tp'}{'dp' if case.copies > 1 else ''}"
    version = f"{r}|{case.version}"
    scheduler = f"prR:{r}"  # what prefill costs those who decode: arrivals in bursts wait and decode together
    weights: list[Key] = ["w:", f"wR:{r}", f"wV:{version}", f"wQ:{e}", f"wF:{f}"]
    product: list[Key] = [f"c_{e}:", f"cR:{r}", f"cF:{f}"]
    layer: list[Key] = ["lay:", f"layR:{r}|{kind}", f"layX:{mla}", f"layV:{version}|{kind}"]
    if case.sparse:
        layer += ["layS:sparse"]
    if kind == "moe":
        weights += ["wX:moe", f"wX:{spread}"]
        product += ["cX:moe", f"cX:{spread}"]
        layer += ["layX:moe"]
    return (
        (*weights, size_key(case, b, "wS:decode")),
        tuple(product),
        (*weights, scheduler, size_key(case, b + chunk, "wS:prompt")),
        (*product, (f"cM:{kind}", _log(chunk / 2048)), scheduler),
        ("kv:", f"kvR:{r}", f"kvX:{mla}", f"kvF:{f}"),
        ("at:", f"atR:{r}", f"atX:{mla}"),
        ("pa:", f"paR:{r}", scheduler),
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
    return math.log(max(value, 1e-3))


def kv_heads(o: Outline) -> int:
    """Over how many devices a token's cache can be divided: K/V heads; 1 for MLA."""
    group = max(o.groups, key=lambda g: g.cached)
    if group.pair != group.prompt_pair or not group.pair:
        return 1
    return max(1, round(o.heads * group.cached / group.pair))


def peak_half(machine: Machine) -> float:
    """Dense FLOP/s in half precision; less where published GEMMs fall short of it more than elsewhere."""
    found = machine.flops.get("fp16") or machine.flops.get("fp32")
    if found is None:
        return 1e14
    measured = machine.details.get("measured_bf16_tflops")
    share = 1.0 if measured is None else float(measured) * 1e12 / found.value / TYPICAL
    return found.value * (share if share < SHORT else 1.0)


SHORT = 0.9
"""Below this share of what is typical, a device's own GEMM figure counts (MI300X: 0.64, MI325X: 0.75)."""


def wired(machine: Machine) -> float:
    """How much longer a message takes to start than over NVLink: over PCIe and the host 3 times (assumed)."""
    return 1.0 if machine.link is not None and machine.link.value > 100e9 else 3.0


def rate_of(mode: str, machine: Machine) -> float:
    """Arithmetic rate of a mode against half precision on that machine."""
    if mode in ("nvfp4", "fp4"):
        return 4.0 if "fp4" in machine.flops else 1.0
    if mode.startswith("fp8") and "fp8" not in machine.flops:
        return 1.0
    return RATE.get(mode, 1.0)


PRIORS: dict[str, tuple[float, float]] = {
    "w": (0.33, 0.1),
    "wR": (0, 0.08),
    "wQ": (0, 0.1),
    "wF": (0, 0.05),
    "wX": (0, 0.15),
    "wS": (-0.14, 0.05),
    "c_bf16": (0.36, 0.15),
    "c_fp8": (0.69, 0.15),
    "c_block": (0.8, 0.15),
    "c_nv4": (1.2, 0.2),
    "c_int4": (0.8, 0.2),
    "cR": (0, 0.1),
    "cF": (0, 0.08),
    "cX": (0, 0.2),
    "prR": (0, 0.2),
    "pa": (0.69, 0.2),
    "paR": (0, 0.1),
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
    "layS": (0.4, 0.3),
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
    "prompt_weights",
    "prompt_arithmetic",
    "cache",
    "attention",
    "prompt_attention",
    "launches",
    "messages",
    "link",
    "step",
    "sequences",
    "prompts",
)
GROUPS = (0, 0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10)
SERVING_DENSE = Form(
    "serving_dense",
    TERMS,
    GROUPS,
    {key: (centre, sd / 2) for key, (centre, sd) in PRIORS.items()},
    serving_work,
    serving_keys,
    device=0.03,
    model=0.03,
    source=0.10,
    noise=0.15,
    fit_noise=0.3,
    power=3.0,
    width=0.5,
    bounds=((0, 2), (1, 3)),
    chips=1,
)
MIXTURES = {"lay": (1.0, 0.1), "layV": (0.0, 0.5)}
"""A mixture's block starts about twenty kernels (routing, sorting, two grouped products, quantising) and a
dense one about a dozen: assumed. How many of them are fused changes from version to version."""
SERVING_MOE = Form(
    "serving_moe",
    TERMS,
    GROUPS,
    {key: (centre, sd / 2) for key, (centre, sd) in PRIORS.items()} | MIXTURES,
    serving_work,
    serving_keys,
    device=0.05,
    model=0.05,
    source=0.12,
    noise=0.30,
    fit_noise=0.3,
    power=3.0,
    width=1.5,
    bounds=((0, 2), (1, 3)),
    chips=1,
)
"""Few rows speak for each constant, so the fit may move the centres only a little."""
