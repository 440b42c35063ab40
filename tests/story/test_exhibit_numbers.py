"""What the exhibits show, against arithmetic that the engine has no part in."""

import cmath
import math
from typing import Any

import numpy as np
import pytest

from whygpu import models, predict
from whygpu.engine import Basis, UserError
from whygpu.story import exhibits
from whygpu.story.exhibits import Job, Numbers, batch, parallel
from whygpu.story.exhibits.embedding import principal_axes

LAWFUL = {str(basis) for basis in Basis}


@pytest.fixture(scope="module")
def job() -> Job:
    return Job()


@pytest.fixture(scope="module")
def real(job: Job) -> Job:
    """With the default model; skipped where it cannot be had."""
    if job.model.invented:
        pytest.skip("the default model cannot be had here")
    return job


def numbers(name: str, job: Job) -> Numbers:
    return exhibits.load(name).numbers(job)


def test_every_figure_has_a_basis_and_a_source(job: Job) -> None:
    for name in ("rotation", "cube", "timeline", "chips", "stack"):
        plain = numbers(name, job).as_dict()
        assert plain["basis"] in LAWFUL and plain["source"]
        for figure in plain["figures"].values():
            assert figure["basis"] in LAWFUL and figure["source"] and math.isfinite(figure["value"])


def test_rotation_is_multiplication_by_a_complex_number(job: Job) -> None:
    data = numbers("rotation", job).data
    assert len(data["turned"]) == 72
    for degrees, (x, y) in zip(data["degrees"], data["turned"], strict=True):
        turned = complex(2, 1) * cmath.exp(1j * math.radians(degrees))
        assert abs(complex(x, y) - turned) < 1e-12


def test_a_rotation_takes_four_multiplications(job: Job) -> None:
    figures = numbers("rotation", job).figures
    assert figures["multiplications"].value == 4
    assert figures["flop"].value == 8  # 2 a multiply-add
    assert figures["length"].value == pytest.approx(math.sqrt(5), abs=1e-12)


def test_cube_turns_about_y(job: Job) -> None:
    data = numbers("cube", job).data
    vertices = np.array(data["vertices"])
    assert len({tuple(v) for v in vertices}) == 8 and len(data["edges"]) == 12
    for degrees, turned in zip(data["degrees"], data["turned"], strict=True):
        after = np.array(turned)
        plane = (vertices[:, 2] + 1j * vertices[:, 0]) * cmath.exp(1j * math.radians(degrees))  # z + i x
        assert np.allclose(after[:, 2] + 1j * after[:, 0], plane, atol=1e-12)
        assert np.array_equal(after[:, 1], vertices[:, 1])
        assert all(np.linalg.norm(after[a] - after[b]) == pytest.approx(2) for a, b in data["edges"])


def test_cube_hides_the_edges_at_the_back(job: Job) -> None:
    from whygpu.story.exhibits.cube import hidden

    for turned in numbers("cube", job).data["turned"]:
        assert sum(hidden(np.array(turned))) in (3, 5)  # three faces are seen, or two


def test_chain_ends_in_the_pixel_of_a_pinhole_camera(job: Job) -> None:
    from whygpu.story.exhibits.chain import CAMERA, SIZE, VERTEX

    found = numbers("chain", job)
    eye = np.array(CAMERA.eye)
    ahead = -eye / np.linalg.norm(eye)
    right = np.cross(ahead, [0, 1, 0])
    right /= np.linalg.norm(right)
    up = np.cross(right, ahead)
    focal = SIZE[1] / 2 / math.tan(math.radians(CAMERA.fov) / 2)  # in pixels
    for step, row in enumerate(found.data["steps"]):
        a = 2 * math.pi * step / 36
        x, y, z = VERTEX
        point = np.array([x * math.cos(a) + z * math.sin(a), y, z * math.cos(a) - x * math.sin(a)]) - eye
        depth = point @ ahead
        wanted = (SIZE[0] / 2 + focal * (point @ right) / depth, SIZE[1] / 2 - focal * (point @ up) / depth)
        assert row["pixel"] == pytest.approx(wanted, abs=1e-9)
        column, line = round(wanted[0]), round(wanted[1])
        around = found.drawn[step].rgba[line - 2 : line + 3, column - 2 : column + 3, 3]
        assert around.any()  # the engine's own frame has the corner there


