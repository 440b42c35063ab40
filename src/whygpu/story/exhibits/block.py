"""One transformer block: how the data flow, its products with their shapes and their share of the time."""

from typing import Any

from whygpu.engine import Basis
from whygpu.story import numbers as written
from whygpu.story.exhibits.base import Exhibit, Job, Numbers, derived, measured
from whygpu.story.exhibits.canvas import Sheet
from whygpu.story.exhibits.palette import mix
from whygpu.story.exhibits.reading import shares

__all__ = ["EXHIBIT"]

ORDER = ("Q", "K", "V", "scores", "weighted V", "out", "gate", "up", "down")
STILL = 7


def numbers(job: Job) -> Numbers:
    """The ledger of a prefill of the sentence: every product of all blocks, timed one by one."""
    reading, a = job.reading, job.model.architecture
    found = shares(reading.ledger)
    shapes: dict[str, tuple[int, int, int, int]] = {}
    for product in reading.ledger.products:
        shapes.setdefault(product.name, (product.batch, product.m, product.n, product.k))
    rows = reading.ledger.rows(("name",))
    inside = [row for row in rows if row.name not in ("head", "embedding", "unaccounted")]
    whole = sum(row.seconds for row in inside)
    products = []
    for name in ORDER:
        if name in found:
            batch, m, n, k = shapes[name]
            row = found[name]
            share = {"share": row["seconds"] / whole, "flop": row["flop"] / a.layers}
            products.append({"name": name, "batch": batch, "m": m, "n": n, "k": k, **share})
    rest = sum(row.seconds for row in inside if not row.is_product)
    flop = sum(float(product["flop"]) for product in products)
    return Numbers(
        {
            "products": derived(len(products), "", "matrix multiplies of one block"),
            "flop": derived(flop, "FLOP", f"ledger: one block, {len(reading.tokens)} tokens"),
            "rest": measured(
                rest / whole, "%", "norms, rotations, softmax, activation, additions: no products"
            ),
            "block": measured(whole / a.layers, "s", f"mean of {a.layers} blocks, portable path"),
        },
        {
            "model": a.name,
            "invented": reading.invented,
            "layers": a.layers,
            "tokens": len(reading.tokens),
            "products": products,
            "rest": rest / whole,
            "activation": a.features.activation,
        },
        Basis.MEASURED,
        "ledger of a warm prefill on the portable path, all blocks together",
    )


def picture(sheet: Sheet, found: Numbers, phase: float) -> None:
    """The flow above; one bar of the whole time and the product that is lit below."""
    data = found.data
    products = {row["name"]: row for row in data["products"]}
    names = list(products)
    lit = names[int(phase * len(names)) % len(names)]
    sheet.head(model=data["model"], tokens=data["tokens"], layers=data["layers"])
    _attention(sheet, products, lit, data)
    _mlp(sheet, products, lit, data)
    _times(sheet, found, lit)


def _box(sheet: Sheet, x: float, y: float, name: str, products: Any, lit: str, w: float = 118) -> None:
    """A product: name, shape, share."""
    row = products[name]
    on = name == lit
    sheet.rect(x, y, w, 44, fill="think" if on else mix("think", "paper", 0.14), radius=7)
    ink = "paper" if on else "ink"
    sheet.text(x + 10, y + 18, name, 14.5, ink, weight="bold")
    sheet.text(x + w - 10, y + 18, written.percent(row["share"]), 12.5, ink, anchor="r")
    batch = f"{row['batch']}·" if row["batch"] > 1 else ""
    shape = f"{batch}({row['m']}×{row['k']})({row['k']}×{row['n']})"
    sheet.text(x + w / 2, y + 36, shape, 11.5, "paper" if on else "soft", anchor="m")


def _step(sheet: Sheet, x: float, y: float, text: str, w: float = 62) -> None:
    """What is no product."""
    sheet.rect(x, y, w, 30, fill="panel", stroke="line", radius=15)
    sheet.text(x + w / 2, y + 20, text, 13, "soft", anchor="m")


