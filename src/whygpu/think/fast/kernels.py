"""One function a block type, compiled when a model needs it, called by its address.

Only what a model holds is compiled, one process a core; see ``products.rows`` for their arguments.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, call-arg, var-annotated"

from collections.abc import Callable, Iterable

from whygpu.engine import jit, simd
from whygpu.engine.jit import inlined
from whygpu.think.fast.attend import attend
from whygpu.think.fast.codes import exponents, five, four, halves, octets, six, supers, three, two, values
from whygpu.think.fast.float_products import float_rows
from whygpu.think.fast.products import rows

__all__ = ["ATTENTION", "FUNCTIONS", "addresses", "compile_beside"]

# kvalues_iq4nl of ggml-common.h plus 128; twice the values of MXFP4's E2M1 plus 16
NON_LINEAR = (1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241)
E2M1 = (16, 17, 18, 19, 20, 22, 24, 28, 16, 15, 14, 13, 12, 10, 8, 4)


@inlined
def _f16(w, index):
    return simd.half_to_float(simd.load_f16x16(w, index))


_Q4_0 = rows("Q4_0", halves("Q4_0"), four, offset=-8, most=15)
_Q4_1 = rows("Q4_1", halves("Q4_1"), four, minimums=True, most=15)
_Q5_0 = rows("Q5_0", halves("Q5_0"), five, offset=-16, most=31)
_Q5_1 = rows("Q5_1", halves("Q5_1"), five, minimums=True, most=31)
_Q8_0 = rows("Q8_0", halves("Q8_0"), octets, offset=-128)
_Q2_K = rows("Q2_K", supers("Q2_K"), two, minimums=True, halves=True, most=3)
_Q3_K = rows("Q3_K", supers("Q3_K"), three, offset=-4, halves=True, most=7)
_Q4_K = rows("Q4_K", supers("Q4_K"), four, minimums=True, most=15)
_Q5_K = rows("Q5_K", supers("Q5_K"), five, minimums=True, most=31)
_Q6_K = rows("Q6_K", supers("Q6_K"), six, offset=-32, halves=True, most=63)
_IQ4_NL = rows("IQ4_NL", halves("IQ4_NL"), values(NON_LINEAR), offset=-128)
_IQ4_XS = rows("IQ4_XS", supers("IQ4_XS"), values(NON_LINEAR), offset=-128)
_MXFP4 = rows("MXFP4", exponents(), values(E2M1), offset=-16, most=28)
_F32 = float_rows(simd.load_f32x16, 4)
_F16 = float_rows(_f16, 2)
_BF16 = float_rows(simd.load_bf16x16, 2)


def q4_0(w, groups, k, x, floats, tokens, out, stride):
    """d (q - 8)."""
    _Q4_0(w, groups, k, x, floats, tokens, out, stride)


def q4_1(w, groups, k, x, floats, tokens, out, stride):
    """d q + m."""
    _Q4_1(w, groups, k, x, floats, tokens, out, stride)


def q5_0(w, groups, k, x, floats, tokens, out, stride):
    """d (q - 16)."""
    _Q5_0(w, groups, k, x, floats, tokens, out, stride)


def q5_1(w, groups, k, x, floats, tokens, out, stride):
    """d q + m."""
    _Q5_1(w, groups, k, x, floats, tokens, out, stride)


def q8_0(w, groups, k, x, floats, tokens, out, stride):
    """d (q - 128)."""
    _Q8_0(w, groups, k, x, floats, tokens, out, stride)


def q2_k(w, groups, k, x, floats, tokens, out, stride):
    """d s q - dmin m, 16 columns a scale."""
    _Q2_K(w, groups, k, x, floats, tokens, out, stride)


def q3_k(w, groups, k, x, floats, tokens, out, stride):
    """d s (q - 4), 16 columns a scale."""
    _Q3_K(w, groups, k, x, floats, tokens, out, stride)


def q4_k(w, groups, k, x, floats, tokens, out, stride):
    """d s q - dmin m."""
    _Q4_K(w, groups, k, x, floats, tokens, out, stride)


def q5_k(w, groups, k, x, floats, tokens, out, stride):
    """d s q - dmin m."""
    _Q5_K(w, groups, k, x, floats, tokens, out, stride)


def q6_k(w, groups, k, x, floats, tokens, out, stride):
    """d s (q - 32), 16 columns a scale."""
    _Q6_K(w, groups, k, x, floats, tokens, out, stride)


def iq4_nl(w, groups, k, x, floats, tokens, out, stride):
    """d table[q]."""
    _IQ4_NL(w, groups, k, x, floats, tokens, out, stride)


def iq4_xs(w, groups, k, x, floats, tokens, out, stride):
    """d s table[q]."""
    _IQ4_XS(w, groups, k, x, floats, tokens, out, stride)


def mxfp4(w, groups, k, x, floats, tokens, out, stride):
    """2^e table[q]."""
    _MXFP4(w, groups, k, x, floats, tokens, out, stride)


def f32(w, groups, k, x, floats, tokens, out, stride):
    """IEEE single precision."""
    _F32(w, groups, k, x, floats, tokens, out, stride)


def f16(w, groups, k, x, floats, tokens, out, stride):
    """IEEE half precision."""
    _F16(w, groups, k, x, floats, tokens, out, stride)


def bf16(w, groups, k, x, floats, tokens, out, stride):
    """The upper half of a float32."""
    _BF16(w, groups, k, x, floats, tokens, out, stride)


FUNCTIONS: dict[str, Callable[..., None]] = {
    function.__name__.upper(): function
    for function in (
        q4_0, q4_1, q5_0, q5_1, q8_0, q2_k, q3_k, q4_k, q5_k, q6_k, iq4_nl, iq4_xs, mxfp4, f32, f16, bf16,
    )
}  # fmt: skip
"""By the name of the block type."""
ATTENTION = "attention"
"""The name of attention's function beside those."""


def _function(name: str) -> Callable[..., None]:
    return attend if name == ATTENTION else FUNCTIONS[name]


def addresses(names: Iterable[str]) -> dict[str, int]:
    """The functions' addresses; compiles what the cache does not have."""
    return {name: jit.address(_function(name)) for name in sorted(set(names), reverse=True)}


def compile_beside(names: Iterable[str]) -> Callable[[], None] | None:
    """Where one is not cached yet, compile all in another process; call the result to wait. None: all are."""
    wanted = sorted(set(names))
    missing = [name for name in wanted if not jit.is_cached(_function(name))]
    if not missing:
        return None
    return jit.beside(_function(missing[0]), f"from {__name__} import addresses; addresses({wanted!r})")
