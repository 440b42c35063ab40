"""Drawing against Mesa's llvmpipe: same geometry, same light, same threads, one process, interleaved.

    pip install '.[bench]'          # moderngl; llvmpipe is Debian's libgl1-mesa-dri with libegl1
    python benchmarks/draw.py --json

A lat-long sphere of more and more triangles, the same with their order shuffled, and eight layers that fill
the picture, at 1920x1080, read-back included on both sides, back faces culled on both. Times are medians over
interleaved rounds; ``ratio`` is theirs over ours. The peer writes the light as it is, we encode it as sRGB:
``ratio_srgb`` is to a peer that makes the same picture. Cases without a peer: the growth from 65 thousand
to 16 million triangles, the first frame of a process with compiled kernels and without, and a textured duck,
if its file is given.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whygpu import draw, engine, measure

THREADS = engine.available_threads()
SIZE = (1920, 1080)
CAMERA = draw.Camera((0.0, 0.0, 3.0), fov=45.0, near=0.1, far=100.0)
LIGHT = draw.Light((-1.0, -1.0, -1.0))
SRGB8_ALPHA8, FRAMEBUFFER_SRGB = 0x8C43, 0x8DB9  # of OpenGL
GRAY = 0.8
MATTE = draw.Material((GRAY, GRAY, GRAY), roughness=1.0, specular=0.0)


@dataclass
class Row:
    """One case: milliseconds a frame (median, best) of both sides."""

    case: str
    triangles: int
    ours_ms: float
    ours_best_ms: float
    peer_ms: float | None
    peer_best_ms: float | None
    ratio: float | None
    peer_srgb_ms: float | None
    """The peer, encoding its picture as ours is."""
    ratio_srgb: float | None
    vertices_s: float
    triangles_s: float
    bandwidth: float
    """Share of the measured read bandwidth that vertices, triangles and pixels take, each moved once."""


@dataclass(frozen=True)
class Geometry:
    """What both sides draw: (V, 3) positions and normals, (T, 3) indices."""

    positions: NDArray[np.float32]
    normals: NDArray[np.float32]
    triangles: NDArray[np.int32]

    def scene(self) -> draw.Scene:
        """For our side; no ambient light, as the peer has none."""
        mesh = draw.Mesh(self.positions, self.triangles, self.normals, material=MATTE)
        black = (0.0, 0.0, 0.0)
        return draw.Scene((draw.Node(mesh),), lights=(LIGHT,), sky=black, ground=black)

    def shuffled(self) -> "Geometry":
        """The same triangles in a random order."""
        order = np.random.default_rng(0).permutation(len(self.triangles))
        return replace(self, triangles=self.triangles[order])


def sphere(rings: int) -> Geometry:
    """A lat-long sphere of ``4 rings * rings`` triangles."""
    polar, around = np.linspace(0, np.pi, rings + 1), np.linspace(0, 2 * np.pi, 2 * rings + 1)
    t, p = np.meshgrid(polar, around, indexing="ij")
    points = np.stack([np.sin(t) * np.cos(p), np.cos(t), np.sin(t) * np.sin(p)], -1)
    points = points.reshape(-1, 3).astype(np.float32)
    a = (np.arange(rings)[:, None] * (2 * rings + 1) + np.arange(2 * rings)).ravel()
    b, c, d = a + 1, a + 2 * rings + 1, a + 2 * rings + 2
    triangles = np.concatenate([np.stack([a, b, c], 1), np.stack([b, d, c], 1)]).astype(np.int32)
    return Geometry(points, points, triangles)


def layers(count: int) -> Geometry:
    """Squares that fill the picture, the furthest first: everything is drawn ``count`` times over."""
    corner = np.array([[-4, -4, 0], [4, -4, 0], [4, 4, 0], [-4, 4, 0]], np.float32)
    points = np.concatenate([corner + np.float32([0, 0, 0.1 * i]) for i in range(count)])
    quad = np.array([[0, 1, 2], [0, 2, 3]], np.int32)
    triangles = np.concatenate([quad + np.int32(4 * i) for i in range(count)])
    return Geometry(points, np.tile(np.float32([0.3, 0.3, 0.9]), (len(points), 1)), triangles)


class Llvmpipe:
    """Mesa's software renderer through moderngl and EGL."""

    def __init__(self) -> None:
        os.environ.update(LP_NUM_THREADS=str(THREADS), GALLIUM_DRIVER="llvmpipe", LIBGL_ALWAYS_SOFTWARE="1")
        import moderngl

        self.context = moderngl.create_standalone_context(backend="egl")
        self.name: str = self.context.info["GL_RENDERER"]
        if "llvmpipe" not in self.name:
            raise SystemExit(f"the peer is {self.name}, not llvmpipe")
        self.program = self.context.program(
            vertex_shader="""#version 330
                uniform mat4 matrix; in vec3 position; in vec3 normal; out vec3 n;
                void main() { gl_Position = matrix * vec4(position, 1.0); n = normal; }""",
            fragment_shader="""#version 330
                in vec3 n; out vec4 color; uniform vec3 light;
                void main() { color = vec4(vec3(0.8 * max(dot(normalize(n), light), 0.0)), 1.0); }""",
        )
        self.targets = {
            srgb: self.context.framebuffer(
                [self.context.texture(SIZE, 4, internal_format=SRGB8_ALPHA8 if srgb else None)],
                self.context.depth_renderbuffer(SIZE),
            )
            for srgb in (False, True)
        }
        self.context.enable_direct(FRAMEBUFFER_SRGB)  # for targets of that format, no others
        self.context.enable(moderngl.DEPTH_TEST | moderngl.CULL_FACE)
        from whygpu.draw.camera import projection_matrix, view_matrix

        matrix = projection_matrix(CAMERA, SIZE[0] / SIZE[1]) @ view_matrix(CAMERA)
        self.program["matrix"].write(matrix.T.astype(np.float32).tobytes())
        towards = -np.asarray(LIGHT.direction)
        self.program["light"].write((towards / np.linalg.norm(towards)).astype(np.float32).tobytes())
        self.picture = np.empty((SIZE[1], SIZE[0], 4), np.uint8)

    def frame(self, geometry: Geometry, srgb: bool) -> Callable[[], float]:
        """A function that draws one frame, encoded or not, and returns its seconds."""
        target = self.targets[srgb]
        buffer = np.concatenate([geometry.positions, geometry.normals], 1).tobytes()
        vertices = self.context.vertex_array(
            self.program,
            [(self.context.buffer(buffer), "3f 3f", "position", "normal")],
            self.context.buffer(geometry.triangles.tobytes()),
        )

        def run() -> float:
            target.use()
            started = perf_counter()
            target.clear()
            vertices.render()
            target.read_into(self.picture, components=4)
            return perf_counter() - started

        return run


