"""What this machine does: its parts, its measured roofline, and the article's three experiments.

Nothing is loaded until it is used: ``whygpu.measure.experiments`` must run with NumPy alone.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from whygpu.measure.device import DeviceRoofline, device_roofline
    from whygpu.measure.host import Host, this_host
    from whygpu.measure.links import Link, Links, kept_links, measure_links
    from whygpu.measure.machine import DTYPES, Figure, Machine
    from whygpu.measure.probe import kept_roofline, roofline
    from whygpu.measure.rates import Flag, Launch, Rate
    from whygpu.measure.roof import Roofline
    from whygpu.measure.timing import Timing, time_call

__all__ = [
    "DTYPES",
    "DeviceRoofline",
    "Figure",
    "Flag",
    "Host",
    "Launch",
    "Link",
    "Links",
    "Machine",
    "Rate",
    "Roofline",
    "Timing",
    "device_roofline",
    "kept_links",
    "kept_roofline",
    "measure_links",
    "roofline",
    "this_host",
    "time_call",
]

_PLACES = {
    "device": ("DeviceRoofline", "device_roofline"),
    "links": ("Link", "Links", "kept_links", "measure_links"),
    "host": ("Host", "this_host"),
    "machine": ("DTYPES", "Figure", "Machine"),
    "probe": ("kept_roofline", "roofline"),
    "rates": ("Flag", "Launch", "Rate"),
    "roof": ("Roofline",),
    "timing": ("Timing", "time_call"),
}
_MODULE_OF = {name: module for module, names in _PLACES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
