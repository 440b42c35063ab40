"""This machine beside others: the floor of one token's time for three models."""

import functools
import tomllib
from importlib import resources
from typing import Any

from whygpu import models
from whygpu.measure.machine import Machine
from whygpu.predict.floor import Bound, bound
from whygpu.predict.names import hardware

__all__ = ["elsewhere", "labels"]


@functools.cache
def _plan() -> dict[str, Any]:
    text = resources.files("whygpu.predict").joinpath("data/comparison.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def labels() -> dict[str, str]:
    """How each compared model's storage is called (``Q4``, ``fp16`` ...), by model."""
    return {
        model["name"]: model.get("label") or models.get(model["name"]).quant for model in _plan()["models"]
    }


def elsewhere(here: Machine | None = None, *, context: int = 0) -> list[Bound]:
    """One bound a machine and model, machine by machine; ``here`` first, if given."""
    machines = [] if here is None else [here]
    machines += [hardware(name) for name in _plan()["machines"]]
    return [
        bound(machine, models.get(model["name"]), bits_per_weight=model.get("bits"), context=context)
        for machine in machines
        for model in _plan()["models"]
    ]
