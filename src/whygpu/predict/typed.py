"""What a person typed for a device: how many of which, and what of it was not understood."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from whygpu.engine import Basis, UserError
from whygpu.measure.machine import Figure, Machine
from whygpu.models.said import Note
from whygpu.predict.counts import mixture, split_count
from whygpu.predict.longtail import machines as all_machines
from whygpu.predict.names import left_over, resolve, stated_memory

__all__ = ["Typed", "devices", "power_of", "typed"]

HOST_SHARE = 0.75
"""Of a processor's bandwidth, what reading spilled layers uses: assumed."""
_POWER = re.compile(r"(?<![\d.])(\d{2,4}) ?w(?:atts?)?\b(?!/)", re.IGNORECASE)
_MEMORY = re.compile(r"\d+ ?gi?b( +(of +)?(l?p?ddr\d\w*([- ]\d+)?|ram|memory|system ram))?", re.IGNORECASE)
"""Memory of the host beside a device: "RTX 3060 + 32GB DDR4"."""
_CLOUD = re.compile(r"(high|ultra)gpu", re.IGNORECASE)
_UNUSED = re.compile(r"\b\d{1,3} ?v?cpus?\b|l?p?ddr\d\w*[- ]\d{4,5}\b|\b\d{4,5} ?mt/s", re.IGNORECASE)
"""What a name may say and no prediction takes in: shares of a processor, speeds of memory."""


@dataclass(frozen=True, slots=True)
class Typed:
    """Devices as they were typed."""

    count: int
    machine: Machine
    power: float = 1.0
    """The limit of power over the rated power."""
    host: float | None = None
    """Bytes a second that the processor named beside a GPU reads spilled layers with."""
    notes: tuple[Note, ...] = ()


def power_of(name: str, machine: Machine) -> float:
    """The limit of power that a name states ("RTX 4090 (250 W limit)") over the rated power, 1 at most."""
    found = _POWER.search(name)
    if found is None or machine.watts is None:
        return 1.0
    return min(1.0, max(0.1, float(found.group(1)) / machine.watts.value))


def devices(name: str, known: Mapping[str, Machine] | None = None) -> tuple[int, Machine, float | None]:
    """How many, the machine and the host's bandwidth; cards that share layers become one machine.

    "2x RTX 4090 + RTX 3090" are three cards with their mean bandwidth and rate, weighted by memory (layers
    are shared out by memory and run in turn). A processor beside a card is the host of what spills.

    Raises
    ------
    UserError
        For a part that is unknown.
    """
    count, rest = split_count(name)
    parts = [part for part in mixture(name if "+" in rest else rest) if not _MEMORY.fullmatch(part.strip())]
    rest = split_count(parts[0])[1] if len(parts) == 1 else rest
    if len(parts) == 1:
        try:
            return count, _find(rest, known), None
        except UserError:
            parts = [part.strip() for part in re.split(r"\s+/\s+|,\s+", rest)]
            if count > 1 or len(parts) < 2 or not all(re.search(r"\d", part) for part in parts):
                raise
    found: list[tuple[int, Machine]] = []
    for part in parts:
        several, single = split_count(part)
        found.append((several, _find(single, known)))
    hosts = [m for _, m in found if m.kind == "cpu"]
    cards = [(n, m) for n, m in found if m.kind != "cpu"] or found
    host = HOST_SHARE * hosts[0].bandwidth.value if hosts and len(cards) < len(found) else None
    total = sum(n for n, _ in cards)
    return total, cards[0][1] if len({m.name for _, m in cards}) == 1 else _mixed(cards), host


def _find(name: str, known: Mapping[str, Machine] | None) -> Machine:
    if known is not None:
        try:
            return resolve(name, known)
        except UserError:
            pass
    return resolve(name, all_machines())


