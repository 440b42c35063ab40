"""Load a framework that may not be installed."""

import importlib
from types import ModuleType

from whygpu.engine.errors import UserError

__all__ = ["load"]


def load(module: str, device: str, install: str) -> ModuleType:
    """Import ``module`` for ``device``.

    Raises
    ------
    UserError
        Where it is missing or does not load; the line says how to install it.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise UserError(f"device {device}: {module} is not installed; {install}") from error
    except (ImportError, OSError, RuntimeError) as error:  # it is there, but its libraries do not load
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:120]
        raise UserError(f"device {device}: {module} does not load ({reason}); {install}") from error
