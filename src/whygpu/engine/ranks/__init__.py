"""Several processes that work on one thing, started by torchrun: who they are, and how they talk."""

from whygpu.engine.ranks.alone import Ranks, claim_word, here, join, launched, leave
from whygpu.engine.ranks.share import bounds, share

__all__ = ["Ranks", "bounds", "claim_word", "here", "join", "launched", "leave", "share"]
