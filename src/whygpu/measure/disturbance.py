"""Who else used this machine while it was measured."""

import os
from time import perf_counter

import psutil

from whygpu.measure.rates import Flag

__all__ = ["Disturbance"]

NOTICEABLE = 0.05
"""The share of the processor's time from which on a disturbance is reported."""


class Disturbance:
    """Watches from its creation on: other processes, the hypervisor, the battery."""

    def __init__(self) -> None:
        self._began = perf_counter()
        self._busy, self._stolen = _system()
        self._own = _own()

    def flags(self, threads: int) -> list[Flag]:
        """What took more than 5 % of ``threads`` processors since the beginning."""
        whole = max(perf_counter() - self._began, 1e-9) * threads
        busy, stolen = _system()
        others = (busy - self._busy - (_own() - self._own)) / whole
        taken = (stolen - self._stolen) / whole
        flags = []
        if others > NOTICEABLE:
            flags.append(
                Flag(
                    "busy",
                    f"other processes used {min(others, 1):.0%} of the processors meanwhile",
                    {"share": f"{min(others, 1):.0%}"},
                )
            )
        if taken > NOTICEABLE:
            flags.append(
                Flag(
                    "stolen",
                    f"the hypervisor gave {min(taken, 1):.0%} of the processors to others",
                    {"share": f"{min(taken, 1):.0%}"},
                )
            )
        battery = getattr(psutil, "sensors_battery", lambda: None)()
        if battery is not None and not battery.power_plugged:
            flags.append(Flag("battery", "running on battery: the clock may be held down"))
        return flags


def _system() -> tuple[float, float]:
    """(seconds busy, seconds stolen) of all processors since the start of the system."""
    times = psutil.cpu_times()
    stolen = float(getattr(times, "steal", 0.0))
    return float(times.user + times.system), stolen


def _own() -> float:
    mine = os.times()
    return mine.user + mine.system
