"""From what a person types to one machine of the catalogue.

A name becomes a set of words: what identifies a chip ("4090", "m2", "a100"), its variants ("ti", "mobile",
"sxm"), its memory and its GPU cores. Words that only decorate ("NVIDIA", "GeForce", "graphics") do not count.
"""

import difflib
import functools
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources

from whygpu.engine import UserError
from whygpu.measure.machine import Machine
from whygpu.predict.longtail import machines as all_machines
from whygpu.predict.words import LOOSE, NOISE, STRICT

__all__ = ["hardware", "left_over", "resolve", "stated_memory"]

_REWRITES = tuple(
    (re.compile(pattern), by)
    for pattern, by in (
        (r"\bw/ ?", " "),
        (r"\b1\dth gen\b", " "),
        (r"\bmac ?book pro\b|\bmac pro\b", "macbook"),
        (r"\b(i[3579])-(?=\d{4,5})", r"\1 "),
        (r"\b(orange|banana|nano) ?pi\b", r"\1pi"),
        (r"\b\d{1,3} ?v?cpus?\b", " "),
        (r"\b(1[0-9]|13\.\d)[- ]?inch\b|\b\d+[- ]core (cpu|processor)\b", " "),
        (r"(a40|l40s|rtx a\d000|a100|l4)-\d+q\b", r"\1"),
        (r"l?p?ddr\d\w*[- ]?\d{3,5}|[- ]\d{4} ?mt/s", " "),
        (r"\bgaudi ?(\d)", r"gaudi\1"),
        (r"\b(i[3579])[- ](\d{4,5})(kf|ks|k|f|t)?\b", r"\1 \2"),
        (r"\(r\)|\(tm\)|\(c\)|®|™", " "),
        (r"\b\d+ ?[- ]?w(att)?( limit| cap)?\b|@ ?\d+ ?w\b", " "),
        (r"\bm3 ?ultra\b", "m3 ultra"),
        (r"\b(epyc \d{4})p\b", r"\1"),  # for one socket: the same chip
        (r"(radv )?gfx1151", "strixhalo"),
        (r"(\d+)p\+(\d+)e\+(\d+)gpu", r"\3core"),
        (r"\b(\d+) ?cores?,? +gpu\b|\b(\d+)[- ]cores?[- ]gpu\b|\b(\d+)[- ]gpu[- ]cores?\b", r"\1\2\3core"),
        (r"(\d+)[- ]?cores?\b", r"\1core"),
        (r"(\d+) ?gi?b\b|(?<![a-z\d])(\d+)g\b(?!\d)", r" \1\2gb "),
        (r"laptop gpu|laptop|notebook|\bmobility\b|\bmobile\b", " mobile "),
        (r"max[- ]?q\b", " maxq "),
        (r"\bsxm\d?\b|\bsxm\b", " sxm "),
        (r"pci[- ]?e?\b|pci express", " pcie "),
        (r"\b(rtx|gtx|rx|gt|arc|hd|r[579]|quadro|tesla|titan)[- _]*(?=[a-z]?\d)", r"\1 "),
        (r"(\d{3,4}) ?(ti|super|xtx|xt|gre|d)\b", r"\1 \2"),
        (r"\bti ?super\b", "ti super"),
        (r"\b(m[1-9])[- ]?(pro|max|ultra)\b", r"\1 \2"),
        (r"\b(mi)[- ]?(\d{2,3}[a-z]?)\b", r"\1\2"),
        (r"\brtx[ -]?pro\b", "rtx pro"),
        (r"\b(rtx )?a(\d000)[- ]ada\b|\brtx (\d000)[- ]?ada\b", r"rtx \2\3 ada"),
        (r"\bada( lovelace)? generation\b", "ada"),
        (r"\bxeon[- ]?(platinum|gold|silver)", r"xeon \1"),
        (r"\bai max ?\+? ?(pro )?(39[05]|385)\b", r"ai max \2"),
        (r"\bai max 3(90|85)\b", "8050s"),
        (r"raspberry pi|\brpi(?= ?\d)|\bpi(?= [345]\b| [45]00)", "raspberrypi"),
        (r"raspberrypi (\d)b?\b|raspberrypi(\d)", r"raspberrypi \1\2"),
        (r"dgx[- ]?spark", "gb10"),
        (r"strix[- ]?halo|framework desktop|8060s|ai max 39[05]", "strixhalo"),
        (r"ryzen ai strixhalo|radeon strixhalo", "strixhalo"),
        (r"jetson ", "jetson "),
        (r"w7900", "w7900"),
        (r"ryzen (\d{4}) series", r"ryzen \1 series"),
    )
)


