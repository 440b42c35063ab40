"""Step 2's tables: each experiment beside the article's own figures."""

from rich.console import RenderableType
from rich.text import Text

from whygpu.cli.tables.build import new_table
from whygpu.measure.article import article
from whygpu.measure.experiment_1 import Experiment1, Size
from whygpu.measure.experiment_2 import Experiment2, Layer, Step
from whygpu.measure.experiment_3 import Experiment3
from whygpu.story.numbers import count, duration, percent, ratio, si, significant
from whygpu.story.text import Texts

__all__ = ["experiment_1_tables", "experiment_2_tables", "experiment_3_tables"]

MOSTLY = 0.95
"""From this share on, products are "nearly all" of something."""


def experiment_1_tables(texts: Texts, result: Experiment1) -> list[RenderableType]:
    """Plain Python against BLAS, size by size."""
    libraries = list(dict.fromkeys(size.library for size in result.sizes))
    headings = [texts("exp1.size"), texts("exp1.python")]
    for library in libraries:
        headings += [texts(f"exp1.{library}"), texts("exp1.faster")]
    headings += [texts(f"exp1.article.{key}") for key in ("python", "blas", "faster")]
    note = texts("exp1.note", cores=article()["machine"]["cores"])
    table = new_table(texts("exp1.title"), *headings, note=note)
    by_side: dict[int, dict[str, Size]] = {}
    for size in result.sizes:
        by_side.setdefault(size.side, {})[size.library] = size
    for side, sizes in by_side.items():
        first = next(iter(sizes.values()))
        cells = [f"{side}x{side}", duration(first.loop_seconds)]
        for library in libraries:
            size = sizes[library]
            cells += [duration(size.timing.median), ratio(size.speedup)]
        table.add_row(*cells, *_article_1(side, first))
    return [table]


def _article_1(side: int, size: Size) -> tuple[str, str, str]:
    theirs = article()["experiment_1"]
    loop = theirs["loop_ms"] / 1e3 * (side / theirs["loop_side"]) ** 3
    blas = "" if size.article_ms is None else duration(size.article_ms / 1e3)
    return duration(loop), blas, "" if size.article_speedup is None else ratio(size.article_speedup)


def experiment_2_tables(texts: Texts, result: Experiment2) -> list[RenderableType]:
    """One GPT-2 layer with one head and with twelve; then what explains the article's slow scores."""
    theirs = article()["experiment_2"]
    tables: list[RenderableType] = []
    for layer in (result.one_head, result.many_heads):
        tables.append(_layer_table(texts, layer, result.layers, theirs))
        answer = "holds" if layer.product_time_share >= MOSTLY else "fails"
        tables.append(
            texts(
                f"exp2.verdict.{answer}",
                flop=percent(layer.product_flop_share),
                time=percent(layer.product_time_share),
            )
        )
    tables.append(_suspects_table(texts, result))
    if result.layouts.disturbed:
        tables.append(Text(texts("exp2.disturbed"), style="yellow"))
    return tables


def _layer_table(texts: Texts, layer: Layer, layers: int, theirs: dict[str, float]) -> RenderableType:
    keys = ("product", "shape", "ms", "rate", "share", "article")
    title = texts("exp2.title.one" if layer.heads == 1 else "exp2.title.many", heads=layer.heads)
    table = new_table(title, *(texts(f"exp2.{key}") for key in keys), text_columns=2)
    with_article = layer.heads == 1
    for step in layer.products:
        table.add_row(step.name, _shape(step), *_times(step, layer))
    total = layer.product_seconds
    article_layer = significant(theirs["layer_ms"]) if with_article else ""
    article_model = significant(theirs["model_ms"]) if with_article else ""
    table.add_section()
    table.add_row(texts("exp2.total"), "", _ms(total), "", percent(layer.product_time_share), article_layer)
    table.add_row(texts("exp2.layers", layers=layers), "", _ms(total * layers), "", "", article_model)
    table.add_section()
    for step in layer.others:
        table.add_row(texts(f"exp2.step.{step.name}"), _shape(step), *_times(step, layer))
    return table


def _times(step: Step, layer: Layer) -> tuple[str, str, str, str]:
    """Milliseconds, GFLOP/s, share of the whole layer's time, the article's milliseconds."""
    theirs = "" if step.article_ms is None else significant(step.article_ms)
    return _ms(step.seconds), significant(step.gflops), percent(step.seconds / layer.seconds), theirs


def _shape(step: Step) -> str:
    """``m x k @ k x n`` of a product (with its batch before), else the array's sides."""
    if not step.is_product:
        return " x ".join(count(side) for side in step.shape)
    batch, m, n, k = step.shape
    times = f"{batch} · " if batch > 1 else ""
    return f"{times}{m}x{k} @ {k}x{n}"


def _suspects_table(texts: Texts, result: Experiment2) -> RenderableType:
    title = texts("exp2.suspects.title", gap=ratio(result.article_gap))
    keys = ("suspect", "ratio", "verdict")
    table = new_table(title, *(texts(f"exp2.suspects.{key}") for key in keys), text_columns=1)
    for suspect in result.layouts.suspects:
        text = texts(f"exp2.suspect.{suspect.code}")
        table.add_row(text, ratio(suspect.ratio), texts(f"exp2.suspects.{suspect.verdict}"))
    return table


def experiment_3_tables(texts: Texts, result: Experiment3) -> list[RenderableType]:
    """Matrix product against elementwise product: operations, bytes, time."""
    theirs = article()["experiment_3"]
    keys = ("what", "matmul", "elementwise", "ratio", "article")
    table = new_table(texts("exp3.title"), *(texts(f"exp3.{key}") for key in keys))
    a, b = result.matmul, result.elementwise
    times = f"{theirs['matmul_ms']} / {theirs['elementwise_ms']} ms = {theirs['time_ratio']}x"
    rates = f"{theirs['matmul_gflops']} / {theirs['elementwise_gflops']}"
    rows = [
        ("time", duration(a.timing.median), duration(b.timing.median), ratio(result.time_ratio), times),
        ("first", duration(a.first_seconds), duration(b.first_seconds), ratio(result.first_time_ratio), ""),
        ("rate", significant(a.gflops), significant(b.gflops), ratio(a.gflops / b.gflops), rates),
        (
            "flop",
            count(a.flop),
            count(b.flop),
            ratio4(result.operations_ratio),
            f"{theirs['operations_ratio']}x",
        ),
        ("exact", count(a.exact_flop), count(b.exact_flop), ratio4(result.exact_operations_ratio), ""),
        ("bytes", si(a.bytes, "B"), si(b.bytes, "B"), ratio(a.bytes / b.bytes), ""),
        (
            "intensity",
            significant(a.intensity),
            significant(b.intensity),
            ratio(a.intensity / b.intensity),
            "",
        ),
    ]
    for key, *cells in rows:
        table.add_row(texts(f"exp3.{key}"), *cells)
    return [table]


def ratio4(value: float) -> str:
    """An exact ratio, all its digits shown."""
    return f"{value:,.0f}x"


def _ms(seconds: float) -> str:
    return significant(seconds * 1e3)
