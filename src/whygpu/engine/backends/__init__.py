"""Where the products run. A backend is an array namespace, a device and a matrix multiply."""

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

from whygpu.engine.backends.base import Backend
from whygpu.engine.errors import UserError

__all__ = ["Backend", "backend", "current", "using"]

_current: ContextVar[Backend | None] = ContextVar("whygpu_backend", default=None)


def backend(name: str = "cpu", *, threads: int | None = None) -> Backend:
    """Open a backend by name.

    Parameters
    ----------
    name
        ``cpu`` (NumPy and Numba), ``python`` (plain loops), ``torch:<device>`` (``torch:cpu``,
        ``torch:cuda``, ``torch:mps``, ...).
    threads
        How many threads the CPU may use; None: as many as this process may run on.

    Raises
    ------
    UserError
        For an unknown name, a device that is not there or a package that is not installed.
    """
    kind, _, device = name.partition(":")
    if threads is not None and threads < 1:
        raise UserError(f"threads: {threads} is not a number of threads; give 1 or more")
    if kind == "cpu" and not device:
        from whygpu.engine.backends.cpu import CpuBackend

        return CpuBackend(threads)
    if kind == "python" and not device:
        from whygpu.engine.backends.python import PythonBackend

        return PythonBackend()
    if kind == "torch":
        from whygpu.engine.backends.torch import TorchBackend

        return TorchBackend(device or "cpu", threads)
    raise UserError(
        f"device {name!r} is unknown; known: cpu, python, torch:<device> (torch:cpu, torch:cuda, torch:mps)"
    )


def current() -> Backend:
    """The backend of this context: that of the innermost ``using``, else the CPU's."""
    here = _current.get()
    if here is None:
        here = backend("cpu")
        _current.set(here)
    return here


@contextlib.contextmanager
def using(chosen: Backend | str | None) -> Iterator[Backend]:
    """Multiply on ``chosen`` (a backend, a name, or None for the current one) inside the ``with`` block."""
    here = current() if chosen is None else backend(chosen) if isinstance(chosen, str) else chosen
    token = _current.set(here)
    try:
        with here.active():
            yield here
    finally:
        _current.reset(token)
