"""How fast a model answers on a machine: first token, tokens a second, what binds, what would change it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from whygpu.engine import UserError
from whygpu.measure.machine import Figure, Machine
from whygpu.models.architecture import Architecture
from whygpu.models.outline import Outline, outline
from whygpu.models.outline_source import Source, named_source
from whygpu.models.said import Note
from whygpu.predict.cases import HOST_BANDWIDTH, RUNTIMES, Case, native_runtime
from whygpu.predict.constants import FORMS, Estimate, estimate
from whygpu.predict.memory import CACHE_BYTES, Memory, memory, spilled
from whygpu.predict.quants import always_bits, storage
from whygpu.predict.rates import peak
from whygpu.predict.serving import Serving
from whygpu.predict.terms import weights_read
from whygpu.predict.typed import Typed, typed

__all__ = ["Inference", "inference"]

LINKS = {"nvlink": None, "pcie3": 16e9, "pcie4": 32e9, "pcie5": 64e9, "ethernet": 1.25e9, "thunderbolt": 5e9}
"""Bytes a second one way of 16 lanes, ten gigabits, Thunderbolt 4 ...; NVLink: the machine's own figure."""
SERVERS = ("vllm", "sglang", "trtllm")
VENDORS = {
    "cuda": ("NVIDIA",),
    "trtllm": ("NVIDIA",),
    "exllama": ("NVIDIA", "AMD"),
    "metal": ("Apple",),
    "mlx": ("Apple",),
    "rocm": ("AMD",),
    "sycl": ("Intel",),
}
"""Whose devices a runtime is made for; the others run anywhere."""
IDLE_SHARE = 0.55
"""Power while decoding over TDP: memory-bound work draws less; assumed (V100: 180 to 200 of 300 W, note
C.6)."""
CHANGES = ("bandwidth", "arithmetic", "bits", "batch")