def test_sphere_counts(job: Job) -> None:
    levels = numbers("sphere", job).data["levels"]
    for level, row in enumerate(levels):
        triangles = 4 ** (level + 1)
        assert row["triangles"] == triangles
        assert row["vertices"] - 3 * triangles // 2 + triangles == 2  # Euler
        assert row["flop"] >= 2 * row["vertices"] * (4 * 4 + 3 * 3)
    assert levels[-1]["triangles"] == 65_536


def test_pipeline_counts_what_it_draws(job: Job) -> None:
    found = numbers("pipeline", job)
    model, vertex, raster, shade, screen = (picture.rgba for picture in found.drawn)
    assert (raster[..., 3] > 0).sum() == (shade[..., 3] > 0).sum() == found.figures["lit"].value
    assert (screen[..., 3] == 255).all()
    covered = shade[..., 3] > 0
    assert (screen[covered] == shade[covered]).all()
    assert model[..., 3].any() and (vertex[..., 3] > 0)[~covered].mean() < 0.02


def test_parallel_is_timed_on_one_axis(monkeypatch: pytest.MonkeyPatch, job: Job) -> None:
    monkeypatch.setattr(parallel, "VERTICES", 20_000)
    data = numbers("parallel", job).data
    assert [racer["who"] for racer in data["racers"]][:2] == ["python", "core"]
    assert data["racers"][0]["seconds"] > data["racers"][1]["seconds"] > 0


def test_principal_axes_are_those_of_a_singular_value_decomposition() -> None:
    rows = np.random.default_rng(5).standard_normal((9, 40))
    axes, share = principal_axes(rows)
    centred = rows - rows.mean(0)
    _, values, vectors = np.linalg.svd(centred, full_matrices=False)
    assert np.allclose(np.abs(axes.T @ vectors[:2].T), np.eye(2), atol=1e-9)
    assert share == pytest.approx((values[:2] ** 2).sum() / (values**2).sum())


def test_neighbours_of_king_minus_man_plus_woman(real: Job) -> None:
    found = numbers("embedding", real)
    data, table = found.data, np.asarray(real.model.checkpoint.array("embedding"), np.float64)
    ids = [real.model.tokenizer.encode(f" {word}") for word in ("king", "man", "woman", "queen")]
    king, man, woman, queen = (table[i].mean(0) for i in ids)
    total = king - man + woman
    cosine = total @ queen / np.linalg.norm(total) / np.linalg.norm(queen)
    assert data["without_inputs"][0] == ["queen", pytest.approx(cosine, abs=1e-5)]
    words = [word for word, _ in data["without_inputs"]]
    assert not {"king", "man", "woman"} & set(words) and len(set(words)) == len(words)
    a, b, c, tip = (np.array(p) for p in (*data["plane"][:3], data["landing"]))
    assert np.allclose(a - b, tip - c, atol=1e-9)  # a parallelogram


def test_embedding_refuses_too_few_words() -> None:
    with pytest.raises(UserError, match="at least 3"):
        numbers("embedding", Job(words=("king", "man")))


