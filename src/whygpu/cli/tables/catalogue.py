"""The catalogue of hardware, and one chip, as tables."""

from rich.console import RenderableType

from whygpu.cli.tables.build import new_table
from whygpu.measure.machine import Figure, Machine
from whygpu.story.numbers import si, significant
from whygpu.story.text import Texts

__all__ = ["hardware_table", "machine_table", "unresolved_table"]


def hardware_table(texts: Texts, machines: list[Machine]) -> RenderableType:
    """Every chip of the catalogue."""
    keys = ("name", "year", "fp32", "fp16", "bandwidth", "memory", "ridge")
    table = new_table(texts("hardware.title"), *(texts(f"hardware.{key}") for key in keys))
    for machine in machines:
        best = next((dtype for dtype in ("fp16", "fp32") if dtype in machine.flops), None)
        table.add_row(
            machine.name,
            str(machine.year or ""),
            _figure(machine.flops.get("fp32"), "FLOP/s"),
            _figure(machine.flops.get("fp16"), "FLOP/s"),
            _figure(machine.bandwidth, "B/s"),
            "" if machine.memory is None else f"{machine.memory.value / 2**30:g} GiB",
            significant(machine.ridge(best)) if best else "",
        )
    return table


def machine_table(texts: Texts, machine: Machine) -> RenderableType:
    """One chip: each figure with its basis and source, and what the sources disagree on."""
    keys = ("figure", "value", "basis", "source")
    table = new_table(machine.name, *(texts(f"hardware.{key}") for key in keys), text_columns=4)
    figures = {**{f"peak {dtype}": (figure, "FLOP/s") for dtype, figure in machine.flops.items()}}
    for name, unit in (
        ("bandwidth", "B/s"),
        ("memory", "B"),
        ("watts", "W"),
        ("price", "USD"),
        ("hourly", "USD/h"),
    ):
        figure = getattr(machine, name)
        if figure is not None:
            figures[name] = (figure, unit)
    for name, (figure, unit) in figures.items():
        table.add_row(name, _figure(figure, unit), str(figure.basis), figure.source)
    for name, text in machine.details.items():
        table.add_row(name, text)
    return table


def _figure(figure: Figure | None, unit: str) -> str:
    return "" if figure is None else si(figure.value, unit)


def unresolved_table(texts: Texts, devices: list[tuple[str, str]]) -> RenderableType:
    """Devices of public measurements that no public figures are known of, each with the reason."""
    title = texts("predict.validate.unresolved", rows=len(devices))
    table = new_table(title, texts("hardware.name"), texts("predict.validate.why"), text_columns=2)
    for name, why in devices:
        table.add_row(name, why)
    return table
