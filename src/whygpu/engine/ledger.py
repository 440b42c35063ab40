"""The ledger: a listener that sees every multiplication, and what is not one, and how long each took.

Off, it costs one look at a context variable a product. On, one dictionary entry per distinct
(scope, name, shape, dtype) is updated; FLOP are derived from the shapes when somebody asks.

Convention everywhere: one multiply-add is 2 FLOP, so an (m, k) @ (k, n) product is 2 m n k.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from dataclasses import asdict, dataclass, replace
from math import prod
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from rich.table import Table

__all__ = [
    "Entry",
    "Ledger",
    "Product",
    "Row",
    "Scope",
    "ledger",
    "listening",
    "other",
    "report",
    "report_other",
    "scope",
]


class Scope(NamedTuple):
    """Who multiplies: the workload (``draw``, ``think``, ``measure``) and its stage."""

    workload: str
    stage: str


class Product(NamedTuple):
    """One kind of matrix multiply: ``batch`` times (m, k) @ (k, n), each moving ``bytes`` bytes in all."""

    scope: Scope
    name: str
    batch: int
    m: int
    n: int
    k: int
    dtype: str
    bytes: int

    @property
    def flop(self) -> int:
        """2 FLOP a multiply-add."""
        return 2 * self.batch * self.m * self.n * self.k


@dataclass(slots=True)
class Entry:
    """How often something happened, how long it took, and (for what is no product) its FLOP and bytes."""

    count: int = 0
    seconds: float = 0.0
    flop: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the ledger's table; ``share`` is of the seconds of the whole table."""

    workload: str
    stage: str
    name: str
    products: int
    flop: int
    bytes: int
    seconds: float
    share: float
    is_product: bool

    @property
    def intensity(self) -> float:
        """FLOP a byte."""
        return self.flop / self.bytes if self.bytes else 0.0

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {**asdict(self), "flop_per_byte": self.intensity}


_NOBODY = Scope("", "")
SCOPE: ContextVar[Scope] = ContextVar("whygpu_scope", default=_NOBODY)
LISTENERS: ContextVar[tuple[Ledger, ...]] = ContextVar("whygpu_listeners", default=())


Seen = tuple[Scope, str, tuple[int, ...], tuple[int, ...], Any]
"""What the hot path notes of a product: scope, name, both shapes, dtype."""


