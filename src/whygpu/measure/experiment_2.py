"""Experiment 2: one GPT-2-small layer, product by product. NumPy and the standard library only.

The article's attention is one head of 768; GPT-2's is 12 heads of 64. Both are timed, and everything
that is not a product beside them, so that "matmul is nearly all of it" is checked and not assumed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from statistics import median
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from whygpu.engine.basis import Basis
from whygpu.engine.progress import Progress, silent
from whygpu.measure.article import article
from whygpu.measure.layouts import Layouts, examine, softmax
from whygpu.measure.timing import Timing, time_call

__all__ = ["HEADS", "Experiment2", "Layer", "Step", "experiment_2"]

HEADS = 12
ITEM = 4
"""Bytes of a float32."""

Array = NDArray[np.float32]

OPERATIONS = {"LayerNorm": 7, "scale and softmax": 6, "GELU": 9, "residual add": 1, "merge heads": 0}
"""FLOP a number: LayerNorm (mean, subtract, square, mean, divide, scale, shift), softmax (scale, maximum,
subtract, exp, sum, divide), GELU by tanh (x^3 2, times 0.044715, plus x, times a constant, tanh, plus 1,
times x, times 0.5). A transcendental function counts as one."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of the layer: ``count`` times ``batch`` products (m, k) @ (k, n), or no product."""

    name: str
    count: int
    shape: tuple[int, ...]
    """(batch, m, n, k) of a product; the shape of the array otherwise."""
    is_product: bool
    flop: int
    """Of all ``count`` together."""
    bytes: int
    """Operands and result once, all ``count`` together."""
    timing: Timing
    """Of one of them."""
    article_ms: float | None = None

    @property
    def seconds(self) -> float:
        """Of all ``count`` together (median)."""
        return self.count * self.timing.median

    @property
    def gflops(self) -> float:
        """GFLOP/s."""
        return self.flop / self.seconds / 1e9


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer with ``heads`` heads: the article's eight products, then everything else."""

    heads: int
    steps: tuple[Step, ...]

    @property
    def products(self) -> tuple[Step, ...]:
        """The matrix multiplies."""
        return tuple(step for step in self.steps if step.is_product)

    @property
    def others(self) -> tuple[Step, ...]:
        """What is not a product."""
        return tuple(step for step in self.steps if not step.is_product)

    @property
    def product_seconds(self) -> float:
        """Of all products: what the article calls a layer."""
        return sum(step.seconds for step in self.products)

    @property
    def seconds(self) -> float:
        """Of everything."""
        return sum(step.seconds for step in self.steps)

    @property
    def product_time_share(self) -> float:
        """Of the time."""
        return self.product_seconds / self.seconds

    @property
    def product_flop_share(self) -> float:
        """Of the FLOP."""
        return sum(step.flop for step in self.products) / sum(step.flop for step in self.steps)

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "heads": self.heads,
            "steps": [self._step(step) for step in self.steps],
            "product_ms": self.product_seconds * 1e3,
            "ms": self.seconds * 1e3,
            "product_time_share": self.product_time_share,
            "product_flop_share": self.product_flop_share,
        }

    def _step(self, step: Step) -> dict[str, Any]:
        return {
            "name": step.name,
            "count": step.count,
            "shape": list(step.shape),
            "is_product": step.is_product,
            "flop": step.flop,
            "bytes": step.bytes,
            "timing": step.timing.as_dict(),
            "ms": step.seconds * 1e3,
            "gflops": step.gflops,
            "gbs": step.bytes / step.seconds / 1e9,
            "share_of_products": step.seconds / self.product_seconds if step.is_product else None,
            "share": step.seconds / self.seconds,
            "article_ms": step.article_ms,
            "basis": str(Basis.MEASURED),
        }


@dataclass(frozen=True, slots=True)
class Experiment2:
    """The layer with one head and with twelve, and what explains the article's slow scores."""

    d_model: int
    sequence: int
    d_ff: int
    layers: int
    one_head: Layer
    many_heads: Layer
    layouts: Layouts
    article_gap: float
    """The article's scores over its attention x V."""

    @property
    def article_rates(self) -> dict[str, float]:
        """GFLOP/s of the article's eight products: its time, the FLOP of our shapes."""
        return {
            step.name: step.flop / step.article_ms / 1e6 for step in self.one_head.products if step.article_ms
        }

    @property
    def article_slowdown(self) -> float:
        """How many times slower its scores ran than its other products (median)."""
        rates = self.article_rates
        return median(rate for name, rate in rates.items() if name != "scores") / rates["scores"]

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        theirs = article()["experiment_2"]
        return {
            "d_model": self.d_model,
            "sequence": self.sequence,
            "d_ff": self.d_ff,
            "layers": self.layers,
            "one_head": self.one_head.as_dict(),
            "many_heads": self.many_heads.as_dict(),
            "model_product_ms": self.layers * self.one_head.product_seconds * 1e3,
            "model_ms": self.layers * self.one_head.seconds * 1e3,
            "model_basis": str(Basis.DERIVED),
            "layouts": self.layouts.as_dict(),
            "article": {
                "layer_ms": theirs["layer_ms"],
                "model_ms": theirs["model_ms"],
                "scores_over_attention_x_v": self.article_gap,
                "basis": str(Basis.PUBLISHED),
                "gflops": self.article_rates,
                "scores_slowdown": self.article_slowdown,
                "cores": article()["machine"]["cores"],
                "gflops_basis": str(Basis.DERIVED),
            },
        }