def first_attention(job: Job) -> Any:
    """Layer 0's weights in float64: RMSNorm, rotary positions as complex numbers, softmax."""
    a, checkpoint = job.model.architecture, job.model.checkpoint
    ids = job.model.tokenizer.encode(job.sentence)
    w = {name: np.asarray(checkpoint.array(f"0.{name}"), np.float64) for name in ("attention_norm", "q", "k")}
    x = np.asarray(checkpoint.array("embedding"), np.float64)[ids]
    x = x / np.sqrt((x * x).mean(1, keepdims=True) + a.norm_eps) * w["attention_norm"]
    half = a.head_dim // 2
    turn = np.exp(1j * np.arange(len(ids))[:, None] * a.rope_theta ** (-np.arange(half) / half))  # (T, half)

    def heads(matrix: Any, count: int) -> Any:
        y = (x @ matrix.T).reshape(len(ids), count, 2, half)
        return (y[:, :, 0] + 1j * y[:, :, 1]) * turn[:, None]  # (T, count, half)

    q, k = heads(w["q"], a.heads), heads(w["k"], a.kv_heads)
    k = np.repeat(k, a.heads // a.kv_heads, axis=1)
    scores = np.einsum("thc,shc->hts", q, k.conj()).real / math.sqrt(a.head_dim)
    scores[:, np.triu_indices(len(ids), 1)[0], np.triu_indices(len(ids), 1)[1]] = -np.inf
    weights = np.exp(scores - scores.max(2, keepdims=True))
    return weights / weights.sum(2, keepdims=True)


def test_attention_weights(real: Job) -> None:
    reading = real.reading
    assert np.allclose(reading.attention[0], first_attention(real), atol=2e-4)
    assert np.allclose(reading.attention.sum(3), 1, atol=1e-5)
    assert (np.triu(np.ones(reading.attention.shape[-2:]), 1)[None, None] * reading.attention == 0).all()
    data = numbers("attention", real).data
    chosen = reading.attention[data["layer"] - 1, data["head"] - 1]
    assert np.array_equal(np.array(data["weights"]), chosen.astype(np.float64))


def test_the_small_mlp(job: Job) -> None:
    data = numbers("mlp", job).data
    x, up, down = (np.array(data[key]) for key in ("inputs", "up", "down"))
    assert up.shape == (4, 16) and down.shape == (16, 4)
    for k in range(len(x)):
        for j in range(4):
            total = 0.0
            for i in range(16):
                v = math.fsum(x[k][m] * up[m][i] for m in range(4))
                bent = 0.5 * v * (1 + math.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3)))
                total += bent * down[i][j]
            assert data["outputs"][k][j] == pytest.approx(total, abs=1e-12)


def test_the_real_mlp_layer(real: Job) -> None:
    reading, layer = real.reading, real.model.architecture.layers // 2
    gate, up = (np.asarray(real.model.checkpoint.array(f"{layer}.{n}"), np.float64) for n in ("gate", "up"))
    x = reading.entering[layer].astype(np.float64)
    g = x @ gate.T
    assert np.allclose(reading.hidden[layer], g / (1 + np.exp(-g)) * (x @ up.T), atol=1e-3)


def test_block_counts_what_is_executed(real: Job) -> None:
    found = numbers("block", real)
    a = real.model.architecture
    wanted: dict[str, float] = {}
    for product in models.matmuls(a, tokens=found.data["tokens"]):
        wanted[product.name] = wanted.get(product.name, 0) + product.flop / a.layers
    wanted.pop("head")
    assert {row["name"]: row["flop"] for row in found.data["products"]} == pytest.approx(wanted)
    assert sum(row["share"] for row in found.data["products"]) + found.data["rest"] == pytest.approx(1)


def test_same_hears_both(real: Job) -> None:
    data = numbers("same", real).data
    a = real.model.architecture
    assert {"edge functions", "interpolation"} <= {event["name"] for event in data["draw"]}
    head = next(event for event in data["think"] if event["name"] == "head")
    assert (head["m"], head["k"], head["n"]) == (1, a.d_model, a.vocab)
    up = next(event for event in data["think"] if event["name"] == "up")
    assert up["batch"] == a.layers
    assert data["stages"]["decode"]["flop"] >= 2 * a.parameters - 2 * a.d_model * (2 * a.layers + 1)


