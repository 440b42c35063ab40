"""How far the predictions err on measurements: by device left out, by model left out, by group."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from whygpu.engine import Progress, silent
from whygpu.predict.calibrate import Calibration, calibrate, held_out, refitted, sample
from whygpu.predict.constants import FORMS, calibration, estimate
from whygpu.predict.fit import Floats
from whygpu.predict.measurements import Measurements, shipped
from whygpu.predict.read_speed import Row
from whygpu.predict.terms import DECODE, PREFILL, Form

__all__ = ["Group", "Validation", "form_of", "usable", "validate"]

WAYS = ("leave-one-device-out", "leave-one-model-out", "leave-one-source-out")
"""What the constants are fitted without. A source is a file, page or thread; in serving, which has one, a
series of one model on one system by one version of a runtime."""
LLAMA_CPP = ("cuda", "metal", "rocm", "vulkan", "sycl", "cpu")


@dataclass(frozen=True, slots=True)
class Group:
    """Errors of one set of rows, in percent of the measurement."""

    target: str
    by: str
    rows: int
    signed_median: float
    median_abs: float
    p90_abs: float
    coverage: float
    """Percent of the measurements inside p10 to p90."""

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "target": self.target,
            "by": self.by,
            "rows": self.rows,
            "signed_median": self.signed_median,
            "median_abs": self.median_abs,
            "p90_abs": self.p90_abs,
            "coverage": self.coverage,
        }


@dataclass(frozen=True, slots=True)
class Validation:
    """Every group, what could not be resolved, and what is faster than physics allows."""

    groups: tuple[Group, ...]
    unresolved: tuple[tuple[str, str], ...]
    impossible: tuple[tuple[str, str], ...]

    def as_dict(self) -> dict[str, Any]:
        """As plain values, for JSON."""
        return {
            "groups": [group.as_dict() for group in self.groups],
            "unresolved": [{"id": name, "why": why} for name, why in self.unresolved],
        }


def form_of(row: Row) -> Form:
    """The form of time that a row is of."""
    if row.target.startswith("training"):
        return FORMS["training"]
    if row.target.startswith("serving"):
        return FORMS["serving_moe" if row.case.outline.is_mixture else "serving_dense"]
    return DECODE if row.target == "decode" else PREFILL


def usable(row: Row) -> bool:
    """Whether a measurement is good enough to fit to."""
    return row.quality in ("A", "B") and (row.case.batch == 1 or row.target != "decode")


def target_of(row: Row) -> str:
    """What is reported together."""
    if row.quality not in ("A", "B"):
        return f"{row.target}, {'quality C' if row.quality == 'C' else row.quality}"
    if row.target in ("decode", "prefill"):
        kind = "" if row.case.runtime in LLAMA_CPP else ", other runtimes"
        return f"{row.target} tok/s{', batches' if row.case.batch != 1 else ''}{kind}"
    return row.target


def is_rate(row: Row) -> bool:
    """Whether errors are those of a rate (tokens/s) and not of a time."""
    return not row.target.startswith("serving")


def validate(measured: Measurements, *, progress: Progress = silent) -> Validation:
    """Predict every row by constants fitted without it, and compare."""
    by_form: dict[str, list[Row]] = defaultdict(list)
    for row in measured.rows:
        by_form[form_of(row).name].append(row)
    errors: dict[str, dict[str, list[tuple[Row, float, bool]]]] = defaultdict(lambda: defaultdict(list))
    impossible = []
    for place, (name, rows) in enumerate(by_form.items()):
        progress("predict.validating", place / len(by_form), form=name)
        for way, predicted, inside in _ways(FORMS[name], rows):
            for row, seconds, hit in zip(rows, predicted, inside, strict=True):
                error = row.seconds / seconds - 1 if is_rate(row) else seconds / row.seconds - 1
                errors[way][target_of(row)].append((row, 100 * error, bool(hit)))
        impossible += [found for row in rows for found in _too_fast(FORMS[name], row)]
    groups = [group for found in _targets(errors) for group in found] + _flagged(errors, impossible)
    spread = _repeats(measured.rows)
    listed = tuple((row.id, why) for row, why in impossible)
    return Validation((*_whole(errors), *groups, *spread), measured.unresolved, listed)


def _key(row: Row) -> tuple[str, str, float]:
    return row.target, row.id, round(row.seconds, 12)


def _ways(form: Form, rows: Sequence[Row]) -> Iterable[tuple[str, Floats, np.ndarray[Any, Any]]]:
    """(how, seconds, inside the band) for each of ``WAYS``; "all": by device, new rows as they are."""
    known = [row for row in shipped() if form_of(row) is form and usable(row)]
    at = {_key(row): i for i, row in enumerate(known)}
    new = [row for row in rows if _key(row) not in at]
    everything = [*known, *new]
    place = [at.get(_key(row), 0) for row in rows]
    order = {id(row): len(known) + i for i, row in enumerate(new)}
    place = [order.get(id(row), p) for row, p in zip(rows, place, strict=True)]
    s = sample(
        [r.case for r in everything], [r.seconds for r in everything], [1.0] * len(known) + [0.0] * len(new)
    )
    only = np.zeros(len(everything), bool)
    only[place] = True
    stored = calibration(form.name)
    fitted = refitted(stored, s)
    found: dict[str, tuple[Floats, Floats]] = {}
    sources = np.array([row.labels["source"].partition("@")[0] for row in everything])
    for way, groups in zip(WAYS, (s.chip, s.model, sources), strict=True):
        seconds, spread = held_out(form, s, fitted, groups, only, unheard=groups is sources)
        if groups is not sources:  # rows of other files come from sources that nothing is known of
            spread[len(known) :] = np.hypot(spread[len(known) :], form.source)
        found[way] = seconds[place], spread[place]
    best, width = (part.copy() for part in found["leave-one-device-out"])
    for i, row in enumerate(rows):
        if id(row) in order:  # never fitted to: what the package says
            e = estimate(form, row.case, stored)
            best[i], width[i] = e.seconds, np.log(e.high / e.seconds) / stored.high
    measured = np.array([row.seconds for row in rows])
    for way, (seconds, spread) in {"all": (best, width), **found}.items():
        off = np.log(measured / seconds) / spread
        yield way, seconds, (off >= stored.low) & (off <= stored.high)


def summarise(target: str, by: str, found: Sequence[tuple[Row, float, bool]]) -> Group:
    """One group's figures."""
    errors = np.array([error for _, error, _ in found])
    return Group(
        target,
        by,
        len(found),
        float(np.median(errors)),
        float(np.median(np.abs(errors))),
        float(np.percentile(np.abs(errors), 90)),
        100 * float(np.mean([hit for _, _, hit in found])),
    )


