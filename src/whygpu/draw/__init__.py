"""A scene becomes a frame.

In the order in which data flows: ``scene`` with its ``mesh``, ``material`` and ``light`` (what there is),
``load`` and ``shapes`` (where it comes from), ``rig`` with ``animation`` and ``deform`` (how it moves),
``geometry`` (one set of buffers), ``camera`` and ``uniforms`` (the matrices), then the stages, in
``portable`` and in ``fast`` alike: ``transform``, ``clip``, ``raster``, ``shade``; ``pipeline`` runs them.
"""

from whygpu.draw.camera import framing, orbit
from whygpu.draw.frame import Frame, Statistics
from whygpu.draw.light import Background, Light
from whygpu.draw.load import BUILT_IN, FORMATS, load
from whygpu.draw.material import Material, Texture
from whygpu.draw.mesh import Mesh
from whygpu.draw.pipeline import render
from whygpu.draw.scene import Camera, Node, Scene, View

__all__ = [
    "BUILT_IN",
    "FORMATS",
    "Background",
    "Camera",
    "Frame",
    "Light",
    "Material",
    "Mesh",
    "Node",
    "Scene",
    "Statistics",
    "Texture",
    "View",
    "framing",
    "load",
    "orbit",
    "render",
]
