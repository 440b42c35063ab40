"""Every sentence that a person reads, in English and Chinese, from one catalogue file a language."""

import functools
import json
import locale
import os
from importlib import resources

from whygpu.engine.errors import UserError

__all__ = ["LANGUAGES", "Texts", "choose_language", "texts"]

LANGUAGES = ("en", "zh")


class Texts:
    """The catalogue of one language: ``t("key", name=value)`` gives the sentence."""

    def __init__(self, language: str) -> None:
        if language not in LANGUAGES:
            raise UserError(f"language {language!r} is unknown; known: {', '.join(LANGUAGES)}")
        self.language = language
        self.catalogue = load_catalogue(language)

    def __call__(self, key: str, /, **values: object) -> str:
        """The sentence of that key with its placeholders filled.

        Raises
        ------
        KeyError
            For a key that the catalogue lacks: a fault of ours, which a test finds.
        """
        return self.catalogue[key].format(**values)

    def has(self, key: str) -> bool:
        """Whether the catalogue has that key."""
        return key in self.catalogue


@functools.cache
def load_catalogue(language: str) -> dict[str, str]:
    """The key -> sentence table of a language, all its files joined."""
    folder = resources.files("whygpu.story").joinpath("locales", language)
    catalogue: dict[str, str] = {}
    for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
        catalogue.update(json.loads(file.read_text(encoding="utf-8")))
    return catalogue


@functools.cache
def texts(language: str) -> Texts:
    """The catalogue of a language, read once."""
    return Texts(language)


def choose_language(asked: str | None) -> str:
    """The language asked for, else that of the environment, else English."""
    if asked:
        return asked
    for variable in ("LC_ALL", "LC_MESSAGES", "LANG"):
        value = os.environ.get(variable)
        if value:
            return "zh" if value.lower().startswith("zh") else "en"
    name = locale.getlocale()[0] or ""
    return "zh" if name.lower().startswith(("zh", "chinese")) else "en"
