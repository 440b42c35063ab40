"""What any machine would do: the hardware catalogue and the floor of a token's time."""

from whygpu.predict.catalogue import catalogue, hardware_names, read_catalogue
from whygpu.predict.comparison import elsewhere, labels
from whygpu.predict.floor import LABEL, Bound, arithmetic_dtype, bound
from whygpu.predict.names import hardware

__all__ = [
    "LABEL",
    "Bound",
    "arithmetic_dtype",
    "bound",
    "catalogue",
    "elsewhere",
    "hardware",
    "hardware_names",
    "labels",
    "read_catalogue",
]
