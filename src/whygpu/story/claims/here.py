"""What this machine says: its roofline, the three experiments, and the default model's word vectors.

Each is asked for only when a claim needs it, and the experiments' figures are kept, so that a second look
costs nothing. A time is that of the fastest of many warm calls: whatever else runs only adds to it.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from whygpu import measure
from whygpu.engine import Basis, Progress, UserError, cache_dir, silent
from whygpu.engine.files import write_whole
from whygpu.measure import experiments
from whygpu.measure.disturbance import Disturbance
from whygpu.measure.probe import DISTURBED_AGE
from whygpu.story.claims.analogy import Analogies
from whygpu.story.claims.quantity import Missing, Quantity

__all__ = ["Here", "kept_file"]

FORMAT = 3
"""Of the kept file; raise it when the meaning of a figure changes."""

Values = dict[str, tuple[float, str]]
"""Value in SI units and unit, by name."""


class Here:
    """The figures of this machine, measured once.

    Parameters
    ----------
    measuring
        ``missing``: measure quickly what no earlier run kept. ``never``: only what was kept. ``again``:
        measure everything that is asked for, thoroughly, and keep it.
    """

    def __init__(
        self, measuring: Literal["missing", "never", "again"] = "missing", progress: Progress = silent
    ) -> None:
        self.measuring = measuring
        self.progress = progress
        self._groups: dict[str, Values | Missing] = {}
        """By group; what is missing in place of values that cannot be had."""
        self._disturbed: set[str] = set()
        self._analogies: Analogies | None = None

    @classmethod
    def of(cls, roofline: measure.Roofline, *trials: Any) -> "Here":
        """What a run has measured just now: its roofline and the three experiments in order."""
        here = cls("never")
        here._groups["roofline"] = _roofs(roofline)
        for group, trial in zip(_FIGURES, trials, strict=True):
            here._groups[group] = _FIGURES[group](trial)
        return here

    def value(self, name: str) -> Quantity:
        """One measured figure, ``experiment_1 loop`` or ``roofline gemm`` say.

        Raises
        ------
        Missing
            Where it was not measured.
        """
        group, _, field = name.partition(" ")
        if group not in self._groups:
            self._groups[group] = self._group(group)
        values = self._groups[group]
        if isinstance(values, Missing):
            raise values
        if field not in values:
            raise Missing("quick", what=name)
        value, unit = values[field]
        beside = " while other work held the cores" if group in self._disturbed else ""
        how = "" if group == "roofline" else ", the fastest of many warm calls"
        source = f"measured here{beside} ({group.replace('_', ' ')}{how})"
        return Quantity(value, unit, Basis.MEASURED, source)

    @property
    def disturbed(self) -> bool:
        """Whether anything was measured while other work held the cores."""
        return bool(self._disturbed)

    def nearest(self, words: str, inputs: str) -> Quantity:
        """The word nearest to ``king-man+woman``; ``inputs``: ``with`` or ``without`` the words themselves.

        Raises
        ------
        Missing
            Where the default model is not on this disk, or a word is several tokens of it.
        """
        near = self._vectors().nearest(words, inputs == "with")
        runners = ", ".join(f"{word} {cosine:.3f}" for word, cosine in near)
        return Quantity(near[0][0], "", Basis.MEASURED, self._vectors().source, runners=runners)

    def cosine(self, words: str, word: str) -> Quantity:
        """The cosine between ``king-man+woman`` and a word's vector; raises as ``nearest`` does."""
        return Quantity(self._vectors().cosine(words, word), "", Basis.MEASURED, self._vectors().source)

    def _vectors(self) -> Analogies:
        if self._analogies is None:
            self._analogies = Analogies()
        return self._analogies

    def _group(self, group: str) -> Values | Missing:
        if group == "roofline":
            return self._roofline()
        found = _kept().get(group)
        if found is not None and self.measuring != "again":
            return self._noted(group, found)
        if self.measuring == "never":
            return Missing("kept", what=group.replace("_", " "))
        number = int(group.removeprefix("experiment_"))
        watch = Disturbance()
        result = experiments.run(number, quick=self.measuring != "again", progress=self.progress)
        disturbed = bool(watch.flags(measure.this_host().threads))
        measured = Group(_FIGURES[group](result), datetime.now(UTC).timestamp() if disturbed else None)
        _keep(group, measured)
        return self._noted(group, measured)

    def _noted(self, group: str, measured: "Group") -> Values:
        if measured.disturbed_at is not None:
            self._disturbed.add(group)
        return measured.values

    def _roofline(self) -> Values | Missing:
        if self.measuring == "never":
            roofline = measure.kept_roofline()
        else:
            again = self.measuring == "again"
            roofline = measure.roofline(force=again, quick=not again, progress=self.progress)
        if roofline is None:
            return Missing("kept", what="roofline")
        return _roofs(roofline)


