"""What a model's name says beside which model it is: how it is stored, its context, what nobody understands.

Names as llama.cpp prints them ("llama 7B mostly Q4_0", "qwen3 8B Q4_K - Small"), as files are called
("...-Q8_0.gguf") and as Hugging Face ids end ("-AWQ", "-GPTQ-Int4", "-FP8-dynamic", "-4bit", "-1M").
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

__all__ = ["Note", "said_context", "said_storage", "says_mixture", "unknown_words", "without_storage"]


@dataclass(frozen=True, slots=True)
class Note:
    """Something that was typed and taken otherwise, or not at all: shown beside the result."""

    kind: str
    """Key of its sentence: ``predict.remark.KIND``."""
    values: Mapping[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, str]:
        """As plain values, for JSON."""
        return {"kind": self.kind, **self.values}


_EDGE = r"(?<![a-z0-9])"
_GGUF = re.compile(
    rf"{_EDGE}((?:i?q|tq)\d(?:_[a-z0-9]+)*)(?:\s*-\s*(extra large|small|medium|large)\b)?(?![a-z0-9])", re.I
)
_BITS = re.compile(r"(?<![\d.a-z])(?:b)?(\d(?:\.\d+)?)[- ]?(bits?|bpw)(?![a-z])|\bb(1\.58)\b", re.I)
_OTHER = re.compile(
    rf"{_EDGE}(mxfp4|nvfp4|mxfp8|q[34]f(?:16|32)(?:_\d)?|fp8|bf16|fp16|f16|f32|fp32|fp4|int8|int4|nf4|w4a16|w8a8|"
    r"w8a16|w4a8|w8a8[- ]fp8)(?![a-z0-9])",
    re.I,
)
_METHOD = re.compile(
    rf"{_EDGE}(awq|gptq|autoround|qat|hqq|aqlm|exl[23]|eetq|bnb|quip|quark)(?![a-z0-9])", re.I
)
_SIZES = {"small": "_S", "medium": "_M", "large": "_L", "extra large": "_XL"}
_WHOLE = {"qat": "Q4_0", "bnb": "4bit"}
"""Gemma's quantisation-aware files are Q4_0; bitsandbytes' are of four bits where no number stands."""


def said_storage(label: str) -> str | None:
    """How the name says that weights are stored, in words that ``predict`` knows; None where it is silent."""
    found = _GGUF.search(label)
    if found:
        return found.group(1).upper() + (
            _SIZES.get((found.group(2) or "").lower(), "") if found.group(2) else ""
        )
    named, method = _OTHER.search(label), _METHOD.search(label)
    if named:  # "GPTQ-Int4" keeps scales beside its four bits
        return f"{method.group(1)}-{named.group(1)}" if method else named.group(1)
    bits = _BITS.search(label)
    if bits:
        return f"{bits.group(1) or bits.group(3)}-bit"
    return None if method is None else _WHOLE.get(method.group(1).lower(), method.group(1).upper())


def said_context(label: str) -> int | None:
    """Tokens that a name promises: "-128k", "-1M" beside a size."""
    found = re.search(rf"{_EDGE}(\d{{1,4}})k(?![a-z0-9])", label, re.I)
    if found:
        return int(found.group(1)) * 1024
    return 1 << 20 if re.search(r"\d+b.*[-_ ]1m(?![a-z0-9])", label, re.I) else None


def says_mixture(label: str) -> bool:
    """Whether the name calls the model a mixture of experts."""
    return re.search(r"\bmoe\b", label, re.I) is not None


def without_storage(label: str) -> str:
    """The label without what it says about storage and context, for looking the model up."""
    for pattern in (_GGUF, _OTHER, _BITS, _METHOD, re.compile(rf"{_EDGE}(\d{{2,4}}k|1m)(?![a-z0-9])", re.I)):
        label = pattern.sub(" ", label)
    return label


_PLAIN = re.compile(
    r"instruct|inst|chat|it|base|hf|gguf|mlx|exl\d|uncensored|model|moe|dense|text|preview|meta|google|microsoft|ud|quant(?:ized)?|"
    r"dynamic|pretrain(?:ed)?|thinking|latest|v\d(?:\.\d)?|20\d\d|2[345]\d\d|0\d\d\d|\d+e|mostly|all|the|of|and|bits?|bpw|"
    r"small|medium|large|extra|active|param(?:eter)?s?|i1|dwq|a\d+(?:\.\d+)?b|\d+(?:\.\d+)?[bmk]|1m|\d+x\d+b|\d+bx?\d+e?|kv|g\d+|w\d|b\d|"
    r"marlin|mlc|bf|fp|ai|llm|community|x|h\d|\d(?:\.\d+)?bpw|e\d+b|b|m",
    re.I,
)
"""Words that decorate a name, or are read elsewhere."""


def unknown_words(label: str, known: Iterable[str]) -> tuple[str, ...]:
    """Words of a label that stand in none of the ``known`` names and say nothing about storage or size."""
    text = label.rsplit("/", 1)[-1]
    for pattern in (_GGUF, _OTHER, _BITS, _METHOD):
        text = pattern.sub(" ", text)
    names = [re.sub(r"[^a-z0-9.]", "", name.lower()) for name in known]
    left = []
    for word in re.findall(r"[A-Za-z0-9.]+", text):
        plain = word.lower().strip(".")
        if plain and not _PLAIN.fullmatch(plain) and not any(plain in name for name in names):
            left.append(word.strip("."))
    return tuple(dict.fromkeys(left))
