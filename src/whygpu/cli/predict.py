"""``whygpu predict``: how fast would any machine run it, and why."""

from pathlib import Path
from typing import Any

import rich_click as click

from whygpu.cli.options import json_option, language_option, size_option

__all__ = ["predict"]


@click.command()
@click.argument("model", required=False)
@click.option(
    "--on",
    "machines",
    help='Machines, with commas between them: 4090,"2x A100 80GB",here. Default: a useful spread.',
)
@click.option(
    "--hardware",
    "hardware_file",
    type=click.Path(path_type=Path),
    help="A CSV file of your own machines (columns of the catalogue).",
)
@click.option(
    "--quant",
    help="How the weights are stored: Q4_K_M, Q8_0, F16, FP8, 4bit ... Default: Q4_K_M, or the file's own.",
)
@click.option(
    "--context", type=click.IntRange(1), help="Tokens that the cache is held for. Default: prompt and reply."
)
@click.option("--prompt-tokens", type=click.IntRange(1), default=512, show_default=True)
@click.option("--reply", type=click.IntRange(1), default=256, show_default=True, help="Tokens of the answer.")
@click.option("--batch", type=click.IntRange(1), default=1, show_default=True, help="Sequences side by side.")
@click.option("--count", type=click.IntRange(1), default=1, show_default=True, help="Devices of each kind.")
@click.option("--link", help="nvlink, pcie3, pcie4, pcie5, ethernet or thunderbolt; here: as measured.")
@click.option(
    "--kv",
    type=click.Choice(["f16", "q8", "q4"]),
    default="f16",
    show_default=True,
    help="How the cache is stored.",
)
@click.option(
    "--runtime", help="cuda, metal, rocm, vulkan, sycl, cpu (llama.cpp), mlx, vllm, sglang, trtllm ..."
)
@click.option(
    "--gpu-layers", help="Blocks on the GPU, or auto (as many as fit).", default="auto", show_default=True
)
@click.option("--min-tok-s", type=click.FloatRange(0), help="Leave out what is slower.")
@click.option(
    "--budget", type=click.FloatRange(0), help="Leave out what costs more US dollars (launch price)."
)
@click.option("--sort", type=click.Choice(["price", "speed", "watts"]), help="Order of the table.")
@click.option(
    "--train",
    is_flag=True,
    help="Training instead of answering; a built-in case: alexnet, transformer-big, gpt-3, llama-3.1-405b.",
)
@click.option("--train-tokens", type=float, help="Tokens to train on, 15e12 say.")
@click.option(
    "--precision",
    type=click.Choice(["bf16", "fp8", "mxfp8", "nvfp4"]),
    default="bf16",
    show_default=True,
    help="Of training.",
)
@click.option("--draw", "draws", is_flag=True, help="Frames a second of a scene instead.")
@click.option("--triangles", type=click.IntRange(1), default=100_000, show_default=True)
@size_option
@click.option(
    "--validate",
    "validate_file",
    type=click.Path(path_type=Path),
    help="Compare with a CSV file of measurements.",
)
@json_option
@language_option
@click.pass_context
def predict(
    click_context: click.Context, /, model: str | None, language: str | None, as_json: bool, **options: Any
) -> None:
    """Predict how fast MODEL runs on any machine, what limits it and what would change it.

    MODEL: a known name, a Hugging Face id, a config.json, a GGUF or safetensors file (only headers are read).

    Example: [bold]whygpu predict llama-3.1-8b --on 4090,"M4 Max" --quant Q4_K_M[/bold]
    """
    from whygpu.cli.screen import Screen

    screen = Screen(language, as_json)
    if options["validate_file"] is not None:
        if model is not None:
            raise click.UsageError("--validate takes no MODEL")
        _only(click_context, "--validate", {"validate_file"})
        _validate(screen, options["validate_file"])
    elif options["draws"]:
        if model is not None:
            raise click.UsageError("--draw takes no MODEL")
        _only(click_context, "--draw", {"draws", "triangles", "size", *PLACES})
        _draw(screen, options)
    elif model is None:
        raise click.UsageError("give a MODEL (llama-3.1-8b say), --draw, or --validate FILE.csv")
    elif options["train"]:
        whole = {"train_tokens", "precision", "count", "context", *PLACES}
        _only(
            click_context,
            "--train without --train-tokens",
            {"train"} | (whole if options["train_tokens"] else set()),
        )
        _train(screen, model, options)
    else:
        _only(click_context, "a MODEL's answer", {*ANSWER, "count", "context", *PLACES})
        _answer(screen, model, options)


PLACES = ("machines", "hardware_file")
ANSWER = (
    "quant",
    "prompt_tokens",
    "reply",
    "batch",
    "link",
    "kv",
    "runtime",
    "gpu_layers",
    "min_tok_s",
    "budget",
    "sort",
)


def _only(context: click.Context, what: str, meant: set[str]) -> None:
    """Refuse an option that was typed and would not be used."""
    common = {"model", "language", "as_json"}
    for option in context.command.params:
        source = context.get_parameter_source(option.name or "")
        typed = source is not None and source.name == "COMMANDLINE"
        if typed and option.name not in meant | common:
            raise click.UsageError(f"{option.opts[0]} means nothing with {what}")


