"""How long training takes: useful FLOP, model FLOP utilisation by family, memory a device, days, cost."""

import functools
import math
import tomllib
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any

from whygpu.engine import UserError
from whygpu.measure.machine import Machine
from whygpu.models.architecture import Architecture
from whygpu.models.lookup import find_outline
from whygpu.models.outline import Outline, outline
from whygpu.predict.constants import FORMS, Estimate, estimate
from whygpu.predict.names import hardware
from whygpu.predict.read_training import Training, flop_per_token, training_case
from whygpu.predict.typed import devices

__all__ = ["History", "TrainingRun", "history", "history_names", "training"]

STATE = 16.0
"""Bytes a parameter: weights and gradients in 16 bits, a 32-bit copy and Adam's two moments (arXiv
1910.02054)."""
ACTIVATION = 34.0
"""Bytes of activations a token, layer and d_model without checkpointing (arXiv 2205.05198, equation 1,
flash attention)."""


@dataclass(frozen=True, slots=True)
class TrainingRun:
    """One run."""

    case: Training
    tokens: float
    flop: float
    """Useful FLOP of the run."""
    each: Estimate
    """Device-seconds a token."""
    tensor: int
    pipeline: int
    memory_per_device: float
    fits: bool | None

    @property
    def seconds(self) -> float:
        """Of the whole run."""
        return self.tokens * self.each.seconds / self.case.count

    @property
    def device_hours(self) -> float:
        """Devices x hours."""
        return self.tokens * self.each.seconds / 3600

    @property
    def utilisation(self) -> float:
        """MFU: useful FLOP/s over the dense peak of half precision."""
        flops = self.case.machine.flops
        return self.case.flop_a_token / self.each.seconds / (flops.get("fp16") or flops["fp32"]).value

    @property
    def dollars(self) -> float | None:
        """Cost where an hourly price is known."""
        hourly = self.case.machine.hourly
        return None if hourly is None else hourly.value * self.device_hours

    @property
    def kilowatt_hours(self) -> float | None:
        """Energy at the published power."""
        watts = self.case.machine.watts
        return None if watts is None else watts.value * self.device_hours / 1e3

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        scale = self.tokens / self.case.count / 86400
        return {
            "model": self.case.outline.name,
            "machine": self.case.machine.name,
            "count": self.case.count,
            "tokens": self.tokens,
            "flop": self.flop,
            "flop_per_token": self.case.flop_a_token,
            "mfu": self.utilisation,
            "precision": self.case.precision,
            "days": {
                "expected": self.each.seconds * scale,
                "p10": self.each.low * scale,
                "p90": self.each.high * scale,
            },
            "device_hours": self.device_hours,
            "split": {"data": self.data, "tensor": self.tensor, "pipeline": self.pipeline},
            "memory_per_device_bytes": self.memory_per_device,
            "fits": self.fits,
            "usd": self.dollars,
            "kwh": self.kilowatt_hours,
            "price_source": self.case.machine.hourly.source if self.case.machine.hourly else None,
            "basis": self.each.basis,
        }

    @property
    def data(self) -> int:
        """Data-parallel copies."""
        return max(1, self.case.count // (self.tensor * self.pipeline))


def training(
    model: Outline | Architecture | str,
    on: Machine | str,
    *,
    tokens: float,
    count: int = 1,
    sequence: int = 4096,
    precision: str = "bf16",
    checkpointing: bool | None = None,
) -> TrainingRun:
    """What it takes to train ``model`` on ``tokens`` tokens with ``count`` devices.

    Parameters
    ----------
    precision
        ``bf16``, ``fp8``, ``mxfp8`` or ``nvfp4``.
    checkpointing
        Whether activations are computed again; None: where they do not fit otherwise.

    Raises
    ------
    UserError
        For an unknown name, an impossible number, or a machine without a published arithmetic rate.
    """
    several, machine = (1, on) if isinstance(on, Machine) else devices(on)[:2]
    count *= several
    shape = (
        model
        if isinstance(model, Outline)
        else outline(model)
        if isinstance(model, Architecture)
        else find_outline(model)
    )
    if not (0 < tokens <= 1e18 and math.isfinite(tokens)):
        raise UserError(f"train-tokens: {tokens:g} is not possible; give 1 to 1e18")
    if not 1 <= count <= 10**7 or not 1 <= sequence <= 10**8:
        raise UserError(
            f"count {count}, sequence {sequence}: give 1 to 10,000,000 devices and 1 to 100,000,000 tokens"
        )
    if precision not in ("bf16", "fp8", "mxfp8", "nvfp4"):
        raise UserError(f"precision {precision!r} is unknown; known: bf16, fp8, mxfp8, nvfp4")
    if not ({"fp16", "fp32"} & set(machine.flops)):
        raise UserError(f"{machine.name} has no published arithmetic rate in fp16 or fp32")
    flop = flop_per_token(shape, sequence)
    tensor, pipeline, held, again = _split(shape, machine, count, sequence, checkpointing)
    case = training_case(
        shape,
        machine,
        count=count,
        sequence=sequence,
        flop=flop,
        precision=precision,
        checkpointing=again,
    )
    room = machine.memory
    fits = None if room is None else held <= 0.94 * room.value
    return TrainingRun(
        case, tokens, flop * tokens, estimate(FORMS["training"], case), tensor, pipeline, held, fits
    )


def _split(
    o: Outline, machine: Machine, count: int, sequence: int, again: bool | None
) -> tuple[int, int, float, bool]:
    """Tensor and pipeline ways, bytes a device and whether activations are computed again.

    States are divided over all devices (ZeRO-3 where data-parallel copies remain); the least model
    parallelism
    whose activations of one sequence fit is taken.
    """
    room = 0.94 * machine.memory.value if machine.memory else math.inf
    state = STATE * o.parameters / count
    best = (1, 1, math.inf, True)
    for ways in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512):
        if ways > count:
            break
        tensor = min(ways, 8)
        for checkpointed in (False, True) if again is None else (again,):
            layer = sequence * o.d_model * (2.0 if checkpointed else ACTIVATION)
            logits = 6.0 * sequence * o.vocab / tensor
            one = STATE * o.parameters / o.layers / tensor / 4
            held = state + layer * o.layers / ways + logits + one
            if held < best[2]:
                best = (tensor, ways // tensor, held, checkpointed)
            if held <= room:
                return tensor, ways // tensor, held, checkpointed
    return best


@dataclass(frozen=True, slots=True)
class History:
    """A run of the past beside the prediction for it."""

    name: str
    run_days: Estimate
    """Predicted days, with the band (in its ``seconds`` fields)."""
    published_days: float | None
    flop: float
    machine: str
    count: int
    source: str
    formula: str

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "name": self.name,
            "machine": self.machine,
            "count": self.count,
            "flop": self.flop,
            "formula": self.formula,
            "days": {"expected": self.run_days.seconds, "p10": self.run_days.low, "p90": self.run_days.high},
            "published_days": self.published_days,
            "source": self.source,
        }


@functools.cache
def _cases() -> dict[str, dict[str, Any]]:
    text = resources.files("whygpu.predict").joinpath("data/history.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def history_names() -> list[str]:
    """The built-in cases of history."""
    return list(_cases())


def history(name: str) -> History:
    """A famous run by its own published or counted FLOP, predicted on its machine.

    Raises
    ------
    UserError
        For a name that is not built in.
    """
    row = _cases().get(name.lower())
    if row is None:
        raise UserError(f"training case {name[:40]!r} is unknown; known: {', '.join(_cases())}")
    machine, count = hardware(row["machine"]), int(row["count"])
    shape = find_outline(row["model"], parameters=row["parameters"])
    case = training_case(
        replace(shape, name=name.lower()),
        machine,
        count=count,
        sequence=row.get("sequence", 2048),
        flop=1.0,
    )
    each = estimate(FORMS["training"], case)
    days = row["flop"] / count / 86400
    scaled = Estimate(
        each.seconds * days, each.low * days, each.high * days, each.shares, each.bound * days, each.basis
    )
    return History(
        name.lower(), scaled, row.get("days"), row["flop"], machine.name, count, row["source"], row["formula"]
    )