def test_roofline_bounds(job: Job) -> None:
    found = numbers("roofline", job)
    a = job.model.architecture
    decode = sum(p.flop for p in models.matmuls(a, tokens=1)) / models.bytes_per_token(a, past=1)
    assert found.data["intensities"]["decode"] == pytest.approx(decode)
    card = next(m for m in found.data["machines"] if m["name"] == "GeForce RTX 4090")
    assert (card["peak"], card["bandwidth"]) == (pytest.approx(165.2e12), pytest.approx(1008e9))
    assert found.data["machines"][0]["here"] and found.data["machines"][0]["basis"] == "measured here"


def test_batch_reads_the_weights_once(monkeypatch: pytest.MonkeyPatch, job: Job) -> None:
    monkeypatch.setattr(batch, "PATIENCE", 0.05)  # one sequence is timed; the rest of the rows is arithmetic
    rows = numbers("batch", job).data["rows"]
    a = job.model.architecture
    card = predict.hardware("RTX 4090")
    one = 2 * a.parameters / card.bandwidth.value  # seconds to read fp16 weights
    assert 1 / rows[0]["chip_tokens_per_second"] == pytest.approx(one, rel=0.1)
    assert rows[0]["chip_flop_per_byte"] == pytest.approx(1, rel=0.1)
    assert rows[4]["chip_tokens_per_second"] / rows[0]["chip_tokens_per_second"] == pytest.approx(
        16, rel=0.02
    )
    assert rows[-1]["chip_flops"] == pytest.approx(card.peak("fp16").value, rel=0.01)


def test_timeline_trains_at_a_fixed_share_of_the_peak(job: Job) -> None:
    found = numbers("timeline", job)
    chips = {chip["short"]: chip for chip in found.data["chips"]}
    assert chips["V100"]["seconds"]["gpt3"] == pytest.approx(3.14e23 / (125e12 * 0.31))
    two_cards = chips["GTX 580"]["seconds"]["alexnet"] / 2 / 86400
    assert 5 <= two_cards <= 6  # days, Krizhevsky 2012
    assert chips["8800 GTX"]["flops"] == 128 * 1.35e9 * 2
    assert chips["8800 GTX"]["bandwidth"] == 384 / 8 * 1.8e9
    alexnet = next(row for row in found.data["trainings"] if row["key"] == "alexnet")
    assert alexnet["flop"] == pytest.approx(2 * 3 * alexnet_multiply_adds() * 1.2e6 * 90, rel=0.02)
    years = [event["year"] for event in found.data["events"]]
    assert min(years) == pytest.approx(2006.85) and len(years) == 8


def alexnet_multiply_adds() -> int:
    """Of its eight layers (Krizhevsky 2012, section 3.5; two halves in layers 2, 4 and 5)."""
    convolutions = 55**2 * 96 * 11**2 * 3 + 27**2 * 256 * 5**2 * 48 + 13**2 * 384 * 3**2 * 256
    convolutions += 13**2 * 384 * 3**2 * 192 + 13**2 * 256 * 3**2 * 192
    return convolutions + 6 * 6 * 256 * 4096 + 4096 * 4096 + 4096 * 1000


def test_chips_ratios(job: Job) -> None:
    rows = numbers("chips", job).data["rows"]
    assert rows["cores"]["ratio"] == pytest.approx(16384 / 24)
    assert rows["fp32"]["ratio"] == pytest.approx(82.6 / 2.58)
    assert rows["per_watt"]["b"]["value"] == pytest.approx(82.6e12 / 450)
    with pytest.raises(UserError, match="two are compared"):
        numbers("chips", Job(chips=("A100 80GB",)))


def test_stack_finds_what_is_installed(job: Job) -> None:
    cells = {row["key"]: row["cells"] for row in numbers("stack", job).data["ecosystems"]}
    assert f"numpy {np.__version__}" in cells["cpu"]["framework"]["found"]
    assert all(cells["cpu"][layer]["found"] for layer in ("hardware", "maths", "framework", "communication"))


def test_unknown_exhibit_names_the_known_ones() -> None:
    with pytest.raises(UserError, match="did you mean rotation"):
        exhibits.load("rotatoin")
