"""This machine's own factor: a short run of the default model against the prediction for it."""

import itertools
import math
import time
from typing import Any

__all__ = ["own_factor"]

TOKENS = 48
PROMPT = "The capital of France is"


def own_factor(machine: Any) -> float | None:
    """Logarithm of measured over predicted seconds a token on this machine; None where no model is at hand.

    Only a model that is already on this disk is run: a prediction downloads nothing.
    """
    from whygpu import models
    from whygpu.engine import UserError

    try:
        models.locate(models.DEFAULT, download=False)
    except UserError:
        return None
    from whygpu import think
    from whygpu.predict import inference

    model = think.load(models.DEFAULT)
    stamps = [time.perf_counter() for _ in think.generate(model, PROMPT, max_tokens=TOKENS)]
    if len(stamps) < 12:
        return None
    gaps = sorted(b - a for a, b in itertools.pairwise(stamps[4:]))
    measured = gaps[len(gaps) // 2]
    shape = model.architecture if hasattr(model, "architecture") else models.get(models.DEFAULT)
    guess = inference(
        shape, machine, quant=shape.quant, bits=shape.bits_per_weight, prompt_tokens=8, reply=TOKENS, own=0.0
    )
    return math.log(measured / guess.single.seconds)
