"""glTF 2.0's JSON as types (Khronos, glTF 2.0 specification, section 5); names are the specification's.

Only what a picture needs: unknown properties and extensions are passed over, as the specification asks.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


def _whole(value: Any) -> Any:
    """JSON has one kind of number: 3.0 is the integer 3."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _few(value: Any) -> Any:
    """All the errors of an object of a million names would fill the memory."""
    if isinstance(value, dict) and len(value) > 256:
        raise ValueError(f"{len(value):,} attributes; at most 256 are read")
    return value


T = TypeVar("T")
Many: TypeAlias = Annotated[list[T], Field(fail_fast=True)]
"""A list whose first error is enough: a million of them would fill the memory."""

Index = Annotated[int, BeforeValidator(_whole), Field(ge=0, le=2**31 - 1)]
Count = Annotated[int, BeforeValidator(_whole), Field(ge=1, le=2**31 - 1)]
Attributes = Annotated[dict[str, Index], BeforeValidator(_few)]
Unit = Annotated[float, Field(ge=0, le=1)]
Positive = Annotated[float, Field(gt=0)]
Zero = Annotated[float, Field(ge=0)]
Vector2 = Annotated[Many[float], Field(min_length=2, max_length=2)]
Vector3 = Annotated[Many[float], Field(min_length=3, max_length=3)]
Vector4 = Annotated[Many[float], Field(min_length=4, max_length=4)]
Color3 = Annotated[Many[Unit], Field(min_length=3, max_length=3)]
Light3 = Annotated[Many[Zero], Field(min_length=3, max_length=3)]
Color4 = Annotated[Many[Unit], Field(min_length=4, max_length=4)]
Matrix = Annotated[Many[float], Field(min_length=16, max_length=16)]


