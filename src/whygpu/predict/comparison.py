"""This machine beside others: one token's time for three models, the floor and what to expect."""

import functools
import math
import tomllib
from dataclasses import replace
from importlib import resources
from typing import Any

from whygpu import models
from whygpu.measure.machine import Machine
from whygpu.predict.floor import Bound, Expected, bound
from whygpu.predict.inference import inference
from whygpu.predict.names import hardware

__all__ = ["elsewhere", "labels", "own_factor"]


@functools.cache
def _plan() -> dict[str, Any]:
    text = resources.files("whygpu.predict").joinpath("data/comparison.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def labels() -> dict[str, str]:
    """How each compared model's storage is called (``Q4``, ``fp16`` ...), by model."""
    return {
        model["name"]: model.get("label") or models.get(model["name"]).quant for model in _plan()["models"]
    }


ALL = 10**6
"""Blocks on the device: all, so that times are those of a machine whose memory holds the model."""
REPLY = 128


def elsewhere(here: Machine | None = None, *, context: int = 0, own: float | None = None) -> list[Bound]:
    """One bound a machine and model, with the time to expect; machine by machine, ``here`` first, if given.

    ``own`` is this machine's own factor (logarithm of measured over predicted time), where a model ran here.
    """
    machines = [] if here is None else [here]
    machines += [hardware(name) for name in _plan()["machines"]]
    return [
        _expected(machine, model, context, own if machine is here else None)
        for machine in machines
        for model in _plan()["models"]
    ]


def own_factor(here: Machine, model: str, seconds: float) -> float | None:
    """Logarithm of measured over predicted time a token of ``model`` here; None for an unlisted one."""
    if model not in models.names():
        return None
    shape = models.get(model)
    guess = inference(
        shape, here, quant=shape.quant, bits=shape.bits_per_weight, prompt_tokens=1, reply=REPLY, own=0.0
    )
    return math.log(seconds / guess.single.seconds)


def _expected(machine: Machine, model: dict[str, Any], context: int, own: float | None) -> Bound:
    shape = models.get(model["name"])
    floor = bound(machine, shape, bits_per_weight=model.get("bits"), context=context)
    token = inference(
        shape,
        machine,
        quant=model.get("quant", shape.quant),
        bits=floor.bits,
        prompt_tokens=max(context, 1),
        reply=REPLY,
        gpu_layers=ALL,
        own=own,
    ).single
    # both count the bytes of a token, a little differently (within 1 %): no time is shown below the floor
    seconds, low, high = (max(each, floor.seconds) for each in (token.seconds, token.low, token.high))
    return replace(floor, expected=Expected(seconds, low, high, token.basis))
