"""Everything that the main job finds out: the schema of ``results.json``.

Keys and verdicts are English whatever the language. Times are seconds, sizes bytes, rates a second.
``docs/results.schema.json`` is made from these types; a test keeps both equal.
"""

from typing import Annotated, Any

from pydantic import Field, InstanceOf, PlainSerializer

from whygpu.measure.experiments import Experiment1, Experiment2, Experiment3
from whygpu.measure.roof import Roofline
from whygpu.predict import Bound
from whygpu.story.claims.schema import ClaimJson
from whygpu.story.schema import (
    BoundJson,
    Documented,
    Experiment1Json,
    Experiment2Json,
    Experiment3Json,
    LedgerLine,
    RooflineJson,
)

__all__ = ["Drawing", "ExhibitJson", "LedgerResult", "LedgerShare", "Results", "Shape", "Thinking", "schema"]


def _written_as(model: type[Documented]) -> PlainSerializer:
    """Write an object's ``as_dict()`` in the documented form of ``model``."""
    return PlainSerializer(lambda measured: model.model_validate(measured.as_dict()), return_type=model)


class Drawing(Documented):
    """One scene drawn by one path."""

    scene: str
    """Built-in scene name."""
    path: str
    """``portable`` (NumPy) or ``fast`` (Numba kernels)."""
    triangles: int
    """Triangles in the scene."""
    vertices: int
    """Vertices in the scene."""
    width: int
    """Picture width in pixels."""
    height: int
    """Picture height in pixels."""
    pixels_lit: int
    """Pixels that show a triangle."""
    first_seconds: float
    """The first frame, with whatever had to be compiled or loaded."""
    seconds: float
    """Median time of a frame after that."""
    frames: int
    """How many frames the median is over."""
    frames_per_second: float
    """1 / seconds."""
    vertices_per_second: float
    """vertices / seconds."""
    stages: dict[str, float]
    """Seconds by stage in the median frame."""
    image: str | None
    """File name of the picture in the report folder."""
    basis: str = "measured here"
    """Where the times come from."""


class Thinking(Documented):
    """A language model answering one question."""

    model: str
    """Model name."""
    source: str
    """Where its weights come from."""
    invented: bool
    """True: random weights (no model could be had), so times hold and words do not."""
    parameters: int
    """Parameters of the model."""
    prompt: str
    """The question."""
    text: str
    """The answer."""
    prompt_tokens: int
    """Tokens of the prompt with the chat template around it."""
    generated_tokens: int
    """Tokens of the answer."""
    load_seconds: float
    """Reading and packing the weights, and a first pass that nobody hears."""
    prefill_seconds: float
    """The prompt at once."""
    decode_seconds: float
    """The answer, one token at a time."""
    prefill_tokens_per_second: float
    """prompt_tokens / prefill_seconds."""
    decode_tokens_per_second: float
    """Decoded tokens / decode_seconds."""
    bytes_per_token: float
    """Weight and KV bytes that one decode step reads, in the formats in which they are held."""
    bandwidth_share: float
    """MBU: bytes_per_token x decode_tokens_per_second / measured read bandwidth."""
    ended: str
    """``stop`` (the model's own end), ``length`` or ``context``."""
    basis: str = "measured here"
    """Where the times come from."""


class LedgerShare(LedgerLine):
    """A line of the ledger of drawing and thinking."""

    workload: str
    """``draw`` or ``think``."""


class Shape(Documented):
    """One of the largest product shapes of a workload."""

    workload: str
    """``draw`` or ``think``."""
    name: str
    """The product."""
    batch: int
    """Matrices multiplied at once."""
    m: int
    """Rows of the left and of the result."""
    n: int
    """Columns of the right and of the result."""
    k: int
    """The inner dimension."""
    dtype: str
    """Number format."""
    count: int
    """How often this shape was multiplied."""
    flop: int
    """2 batch m n k: of one such product."""
    seconds: float
    """All of them together."""


class LedgerResult(Documented):
    """One ledger of drawing and thinking."""

    frames: int
    """Frames drawn while it listened."""
    tokens: int
    """Tokens generated while it listened."""
    invented: bool
    """True: the tokens came from random weights."""
    totals: list[LedgerShare]
    """By workload: products, and the rest."""
    stages: list[LedgerShare]
    """By workload and stage."""
    rows: list[LedgerShare]
    """By workload, stage and name."""
    largest: list[Shape]
    """The five largest shapes of each workload."""
    product_time_share: dict[str, float]
    """Share of each workload's time that is products."""
    product_flop_share: dict[str, float]
    """Share of each workload's FLOP that is products."""


class NumberJson(Documented):
    """One figure of an exhibit."""

    value: float
    unit: str
    """FLOP, FLOP/s, B, B/s, FLOP/B, s, x, %, degrees; empty: a count or a coordinate."""
    basis: str
    source: str


class ExhibitJson(Documented):
    """The numbers of one exhibit."""

    figures: dict[str, NumberJson]
    """The handful that stands as text beside the picture."""
    data: dict[str, Any]
    """Everything else that it shows."""
    basis: str
    """Of ``data``."""
    source: str


class Results(Documented):
    """The whole of one run."""

    schema_version: int = 1
    """Changes when a key changes its meaning or goes."""
    whygpu: str
    """Version of whygpu."""
    created: str
    """ISO 8601, UTC."""
    quick: bool
    """Whether ``--quick`` trimmed the measurements."""
    device: str
    """The backend of drawing and thinking."""
    threads: int
    """CPU threads used."""
    roofline: Annotated[InstanceOf[Roofline], _written_as(RooflineJson)]
    """Step 1: this machine."""
    experiment_1: Annotated[InstanceOf[Experiment1], _written_as(Experiment1Json)]
    """Step 2: plain Python against BLAS."""
    experiment_2: Annotated[InstanceOf[Experiment2], _written_as(Experiment2Json)]
    """Step 2: one GPT-2 layer."""
    experiment_3: Annotated[InstanceOf[Experiment3], _written_as(Experiment3Json)]
    """Step 2: a matrix product against an elementwise one."""
    drawings: list[Drawing]
    """Step 3; empty with ``--no-draw``."""
    thinking: Thinking | None
    """Step 4; null with ``--no-think``."""
    ledger: LedgerResult | None
    """Step 5; null when neither drew nor thought."""
    exhibits: dict[str, ExhibitJson] = Field(default_factory=dict)
    """What the exhibits show, by name; those of the parts that ran."""
    left_out: dict[str, str] = Field(default_factory=dict)
    """Exhibits that could not be shown, and why."""
    claims: list[ClaimJson] = Field(default_factory=list)
    """The article's claims, judged with the figures of this run."""
    elsewhere: list[Annotated[InstanceOf[Bound], _written_as(BoundJson)]]
    """Step 6: other machines, by the roofline bound."""
    seconds: dict[str, float]
    """How long each step took."""


def schema() -> dict[str, Any]:
    """JSON Schema of ``results.json``."""
    return Results.model_json_schema(mode="serialization")
