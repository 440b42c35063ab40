"""Where the products run. A backend is an array namespace, a device and a matrix multiply."""

import contextlib
import importlib.util
from collections.abc import Callable, Iterator
from contextvars import ContextVar

from whygpu.engine.backends.base import DTYPES, Backend
from whygpu.engine.errors import UserError

__all__ = ["DTYPES", "KNOWN", "Backend", "backend", "current", "using"]

_current: ContextVar[Backend | None] = ContextVar("whygpu_backend", default=None)

KNOWN = (
    "auto, cpu, numpy, python, torch:<device> (cpu, cuda, mps, xpu, npu, xla, neuron), "
    "jax[:<platform>], cupy[:<number>], array-api-strict"
)


def backend(name: str = "cpu", *, threads: int | None = None) -> Backend:
    """Open a backend by name.

    Parameters
    ----------
    name
        ``cpu`` (NumPy and Numba), ``numpy`` (the same without Numba's kernels), ``python`` (plain loops),
        ``torch:<device>`` (``torch:cpu``, ``torch:cuda``, ``torch:mps``, ...), ``jax`` (``jax:cpu``, ...),
        ``cupy``, ``array-api-strict`` (the standard's own checks), or ``auto``: the best accelerator that
        is here, else ``cpu``; the backend's ``name`` says which it was.
    threads
        How many threads the CPU may use; None: as many as this process may run on.

    Raises
    ------
    UserError
        For an unknown name, a device that is not there or a package that is not installed.
    """
    if threads is not None and threads < 1:
        raise UserError(f"threads: {threads} is not a number of threads; give 1 or more")
    if name == "auto":
        return _best(threads)
    kind, _, device = name.partition(":")
    open_it = _OPENERS.get(kind)
    here = open_it(kind, device, threads) if open_it else None
    if here is None:
        raise UserError(f"device {name!r} is unknown; known: {KNOWN}")
    return here


def _cpu(kind: str, device: str, threads: int | None) -> Backend | None:
    from whygpu.engine.backends.cpu import CpuBackend

    return None if device else CpuBackend(threads, kernels=kind == "cpu")


def _python(kind: str, device: str, threads: int | None) -> Backend | None:
    from whygpu.engine.backends.python import PythonBackend

    return None if device else PythonBackend()


def _strict(kind: str, device: str, threads: int | None) -> Backend | None:
    from whygpu.engine.backends.strict import StrictBackend

    return None if device else StrictBackend()


def _torch(kind: str, device: str, threads: int | None) -> Backend | None:
    from whygpu.engine.backends.torch import TorchBackend

    return TorchBackend(device or "cpu", threads)


def _jax(kind: str, device: str, threads: int | None) -> Backend | None:
    from whygpu.engine.backends.jax import JaxBackend

    return JaxBackend(device)


def _cupy(kind: str, device: str, threads: int | None) -> Backend | None:
    from whygpu.engine.backends.cupy import CupyBackend

    return CupyBackend(device) if device.isdecimal() or not device else None


_OPENERS: dict[str, Callable[[str, str, int | None], Backend | None]] = {
    "cpu": _cpu,
    "numpy": _cpu,
    "python": _python,
    "array-api-strict": _strict,
    "torch": _torch,
    "jax": _jax,
    "cupy": _cupy,
}
"""By the first part of a name; each gives None for a second part that it does not have."""


def _best(threads: int | None) -> Backend:
    """The best that is here: an accelerator of PyTorch's, of JAX's, CuPy's, else the CPU."""
    if importlib.util.find_spec("torch") is not None:
        from whygpu.engine.backends.torch import best_device

        device = best_device()
        if device is not None:
            with contextlib.suppress(UserError):
                return backend(f"torch:{device}", threads=threads)
    for name, module in (("jax:tpu", "jax"), ("jax:gpu", "jax"), ("cupy", "cupy")):
        if importlib.util.find_spec(module) is not None:
            with contextlib.suppress(UserError):
                return backend(name, threads=threads)
    return backend("cpu", threads=threads)


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
