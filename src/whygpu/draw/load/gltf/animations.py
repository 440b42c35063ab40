"""Animations (glTF 2.0, section 3.11) as tracks of the rig."""

from __future__ import annotations

import numpy as np

from whygpu.draw.animation import Animation, Interpolation, Path, Track
from whygpu.draw.load.gltf import schema
from whygpu.draw.load.gltf.accessors import Accessors
from whygpu.draw.load.gltf.document import Document

__all__ = ["animations"]

INTERPOLATION: dict[str, Interpolation] = {"LINEAR": "linear", "STEP": "step", "CUBICSPLINE": "cubic"}
PATHS: dict[str, tuple[Path, str]] = {
    "translation": ("translation", "VEC3"),
    "rotation": ("rotation", "VEC4"),
    "scale": ("scale", "VEC3"),
    "weights": ("weights", "SCALAR"),
}


def animations(document: Document, accessors: Accessors, place: dict[int, int]) -> tuple[Animation, ...]:
    """Every animation; ``place`` says where each node of the file stands in the rig's tree.

    Channels without a node, and of paths that the specification does not know, are passed over.
    """
    found = []
    for i, given in enumerate(document.model.animations):
        tracks = []
        for j, channel in enumerate(given.channels):
            if channel.target.node is not None and channel.target.path in PATHS:
                where = f"animations[{i}].channels[{j}]"
                tracks.append(_track(document, accessors, place, given, channel, where, i))
        found.append(Animation(given.name or f"animation {i}", tuple(tracks)))
    return tuple(found)


def _track(
    document: Document,
    accessors: Accessors,
    place: dict[int, int],
    given: schema.Animation,
    channel: schema.Channel,
    where: str,
    number: int,
) -> Track:
    if channel.sampler >= len(given.samplers):
        raise document.fail(
            f"{where}.sampler", f"there is no sampler {channel.sampler}; there are {len(given.samplers)}"
        )
    assert channel.target.node is not None
    node = document.item("nodes", channel.target.node, f"{where}.target.node")
    here = f"animations[{number}].samplers[{channel.sampler}]"
    sampler = given.samplers[channel.sampler]
    path, kind = PATHS[channel.target.path]
    if node.matrix is not None and path != "weights":
        raise document.fail(f"{where}.target", "the node has a matrix; only one without can be animated")
    times = accessors.floats(sampler.input, f"{here}.input", ("SCALAR",))[:, 0]
    if times[0] < 0 or (np.diff(times) < 0).any():
        raise document.fail(f"{here}.input", "times must start at 0 or later and grow")
    values = accessors.floats(
        sampler.output, f"{here}.output", (kind,), whole=path in ("rotation", "weights")
    )
    width = 1 if path != "weights" else _targets(document, node, where)
    rows = len(times) * width * (3 if sampler.interpolation == "CUBICSPLINE" else 1)
    if len(values) != rows:
        raise document.fail(
            f"{here}.output",
            f"accessors[{sampler.output}] has {len(values):,} elements; {rows:,} are needed for"
            f" {len(times):,} times",
        )
    shape = (len(times), 3, -1) if sampler.interpolation == "CUBICSPLINE" else (len(times), -1)
    return Track(
        place[channel.target.node], path, times, values.reshape(shape), INTERPOLATION[sampler.interpolation]
    )


def _targets(document: Document, node: schema.Node, where: str) -> int:
    """How many morph targets the animated node's mesh has."""
    count = 0
    if node.mesh is not None:
        mesh: schema.Mesh = document.item("meshes", node.mesh, f"{where}.target.node")
        count = max(len(primitive.targets) for primitive in mesh.primitives)
    if not count:
        raise document.fail(
            f"{where}.target", "weights are animated, but the node's mesh has no morph targets"
        )
    return count