class Ledger:
    """Everything that was multiplied, and what was done beside it, while it listened."""

    def __init__(self) -> None:
        self.others: dict[tuple[Scope, str], Entry] = {}
        self.wall: dict[Scope, float] = {}
        self._reported: dict[Product, Entry] = {}
        self._seen: dict[Seen, Entry] = {}

    def see(self, seen: Seen, seconds: float) -> None:
        """Count one product of two arrays. This is the hot path: the rest is worked out when asked for."""
        entry = self._seen.get(seen)
        if entry is None:
            entry = self._seen[seen] = Entry()
        entry.count += 1
        entry.seconds += seconds

    def add_product(self, product: Product, seconds: float, count: int = 1) -> None:
        """Count ``count`` equal products that took ``seconds`` together."""
        entry = self._reported.setdefault(product, Entry())
        entry.count += count
        entry.seconds += seconds

    @property
    def products(self) -> dict[Product, Entry]:
        """Every kind of product, with how often it ran and how long that took."""
        result = {product: replace(entry) for product, entry in self._reported.items()}
        for seen, entry in self._seen.items():
            total = result.setdefault(_product(seen), Entry())
            total.count += entry.count
            total.seconds += entry.seconds
        return result

    def add_other(self, scope: Scope, name: str, flop: int, size: int, seconds: float) -> None:
        """Count work that is not a product."""
        entry = self.others.get((scope, name))
        if entry is None:
            entry = self.others[scope, name] = Entry()
        entry.count += 1
        entry.flop += flop
        entry.bytes += size
        entry.seconds += seconds

    def counts(self, workload: str | None = None) -> dict[tuple[str, str, int, int, int, int], int]:
        """Products by (stage, name, batch, m, n, k): what ``models.matmuls`` must equal."""
        result: dict[tuple[str, str, int, int, int, int], int] = {}
        for product, entry in self.products.items():
            if workload in (None, product.scope.workload):
                key = (product.scope.stage, product.name, product.batch, product.m, product.n, product.k)
                result[key] = result.get(key, 0) + entry.count
        return result

    def rows(self, by: Sequence[str] = ("workload", "stage", "name")) -> list[Row]:
        """Sum up by any of ``workload``, ``stage``, ``name``; products and the rest stay apart.

        Time inside a scope that neither a product nor a named other step accounts for
        (Python itself, allocation) is a row named ``unaccounted``.
        """
        sums: dict[tuple[str, str, str, bool], Entry] = {}

        def add(scope: Scope, name: str, product: bool, entry: Entry) -> None:
            key = (
                scope.workload if "workload" in by else "",
                scope.stage if "stage" in by else "",
                name if "name" in by else "",
                product,
            )
            total = sums.setdefault(key, Entry())
            total.count += entry.count if product else 0
            total.flop += entry.flop
            total.bytes += entry.bytes
            total.seconds += entry.seconds

        for product, entry in self.products.items():
            summed = Entry(
                entry.count, entry.seconds, product.flop * entry.count, product.bytes * entry.count
            )
            add(product.scope, product.name, True, summed)
        for (scope, name), entry in self.others.items():
            add(scope, name, False, entry)
        for scope, seconds in self._unaccounted().items():
            add(scope, "unaccounted", False, Entry(seconds=seconds))
        whole = sum(entry.seconds for entry in sums.values()) or 1.0
        return [
            Row(w, s, n, e.count, e.flop, e.bytes, e.seconds, e.seconds / whole, product)
            for (w, s, n, product), e in sums.items()
        ]

    def totals(self, workload: str | None = None) -> Row:
        """All products of a workload (or of all) as one row; ``share`` is their share of the time."""
        rows = [row for row in self.rows(("workload",)) if workload in (None, row.workload)]
        products = [row for row in rows if row.is_product]
        seconds = sum(row.seconds for row in products)
        whole = sum(row.seconds for row in rows) or 1.0
        return Row(
            workload or "",
            "",
            "",
            sum(row.products for row in products),
            sum(row.flop for row in products),
            sum(row.bytes for row in products),
            seconds,
            seconds / whole,
            True,
        )

    def largest(self, workload: str, count: int = 5) -> list[tuple[Product, Entry]]:
        """The products of the largest shapes (most FLOP each), one line a shape."""
        shapes: dict[tuple[str, int, int, int, int], tuple[Product, Entry]] = {}
        for product, entry in self.products.items():
            if product.scope.workload != workload:
                continue
            key = (product.name, product.batch, product.m, product.n, product.k)
            _, total = shapes.setdefault(key, (product, Entry()))
            total.count += entry.count
            total.seconds += entry.seconds
            total.flop += product.flop * entry.count
            total.bytes += product.bytes * entry.count
        return sorted(shapes.values(), key=lambda pair: -pair[0].flop)[:count]

    def merge(self, listened: Ledger) -> None:
        """Add what another ledger heard."""
        for product, entry in listened.products.items():
            self.add_product(product, entry.seconds, entry.count)
        for (scope, name), entry in listened.others.items():
            self.add_other(scope, name, entry.flop, entry.bytes, entry.seconds)
        for scope, seconds in listened.wall.items():
            self.wall[scope] = self.wall.get(scope, 0.0) + seconds

    def table(self) -> Table:
        """By workload and stage: products, FLOP, bytes, seconds, share, FLOP/byte (a Rich table)."""
        from rich.table import Table

        table = Table(title="Ledger")
        for heading in ("workload", "stage", "what"):
            table.add_column(heading)
        for heading in ("products", "FLOP", "bytes", "seconds", "share", "FLOP/byte"):
            table.add_column(heading, justify="right")
        for row in self.rows(("workload", "stage")):
            table.add_row(
                row.workload,
                row.stage,
                "products" if row.is_product else "not products",
                f"{row.products:,}",
                f"{row.flop:.3g}",
                f"{row.bytes:.3g}",
                f"{row.seconds:.4f}",
                f"{row.share:.1%}",
                f"{row.intensity:.2f}",
            )
        return table

    def _unaccounted(self) -> dict[Scope, float]:
        known: dict[Scope, float] = {}
        for product, entry in self.products.items():
            known[product.scope] = known.get(product.scope, 0.0) + entry.seconds
        for (scope, _), entry in self.others.items():
            known[scope] = known.get(scope, 0.0) + entry.seconds
        return {s: w - known.get(s, 0.0) for s, w in self.wall.items() if w > known.get(s, 0.0)}