@dataclass(frozen=True, slots=True)
class _Words:
    names: frozenset[str]
    """What identifies a chip, outside brackets."""
    inside: frozenset[str]
    """The same in brackets."""
    memory: int | None
    cores: int | None
    is_cpu: bool
    brands: frozenset[str]


def hardware(name: str) -> Machine:
    """The machine that ``name`` means: "4090", "h100 sxm", "RTX 4090 Laptop", "M2 Ultra 76-core" ...

    Raises
    ------
    UserError
        Where no entry or more than one fits; the line names them, or the nearest ones.
    """
    return resolve(name, all_machines())


@functools.cache
def _aliases() -> dict[str, str]:
    """What people write for a machine whose name says more, by lower-case words."""
    text = resources.files("whygpu.predict").joinpath("data/aliases.toml").read_text(encoding="utf-8")
    return {str(key): str(value) for key, value in tomllib.loads(text)["machines"].items()}


def resolve(name: str, machines: Mapping[str, Machine]) -> Machine:
    """The same over any machines, by name."""
    plain = " ".join(name.lower().replace("_", " ").split())
    for said in (
        plain,
        _CLOUD.sub("", plain),
        re.sub(r"\(.*?\)", " ", plain),
        _sense(plain, tuple(machines)),
        *_INSTANCE.findall(plain),
    ):
        usual = _aliases().get(" ".join(re.findall(r"[a-z0-9.+]+", said.replace("-", " "))))
        if usual is not None and usual in machines:
            return machines[usual]
    for key, machine in machines.items():
        if key.lower() == plain or f"{machine.vendor} {key}".lower() == plain:
            return machine
    wanted = _words(plain)
    if not wanted.names | wanted.inside:
        raise UserError(f"hardware {name[:60]!r} names no chip; list them: whygpu hardware")
    scored = [
        (score, place, machine)
        for place, machine in _candidates(wanted, machines)
        for score in [_score(wanted, machine)]
        if score is not None
    ]
    if scored:
        return min(scored, key=lambda entry: entry[:2])[2]
    names = {_BRAND.sub("", key.lower()): key for key in reversed(list(machines))}
    near = difflib.get_close_matches(_BRAND.sub("", plain), names, n=3, cutoff=0.6)
    hint = f"near names: {', '.join(names[key] for key in near)}" if near else "list them: whygpu hardware"
    raise UserError(f"hardware {name[:60]!r} is not in the catalogue; {hint}")


def _sense(plain: str, names: tuple[str, ...]) -> str:
    """A name without the words that stand in no name of a machine at all."""
    known, index = " ".join(_aliases()), _index(names)
    return " ".join(w for w in plain.split() if w in known or _words(w).names <= index.keys())


def left_over(name: str, machine: Machine) -> list[str]:
    """Words of a name that neither the machine's own, nor another name of it, nor decoration explains."""
    said, own = _words(" ".join(name.lower().replace("_", " ").split())), _words(machine.name)
    known = set(own.names | own.inside)
    for alias, meant in _aliases().items():
        if meant == machine.name:
            known |= _words(alias).names | set(alias.split())
    known |= set(re.findall(r"[a-z0-9]+", machine.name.lower()))
    left = (said.names | said.inside) - known - {"ghz", "max"}
    return sorted(
        word
        for word in left
        if not re.fullmatch(r"\d{1,2}|[a-z]|\d{4}", word)
        and word not in _HARMLESS
        and not re.search(r"xlarge|hz$", word)
        and not word.endswith(".metal")
    )


_HARMLESS = (
    STRICT | LOOSE | {"a", "an", "limit", "cap", "power", "ghz", "version", "v1", "v2", "v3", "inch", "egpu"}
)
_HARMLESS |= {"vulkan", "rocm", "cuda", "metal", "sycl", "gfx1100", "samsung", "huawei", "lambda", "cerebras"}


def stated_memory(name: str) -> int | None:
    """Gigabytes that a name states."""
    return _words(" ".join(name.lower().replace("_", " ").split())).memory


_CLOUD = re.compile(r"^(gcp|google cloud|aws|azure|lambda|samsung|huawei|google) ")
"""Whose a machine is, before its name."""
_INSTANCE = re.compile(r"^(?:aws |amazon )?([a-z]{1,3}\d[a-z]{0,2})\.(?:\d*x?large|metal)")
"""Cloud instances by their family: "g5.2xlarge"."""
_BRAND = re.compile(r"\b(nvidia|amd|intel|apple|geforce|radeon|quadro|tesla|instinct)\s+")
_BRANDS = {
    "NVIDIA": r"nvidia|geforce|gtx|rtx|quadro|tesla",
    "AMD": r"\bamd\b|radeon|\brx ?\d|ryzen|epyc|instinct",
    "Intel": r"intel|\barc\b|xeon|\bi[3579]\b",
    "Apple": r"apple|mac ?book|imac|mac (mini|studio)",
}


