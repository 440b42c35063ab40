"""Why does an LLM need a GPU? The article's three experiments on this machine, in plain text.

Needs Python 3.11 and NumPy alone; PyTorch gets a column of its own where it is installed::

    python demo_gpu_matmul.py
    python demo_gpu_matmul.py --quick
"""

import argparse
import sys
from pathlib import Path

try:
    from whygpu.measure import experiments
except ModuleNotFoundError as missing:
    if missing.name != "whygpu":
        sys.exit(f"{missing.name} is missing; pip install {missing.name}")
    sys.path.insert(0, str(Path(__file__).parent / "src"))
    try:
        from whygpu.measure import experiments
    except ModuleNotFoundError as missing:
        sys.exit(f"{missing.name} is missing; pip install {missing.name}")


def main() -> None:
    """Run the experiments that were asked for and print their tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="about 5 seconds: no 4096 x 4096, fewer repeats")
    parser.add_argument("which", nargs="?", choices=("1", "2", "3", "all"), default="all")
    chosen = parser.parse_args()
    machine = experiments.article()["machine"]["description"]
    print(f'"article" is the article\'s own machine: {machine}. Times are medians of warm calls.')
    show = {1: show_1, 2: show_2, 3: show_3}
    for number in experiments.NUMBERS if chosen.which == "all" else (int(chosen.which),):
        show[number](experiments.run(number, quick=chosen.quick))


def table(heads: list[str], rows: list[list[str]]) -> None:
    """Print columns: the first to the left, the others to the right."""
    widths = [max(len(row[i]) for row in [heads, *rows]) for i in range(len(heads))]
    for row in [heads, ["-" * width for width in widths], *rows]:
        cells = [
            row[0].ljust(widths[0]),
            *(cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True)),
        ]
        print("  " + "  ".join(cells).rstrip())


def ms(seconds: float) -> str:
    """Milliseconds."""
    return f"{seconds * 1e3:,.3f}"


def given(value: float | None) -> str:
    """What the article prints, or a dash."""
    return "-" if value is None else f"{value:,}"


def show_1(result: experiments.Experiment1) -> None:
    """The loop and the libraries."""
    theirs = experiments.article()["experiment_1"]
    print(
        f"\nExperiment 1: three nested Python loops against BLAS (float32; {', '.join(result.libraries)})\n"
    )
    print(
        f"  the loops, {result.loop.side} x {result.loop.side}: {ms(result.loop.timing.median)} ms "
        f"(article {theirs['loop_ms']}); extrapolated to {result.extrapolated_side}: "
        f"{result.extrapolated_minutes:.0f} minutes (article about {theirs['extrapolated_minutes']})\n"
    )
    rows = [
        [
            f"{size.side} x {size.side}",
            size.library,
            ms(size.timing.median),
            f"{size.gflops:,.1f}",
            f"{size.speedup:,.0f}x",
            given(size.article_ms),
            f"{given(size.article_speedup)}x",
        ]
        for size in result.sizes
    ]
    table(["matrices", "by", "ms", "GFLOP/s", "faster than loops", "article ms", "article"], rows)
    skipped(result.skipped)


def show_2(result: experiments.Experiment2) -> None:
    """The layer with one head and twelve, and the suspects."""
    theirs = experiments.article()["experiment_2"]
    print(
        f"\nExperiment 2: one GPT-2-small layer (d_model {result.d_model}, {result.sequence} tokens, "
        f"d_ff {result.d_ff}, float32)"
    )
    for layer in (result.one_head, result.many_heads):
        print(
            f"\n  {layer.heads} {'head, as in the article' if layer.heads == 1 else 'heads, as in GPT-2'}\n"
        )
        table(
            ["step", "shape", "ms", "GFLOP/s", "share", "article ms"],
            [line(step, layer) for step in layer.steps],
        )
        print(
            f"\n  products {ms(layer.product_seconds)} ms of {ms(layer.seconds)} ms: "
            f"{layer.product_flop_share:.1%} of the FLOP, {layer.product_time_share:.1%} of the time"
        )
    print(
        f"  {result.layers} layers: products {ms(result.layers * result.one_head.product_seconds)} ms "
        f"(article {theirs['layer_ms']} a layer, {theirs['model_ms']} in all)"
    )
    print(
        f"\n  The article's scores take {result.article_gap:.1f}x its attention x V, for equal FLOP; they "
        f"ran {result.article_slowdown:.1f}x slower\n  than its other products, on "
        f"{experiments.article()['machine']['cores']} cores. The suspects, timed here:\n"
    )
    rows = [[s.text, f"{s.ratio:.2f}x", s.verdict, str(s.basis)] for s in result.layouts.suspects]
    table(["scores / attention x V", "ratio", "explains the gap", "basis"], rows)
    if result.layouts.disturbed:
        print(
            "\n  one thread beat all: other processes held the cores meanwhile, and these ratios say little"
        )
    skipped(result.layouts.skipped)


def line(step: experiments.Step, layer: experiments.Layer) -> list[str]:
    """One step as text."""
    batch, *rest = step.shape if step.is_product else (1, *step.shape)
    if step.is_product:
        m, n, k = rest
        shape = f"({m}, {k}) @ ({k}, {n})" + (f" x {batch}" if batch > 1 else "")
    else:
        shape = f"({', '.join(map(str, rest))})" + (f" x {step.count}" if step.count > 1 else "")
    return [
        step.name,
        shape,
        ms(step.seconds),
        f"{step.gflops:,.1f}" if step.flop else "-",
        f"{step.seconds / layer.seconds:.1%}",
        given(step.article_ms),
    ]


def show_3(result: experiments.Experiment3) -> None:
    """Both operations and their ratios."""
    theirs = experiments.article()["experiment_3"]
    side = result.matmul.side
    print(f"\nExperiment 3: {side} x {side} matrix product against elementwise product (float32)\n")
    rows = [
        [
            operation.name,
            f"{operation.flop:,}",
            f"{operation.bytes:,}",
            f"{operation.intensity:.3f}",
            ms(operation.timing.median),
            ms(operation.first_seconds),
            f"{operation.gflops:,.2f}",
            given(theirs[f"{operation.name}_ms"]),
            given(theirs[f"{operation.name}_gflops"]),
        ]
        for operation in (result.matmul, result.elementwise)
    ]
    heads = [
        "operation",
        "FLOP",
        "bytes",
        "FLOP/byte",
        "ms",
        "first call",
        "GFLOP/s",
        "article ms",
        "GFLOP/s",
    ]
    table(heads, rows)
    print(
        f"\n  operations: {result.operations_ratio:,.0f}x at 2mnk, {result.exact_operations_ratio:,.0f}x "
        f"exactly (the article says {theirs['operations_ratio']:,}x)"
        f"\n  time: {result.time_ratio:.1f}x warm, {result.first_time_ratio:.1f}x on first calls "
        f"(article {theirs['time_ratio']}x)"
    )


def skipped(what: tuple[str, ...]) -> None:
    """Say what was left out."""
    if what:
        print(f"\n  left out: {'; '.join(what)}")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