@contextlib.contextmanager
def ledger() -> Iterator[Ledger]:
    """Listen to every product of this context until the ``with`` block ends."""
    listener = Ledger()
    token = LISTENERS.set((*LISTENERS.get(), listener))
    try:
        yield listener
    finally:
        LISTENERS.reset(token)


@contextlib.contextmanager
def scope(workload: str, stage: str) -> Iterator[None]:
    """Say who multiplies inside the ``with`` block. Scopes do not nest and do not span a ``yield``."""
    here = Scope(workload, stage)
    token = SCOPE.set(here)
    listeners = LISTENERS.get()
    started = perf_counter()
    try:
        yield
    finally:
        SCOPE.reset(token)
        if listeners:
            spent = perf_counter() - started
            for listener in listeners:
                listener.wall[here] = listener.wall.get(here, 0.0) + spent


def listening() -> bool:
    """Whether any ledger is on, for callers that would have to count first."""
    return bool(LISTENERS.get())


def report(
    name: str,
    *,
    m: int,
    n: int,
    k: int,
    dtype: str,
    size: int,
    batch: int = 1,
    count: int = 1,
    seconds: float = 0.0,
) -> None:
    """Report ``count`` products that a fused kernel contains.

    ``size`` is the bytes that each of them moves, ``seconds`` the time of all together.
    """
    listeners = LISTENERS.get()
    if listeners:
        product = Product(SCOPE.get(), name, batch, m, n, k, dtype, size)
        for listener in listeners:
            listener.add_product(product, seconds, count)


def report_other(name: str, *, flop: int, size: int, seconds: float) -> None:
    """Report work of a fused kernel that is not a product; ``other`` is for code that can be timed alone."""
    listeners = LISTENERS.get()
    if listeners:
        for listener in listeners:
            listener.add_other(SCOPE.get(), name, flop, size, seconds)


class _Timed:
    """Times a block of work that is not a product; built only while a ledger listens."""

    __slots__ = ("flop", "listeners", "name", "size", "started", "synchronize")

    def __init__(self, listeners: tuple[Ledger, ...], name: str, flop: int, size: int) -> None:
        self.listeners, self.name, self.flop, self.size = listeners, name, flop, size

    def __enter__(self) -> None:
        self.started = perf_counter()

    def __exit__(self, kind: type[BaseException] | None, value: object, trace: TracebackType | None) -> None:
        if kind is None:
            _finish()
            spent = perf_counter() - self.started
            here = SCOPE.get()
            for listener in self.listeners:
                listener.add_other(here, self.name, self.flop, self.size, spent)


class _Untimed:
    """Stands where nobody listens."""

    __slots__ = ()

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, value: object, trace: TracebackType | None) -> None:
        return None


_UNTIMED = _Untimed()


def other(name: str, *, flop: int = 0, size: int = 0) -> _Timed | _Untimed:
    """Time and count a step that is not a product (softmax, norm, depth test ...): ``with other(...):``.

    ``flop`` and ``size`` (bytes moved) are the step's own; no product may run inside the block,
    since its time would be counted twice.
    """
    listeners = LISTENERS.get()
    return _Timed(listeners, name, flop, size) if listeners else _UNTIMED


def _finish() -> None:
    """Wait for an asynchronous device, so that time is charged to the step that caused it."""
    from whygpu.engine.backends import current

    current().synchronize()


def dtype_name(dtype: Any) -> str:
    """``float32`` for NumPy's and PyTorch's float32 alike."""
    return str(dtype).rsplit(".", maxsplit=1)[-1]


def width(dtype: Any) -> int:
    """Bytes of a number, by its type's name: every namespace has that, not all have ``itemsize``."""
    digits = re.search(r"\d+", dtype_name(dtype))
    return int(digits[0]) // 8 if digits else 1


def _product(seen: Seen) -> Product:
    scope, name, a, b, dtype = seen
    *stack, m, k = a
    n = b[-1]
    batch = prod(_broadcast(tuple(stack), b[:-2]))
    size = (prod(a) + prod(b) + batch * m * n) * width(dtype)
    return Product(scope, name, batch, m, n, k, dtype_name(dtype), size)


def _broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> list[int]:
    length = max(len(a), len(b))
    a, b = (1,) * (length - len(a)) + a, (1,) * (length - len(b)) + b
    return [max(x, y) for x, y in zip(a, b, strict=True)]
