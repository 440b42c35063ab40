"""How kernels are compiled: Numba, without the GIL, strict arithmetic, cached on disk.

The cache folder carries a hash of all kernel sources and of the compiler's versions, since Numba
itself does not notice an edited function in another file. Where no cache can be written, a temporary
folder serves.
"""

import atexit
import functools
import gc
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

import numba

from whygpu.engine.cache import cache_dir
from whygpu.engine.threads import available_threads

__all__ = ["INLINED", "address", "beside", "cache_folder", "helper", "inlined", "is_cached", "kernel"]

F = TypeVar("F", bound=Callable[..., Any])


@functools.cache
def cache_folder() -> Path:
    """The folder of this version's compiled kernels, created and writable."""
    package = Path(__file__).parents[1]
    sources = sorted([*package.rglob("fast/*.py"), *(package / "engine").rglob("*.py")])
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
        folder = Path(tempfile.mkdtemp(prefix="whygpu-kernels-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        return folder


numba.config.CACHE_DIR = os.fspath(cache_folder())  # type: ignore[attr-defined]  # before the first decoration

# Kernels work in place on arrays that they are given and allocate none, so they need no reference counts
# (which would cost an atomic operation wherever an array is handed to a helper).
_options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cfunc_wrapper": True}

INLINED = {**_options, "no_cpython_wrapper": True, "forceinline": True}
"""How a helper is compiled into its callers; for ``numba.extending.overload``."""


def kernel(function: F) -> F:
    """Compile a function that works on a band of the data; runs without the GIL."""
    compiled: F = numba.njit(**_options, cache=True)(function)
    _survive_damage(compiled)
    return compiled


def _survive_damage(compiled: Any) -> None:
    """Compile again where the cached kernel cannot be read: Numba itself would stop with a pickle's error."""
    cache = compiled._cache
    load = cache.load_overload

    def load_or_forget(signature: Any, context: Any) -> Any:
        try:
            return load(signature, context)
        except Exception:  # a damaged pickle may raise anything
            cache.flush()
            return None

    cache.load_overload = load_or_forget


def inlined(function: F) -> F:
    """Compile a helper into each kernel that calls it; it cannot be called from Python."""
    compiled: F = numba.njit(**INLINED)(function)
    return compiled


def helper(function: F) -> F:
    """As ``inlined``, but compiled once into each kernel, however often that calls it."""
    compiled: F = numba.njit(**{**_options, "no_cpython_wrapper": True})(function)
    return compiled


def address(function: Callable[..., None]) -> int:
    """Compile a function of int64 numbers and give its address, which kernels ``call`` (``engine.sync``).

    So one kernel can work with functions that are compiled when they are needed, or in another process.
    """
    count = function.__code__.co_argcount
    compiled = _compiled(function, numba.types.void(*[numba.types.int64] * count))
    return int(compiled.address)


@functools.cache
def _compiled(function: Callable[..., None], signature: Any) -> Any:
    options = {name: value for name, value in _options.items() if name in ("error_model", "_nrt")}
    try:
        return numba.cfunc(signature, cache=True, **options)(function)
    except Exception:  # a damaged pickle may raise anything: compile without the disk
        return numba.cfunc(signature, **options)(function)


def is_cached(compiled: Any) -> bool:
    """Whether the disk has a kernel, or what ``address`` compiles, for some types."""
    function = getattr(compiled, "py_func", compiled)
    name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
    return any(cache_folder().rglob(f"{name}-*.nbi"))


def beside(compiled: Any, statement: str) -> Callable[[], None]:
    """Compile a kernel, or what ``address`` compiles, in another process; call the result to wait for it.

    ``statement`` is Python that calls the kernel as it will be called here; the disk cache carries what it
    compiled. Nothing is started where the cache has it, or where there is one core. Should the process fail,
    the kernel is compiled here when it is needed.
    """
    if getattr(compiled, "overloads", ()) or is_cached(compiled):
        return lambda: None
    folder = cache_folder()
    shared = folder.is_relative_to(cache_dir()) and sys.executable and not getattr(sys, "frozen", False)
    if not shared or available_threads() < 2:
        return lambda: None
    nothing = subprocess.DEVNULL
    command = [sys.executable, "-P", "-c", statement]
    try:
        process = subprocess.Popen(command, stdin=nothing, stdout=nothing, stderr=nothing)
    except OSError:
        return lambda: None

    collecting = gc.isenabled()
    gc.disable()  # it would search the compiler's live objects again and again: a tenth of the time

    def wait() -> None:
        if collecting:
            gc.enable()
        try:
            process.wait(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    return wait