@dataclass(frozen=True, slots=True)
class Inference:
    """One model on one machine."""

    case: Case
    context: int
    reply: int
    memory: Memory
    first_token: Estimate
    """Seconds from the prompt to the first token, nobody else waiting."""
    token: Estimate
    """Seconds a token of one sequence at the batch asked for."""
    single: Estimate
    """The same at batch 1."""
    changes: Mapping[str, float] = field(default_factory=dict)
    """What decoding would speed up by (1.3: 30 % more tokens a second), by change."""
    notes: tuple[Note, ...] = ()
    """What of the names was taken otherwise, or not at all."""

    @property
    def tokens_per_second(self) -> float:
        """Of one sequence at batch 1."""
        return 1 / self.single.seconds

    @property
    def batch_tokens_per_second(self) -> float:
        """Of all sequences together."""
        return self.case.batch / self.token.seconds

    @property
    def reply_seconds(self) -> dict[str, float]:
        """Seconds for the whole reply: by arithmetic alone, by bandwidth alone, expected."""
        c = self.case
        prompt = 2 * c.prompt * c.outline.active / peak(c) / c.count
        step = 2 * c.outline.active / peak(c)
        read = weights_read(replace(c, batch=1)) / c.machine.bandwidth.value
        return {
            "arithmetic": prompt + self.reply * step,
            "bandwidth": (1 + self.reply) * read,
            "expected": self.first_token.seconds + self.reply * self.single.seconds,
        }

    @property
    def binds(self) -> str:
        """The term that takes most of a token's time."""
        return max(self.token.shares, key=lambda name: self.token.shares[name])

    @property
    def intensity(self) -> float:
        """FLOP a byte of a decode step."""
        c = self.case
        flop = 2 * c.batch * (c.outline.active + c.outline.decode_attention(c.depth))
        return flop / (weights_read(c) + c.batch * c.outline.cached(c.depth) * c.kv_bytes)

    @property
    def ridge(self) -> float:
        """FLOP a byte from which on arithmetic would bind."""
        return peak(self.case) / self.case.machine.bandwidth.value

    @property
    def joules_per_token(self) -> float | None:
        """Energy of all devices a token, where the power is published."""
        watts = self.case.machine.watts
        return (
            None
            if watts is None
            else IDLE_SHARE * watts.value * self.case.count / self.batch_tokens_per_second
        )

    @property
    def dollars_per_million(self) -> float | None:
        """Cloud cost of a million tokens, where an hourly price is known."""
        hourly = self.case.machine.hourly
        return (
            None
            if hourly is None
            else hourly.value * self.case.count / 3600 / self.batch_tokens_per_second * 1e6
        )

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON: seconds, bytes, tokens a second."""
        c = self.case
        return {
            "machine": c.machine.name,
            "count": c.count,
            "model": c.outline.name,
            "quant": c.storage.name,
            "bits_per_weight": c.bits,
            "runtime": c.runtime,
            "context": self.context,
            "prompt_tokens": c.prompt,
            "reply_tokens": self.reply,
            "batch": c.batch,
            "fits": self.memory.fits,
            "memory": self.memory.as_dict(),
            "offloaded_share": c.spilled,
            "first_token_seconds": _band(self.first_token),
            "seconds_per_token": _band(self.token),
            "tokens_per_second": 1 / self.single.seconds,
            "tokens_per_second_p10": 1 / self.single.high,
            "tokens_per_second_p90": 1 / self.single.low,
            "batch_tokens_per_second": self.batch_tokens_per_second,
            "reply_seconds": self.reply_seconds,
            "binds": self.binds,
            "shares": dict(self.token.shares),
            "flop_per_byte": self.intensity,
            "ridge": self.ridge,
            "changes": dict(self.changes),
            "joules_per_token": self.joules_per_token,
            "usd_per_million_tokens": self.dollars_per_million,
            "price_source": c.machine.hourly.source if c.machine.hourly else None,
            "basis": basis(self),
            "notes": [note.as_dict() for note in self.notes],
        }


def _band(e: Estimate) -> dict[str, float]:
    return {"expected": e.seconds, "p10": e.low, "p90": e.high, "bound": e.bound}


def basis(result: "Inference") -> dict[str, str]:
    """Where each kind of constant comes from."""
    c = result.case
    rate = c.machine.flops.get("fp16") or c.machine.flops.get("fp32")
    return {
        "bandwidth": str(c.machine.bandwidth.basis),
        "arithmetic": "assumed" if rate is None else str(rate.basis),
        "efficiencies": {"here": "measured here", "itself": "fitted", "family": "fitted", "kin": "assumed"}[
            result.single.basis
        ],
        "efficiencies_of": result.single.basis,
        "weights": "published" if c.outline.source else "derived",
    }


def inference(
    model: Source | Outline | Architecture | str,
    on: Typed | Machine | str,
    *,
    quant: str | None = None,
    bits: float | None = None,
    context: int | None = None,
    prompt_tokens: int = 512,
    reply: int = 256,
    batch: int = 1,
    count: int = 1,
    kv: str = "f16",
    runtime: str | None = None,
    gpu_layers: int | None = None,
    link: str | Figure | None = None,
    own: float | None = None,
) -> Inference:
    """What to expect of ``model`` on ``count`` machines ``on``.

    Parameters
    ----------
    model, on
        An outline, an architecture, or a name; a machine, or a name ("2x A100 80GB" counts).
    quant, bits
        How the weights are stored, and the average bits a weight where a file's own header says. None: as the
        model's name or file says, else as is usual.
    context
        Tokens a sequence that the cache is held for; None: prompt and reply.
    kv
        ``f16``, ``q8`` or ``q4``: how the cache is stored.
    runtime
        One of ``cases.RUNTIMES``; None: llama.cpp's usual backend there.
    gpu_layers
        Blocks on the GPU; None: as many as fit.
    link
        What joins several of them: one of ``LINKS``, or a measured rate in bytes a second, one way.
    own
        The machine's own factor (logarithm of time) where it was measured.

    Raises
    ------
    UserError
        For an unknown name or a number that cannot be.
    """
    source = _source(model)
    shape, device = source.outline, Typed(1, on) if isinstance(on, Machine) else on
    device = typed(device) if isinstance(device, str) else device
    machine, count = device.machine, count * device.count
    for name, value, most in (
        ("prompt_tokens", prompt_tokens, 10**7),
        ("reply", reply, 10**7),
        ("batch", batch, 10**6),
        ("count", count, 10**6),
    ):
        if not 1 <= value <= most:
            raise UserError(f"{name}: {value} is not possible; give 1 to {most:,}")
    if kv not in CACHE_BYTES:
        raise UserError(f"kv {kv!r} is unknown; known: {', '.join(CACHE_BYTES)}")
    if runtime is not None and runtime not in RUNTIMES:
        raise UserError(f"runtime {runtime!r} is unknown; known: {', '.join(RUNTIMES)}")
    held_tokens = context or prompt_tokens + reply
    if held_tokens > shape.context:
        said = "context" if context else "prompt_tokens and reply"
        raise UserError(f"{said}: {held_tokens:,} tokens; {shape.name} holds 1 to {shape.context:,}")
    if link is not None:
        machine = _linked(machine, link)
    held = storage(quant or source.quant or _usual(shape, runtime))
    average = bits if bits is not None or quant else source.bits
    case = Case(
        outline=shape,
        storage=held,
        bits=average or held.bits,
        always_bits=always_bits(shape, held, held.name),
        machine=machine,
        runtime=runtime or native_runtime(machine),
        count=count,
        batch=batch,
        depth=prompt_tokens + reply / 2,
        prompt=prompt_tokens,
        kv_bytes=CACHE_BYTES[kv],
        power=device.power,
        host_bandwidth=device.host or HOST_BANDWIDTH,
    )
    takes = memory(case, held_tokens)
    case = spilled(case, takes, gpu_layers)
    result = Inference(
        case,
        held_tokens,
        reply,
        takes,
        _prompt(case, own),
        _token(case, reply, own),
        _token(replace(case, batch=1), reply, own),
    )
    notes = [*source.notes, *_contradiction(quant, source), *device.notes]
    if held_tokens < prompt_tokens + reply:
        notes.append(Note("short", {"held": f"{held_tokens:,}", "needed": f"{prompt_tokens + reply:,}"}))
    if machine.vendor not in VENDORS.get(case.runtime, (machine.vendor,)):
        notes.append(Note("runtime", {"runtime": case.runtime, "machine": machine.name}))
    return replace(result, changes=_changes(case, reply, result.token, own), notes=tuple(notes))


def _source(model: Source | Outline | Architecture | str) -> Source:
    if isinstance(model, Source):
        return model
    if isinstance(model, Outline):
        return Source(model)
    return Source(outline(model)) if isinstance(model, Architecture) else named_source(model)


def _contradiction(quant: str | None, source: Source) -> tuple[Note, ...]:
    """A note where another storage was asked for than the name or the file states."""
    if quant is None or source.quant is None or storage(quant).name == storage(source.quant).name:
        return ()
    return (Note("quant", {"said": source.quant, "used": quant}),)


def _usual(shape: Outline, runtime: str | None) -> str:
    """How a model is usually stored for a runtime, where nobody says."""
    if shape.name.startswith("gpt-oss"):
        return "MXFP4"  # published so
    return "FP8" if runtime in SERVERS else "Q4_K_M"


def _linked(machine: Machine, link: str | Figure) -> Machine:
    if isinstance(link, Figure):
        return replace(machine, link=link)
    key = link.lower()
    if key not in LINKS:
        raise UserError(f"link {link[:30]!r} is unknown; known: {', '.join(LINKS)}, here")
    rate = LINKS[key]
    return machine if rate is None else replace(machine, link=Figure(rate, machine.bandwidth.basis, key))


def _token(case: Case, reply: int, own: float | None, like: Case | None = None) -> Estimate:
    """One decode step: serving runtimes by their own constants, the others by llama.cpp's form."""
    if case.runtime not in SERVERS:
        return estimate(FORMS["decode"], case, own=own, like=like)
    form = FORMS["serving_moe" if case.outline.is_mixture else "serving_dense"]
    return estimate(form, _served(case, reply), own=own, like=None if like is None else _served(like, reply))