@dataclass(frozen=True, slots=True)
class Group:
    """The figures of one experiment."""

    values: Values
    disturbed_at: float | None
    """When they were taken, seconds since 1970, if other work held the cores meanwhile; else None."""


def _roofs(roofline: measure.Roofline) -> Values:
    return {
        "gemm": (roofline.gflops("fp32") * 1e9, "FLOP/s"),
        "read": (roofline.read_bandwidth, "B/s"),
    }


def _experiment_1(result: experiments.Experiment1) -> Values:
    loop = result.loop.timing.minimum
    values: Values = {"loop": (loop, "s")}
    for size in result.sizes:
        if size.library == "numpy":
            values[f"blas.{size.side}"] = (size.timing.minimum, "s")
            scaled = loop * (size.side / result.loop.side) ** 3
            values[f"speedup.{size.side}"] = (scaled / size.timing.minimum, "")
    return values


def _experiment_2(result: experiments.Experiment2) -> Values:
    one, many = result.one_head, result.many_heads
    return {
        "layer": (_seconds(one.products), "s"),
        "other_flop": (1 - one.product_flop_share, ""),
        "other_time": (_seconds(one.others) / _seconds(one.steps), ""),
        "heads_other_flop": (1 - many.product_flop_share, ""),
        "heads_other_time": (_seconds(many.others) / _seconds(many.steps), ""),
    }


def _seconds(steps: tuple[experiments.Step, ...]) -> float:
    return sum(step.count * step.timing.minimum for step in steps)


def _experiment_3(result: experiments.Experiment3) -> Values:
    matmul, elementwise = result.matmul.timing.minimum, result.elementwise.timing.minimum
    return {
        "matmul": (matmul, "s"),
        "elementwise": (elementwise, "s"),
        "time_ratio": (matmul / elementwise, ""),
    }


_FIGURES: dict[str, Callable[[Any], Values]] = {
    "experiment_1": _experiment_1,
    "experiment_2": _experiment_2,
    "experiment_3": _experiment_3,
}


def kept_file() -> Path:
    """Where the experiments' figures of this machine are kept."""
    return cache_dir() / "claims" / f"{measure.this_host().identity}.json"


def _kept() -> dict[str, Group]:
    """What earlier runs kept; nothing where the file is damaged, another format's, or disturbed and old."""
    try:
        table = json.loads(kept_file().read_text(encoding="utf-8"))
        if table["format"] != FORMAT:
            return {}
        groups = {name: _group_of(entry) for name, entry in table["groups"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
    oldest = datetime.now(UTC).timestamp() - DISTURBED_AGE
    return {n: g for n, g in groups.items() if g.disturbed_at is None or g.disturbed_at > oldest}


def _group_of(entry: Any) -> Group:
    values = {name: (float(value), str(unit)) for name, (value, unit) in entry["values"].items()}
    at = entry["disturbed_at"]
    return Group(values, None if at is None else float(at))


def _keep(group: str, measured: Group) -> None:
    """Keep a group's figures beside the others."""
    groups = {name: asdict(kept) for name, kept in {**_kept(), group: measured}.items()}
    try:
        with write_whole(kept_file()) as temporary:
            temporary.write_text(json.dumps({"format": FORMAT, "groups": groups}), encoding="utf-8")
    except UserError:  # a cache that cannot be written is no reason to fail
        return