@functools.lru_cache(maxsize=8192)
def _words(text: str) -> _Words:
    lowered = f" {text.lower()} "
    for pattern, by in _REWRITES:
        lowered = pattern.sub(by, lowered)
    outside = re.sub(r"\(.*?\)", " ", lowered)
    words = re.findall(r"[a-z0-9.]+", lowered)
    if not _plain(words, ()) & set(re.findall(r"[a-z0-9.]+", outside)):
        outside = lowered
    return _Words(
        names=_plain(re.findall(r"[a-z0-9.]+", outside), ()),
        inside=_plain(words, re.findall(r"[a-z0-9.]+", outside)),
        memory=next((int(word[:-2]) for word in words if re.fullmatch(r"\d{1,4}gb", word)), None),
        cores=next((int(word[:-4]) for word in words if re.fullmatch(r"\d{1,3}core", word)), None),
        is_cpu=bool(re.search(r"\bcpu\b", lowered)),
        brands=frozenset(brand for brand, pattern in _BRANDS.items() if re.search(pattern, outside)),
    )


def _candidates(wanted: _Words, machines: Mapping[str, Machine]) -> list[tuple[int, Machine]]:
    """Entries that share a word, with their places."""
    entries, index = list(machines.values()), _index(tuple(machines))
    places = {place for word in wanted.names | wanted.inside for place in index.get(word, ())}
    return [(place, entries[place]) for place in sorted(places)]


@functools.lru_cache(maxsize=4)
def _index(names: tuple[str, ...]) -> dict[str, list[int]]:
    """Places of the entries that contain a word."""
    found: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        words = _words(name)
        for word in words.names | words.inside:
            found.setdefault(word, []).append(place)
    return found


def _plain(words: Iterable[str], without: Iterable[str]) -> frozenset[str]:
    """Words that identify something."""
    left = set(words) - set(without) - NOISE
    return frozenset(word for word in left if not re.fullmatch(r"\d{1,4}gb|\d{1,3}core|\.+", word))


def _score(wanted: _Words, machine: Machine) -> tuple[float, ...] | None:  # noqa: PLR0911
    """How badly an entry fits, smaller is better; None where it is another chip."""
    have = _words(machine.name)
    if wanted.brands and machine.vendor in _BRANDS and machine.vendor not in wanted.brands:
        return None
    asked = wanted.names | wanted.inside
    missing, extra = wanted.names - have.names - have.inside, have.names - asked
    shared = (have.names | have.inside) & asked
    if not any(_identifies(word) for word in shared):
        return None
    if all(len(word) < 3 for word in shared) and (missing and extra):
        return None  # "EVO-X2" is no Snapdragon X2 Elite
    if any(word in STRICT - LOOSE for word in missing | extra):
        return None
    if any(re.search(r"\d", word) for word in extra) or not _spare(missing):
        return None
    if have.is_cpu != wanted.is_cpu and machine.vendor == "Apple":
        return None
    cores, size = _bin(wanted, have, machine)
    if cores is None:
        return None
    away = len(wanted.inside - have.names - have.inside)
    return (3.0 * len(missing) + 2.0 * len(extra) + size + cores, float(away))


def _identifies(word: str) -> bool:
    """Whether a word names a chip by itself: "4090", "m2", "vega", but neither "16" nor "pro"."""
    if word.isdigit():
        return len(word) > 2
    return len(word) > 1 and word not in STRICT and (len(word) > 2 or any(c.isdigit() for c in word))


def _bin(wanted: _Words, have: _Words, machine: Machine) -> tuple[float | None, float]:
    """Penalties for another number of GPU cores (None: another bin) and another size of memory."""
    number = machine.details.get("cores", "")
    cores = have.cores if have.cores is not None else int(number) if number.isdigit() else None
    apart = 0.0
    if machine.vendor == "Apple" and cores is not None:
        if wanted.cores not in (None, cores):
            return None, 0.0
        apart = 0.5 if wanted.cores is None and have.cores is not None else 0.0
    size = have.memory
    if size is None and machine.memory is not None:
        size = round(machine.memory.value / 2**30)
    if machine.kind != "gpu" or size is None:
        return apart, 0.0
    if wanted.memory is None:
        return apart, 0.2 if have.memory is not None else 0.0
    return apart, 0.0 if abs(size - wanted.memory) <= 0.1 * size + 0.5 else 1.0


def _spare(missing: frozenset[str]) -> bool:
    """Whether the words that the entry lacks name no chip: clocks, years, sockets, boards."""
    return not any(
        re.search(r"\d{3,}|^[a-z]+\d|\d[a-z]", w) and not re.search(r"hz$|^20[0-2]\d$", w) for w in missing
    )
