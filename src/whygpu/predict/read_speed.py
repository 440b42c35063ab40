"""Measurements of single machines (the columns of ``llm_speed.csv``) as cases with measured seconds."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from whygpu.engine import UserError
from whygpu.measure.machine import Machine
from whygpu.models.lookup import find_outline
from whygpu.models.said import said_storage
from whygpu.predict.cases import HOST_BANDWIDTH, Case, runtime_of
from whygpu.predict.names import hardware
from whygpu.predict.quants import UNSAID, always_bits, storage, usual_storage
from whygpu.predict.typed import devices, power_of

__all__ = ["Row", "number", "speed_rows"]

TENSOR_PARALLEL = ("vllm", "sglang", "trtllm", "mlc", "gptfast")


@dataclass(frozen=True, slots=True)
class Row:
    """One measured time."""

    id: str
    target: str
    """decode, prefill, serving or training."""
    case: Case
    seconds: float
    """Of a step (decode, serving) or of the whole prompt (prefill)."""
    quality: str
    """A, B, C; or SUSPECT, END-TO-END where the row's notes say so."""
    labels: Mapping[str, str]
    """What reports group by: device, model, runtime, quantisation, family."""


def number(row: Mapping[str, str], column: str, *, zero: bool = False) -> float | None:
    """A field as a number; None where it is empty, and where it is 0 if ``zero`` allows that."""
    text = (row.get(column) or "").strip()
    if text.lower() in UNSAID:
        return None
    try:
        value = float(re.sub(r"(?<=\d),(?=\d{3}\b)", "", re.split(r"±|\+-|\+/-", text)[0]).strip(" ~≈"))
    except ValueError:
        raise UserError(f"{column} {text[:30]!r} is no number") from None
    if zero and value == 0:
        return None
    if not math.isfinite(value) or value <= 0:
        raise UserError(f"{column} is {text[:30]}; a number above 0 is needed")
    return value


def speed_rows(row: Mapping[str, str]) -> list[Row]:
    """The decode and prefill times of one line.

    Raises
    ------
    UserError
        Where the device, the model or the numbers cannot be made sense of.
    """
    notes = row.get("notes") or ""
    several, machine, host = devices(row.get("device") or "")
    count = int(number(row, "device_count") or 1)
    count = max(count, several)
    backend = row.get("backend") or ""
    runtime = runtime_of(backend, machine)
    if re.search(r"lists processor as CPU", notes) or (
        re.search(r"\bcpu\b", (row.get("device") or "").lower()) and runtime not in ("itrex", "pytorch")
    ):
        runtime = "cpu"
    if machine.kind == "cpu" and runtime in ("vulkan", "rocm", "sycl", "metal", "cuda", "mlc"):
        machine = _graphics(row.get("device") or "", machine)
    if runtime == "cpu" and machine.vendor == "Apple" and not machine.name.endswith("CPU"):
        machine = hardware(f"{machine.name.split('(')[0].strip()} CPU")
    stated = number(row, "params_b")
    outline = find_outline(row.get("model") or "", parameters=stated * 1e9 if stated else None)
    size, quant = number(row, "file_gib"), (row.get("quant") or "").strip()
    average = size * 2**30 * 8 / outline.parameters if size else None
    if quant.lower() in UNSAID and average is None:
        quant = said_storage(row.get("model") or "") or ""
    held = usual_storage(runtime, average) if quant.lower() in UNSAID else storage(quant)
    bits = average or held.bits
    if average and not 0.6 < bits / held.bits < 1.7:
        bits = held.bits
    prompt, generated = number(row, "prompt_tokens"), number(row, "gen_tokens")
    batch = number(row, "batch") or 1.0
    base = Case(
        outline=outline,
        storage=held,
        bits=bits,
        always_bits=always_bits(outline, held, row.get("quant") or ""),
        machine=machine,
        runtime=runtime,
        count=count,
        batch=batch,
        depth=_depth(row, notes, backend, prompt, generated),
        prompt=prompt or 512.0,
        host="small" if _SMALL.search(notes + (row.get("device") or "")) and runtime != "cpu" else "usual",
        spilled=_spilled(outline.parameters * bits / 8, machine, count, runtime),
        flash=_flash(notes + backend, row.get("date") or "", runtime),
        era=_era(row.get("date") or "", backend, notes),
        ubatch=_ubatch(notes + " " + backend, prompt, generated),
        host_bandwidth=host or HOST_BANDWIDTH,
        power=power_of(row.get("device") or "", machine),
        matrix_units=not (runtime == "sycl" and _plain_sycl(backend, row.get("date") or "")),
    )
    labels = {
        "device": machine.name,
        "model": outline.name,
        "runtime": f"{runtime}",
        "quantisation": held.name,
        "device family": base.family,
        "backend": backend,
        "source": (row.get("source") or "")[:60],
    }
    quality = _quality(notes)
    found = []
    decode, prefill = number(row, "decode_tok_s"), number(row, "prefill_tok_s")
    if decode:
        found.append(Row(row["id"], "decode", base, batch / decode, quality, labels))
    if prefill and prompt and batch == 1:
        depth = base.depth if "depth" in notes else 0.0
        found.append(Row(row["id"], "prefill", replace(base, depth=depth), prompt / prefill, quality, labels))
    if not found:
        raise UserError("neither decode_tok_s nor prefill_tok_s (with prompt_tokens) is given")
    return found