def ours(scene: draw.Scene, size: tuple[int, int] = SIZE, **options: Any) -> Callable[[], float]:
    """A function that draws one frame into the arrays of the last one and returns its seconds."""
    frame = draw.render(scene, size, threads=THREADS, **options)

    def run() -> float:
        started = perf_counter()
        draw.render(scene, size, threads=THREADS, out=frame, **options)
        return perf_counter() - started

    return run


def interleaved(sides: list[Callable[[], float]], rounds: int) -> list[list[float]]:
    """Seconds of all sides in turn; who begins changes, so that a drift of the machine hits all."""
    for run in sides:
        run()
    times: list[list[float]] = [[] for _ in sides]
    for turn in range(rounds):
        order = range(len(sides)) if turn % 2 else reversed(range(len(sides)))
        for side in order:
            times[side].append(sides[side]())
    return times


def compare(case: str, geometry: Geometry, peer: Llvmpipe | None, rounds: int, bandwidth: float) -> Row:
    """Both sides in turn, then we and the peer that encodes its picture."""
    run = ours(geometry.scene(), camera=CAMERA)
    times = interleaved([run, *([peer.frame(geometry, srgb=False)] if peer else [])], rounds)
    encoding = interleaved([run, peer.frame(geometry, srgb=True)], rounds) if peer else []
    mine = median(times[0])
    moved = 52 * len(geometry.positions) + 12 * len(geometry.triangles) + 12 * SIZE[0] * SIZE[1]
    theirs, same = (median(times[1]), median(encoding[1])) if peer else (None, None)
    return Row(
        case,
        len(geometry.triangles),
        1e3 * mine,
        1e3 * min(times[0]),
        1e3 * theirs if theirs else None,
        1e3 * min(times[1]) if peer else None,
        theirs / mine if theirs else None,
        1e3 * same if same else None,
        same / median(encoding[0]) if same else None,
        len(geometry.positions) / mine,
        len(geometry.triangles) / mine,
        moved / mine / bandwidth,
    )


