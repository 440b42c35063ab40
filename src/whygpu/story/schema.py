"""How the measured parts of the results look in JSON: every key of their ``as_dict``, documented.

The measured objects themselves stay rich (tables and the report ask them for what they derive);
these models say what is written. An undocumented key is an error, so this page cannot fall behind.
"""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict

from whygpu.engine import Row

__all__ = [
    "BoundJson",
    "Documented",
    "Experiment1Json",
    "Experiment2Json",
    "Experiment3Json",
    "LedgerLine",
    "RooflineJson",
]


class Documented(BaseModel):
    """A part of the results; each field's docstring becomes its description in the schema."""

    model_config = ConfigDict(use_attribute_docstrings=True, extra="forbid", allow_inf_nan=False)


class LedgerLine(Documented):
    """A line of a ledger: products of one name or stage, or a step that is not a product."""

    stage: str
    """``vertex``, ``raster``, ``shade``; ``prefill``, ``decode``; empty where a line sums up."""
    name: str
    """The product or step; empty where a line sums up."""
    is_product: bool
    """A matrix multiply, or something else."""
    products: int
    """How many matrix multiplies."""
    flop: int
    """2 a multiply-add."""
    bytes: int
    """Operands read and result written."""
    seconds: float
    """Time spent."""
    share: float
    """Of the time of its workload (in an answer: of its stage)."""
    flop_per_byte: float
    """flop / bytes."""

    @classmethod
    def of(cls, row: Row, share: float, **more: Any) -> Self:
        """A row of a ledger with its share; ``more`` are the fields of a subclass."""
        return cls(
            stage=row.stage,
            name=row.name,
            is_product=row.is_product,
            products=row.products,
            flop=row.flop,
            bytes=row.bytes,
            seconds=row.seconds,
            share=share,
            flop_per_byte=row.intensity,
            **more,
        )


class TimingJson(Documented):
    """Seconds a call."""

    median: float
    q1: float
    """First quartile."""
    q3: float
    """Third quartile."""
    minimum: float
    maximum: float
    count: int
    """Calls timed."""
    steady: bool
    """Whether the warm-up settled: its last 5 timings within 3 %."""


class CacheJson(Documented):
    """A level of data cache."""

    level: int
    size: int
    """Bytes of one instance."""
    instances: int
    """How many this system shows."""


class BlasJson(Documented):
    """The library behind NumPy's matrix multiply."""

    name: str
    version: str
    kernel: str
    """Which of its kernels it chose for this processor."""
    threading: str


class AcceleratorJson(Documented):
    """A GPU or the like."""

    name: str
    memory: int | None
    """Bytes."""
    watts: float | None
    """Power limit."""
    found_by: str
    """Program or file that named it."""


class HostJson(Documented):
    """This machine; null or empty where it could not be found out."""

    cpu: str
    architecture: str
    cores: int | None
    """Physical cores."""
    threads: int
    """Threads that this process may run: affinity and container quota."""
    caches: list[CacheJson]
    memory: int
    """Bytes of this machine."""
    memory_limit: int | None
    """Bytes that the container allows."""
    system: str
    python: str
    numpy: str
    blas: BlasJson
    features: list[str]
    """Vector instructions of the processor."""
    numpy_simd: list[str]
    """Those that NumPy uses."""
    virtual: bool | None
    """Whether this is a virtual machine."""
    container: bool
    clock: float | None
    """Highest clock in Hz."""
    on_battery: bool | None
    accelerators: list[AcceleratorJson]
    last_level: int | None
    """Bytes of all last-level caches together."""
    usable_memory: int
    """Bytes: the machine's, or the container's if that is less."""
    identity: str
    """A hash of everything that changes what a measurement would give."""


class RateJson(Documented):
    """One measured rate."""

    name: str
    """gemm, gemv, read, copy, triad; L1, L2, L3: reading within that cache."""
    dtype: str
    threads: int
    shape: list[int]
    """gemm: m, n, k; gemv: m, k; streams: bytes of each buffer."""
    flop: int
    """Of one call."""
    bytes: int
    """That the program itself reads and writes in one call."""
    traffic: int
    """With write-allocate: each line that an ordinary store writes is read first."""
    timing: TimingJson
    gflops: float
    """At the median."""
    best_gflops: float
    gbs: float
    """GB/s at the median."""
    best_gbs: float
    traffic_gbs: float
    """GB/s of ``traffic``."""


class LaunchJson(Documented):
    """What it costs to start a small piece of work."""

    name: str
    """numpy: an addition of 8 numbers; matmul: a 4x4 product; team: waking the kernels' threads."""
    threads: int
    chain: int
    """Links of the chain that was timed, each after the last."""
    timing: TimingJson
    """Of one link."""
    microseconds: float


class FlagJson(Documented):
    """Something that a reader of the figures must know."""

    code: str
    text: str
    values: dict[str, str]
    """The figures in the text."""


