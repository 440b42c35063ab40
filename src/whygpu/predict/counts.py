"""How many devices a person means: "2x A100", "RTX 3090 x2", "dual RTX 3090", "DGX H100" ..."""

import re

__all__ = ["mixture", "split_count"]

WORDS = {
    "dual": 2,
    "two": 2,
    "twin": 2,
    "triple": 3,
    "three": 3,
    "quad": 4,
    "four": 4,
    "six": 6,
    "eight": 8,
    "octa": 8,
}
_FIRST = re.compile(
    r"\s*(\d{1,5}) ?[x\u00d7*][ -]+(.+)$|\s*(\d{1,2})[x\u00d7](?=[A-Za-z\d])(.+)$", re.IGNORECASE
)
_LAST = re.compile(r"(.+?)[\s(]+(?:[x\u00d7*]\s*(\d{1,4})|(?<=\()(\d{1,4})[x\u00d7])\)?\s*$", re.IGNORECASE)
_WORD = re.compile(rf"\s*({'|'.join(WORDS)})[- ]+(.+?)s?$", re.IGNORECASE)
_BARE = re.compile(
    r"\s*(\d{1,2}) +((?:nvidia|amd|intel|rtx|gtx|radeon|geforce|tesla|instinct|mi\d|[ahblv]\d{2,3}\b).+|"
    r"[ahblv]\d{2,3}s?)$",
    re.IGNORECASE,
)
_BOX = re.compile(
    r"\s*(?:nvidia )?(dgx|hgx)[- ]+((?:h100|h200|a100|b200|b300|v100|p100)\b.*)$", re.IGNORECASE
)

_RACK = re.compile(r"\s*((?:nvidia )?gb[23]00)[- ]+nvl(\d{1,3})\s*$", re.IGNORECASE)


def split_count(name: str) -> tuple[int, str]:  # noqa: PLR0911
    """How many, and of what: ``"2x A100 80GB"`` is two, "A100" one, "dual RTX 3090" two, "DGX H100" eight."""
    found = _FIRST.match(name)
    if found:
        return int(found.group(1) or found.group(3)), (found.group(2) or found.group(4)).strip()
    found = _LAST.match(name)
    if found and not re.search(r"\bpcie?$", found.group(1), re.IGNORECASE):
        return int(found.group(2) or found.group(3)), found.group(1).strip()
    found = re.match(r"(.+\d{4}(?: ?ti| ?super)?|\d{4})x(\d)$", name.strip(), re.IGNORECASE)
    if found:  # "3090x2"
        return int(found.group(2)), found.group(1)
    found = _WORD.match(name)
    if found:
        return WORDS[found.group(1).lower()], found.group(2).strip()
    found = _BARE.match(name)
    if found:
        return int(found.group(1)), found.group(2).strip()
    found = _RACK.match(name)
    if found:
        return int(found.group(2)), found.group(1)
    found = _BOX.match(name)
    if found:  # eight devices a box
        said = re.match(r"(.+?)[ ,(]+(\d{1,2})[- ]?gpus?\)?$", found.group(2), re.IGNORECASE)
        return (int(said.group(2)), said.group(1)) if said else (8, found.group(2).strip())
    return 1, name


def mixture(name: str) -> list[str]:
    """The parts of ``"RTX 4090 + RTX 3090 Ti"``; one part where nothing is mixed."""
    parts = re.split(r"\s+(?:\+|&|and)\s+", name)
    return parts if len(parts) > 1 and all(re.search(r"\d", part) for part in parts) else [name]
