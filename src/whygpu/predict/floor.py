"""The least time a token can take: the arithmetic roof, the bandwidth roof, and whether it fits.

This is the bound of the roofline model (Williams, Waterman, Patterson 2009) for one decode step at batch 1.
Real machines take longer: ``comparison`` adds what to expect, with its band.
"""

from dataclasses import dataclass
from typing import Any

from whygpu import models
from whygpu.engine import Basis, UserError
from whygpu.measure.machine import Figure, Machine, dtype_key

__all__ = ["LABEL", "Bound", "Expected", "arithmetic_dtype", "bound"]

LABEL = "roofline bound, no band yet"
BANDED = "roofline bound, and what to expect with its p10 to p90 band"
KV_BYTES = 2
"""Bytes of a number in the K/V cache: fp16."""


@dataclass(frozen=True, slots=True)
class Expected:
    """What a token should really take, by the fitted constants."""

    seconds: float
    low: float
    """p10."""
    high: float
    """p90."""
    basis: str
    """How well the machine is known: here, itself, family or kin (``constants.Estimate``)."""


@dataclass(frozen=True, slots=True)
class Bound:
    """The floor of one token's time, everything that it was computed from, and what to expect."""

    machine: Machine
    model: str
    bits: float
    """Average bits a weight."""
    context: int
    """Tokens in the K/V cache before this one."""
    dtype: str
    flop: Figure
    """Of one token."""
    bytes: Figure
    """Read for one token: weights and K/V cache."""
    needed: Figure
    """Bytes of memory: all weights and the K/V cache."""
    peak: Figure
    """FLOP/s in ``dtype``."""
    expected: Expected | None = None
    """As if the memory held it; None where nothing was predicted."""

    @property
    def likely(self) -> float:
        """Seconds to expect; the floor where nothing was predicted."""
        return self.seconds if self.expected is None else self.expected.seconds

    @property
    def arithmetic_seconds(self) -> float:
        """FLOP / peak."""
        return self.flop.value / self.peak.value

    @property
    def bandwidth_seconds(self) -> float:
        """Bytes / bandwidth."""
        return self.bytes.value / self.machine.bandwidth.value

    @property
    def seconds(self) -> float:
        """The larger of the two: no token comes faster."""
        return max(self.arithmetic_seconds, self.bandwidth_seconds)

    @property
    def binds(self) -> str:
        """``arithmetic`` or ``bandwidth``."""
        return "arithmetic" if self.arithmetic_seconds > self.bandwidth_seconds else "bandwidth"

    @property
    def fits(self) -> bool | None:
        """Whether the memory holds it; None where the machine's memory is unknown."""
        memory = self.machine.memory
        return None if memory is None else self.needed.value <= memory.value

    @property
    def intensity(self) -> float:
        """FLOP a byte."""
        return self.flop.value / self.bytes.value

    @property
    def ridge(self) -> float:
        """FLOP/byte from which on arithmetic would bind."""
        return self.peak.value / self.machine.bandwidth.value

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON: seconds, FLOP, bytes."""
        memory = self.machine.memory
        return {
            "machine": self.machine.name,
            "kind": self.machine.kind,
            "model": self.model,
            "bits_per_weight": self.bits,
            "context": self.context,
            "dtype": self.dtype,
            "seconds_per_token": self.seconds,
            "arithmetic_seconds": self.arithmetic_seconds,
            "bandwidth_seconds": self.bandwidth_seconds,
            "tokens_per_second": 1 / self.seconds,
            "binds": self.binds,
            "fits": self.fits,
            "flop_per_byte": self.intensity,
            "ridge": self.ridge,
            "basis": str(Basis.DERIVED),
            "formula": "max(FLOP / peak, bytes / bandwidth)",
            "label": LABEL if self.expected is None else BANDED,
            "expected_seconds": None if self.expected is None else self.expected.seconds,
            "p10_seconds": None if self.expected is None else self.expected.low,
            "p90_seconds": None if self.expected is None else self.expected.high,
            "efficiencies_of": None if self.expected is None else self.expected.basis,
            "flop": self.flop.as_dict(),
            "bytes": self.bytes.as_dict(),
            "needed": self.needed.as_dict(),
            "peak": self.peak.as_dict(),
            "bandwidth": self.machine.bandwidth.as_dict(),
            "memory": None if memory is None else memory.as_dict(),
        }


def arithmetic_dtype(machine: Machine) -> str:
    """The number format that a model runs in there: float32 on a CPU, fp16 where it has a peak, else fp32.

    Raises
    ------
    UserError
        Where the machine has neither peak.
    """
    for dtype in ("fp32",) if machine.kind == "cpu" else ("fp16", "fp32"):
        if dtype in machine.flops:
            return dtype
    known = ", ".join(machine.flops) or "no peak at all"
    raise UserError(
        f"{machine.name}: no published fp16 or fp32 peak (it has {known}); nothing can be bounded"
    )


def bound(
    machine: Machine,
    architecture: models.Architecture,
    *,
    bits_per_weight: float | None = None,
    context: int = 0,
    dtype: str | None = None,
) -> Bound:
    """The floor of one decode step at batch 1.

    Parameters
    ----------
    bits_per_weight
        Average, scales included; None: as the architecture is stored.
    context
        Tokens in the K/V cache (fp16) before this one.
    dtype
        In which number format it multiplies; None: see ``arithmetic_dtype``.

    Raises
    ------
    UserError
        For bits outside 1 to 64, a context outside the model's, or a format without a peak there.
    """
    bits = architecture.bits_per_weight if bits_per_weight is None else bits_per_weight
    if not 1 <= bits <= 64:
        raise UserError(f"bits_per_weight: {bits:g} is not possible; give 1 to 64")
    if not 0 <= context < architecture.context:
        raise UserError(
            f"context: {context} tokens before the next one; {architecture.name} holds "
            f"0 to {architecture.context - 1}"
        )
    key = arithmetic_dtype(machine) if dtype is None else dtype_key(dtype)
    flop = sum(work.flop for work in models.matmuls(architecture, tokens=1, past=context))
    read = models.bytes_per_token(
        architecture, past=context + 1, bits_per_weight=bits, bytes_per_value=KV_BYTES
    )
    cache = (context + 1) * models.kv_bytes_per_token(architecture, KV_BYTES)
    held = models.weight_bytes(architecture, bits) + cache
    return Bound(
        machine=machine,
        model=architecture.name,
        bits=bits,
        context=context,
        dtype=key,
        flop=Figure(float(flop), Basis.DERIVED, "the sum of 2mnk over the model's products for one token"),
        bytes=Figure(float(read), Basis.DERIVED, f"weights read x {bits:g} bits + K/V cache in fp16"),
        needed=Figure(float(held), Basis.DERIVED, f"all weights x {bits:g} bits + K/V cache in fp16"),
        peak=machine.peak(key),
    )
