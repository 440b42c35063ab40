"""What a formula's names stand for: ``hardware A100 SXM4 80GB fp16``, ``model gpt-3-175b layers`` ...

A reference is a kind, a name and a field:

- ``hardware NAME FIELD``: of the hardware catalogue; a peak by number format, ``bandwidth``, ``watts``,
  ``cores``, ``clock``, ``year``. ``hardware every-cpu cores.max`` is the largest of a kind.
- ``model NAME FIELD``: of the model catalogue, or from the list of its products.
- ``scene NAME FIELD``: of a built-in scene: ``triangles``, ``vertices``, ``corners``, ``products``
  (matrix multiplies that move its vertices in one frame).
- ``article EXPERIMENT FIELD``: what the article prints of its own experiments.
- ``measured WHAT``: of this machine.
- ``nearest WORDS with|without``: the word nearest to a sum of word vectors of the default model, the words
  themselves allowed or not; ``cosine WORDS WORD``: how near a certain word is.
- ``given CLAIM``: what the article gives elsewhere.
- ``fact NAME``: a number that somebody published, from ``claims.toml``.
"""

import functools
from collections.abc import Callable

from whygpu import draw, engine, models, predict
from whygpu.engine import Basis, UserError
from whygpu.measure.article import article
from whygpu.measure.machine import Figure, Machine
from whygpu.story.claims.catalogue import claims, facts
from whygpu.story.claims.claim import UNITS
from whygpu.story.claims.here import Here
from whygpu.story.claims.quantity import Quantity

__all__ = ["resolve"]

TOKENS = 512
"""The sequence of the article's layer."""


def resolve(reference: str, here: Here) -> Quantity:
    """The number that a reference means.

    Raises
    ------
    Missing
        Where it would have to be measured, or a model is not on this disk.
    UserError
        For a reference that means nothing.
    """
    kind, _, rest = reference.partition(" ")
    name, _, field = rest.rpartition(" ")
    tables = {"hardware": _hardware, "model": _model, "scene": _scene, "article": _article}
    single = {"measured": here.value, "given": _given, "fact": _fact}
    words = {"nearest": here.nearest, "cosine": here.cosine}
    if kind in tables:
        return tables[kind](name, field)
    if kind in words:
        return words[kind](name, field)
    if kind in single:
        return single[kind](rest)
    raise UserError(f"{reference!r}: {kind!r} is no kind of number")


def _fact(name: str) -> Quantity:
    fact = facts()[name]
    return Quantity(fact.value, fact.unit, Basis.PUBLISHED, fact.source, fact.who)


def _hardware(name: str, field: str) -> Quantity:
    if name.startswith("every-"):
        return _every(name, field)
    machine = predict.hardware(name)
    if field in ("cores", "clock", "year"):
        return _detail(machine, field)
    single = {"bandwidth": "B/s", "watts": "W", "memory": "B"}
    figure: Figure | None = getattr(machine, field) if field in single else machine.peak(field)
    if figure is None:
        raise UserError(f"{name}: {field} is unknown")
    source = f"hardware catalogue, {machine.name}: {figure.source}"
    return Quantity(figure.value, single.get(field, "FLOP/s"), figure.basis, source)


def _detail(machine: Machine, field: str) -> Quantity:
    source = f"hardware catalogue, {machine.name}: {machine.details['source']}"
    if field == "year":
        return Quantity(float(machine.year or 0), "year", Basis.DATASHEET, source)
    key, unit, scale = ("cores", "", 1.0) if field == "cores" else ("clock_ghz", "Hz", 1e9)
    return Quantity(float(machine.details[key]) * scale, unit, Basis.DATASHEET, source)


def _every(kind: str, field: str) -> Quantity:
    """The least or the most of all machines of a kind (of GPUs: NVIDIA's, whose cores are lanes)."""
    what, _, end = field.partition(".")
    wanted = kind.removeprefix("every-")
    fits = [
        machine
        for machine in predict.catalogue().values()
        if machine.kind == wanted and what in machine.details
        if wanted == "cpu" or machine.vendor == "NVIDIA"
    ]
    pick: Callable[..., Machine] = max if end == "max" else min
    return _detail(pick(fits, key=lambda machine: float(machine.details[what])), what)


