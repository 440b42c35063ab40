"""How kernels are compiled: Numba, without the GIL, strict arithmetic, cached on disk.

The cache folder carries a hash of all kernel sources and of the compiler's versions, since Numba
itself does not notice an edited function in another file. Where no cache can be written, a temporary
folder serves.
"""

import functools
import hashlib
import os
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import numba

from whygpu.engine.cache import cache_dir

__all__ = ["cache_folder", "inlined", "kernel"]

F = TypeVar("F", bound=Callable[..., Any])


@functools.cache
def cache_folder() -> Path:
    """The folder of this version's compiled kernels, created and writable."""
    package = Path(__file__).parents[1]
    sources = sorted([*package.rglob("fast/*.py"), *(package / "engine").glob("*.py")])
    digest = hashlib.sha256()
    for source in sources:
        digest.update(source.relative_to(package).as_posix().encode() + source.read_bytes())
    for distribution in ("numba", "llvmlite", "numpy"):
        digest.update(version(distribution).encode())
    folder = cache_dir() / "kernels" / digest.hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError:
        return Path(tempfile.mkdtemp(prefix="whygpu-kernels-"))


numba.config.CACHE_DIR = os.fspath(cache_folder())  # type: ignore[attr-defined]  # before the first decoration

# Kernels work in place on arrays that they are given and allocate none, so they need no reference counts
# (which would cost an atomic operation wherever an array is handed to a helper).
_options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}


def kernel(function: F) -> F:
    """Compile a function that works on a band of the data; runs without the GIL."""
    compiled: F = numba.njit(**_options, cache=True)(function)
    return compiled


def inlined(function: F) -> F:
    """Compile a helper into each kernel that calls it; it cannot be called from Python."""
    compiled: F = numba.njit(**_options, no_cpython_wrapper=True, forceinline=True)(function)
    return compiled
