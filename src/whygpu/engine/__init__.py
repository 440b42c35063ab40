"""The one matrix multiply, where it runs, and the ledger that sees it."""

from whygpu.engine.backends import DTYPES, Backend, backend, current, using
from whygpu.engine.basis import Basis
from whygpu.engine.cache import cache_dir
from whygpu.engine.errors import UserError
from whygpu.engine.ledger import Ledger, Product, Row, ledger, listening, other, report, report_other, scope
from whygpu.engine.matmul import matmul
from whygpu.engine.progress import Progress, silent
from whygpu.engine.threads import available_threads, team

__all__ = [
    "DTYPES",
    "Backend",
    "Basis",
    "Ledger",
    "Product",
    "Progress",
    "Row",
    "UserError",
    "available_threads",
    "backend",
    "cache_dir",
    "current",
    "ledger",
    "listening",
    "matmul",
    "other",
    "report",
    "report_other",
    "scope",
    "silent",
    "team",
    "using",
]
