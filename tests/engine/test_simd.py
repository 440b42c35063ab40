"""Sixteen lanes at once must say what NumPy says of each."""

import numba
import numpy as np
import pytest

from whygpu.draw.fast.arithmetic import packed
from whygpu.draw.fast.texels import _decoded
from whygpu.draw.textures import TABLES
from whygpu.engine import simd

COUNT = 64


@numba.njit
def _arithmetic(a, b, out):
    for i in range(0, COUNT, 16):
        x, y = simd.load_f32x16(a, i), simd.load_f32x16(b, i)
        half = np.float32(0.5)
        simd.store_f32x16(out, i, (half * x + y) / (y - half))
        simd.store_f32x16(out, COUNT + i, simd.choose(x, half, simd.larger(x, y), simd.smaller(x, y)))
        simd.store_f32x16(out, 2 * COUNT + i, simd.floor(x * np.float32(7)))
        simd.store_f32x16(out, 3 * COUNT + i, simd.count_from(np.float32(i)))


def test_operators_and_choices_are_those_of_one_number() -> None:
    random = np.random.default_rng(0)
    a, b = random.normal(size=(2, COUNT)).astype(np.float32)
    b[abs(b - 0.5) < 0.05] = 2
    out = np.empty((4, COUNT), np.float32)
    _arithmetic(a, b, out.ravel())
    exact = (0.5 * a.astype(float) + b) / (b - 0.5)
    assert np.allclose(out[0], exact, rtol=1e-5, atol=1e-6)
    assert np.array_equal(out[1], np.where(a > 0.5, np.maximum(a, b), np.minimum(a, b)))
    assert np.array_equal(out[2], np.floor(a * np.float32(7)))
    assert np.array_equal(out[3], np.arange(COUNT))


@numba.njit
def _roots(x, out):
    for i in range(0, x.shape[0], 16):
        value = simd.load_f32x16(x, i)
        simd.store_f32x16(out, i, simd.inverse_root(value))
        simd.store_f32x16(out, x.shape[0] + i, simd.quick_root(value))


def test_roots_are_as_near_as_they_say() -> None:
    x = np.float32(10) ** np.linspace(-29, 29, 16 * 500).astype(np.float32)
    out = np.empty((2, len(x)), np.float32)
    _roots(x, out.ravel())
    exact = np.sqrt(x.astype(float))
    assert np.abs(out[0] * exact - 1).max() < 2**-22
    bits = 11 if simd.byte_dot() in ("avx2", "avx-vnni") else 13
    assert np.abs(out[1] / exact - 1).max() < 2.0**-bits


@numba.njit
def _whole(numbers, table, out):
    for i in range(0, COUNT, 16):
        index = simd.load_i32x16(numbers, i)
        word = simd.gather_i32(table, 1, index * np.int32(2))
        simd.store_i32x16(out, i, simd.larger(word + np.int32(3), np.int32(10)))
        simd.store_i32x16(out, COUNT + i, simd.halved(1000, index))


def test_whole_numbers_and_what_is_gathered() -> None:
    numbers = (np.arange(COUNT) % 12).astype(np.int32)
    table = np.arange(100, dtype=np.int32)
    out = np.empty((2, COUNT), np.int32)
    _whole(numbers, table, out.ravel())
    assert np.array_equal(out[0], np.maximum(table[1 + 2 * numbers] + 3, 10))
    assert np.array_equal(out[1], 1000 >> numbers)


@numba.njit
def _bits(words, out, wide):
    found = False
    for i in range(0, COUNT, 16):
        low, high = simd.low_half(words, i, 0), simd.low_half(words, i, 32)
        simd.store_i32x16(out, i, (low & 255) | (high << 8))
        simd.store_i32x16(out, COUNT + i, (low - high) >> 3)
        simd.store_wide(wide, i, low * high)
        found |= simd.any_lane(low & 1024)
    return found


def test_words_are_taken_apart_and_shifted() -> None:
    random = np.random.default_rng(1)
    low, high = random.integers(-1000, 1000, (2, COUNT)).astype(np.int64)
    words = (high << 32) | (low & 0xFFFFFFFF)
    out, wide = np.empty((2, COUNT), np.int32), np.empty(COUNT, np.int64)
    assert _bits(words, out.ravel(), wide)  # numbers below zero have the bit
    assert np.array_equal(out[0], (low & 255) | (high << 8))
    assert np.array_equal(out[1], (low - high) >> 3)
    assert np.array_equal(wide, low * high)
    assert not _bits(np.zeros(COUNT, np.int64), out.ravel(), wide)


@numba.njit
def _light(codes, linear, out):
    for i in range(0, 256, 16):
        code = simd.load_f32x16(codes, i)
        simd.store_f32x16(linear, i, _decoded(code, True))
        simd.store_f32x16(linear, 256 + i, _decoded(code, False))
        red = _decoded(code, True)
        simd.store_i32x16(out, i, packed(red, red, red, 0))


def test_every_srgb_byte_comes_back() -> None:
    """IEC 61966-2-1, both ways: decoded to a tenth of a step, encoded to the byte that it was."""
    linear, out = np.empty((2, 256), np.float32), np.empty(256, np.int32)
    _light(np.arange(256, dtype=np.float32), linear.ravel(), out)
    step = np.gradient(TABLES[1].astype(float))
    assert (np.abs(linear[0] - TABLES[1]) < 0.1 * step).all()
    assert linear[1] == pytest.approx(np.arange(256) / 255, abs=1e-7)
    assert np.array_equal(out.view(np.uint8).reshape(256, 4)[:, :3], np.arange(256)[:, None].repeat(3, 1))
