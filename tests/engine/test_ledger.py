"""The ledger hears everything inside its block, once, and nothing outside."""

import threading
from contextvars import copy_context

import numpy as np
import pytest

from whygpu import engine
from whygpu.engine.ledger import Product, Scope

A = np.ones((3, 4), "float32")
B = np.ones((4, 5), "float32")


def test_silent_when_off() -> None:
    engine.matmul(A, B, name="before")
    with engine.ledger() as ledger:
        pass
    engine.matmul(A, B, name="after")
    assert ledger.products == {}
    assert ledger.rows() == []


def test_counts_flop_and_bytes_by_the_convention() -> None:
    with engine.ledger() as ledger, engine.scope("think", "prefill"):
        for _ in range(7):
            engine.matmul(A, B, name="Q")
    ((product, entry),) = ledger.products.items()
    assert product == Product(Scope("think", "prefill"), "Q", 1, 3, 5, 4, "float32", 4 * (12 + 20 + 15))
    assert entry.count == 7
    total = ledger.totals("think")
    assert (total.products, total.flop, total.bytes) == (7, 7 * 2 * 3 * 5 * 4, 7 * 4 * 47)
    assert ledger.counts("think") == {("prefill", "Q", 1, 3, 5, 4): 7}
    assert ledger.counts("draw") == {}


def test_a_gpt2_projection_is_301_989_888_multiply_adds() -> None:
    product = Product(Scope("think", "prefill"), "Q", 1, 512, 768, 768, "float32", 0)
    assert product.flop == 2 * 301_989_888


def test_what_is_no_product_is_counted_beside() -> None:
    with engine.ledger() as ledger, engine.scope("think", "decode"):
        engine.matmul(A, B, name="Q")
        with engine.other("softmax", flop=100, size=64):
            pass
        with engine.other("softmax", flop=100, size=64):
            pass
    rows = {(row.name, row.is_product): row for row in ledger.rows()}
    assert rows["softmax", False].flop == 200
    assert rows["softmax", False].bytes == 128
    assert rows["Q", True].products == 1
    assert sum(row.share for row in ledger.rows()) == pytest.approx(1)


def test_time_of_a_scope_is_all_accounted_for() -> None:
    with engine.ledger() as ledger, engine.scope("draw", "raster"):
        engine.matmul(A, B, name="edges")
        with engine.other("depth test"):
            sum(range(10_000))
        sum(range(100_000))  # nobody's: the ledger must show it as unaccounted
    rows = ledger.rows()
    assert sum(row.seconds for row in rows) == pytest.approx(ledger.wall[Scope("draw", "raster")])
    assert {row.name for row in rows} == {"edges", "depth test", "unaccounted"}


def test_reported_products_of_fused_kernels() -> None:
    with engine.ledger() as ledger, engine.scope("draw", "raster"):
        engine.report("edge functions", m=100, n=3, k=3, dtype="int64", size=1600, count=2, seconds=0.5)
    ((product, entry),) = ledger.products.items()
    assert product.flop * entry.count == 2 * 2 * 100 * 3 * 3
    assert entry.seconds == 0.5


def test_ledgers_nest_and_merge() -> None:
    with engine.ledger() as outer:
        engine.matmul(A, B, name="one")
        with engine.ledger() as inner:
            engine.matmul(A, B, name="two")
    assert {product.name for product in outer.products} == {"one", "two"}
    assert {product.name for product in inner.products} == {"two"}
    inner.merge(outer)
    assert sum(entry.count for entry in inner.products.values()) == 3


def test_another_thread_is_heard_only_with_its_context() -> None:
    with engine.ledger() as ledger:
        context = copy_context()
        for run in (lambda: engine.matmul(A, B, name="deaf"),
                    lambda: context.run(engine.matmul, A, B, name="heard")):  # fmt: skip
            thread = threading.Thread(target=run)
            thread.start()
            thread.join()
    assert {product.name for product in ledger.products} == {"heard"}


def test_largest_shapes_come_first() -> None:
    with engine.ledger() as ledger, engine.scope("think", "decode"):
        engine.matmul(A, B, name="small")
        engine.matmul(np.ones((30, 40), "float32"), np.ones((40, 50), "float32"), name="large")
    names = [product.name for product, _ in ledger.largest("think")]
    assert names == ["large", "small"]
    assert ledger.largest("draw") == []


def test_table_prints() -> None:
    from rich.console import Console

    with engine.ledger() as ledger, engine.scope("think", "decode"):
        engine.matmul(A, B, name="Q")
    console = Console(width=100, record=True, quiet=False, file=open("/dev/null", "w"))  # noqa: SIM115, PTH123
    with console.file:
        console.print(ledger.table())
        assert "decode" in console.export_text()
