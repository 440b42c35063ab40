"""Products of bytes on CPUs that have AVX2 and no VNNI: summed in 16 bits as far as they fit, then in 32.

Their instruction adds two products to 16 bits, and a second one widens those, as costly as the first. With
codes of 4 bits eight sums fit 16 bits, so that one in eight of those second ones is left.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call, call-arg, var-annotated"

from whygpu.engine import simd
from whygpu.engine.jit import inlined
from whygpu.think.fast.activations import FIRST, LAST, SUM
from whygpu.think.fast.walks import four_tokens, one_token

__all__ = ["fits", "products_in_words"]

MOST_ACTIVATION = 127


def fits(most):
    """Whether this CPU sums so, and two of the sums with codes up to ``most`` fit."""
    return simd.byte_dot() == "avx2" and _room(most) > 1


def _room(most):
    """How many sums of two products fit 16 bits."""
    return (2**15 - 1) // (2 * MOST_ACTIVATION * most)


def products_in_words(kind, scales, code, most, start, end, halves):
    """A group of 16 rows times one token, and times four; arguments as in ``products``."""
    room = _room(most)
    assert room >= (2 if halves else 4)
    add = (_split if halves else _whole)(code, room, start, end)
    return one_token(kind, scales, add), four_tokens(kind, scales, _four(code, room, start, end, halves))


def _whole(code, room, start, end):
    """A unit's product with one token's block, added to ``total``."""
    late = room >= 8

    @inlined
    def both(q, w, x, c):
        q = simd.add_products(q, code(w, 0, c), simd.repeat_four(x, 4 * c))
        return simd.add_products(q, code(w, 1, c), simd.repeat_four(x, 16 + 4 * c))

    @inlined
    def add(total, w, s, x):
        p, q = start(x, SUM), both(both(simd.zero_i16(), w, x, 0), w, x, 1)
        if not late:
            p, q = simd.add_pairs(p, q), simd.zero_i16()
        p = simd.add_pairs(p, both(both(q, w, x, 2), w, x, 3))
        return end(total, p, s, x)

    return add


def _split(code, room, start, end):
    """The same where the halves of a unit have a scale each."""
    late = room >= 4

    @inlined
    def two(q, w, x, half, c):
        q = simd.add_products(q, code(w, half, c), simd.repeat_four(x, 16 * half + 4 * c))
        return simd.add_products(q, code(w, half, c + 1), simd.repeat_four(x, 16 * half + 4 * c + 4))

    @inlined
    def whole(p, w, x, half):
        q = two(simd.zero_i16(), w, x, half, 0)
        if not late:
            p, q = simd.add_pairs(p, q), simd.zero_i16()
        return simd.add_pairs(p, two(q, w, x, half, 2))

    @inlined
    def add(total, w, s, x):
        first = simd.to_float(whole(start(x, FIRST), w, x, 0)) * s[0]
        return end(total, first, whole(start(x, LAST), w, x, 1), s, x)

    return add


def _four(code, room, start, end, halves):
    """A unit's products with the blocks of four tokens, added to their totals: each code serves four."""
    z = simd.zero_i16
    late = room >= (4 if halves else 8)

    @inlined
    def quad(q, w, x, half, c):
        a, at = code(w, half, c), 16 * half + 4 * c
        low = simd.add_products(q[0], a, simd.repeat_four(x[0], at))
        more = simd.add_products(q[1], a, simd.repeat_four(x[1], at))
        high = simd.add_products(q[2], a, simd.repeat_four(x[2], at))
        return (low, more, high, simd.add_products(q[3], a, simd.repeat_four(x[3], at)))

    @inlined
    def starts(x, place):
        return (start(x[0], place), start(x[1], place), start(x[2], place), start(x[3], place))

    @inlined
    def wider(p, q):
        low, high = (simd.add_pairs(p[0], q[0]), simd.add_pairs(p[1], q[1])), simd.add_pairs(p[2], q[2])
        return (*low, high, simd.add_pairs(p[3], q[3]))

    @inlined
    def half_of(p, w, x, half):
        q = quad(quad((z(), z(), z(), z()), w, x, half, 0), w, x, half, 1)
        if not late:
            p, q = wider(p, q), (z(), z(), z(), z())
        return wider(p, quad(quad(q, w, x, half, 2), w, x, half, 3))

    @inlined
    def whole(t, w, s, x):
        p, q = starts(x, SUM), quad(quad((z(), z(), z(), z()), w, x, 0, 0), w, x, 1, 0)
        q = quad(quad(q, w, x, 0, 1), w, x, 1, 1)
        if not late:
            p, q = wider(p, q), (z(), z(), z(), z())
        q = quad(quad(q, w, x, 0, 2), w, x, 1, 2)
        p = wider(p, quad(quad(q, w, x, 0, 3), w, x, 1, 3))
        low = (end(t[0], p[0], s, x[0]), end(t[1], p[1], s, x[1]))
        return (*low, end(t[2], p[2], s, x[2]), end(t[3], p[3], s, x[3]))

    @inlined
    def split(t, w, s, x):
        p, q = half_of(starts(x, FIRST), w, x, 0), half_of(starts(x, LAST), w, x, 1)
        f0, f1 = simd.to_float(p[0]) * s[0], simd.to_float(p[1]) * s[0]
        f2, f3 = simd.to_float(p[2]) * s[0], simd.to_float(p[3]) * s[0]
        low = (end(t[0], f0, q[0], s, x[0]), end(t[1], f1, q[1], s, x[1]))
        return (*low, end(t[2], f2, q[2], s, x[2]), end(t[3], f3, q[3], s, x[3]))

    return split if halves else whole