Errors = dict[str, dict[str, list[tuple[Row, float, bool]]]]


def _whole(errors: Errors) -> list[Group]:
    everything = [
        entry for found in errors["all"].values() for entry in found if entry[0].quality in ("A", "B")
    ]
    return [summarise("all targets, quality A and B", "all", everything)] if everything else []


def _targets(errors: Errors) -> Iterable[list[Group]]:
    order = sorted(
        errors["all"], key=lambda name: ("SUSPECT" in name or "END" in name or "quality" in name, name)
    )
    for target in order:
        groups = [summarise(target, way, errors[way][target]) for way in ("all", *WAYS)]
        for label in ("device family", "runtime", "model", "quantisation"):
            groups += _split(target, label, errors["all"][target])
        if target.startswith("decode tok/s") and "other" not in target:
            groups += _transfer(target, errors["leave-one-model-out"][target])
        yield groups


def _split(target: str, label: str, found: Sequence[tuple[Row, float, bool]]) -> list[Group]:
    parts: dict[str, list[tuple[Row, float, bool]]] = defaultdict(list)
    for entry in found:
        parts[entry[0].labels[label]].append(entry)
    ordered = sorted(parts.items(), key=lambda part: (-len(part[1]), part[0]))
    return [summarise(target, f"{label}: {name}", part) for name, part in ordered]


def _transfer(target: str, found: Sequence[tuple[Row, float, bool]]) -> list[Group]:
    """70B from 8B: rows of a 70B model on discrete GPUs that hold it and that an 8B was measured on too."""
    small = {
        (r.labels["device"], r.case.count)
        for r, _, _ in found
        if r.case.outline.name in ("llama-3-8b", "llama-3.1-8b")
    }
    part = [
        entry
        for entry in found
        if entry[0].case.outline.name in ("llama-3-70b", "llama-3.1-70b")
        and entry[0].case.machine.kind == "gpu"
        and entry[0].case.spilled == 0
        and (entry[0].labels["device"], entry[0].case.count) in small
    ]
    return [summarise(target, "8B to 70B, discrete GPUs that hold both", part)] if part else []


def _repeats(rows: Sequence[Row]) -> list[Group]:
    """The spread among independent sources that measured the same case: what no model can beat."""
    groups = []
    for target in ("decode", "prefill"):
        same: dict[tuple[object, ...], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for row in rows:
            c = row.case
            if row.target == target and usable(row):
                key = (
                    row.labels["device"],
                    c.runtime,
                    c.outline.name,
                    c.storage.name,
                    c.count,
                    round(c.depth / 512),
                    round(c.prompt / 512),
                )
                same[key][row.labels["source"]].append(row.seconds)
        found = []
        for sources in same.values():
            if len(sources) > 1:
                each = [float(np.median(values)) for values in sources.values()]
                middle = float(np.median(each))
                found += [100 * (middle / value - 1) for value in each]
        if found:
            size = np.abs(found)
            groups.append(
                Group(
                    f"{target} tok/s",
                    "spread among independent measurements of the same case",
                    len(found),
                    float(np.median(found)),
                    float(np.median(size)),
                    float(np.percentile(size, 90)),
                    100.0,
                )
            )
    return groups


def _flagged(errors: Errors, impossible: Sequence[tuple[Row, str]]) -> list[Group]:
    """Rows that are faster than the full rates allow, a group a target: flagged, and counted all the same."""
    flagged = {id(row) for row, _ in impossible}
    found = {
        target: [entry for entry in entries if id(entry[0]) in flagged]
        for target, entries in sorted(errors["all"].items())
    }
    return [summarise(target, "faster than the bound", part) for target, part in found.items() if part]


def _too_fast(form: Form, row: Row) -> list[tuple[Row, str]]:
    bound = estimate(form, row.case).bound
    if row.seconds < 0.98 * bound and not row.target.startswith("training"):
        said = f"{row.target}: {row.seconds * 1e3:.3g} ms measured, {bound * 1e3:.3g} ms at the full rates"
        return [(row, said)]
    return []


def calibrated(form: Form, rows: Sequence[Row]) -> Calibration:
    """Constants fitted to all usable rows, with the band's quantiles from devices and models left out."""
    known = [row for row in rows if form_of(row) is form and usable(row)]
    s = sample([r.case for r in known], [r.seconds for r in known])
    c, fitted = calibrate(form, s)
    off = []
    for groups in (s.chip, s.model):
        seconds, spread = held_out(form, s, fitted, groups)
        off.append(np.log(s.seconds / seconds) / spread)
    joined = np.concatenate(off)
    low, high = np.quantile(joined, [0.1, 0.9])
    return Calibration(form, c.constants, c.devices, c.models, float(low), float(high), c.support)
