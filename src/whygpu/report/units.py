"""Units that only the page writes."""

__all__ = ["binary"]


def binary(size: float) -> str:
    """Bytes by powers of 1024, as sizes of caches and memories are written."""
    for power, unit in ((40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")):
        if size >= 1 << power:
            return f"{size / (1 << power):.4g} {unit}"
    return f"{size:.0f} B"
