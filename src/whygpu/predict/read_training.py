"""Measurements of training runs (the columns of ``training.csv``) as cases with measured seconds a token
and device."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from whygpu.engine import UserError
from whygpu.measure.machine import Machine
from whygpu.models.lookup import find_outline, generic_outline
from whygpu.models.outline import Outline
from whygpu.predict.cases import Case
from whygpu.predict.fit import Key
from whygpu.predict.names import hardware
from whygpu.predict.quants import Storage
from whygpu.predict.read_speed import Row, number
from whygpu.predict.terms import Form, Keys, Work

__all__ = ["TRAINING", "Training", "training_rows"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Training(Case):
    """A training run; ``prompt`` is the sequence length."""

    flop_a_token: float
    """Useful FLOP: 6 N and attention, forward and backward."""
    precision: str = "bf16"
    framework: str = "other"
    checkpointing: bool = False
    """Whether activations are computed again in the backward pass."""
    whole_run: bool = False
    """Whether the time is of a whole run, with its stops, and not of a benchmark's steps."""


def training_case(
    outline: Outline,
    machine: Machine,
    *,
    count: int,
    sequence: float,
    flop: float,
    precision: str = "bf16",
    framework: str = "any",
    checkpointing: bool = False,
    whole_run: bool = True,
) -> Training:
    """One run as a case: a measured one, a planned one or one of history. ``flop`` is that of a token."""
    return Training(
        outline=outline,
        storage=Storage(precision, 16.0, "f16"),
        bits=16.0,
        machine=machine,
        runtime="training",
        count=count,
        prompt=sequence,
        flop_a_token=flop,
        precision=precision,
        framework=framework,
        checkpointing=checkpointing,
        whole_run=whole_run,
    )


def flop_per_token(o: Outline, sequence: float, *, causal: bool = False) -> float:
    """6 N + attention (12 L h d T, or half of it where the causal half alone counts): PaLM's convention."""
    pairs = sum(g.count * g.prompt_pair * min(sequence, g.window or sequence) for g in o.groups)
    return 6.0 * (o.active + 3.0 * pairs / 3.0 * (0.5 if causal else 1.0))


def training_rows(row: Mapping[str, str]) -> list[Row]:
    """The time a token and device of one line, from its throughput, MFU or duration.

    Raises
    ------
    UserError
        Where the device, the model's size or any measure of speed is missing.
    """
    notes, source = row.get("notes") or "", row.get("source") or ""
    machine = hardware(row.get("device") or "")
    stated = number(row, "params_b")
    model = row.get("model") or ""
    try:
        outline = find_outline(model, parameters=stated * 1e9 if stated else None)
    except UserError:
        if (
            stated is None
            and number(row, "flops_total") is None
            and number(row, "mfu") is None
            and number(row, "tflops_per_device") is None
        ):
            raise
        outline = generic_outline(model, (stated or 1.0) * 1e9)
    count = int(number(row, "device_count") or 1)
    sequence = _stated(r"seq(?:uence)?(?: length)? (\d+)", notes) or 2048.0
    flop = flop_per_token(outline, sequence)
    precision = _precision(model + " " + notes, source)
    half = machine.flops.get("fp16") or machine.flops.get("fp32")
    if half is None:
        raise UserError(f"{machine.name} has no published arithmetic rate")
    rate = _rate(
        row,
        notes,
        flop,
        count,
        half.value * (2.0 if precision in ("fp8", "mxfp8") and "mfu" in row and "amp_fp8" in notes else 1.0),
    )
    if rate is None:
        raise UserError("no tflops_per_device, mfu, tokens/s/GPU nor FLOP with a duration is given")
    flops, whole = rate
    case = training_case(
        outline,
        machine,
        count=count,
        sequence=sequence,
        flop=flop,
        precision=precision,
        framework=_framework(source),
        checkpointing="checkpointing True" in notes or "full recompute" in (model + notes),
        whole_run=whole,
    )
    labels = {
        "device": machine.name,
        "model": outline.name,
        "runtime": case.framework,
        "quantisation": precision,
        "device family": case.family,
        "backend": case.framework,
        "source": source[:60],
    }
    quality = re.search(r"quality=([ABC])", notes) or re.match(r"(B)", "B")
    target = "training, MosaicML" if case.framework == "mosaic" else "training, others"
    return [Row(row["id"], target, case, flop / flops, quality.group(1) if quality else "B", labels)]


def _stated(pattern: str, notes: str) -> float | None:
    found = re.search(pattern, notes)
    return float(found.group(1).replace(",", "")) if found else None


