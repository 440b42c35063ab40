"""Rebuild the exhibits' fonts: a subset of Noto Sans CJK SC with every character that a locale file uses.

Run it after adding sentences to ``src/whygpu/story/locales``:

    python tools/exhibit_font.py /usr/share/fonts/opentype/noto

The argument is a folder with NotoSansCJK-Regular.ttc and NotoSansCJK-Bold.ttc (Debian: fonts-noto-cjk). Needs
``fonttools``. The subset is a modified version under the SIL Open Font License 1.1 (``OFL.txt`` beside it)
and carries a name of its own. The bold one holds only what the locale files use. Mathematical signs that
Chinese type sets a full square wide are set narrow.
"""

import argparse
from pathlib import Path

from fontTools import subset
from fontTools.pens.boundsPen import BoundsPen
from fontTools.pens.t2CharStringPen import T2CharStringPen
from fontTools.pens.transformPen import TransformPen
from fontTools.ttLib import TTCollection, TTFont

PACKAGE = Path(__file__).parents[1] / "src" / "whygpu" / "story"
FACE = "Noto Sans CJK SC"
ASCII = "".join(map(chr, range(0x20, 0x7F)))
SIGNS = "×·→←↑↓≤≥√∞≈÷½▶●○"
"""Set narrow: their advance becomes the ink's width and a little room."""
MATHS = SIGNS + "−¹²³⁴°µμθπσΣφαλ…—–“”‘’✓≠±éüöÉ"
ROOM = 70
"""Font units left free on either side of a narrow sign; an em has 1000."""


def characters() -> str:
    """Everything that an exhibit may show: the locale files, the exhibits' own data, ASCII, mathematics."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(PACKAGE.glob("locales/*/*.json"))]
    texts += [path.read_text(encoding="utf-8") for path in sorted(PACKAGE.glob("exhibits/data/*.toml"))]
    return "".join(sorted({c for c in "".join(texts) if c.isprintable()} | set(ASCII) | set(MATHS)))


def common_chinese() -> str:
    """The 3,755 characters of GB 2312's first level, so that a new sentence rarely needs a new font."""
    return "".join(
        bytes((row, cell)).decode("gb2312", errors="ignore")
        for row in range(0xB0, 0xD8)
        for cell in range(0xA1, 0xFF)
    )


def narrow(font: TTFont) -> None:
    """Give each of ``SIGNS`` the width of its ink."""
    glyphs, cmap = font.getGlyphSet(), font.getBestCmap()
    top = font["CFF "].cff.topDictIndex[0]
    for sign in SIGNS:
        name = cmap.get(ord(sign))
        if name is None:
            continue
        bounds = BoundsPen(glyphs)
        glyphs[name].draw(bounds)
        left, _, right, _ = bounds.bounds
        width = round(right - left + 2 * ROOM)
        old = top.CharStrings[name]
        pen = T2CharStringPen(width, glyphs)
        glyphs[name].draw(TransformPen(pen, (1, 0, 0, 1, ROOM - left, 0)))
        new = pen.getCharString(private=old.private, globalSubrs=old.globalSubrs)
        top.CharStrings[name] = new
        font["hmtx"][name] = (width, ROOM)


def build(source: Path, weight: str, text: str) -> TTFont:
    """The subset of one weight."""
    collection = TTCollection(source / f"NotoSansCJK-{weight}.ttc")
    wanted = FACE if weight == "Regular" else f"{FACE} {weight}"
    font = next(face for face in collection.fonts if face["name"].getDebugName(4) == wanted)
    font.recalcTimestamp = False  # the same characters, the same file
    options = subset.Options(layout_features=[], hinting=False, desubroutinize=True, notdef_outline=True)
    options.name_IDs = [0, 1, 2, 4, 5, 6, 13, 14]
    options.drop_tables += ["BASE", "GPOS", "GSUB", "GDEF", "VORG", "vhea", "vmtx"]
    subsetter = subset.Subsetter(options)
    subsetter.populate(text=text)
    subsetter.subset(font)
    narrow(font)
    for record in font["name"].names:
        if record.nameID in (1, 4):
            record.string = "whygpu Sans" if record.nameID == 1 else f"whygpu Sans {weight}"
        elif record.nameID == 6:
            record.string = f"whygpuSans-{weight}"
    return font


def main() -> None:
    """Write both weights into the package."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", type=Path)
    source = parser.parse_args().source
    text = characters()
    for weight in ("Regular", "Bold"):
        font = build(source, weight, text + common_chinese() if weight == "Regular" else text)
        target = PACKAGE / "exhibits" / "fonts" / f"whygpu-sans-{weight.lower()}.otf"
        target.parent.mkdir(parents=True, exist_ok=True)
        font.save(target)
        print(f"{target.name}: {len(font.getBestCmap())} characters, {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
