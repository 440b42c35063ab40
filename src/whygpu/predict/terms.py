"""The physical terms of a step's time: what must be read, multiplied, sent and started, at datasheet rates.

Each function gives, for one case, the seconds of every term at the full rate and the constants that scale it.
Terms of one group overlap (reading weights and multiplying with them), groups add up. Sources: the roofline
model (Williams et al. 2009); the form bound x factor + per layer + per step is that of several simulators.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from whygpu.predict.cases import Case
from whygpu.predict.fit import Key
from whygpu.predict.rates import attention_rate, ceiling, matrix_rate, peak, units

__all__ = ["DECODE", "PREFILL", "Form", "Keys", "Work"]

LAYER = 10e-6
STEP = 0.5e-3
SPLIT_TENSORS = ("vllm", "sglang", "trtllm", "mlc", "gptfast")
"""Runtimes whose devices work on each layer together; the others take turns, layer by layer."""
UBATCH = 512.0
"""Tokens of a prompt that llama.cpp pushes through at once unless it is told otherwise."""
SCORES = 16.0
"""Bytes that attention which is not fused moves for each pair of tokens and head: the scores are written,
scaled and normalised, and read again, in single precision (four passes of four bytes)."""
LARGE = 3e10
"""Parameters from which on llama.cpp hardly overlaps pieces of a prompt over its devices: two pieces, and
half of what that should gain (seen on eight cards by one source; the cause is not known)."""
EVENNESS = 0.9
"""How many of the experts beyond a token's own several tokens reach, against an even router: assumed.
Measured kernels fit an even router within 8 %, skewed ones reach 12 to 14 % fewer (research note C.7)."""

Work = tuple[float, ...]
Keys = tuple[tuple[Key, ...], ...]


@dataclass(frozen=True, slots=True)
class Form:
    """One kind of time: its terms, which of them overlap, and how far constants may stray."""

    name: str
    terms: tuple[str, ...]
    groups: tuple[int, ...]
    priors: Mapping[str, tuple[float, float]]
    """(centre, sd) of the logarithm of each level of constants, by the part before the colon."""
    work: Callable[[Case], Work]
    """Seconds of each term at the full rate."""
    keys: Callable[[Case], Keys]
    """Constants of each term."""
    device: float = 0.10
    model: float = 0.06
    """sd of a device's and of a model's own factor."""
    source: float = 0.0
    """sd of what whole sources err by alike (settings, versions, power, what is counted): every prediction
    is for a source that nothing is known of. Set so that four fifths of the rows of sources left out are in
    the band."""
    noise: float = 0.08
    """sd of log t of a known device and model: what is left."""
    fit_noise: float = 0.1
    """The same for the fit: larger where rows are many and alike, so that they do not outvote the priors."""
    width: float = 1.0
    """How far the fit lets constants stray, of what ``priors`` say is possible; the doubt about a constant
    that nothing was measured for stays whole. Chosen as ``benchmarks/predict_priors.py`` does."""
    power: float = 4.0
    bounds: tuple[tuple[int, ...], ...] = ()
    """Terms whose sums nothing can beat; empty: each of the first group."""
    limit: Callable[[Case], float] | None = None
    """Seconds that nothing can beat, where terms count what kernels use and not what the device could."""
    chips: int = 2
    """Different chips that must speak for a constant; what fewer say is left to their own factors."""


def looseness(case: Case) -> float:
    """How much wider the band is: few measurements of other runtimes than llama.cpp's say how they differ."""
    if getattr(case, "framework", "") == "mosaic":
        return 0.5  # one program's own benchmark: its rows differ less than those of many authors
    llama = case.runtime in ("cuda", "metal", "rocm", "vulkan", "sycl", "cpu", "training")
    return 1.0 if llama or type(case) is not Case else 2.0


def quant_key(case: Case) -> str:
    """The class of storage; K-quants with their digit."""
    kind, name = case.storage.kind, case.storage.name
    return kind + (name[1] if len(name) > 1 and name[1].isdigit() else "4") if kind == "k" else kind


def market(case: Case) -> str:
    """Game, professional, mobile or HBM card: what memory clocks and power limits go with."""
    machine = case.machine
    if machine.kind != "gpu":
        return machine.kind
    if "Mobile" in machine.name or "Max-Q" in machine.name:
        return "mobile"
    if "HBM" in machine.details.get("mem_type", ""):
        return "hbm"
    return "pro" if machine.vendor == "NVIDIA" and "GeForce" not in machine.name else "game"


def together(case: Case) -> int:
    """Devices that work on one layer at the same time."""
    return case.count if case.runtime in SPLIT_TENSORS else 1


def weights_read(case: Case) -> float:
    """Bytes of weights that one decode step reads."""
    o = case.outline
    return stored(case, o.experts_read(case.batch, EVENNESS))


