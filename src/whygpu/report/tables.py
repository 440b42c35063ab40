"""The numbers of exhibits as tables: what their pictures show, for eyes and readers that want text."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from whygpu.engine.basis import Basis
from whygpu.report.book import Book
from whygpu.report.units import binary
from whygpu.report.view import Cell, Column, Table, Tag
from whygpu.story import numbers
from whygpu.story.exhibits import Numbers
from whygpu.story.exhibits.base import Number

__all__ = ["TABLES"]

Write = Callable[[Any], str]


def _flops(value: float) -> str:
    return numbers.si(value, "FLOP/s")


def _gbs(value: float) -> str:
    return numbers.si(value, "B/s")


def _plain(value: float) -> str:
    return numbers.significant(value)


def _table(
    book: Book,
    name: str,
    found: Numbers,
    heads: Sequence[tuple[str, Write, Basis | None]],
    rows: Sequence[tuple[str, Mapping[str, Any]]],
) -> Table:
    """A column a key of the data; its basis is the exhibit's unless it has its own (None: a word)."""
    t = book.t
    columns = [Column(t(f"report.table.{name}"), numeric=False)]
    for key, _, basis in heads:
        tag = None if basis is None else book.tag(basis, found.source, foreign=True)
        columns.append(Column(t(f"report.table.{name}.{key}"), tag, numeric=basis is not None))
    body = []
    for title, row in rows:
        cells = [Cell("–" if row[key] is None else write(row[key])) for key, write, _ in heads]
        body.append([Cell(title), *cells])
    return Table(t(f"report.table.{name}.caption"), columns, body)


def sphere(book: Book, found: Numbers) -> Table:
    """A row a level."""
    heads = (
        ("triangles", numbers.count, Basis.DERIVED),
        ("vertices", numbers.count, Basis.DERIVED),
        ("products", numbers.count, Basis.DERIVED),
        ("flop", lambda value: numbers.si(value, "FLOP"), Basis.DERIVED),
        ("transform_s", numbers.duration, Basis.MEASURED),
        ("draw_s", numbers.duration, Basis.MEASURED),
    )
    return _table(book, "sphere", found, heads, [(str(row["level"]), row) for row in found.data["levels"]])


def parallel(book: Book, found: Numbers) -> Table:
    """A row a racer."""
    rows = []
    for row in found.data["racers"]:
        title = book.t(f"exhibit.parallel.who.{row['who']}", threads=row["threads"], name=row["name"])
        rows.append((title, {**row, "rate": found.data["vertices"] / row["seconds"]}))
    heads = (
        ("seconds", numbers.duration, Basis.MEASURED),
        ("rate", lambda value: numbers.si(value, ""), Basis.DERIVED),
    )
    return _table(book, "parallel", found, heads, rows)


def embedding(book: Book, found: Numbers) -> Table:
    """The nearest words, the inputs among them and left out."""
    t, tag = book.t, book.tag(found.basis, found.source, foreign=True)
    near, others = found.data["with_inputs"], found.data["without_inputs"]
    columns = [
        Column(t("report.table.embedding"), numeric=False),
        Column(t("exhibit.embedding.ranked.with"), tag, numeric=False),
        Column(t("exhibit.embedding.ranked.without"), tag, numeric=False),
    ]
    rows = [
        [Cell(str(place)), *(Cell(f"{word.strip()} {cosine:.3f}") for word, cosine in pair)]
        for place, pair in enumerate(zip(near, others, strict=False), 1)
    ]
    return Table(t("report.table.embedding.caption", words=", ".join(found.data["words"][:3])), columns, rows)


def block(book: Book, found: Numbers) -> Table:
    """A row a product of a transformer block."""
    rows = [
        (row["name"], {**row, "shape": f"{row['batch']} × ({row['m']}×{row['k']} · {row['k']}×{row['n']})"})
        for row in found.data["products"]
    ]
    heads = (
        ("shape", str, Basis.DERIVED),
        ("flop", lambda value: numbers.si(value, "FLOP"), Basis.DERIVED),
        ("share", numbers.percent, Basis.MEASURED),
    )
    return _table(book, "block", found, heads, rows)


def timeline(book: Book, found: Numbers) -> Table:
    """A row a generation, each figure with its own source."""
    data = found.data
    heads: list[tuple[str, Write, Basis | None]] = [
        ("year", str, Basis.DATASHEET),
        ("flops", _flops, Basis.DATASHEET),
        ("bandwidth", _gbs, Basis.DATASHEET),
        ("flop_per_byte", _plain, Basis.DERIVED),
        *((row["key"], numbers.duration, Basis.DERIVED) for row in data["trainings"]),
    ]
    rows = [(row["name"], {**row, **row["seconds"]}) for row in data["chips"]]
    table = _table(book, "timeline", found, heads, rows)
    for cells, row in zip(table.rows, data["chips"], strict=True):
        tag = book.source(row["basis"], row["source"])
        cells[2:4] = [Cell(cells[2].text, tag, row["dtype"]), Cell(cells[3].text, tag)]
    return table


