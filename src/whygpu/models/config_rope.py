"""The rotary positions of ``config.json``: ``rope_theta`` and ``rope_scaling``, or ``rope_parameters``.

Until version 4 transformers wrote the first two, since version 5 the last, nested by kind of layer where
those differ. Names of the scalings: transformers' modeling_rope_utils.py.
"""

from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any

from whygpu.models.rope import ROPE_TYPES, RopeScaling, longrope_magnitude, yarn_magnitude

if TYPE_CHECKING:
    from whygpu.models.config import Config

__all__ = ["ropes"]

COMMON = frozenset({"rope_type", "type", "rope_theta", "partial_rotary_factor"})
FIELDS = {
    "default": frozenset(),
    "linear": frozenset({"factor"}),
    "llama3": frozenset(
        {"factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"}
    ),
    "yarn": frozenset(
        {"factor", "original_max_position_embeddings", "attention_factor", "beta_fast", "beta_slow"}
        | {"mscale", "mscale_all_dim", "truncate"}
    ),
    "longrope": frozenset(
        {"factor", "original_max_position_embeddings", "attention_factor", "short_factor", "long_factor"}
    ),
}
OLD_NAMES = {"su": "longrope"}


def ropes(config: "Config", head_dim: int, context: int) -> dict[str, Any]:
    """The ``rope_...`` fields of the architecture."""
    new = config.get("rope_parameters", None)
    old = config.get("rope_scaling", None)
    inner = _mapping(config, new if new is not None else old or {})
    nested = "full_attention" in inner or "sliding_attention" in inner
    everywhere = _mapping(config, inner.get("full_attention", {})) if nested else inner
    nearby = _mapping(config, inner.get("sliding_attention") or {}) if nested else {}
    if nested and set(inner) - {"full_attention", "sliding_attention"}:
        config.fail("rope_parameters of kinds of layers other than full and sliding are not supported")
    theta = _theta(config, everywhere, "rope_theta")
    outer, part = config.get("partial_rotary_factor", None), everywhere.get("partial_rotary_factor")
    if outer is not None and part is not None and outer != part:
        config.fail(f"partial_rotary_factor is {outer!r:.40} and {part!r:.40}; one of them is wrong")
    part = next((p for p in (part, outer) if p is not None), 1.0)
    if type(part) not in (int, float) or not 0 < part <= 1:
        config.fail(f"partial_rotary_factor is {part!r:.40}; above 0, up to 1 is needed")
    dims = int(head_dim * part)
    local = 0.0
    if config.family.name == "gemma3":
        local = _theta(config, nearby, "rope_local_base_freq")
    elif nearby and nearby != everywhere:
        config.fail("rope_parameters that differ between layers are not supported in this family")
    if nearby.get("rope_type", "default") != "default":
        config.fail("scaled rotary positions in local layers are not supported")
    return {
        "rope_theta": theta,
        "rope_theta_local": local,
        "rope_dims": 0 if dims == head_dim else dims,
        "rope_scaling": _scaling(config, everywhere, context, dims),
    }


def _mapping(config: "Config", value: Any) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        config.fail(f"the rotary parameters are {value!r:.40}; an object is needed")
    return value


def _theta(config: "Config", parameters: Mapping[str, Any], field: str) -> float:
    if "rope_theta" in parameters:
        return _Numbers(config, parameters).number("rope_theta")
    return config.number(field)


class _Numbers:
    """Checked access to the rotary parameters."""

    def __init__(self, config: "Config", parameters: Mapping[str, Any]) -> None:
        self.config, self.parameters = config, parameters

    def number(self, name: str, default: float | None = None) -> float:
        value: Any = self.parameters.get(name)
        value = default if value is None else value
        if type(value) not in (int, float) or not isfinite(value) or value <= 0:
            self.config.fail(f"{name} of the rotary parameters is {value!r:.40}; a number above 0 is needed")
        return float(value)

    def numbers(self, name: str, count: int) -> tuple[float, ...]:
        values = self.parameters.get(name)
        good = isinstance(values, list) and len(values) == count
        if not good or any(type(v) not in (int, float) or not isfinite(v) or v <= 0 for v in values or ()):
            self.config.fail(f"{name} of the rotary parameters must be {count} numbers above 0")
        return tuple(float(v) for v in values or ())


def _scaling(config: "Config", p: Mapping[str, Any], context: int, dims: int) -> RopeScaling | None:
    name = p.get("rope_type", p.get("type", "default"))
    kind = OLD_NAMES.get(name, name) if isinstance(name, str) else None
    if kind == "yarn" and config.kind == "phi3":
        kind = "longrope"  # what early phi3 files called it
    if kind not in FIELDS:
        config.fail(f"rope type {name!r:.40} is not supported; supported: default, {', '.join(ROPE_TYPES)}")
    unknown = sorted(set(p) - COMMON - FIELDS[kind])
    if unknown:
        config.fail(f"{unknown[0]!r:.60} of the rotary parameters is not understood for rope type {kind}")
    numbers = _Numbers(config, p)
    stated = config.integer("original_max_position_embeddings", 0)  # where phi3 has it
    if kind == "default":
        return None
    if kind == "linear":
        return RopeScaling(kind="linear", factor=numbers.number("factor"))
    original = numbers.number("original_max_position_embeddings", stated or None)
    if kind == "llama3":
        return RopeScaling(
            kind="llama3",
            factor=numbers.number("factor"),
            original_context=int(original),
            low_frequency_factor=numbers.number("low_freq_factor"),
            high_frequency_factor=numbers.number("high_freq_factor"),
        )
    if kind == "yarn":
        return _yarn(numbers, int(original))
    factor = numbers.number("factor", context / original)
    return RopeScaling(
        kind="longrope",
        original_context=int(original),
        divisors=numbers.numbers("short_factor", dims // 2),
        long_divisors=numbers.numbers("long_factor", dims // 2),
        magnitude=numbers.number("attention_factor", longrope_magnitude(factor, int(original))),
    )


def _yarn(numbers: _Numbers, original: int) -> RopeScaling:
    p = numbers.parameters
    if p.get("truncate", True) is not True:
        numbers.config.fail("truncate of the rotary parameters must be true")
    factor = numbers.number("factor")
    magnitude = yarn_magnitude(factor)
    if p.get("mscale") and p.get("mscale_all_dim"):
        whole = yarn_magnitude(factor, numbers.number("mscale_all_dim"))
        magnitude = yarn_magnitude(factor, numbers.number("mscale")) / whole
    return RopeScaling(
        kind="yarn",
        factor=factor,
        original_context=original,
        beta_fast=numbers.number("beta_fast", 32.0),
        beta_slow=numbers.number("beta_slow", 1.0),
        magnitude=numbers.number("attention_factor", magnitude),
    )
