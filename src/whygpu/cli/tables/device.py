"""Tables about a device's roofline and about what ranks need to talk."""

from typing import Any

from rich.console import RenderableType
from rich.text import Text

from whygpu.cli.tables.build import new_table
from whygpu.engine.errors import UserError
from whygpu.measure.device import DeviceRate, DeviceRoofline
from whygpu.measure.links import Links
from whygpu.measure.machine import dtype_key
from whygpu.story.numbers import duration, percent, si, size
from whygpu.story.text import Texts

__all__ = ["device_tables", "links_tables"]


def device_tables(texts: Texts, roofline: DeviceRoofline) -> list[RenderableType]:
    """Each rate, with the share of the datasheet's peak where the catalogue knows the card."""
    keys = ("what", "dtype", "size", "median", "best", "peak")
    title = texts("device.title", device=roofline.device, card=roofline.card)
    table = new_table(title, *(texts(f"device.{key}") for key in keys), text_columns=2)
    known = _catalogue(roofline.card)
    for dtype in roofline.dtypes:
        rate = roofline.best("gemm", dtype)
        if rate is not None:
            cells = si(rate.flop / rate.timing.median, "FLOP/s"), si(rate.flops, "FLOP/s")
            table.add_row(texts("device.gemm"), dtype, f"{rate.shape[0]}²", *cells, _peak(known, rate))
    for name in ("read", "copy"):
        rate = roofline.best(name)
        if rate is not None:
            cells = si(rate.bytes / rate.timing.median, "B/s"), si(rate.bandwidth, "B/s")
            share = percent(rate.bandwidth / known.bandwidth.value) if known else ""
            table.add_row(texts(f"device.{name}"), rate.dtype, size(rate.shape[0]), *cells, share)
    for rate in roofline.rates:
        if rate.name == "launch":
            cells = duration(rate.timing.median), duration(rate.timing.minimum)
            table.add_row(texts("device.launch"), rate.dtype, "4²", *cells, "")
    notes = [texts("device.skipped", what=what, why=why) for what, why in roofline.skipped.items()]
    if roofline.device.endswith("cpu") or roofline.device in ("jax", "numpy"):
        notes.append(texts("device.no-gpu", device=roofline.card))
    return [table, *(Text(note, style="yellow") for note in notes)]


def _catalogue(card: str) -> Any:
    """The chip of the catalogue that the card's own name means, or None."""
    from whygpu import predict

    words = card.removeprefix("NVIDIA ").removeprefix("GeForce ")
    for name in (card, words, words.split("-")[0].split(" PCIe")[0]):
        try:
            return predict.hardware(name)
        except UserError:
            continue
    return None


def _peak(known: Any, rate: DeviceRate) -> str:
    if known is None:
        return ""
    try:
        return percent(rate.flops / known.peak(dtype_key(rate.dtype)).value)
    except UserError:
        return ""


def links_tables(texts: Texts, links: Links) -> list[RenderableType]:
    """Every transfer by size, then what was fitted."""
    keys = ("kind", "size", "sent", "seconds", "fastest", "bandwidth")
    title = texts("links.title", ranks=links.ranks, transport=links.transport, device=links.device)
    table = new_table(title, *(texts(f"links.{key}") for key in keys))
    for at, one in enumerate(links.transfers):
        if at and links.transfers[at - 1].kind != one.kind:
            table.add_section()
        cells = duration(one.seconds), duration(one.fastest), si(one.bandwidth, "B/s")
        table.add_row(texts(f"links.kind.{one.kind}"), size(one.size), size(one.sent), *cells)
    fitted = new_table(
        texts("links.fit.title"), *(texts(f"links.{key}") for key in ("kind", "alpha", "bandwidth", "error"))
    )
    for link in links.links:
        cells = duration(link.alpha.value), si(link.bandwidth.value, "B/s"), percent(link.error)
        fitted.add_row(texts(f"links.kind.{link.kind}"), *cells)
    return [table, fitted, Text(texts("links.note"), style="dim")]