class RooflineJson(Documented):
    """What this machine is and what it can do; all rates measured here, on random data."""

    host: HostJson
    taken_at: str
    """ISO 8601, UTC."""
    seconds: float
    """How long measuring took."""
    quick: bool
    streams: str
    """numba or numpy: who read and wrote the buffers."""
    rates: list[RateJson]
    launches: list[LaunchJson]
    flags: list[FlagJson]
    skipped: list[str]
    """Steps for which no time was left."""


class ArticleLoopJson(Documented):
    """The article's loop."""

    ms: float
    extrapolated_minutes: float
    basis: str


class LoopJson(Documented):
    """The plain-Python triple loop."""

    side: int
    timing: TimingJson
    ms: float
    gflops: float
    basis: str
    extrapolated_side: int
    extrapolated_minutes: float
    extrapolated_basis: str
    formula: str
    article: ArticleLoopJson


class ArticleSizeJson(Documented):
    """The article's BLAS at one size."""

    ms: float | None
    speedup: float | None
    basis: str


class SizeJson(Documented):
    """One library's product of two (side, side) float32 matrices."""

    library: str
    side: int
    timing: TimingJson
    ms: float
    basis: str
    flop: int
    gflops: float
    loop_ms: float
    """The loop's time at this side."""
    loop_basis: str
    speedup: float
    """loop_ms / ms."""
    article: ArticleSizeJson


class Experiment1Json(Documented):
    """Plain Python against BLAS."""

    loop: LoopJson
    libraries: list[str]
    sizes: list[SizeJson]
    skipped: list[str]


class StepJson(Documented):
    """One step of the GPT-2 layer."""

    name: str
    count: int
    """How often the layer does it."""
    shape: list[int]
    """batch, m, n, k of a product; the array's sides otherwise."""
    is_product: bool
    flop: int
    """All ``count`` together."""
    bytes: int
    timing: TimingJson
    """Of one."""
    ms: float
    """All ``count`` together."""
    gflops: float
    gbs: float
    share_of_products: float | None
    share: float
    """Of the whole layer's time."""
    article_ms: float | None
    basis: str


class LayerJson(Documented):
    """One layer."""

    heads: int
    steps: list[StepJson]
    product_ms: float
    ms: float
    product_time_share: float
    product_flop_share: float


class Experiment2Json(Documented):
    """One GPT-2-small layer, and what explains the article's slow scores."""

    d_model: int
    sequence: int
    d_ff: int
    layers: int
    one_head: LayerJson
    many_heads: LayerJson
    model_product_ms: float
    model_ms: float
    model_basis: str
    layouts: dict[str, Any]
    """Runs in fresh processes (first and warm calls by operand layout and thread count), and the suspects
    weighed against the article's gap: code, text, ratio, article_ratio, verdict, basis."""
    article: dict[str, Any]
    """Its times, the ratio of scores to attention x V, and the rates derived from them."""


class OperationJson(Documented):
    """One operation on two (side, side) float32 matrices."""

    name: str
    side: int
    flop: int
    """By the convention 2mnk, or one a number."""
    exact_flop: int
    """Multiplications and additions that the definition needs."""
    bytes: int
    flop_per_byte: float
    timing: TimingJson
    ms: float
    first_ms: float
    """Of the first call."""
    gflops: float
    gbs: float
    basis: str


class Experiment3Json(Documented):
    """A matrix product against an elementwise one."""

    matmul: OperationJson
    elementwise: OperationJson
    operations_ratio: float
    exact_operations_ratio: float
    time_ratio: float
    first_time_ratio: float
    article: dict[str, Any]
    """Its figures."""


class FigureJson(Documented):
    """One number in SI units with where it comes from."""

    value: float
    basis: str
    source: str


class BoundJson(Documented):
    """A token's time on one machine at batch 1: the roofline bound, and what to expect by fitted figures."""

    machine: str
    kind: str
    """cpu, gpu, soc, npu or tpu."""
    model: str
    bits_per_weight: float
    context: int
    """Tokens in the K/V cache before this one."""
    dtype: str
    """Number format of the peak."""
    seconds_per_token: float
    """The larger of the next two."""
    arithmetic_seconds: float
    """FLOP / peak."""
    bandwidth_seconds: float
    """Bytes / bandwidth."""
    tokens_per_second: float
    binds: str
    """arithmetic or bandwidth."""
    fits: bool | None
    """Whether the memory holds it; null where the memory is unknown."""
    flop_per_byte: float
    ridge: float
    """FLOP/byte from which on arithmetic would bind."""
    basis: str
    formula: str
    label: str
    """What this figure is and is not."""
    expected_seconds: float | None
    """A token's time by constants fitted to public measurements, as if the memory held the model."""
    p10_seconds: float | None
    p90_seconds: float | None
    efficiencies_of: str | None
    """Whose measurements the constants stand on: here, itself, family or kin."""
    flop: FigureJson
    """Of one token."""
    bytes: FigureJson
    """Read for one token."""
    needed: FigureJson
    """Bytes of memory for weights and K/V cache."""
    peak: FigureJson
    """FLOP/s."""
    bandwidth: FigureJson
    """Bytes/s."""
    memory: FigureJson | None
    """Bytes."""