def rows(peer: Llvmpipe | None, rounds: int, bandwidth: float) -> list[Row]:
    """All cases against the peer, then the growth without it."""
    found = []

    def add(case: str, geometry: Geometry, against: Llvmpipe | None, turns: int) -> None:
        found.append(compare(case, geometry, against, turns, bandwidth))
        print(f"{case}: {len(geometry.triangles):,} triangles done", file=sys.stderr)

    for rings in (16, 128, 512, 1024):
        add("sphere", sphere(rings), peer, rounds)
    for rings in (128, 512):
        add("sphere, shuffled", sphere(rings).shuffled(), peer, rounds)
    add("eight layers", layers(8), peer, rounds)
    for rings in (128, 256, 512, 1024, 2048):
        add("growth", sphere(rings), None, max(3, rounds // 3))
    return found


def first_frame(scene: str, empty: bool) -> float:
    """Seconds of a process that draws one picture; with ``empty`` no kernel was ever compiled."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, **({"WHYGPU_CACHE": folder} if empty else {})}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
        command = [sys.executable, "-m", "whygpu", "draw", scene, "-o", f"{folder}/frame.png", "--json"]
        started = perf_counter()
        subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
        return perf_counter() - started


def duck(path: Path, rounds: int) -> dict[str, float]:
    """Milliseconds of a textured, shadowed frame of 640x480, and nanoseconds a lit pixel."""
    scene = draw.load(path)
    run = ours(scene, (640, 480), shadows=True)
    seconds = median(run() for _ in range(rounds * 3))
    lit = draw.render(scene, (640, 480), shadows=True).statistics.pixels_lit
    return {"ms": 1e3 * seconds, "pixels_lit": lit, "ns_a_lit_pixel": 1e9 * seconds / lit}


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--alone", action="store_true", help="do not run llvmpipe")
    parser.add_argument("--duck", type=Path, help="Khronos' Duck.glb")
    arguments = parser.parse_args()
    bandwidth = measure.roofline(quick=True, force=True).read_bandwidth
    peer = None if arguments.alone else Llvmpipe()
    found = rows(peer, arguments.rounds, bandwidth)
    textured = duck(arguments.duck, arguments.rounds) if arguments.duck else None
    scenes = ["sphere:5", *([str(arguments.duck)] if arguments.duck else [])]
    first = [
        {
            "scene": Path(scene).name,
            "warm_s": min(first_frame(scene, False) for _ in range(3)),
            "empty_s": first_frame(scene, True),
        }
        for scene in scenes
    ]
    if arguments.json:
        result = {"threads": THREADS, "peer": peer and peer.name, "duck": textured, "first_frame": first}
        print(json.dumps({**result, "rows": [asdict(row) for row in found]}, indent=2))
        return
    print(f"{THREADS} threads, {SIZE[0]}x{SIZE[1]}; peer: {peer.name if peer else 'none'}; ms, median (best)")
    print(
        f"{'case':18}{'triangles':>11}{'ours':>15}{'llvmpipe':>17}{'ratio':>7}"
        f"{'sRGB':>8}{'ratio':>7}{'Mvert/s':>9}{'Mtri/s':>8}{'GB/s':>6}"
    )
    for row in found:
        theirs = f"{row.peer_ms:.1f} ({row.peer_best_ms:.1f})" if row.peer_ms else "-"
        ratio = f"{row.ratio:.2f}" if row.ratio else "-"
        same = f"{row.peer_srgb_ms:>8.1f}{row.ratio_srgb:>7.2f}" if row.peer_srgb_ms else f"{'-':>8}{'-':>7}"
        mine = f"{row.ours_ms:.1f} ({row.ours_best_ms:.1f})"
        print(
            f"{row.case:18}{row.triangles:>11,}{mine:>15}{theirs:>17}{ratio:>7}{same}"
            f"{row.vertices_s / 1e6:>9.0f}{row.triangles_s / 1e6:>8.0f}{row.bandwidth:>6.0%}"
        )
    for each in first:
        print(
            f"first frame, {each['scene']}: {each['warm_s']:.1f} s, {each['empty_s']:.1f} s with no kernels"
        )
    if textured:
        of_pixel = f"{textured['ns_a_lit_pixel']:.0f} ns a lit pixel"
        print(f"duck, 640x480, shadow: {textured['ms']:.1f} ms, {of_pixel}")


if __name__ == "__main__":
    main()
