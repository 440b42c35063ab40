"""How surfaces reflect light: glTF 2.0's metallic-roughness model, with textures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from whygpu.draw.arrays import frozen, numbers
from whygpu.engine import UserError

__all__ = ["AlphaMode", "Color", "Filter", "Material", "Texture", "Wrap"]

Color = tuple[float, float, float]
AlphaMode = Literal["opaque", "mask", "blend"]
Wrap = Literal["repeat", "clamp", "mirror"]
Filter = Literal["nearest", "linear"]

_WRAPS, _FILTERS, _ALPHA = ("repeat", "clamp", "mirror"), ("nearest", "linear"), ("opaque", "mask", "blend")


@dataclass(frozen=True, eq=False)
class Texture:
    """An image on a surface, and how it is sampled (glTF 2.0, sections 3.8.2 to 3.8.4).

    Raises
    ------
    UserError
        For an image that is not (H, W, 4) uint8, an unknown wrap or filter, another set than 0 or 1.
    """

    image: NDArray[np.uint8]
    """(H, W, 4): RGBA as stored in the file, first row at v = 0. Whether it is sRGB, the slot says: base
    colour and emissive are, all others are linear. Textures that share an image share this very array."""
    uv: int = 0
    """Which of the mesh's two sets of texture coordinates it uses."""
    wrap: tuple[Wrap, Wrap] = ("repeat", "repeat")
    """Along u and along v."""
    magnify: Filter = "linear"
    minify: Filter = "linear"
    mipmap: Filter | None = "linear"
    """Between the levels of a mipmap when it is made smaller; None: no mipmap."""
    transform: NDArray[np.float64] = field(default_factory=lambda: np.eye(2, 3))
    """(2, 3): [u, v, 1] times its transpose is where the image is sampled (KHR_texture_transform)."""
    name: str = "texture"

    def __post_init__(self) -> None:
        image = np.asarray(self.image)
        if image.ndim != 3 or image.shape[2] != 4 or image.dtype != np.uint8 or not image.size:
            raise UserError(
                f"texture {self.name!r}: its image is {image.dtype} {image.shape}; it must be (H, W, 4) uint8"
            )
        known = all(wrap in _WRAPS for wrap in self.wrap) and self.magnify in _FILTERS
        if not (known and self.minify in _FILTERS and self.mipmap in (*_FILTERS, None)):
            raise UserError(
                f"texture {self.name!r}: a wrap is one of {', '.join(_WRAPS)}, a filter nearest or linear"
            )
        if self.uv not in (0, 1):
            raise UserError(
                f"texture {self.name!r} uses texture coordinates {self.uv}; a mesh has two sets, 0 and 1"
            )
        matrix = frozen(self.transform, np.float64)
        if matrix.shape != (2, 3) or not np.isfinite(matrix).all():
            raise UserError(f"texture {self.name!r}: its transform must be a finite (2, 3) matrix")
        object.__setattr__(self, "transform", matrix)


@dataclass(frozen=True)
class Material:
    """How a surface reflects light (glTF 2.0, section 3.9). Every texture multiplies its factor.

    Raises
    ------
    UserError
        For a number out of its range.
    """

    base_color: Color = (0.8, 0.8, 0.8)
    """Linear RGB, 0 to 1; multiplied by the vertex colour where the mesh has one."""
    alpha: float = 1.0
    metallic: float = 0.0
    """0: a dielectric (plastic, skin, stone); 1: a metal."""
    roughness: float = 0.55
    """0: a mirror; 1: chalk."""
    specular: float = 1.0
    """How strongly a dielectric mirrors; 0 with ``metallic`` 0: matte, Lambert's law alone
    (KHR_materials_specular, its factor)."""
    emissive: Color = (0.0, 0.0, 0.0)
    """Light that the surface gives off by itself, linear RGB; above 1 by KHR_materials_emissive_strength."""
    double_sided: bool = False
    """Whether the backs of triangles are drawn, with the normal turned to the viewer."""
    unlit: bool = False
    """Show base colour as it is (KHR_materials_unlit)."""
    alpha_mode: AlphaMode = "opaque"
    """``opaque``: alpha is ignored; ``mask``: seen where alpha >= ``alpha_cutoff``; ``blend``: mixed."""
    alpha_cutoff: float = 0.5
    base_color_texture: Texture | None = None
    """RGBA, colours in sRGB."""
    metallic_roughness_texture: Texture | None = None
    """G: roughness, B: metallic."""
    normal_texture: Texture | None = None
    """Tangent-space normal, 0..255 for -1..1."""
    normal_scale: float = 1.0
    occlusion_texture: Texture | None = None
    """R: how much ambient light arrives."""
    occlusion_strength: float = 1.0
    emissive_texture: Texture | None = None
    """RGB in sRGB."""
    name: str = "material"

    def __post_init__(self) -> None:
        who = f"material {self.name!r}"
        for what in ("base_color", "emissive"):
            object.__setattr__(self, what, numbers(f"{who}: {what}", getattr(self, what), 3))
        reflects = (self.metallic, self.roughness, self.specular)
        factors = numbers(f"{who}: its factors", (self.alpha, *reflects, self.occlusion_strength), 5)
        if not all(texture is None or isinstance(texture, Texture) for texture in self.textures):
            raise UserError(f"{who}: a texture is a draw.Texture, which holds an image")
        unit = (*self.base_color, *factors)
        if not all(0 <= number <= 1 for number in unit):
            raise UserError(
                f"material {self.name!r}: colour, alpha, metallic, roughness, occlusion go from 0 to 1"
            )
        free = np.array([*self.emissive, *numbers(who, (self.alpha_cutoff, self.normal_scale), 2)])
        if not np.isfinite(free).all() or min(*self.emissive, self.alpha_cutoff) < 0:
            raise UserError(f"material {self.name!r}: emissive, cutoff and normal scale must be finite")
        if self.alpha_mode not in _ALPHA:
            raise UserError(
                f"material {self.name!r}: alpha mode {self.alpha_mode!r}; known: {', '.join(_ALPHA)}"
            )

    @property
    def textures(self) -> tuple[Texture | None, ...]:
        """Base colour, metallic-roughness, normal, occlusion, emissive."""
        return (
            self.base_color_texture,
            self.metallic_roughness_texture,
            self.normal_texture,
            self.occlusion_texture,
            self.emissive_texture,
        )
