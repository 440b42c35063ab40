"""The one matrix multiply, on every backend, against exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whygpu import engine

BACKENDS = ["python", "cpu", "numpy", "array-api-strict", "torch:cpu"]


def exact(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The product in rational numbers, rounded once."""
    left = [[Fraction(float(value)) for value in row] for row in a]
    right = [[Fraction(float(value)) for value in column] for column in b.T]
    rows = [
        [sum((x * y for x, y in zip(row, column, strict=True)), Fraction(0)) for column in right]
        for row in left
    ]
    return np.array([[float(value) for value in row] for row in rows])


@pytest.mark.parametrize("name", BACKENDS)
@given(m=st.integers(1, 5), n=st.integers(1, 5), k=st.integers(1, 9), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None, derandomize=True)
def test_product_equals_exact_arithmetic(name: str, m: int, n: int, k: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    a = random.standard_normal((m, k)).astype("float32")
    b = random.standard_normal((k, n)).astype("float32")
    with engine.using(name) as backend:
        out = backend.to_numpy(engine.matmul(backend.asarray(a), backend.asarray(b), name="test"))
    # k rounded multiply-adds in float32: (k + 1) units of the last place of |a| |b| at most
    bound = (k + 1) * np.finfo("float32").eps * (np.abs(a).astype(float) @ np.abs(b).astype(float)) + 1e-30
    assert (np.abs(out - exact(a, b)) <= bound).all()


@pytest.mark.parametrize("name", BACKENDS)
def test_stacks_broadcast(name: str) -> None:
    a = np.arange(2 * 1 * 3 * 4, dtype="float32").reshape(2, 1, 3, 4)
    b = np.arange(5 * 4 * 2, dtype="float32").reshape(5, 4, 2)
    with engine.using(name) as backend, engine.ledger() as ledger:
        out = backend.to_numpy(engine.matmul(backend.asarray(a), backend.asarray(b), name="stack"))
    assert np.array_equal(out, np.einsum("xyij,yjk->xyik", np.broadcast_to(a, (2, 5, 3, 4)), b))
    ((product, entry),) = ledger.products.items()
    assert (product.batch, product.m, product.n, product.k, entry.count) == (10, 3, 2, 4, 1)
    assert product.flop == 2 * 10 * 3 * 2 * 4
    assert product.bytes == 4 * (a.size + b.size + out.size)
    assert str(product.dtype) == "float32"


def test_plain_loops_are_the_definition() -> None:
    from whygpu.engine.backends.python import multiply

    assert multiply([[1, 2], [3, 4]], [[5, 6], [7, 8]]) == [[19, 22], [43, 50]]
    assert multiply([[1, 2, 3]], [[1], [1], [1]]) == [[6]]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("gpu", "device 'gpu' is unknown"),
        ("cpu:0", "device 'cpu:0' is unknown"),
        ("torch:nonsense", "not usable on this machine"),
        ("torch:cuda", "not usable on this machine"),
    ],
)
def test_unknown_devices_are_refused_in_one_line(name: str, expected: str) -> None:
    torch = pytest.importorskip("torch")
    if name == "torch:cuda" and torch.cuda.is_available():
        pytest.skip("this machine has such a device")
    with pytest.raises(engine.UserError, match=expected) as caught:
        engine.backend(name)
    assert "\n" not in str(caught.value)


def test_threads_must_be_positive() -> None:
    with pytest.raises(engine.UserError, match="0 is not a number of threads"):
        engine.backend("cpu", threads=0)


def test_blas_obeys_the_thread_count() -> None:
    from threadpoolctl import threadpool_info

    np.ones((2, 2)) @ np.ones((2, 2))
    with engine.using(engine.backend("cpu", threads=1)):
        pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
        used = [pool for pool in pools if "numpy" in pool["filepath"]] or pools  # SciPy brings its own
        assert {pool["num_threads"] for pool in used} == {1}