def _machines(options: dict[str, Any], names: tuple[str, ...]) -> list[Any]:
    """Each device that was named (``predict.typed.Typed``)."""
    from whygpu.engine import UserError
    from whygpu.predict import read_catalogue
    from whygpu.predict.counts import split_count
    from whygpu.predict.typed import Typed, typed

    own: dict[str, Any] = {}
    if options["hardware_file"] is not None:
        path = options["hardware_file"]
        try:
            own = read_catalogue(path.read_text(encoding="utf-8-sig"), str(path))
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    text = options["machines"]
    asked = (
        [part.strip() for part in text.split(",") if part.strip()] if text is not None else list(own or names)
    )
    if not asked:
        raise UserError("--on names no machine; list them: whygpu hardware")
    found = []
    for name in asked:
        count, rest = split_count(name)
        found.append(Typed(count, _here()) if rest.lower() == "here" else typed(name, own or None))
    return found


def _here() -> Any:
    """This machine by its measured roofline (kept, or measured now)."""
    import platform
    from dataclasses import replace

    from whygpu.measure import kept_roofline, roofline

    kept = kept_roofline()
    machine = (roofline(quick=True) if kept is None else kept).as_machine()
    family = "CPU Arm" if platform.machine().lower() in ("arm64", "aarch64") else "CPU AVX2"
    return replace(machine, details={**machine.details, "family": family})


def _link(name: str | None) -> Any:
    """The name of a link, or the rate that was measured between processes of this machine."""
    from whygpu.engine import UserError
    from whygpu.measure.links import kept_links

    if name is None or name.lower() != "here":
        return name
    kept = kept_links()
    if kept is None:
        raise UserError("link here: not measured yet; torchrun --nproc-per-node 2 -m whygpu roofline does it")
    return kept.link("all-reduce").bandwidth


def _layers(text: str) -> int | None:
    if text == "auto":
        return None
    if not text.isdigit():
        raise click.BadParameter(
            f"{text[:20]!r}: give a number of blocks, or auto", param_hint="--gpu-layers"
        )
    return int(text)


def _answer(screen: Any, model: str, options: dict[str, Any]) -> None:
    from whygpu.cli.calibration import own_factor
    from whygpu.cli.tables.predict import answer_tables
    from whygpu.engine import Basis
    from whygpu.models.outline_source import outline_source
    from whygpu.predict import inference
    from whygpu.predict.compare import choose, spread

    source = outline_source(model)
    results = []
    with screen.working("predict.working"):
        for device in _machines(options, spread()):
            measured = device.machine.bandwidth.basis is Basis.MEASURED
            results.append(
                inference(
                    source,
                    device,
                    quant=options["quant"],
                    context=options["context"],
                    prompt_tokens=options["prompt_tokens"],
                    reply=options["reply"],
                    batch=options["batch"],
                    count=options["count"],
                    kv=options["kv"],
                    runtime=options["runtime"],
                    gpu_layers=_layers(options["gpu_layers"]),
                    link=_link(options["link"]),
                    own=own_factor(device.machine) if measured else None,
                )
            )
    kept = choose(results, least=options["min_tok_s"], budget=options["budget"], order=options["sort"])
    if screen.as_json:
        screen.json(
            {
                "model": source.outline.name,
                "parameters": source.outline.parameters,
                "active": source.outline.active,
                "source": source.outline.source,
                "predictions": [r.as_dict() for r in kept],
            }
        )
    else:
        screen.show(*answer_tables(screen.texts, source.outline, kept))


def _train(screen: Any, model: str, options: dict[str, Any]) -> None:
    from whygpu.cli.tables.predict_train import history_tables, training_tables
    from whygpu.models.outline_source import outline_source
    from whygpu.predict import history, history_names, training

    if options["train_tokens"] is None:
        if model.lower() not in history_names():
            raise click.UsageError(
                f"--train needs --train-tokens, or a built-in case: {', '.join(history_names())}"
            )
        case = history(model)
        screen.json(case.as_dict()) if screen.as_json else screen.show(*history_tables(screen.texts, case))
        return
    source = outline_source(model)
    shape = source.outline
    devices = _machines(options, ("A100 SXM4 80GB", "H100 SXM5 80GB", "B200 SXM 180GB"))
    runs = [
        training(
            shape,
            device.machine,
            tokens=options["train_tokens"],
            count=device.count * options["count"],
            precision=options["precision"],
            sequence=min(options["context"] or 4096, shape.context),
        )
        for device in devices
    ]
    _show(screen, runs, devices, training_tables, source.notes)


def _show(screen: Any, results: Any, devices: Any, tables: Any, notes: Any = ()) -> None:
    """Results of training or drawing, with what of the names was not understood."""
    from whygpu.cli.tables.predict import remarks

    if screen.as_json:
        both = zip(results, devices, strict=True)
        screen.json([r.as_dict() | {"notes": [n.as_dict() for n in (*notes, *d.notes)]} for r, d in both])
        return
    lines = remarks(screen.texts, [*notes, *(note for device in devices for note in device.notes)])
    screen.show(*lines, *tables(screen.texts, results))


def _draw(screen: Any, options: dict[str, Any]) -> None:
    from whygpu.cli.tables.predict_train import drawing_tables
    from whygpu.predict import drawing
    from whygpu.predict.compare import spread

    devices = _machines(options, spread())
    frames = [
        drawing(device.machine, triangles=options["triangles"], size=options["size"]) for device in devices
    ]
    _show(screen, frames, devices, drawing_tables)


def _validate(screen: Any, path: Path) -> None:
    from whygpu.cli.tables.predict_validate import validation_tables
    from whygpu.predict import read_measurements, validate

    measured = read_measurements(path)
    with screen.working("predict.validating", form=""):
        result = validate(measured, progress=screen.progress)
    screen.json(result.as_dict()) if screen.as_json else screen.show(*validation_tables(screen.texts, result))
