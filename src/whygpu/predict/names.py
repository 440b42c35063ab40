"""From what a person types to one machine of the catalogue."""

import difflib
import re
from collections.abc import Mapping

from whygpu.engine import UserError
from whygpu.measure.machine import Machine
from whygpu.predict.catalogue import catalogue

__all__ = ["hardware", "resolve"]


def hardware(name: str) -> Machine:
    """The machine of the catalogue that ``name`` means.

    Exact names win, whatever their case; else every word of ``name`` must begin a word of exactly one
    entry: "4090", "h100 sxm", "A100 80GB", "M2 Ultra 76-core".

    Raises
    ------
    UserError
        Where no entry or more than one fits; the line names them, or the nearest ones.
    """
    return resolve(name, catalogue())


def resolve(name: str, machines: Mapping[str, Machine]) -> Machine:
    """The same over any machines, by name."""
    wanted = " ".join(_words(name))
    for key, machine in machines.items():
        if " ".join(_words(key)) == wanted:
            return machine
    for exact in (True, False):  # "l4" is the L4, not the L40S
        fits = [machine for machine in machines.values() if wanted and _fits(_words(name), machine, exact)]
        if len(fits) == 1:
            return fits[0]
        if fits:
            raise UserError(f"hardware {name!r} could be {_either(fits)}; give more of the name")
    near = difflib.get_close_matches(name.lower(), {key.lower(): key for key in machines}, n=3, cutoff=0.4)
    names = {key.lower(): key for key in machines}
    hint = f"near names: {', '.join(names[key] for key in near)}" if near else "list them: whygpu hardware"
    raise UserError(f"hardware {name!r} is not in the catalogue; {hint}")


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z0-9+.]+", text.lower().replace("-core", "core"))


def _fits(wanted: list[str], machine: Machine, exact: bool) -> bool:
    have = _words(f"{machine.vendor} {machine.name}")
    if "cores" in machine.details:
        have.append(f"{machine.details['cores']}core")
    if machine.memory is not None:
        have.append(f"{machine.memory.value / 2**30:g}gb")
    if exact:
        return all(word in have for word in wanted)
    return all(any(candidate.startswith(word) for candidate in have) for word in wanted)


def _either(machines: list[Machine]) -> str:
    shown = [machine.name for machine in machines[:4]]
    more = f" or {len(machines) - 4} others" if len(machines) > 4 else ""
    return ", ".join(shown) + more
