"""The hardware catalogue: every row loads, and agrees with the vendors' own arithmetic."""

import csv
import io
from importlib import resources

import pytest

from whygpu import predict
from whygpu.engine import Basis, UserError
from whygpu.predict.catalogue import derived_names, read_catalogue

TEXT = resources.files("whygpu.predict").joinpath("data/hardware.csv").read_text(encoding="utf-8")
ROWS = list(csv.DictReader(io.StringIO(TEXT)))


def test_every_row_loads_with_a_source() -> None:
    assert len(predict.hardware_names()) == len(ROWS) == 88
    for row in ROWS:
        machine = predict.hardware(row["name"])
        assert machine.name == row["name"]
        assert machine.bandwidth.value == pytest.approx(float(row["mem_bw_gbs"]) * 1e9)
        for figure in (machine.bandwidth, *machine.flops.values()):
            assert row["source"] in figure.source
            assert figure.basis in (Basis.DATASHEET, Basis.DERIVED, Basis.PUBLISHED)
        for column in ("disagree", "notes", "derived", "price_note"):
            assert machine.details.get(column, "") == row[column]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_peaks_are_dense(row: dict[str, str]) -> None:
    """No column is twice what the fp16 peak allows: sparse figures slip in as a factor of two."""
    peaks = predict.hardware(row["name"]).flops
    if "fp16" in peaks:
        half = peaks["fp16"].value
        if "fp8" in peaks:
            # AWS runs fp8 at 1 to 3.75 times bf16, everybody else at 1 or 2 times
            assert peaks["fp8"].value <= (3.76 if row["vendor"] == "AWS" else 2.03) * half
        if "tf32" in peaks:
            assert peaks["tf32"].value <= 1.01 * half
    if "fp64" in peaks and "fp32" in peaks:
        assert peaks["fp64"].value <= 1.01 * peaks["fp32"].value


@pytest.mark.parametrize(
    ("name", "cores", "clock", "flop_per_cycle"),
    [
        # published: cores x boost clock x one fused multiply-add a cycle
        ("GeForce GTX 1080 Ti", 3584, 1.582, 2),
        ("GeForce RTX 4090", 16384, 2.52, 2),
        ("A100 SXM4 80GB", 6912, 1.41, 2),
        ("H100 SXM5 80GB", 16896, 1.98, 2),  # at its highest clock
        ("Instinct MI300X", 19456, 2.1, 4),  # dual issue
        ("M4 Max", 40 * 128, 1.8, 2),
        ("EPYC 7763", 64, 2.45, 32),  # two 256-bit units, at base clock
    ],
)
def test_fp32_peaks_by_hand(name: str, cores: int, clock: float, flop_per_cycle: int) -> None:
    peak = predict.hardware(name).peak("fp32").value
    assert peak == pytest.approx(cores * clock * 1e9 * flop_per_cycle, rel=0.005)


def test_figures_that_the_article_uses() -> None:
    i9, rtx = predict.hardware("i9-14900K"), predict.hardware("RTX 4090")
    assert (i9.bandwidth.value, rtx.bandwidth.value) == (89.6e9, 1008e9)
    assert rtx.peak("fp32").value == 82.6e12
    assert i9.peak("fp32").basis == Basis.DERIVED
    assert i9.peak("fp32").value == pytest.approx((8 * 32 * 5.7 + 16 * 16 * 4.4) * 1e9, rel=0.003)
    assert i9.watts is not None
    assert rtx.watts is not None
    assert (i9.watts.value, rtx.watts.value) == (253, 450)
    assert predict.hardware("M4 Max").peak("fp16").basis == Basis.DERIVED
    assert predict.hardware("M4 Max").peak("fp32").basis == Basis.PUBLISHED
    memory = predict.hardware("A100 80GB").memory
    assert memory is not None
    assert memory.value == 80 * 2**30


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("4090", "GeForce RTX 4090"),
        ("nvidia rtx 4090", "GeForce RTX 4090"),
        ("h100 sxm", "H100 SXM5 80GB"),
        ("A100 80GB", "A100 SXM4 80GB"),
        ("M2 Ultra 76-core", "M2 Ultra"),
        ("m2", "M2"),
        ("L4", "L4"),
        ("b200", "B200 SXM 180GB"),
        ("GB200", "GB200 (per GPU)"),
        ("9654", "EPYC 9654"),
        ("xeon 8480+", "Xeon Platinum 8480+"),
    ],
)
def test_names_as_people_type_them(typed: str, name: str) -> None:
    assert predict.hardware(typed).name == name


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("apple", "names no chip"),
        ("rtx 4091", "near names: GeForce RTX 4090"),
        ("", "names no chip"),
        ("zzz", "not in the catalogue"),
        ("-;/", "names no chip"),
    ],
)
def test_names_that_are_none(typed: str, said: str) -> None:
    with pytest.raises(UserError, match=said) as caught:
        predict.hardware(typed)
    assert "\n" not in str(caught.value)


def changed(**columns: str) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(ROWS[0]))
    writer.writeheader()
    writer.writerow(ROWS[0] | columns)
    return out.getvalue()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "column 'clock_ghz' is missing"),
        ("a,b\n1,2\n", "column 'a' is unknown"),
        (TEXT.splitlines()[0] + "\n", "no machine in it"),
        (TEXT.splitlines()[0] + "\nNVIDIA,x\n", "line 2: 34 fields"),
        (changed(kind="toaster"), "line 2: kind 'toaster' is unknown; known: cpu"),
        (changed(mem_bw_gbs=""), "line 2: mem_bw_gbs is empty"),
        (changed(mem_bw_gbs="fast"), "mem_bw_gbs 'fast' is no number"),
        (changed(fp32_tflops="-1"), "fp32_tflops '-1' is no number above 0"),
        (changed(fp32_tflops="inf"), "is no number above 0"),
        (changed(source=" "), "source is empty"),
        (changed(peak_basis="rumour"), "peak_basis 'rumour' is unknown"),
        (changed(llc_mb="big"), "llc_mb 'big' is no number"),
        (changed() + changed().splitlines()[1] + "\n", "line 3: 'GeForce GTX 580' stands twice"),
        (changed() + '"open', "not a CSV file"),
    ],
)
def test_a_bad_file_is_said_in_one_line(text: str, said: str) -> None:
    with pytest.raises(UserError, match=said.replace("(", r"\(")) as caught:
        read_catalogue(text, "mine.csv")
    assert str(caught.value).startswith("mine.csv")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", set()),
        ("int8_tops (dp4a, no int8 tensor mode)", {"int8"}),
        ("fp64,fp32: 8 P x 32 FLOP x 5.7 GHz + 16 E x 16 FLOP x 4.4 GHz", {"fp64", "fp32"}),
        ("fp64,fp32,bf16 at base 2.4 GHz (10.9 fp32 at 3.55 all-core)", {"fp64", "fp32", "fp16"}),
        ("all peaks at base 2.0 GHz", {"all"}),
        ("fp16 = fp32; cores of M5 Pro from its fp32 ratio", {"fp16", "cores of M5 Pro from its fp32 ratio"}),
    ],
)
def test_what_is_derived(text: str, names: set[str]) -> None:
    assert derived_names(text) == names
