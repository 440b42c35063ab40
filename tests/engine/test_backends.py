"""Backends by name: which are refused and how, what each can do, and that JAX draws and thinks alike."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from whygpu import engine
from whygpu.engine.backends.base import Backend

HERE = ["cpu", "numpy", "python", "array-api-strict", "torch:cpu", "jax:cpu"]


def opened(name: str) -> Backend:
    if name.startswith("jax"):
        pytest.importorskip("jax")
    if name.startswith("torch"):
        pytest.importorskip("torch")
    return engine.backend(name)


@pytest.mark.parametrize("name", HERE)
def test_what_every_backend_does(name: str) -> None:
    here = opened(name)
    assert here.name == name
    assert here.fast is (name == "cpu")
    with engine.using(here):
        xp = here.xp
        values = np.arange(2 * 3 * 5 * 4, dtype=np.float32).reshape(2, 3, 5, 4)
        held = xp.zeros((2, 3, 8, 4), dtype=xp.float32, device=here.device)
        held = here.put(held, here.asarray(values), 2)
        expected = np.zeros((2, 3, 8, 4), np.float32)
        expected[:, :, 2:7, :] = values
        assert np.array_equal(here.to_numpy(held), expected)
        assert here.to_numpy(here.asarray([1, 2], "int64")).dtype == np.int64
        assert here.asarray([1.0], "float64").dtype == xp.float64
        double = here.compiled(lambda x: x + x)
        assert np.array_equal(here.to_numpy(double(here.asarray(values))), values + values)
    assert here.seconds(lambda: None) >= 0
    assert here.memory() > 1 << 20
    assert here.card


@pytest.mark.parametrize("name", ["torch:cpu", "jax:cpu"])
def test_halves_are_exact_in_small_numbers(name: str) -> None:
    here = opened(name)
    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    with engine.using(here), engine.ledger() as ledger:
        for dtype in ("bfloat16", "float16"):
            out = engine.matmul(here.asarray(a, dtype), here.asarray(a.T, dtype), name=dtype)
            assert np.array_equal(here.to_numpy(out).astype(np.float32), a @ a.T)  # integers below 256
    found = {product.name: (product.dtype, product.bytes) for product in ledger.products}
    assert found == {dtype: (dtype, 2 * (12 + 12 + 9)) for dtype in ("bfloat16", "float16")}


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("torch:npu", "torch_npu is not installed; pip install torch-npu"),
        ("torch:xla", "torch_xla is not installed; pip install torch-xla"),
        ("torch:neuron", "torch_neuronx is not installed; pip install torch-neuronx"),
        ("torch:xpu", "not usable on this machine.*Intel"),
        ("torch:mps", "not usable on this machine.*Apple"),
        ("cupy", "cupy is not installed; pip install cupy-cuda13x|not usable on this machine"),
        ("jax:tpu", "jax is not installed; pip install 'whygpu|not usable on this machine"),
        ("cupy:first", "device 'cupy:first' is unknown; known: auto, cpu, numpy"),
        ("array-api-strict:1", "is unknown"),
    ],
)
def test_what_is_not_here_is_refused_by_name(name: str, lines: str) -> None:
    pytest.importorskip("torch")
    try:
        here = engine.backend(name)
    except engine.UserError as error:
        assert "\n" not in str(error)
        import re

        assert re.search(lines, str(error)), str(error)
    else:
        pytest.skip(f"this machine has {here.card}")


def test_a_package_that_is_missing_names_its_install_line() -> None:
    program = (
        "import sys\n"
        "sys.modules['torch'] = sys.modules['jax'] = None\n"
        "from whygpu import engine\n"
        "for name in ('torch:cuda', 'jax'):\n"
        "    try: engine.backend(name)\n"
        "    except engine.UserError as error: print(error)\n"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    first, second = out.splitlines()
    assert first == "device torch:cuda: torch is not installed; pip install 'whygpu[torch]'"
    assert second.startswith("device jax: jax is not installed; pip install 'whygpu[jax]'")


def test_auto_takes_what_is_here() -> None:
    torch = pytest.importorskip("torch")
    name = engine.backend("auto").name
    assert name == "cpu" or name.startswith(("torch:", "jax:", "cupy"))
    if not torch.accelerator.is_available():
        assert name == "cpu"


# JAX compiles every operation for every shape, so one small frame and one answer, in a process of their own
JAX = """
import json, sys
import numpy as np
from whygpu import draw, engine, think
frames, said, products = [], [], []
scene = draw.load("cube")
for name in ("numpy", "jax:cpu"):
    frames.append(draw.render(scene, (48, 36), backend=name, path="portable"))
    model = think.load(sys.argv[1], backend=name)
    with engine.ledger() as ledger:
        listened = think.generate(model, "Hello", max_tokens=2, chat=False)
        list(listened)
    quiet = think.generate(model, "Hello", max_tokens=24, chat=False)  # on JAX by the compiled step
    list(quiet)
    assert quiet.ids[:2] == listened.ids
    assert bool(model.steps) == (name == "jax:cpu")
    said.append(quiet.ids)
    products.append(ledger.counts("think"))
a, b = frames
print(json.dumps({
    "ids": int((a.ids != b.ids).sum()),
    "colours": int(np.abs(a.rgba.astype(int) - b.rgba).max()),
    "lit": a.statistics.pixels_lit,
    "tokens": said[0] == said[1],
    "products": products[0] == products[1],
}))
"""


def test_jax_draws_and_thinks_as_numpy_does(tmp_path: Path) -> None:
    pytest.importorskip("jax")
    pytest.importorskip("transformers")
    sys.path.insert(0, str(Path(__file__).parents[1] / "think"))
    import json

    import tiny_families

    path = tiny_families.write_gguf("llama", tmp_path / "tiny.gguf")
    done = subprocess.run(
        [sys.executable, "-c", JAX, str(path)], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr[-2000:]
    found: dict[str, Any] = json.loads(done.stdout)
    assert found.pop("lit") > 100
    assert found.pop("colours") <= 1
    assert found == {"ids": 0, "tokens": True, "products": True}