def stored(case: Case, experts: float) -> float:
    """Bytes of the weights that every token meets and of so many expert weights."""
    o, bits = case.outline, case.bits
    if not case.always_bits or not o.is_mixture:
        return (o.fixed + o.head + experts) * bits / 8
    rest = (bits * o.parameters - case.always_bits * (o.parameters - o.expert_weights)) / o.expert_weights
    return ((o.fixed + o.head) * case.always_bits + experts * max(rest, 1.0)) / 8


def decode_work(case: Case) -> Work:
    """One decode step."""
    o, n = case.outline, together(case)
    # clocks fall below what keeps the memory busy where less than half of the power is allowed (assumed)
    bandwidth = case.machine.bandwidth.value * min(1.0, (case.power / 0.5) ** 0.5)
    read = weights_read(case)
    cache = case.batch * o.cached(case.depth) * case.kv_bytes
    flop = 2 * case.batch * (o.active + o.decode_attention(case.depth))
    return (
        read * (1 - case.spilled) / bandwidth / n,
        flop / peak(case) / n,
        o.layers * LAYER * (1.5 if n > 1 else 1.0),
        cache / bandwidth / n,
        STEP,
        read * case.spilled / case.host_bandwidth,
    )


def decode_keys(case: Case) -> Keys:
    """Constants of a decode step."""
    r, f, q, v = case.runtime, case.family, quant_key(case), case.machine.vendor
    slope = math.log(case.machine.bandwidth.value / 400e9)
    memory: list[Key] = [
        "mem:",
        f"memR:{r}",
        f"memF:{f}",
        f"memRF:{r}|{f}",
        f"memQ:{q}",
        f"memRQ:{r}|{q}",
        f"memFQ:{f}|{q}",
        f"memE:{r}|{case.era}",
        f"memC:{v}|{market(case)}",
        f"memV:{v}|{r}",
        f"memV:{v}|{r}|{q}",
        (f"memB:{v}|{r}", slope),
        (f"memB:{v}|{r}|{q[0]}", slope),
        (f"memB:{f}", slope),
    ]
    if case.count > 1:
        memory.append(f"memX:{r}|{min(case.count, 8)}")
    layer: list[Key] = [
        "lay:",
        f"layR:{r}",
        f"layF:{f}",
        f"layE:{r}|{case.era}",
        f"layRF:{r}|{f}",
        f"layV:{v}|{r}",
    ]
    if case.outline.is_mixture:
        memory.append(f"memX:moe|{r}")
        layer.append("layX:moe")
    if case.host != "usual":
        layer.append(f"layH:{case.host}")
    return (
        tuple(memory),
        ("fl:", f"flR:{r}", f"flF:{f}", f"flQ:{v}|{q}"),
        tuple(layer),
        ("kv:", f"kvR:{r}", f"kvA:{r}|{case.flash}", f"kvF:{f}"),
        ("st:", f"stR:{r}"),
        ("host:",),
    )


DECODE = Form(
    "decode",
    ("weights", "arithmetic", "launches", "cache", "step", "host"),
    (0, 0, 1, 2, 3, 4),
    {
        "mem": (0.25, 0.3),
        "memR": (0, 0.3),
        "memF": (0, 0.15),
        "memRF": (0, 0.12),
        "memQ": (0, 0.25),
        "memRQ": (0, 0.15),
        "memFQ": (0, 0.1),
        "memE": (0, 0.15),
        "memV": (0, 0.15),
        "memC": (0, 0.15),
        "memB": (0, 0.15),
        "memX": (0, 0.2),
        "lay": (1.3, 0.5),
        "layR": (0, 0.5),
        "layF": (0, 0.4),
        "layE": (0, 0.3),
        "layRF": (0, 0.25),
        "layV": (0, 0.3),
        "layX": (0, 0.4),
        "layH": (1.0, 0.5),
        "kv": (0.5, 0.5),
        "kvR": (0, 0.4),
        "kvA": (0, 0.3),
        "kvF": (0, 0.3),
        "fl": (0.7, 1.0),
        "flR": (0, 0.5),
        "flF": (0, 0.5),
        "flQ": (0, 0.5),
        "st": (0, 1.0),
        "stR": (0, 0.5),
        "host": (0.3, 0.5),
    },
    decode_work,
    decode_keys,
    model=0.08,
    source=0.09,
    width=0.5,
)


