"""Both languages say the same: the same files, keys and placeholders."""

import json
import re
import string
from importlib import resources
from pathlib import Path

import pytest

import whygpu
from whygpu.story.text import load_catalogue

LOCALES = Path(str(resources.files("whygpu.story").joinpath("locales")))
FILES = sorted(path.name for path in (LOCALES / "en").iterdir())


def read(language: str, name: str) -> dict[str, str]:
    catalogue: dict[str, str] = json.loads((LOCALES / language / name).read_text(encoding="utf-8"))
    return catalogue


def placeholders(sentence: str) -> set[str]:
    return {field for _, field, _, _ in string.Formatter().parse(sentence) if field is not None}


def test_the_same_files() -> None:
    assert sorted(path.name for path in (LOCALES / "zh").iterdir()) == FILES


@pytest.mark.parametrize("name", FILES)
def test_the_same_keys_and_placeholders(name: str) -> None:
    english, chinese = read("en", name), read("zh", name)
    assert english.keys() == chinese.keys()
    for key, sentence in english.items():
        assert placeholders(sentence) == placeholders(chinese[key]), key
        assert sentence.strip() and chinese[key].strip(), key


def test_no_key_stands_in_two_files() -> None:
    keys = [key for name in FILES for key in read("en", name)]
    assert len(keys) == len(set(keys))


def test_chinese_is_chinese() -> None:
    """Chinese punctuation between Chinese characters; no English sentence left over."""
    for key, sentence in {**read("zh", "report.json"), **read("zh", "report_chapters.json")}.items():
        assert not re.search(r"[\u4e00-\u9fff][,;:?!][\u4e00-\u9fff ]", sentence), key
        if not key.startswith(("report.source.", "report.how.", "report.step.", "report.machine.cache")):
            assert len(re.findall(r"[A-Za-z]{2,} [a-z]{2,} [a-z]{2,}", sentence)) == 0, key


def test_every_sentence_of_the_report_is_used() -> None:
    """Each key stands in the code or the templates, whole or as an f-string's pattern."""
    source = Path(whygpu.__file__).parent / "report"
    texts = [p.read_text("utf-8") for p in source.rglob("*") if p.suffix in (".py", ".jinja")]
    asked = set()
    for text in texts:
        asked |= set(re.findall(r'"(report\.[^"\n]+)"', text))
        asked |= {f"report.{key}" for key in re.findall(r'"report\."\s*~\s*[\w.]+\s*~\s*"([^"]+)"', text)}
    patterns = [re.compile(re.sub(r"\\\{.*?\\\}", r"[\\w .,-]+", re.escape(key)) + r"$") for key in asked]
    prefixes = tuple(key for key in asked if key.endswith("."))
    names = "drawing|processors|cuda|model|token|same|history|experiments|ecosystem|bandwidth|needs"
    names += "|claims|chain|sources|glossary"
    chapters = re.compile(rf"report\.({names})\.(short|title)$")
    unused = [
        key
        for name in ("report.json", "report_chapters.json")
        for key in read("en", name)
        if not (any(p.match(key) for p in patterns) or key.startswith(prefixes) or chapters.match(key))
    ]
    assert unused == []


def test_every_chapter_and_basis_has_its_words() -> None:
    from whygpu.engine import Basis

    for language in ("en", "zh"):
        catalogue = load_catalogue(language)
        for basis in Basis:
            assert f"report.basis.{basis.name.lower()}" in catalogue
            assert f"report.basis.{basis.name.lower()}.means" in catalogue
