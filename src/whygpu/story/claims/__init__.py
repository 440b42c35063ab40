"""What the article claims, recomputed: each figure and statement, its formula, its verdict, one sentence why.

In the order in which data flows: ``claims.toml`` (what is claimed, by which formula it is checked),
``catalogue`` (reads it), ``inputs`` and ``here`` (the numbers that go in: the hardware catalogue, the models'
products, the scenes, what this machine measures), ``formula`` (computes), ``verdict`` (judges by rule),
``judge`` (all of it for one claim), ``words`` (the sentences), ``schema`` (the JSON).
"""

from whygpu.story.claims.catalogue import CHAPTERS, claims, find
from whygpu.story.claims.claim import Case, Claim, Evidence, Fact, Given
from whygpu.story.claims.here import Here
from whygpu.story.claims.judge import CaseResult, Judged, judge
from whygpu.story.claims.quantity import Missing, Quantity
from whygpu.story.claims.verdict import Outcome, Verdict

__all__ = [
    "CHAPTERS",
    "Case",
    "CaseResult",
    "Claim",
    "Evidence",
    "Fact",
    "Given",
    "Here",
    "Judged",
    "Missing",
    "Outcome",
    "Quantity",
    "Verdict",
    "claims",
    "find",
    "judge",
]
