"""How a weight format is called, in files of measurements and by people: bits a weight and its class."""

import re
from dataclasses import dataclass

from whygpu.engine import UserError
from whygpu.models.outline import Outline
from whygpu.models.quantisation import bits_per_weight

__all__ = ["UNSAID", "Storage", "always_bits", "storage", "usual_storage"]


@dataclass(frozen=True, slots=True)
class Storage:
    """How weights are stored."""

    name: str
    bits: float
    kind: str
    """What its unpacking costs depend on: f16, f32, q8, q4 (legacy 4 and 5 bit), k (K-quants), iq, mx4, w4,
    fp8, nv4."""


UNSAID = frozenset({"", "not stated", "unknown", "default", "none", "n/a", "na", "-", "?", "unspecified"})


def usual_storage(runtime: str, bits: float | None) -> Storage:
    """What weights are stored as where nobody says: as their average bits tell, else as is the custom."""
    if bits is not None:
        name = min(
            ("F32", "F16", "Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "Q3_K_M", "Q2_K"),
            key=lambda n: abs(storage(n).bits - bits),
        )
        return storage(name)
    if runtime in ("vllm", "sglang", "trtllm", "pytorch", "gptfast"):
        return storage("F16")
    return storage("4bit" if runtime in ("mlx", "exllama", "mlc", "itrex") else "Q4_K_M")


_PATTERNS: tuple[tuple[str, float | None, str], ...] = (
    (r"^(ud-)?(iq\d\w*)$", None, "iq"),
    (r"mxfp4|fp4 ?moe", 4.45, "mx4"),
    (r"nvfp4|^fp4$", 4.5, "nv4"),
    (r"q4f16|q4f32", 4.5, "w4"),
    (r"q3f16", 3.5, "w4"),
    (r"(?<![\d.])(\d\.\d+)[- ]?bit", 0.0, "w4"),
    (r"mixed[- ]?4[/_-]6", 5.0, "w4"),
    (r"mixed[- ]?3[/_-]6|mixed[- ]?3[/_-]4", 4.0, "w4"),
    (r"f32|fp32|float32", 32.0, "f32"),
    (r"bf16|f16|fp16|float16|^half$|16[- ]?bit", 16.0, "f16"),
    (r"fp8|f8_e4m3|float8|w8a8[- ]?fp", 8.0, "fp8"),
    (r"int8|8[- ]?bit|w8a8|w8a16", 8.25, "q8"),
    (r"exl\d?.*?(\d+(?:\.\d+)?) ?bpw|(\d+(?:\.\d+)?) ?bpw", 0.0, "w4"),
    (r"g32", 4.6, "w4"),
    (r"int4|nf4|4[- ]?bit|awq|gptq|w4a16|autoround|q4f16", 4.4, "w4"),
    (r"6[- ]?bit", 6.5, "q8"),
    (r"5[- ]?bit", 5.5, "w4"),
    (r"3[- ]?bit|int3", 3.5, "w4"),
    (r"2[- ]?bit|int2", 2.5, "w4"),
)
_FILES = {
    "Q4_K_XL": 4.95,
    "Q6_K_XL": 6.9,
    "Q3_K_XL": 4.1,
    "Q2_K_XL": 3.4,
    "Q5_K_XL": 5.75,
    "Q8_K_XL": 9.0,
    "Q8_0": 8.5,
    "Q4_K": 4.89,
    "Q5_K": 5.7,
    "Q6_K": 6.56,
    "Q3_K": 3.9,
    "Q3_K_M": 4.0,
    "Q4": 4.89,
    "Q5": 5.7,
    "Q6": 6.56,
    "Q8": 8.5,
    "Q3": 4.0,
    "Q2": 3.2,
    "Q2_K_S": 3.0,
    "Q2_K_L": 3.3,
    "Q4_K_L": 5.0,
    "Q5_K_L": 5.8,
    "Q6_K_L": 6.7,
}


def _by_pattern(plain: str, lowered: str) -> Storage | None:
    """What a word or a number of bits in the label says."""
    for pattern, bits, kind in _PATTERNS:
        found = re.search(pattern, lowered)
        if found and bits:
            return Storage(plain, bits, kind)
        if found and bits == 0.0:
            return Storage(plain, float(next(part for part in found.groups() if part)), kind)
    return None


def storage(name: str) -> Storage:
    """What ``Q4_K_M (default tag)``, ``UD-Q4_K_XL``, ``4-bit``, ``EXL2 4.0bpw``, ``fp8-dynamic`` ... mean.

    Raises
    ------
    UserError
        For a name that says neither a format nor a number of bits.
    """
    text = re.sub(r"\(.*?\)", " ", name.strip())
    plain = " ".join(text.split())
    upper = plain.upper().removeprefix("UD-").removeprefix("GGUF-").removeprefix("GGUF ")
    if re.search(r"mxfp4", name, re.IGNORECASE):
        return Storage("MXFP4", 4.45, "mx4")
    if upper in _FILES:
        return Storage(upper, _FILES[upper], _kind(upper))
    try:
        return Storage(upper, bits_per_weight(upper), _kind(upper))
    except UserError:
        pass
    lowered = plain.lower()
    lowered = re.sub(r"\bq4_0_\d_\d\b", "q4_0", lowered)
    gguf = re.search(r"\b(i?q\d(?:_[01k](?:_[sml]|_xl|_xxs|_xs)?)?)\b", lowered)
    if gguf and gguf.group(1).upper() != upper:
        return storage(gguf.group(1))
    held = _by_pattern(plain, lowered)
    if held is not None:
        return held
    inside = re.search(r"\((.*)\)", name)
    if inside and plain:
        return storage(inside.group(1).replace("(", " ").replace(")", " "))
    raise UserError(f"quantisation {name[:40]!r} is unknown; write Q4_K_M, Q8_0, F16, FP8, 4bit, ...")


def _kind(upper: str) -> str:  # noqa: PLR0911
    if upper.startswith(("IQ", "TQ", "Q1_")):
        return "iq"
    if upper in ("F32", "F64", "I32"):
        return "f32"
    if upper in ("F16", "BF16", "FP16"):
        return "f16"
    if upper.startswith("Q8") or upper == "INT8":
        return "q8"
    if "_K" in upper or re.fullmatch(r"Q\d", upper):
        return "k"
    if upper == "FP8":
        return "fp8"
    if upper in ("MXFP4", "NVFP4"):
        return "mx4" if upper == "MXFP4" else "nv4"
    return "w4" if upper.startswith("INT4") else "q4"


def always_bits(outline: Outline, held: Storage, quant: str) -> float:
    """gpt-oss's experts come in MXFP4; files keep the rest in 8 bits or, named F16, in 16: so their sizes."""
    if held.kind != "mx4" or not outline.name.startswith("gpt-oss"):
        return 0.0
    return 16.0 if re.search(r"f16", quant, re.IGNORECASE) else 8.5
