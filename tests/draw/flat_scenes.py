"""Scenes whose pixels can be worked out by hand: squares that face an orthographic camera."""

import numpy as np

from whygpu import draw
from whygpu.draw import Camera, Material, Mesh, Node, Scene

PATHS = ("portable", "fast")


def linear(code):
    """sRGB bytes to linear light (IEC 61966-2-1)."""
    code = np.asarray(code, np.float64) / 255
    return np.where(code <= 0.04045, code / 12.92, ((code + 0.055) / 1.055) ** 2.4)


def encoded(light):
    """Linear light to sRGB, 0 to 255, not rounded."""
    light = np.clip(light, 0, 1)
    return 255 * np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)


def square(size, material, z=0.0, uv=((0, 0), (1, 1)), colors=None, box=None):
    """A square over the picture (or ``box`` of it, in pixels, y down); v runs down as in an image."""
    width, height = size
    x0, y0, x1, y1 = box or (0, 0, width, height)
    corners = [(x0, y0), (x1, y0), (x1, y1), (x0, y1)]
    (u0, v0), (u1, v1) = uv
    return Mesh(
        np.array([(x, height - y, z) for x, y in corners], np.float64),
        np.array([[0, 2, 1], [0, 3, 2]]),
        np.tile([0.0, 0.0, 1.0], (4, 1)),
        material=material,
        uv=(np.array([(u0, v0), (u1, v0), (u1, v1), (u0, v1)], np.float64), None),
        colors=None if colors is None else np.tile(colors, (4, 1)),
    )


def front(size):
    """A camera that sees the square's pixels as the picture's, from z = 10 down to z = -10."""
    width, height = size
    middle = (width / 2, height / 2)
    return Camera((*middle, 10.0), (*middle, 0.0), near=0.0, far=20.0, height=float(height))


def render(meshes, size, path, **options):
    """Draw meshes before the front camera."""
    meshes = meshes if isinstance(meshes, (list, tuple)) else [meshes]
    options = {"background": (0, 0, 0), "camera": front(size), **options}
    return draw.render(Scene(tuple(Node(mesh) for mesh in meshes)), size, path=path, **options)


def unlit(**options):
    """A white material that shows its base colour as it is."""
    return Material(**{"base_color": (1, 1, 1), "unlit": True, **options})


def same(scene, size=(96, 72), **options):
    """Draw on both paths and on 1, 2 and 3 threads; everything must be equal. Returns the fast frame."""
    portable = draw.render(scene, size, path="portable", **options)
    fast = draw.render(scene, size, path="fast", threads=2, **options)
    assert np.array_equal(portable.ids, fast.ids)
    assert np.array_equal(portable.depth, fast.depth)
    assert np.abs(portable.rgba.astype(int) - fast.rgba).max() <= 1
    assert portable.statistics.pixels_lit == fast.statistics.pixels_lit
    if portable.normals is not None:
        np.testing.assert_allclose(portable.normals, fast.normals, atol=1e-4)
    for threads in (1, 3, 2):
        again = draw.render(scene, size, path="fast", threads=threads, **options)
        assert np.array_equal(again.rgba, fast.rgba)
        assert np.array_equal(again.ids, fast.ids) and np.array_equal(again.depth, fast.depth)
    return fast
