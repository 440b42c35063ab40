"""What any machine would do: the hardware catalogue, inference, training, memory, drawing, and how far it
errs."""

from whygpu.predict.catalogue import catalogue, hardware_names, read_catalogue
from whygpu.predict.comparison import elsewhere, labels, own_factor
from whygpu.predict.drawing import Drawing, drawing
from whygpu.predict.floor import LABEL, Bound, arithmetic_dtype, bound
from whygpu.predict.inference import Inference, inference
from whygpu.predict.longtail import machines
from whygpu.predict.measurements import read_measurements
from whygpu.predict.memory import Memory, memory
from whygpu.predict.names import hardware
from whygpu.predict.table import table
from whygpu.predict.training import TrainingRun, history, history_names, training
from whygpu.predict.validate import validate

__all__ = [
    "LABEL",
    "Bound",
    "Drawing",
    "Inference",
    "Memory",
    "TrainingRun",
    "arithmetic_dtype",
    "bound",
    "catalogue",
    "drawing",
    "elsewhere",
    "hardware",
    "hardware_names",
    "history",
    "history_names",
    "inference",
    "labels",
    "machines",
    "memory",
    "own_factor",
    "read_catalogue",
    "read_measurements",
    "table",
    "training",
    "validate",
]
