"""Materials and textures (glTF 2.0, sections 3.8 and 3.9)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whygpu.draw.load.gltf import schema
from whygpu.draw.load.gltf.document import Document
from whygpu.draw.load.images import decode
from whygpu.draw.material import AlphaMode, Filter, Material, Texture, Wrap
from whygpu.engine import UserError

__all__ = ["Materials"]

WRAP: dict[int, Wrap] = {33071: "clamp", 33648: "mirror", 10497: "repeat"}
FILTER: dict[int | None, Filter] = {None: "linear", 9728: "nearest", 9729: "linear"}
SMALLER: dict[int | None, tuple[Filter, Filter | None]] = {
    None: ("linear", "linear"),
    9728: ("nearest", None),
    9729: ("linear", None),
    9984: ("nearest", "nearest"),
    9985: ("linear", "nearest"),
    9986: ("nearest", "linear"),
    9987: ("linear", "linear"),
}
"""minFilter: within a level, and between levels of the mipmap."""
ALPHA: dict[str, AlphaMode] = {"OPAQUE": "opaque", "MASK": "mask", "BLEND": "blend"}


class Materials:
    """Makes each material once and decodes each image once."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self._made: dict[int, Material] = {}
        self._images: dict[int, NDArray[np.uint8]] = {}

    def get(self, index: int | None, where: str) -> Material:
        """``materials[index]``; the specification's default where a primitive names none."""
        if index is None:
            return Material((1.0, 1.0, 1.0), metallic=1.0, roughness=1.0, name="default")
        given: schema.Material = self.document.item("materials", index, where)
        if index not in self._made:
            self._made[index] = self._material(given, f"materials[{index}]", index)
        return self._made[index]

    def _material(self, given: schema.Material, where: str, index: int) -> Material:
        pbr = given.pbrMetallicRoughness
        strength = given.extensions.KHR_materials_emissive_strength
        times = 1.0 if strength is None else strength.emissiveStrength
        normal, occlusion = given.normalTexture, given.occlusionTexture
        pbr_where = f"{where}.pbrMetallicRoughness"
        red, green, blue, alpha = pbr.baseColorFactor
        glow = [part * times for part in given.emissiveFactor]
        try:
            return Material(
                base_color=(red, green, blue),
                alpha=alpha,
                metallic=pbr.metallicFactor,
                roughness=pbr.roughnessFactor,
                emissive=(glow[0], glow[1], glow[2]),
                double_sided=given.doubleSided,
                unlit=given.extensions.KHR_materials_unlit is not None,
                alpha_mode=ALPHA[given.alphaMode],
                alpha_cutoff=given.alphaCutoff,
                base_color_texture=self._texture(pbr.baseColorTexture, f"{pbr_where}.baseColorTexture"),
                metallic_roughness_texture=self._texture(
                    pbr.metallicRoughnessTexture, f"{pbr_where}.metallicRoughnessTexture"
                ),
                normal_texture=self._texture(normal, f"{where}.normalTexture"),
                normal_scale=normal.scale if normal else 1.0,
                occlusion_texture=self._texture(occlusion, f"{where}.occlusionTexture"),
                occlusion_strength=occlusion.strength if occlusion else 1.0,
                emissive_texture=self._texture(given.emissiveTexture, f"{where}.emissiveTexture"),
                name=given.name or f"material {index}",
            )
        except UserError as error:
            raise self._ours(error, where) from error

    def _texture(self, info: schema.TextureInfo | None, where: str) -> Texture | None:
        if info is None:
            return None
        texture: schema.Texture = self.document.item("textures", info.index, f"{where}.index")
        here = f"textures[{info.index}]"
        sampler = schema.Sampler()
        if texture.sampler is not None:
            sampler = self.document.item("samplers", texture.sampler, f"{here}.sampler")
        webp, source = texture.extensions.EXT_texture_webp, texture.source
        if webp is not None:
            source, here = webp.source, f"{here}.extensions.EXT_texture_webp"
        if source is None:
            raise self.document.fail(here, "it has no source that is read: a PNG, JPEG or WebP image")
        transform = info.extensions.KHR_texture_transform
        uv = info.texCoord if transform is None or transform.texCoord is None else transform.texCoord
        if uv > 1:
            raise self.document.fail(where, f"it uses TEXCOORD_{uv}; TEXCOORD_0 and TEXCOORD_1 are read")
        minify, mipmap = SMALLER[sampler.minFilter]
        return Texture(
            self._image(source, f"{here}.source"),
            uv,
            (WRAP[sampler.wrapS], WRAP[sampler.wrapT]),
            FILTER[sampler.magFilter],
            minify,
            mipmap,
            np.eye(2, 3) if transform is None else matrix_of(transform),
            texture.name or here,
        )

    def _image(self, index: int, where: str) -> NDArray[np.uint8]:
        image: schema.Image = self.document.item("images", index, where)
        if index not in self._images:
            here = f"images[{index}]"
            if image.bufferView is not None:
                data = self.document.view(image.bufferView, f"{here}.bufferView")[0].tobytes()
            elif image.uri is not None:
                data = self.document.source.uri(image.uri, f"{here}.uri")
            else:
                raise self.document.fail(here, "it has neither a uri nor a bufferView")
            self._images[index] = decode(self.document.source, data, here)
        return self._images[index]

    def _ours(self, error: UserError, where: str) -> UserError:
        """The error with this file's name, once."""
        text = str(error)
        return error if text.startswith(self.document.source.name) else self.document.fail(where, text)


def matrix_of(transform: schema.TextureTransform) -> Any:
    """KHR_texture_transform as (2, 3): scale, then turn counter-clockwise as seen in the image, then shift.

    The direction is that of the extension's examples and of its authors' renderers; v runs down the image.
    """
    (x, y), (wide, tall) = transform.offset, transform.scale
    cosine, sine = math.cos(transform.rotation), math.sin(transform.rotation)
    return np.array([[cosine * wide, sine * tall, x], [-sine * wide, cosine * tall, y]])