def stack(book: Book, found: Numbers) -> Table:
    """A row an ecosystem; what was found, or what was looked for."""
    t, tag = book.t, book.tag(found.basis, found.source, foreign=True)
    layers = found.data["layers"]
    columns = [Column("", numeric=False)]
    columns += [Column(t(f"exhibit.stack.layer.{layer}"), numeric=False) for layer in layers]
    rows = []
    for row in found.data["ecosystems"]:
        cells = [row["cells"][layer] for layer in layers]
        rows.append(
            [
                Cell(t(f"exhibit.stack.ecosystem.{row['key']}")),
                *(
                    Cell(cell["label"], tag, ", ".join(cell["found"]) or t("exhibit.stack.not_here"),
                         mark="strong" if cell["found"] else "bad")
                    for cell in cells
                ),
            ]
        )  # fmt: skip
    return Table(t("report.table.stack.caption"), columns, rows)


def chips(book: Book, found: Numbers) -> Table:
    """A row a property of both chips, each figure with its own source."""
    t, data = book.t, found.data
    names = [*data["names"], t("exhibit.chips.ratio")]
    columns = [Column("", numeric=False), *(Column(name) for name in names)]
    derived = book.derived("report.how.chip_ratio")
    rows = []
    for key, row in data["rows"].items():
        if not t.has(f"exhibit.chips.row.{key}"):
            continue
        ratio = row.get("ratio")
        rows.append(
            [
                Cell(t(f"exhibit.chips.row.{key}")),
                *(_figure_cell(book, key, row[side]) for side in ("a", "b")),
                Cell("–" if ratio is None else book.times(ratio), derived),
            ]
        )
    return Table(t("report.table.chips.caption"), columns, rows)


def _figure_cell(book: Book, key: str, figure: Mapping[str, Any] | None) -> Cell:
    if figure is None:
        return Cell("–")
    basis = next(kind for kind in Basis if str(kind) == figure["basis"])
    number = Number(figure["value"], figure["unit"], basis, figure["source"])
    text = binary(number.value) if key == "memory" else str(number)
    return Cell(text, book.tag(basis, number.source, foreign=True))


def batch(book: Book, found: Numbers) -> Table:
    """A row a number of sequences."""
    heads = (
        ("flop_per_byte", _plain, Basis.DERIVED),
        ("tokens_per_second", _plain, Basis.MEASURED),
        ("chip_tokens_per_second", numbers.count, Basis.DERIVED),
    )
    return _table(book, "batch", found, heads, [(str(row["batch"]), row) for row in found.data["rows"]])


def roofline(book: Book, found: Numbers) -> Table:
    """A row a machine: its roofs, each with its own source."""
    heads = (
        ("peak", _flops, Basis.DATASHEET),
        ("bandwidth", _gbs, Basis.DATASHEET),
        ("ridge", _plain, Basis.DERIVED),
    )
    machines = found.data["machines"]
    rows = [(row["name"], {**row, "ridge": row["peak"] / row["bandwidth"]}) for row in machines]
    table = _table(book, "roofline", found, heads, rows)
    for cells, row in zip(table.rows, machines, strict=True):
        tag: Tag = book.source(row["basis"], row["source"])
        cells[1:3] = [Cell(cells[1].text, tag, row["dtype"]), Cell(cells[2].text, tag)]
    return table


def attention(book: Book, found: Numbers) -> Table | None:
    """What each token looks at most."""
    tokens, weights = found.data["tokens"], found.data["weights"]
    rows = []
    for place, token in enumerate(tokens):
        row = weights[place][: place + 1]
        best = max(range(len(row)), key=row.__getitem__)
        rows.append((token.strip() or token, {"looks": tokens[best].strip(), "weight": row[best]}))
    heads = (("looks", str, None), ("weight", numbers.percent, Basis.DERIVED))
    return _table(book, "attention", found, heads, rows)


TABLES: dict[str, Callable[[Book, Numbers], Table | None]] = {
    "sphere": sphere,
    "parallel": parallel,
    "embedding": embedding,
    "block": block,
    "timeline": timeline,
    "stack": stack,
    "chips": chips,
    "batch": batch,
    "roofline": roofline,
    "attention": attention,
}
"""Of the exhibits whose figures beside the picture are not all that it shows."""