def _served(case: Case, reply: int) -> Serving:
    width = {"f16": "bf16", "fp8": "fp8", "q8": "int8", "nv4": "nvfp4", "mx4": "nvfp4"}.get(
        case.storage.kind, "int4_wo"
    )
    return Serving(
        outline=case.outline,
        storage=case.storage,
        bits=case.bits,
        machine=case.machine,
        runtime=case.runtime,
        count=case.count,
        batch=case.batch,
        depth=case.depth,
        prompt=case.prompt,
        kv_bytes=case.kv_bytes,
        input=case.prompt,
        output=max(reply, 1),
        dense_mode=width,
        expert_mode=width,
        expert_bits=case.bits,
    )


def _prompt(case: Case, own: float | None) -> Estimate:
    return estimate(FORMS["prefill"], replace(case, depth=0.0, batch=1), own=own)


def _changes(case: Case, reply: int, now: Estimate, own: float | None) -> dict[str, float]:
    """Tokens a second after one change, over those now; constants kept."""
    m = case.machine
    twice = replace(m, bandwidth=Figure(2 * m.bandwidth.value, m.bandwidth.basis, "twice"))
    flops = {key: Figure(2 * value.value, value.basis, "twice") for key, value in m.flops.items()}
    other = {
        "bandwidth": replace(case, machine=twice),
        "arithmetic": replace(case, machine=replace(m, flops=flops)),
        "bits": replace(case, bits=case.bits / 2),
        "batch": replace(case, batch=2 * case.batch),
    }
    return {
        name: now.seconds / _token(changed, reply, own, like=case).seconds * (2 if name == "batch" else 1)
        for name, changed in other.items()
    }
