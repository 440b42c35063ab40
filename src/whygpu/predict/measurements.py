"""Files of measurements: which columns, which rows can be predicted, and why others cannot."""

import csv
import functools
import io
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from whygpu.engine import UserError
from whygpu.predict.read_serving import serving_rows
from whygpu.predict.read_speed import Row, speed_rows
from whygpu.predict.read_training import training_rows
from whygpu.predict.typed import devices

__all__ = ["Measurements", "read_measurements", "shipped", "unresolved_devices"]

LARGEST = 64 << 20
KINDS = {
    "serving": ({"system", "model_path", "batch_size", "silicon_tpot_ms"}, serving_rows),
    "training": ({"device", "model", "device_count", "mfu", "tflops_per_device"}, training_rows),
    "speed": ({"device", "model", "decode_tok_s"}, speed_rows),
}


@dataclass(frozen=True, slots=True)
class Measurements:
    """What a file says."""

    rows: tuple[Row, ...]
    unresolved: tuple[tuple[str, str], ...]
    """(id, why) of the lines that could not be made sense of."""


def read_measurements(path: Path) -> Measurements:
    """A CSV file with the columns of single machines, of serving or of training, told by its header.

    Raises
    ------
    UserError
        For a file that is missing, too large, no CSV or has other columns.
    """
    try:
        if path.stat().st_size > LARGEST:
            raise UserError(f"{path}: larger than {LARGEST >> 20} MiB; split the file")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 text ({error.reason}); a CSV file is needed") from error
    return parse_measurements(text, str(path))


def parse_measurements(text: str, where: str) -> Measurements:
    """The same from text."""
    try:
        lines = csv.DictReader(io.StringIO(text), strict=True)
        columns = set(lines.fieldnames or ())
        kind = next((name for name, (needed, _) in KINDS.items() if needed <= columns), None)
        if kind is None:
            wanted = "; or ".join(", ".join(sorted(needed)) for needed, _ in KINDS.values())
            raise UserError(f"{where}: the header has none of the known sets of columns: {wanted}")
        rows: list[Row] = []
        left: list[tuple[str, str]] = []
        for values in lines:
            _one(
                {str(k): v or "" for k, v in values.items() if isinstance(v, str | None)},
                lines.line_num,
                kind,
                rows,
                left,
            )
    except csv.Error as error:
        raise UserError(f"{where}: not a CSV file ({error})") from error
    if not rows and not left:
        raise UserError(f"{where}: no line of measurements after the header")
    return Measurements(tuple(rows), tuple(left))


def _one(row: Mapping[str, str], line: int, kind: str, rows: list[Row], left: list[tuple[str, str]]) -> None:
    name = row.get("id") or f"line {line}"
    try:
        rows += KINDS[kind][1]({**row, "id": name})
    except UserError as error:
        left.append((name, str(error)))


@functools.cache
def shipped() -> tuple[Row, ...]:
    """The public measurements that the shipped constants were fitted to."""
    folder = resources.files("whygpu.predict").joinpath("data/measurements")
    rows: list[Row] = []
    for name in ("llm_speed.csv", "serving.csv", "training.csv"):
        rows += parse_measurements(folder.joinpath(name).read_text(encoding="utf-8"), name).rows
    return tuple(rows)


def unresolved_devices() -> list[tuple[str, str]]:
    """Devices of the shipped measurements that the catalogue cannot place, each with the reason."""
    folder = resources.files("whygpu.predict").joinpath("data/measurements")
    found: dict[str, str] = {}
    for name in ("llm_speed.csv", "training.csv"):
        for row in csv.DictReader(io.StringIO(folder.joinpath(name).read_text(encoding="utf-8"))):
            try:
                devices(row["device"])
            except UserError as error:
                found[row["device"]] = str(error)
    return list(found.items())