def experiment_2(*, quick: bool = False, progress: Progress = silent) -> Experiment2:
    """Time one GPT-2-small layer in float32, with one head and with twelve; then look for the slow scores.

    Each step is timed as people write it, on the operands that the step before it left.
    """
    theirs = article()["experiment_2"]
    shape = theirs["sequence"], theirs["d_model"], theirs["d_ff"]
    gap = theirs["ms"]["scores"] / theirs["ms"]["attention x V"]
    seconds = 0.06 if quick else 0.15
    progress("measure.experiment", 0.0, number=2, step="layer")
    one = _Bench(*shape, 1, seconds).layer()
    progress("measure.experiment", 0.4, number=2, step="heads")
    many = _Bench(*shape, HEADS, seconds).layer()
    progress("measure.experiment", 0.8, number=2, step="layouts")
    layouts = examine(shape[0], shape[1], gap, article()["machine"]["cores"], quick=quick)
    return Experiment2(shape[1], shape[0], shape[2], theirs["layers"], one, many, layouts, gap)


class _Bench:
    """Runs the layer once, step by step, timing each."""

    def __init__(self, sequence: int, d_model: int, d_ff: int, heads: int, seconds: float) -> None:
        self.sequence, self.width, self.d_ff, self.heads = sequence, d_model, d_ff, heads
        self.seconds = seconds
        self.steps: list[Step] = []
        self.random = np.random.default_rng(heads)

    def layer(self) -> Layer:
        """Run the steps in the layer's order; the result lists the products first, as the article does."""
        x = self._weights(self.sequence, self.width)  # (T, d)
        gain, shift = np.ones(self.width, np.float32), np.zeros(self.width, np.float32)
        normed = self._other("LayerNorm", 2, lambda: layer_norm(x, gain, shift), x)
        mixed = self._attention(normed)
        x = self._other("residual add", 2, lambda: x + mixed, x, mixed)
        up, down = self._weights(self.width, self.d_ff), self._weights(self.d_ff, self.width)
        hidden = self._product("FFN up", normed, up)  # (T, d_ff)
        active = self._other("GELU", 1, lambda: gelu(hidden), hidden)
        self._product("FFN down", active, down)  # (T, d)
        return Layer(self.heads, tuple(sorted(self.steps, key=lambda step: not step.is_product)))

    def _attention(self, x: Array) -> Array:
        heads, width = self.heads, self.width
        q, k, v = (self._product(name, x, self._weights(width, width)) for name in ("Q", "K", "V"))
        if heads > 1:
            q, k, v = (_split(part, heads) for part in (q, k, v))  # (heads, T, head_dim), views
        scores = self._product("scores", q, np.swapaxes(k, -1, -2))  # (heads, T, T), K transposed as a view
        scale = np.float32((width // heads) ** -0.5)
        attention = self._other("scale and softmax", 1, lambda: softmax(scores * scale), scores)
        mixed = self._product("attention x V", attention, v)  # (heads, T, head_dim)
        if heads > 1:
            apart = mixed
            mixed = self._other("merge heads", 1, lambda: _merge(apart), apart)  # (T, d)
        return self._product("out", mixed, self._weights(width, width))

    def _weights(self, rows: int, columns: int) -> Array:
        return self.random.standard_normal((rows, columns), dtype=np.float32) * np.float32(rows**-0.5)

    def _product(self, name: str, a: Array, b: Array) -> Array:
        timing = time_call(lambda: a @ b, seconds=self.seconds)
        out: Array = a @ b
        m, k, n = a.shape[-2], a.shape[-1], b.shape[-1]
        batch = prod(out.shape[:-2])
        moved = ITEM * (a.size + b.size + out.size)
        theirs = article()["experiment_2"]["ms"].get(name) if self.heads == 1 else None
        step = Step(name, 1, (batch, m, n, k), True, 2 * batch * m * n * k, moved, timing, theirs)
        self.steps.append(step)
        return out

    def _other(self, name: str, count: int, call: Callable[[], Array], *inputs: Array) -> Array:
        timing = time_call(call, seconds=self.seconds)
        out = call()
        flop = count * OPERATIONS[name] * inputs[0].size
        moved = count * ITEM * (sum(part.size for part in inputs) + out.size)
        self.steps.append(Step(name, count, inputs[0].shape, False, flop, moved, timing))
        return out


def layer_norm(x: Array, gain: Array, shift: Array) -> Array:
    """Over the last axis; epsilon as in GPT-2."""
    centred = x - x.mean(axis=-1, keepdims=True)
    variance = np.square(centred).mean(axis=-1, keepdims=True)
    out: Array = centred / np.sqrt(variance + np.float32(1e-5)) * gain + shift
    return out


def gelu(x: Array) -> Array:
    """GPT-2's approximation by tanh (Hendrycks and Gimpel 2016)."""
    inner = np.float32(0.7978845608) * (x + np.float32(0.044715) * x * x * x)
    return cast(Array, np.float32(0.5) * x * (np.float32(1) + np.tanh(inner)))


def _split(x: Array, heads: int) -> Array:
    """(T, d) to (heads, T, head_dim), a view."""
    return x.reshape(x.shape[0], heads, -1).transpose(1, 0, 2)


def _merge(x: Array) -> Array:
    """(heads, T, head_dim) to (T, d), a copy."""
    return np.ascontiguousarray(x.transpose(1, 0, 2)).reshape(x.shape[1], -1)
