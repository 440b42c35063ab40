"""glTF 2.0, ``.gltf`` and ``.glb``.

In the order in which data flows: ``document`` (the JSON as ``schema`` has it, and the buffers), ``accessors``
(typed arrays), ``materials``, ``topology`` and ``primitives`` (meshes), ``tree`` (nodes) and ``animations``.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from whygpu.draw.load.gltf.accessors import Accessors
from whygpu.draw.load.gltf.animations import animations
from whygpu.draw.load.gltf.document import Document
from whygpu.draw.load.gltf.materials import Materials
from whygpu.draw.load.gltf.primitives import Primitives
from whygpu.draw.load.gltf.tree import Tree
from whygpu.draw.rig import Rig
from whygpu.draw.scene import Scene
from whygpu.engine import UserError

__all__ = ["load_gltf"]


def load_gltf(path: Path) -> Scene:
    """Read a glTF 2.0 file; the scene stands as without animation, and has a ``rig`` if anything moves.

    Raises
    ------
    UserError
        ``file: JSON path: reason; what would be right``.
    """
    document = Document(path)
    accessors = Accessors(document)
    tree = Tree(document, accessors)
    parts = tree.parts(Primitives(document, accessors, Materials(document)))
    if not parts:
        raise document.fail("scenes", "the scene shows no mesh; there is nothing to draw")
    rig = Rig(
        tree.branches,
        parts,
        animations(document, accessors, tree.place),
        tree.lenses(),
        tree.lamps(),
    )
    try:
        scene = rig.rest(Scene((), name=path.stem))
    except UserError as error:
        raise document.fail("nodes", str(error)) from error
    return scene if rig.moves else replace(scene, rig=None)
