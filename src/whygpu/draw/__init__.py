"""A scene becomes a frame.

In the order in which data flows: ``scene`` with its ``mesh``, ``material`` and ``light`` (what there is),
``load`` and ``shapes`` (where it comes from), ``rig`` with ``animation`` and ``deform`` (how it moves),
``geometry`` (one set of buffers), ``camera`` and ``uniforms`` (the matrices), then the stages, in
``portable`` and in ``fast`` alike: ``transform``, ``clip``, ``raster``, ``shade``; ``pipeline`` runs them.
``frames`` draws a film, ``output`` writes what was drawn.
"""

from whygpu.draw.camera import framing, orbit, turntable
from whygpu.draw.frame import Frame, Statistics
from whygpu.draw.frames import Plan, frames, plan
from whygpu.draw.light import Background, Light
from whygpu.draw.load import BUILT_IN, FORMATS, load
from whygpu.draw.material import Material, Texture
from whygpu.draw.mesh import Mesh
from whygpu.draw.output import Film, save
from whygpu.draw.pipeline import render
from whygpu.draw.scene import Camera, Node, Scene, View

__all__ = [
    "BUILT_IN",
    "FORMATS",
    "Background",
    "Camera",
    "Film",
    "Frame",
    "Light",
    "Material",
    "Mesh",
    "Node",
    "Plan",
    "Scene",
    "Statistics",
    "Texture",
    "View",
    "frames",
    "framing",
    "load",
    "orbit",
    "plan",
    "render",
    "save",
    "turntable",
]
