"""How much one may ask for. Each refusal names the limit."""

from typing import Final

__all__ = ["BODY", "CONNECTIONS", "EMBEDDINGS", "FRAME_SIDE", "RUNS_SHOWN", "TRIANGLES", "UPLOAD"]

BODY: Final = 1 << 20
"""Bytes of a JSON request."""
UPLOAD: Final = 64 << 20
"""Bytes of a scene."""
CONNECTIONS: Final = 256
"""At a time; further ones are told to come back (503)."""
EMBEDDINGS: Final = 64
"""Texts of one request."""
TRIANGLES: Final = 2_000_000
"""Of a scene that is drawn live."""
FRAME_SIDE: Final = 1920
"""Pixels of a frame's longer side."""
RUNS_SHOWN: Final = 100
"""Of the history, newest first."""
