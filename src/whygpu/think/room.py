"""Whether a model fits where it is to think, before anything is loaded."""

from whygpu.engine import DTYPES, Backend, UserError
from whygpu.models import Architecture

__all__ = ["check_room", "weight_bytes"]

BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
MOST_RANKS = 1 << 14


def weight_bytes(architecture: Architecture, dtype: str) -> int:
    """Bytes of all weights as the portable path holds them."""
    return architecture.parameters * BYTES[dtype]


def check_room(architecture: Architecture, backend: Backend, dtype: str, size: int = 1) -> None:
    """Refuse a model whose weights do not fit; the line says what would.

    ``size`` ranks hold a share each; those that share one machine's memory are not told apart.

    Raises
    ------
    UserError
        Where the weights need more than is free.
    """
    free = backend.memory()
    needed = weight_bytes(architecture, dtype) // size
    if free is None or needed <= free:
        return
    each = f" on each of {size} ranks" if size > 1 else ""
    smaller = [d for d in DTYPES if d in backend.dtypes and BYTES[d] < BYTES[dtype]]
    ways = [f"--dtype {d} ({_size(needed * BYTES[d] // BYTES[dtype])})" for d in smaller[:1]
            if needed * BYTES[d] // BYTES[dtype] <= free]  # fmt: skip
    ranks = -(-needed * size // max(free, 1))
    if ranks <= MOST_RANKS:
        ways.append(f"{ranks} devices with as much each (torchrun --nproc-per-node)")
    ways.append("a smaller model, or one stored in Q4_0, Q4_1 or Q8_0 on --device cpu")
    raise UserError(
        f"{architecture.name}: its weights need {_size(needed)} in {dtype}{each}, "
        f"{backend.name} has {_size(free)} free; what would fit: {'; '.join(ways)}"
    )


def _size(size: int) -> str:
    return f"{size / 1e9:.1f} GB" if size >= 1e8 else f"{size / 1e6:.1f} MB"
