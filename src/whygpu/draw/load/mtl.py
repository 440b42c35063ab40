"""MTL: the materials of an OBJ file, with what later exporters added (Pr, Pm, map_Ke, norm)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whygpu.draw.load.colors import linear
from whygpu.draw.load.images import decode
from whygpu.draw.load.source import Source, shown
from whygpu.draw.material import Color, Material, Texture, Wrap
from whygpu.engine import UserError

__all__ = ["materials"]

ARGUMENTS = {
    "-blendu": 1,
    "-blendv": 1,
    "-boost": 1,
    "-cc": 1,
    "-clamp": 1,
    "-texres": 1,
    "-bm": 1,
    "-imfchan": 1,
    "-type": 1,
    "-mm": 2,
}
"""Options of a map with the number of their arguments; -o, -s and -t have one to three."""

MAPS = {
    "map_kd": "base_color_texture",
    "map_ke": "emissive_texture",
    "norm": "normal_texture",
    "map_kn": "normal_texture",
}


class _Reader:
    def __init__(self, source: Source, library: str) -> None:
        self.source = source
        self.library = library
        self.images: dict[str, NDArray[np.uint8]] = {}
        self.where = library

    def fail(self, reason: str) -> UserError:
        return self.source.fail(self.where, reason)

    def read(self, data: bytes) -> dict[str, Material]:
        found: dict[str, dict[str, Any]] = {}
        current: dict[str, Any] | None = None
        for number, line in enumerate(data.decode("utf-8", "replace").splitlines(), 1):
            self.where = f"{self.library} line {number}"
            key, _, rest = line.strip().partition(" ")
            if key == "newmtl":
                current = found[rest.strip()] = {}
            elif current is not None and key and not key.startswith("#"):
                self._property(current, key.lower(), rest.strip())
        return {name: self._material(name, given) for name, given in found.items()}

    def _property(self, given: dict[str, Any], key: str, rest: str) -> None:
        if key in ("kd", "ke") and not rest.startswith(("spectral", "xyz")):
            numbers = self._numbers(rest, 1, 3)
            given[key] = [min(max(part, 0.0), 1.0) for part in (numbers * 3)[:3]]
        elif key in ("d", "tr", "ns", "pr", "pm"):
            given[key] = self._numbers(rest.removeprefix("-halo").strip(), 1, 1)[0]
        elif key in MAPS:
            given[MAPS[key]] = self._texture(rest)

    def _numbers(self, text: str, least: int, most: int) -> list[float]:
        try:
            numbers = [float(word) for word in text.split()[:most]]
        except ValueError as error:
            raise self.fail(f"{shown(text)} are no numbers") from error
        if len(numbers) < least or not all(math.isfinite(number) for number in numbers):
            raise self.fail(f"{shown(text)}: a finite number is needed")
        return numbers

    def _texture(self, text: str) -> Texture:
        words = text.split(" ")
        shift, scale, wrap = (0.0, 0.0), (1.0, 1.0), "repeat"
        while words and words[0].startswith("-"):
            option = words.pop(0).lower()
            if option in ("-o", "-s", "-t"):
                count = 0
                while count < min(3, len(words) - 1) and _is_number(words[count]):
                    count += 1
                numbers = [float(word) for word in words[:count]] or [0.0]
                pair = numbers[0], numbers[1] if count > 1 else (1.0 if option == "-s" else 0.0)
                shift, scale = (pair, scale) if option == "-o" else (shift, pair if option == "-s" else scale)
                del words[:count]
            elif option in ARGUMENTS:
                wrap = "clamp" if option == "-clamp" and words[:1] == ["on"] else wrap
                del words[: ARGUMENTS[option]]
            else:
                raise self.fail(f"the map's option {shown(option)} is unknown")
        name = " ".join(words).strip()
        if not all(abs(number) < 1e9 for number in (*shift, *scale)):
            raise self.fail("the map's shift and scale must be finite, and below a billion")
        if name not in self.images:
            data = self.source.beside(name, self.where, percent=False)
            self.images[name] = decode(self.source, data, f"{self.where}: {shown(name)}")
        side: Wrap = "clamp" if wrap == "clamp" else "repeat"
        # The file's v runs up, ours down: 1 - ((1 - v) s + o) = v s + (1 - s - o)
        matrix = np.array([[scale[0], 0, shift[0]], [0, scale[1], 1 - scale[1] - shift[1]]])
        return Texture(self.images[name], 0, (side, side), transform=matrix, name=name)

    def _material(self, name: str, given: dict[str, Any]) -> Material:
        texture: Texture | None = given.get("base_color_texture")
        alpha = min(max(given.get("d", 1.0 - given.get("tr", 0.0)), 0.0), 1.0)
        seen_through = alpha < 1 or (texture is not None and bool((texture.image[..., 3] < 255).any()))
        shine = max(given.get("ns", 0.0), 0.0)
        # A Blinn-Phong exponent as roughness: the highlights of both are as wide (B. Walter, 2007)
        rough = math.sqrt(2 / (shine + 2)) if "ns" in given else Material.roughness
        return Material(
            base_color=_color(given.get("kd", [1.0, 1.0, 1.0] if texture else [0.9, 0.9, 0.9])),
            alpha=alpha,
            metallic=min(max(given.get("pm", 0.0), 0.0), 1.0),
            roughness=min(max(given.get("pr", rough), 0.0), 1.0),
            emissive=_color(given.get("ke", [0.0, 0.0, 0.0])),
            double_sided=True,
            alpha_mode="blend" if seen_through else "opaque",
            base_color_texture=texture,
            emissive_texture=given.get("emissive_texture"),
            normal_texture=given.get("normal_texture"),
            name=name,
        )


def materials(source: Source, data: bytes, library: str) -> dict[str, Material]:
    """The materials of an MTL file by name.

    Raises
    ------
    UserError
        For a number that is none, a texture that is missing or broken.
    """
    return _Reader(source, shown(library)[1:-1]).read(data)


def _color(srgb: list[float]) -> Color:
    red, green, blue = linear(srgb).tolist()
    return red, green, blue


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
