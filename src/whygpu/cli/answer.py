"""What ``whygpu think --json`` prints: one answer, documented in ``docs/think.schema.json``.

Keys and verdicts are English whatever the language. Times are seconds, sizes bytes, rates a second.
"""

from typing import Any

import whygpu
from whygpu.engine import Ledger, Row
from whygpu.engine.basis import Basis
from whygpu.engine.ranks.alone import COMMUNICATION
from whygpu.story.schema import Documented, LedgerLine

__all__ = ["Answer", "StageShare", "answer", "bandwidth_share", "schema", "stage_shares"]

PRODUCTS = ("Q", "K", "V", "scores", "weighted V", "out", "gate", "up", "down", "head")
"""In the order in which data meets them; a family's own others come after these."""


class CandidateJson(Documented):
    """A token that could have come next."""

    id: int
    """Token id."""
    text: str
    """Its text; control tokens written out, U+FFFD for part of a character."""
    probability: float
    """That the model itself gives it."""
    chance: float
    """Of being drawn, after penalty, temperature and filters; 0: they rule it out."""


class Step(Documented):
    """One generated token."""

    id: int
    """Token id."""
    text: str
    """What it added to the answer; empty while a character or a stop string is incomplete."""
    probability: float
    """That the model itself gives it."""
    candidates: list[CandidateJson]
    """The likeliest tokens of this step, likeliest first."""


class StageShare(LedgerLine):
    """One product by name, or one step that is not a product, in prefill or in decode."""

    bound: str | None
    """``memory`` below the ridge of the kept roofline, else ``arithmetic``; ``ranks`` of what several ranks
    send each other; null: not measured."""


class Answer(Documented):
    """One answer of a language model."""

    schema_version: int = 1
    """Changes when a key changes its meaning or goes."""
    whygpu: str
    """Version of whygpu."""
    model: str
    """Model name."""
    source: str
    """Where its weights come from."""
    invented: bool
    """True: random weights (no model could be had), so times hold and words do not."""
    parameters: int
    """Parameters of the model."""
    device: str
    """The backend."""
    threads: int
    """CPU threads used."""
    prompt: str
    """The user's words."""
    system: str | None
    """The system message, where one was given."""
    chat: bool
    """Whether the model's chat template was put around the prompt."""
    text: str
    """The answer."""
    ended: str
    """``stop`` (the model's end token or a stop string), ``length``, ``context`` or ``interrupted``."""
    context: int
    """The most tokens, prompt and answer together."""
    prompt_tokens: int
    """Tokens of the prompt, the template's included."""
    generated_tokens: int
    """Tokens of the answer, without the one that ends it."""
    slides: int
    """How often the full context dropped its oldest tokens (``--slide``)."""
    load_seconds: float
    """Reading the weights."""
    prefill_seconds: float
    """The prompt at once."""
    decode_seconds: float
    """The answer, one token at a time, sampling included."""
    prefill_tokens_per_second: float
    """Tokens pushed through in prefills over prefill_seconds."""
    decode_tokens_per_second: float
    """Decode steps over decode_seconds."""
    bytes_read_per_token: float
    """Weights and K/V cache that one decode step reads, as executed (derived)."""
    bandwidth_share: float | None
    """MBU: bytes_read_per_token x decode_tokens_per_second / read bandwidth; null: no roofline is kept."""
    read_bandwidth: float | None
    """Bytes a second of the kept roofline (``whygpu roofline``); null: none."""
    steps: list[Step] | None
    """Every token with its candidates (``--show-candidates``), else null."""
    ledger: list[StageShare] | None
    """By stage and name (``--ledger``), else null."""
    basis: str = str(Basis.MEASURED)
    """Where the times come from."""


def answer(
    model: Any,
    generation: Any,
    *,
    prompt: str,
    system: str | None,
    chat: bool,
    load_seconds: float,
    roof: Any,
) -> Answer:
    """Put a finished generation into words that a program reads; ``steps`` and ``ledger`` are left null."""
    statistics = generation.statistics
    return Answer(
        whygpu=whygpu.__version__,
        model=model.architecture.name,
        source=model.source,
        invented=model.invented,
        parameters=model.architecture.parameters,
        device=model.backend.name,
        threads=model.backend.threads,
        prompt=prompt,
        system=system,
        chat=chat,
        text=generation.text,
        ended=statistics.finish,
        context=generation.rules.context,
        prompt_tokens=statistics.prompt_tokens,
        generated_tokens=statistics.generated_tokens,
        slides=statistics.slides,
        load_seconds=load_seconds,
        prefill_seconds=statistics.prefill_seconds,
        decode_seconds=statistics.decode_seconds,
        prefill_tokens_per_second=statistics.prefill_tokens_per_second,
        decode_tokens_per_second=statistics.decode_tokens_per_second,
        bytes_read_per_token=statistics.bytes_read_per_token,
        bandwidth_share=bandwidth_share(statistics, roof),
        read_bandwidth=roof.read_bandwidth if roof else None,
        steps=None,
        ledger=None,
    )


def steps(tokens: list[Any]) -> list[Step]:
    """Every token of an answer with its candidates."""
    return [
        Step(
            id=token.id,
            text=token.text,
            probability=token.probability,
            candidates=[CandidateJson(**candidate._asdict()) for candidate in token.candidates],
        )
        for token in tokens
    ]


def bandwidth_share(statistics: Any, roof: Any) -> float | None:
    """MBU, or None where this machine's bandwidth is not known or nothing was decoded."""
    if roof is None or not statistics.decode_steps:
        return None
    return float(statistics.bytes_read_per_token * statistics.decode_tokens_per_second / roof.read_bandwidth)


def stage_shares(ledger: Ledger, ridge: float | None) -> list[StageShare]:
    """The ledger of thinking: prefill, decode; in each the products as data meets them, the rest by time.

    ``ridge``: FLOP/byte at which this machine's roofs meet, where it was measured.
    """
    rows = [row for row in ledger.rows() if row.workload == "think"]
    whole = {row.stage: sum(r.seconds for r in rows if r.stage == row.stage) or 1.0 for row in rows}
    places = {name: place for place, name in enumerate(PRODUCTS)}
    rows.sort(
        key=lambda row: (
            row.stage != "prefill",
            not row.is_product,
            places.get(row.name, len(places)) if row.is_product else 0,
            0.0 if row.is_product else -row.seconds,
        )
    )
    return [StageShare.of(row, row.seconds / whole[row.stage], bound=_bound(row, ridge)) for row in rows]


def _bound(row: Row, ridge: float | None) -> str | None:
    if row.name.startswith(COMMUNICATION):
        return "ranks"
    if ridge is None or not row.bytes:
        return None
    return "memory" if row.intensity < ridge else "arithmetic"


def schema() -> dict[str, Any]:
    """JSON Schema of what ``--json`` prints."""
    return Answer.model_json_schema(mode="serialization")