def prefill_work(case: Case) -> Work:
    """A prompt at once, in pieces of ``ubatch`` tokens."""
    o, n = case.outline, together(case)
    passes = math.ceil(case.prompt / case.ubatch)
    tokens = case.prompt / passes
    read = passes * stored(case, o.experts_read(tokens, EVENNESS))
    rate, slow, ways = matrix_rate(case) * n, attention_rate(case) * n, float(n)
    if n == 1 and case.count > 1:  # layers in turn, several pieces under way at once
        pieces = min(passes, 2 if o.parameters > LARGE else 4)
        gain = case.count * pieces / (pieces + case.count - 1) - 1
        faster = 1 + (0.5 * gain if o.parameters > LARGE else gain)
        rate, slow, ways = rate * faster, slow * faster, faster
    products = o.prefill_attention(case.prompt, case.depth)
    scores = 0.0 if case.flash else SCORES * products * o.heads / max(g.prompt_pair for g in o.groups)
    return (
        read * (1 - case.spilled) / case.machine.bandwidth.value / ways,
        2 * case.prompt * (o.active - o.head) / rate,
        2 * products / slow,
        passes * o.layers * LAYER,
        read * case.spilled / case.host_bandwidth,
        scores / case.machine.bandwidth.value / ways,
    )


def prefill_limit(case: Case) -> float:
    """Reading every weight once, or multiplying at the highest rate of any format, all devices at once."""
    o = case.outline
    read = stored(case, o.experts_read(case.prompt, EVENNESS)) * (1 - case.spilled)
    flop = 2 * case.prompt * (o.active - o.head)
    return max(read / case.machine.bandwidth.value, flop / ceiling(case)) / case.count


def prefill_keys(case: Case) -> Keys:
    """Constants of a prompt."""
    o = case.outline
    tokens = case.prompt / math.ceil(case.prompt / case.ubatch)
    r, f, q, v = case.runtime, case.family, quant_key(case), case.machine.vendor
    width = math.log(o.d_model / 4096)
    chip = math.log(matrix_rate(case) / 100e12)
    product: list[Key] = [
        "pf:",
        f"pfR:{r}",
        f"pfF:{f}",
        f"pfRF:{r}|{f}",
        f"pfQ:{q}",
        f"pfRQ:{r}|{q}",
        f"pfFQ:{f}|{q}",
        f"pfE:{r}|{case.era}",
        f"pfV:{v}|{r}",
        f"pfV:{v}|{r}|{q}",
        f"pfC:{v}|{market(case)}",
        ("pfW:", width),
        (f"pfW:{r}", width),
        ("pfB:", chip),
        (f"pfB:{v}|{r}", chip),
        (f"pfB:{f}", chip),
        ("pfT:", math.log(tokens / UBATCH)),
        (f"pfT:{r}", math.log(tokens / UBATCH)),
        f"pfA:{r}|{case.flash}",
        f"pfU:{units(case)}",
    ]
    if o.is_mixture:
        product += ["pfX:moe", f"pfX:moe|{r}", f"pfX:moe|{f}"]
        rows = math.log(max(tokens * o.chosen, 0.1) / 32)
        product += [("pfM:", rows), (f"pfM:{r}", rows)]
    if case.count > 1:
        large = "large" if o.parameters > LARGE else "small"
        product += [
            f"pfX:{r}|{min(case.count, 8)}",
            f"pfX:{r}|{min(case.count, 4)}|{large}",
            f"pfX:{r}|{large}|{q}",
        ]
    return (
        ("mem:", f"memR:{r}", f"memF:{f}"),
        tuple(product),
        (
            "at:",
            f"atR:{r}",
            f"atF:{f}",
            f"atA:{case.flash}",
            f"atA:{r}|{case.flash}",
            f"atV:{v}|{case.flash}",
        ),
        ("lay:", f"layR:{r}", f"layF:{f}"),
        ("host:",),
        ("sc:", f"scR:{r}", f"scF:{f}"),
    )


PREFILL = Form(
    "prefill",
    ("weights", "arithmetic", "attention", "launches", "host", "scores"),
    (0, 0, 1, 2, 3, 4),
    {
        "mem": (0.3, 0.3),
        "memR": (0, 0.2),
        "memF": (0, 0.2),
        "pf": (0.8, 0.5),
        "pfR": (0, 0.5),
        "pfF": (0, 0.4),
        "pfRF": (0, 0.25),
        "pfQ": (0, 0.25),
        "pfRQ": (0, 0.25),
        "pfFQ": (0, 0.2),
        "pfE": (0, 0.25),
        "pfV": (0, 0.25),
        "pfC": (0, 0.25),
        "pfW": (0, 0.2),
        "pfB": (0, 0.2),
        "pfT": (0, 0.2),
        "pfX": (0, 0.4),
        "pfM": (-0.3, 0.2),
        "pfU": (0, 0.4),
        "sc": (0, 0.4),
        "scR": (0, 0.3),
        "scF": (0, 0.2),
        "pfA": (0, 0.2),
        "at": (1.2, 0.6),
        "atR": (0, 0.5),
        "atF": (0, 0.4),
        "atA": (0, 0.7),
        "atV": (0, 0.5),
        "lay": (1.5, 0.7),
        "layR": (0, 0.5),
        "layF": (0, 0.4),
        "host": (0.5, 0.7),
    },
    prefill_work,
    prefill_keys,
    limit=prefill_limit,
    device=0.18,
    model=0.08,
    source=0.17,
    noise=0.10,
    width=0.5,
)
