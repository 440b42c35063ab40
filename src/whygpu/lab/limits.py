"""How much one may ask for. Each refusal names the limit."""

from typing import Final

__all__ = [
    "BODY",
    "CONNECTIONS",
    "EMBEDDINGS",
    "FRAME_SIDE",
    "LISTED",
    "LOOKED_AT",
    "RUNS_SHOWN",
    "SWITCHES",
    "TRIANGLES",
    "TURNS",
    "UPLOAD",
]

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
TURNS: Final = 200
"""Of a conversation, questions and answers."""
SWITCHES: Final = 16
"""Requests that wait for another model at a time."""
LISTED: Final = 500
"""Files of one folder that are listed."""
LOOKED_AT: Final = 20_000
"""Entries of one folder and those below it that are looked at for that."""
