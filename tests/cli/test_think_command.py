"""``whygpu think``: one answer, as a person and as a program ask for it."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from rich.cells import cell_len

from whygpu import models, think
from whygpu.cli.answer import schema
from whygpu.cli.main import main

ROOT = Path(__file__).parents[2]
SAMPLED = ("--temperature", "1.5", "--seed", "4", "-n", "30")


def run(
    tiny: Path, *arguments: str, stdin: bytes | str = b"", **environment: str
) -> "subprocess.CompletedProcess[str]":
    """The command on the tiny model, with something on stdin."""
    raw = stdin.encode() if isinstance(stdin, str) else stdin
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "whygpu", "think", "--model", str(tiny), *arguments],
        input=raw,
        capture_output=True,
        timeout=120,
        env={**os.environ, "LANG": "C.UTF-8", **environment},
        check=False,
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def ask(tiny: Path, *arguments: str) -> dict[str, Any]:
    out = run(tiny, *arguments, "--json")
    assert out.returncode == 0, out.stderr
    answer: dict[str, Any] = json.loads(out.stdout)
    return answer


def test_schema_is_documented_and_kept(tiny: Path) -> None:
    documented = json.loads((ROOT / "docs" / "think.schema.json").read_text(encoding="utf-8"))
    assert documented == json.loads(json.dumps(schema()))
    bare = ask(tiny, "hello", "-n", "4")
    full = ask(tiny, "hello", "--ledger", "--show-candidates", "3", "--system", "Be brief.", *SAMPLED)
    for answer in (bare, full):
        jsonschema.validate(answer, documented)
    assert (bare["steps"], bare["ledger"], bare["system"]) == (None, None, None)
    assert full["chat"] is True
    assert full["generated_tokens"] <= len(full["steps"]) <= 30
    assert "".join(step["text"] for step in full["steps"]) == full["text"]
    for step in full["steps"]:
        assert len(step["candidates"]) == 3
        odds = [candidate["probability"] for candidate in step["candidates"]]
        assert odds == sorted(odds, reverse=True)


def test_json_says_what_the_library_says(tiny: Path) -> None:
    answer = ask(tiny, "hello", *SAMPLED)
    generation = think.generate(think.load(tiny), "hello", temperature=1.5, seed=4, max_tokens=30)
    list(generation)
    assert answer["text"] == generation.text
    assert answer["prompt_tokens"] == len(generation.prompt_ids)
    assert answer["bytes_read_per_token"] == pytest.approx(generation.statistics.bytes_read_per_token)
    assert answer["ended"] == generation.statistics.finish


def test_the_ledger_has_the_products_of_the_list(tiny: Path) -> None:
    answer = ask(tiny, "hello", "--ledger", "-n", "5", "--seed", "1")
    shape = models.open_checkpoint(tiny).architecture
    rows = {(row["stage"], row["name"]): row for row in answer["ledger"] if row["is_product"]}
    expected = {work.name: work for work in models.matmuls(shape, tokens=answer["prompt_tokens"])}
    assert [name for stage, name in rows if stage == "prefill"] == [
        "Q", "K", "V", "scores", "weighted V", "out", "gate", "up", "down", "head"
    ]  # fmt: skip
    for name, work in expected.items():
        assert (rows["prefill", name]["products"], rows["prefill", name]["flop"]) == (work.count, work.flop)
    for stage in ("prefill", "decode"):
        assert sum(row["share"] for row in answer["ledger"] if row["stage"] == stage) == pytest.approx(1)
        for row in answer["ledger"]:
            if row["is_product"]:
                assert row["flop_per_byte"] == pytest.approx(row["flop"] / row["bytes"])


def test_words_go_to_stdout_and_numbers_to_stderr(endless: Path) -> None:
    out = run(endless, "hello", *SAMPLED)
    assert out.returncode == 0
    assert out.stdout.rstrip("\n") == ask(endless, "hello", *SAMPLED)["text"].rstrip("\n")
    assert "tokens in" in out.stderr
    assert "tok/s" in out.stderr
    assert "Cut after 30 tokens (--max-tokens)." in out.stderr


def test_stdin_is_a_prompt(tiny: Path) -> None:
    piped = run(tiny, "-", "--json", "-n", "3", stdin="你好 🙂\n")
    assert json.loads(piped.stdout)["prompt"] == "你好 🙂\n"
    much = b"x" * ((1 << 24) + 1)
    for stdin, words in ((b"", "empty"), (b"abc\xff", "byte 4 is not UTF-8"), (much, "more than")):
        out = run(tiny, "-", stdin=stdin)
        assert out.returncode == 2
        assert words in out.stderr
        assert len(out.stderr.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), ("PROMPT", "--interactive")),
        (("",), ("empty",)),
        (("x" * 400,), ("tokens", "a context of 256 has room for 255")),
        (("hi", "--context", "9"), ("a context of 9 has room for 8",)),
        (("hi", "--context", "999"), ("999", "1 to 256")),
        (("hi", "--context", "0"), ("--context",)),
        (("hi", "--top-p", "0"), ("top_p",)),
        (("hi", "--top-p", "1.5"), ("--top-p",)),
        (("hi", "--min-p", "nan"), ("nan",)),
        (("hi", "--temperature", "nan"), ("nan",)),
        (("hi", "--temperature", "hot"), ("hot",)),
        (("hi", "--top-k", "-1"), ("--top-k",)),
        (("hi", "--repeat-penalty", "0"), ("--repeat-penalty",)),
        (("hi", "--seed", "-1"), ("--seed",)),
        (("hi", "--max-tokens", "0"), ("--max-tokens",)),
        (("hi", "--stop", ""), ("stop",)),
        (("hi", "--show-candidates", "-3"), ("--show-candidates",)),
        (("hi", "--raw", "--system", "x"), ("--raw",)),
        (("hi", "--device", "python"), ("python", "cpu")),
        (("hi", "--device", "tpu"), ("tpu",)),
        (("hi", "--interactive", "--json"), ("--interactive", "--json")),
    ],
    ids=lambda value: " ".join(word[:20] for word in value) or "nothing",
)
def test_bad_input(
    tiny: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["think", "--model", str(tiny), *arguments])
    assert_one_line(ended.value.code, *capsys.readouterr(), *words)


def assert_one_line(code: object, out: str, err: str, *words: str) -> None:
    assert (code, out) == (2, ""), err
    assert len(err.strip().splitlines()) == 1, err
    assert err.startswith("whygpu: ")
    for word in words:
        assert word in err


def test_what_is_no_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes.txt").write_text("not a model")
    Path("lies.gguf").write_text("not a model either")
    Path("empty.gguf").write_bytes(b"")
    Path("folder").mkdir()
    for name in ("notes.txt", "lies.gguf", "empty.gguf", "./folder", "missing.gguf", "smollm2-135"):
        with pytest.raises(SystemExit) as ended:
            main(["think", "hi", "--model", name])
        assert_one_line(ended.value.code, *capsys.readouterr(), name.removeprefix("./"))
    near = pytest.raises(SystemExit)
    with near:
        main(["think", "hi", "--model", "smollm2-135"])
    assert "smollm2-135m" in capsys.readouterr().err


def test_stop_strings_never_show(tiny: Path) -> None:
    text = ask(tiny, "hello", *SAMPLED)["text"]
    cut = text[len(text) // 2 :][:2]
    answer = ask(tiny, "hello", *SAMPLED, "--stop", cut, "--stop", "never said")
    assert answer["text"] == text[: text.find(cut)]
    assert answer["ended"] == "stop"


def test_a_full_context_ends_or_slides(endless: Path) -> None:
    context = ("hello", "--context", "40", "-n", "100", "--temperature", "2")
    ends = run(endless, *context)
    assert "The context of 40 tokens is full" in ends.stderr
    assert "--slide" in ends.stderr
    slid = run(endless, *context, "--slide")
    assert "The context of 40 tokens was full: the oldest were forgotten" in slid.stderr


def test_candidates_are_shown_step_by_step(tiny: Path) -> None:
    out = run(tiny, "hello", "--show-candidates", "4", *SAMPLED[:4], "-n", "3")
    lines = out.stdout.splitlines()
    assert max(cell_len(line) for line in lines) <= 100
    steps = [line for line in lines if line[:6].strip().isdigit()]
    assert [int(line.split()[0]) for line in steps] == [1, 2, 3]
    assert steps[0].split(maxsplit=1)[1] == "hello"
    assert sum("▸" in line for line in lines[1:]) == 3  # what is said, once a step
    assert all("%" in line for line in lines if line.startswith("      "))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_tables_fit_and_are_in_the_language(tiny: Path, language: str) -> None:
    out = run(tiny, "hello", "--ledger", "--lang", language, "-n", "3")
    assert out.returncode == 0, out.stderr
    lines = (out.stdout + out.stderr).splitlines()
    assert max(cell_len(line.rstrip()) for line in lines) <= 100
    words = {"en": ("Prefill", "Decode", "of the FLOP"), "zh": ("预填充", "解码", "占运算量的")}
    for word in words[language]:
        assert word in out.stdout


def test_the_bandwidth_share_comes_from_what_was_measured_before(tiny: Path, tmp_path: Path) -> None:
    """Nothing is measured for it: without a kept roofline there is none."""
    out = run(tiny, "hello", "-n", "3", "--json", "--ledger", WHYGPU_CACHE=str(tmp_path))
    answer = json.loads(out.stdout)
    assert (answer["bandwidth_share"], answer["read_bandwidth"]) == (None, None)
    assert {row["bound"] for row in answer["ledger"]} == {None}
    table = run(tiny, "hello", "-n", "3", "--ledger", WHYGPU_CACHE=str(tmp_path))
    assert "whygpu roofline" in table.stdout
    assert "MBU" not in table.stderr
    from whygpu import measure

    measure.roofline(quick=True)  # kept by an earlier test or run, else six seconds
    roof = measure.kept_roofline()
    assert roof is not None
    answer = ask(tiny, "hello", "-n", "9", "--ledger")
    assert answer["read_bandwidth"] == roof.read_bandwidth
    share = answer["bytes_read_per_token"] * answer["decode_tokens_per_second"] / roof.read_bandwidth
    assert answer["bandwidth_share"] == pytest.approx(share)
    for row in answer["ledger"]:
        if row["bytes"]:
            assert row["bound"] == ("memory" if row["flop_per_byte"] < roof.ridge() else "arithmetic")


@pytest.mark.parametrize("as_json", [False, True])
def test_ctrl_c_keeps_what_was_said(endless: Path, as_json: bool) -> None:
    command = [sys.executable, "-m", "whygpu", "think", "hello", "--model", str(endless), "--slide"]
    command += ["-n", "100000000", "--temperature", "2", "--context", "200", *(["--json"] if as_json else [])]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "LANG": "C.UTF-8"}
    )
    assert process.stdout is not None
    begun = b"" if as_json else os.read(process.stdout.fileno(), 20)
    time.sleep(3 if as_json else 0.2)
    process.send_signal(signal.SIGINT)
    rest, err = process.communicate(timeout=30)
    text = (begun + rest).decode()  # nothing is cut within a character
    assert process.returncode == 130, err
    if as_json:
        assert json.loads(text)["ended"] == "interrupted"
    else:
        assert text.endswith("\n")
        assert "Stopped." in err.decode()
        assert "tok/s" in err.decode()


def test_an_ascii_terminal_gets_question_marks(tiny: Path) -> None:
    out = run(tiny, "hello", *SAMPLED, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert out.returncode == 0, out.stderr


def test_a_reader_that_goes_away_is_no_error(tiny: Path) -> None:
    command = f"{sys.executable} -m whygpu think hello --model {tiny} -n 200 --temperature 2 | head -c 1"
    out = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, check=False)
    assert b"Traceback" not in out.stderr