def _graphics(device: str, machine: Machine) -> Machine:
    """The graphics beside a processor, where the label names them: "Ryzen 7 8845HS (780M)"."""
    for part in re.split(r"[()/+,]| with | w/", device):
        try:
            found = hardware(part)
        except UserError:
            continue
        if found.kind != "cpu":
            return found
    return machine


_SMALL = re.compile(r"Raspberry Pi|RISC-V|\bPi (CM)?\d|HiFive|P550", re.IGNORECASE)
"""Hosts whose processor is slow to start a GPU's kernels."""


def _flash(text: str, date: str, runtime: str) -> bool:
    """Whether attention was fused: as stated; else llama.cpp did so by default from 2025 on."""
    if re.search(r"flash-attn off|-fa 0", text):
        return False
    if re.search(r"flash-attn on|-fa 1|fa=1", text):
        return True
    llama = runtime in ("cuda", "metal", "rocm", "vulkan", "sycl", "cpu")
    return not (llama and re.match(r"202[34]", date))


def _plain_sycl(backend: str, date: str) -> bool:
    """llama.cpp's SYCL as built by default before 2025: single precision on vectors, without oneDNN."""
    return bool(re.search(r"fp32", backend, re.IGNORECASE)) or (
        date.startswith(("2023", "2024")) and not re.search(r"ipex|f(p)?16|onednn", backend, re.IGNORECASE)
    )


def _ubatch(text: str, prompt: float | None, generated: float | None) -> float:
    """Tokens at once: as stated, 2048 in the protocol of llama.cpp's own device pages, else its default.

    The protocol is "llama-bench -p 2048 -n 32 -ub 2048" (its benches/, and those who follow them).
    """
    stated = re.search(r"(?:\bub(?:atch)?|n_ubatch|-ub)[ =]+(\d{2,5})\b", text)
    if stated:
        return float(stated.group(1))
    return 2048.0 if (prompt, generated) == (2048, 32) else 512.0


def _spilled(weights: float, machine: Machine, count: int, runtime: str) -> float:
    """The share of the weights beyond 94 % of a discrete GPU's memory."""
    if runtime == "cpu" or machine.kind != "gpu" or machine.memory is None:
        return 0.0
    return max(0.0, 1 - 0.94 * count * machine.memory.value / weights)


def _quality(notes: str) -> str:
    if "SUSPECT" in notes:
        return "SUSPECT"
    if re.search(r"END-TO-END|single-stream wall rate", notes):
        return "END-TO-END"
    found = re.search(r"quality=([ABC])", notes)
    return found.group(1) if found else "B"


def _depth(
    row: Mapping[str, str], notes: str, backend: str, prompt: float | None, generated: float | None
) -> float:
    """Mean tokens in the cache while decoding: llama-bench starts from an empty one."""
    half = (generated or 128.0) / 2
    stated = re.search(r"context depth (\d+)", notes)
    if stated:
        return float(stated.group(1)) + half
    if re.search(r"context filled|at depth", notes) and "tg128 at depth" not in notes:
        return (prompt or 0.0) + half
    bench = "llama.cpp" in backend and not re.search(r"batched|TP\d|Ollama", backend)
    if bench or "llama-bench" in notes or "tg" in notes:
        return half
    return (prompt or 256.0) + half


def _era(date: str, backend: str, notes: str) -> str:
    year = re.search(r"20(2\d)", date)
    build = re.search(r"build (\d{3,5})\b", notes)
    if build and int(build.group(1)) < 3000:
        return "2024" if int(build.group(1)) > 1800 else "2023"
    if year is None:
        return "2025"
    return "2023" if year.group(1) < "24" else "2024" if year.group(1) == "24" else "2025"