def _rate(
    row: Mapping[str, str], notes: str, flop: float, count: int, peak: float
) -> tuple[float, bool] | None:
    """Useful FLOP/s of one device, and whether it is the mean of a whole run."""
    tera = number(row, "tflops_per_device")
    if tera:
        return tera * 1e12, False
    text = (row.get("mfu") or "").split("-")[0].strip()
    if text:
        try:
            return float(text) * peak, bool(re.search(r"hours|days", row.get("days_or_hours") or ""))
        except ValueError:
            raise UserError(f"mfu {text[:20]!r} is no number") from None
    each = _stated(r"([\d,.]+) tokens/s/(?:GPU|chip|device)", notes)
    if each:
        return each * flop, False
    seconds, devices = _duration(row.get("days_or_hours") or "", count)
    total = number(row, "flops_total")
    tokens = number(row, "tokens_b")
    if total is None and tokens is not None:
        total = tokens * 1e9 * flop
    if total is None or not seconds:
        return None
    return total / seconds / devices, True


def _duration(text: str, count: int) -> tuple[float, int]:
    """Seconds, and over how many devices they run (1 where they are device-hours)."""
    found = re.search(r"([\d,.]+)\s*(M)?\s*(GPU-hours|device-hours|hours|days|minutes|s\b)", text)
    if found is None:
        return 0.0, count
    value = float(found.group(1).replace(",", "")) * (1e6 if found.group(2) else 1.0)
    unit = found.group(3)
    if unit in ("GPU-hours", "device-hours"):
        return value * 3600, 1
    return value * {"hours": 3600.0, "days": 86400.0, "minutes": 60.0, "s": 1.0}[unit], count


def _precision(text: str, source: str) -> str:
    for word, name in (
        ("NVFP4", "nvfp4"),
        ("MXFP8", "mxfp8"),
        ("amp_fp8", "fp8"),
        ("float8", "fp8"),
        ("FP8", "fp8"),
        ("INT8", "int8"),
        ("int8", "int8"),
    ):
        if word in text:
            return name
    return "bf16"


def _framework(source: str) -> str:
    for word, name in (
        ("llm-foundry", "mosaic"),
        ("Megatron-Bridge", "megatron"),
        ("nemo", "megatron"),
        ("Megatron", "megatron"),
        ("calculon", "megatron"),
        ("maxtext", "maxtext"),
        ("torchtitan", "titan"),
        ("Epoch", "epoch"),
        ("karpathy", "karpathy"),
        ("llm.c", "karpathy"),
    ):
        if word.lower() in source.lower():
            return name
    return "other"


def training_work(case: Case) -> Work:
    """A token's useful FLOP at the peak of half precision."""
    assert isinstance(case, Training)
    half = case.machine.flops.get("fp16") or case.machine.flops["fp32"]
    return (case.flop_a_token * (4 / 3 if case.checkpointing else 1.0) / half.value,)


def training_keys(case: Case) -> Keys:
    """Constants of a training run."""
    assert isinstance(case, Training)
    f, p, w = case.family, case.precision, case.framework
    size = math.log(max(case.outline.active, 1e6) / 7e9)
    spread = math.log(max(case.count, 1) / 64)
    length = math.log2(max(case.prompt, 1) / 2048)
    keys: list[Key] = [
        "t:",
        f"tF:{f}",
        f"tP:{p}",
        f"tFP:{f}|{p}",
        f"tW:{w}",
        f"tWF:{w}|{f}",
        ("tN:", size),
        (f"tN:{w}", size),
        ("tG:", spread),
        (f"tG:{w}", spread),
        ("tL:", length),
        (f"tL:{f}|{p}", length),
        (f"tL:{w}", length),
    ]
    if case.checkpointing:
        keys.append("tC:")
    if case.outline.is_mixture:
        keys += ["tX:moe", f"tX:moe|{f}", f"tX:moe|{p}"]
    if case.whole_run:
        keys.append("tX:run")
    return (tuple(keys),)


TRAINING = Form(
    "training",
    ("arithmetic",),
    (0,),
    {
        "t": (0.8, 0.4),
        "tF": (0, 0.2),
        "tP": (0, 0.4),
        "tFP": (0, 0.2),
        "tW": (0, 0.2),
        "tWF": (0, 0.12),
        "tN": (0, 0.08),
        "tG": (0, 0.05),
        "tL": (0, 0.1),
        "tC": (0, 0.2),
        "tX": (0, 0.4),
    },
    training_work,
    training_keys,
    device=0.12,
    model=0.12,
    source=0.12,
    noise=0.10,
)
