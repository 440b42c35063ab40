"""Where whygpu keeps what it would be a pity to do twice: models, compiled kernels, measurements."""

import os
from pathlib import Path

__all__ = ["cache_dir"]


def cache_dir() -> Path:
    """The user's cache folder for whygpu; ``WHYGPU_CACHE`` names another. It may not exist yet."""
    chosen = os.environ.get("WHYGPU_CACHE")
    if chosen:
        return Path(chosen)
    import platformdirs

    return Path(platformdirs.user_cache_dir("whygpu", appauthor=False))