class _Object(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", allow_inf_nan=False, frozen=True)


class _Named(_Object):
    name: str | None = None


class Asset(_Object):
    """5.8."""

    version: str
    minVersion: str | None = None


class MeshoptView(_Object):
    """EXT_meshopt_compression of a buffer view: only that it is there."""

    buffer: Index


class ViewExtensions(_Object):
    """Of a buffer view."""

    EXT_meshopt_compression: MeshoptView | None = None


class Buffer(_Object):
    """5.10."""

    uri: str | None = None
    byteLength: Count


class BufferView(_Object):
    """5.11."""

    buffer: Index
    byteOffset: Index = 0
    byteLength: Count
    byteStride: Annotated[int, BeforeValidator(_whole), Field(ge=4, le=252, multiple_of=4)] | None = None
    extensions: ViewExtensions = ViewExtensions()


class SparseIndices(_Object):
    """5.3."""

    bufferView: Index
    byteOffset: Index = 0
    componentType: Literal[5121, 5123, 5125]


class SparseValues(_Object):
    """5.4."""

    bufferView: Index
    byteOffset: Index = 0


class Sparse(_Object):
    """5.2."""

    count: Count
    indices: SparseIndices
    values: SparseValues


class Accessor(_Named):
    """5.1."""

    bufferView: Index | None = None
    byteOffset: Index = 0
    componentType: Literal[5120, 5121, 5122, 5123, 5125, 5126]
    normalized: bool = False
    count: Count
    type: Literal["SCALAR", "VEC2", "VEC3", "VEC4", "MAT2", "MAT3", "MAT4"]
    sparse: Sparse | None = None


class Perspective(_Object):
    """5.14."""

    yfov: Annotated[float, Field(gt=0, lt=3.14159265)]
    znear: Positive
    zfar: Positive | None = None


class Orthographic(_Object):
    """5.13."""

    xmag: float
    ymag: float
    znear: Zero
    zfar: Positive


class Camera(_Named):
    """5.12."""

    type: Literal["perspective", "orthographic"]
    perspective: Perspective | None = None
    orthographic: Orthographic | None = None


class WebpTexture(_Object):
    """EXT_texture_webp."""

    source: Index


class TextureExtensions(_Object):
    """Of a texture."""

    EXT_texture_webp: WebpTexture | None = None


class Texture(_Named):
    """5.29."""

    sampler: Index | None = None
    source: Index | None = None
    extensions: TextureExtensions = TextureExtensions()


class Sampler(_Object):
    """5.26."""

    magFilter: Literal[9728, 9729] | None = None
    minFilter: Literal[9728, 9729, 9984, 9985, 9986, 9987] | None = None
    wrapS: Literal[33071, 33648, 10497] = 10497
    wrapT: Literal[33071, 33648, 10497] = 10497


class Image(_Named):
    """5.18."""

    uri: str | None = None
    bufferView: Index | None = None


class TextureTransform(_Object):
    """KHR_texture_transform."""

    offset: Vector2 = [0.0, 0.0]
    rotation: float = 0.0
    scale: Vector2 = [1.0, 1.0]
    texCoord: Index | None = None


class InfoExtensions(_Object):
    """Of a texture where a material uses it."""

    KHR_texture_transform: TextureTransform | None = None


class TextureInfo(_Object):
    """5.30, with what a normal texture (5.20) and an occlusion texture (5.21) add."""

    index: Index
    texCoord: Index = 0
    scale: float = 1.0
    strength: Unit = 1.0
    extensions: InfoExtensions = InfoExtensions()


class MetallicRoughness(_Object):
    """5.22."""

    baseColorFactor: Color4 = [1.0, 1.0, 1.0, 1.0]
    baseColorTexture: TextureInfo | None = None
    metallicFactor: Unit = 1.0
    roughnessFactor: Unit = 1.0
    metallicRoughnessTexture: TextureInfo | None = None


class EmissiveStrength(_Object):
    """KHR_materials_emissive_strength."""

    emissiveStrength: Zero = 1.0


class Unlit(_Object):
    """KHR_materials_unlit."""


class MaterialExtensions(_Object):
    """Of a material."""

    KHR_materials_unlit: Unlit | None = None
    KHR_materials_emissive_strength: EmissiveStrength | None = None


class Material(_Named):
    """5.19."""

    pbrMetallicRoughness: MetallicRoughness = MetallicRoughness()
    normalTexture: TextureInfo | None = None
    occlusionTexture: TextureInfo | None = None
    emissiveTexture: TextureInfo | None = None
    emissiveFactor: Color3 = [0.0, 0.0, 0.0]
    alphaMode: Literal["OPAQUE", "MASK", "BLEND"] = "OPAQUE"
    alphaCutoff: Zero = 0.5
    doubleSided: bool = False
    extensions: MaterialExtensions = MaterialExtensions()


class DracoPrimitive(_Object):
    """KHR_draco_mesh_compression."""

    bufferView: Index
    attributes: Attributes


class PrimitiveExtensions(_Object):
    """Of a mesh primitive."""

    KHR_draco_mesh_compression: DracoPrimitive | None = None


class Primitive(_Object):
    """5.24."""

    attributes: Attributes
    indices: Index | None = None
    material: Index | None = None
    mode: Annotated[int, BeforeValidator(_whole), Field(ge=0, le=6)] = 4
    targets: Many[Attributes] = []
    extensions: PrimitiveExtensions = PrimitiveExtensions()


class Mesh(_Named):
    """5.23."""

    primitives: Annotated[Many[Primitive], Field(min_length=1)]
    weights: Many[float] | None = None


class PunctualNode(_Object):
    """KHR_lights_punctual of a node."""

    light: Index


class NodeExtensions(_Object):
    """Of a node."""

    KHR_lights_punctual: PunctualNode | None = None


class Node(_Named):
    """5.25."""

    camera: Index | None = None
    children: Many[Index] = []
    skin: Index | None = None
    matrix: Matrix | None = None
    mesh: Index | None = None
    rotation: Vector4 | None = None
    scale: Vector3 | None = None
    translation: Vector3 | None = None
    weights: Many[float] | None = None
    extensions: NodeExtensions = NodeExtensions()


class Scene(_Named):
    """5.27."""

    nodes: Many[Index] = []


class Skin(_Named):
    """5.28."""

    inverseBindMatrices: Index | None = None
    joints: Annotated[Many[Index], Field(min_length=1)]


class ChannelTarget(_Object):
    """5.7."""

    node: Index | None = None
    path: str


class Channel(_Object):
    """5.6."""

    sampler: Index
    target: ChannelTarget


class AnimationSampler(_Object):
    """5.9."""

    input: Index
    interpolation: Literal["LINEAR", "STEP", "CUBICSPLINE"] = "LINEAR"
    output: Index


class Animation(_Named):
    """5.5."""

    channels: Annotated[Many[Channel], Field(min_length=1)]
    samplers: Annotated[Many[AnimationSampler], Field(min_length=1)]


class Spot(_Object):
    """The cone of a KHR_lights_punctual spot, radians."""

    innerConeAngle: Zero = 0.0
    outerConeAngle: Annotated[float, Field(gt=0, le=1.5707964)] = 0.7853981633974483


class PunctualLight(_Named):
    """One light of KHR_lights_punctual."""

    type: Literal["directional", "point", "spot"]
    color: Light3 = [1.0, 1.0, 1.0]
    intensity: Zero = 1.0
    range: Positive | None = None
    spot: Spot = Spot()


class PunctualLights(_Object):
    """KHR_lights_punctual of a document."""

    lights: Many[PunctualLight] = []


class DocumentExtensions(_Object):
    """Of a document."""

    KHR_lights_punctual: PunctualLights | None = None


class Gltf(_Object):
    """5.17: the whole document."""

    asset: Asset
    extensionsUsed: Many[str] = []
    extensionsRequired: Many[str] = []
    accessors: Many[Accessor] = []
    animations: Many[Animation] = []
    buffers: Many[Buffer] = []
    bufferViews: Many[BufferView] = []
    cameras: Many[Camera] = []
    images: Many[Image] = []
    materials: Many[Material] = []
    meshes: Many[Mesh] = []
    nodes: Many[Node] = []
    samplers: Many[Sampler] = []
    scene: Index | None = None
    scenes: Many[Scene] = []
    skins: Many[Skin] = []
    textures: Many[Texture] = []
    extensions: DocumentExtensions = DocumentExtensions()
