"""The doctor's tables: this processor, the layers of the stack, the devices, and the next step."""

from rich.console import RenderableType
from rich.text import Text

from whygpu.cli.tables.build import new_table
from whygpu.measure.stack import Stack
from whygpu.story.numbers import size
from whygpu.story.text import Texts

__all__ = ["stack_tables"]


def stack_tables(texts: Texts, found: Stack) -> list[RenderableType]:
    """What is here, in four parts."""
    part = next((part for part in found.parts if part.key == found.next_step), None)
    more = (
        texts(
            "doctor.more", what=texts(f"doctor.part.{part.key}"), install=texts(f"doctor.install.{part.key}")
        )
        if part
        else ""
    )
    return [
        _host(texts, found),
        _layers(texts, found),
        _devices(texts, found),
        Text(texts("doctor.auto", device=found.auto)),
        Text(more or texts("doctor.complete"), style="bold"),
    ]


def _host(texts: Texts, found: Stack) -> RenderableType:
    host = found.host
    table = new_table(texts("doctor.host"), texts("machine.what"), texts("machine.value"), text_columns=2)
    blas = host["blas"]
    threads = host["blas_threads"] if host["blas_threads"] is not None else texts("unknown")
    rows = {
        "machine.cpu": host["cpu"] or texts("unknown"),
        "machine.system": f"{host['system']} · {host['python']} · NumPy {host['numpy']}",
        "machine.blas": texts(
            "doctor.blas", name=f"{blas['name']} {blas['version']} ({blas['kernel']})", n=threads
        ),
        "doctor.engine": texts("doctor.threads", n=host["engine_threads"]),
        "machine.simd": ", ".join(host["simd"]) or texts("unknown"),
        "doctor.numba": f"Numba {host['numba']} · llvmlite {host['llvmlite']}",
    }
    for key, value in rows.items():
        table.add_row(texts(key), value)
    for card in found.cards or ({"name": texts("none")},):
        about = [str(card["name"])]
        if card.get("memory"):
            about.append(size(card["memory"]))
        if "compute_capability" in card:
            cores = card["tensor_cores"]
            about.append(texts("doctor.capability", capability=card["compute_capability"]))
            about.append(
                texts("doctor.tensor-cores", generation=cores) if cores else texts("doctor.no-tensor-cores")
            )
        table.add_row(texts("machine.accelerators"), " · ".join(about))
    return table


def _layers(texts: Texts, found: Stack) -> RenderableType:
    headings = (texts(f"doctor.{key}") for key in ("part", "version", "found", "install"))
    table = new_table(texts("doctor.layers"), *headings, text_columns=4)
    for layer in dict.fromkeys(part.layer for part in found.parts):
        parts = [part for part in found.parts if part.layer == layer]
        table.add_row(Text(texts(f"doctor.layer.{layer}"), style="bold"))
        for part in parts:
            mark = Text("✓ ", style="green") if part.here else Text("– ", style="dim")
            name = mark + Text(texts(f"doctor.part.{part.key}"))
            more = texts(f"doctor.install.{part.key}")
            version = part.version or (texts("doctor.here") if part.here else texts("doctor.missing"))
            table.add_row(name, version, part.found_by, Text("" if part.here else more))
    return table


def _devices(texts: Texts, found: Stack) -> RenderableType:
    headings = (texts(f"doctor.{key}") for key in ("device", "usable", "install"))
    table = new_table(texts("doctor.devices"), *headings, text_columns=3)
    for device in found.devices:
        if device.usable:
            mark, said, more = Text("✓ ", style="green"), texts("doctor.works", card=device.card), ""
        else:
            mark, more = Text("– ", style="dim"), texts(f"doctor.device.{device.name}")
            key = "package" if device.missing else "device"
            said = texts(f"doctor.not.{key}", package=device.missing)
        table.add_row(mark + Text(device.name), Text(said), Text(more))
    return table