def _said_of(name: str, machine: Machine, known: Mapping[str, Machine] | None) -> str:
    """The part of the name that says the card, without its count and its host."""
    for part in (name, *mixture(name), *re.split(r"\s+/\s+|,\s+", name)):
        try:
            if _find(split_count(part)[1], known).name == machine.name:
                return split_count(part)[1]
        except UserError:
            continue
    return split_count(name)[1]


def _mixed(cards: list[tuple[int, Machine]]) -> Machine:
    """One machine that stands for each of several unlike ones."""
    first, total = cards[0][1], sum(n for n, _ in cards)
    sizes = [n * (m.memory.value if m.memory else 1.0) for n, m in cards]
    source = f"mean of {', '.join(m.name for _, m in cards)} by memory"

    def mean(values: list[float]) -> float:
        return sum(sizes) / sum(size / value for size, value in zip(sizes, values, strict=True))

    flops = {
        key: Figure(mean([m.flops[key].value for _, m in cards]), figure.basis, source)
        for key, figure in first.flops.items()
        if all(key in m.flops for _, m in cards)
    }
    return replace(
        first,
        name=" + ".join(f"{n} x {m.name}" if n > 1 else m.name for n, m in cards),
        bandwidth=Figure(mean([m.bandwidth.value for _, m in cards]), first.bandwidth.basis, source),
        memory=Figure(sum(sizes) / total, first.bandwidth.basis, source),
        flops=flops or first.flops,
        watts=_sum(cards, "watts", total, source),
        price=_sum(cards, "price", total, source),
        hourly=_sum(cards, "hourly", total, source),
    )


def _sum(cards: list[tuple[int, Machine]], what: str, total: int, source: str) -> Figure | None:
    """The mean of a figure a card, so that count times it is the sum; None where one lacks it."""
    found = [(n, getattr(m, what)) for n, m in cards]
    if any(figure is None for _, figure in found):
        return None
    return Figure(sum(n * figure.value for n, figure in found) / total, found[0][1].basis, source)


def typed(name: str, known: Mapping[str, Machine] | None = None) -> Typed:
    """What ``name`` means, with notes on what was taken otherwise or not at all.

    Raises
    ------
    UserError
        Where no machine fits.
    """
    count, machine, host = devices(name, known)
    notes: list[Note] = []
    if host is not None:
        notes.append(Note("host", {"rate": f"{host / 1e9:.0f}"}))
    if " + " in machine.name:
        return Typed(count, machine, 1.0, host, (*notes, Note("mixed", {"machines": machine.name})))
    rest = _said_of(name, machine, known)
    power, watts = power_of(rest, machine), machine.watts
    stated = _POWER.search(rest)
    if stated and power < 1 and watts is not None:
        notes.append(
            Note("power", {"said": stated.group(1), "rated": f"{watts.value:.0f}", "machine": machine.name})
        )
    elif stated and (watts is None or float(stated.group(1)) > 1.05 * watts.value):
        notes.append(Note("unused", {"words": stated.group(0), "machine": machine.name}))
    words = [*left_over(rest, machine), *(found.group(0) for found in _UNUSED.finditer(rest))]
    if words:
        notes.append(Note("hardware_words", {"words": ", ".join(words), "machine": machine.name}))
    memory, held = (None if _CLOUD.search(rest) else stated_memory(rest)), machine.memory
    if memory and held is not None and memory * 2**30 > 3.5 * held.value and machine.kind == "gpu":
        notes.append(Note("unused", {"words": f"{memory} GB", "machine": machine.name}))  # the host's
    elif memory and held is not None and not 0.88 < memory * 2**30 / held.value < 1.12:
        size = f"{held.value / 2**30:.0f}"
        notes.append(Note("memory", {"said": str(memory), "catalogue": size, "machine": machine.name}))
        source = f"as typed; the catalogue's has {size} GiB"
        machine = replace(machine, memory=Figure(memory * 2.0**30, Basis.ASSUMED, source))
    return Typed(count, machine, power, host, tuple(notes))
