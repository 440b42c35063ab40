"""`pip install` alone is enough: the wheel in a fresh environment; GL, X11, OpenMP and compilers hidden."""

import json
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HIDDEN = (
    "libGL",
    "libEGL",
    "libOSMesa",
    "libX11",
    "libvulkan",
    "libgomp",
    "libomp",
    "libtbb",
    "libLLVM",
    "libcuda",
)
COMPILERS = ("gcc", "g++", "cc", "c++", "clang", "ld", "nvcc", "nvidia-smi")

pytestmark = [pytest.mark.slow, pytest.mark.network]


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the built wheel and nothing but what it depends on."""
    folder = tmp_path_factory.mktemp("bare")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", folder, ROOT], check=True, capture_output=True
    )
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "venv", with_pip=True)
    pip = [folder / "venv" / "bin" / "python", "-m", "pip", "install", "--quiet", wheel]
    done = subprocess.run(pip, capture_output=True, text=True, check=False)
    if done.returncode and ("Could not find a version" in done.stderr or "connection" in done.stderr.lower()):
        pytest.skip("no package registry can be reached")
    assert done.returncode == 0, done.stderr
    return folder / "venv" / "bin"


def hiding() -> list[str]:
    """Shell lines that cover every such library and compiler with an empty file."""
    lines = ["set -e", "touch $PWD/nothing"]
    places = [
        Path("/usr/lib/x86_64-linux-gnu"),
        Path("/usr/lib/aarch64-linux-gnu"),
        Path("/usr/local/lib"),
        Path("/usr/lib"),
    ]
    targets = [f for place in places if place.is_dir() for f in place.iterdir() if f.name.startswith(HIDDEN)]
    targets += [Path(found) for name in COMPILERS if (found := shutil.which(name))]
    real = {target.resolve() for target in targets if target.exists()}
    return [*lines, *(f"mount --bind $PWD/nothing {path}" for path in sorted(real) if path.is_file())]


def test_the_quick_main_job_on_a_bare_machine(bare: Path, tmp_path: Path) -> None:
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("hiding libraries needs root and unshare")
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        pytest.skip("mount namespaces are not allowed here")
    script = "\n".join([*hiding(), f"exec {bare}/whygpu --quick --json --out {tmp_path}/report"])
    out = subprocess.run(
        ["unshare", "-m", "bash", "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert out.returncode == 0, out.stderr
    results = json.loads(out.stdout)
    assert {drawing["scene"] for drawing in results["drawings"]} == {"cube", "character", "frame"}
    assert results["thinking"]["generated_tokens"] > 0
    assert (tmp_path / "report" / "report.html").stat().st_size > 10_000
    assert json.loads((tmp_path / "report" / "results.json").read_text(encoding="utf-8")) == results


def test_what_is_installed_brings_no_torch_and_no_gl(bare: Path) -> None:
    out = subprocess.run(
        [bare / "python", "-m", "pip", "list", "--format=json"], capture_output=True, text=True, check=True
    )
    names = {package["name"].lower() for package in json.loads(out.stdout)}
    assert not names & {"torch", "transformers", "gguf", "moderngl", "pyopengl", "vtk", "jax"}
