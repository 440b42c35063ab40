"""Where a number comes from. Nothing is shown to a person without one of these."""

from enum import StrEnum

__all__ = ["Basis"]


class Basis(StrEnum):
    """The basis of a figure; the values are the English words used in every JSON output."""

    MEASURED = "measured here"
    DATASHEET = "datasheet"
    DERIVED = "derived"
    FITTED = "fitted"
    PUBLISHED = "published"
    ASSUMED = "assumed"