def _attention(sheet: Sheet, products: Any, lit: str, data: Any) -> None:
    y = 152.0
    sheet.arrow((36, y + 15), (58, y + 15), "rest", 2, 8)
    _step(sheet, 60, y, sheet.say("norm"))
    for i, name in enumerate(("Q", "K", "V")):
        top = 96 + 50 * i
        sheet.line([(122, y + 15), (136, y + 15), (136, top + 22), (150, top + 22)], "rest", 1.5)
        _box(sheet, 150, top, name, products, lit, 138)
    sheet.line([(288, 118), (308, 118), (308, 140), (322, 140)], "rest", 1.5)
    sheet.line([(288, 168), (308, 168), (308, 150), (322, 150)], "rest", 1.5)
    _box(sheet, 322, 122, "scores", products, lit, 152)
    _step(sheet, 492, 129, "softmax", 76)
    sheet.arrow((474, 144), (491, 144), "rest", 1.5, 7)
    sheet.arrow((568, 144), (585, 144), "rest", 1.5, 7)
    sheet.line([(288, 218), (600, 218), (600, 188)], "rest", 1.5)
    _box(sheet, 586, 144 - 22, "weighted V", products, lit, 176)
    sheet.line([(600, 190), (600, 167)], "rest", 1.5)
    sheet.arrow((762, 144), (777, 144), "rest", 1.5, 7)
    _box(sheet, 778, 122, "out", products, lit, 146)
    sheet.line([(851, 166), (851, 190)], "rest", 1.5)
    sheet.circle(851, 202, 11, fill="panel", stroke="soft", width=1.5)
    sheet.text(851, 207, "+", 16, "soft", anchor="m")
    sheet.line([(46, 167), (46, 250), (851, 250), (851, 214)], "rest", 1.5, dash=4)
    sheet.text(462, 244, sheet.say("residual"), 12.5, "soft", anchor="m")


def _mlp(sheet: Sheet, products: Any, lit: str, data: Any) -> None:
    y = 300.0
    sheet.line([(862, 202), (910, 202), (910, 266), (46, 266), (46, y + 15), (58, y + 15)], "rest", 1.5)
    _step(sheet, 60, y, sheet.say("norm"))
    names = [name for name in ("gate", "up") if name in products]
    for i, name in enumerate(names):
        top = y - 7 + (50 * i - 25 if len(names) == 2 else 0)
        sheet.line([(122, y + 15), (136, y + 15), (136, top + 22), (150, top + 22)], "rest", 1.5)
        _box(sheet, 150, top, name, products, lit, 172)
        sheet.line([(322, top + 22), (340, top + 22), (340, y + 15), (358, y + 15)], "rest", 1.5)
    kind = {"silu": "SiLU"}.get(data["activation"], "GELU")
    _step(sheet, 358, y, f"{kind} ×" if len(names) == 2 else kind, 84)
    sheet.arrow((442, y + 15), (465, y + 15), "rest", 1.5, 7)
    _box(sheet, 466, y - 7, "down", products, lit, 172)
    sheet.line([(638, y + 15), (680, y + 15)], "rest", 1.5)
    sheet.circle(692, y + 15, 11, fill="panel", stroke="soft", width=1.5)
    sheet.text(692, y + 20, "+", 16, "soft", anchor="m")
    sheet.line([(692, 266), (692, y + 4)], "rest", 1.5, dash=4)
    sheet.arrow((703, y + 15), (736, y + 15), "rest", 2, 8)
    sheet.text(746, y + 20, sheet.say("next", layers=data["layers"]), 14, "soft")


def _times(sheet: Sheet, found: Numbers, lit: str) -> None:
    data = found.data
    left, right, y = 36.0, 924.0, 404.0
    sheet.text(left, y - 10, sheet.say("bar", time=str(found.figures["block"])), 14, "soft")
    x = left
    for row in data["products"]:
        w = (right - left) * row["share"]
        on = row["name"] == lit
        sheet.rect(x, y, max(1.0, w - 1.5), 30, fill="think" if on else mix("think", "paper", 0.4), radius=3)
        if w > sheet.measure(row["name"], 12.5) + 8:
            sheet.text(x + w / 2, y + 20, row["name"], 12.5, "paper" if on else "ink", anchor="m")
        x += w
    sheet.rect(x, y, max(1.0, right - x), 30, fill=mix("rest", "paper", 0.5), radius=3)
    rest = sheet.say("rest", share=written.percent(data["rest"]))
    if right - x > sheet.measure(rest, 12.5) + 8:
        sheet.text((x + right) / 2, y + 20, rest, 12.5, "ink", anchor="m")
    row = next(row for row in data["products"] if row["name"] == lit)
    batch = f"{row['batch']} × " if row["batch"] > 1 else ""
    shape = f"{batch}({row['m']:,} × {row['k']:,}) @ ({row['k']:,} × {row['n']:,})"
    sheet.text(left, 472, lit, 21, "think", weight="bold")
    sheet.text(left + 136, 472, shape, 19, "ink")
    sheet.text(right - 190, 472, written.si(row["flop"], "FLOP"), 19, "ink", anchor="r")
    sheet.text(right, 472, sheet.say("share", share=written.percent(row["share"])), 19, "think", anchor="r")
    note = sheet.say("invented") if data["invented"] else sheet.say(f"does.{lit.replace(' ', '_')}")
    sheet.text(left, 496, note, 14, "soft")


EXHIBIT = Exhibit("block", numbers, picture, 9 * STILL, 200, drag="slide", poster=0.8)
