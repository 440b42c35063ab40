"""The sentences: every key that the code asks for is there, in both languages, and nothing is left over."""

import re
from pathlib import Path

import pytest

import whygpu
from whygpu.engine import UserError
from whygpu.measure.layouts import Suspect
from whygpu.story.text import LANGUAGES, choose_language, load_catalogue, texts

SOURCE = Path(whygpu.__file__).parent
ASKED = re.compile(
    r"""(?:texts|working|progress|screen\.texts)\(\s*f?"([a-z][\w .{}-]*(?:\.[\w .{}-]+)+)\""""
)
FLAGS = re.compile(r"""Flag\(\s*"([a-z-]+)\"""")
SUSPECTS = re.compile(r"""(?:\badd\(|Suspect\()\s*"([a-z0-9-]+)\"""")


def asked_for() -> set[str]:
    """Keys and key patterns (with {placeholders}) in the sources, measured codes included."""
    keys = set()
    for path in SOURCE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        keys |= set(ASKED.findall(text))
        keys |= {f"flag.{code}" for code in FLAGS.findall(text)}
        if path.name == "layouts.py":
            keys |= {f"exp2.suspect.{code}" for code in SUSPECTS.findall(text)}
    return keys


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_key_that_is_asked_for_exists(language: str) -> None:
    catalogue = load_catalogue(language)
    missing = []
    for key in asked_for():
        pattern = re.compile(re.sub(r"\\\{.*?\\\}", ".+", re.escape(key)))
        if not any(pattern.fullmatch(known) for known in catalogue):
            missing.append(key)
    assert not missing


def test_verdicts_of_suspects_have_words() -> None:
    for verdict in ("explains", "partly", "no"):
        assert texts("zh").has(f"exp2.suspects.{verdict}")
    assert Suspect("x", "x", 1.0, 9.0).verdict == "no"


def test_a_missing_key_or_value_is_our_fault_and_loud() -> None:
    with pytest.raises(KeyError):
        texts("en")("no.such.key")
    with pytest.raises(KeyError):
        texts("en")("progress.draw", scene="cube")


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "en_US.UTF-8"}, "en"),
        ({"LC_ALL": "zh_TW.UTF-8", "LANG": "en_US.UTF-8"}, "zh"),
        ({"LC_ALL": "C", "LANG": "zh_CN.UTF-8"}, "en"),
        ({"LANG": "de_DE.UTF-8"}, "en"),
    ],
)
def test_language_follows_the_environment(monkeypatch, environment: dict[str, str], expected: str) -> None:  # type: ignore[no-untyped-def]
    for variable in ("LC_ALL", "LC_MESSAGES", "LANG"):
        monkeypatch.delenv(variable, raising=False)
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    assert choose_language(None) == expected
    assert choose_language("zh") == "zh"


def test_an_unknown_language_is_named() -> None:
    with pytest.raises(UserError, match="'fr' is unknown; known: en, zh"):
        texts("fr")
