"""The hardware catalogue: public figures of machines, from ``data/hardware.csv``."""

import csv
import functools
import io
import math
from dataclasses import dataclass
from importlib import resources

from whygpu.engine import Basis, UserError
from whygpu.measure.machine import KINDS, Figure, Machine

__all__ = ["catalogue", "hardware_names", "read_catalogue"]

FLOPS = {
    "fp64": "fp64_tflops",
    "fp32": "fp32_tflops",
    "tf32": "tf32_tflops",
    "fp16": "fp16_bf16_tflops",
    "fp16_fp16acc": "fp16_fp16acc_tflops",
    "fp8": "fp8_tflops",
    "fp4": "fp4_tflops",
    "int8": "int8_tops",
}
"""Columns of dense peaks, in units of 1e12 a second, by number format."""

TEXTS = (
    "mem_type",
    "interconnect",
    "interconnect_dir",
    "pcie",
    "price_note",
    "disagree",
    "derived",
    "notes",
    "source",
)
DETAILS = ("cores", "clock_ghz", "llc_mb", "measured_bf16_tflops", "measured_fp8_tflops")
NUMBERS = (
    *FLOPS.values(),
    *DETAILS,
    "mem_gb",
    "mem_bw_gbs",
    "tdp_w",
    "interconnect_gbs_quoted",
    "interconnect_oneway_gbs",
    "launch_price_usd",
    "cloud_usd_h",
)
COLUMNS = {"vendor", "name", "kind", "year", "peak_basis", *TEXTS, *NUMBERS}

BASES = {"datasheet": Basis.DATASHEET, "published": Basis.PUBLISHED}


@dataclass(frozen=True, slots=True)
class _Row:
    """One line of the file, each access checked."""

    values: dict[str, str]
    where: str

    def text(self, column: str) -> str:
        value = self.values[column].strip()
        if not value:
            raise UserError(f"{self.where}: {column} is empty; it is needed")
        return value

    def choice(self, column: str, known: tuple[str, ...]) -> str:
        value = self.text(column)
        if value not in known:
            raise UserError(f"{self.where}: {column} {value!r} is unknown; known: {', '.join(known)}")
        return value

    def number(self, column: str) -> float | None:
        text = self.values[column].strip()
        if not text:
            return None
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and value > 0):
            raise UserError(f"{self.where}: {column} {text!r} is no number above 0")
        return value

    def figure(self, column: str, unit: float, basis: Basis, source: str) -> Figure | None:
        value = self.number(column)
        return None if value is None else Figure(value * unit, basis, source)


@functools.cache
def catalogue() -> dict[str, Machine]:
    """Every machine of the package's own catalogue, by name."""
    text = resources.files("whygpu.predict").joinpath("data/hardware.csv").read_text(encoding="utf-8")
    return read_catalogue(text, "hardware.csv")


def hardware_names() -> list[str]:
    """The names in the catalogue, in its order."""
    return list(catalogue())


def read_catalogue(text: str, where: str) -> dict[str, Machine]:
    """Machines by name from CSV with the catalogue's columns, in any order.

    Raises
    ------
    UserError
        For a missing or unknown column, a row of the wrong length, a field that is no number, an unknown
        kind, a name that stands twice, a row without bandwidth or source; the line says which row.
    """
    try:
        lines = csv.DictReader(io.StringIO(text), strict=True)
        _check_header(lines.fieldnames, where)
        machines: dict[str, Machine] = {}
        for values in lines:
            row = _Row(values, f"{where}, line {lines.line_num}")
            if None in values or None in values.values():
                raise UserError(f"{row.where}: {len(COLUMNS)} fields are needed, as in the header")
            machine = _machine(row)
            if machine.name in machines:
                raise UserError(f"{row.where}: {machine.name!r} stands twice")
            machines[machine.name] = machine
    except csv.Error as error:
        raise UserError(f"{where}: not a CSV file ({error})") from error
    if not machines:
        raise UserError(f"{where}: no machine in it; one row a machine is needed")
    return machines


def _check_header(header: object, where: str) -> None:
    names = list(header) if isinstance(header, list | tuple) else []
    for column in names:
        if column not in COLUMNS or names.count(column) > 1:
            raise UserError(f"{where}: column {column!r} is unknown or stands twice")
    missing = sorted(COLUMNS - set(names))
    if missing:
        raise UserError(f"{where}: column {missing[0]!r} is missing")


def _machine(row: _Row) -> Machine:
    source = row.text("source")
    bandwidth = row.figure("mem_bw_gbs", 1e9, _basis(row, "bandwidth"), _source(row, "bandwidth"))
    if bandwidth is None:
        raise UserError(f"{row.where}: mem_bw_gbs is empty; it is needed")
    flops = {
        dtype: figure
        for dtype, column in FLOPS.items()
        for figure in [row.figure(column, 1e12, _basis(row, dtype), _source(row, dtype))]
        if figure is not None
    }
    year = row.number("year")
    prices = f"{source}; {row.values['price_note']}" if row.values["price_note"].strip() else source
    return Machine(
        name=row.text("name"),
        kind=row.choice("kind", KINDS),
        flops=flops,
        bandwidth=bandwidth,
        memory=row.figure("mem_gb", 2.0**30, Basis.DATASHEET, source),
        watts=row.figure("tdp_w", 1.0, _power_basis(row), source),
        price=row.figure("launch_price_usd", 1.0, Basis.PUBLISHED, prices),
        hourly=row.figure("cloud_usd_h", 1.0, Basis.PUBLISHED, prices),
        link=row.figure("interconnect_oneway_gbs", 1e9, Basis.DATASHEET, source),
        vendor=row.text("vendor"),
        year=None if year is None else int(year),
        details=_details(row),
    )


def _details(row: _Row) -> dict[str, str]:
    for column in DETAILS:
        row.number(column)  # checked, and kept as written
    row.number("interconnect_gbs_quoted")
    kept = (*TEXTS, *DETAILS, "interconnect_gbs_quoted")
    return {column: row.values[column].strip() for column in kept if row.values[column].strip()}


def derived_names(text: str) -> set[str]:
    """Which figures the ``derived`` column names: number formats, ``bandwidth``, or ``all``.

    The names stand first, with commas between them; a formula follows after a bracket, a colon, an equals
    sign or the word "at".
    """
    names = set()
    for part in text.split(";"):
        head = part
        for mark in ("(", ":", "=", " at "):
            head = head.split(mark)[0]
        for word in head.replace("int8_tops", "int8").replace("bf16", "fp16").split(","):
            names.add("all" if word.strip() == "all peaks" else word.strip())
    return names - {""}


def _is_derived(row: _Row, what: str) -> bool:
    names = derived_names(row.values["derived"])
    return what in names or ("all" in names and what in FLOPS)


def _basis(row: _Row, what: str) -> Basis:
    if _is_derived(row, what):
        return Basis.DERIVED
    return BASES[row.choice("peak_basis", tuple(BASES))] if what in FLOPS else Basis.DATASHEET


def _source(row: _Row, what: str) -> str:
    source = row.text("source")
    return f"{row.values['derived'].strip()}; {source}" if _is_derived(row, what) else source


def _power_basis(row: _Row) -> Basis:
    """A power that the row itself calls somebody's estimate or measurement is no datasheet's."""
    words = f"{row.values['disagree']} {row.values['notes']}".lower()
    loose = (
        "tdp is an estimate",
        "tdp estimate",
        "(340 estimate",
        "power is an",
        "tdp column is that measured",
    )
    return Basis.PUBLISHED if any(phrase in words for phrase in loose) else Basis.DATASHEET