def _model(name: str, field: str) -> Quantity:
    shape = models.get(name)
    shapes = f"model catalogue, {name}: {shape.source}"
    if field in ("layers", "d_model", "heads", "d_ff", "vocab", "parameters", "head_dim"):
        return Quantity(float(getattr(shape, field)), "", Basis.PUBLISHED, shapes)
    products = f"the list of its products (whygpu.models.matmuls); {shapes}"
    match field:
        case "flop_per_token":
            flop = sum(work.flop for work in models.matmuls(shape, tokens=1))
            return Quantity(float(flop), "FLOP", Basis.DERIVED, products)
        case "layer_flop":  # one layer, a whole sequence at once, without the output head
            flop = sum(work.flop for work in models.matmuls(shape, tokens=TOKENS) if work.name != "head")
            return Quantity(
                flop / shape.layers, "FLOP", Basis.DERIVED, f"{TOKENS} tokens at once; {products}"
            )
        case "block_products":
            names = {work.name for work in models.matmuls(shape, tokens=TOKENS)} - {"head"}
            return Quantity(float(len(names)), "", Basis.DERIVED, products)
        case "fp16_bytes":
            held = models.weight_bytes(shape, 16)
            return Quantity(float(held), "B", Basis.DERIVED, f"parameters x 2 bytes; {shapes}")
        case "fp16_read" | "stored_read":
            bits = 16 if field == "fp16_read" else shape.bits_per_weight
            read = models.weights_read(shape) * bits / 8
            source = f"weights that one token reads x {bits:g} bits; {shapes}"
            return Quantity(read, "B", Basis.DERIVED, source)
    raise UserError(f"model {name}: {field!r} is no figure of it")


def _scene(name: str, field: str) -> Quantity:
    if field == "products":
        source = f"the ledger of one frame of whygpu.draw's scene {name!r}"
        return Quantity(float(_vertex_products(name)), "", Basis.DERIVED, source)
    source = f"whygpu.draw's scene {name!r}, counted"
    return Quantity(float(_count(name, field)), "", Basis.DERIVED, source)


@functools.cache
def _scene_loaded(name: str) -> draw.Scene:
    return draw.load(name)


def _count(name: str, field: str) -> int:
    meshes = [node.mesh for node in _scene_loaded(name).nodes]
    if field == "triangles":
        return sum(len(mesh.triangles) for mesh in meshes)
    if field == "vertices":
        return sum(len(mesh.positions) for mesh in meshes)
    return sum(len({tuple(position) for position in mesh.positions.tolist()}) for mesh in meshes)


@functools.cache
def _vertex_products(name: str) -> int:
    """Products of one frame that move vertices, heard by the ledger."""
    with engine.ledger() as ledger:
        draw.render(_scene_loaded(name), size=(16, 16), path="portable")
    moved = "model-view-projection"
    return sum(entry.count for product, entry in ledger.products.items() if product.name == moved)


def _given(claim: str) -> Quantity:
    entry = claims()[claim]
    if entry.given is None or entry.given.is_range:
        raise UserError(f"{claim}: no single figure is given there")
    units = {"ms": "s", "min": "s", "h": "s", "GHz": "Hz", "GB": "B", "GB/s": "B/s", "x": ""}
    unit = units.get(entry.unit, entry.unit.lstrip("GTP"))
    value = entry.given.low * UNITS[entry.unit]
    return Quantity(value, unit, Basis.PUBLISHED, f"the article's own figure ({claim})")


def _article(name: str, field: str) -> Quantity:
    table = article()[name]
    key, _, place = field.partition("[")
    value = table["ms"][key.removeprefix("ms:").replace("_", " ")] if key.startswith("ms:") else table[key]
    if place:
        value = value[int(place.rstrip("]"))]
    scale, unit = (1e-3, "s") if key.endswith("ms") or key.startswith("ms:") else (1.0, "")
    return Quantity(float(value) * scale, unit, Basis.PUBLISHED, f"the article's own figure ({name})")
