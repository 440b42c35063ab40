"""The kernels' cache and memory."""

import os
import subprocess
import sys
import tracemalloc

import pytest

from whygpu import draw

PROGRAM = """
import hashlib
from whygpu import draw
frame = draw.render(draw.load("sphere:5"), (200, 150), path="fast")
print(hashlib.sha256(frame.rgba.tobytes() + frame.depth.tobytes() + frame.ids.tobytes()).hexdigest())
"""


def run(cache):
    environment = {**os.environ, "WHYGPU_CACHE": str(cache)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return done.stdout


@pytest.mark.slow
def test_the_process_that_compiles_and_the_one_that_loads_draw_the_same_bits(tmp_path):
    first = run(tmp_path)
    kernels = {path.name.split("-")[0] for path in tmp_path.rglob("*.nbi")}
    assert {"transform.transform", "raster.raster", "shade.shade"} <= kernels
    assert run(tmp_path) == first


def peak_bytes(scene, size):
    draw.render(scene, (8, 8), path="fast")
    scene.geometry.spare.clear()
    tracemalloc.start()
    draw.render(scene, size, path="fast", threads=1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_memory_grows_by_little_for_each_triangle_and_pixel():
    small, large = draw.load("sphere:6"), draw.load("sphere:8")
    size = (64, 48)
    triangles = large.triangles - small.triangles
    assert (peak_bytes(large, size) - peak_bytes(small, size)) / triangles <= 200
    pixels = 1600 * 1200 - 800 * 600
    assert (peak_bytes(small, (1600, 1200)) - peak_bytes(small, (800, 600))) / pixels <= 64
