"""What identifies the weights of a backbone before they are loaded: content where a name or a path would not do."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from ftt import backbones, registry
from ftt.data import Roots, checksums


def fingerprint(name: str, roots: Roots) -> Any:
    return backbones.fingerprint(name, roots)


@pytest.fixture
def encoder(tmp_path: Path) -> Path:
    """The files of a text encoder; nothing is loaded, so they need not be whole."""
    (tmp_path / "one").mkdir()
    for name in ("config.json", "tokenizer.json", "vocab.txt", "model.safetensors", "README.md"):
        (tmp_path / "one" / name).write_text(name)
    return tmp_path / "one"


@pytest.fixture
def roots(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Roots:
    monkeypatch.setattr(checksums, "SETTLED_NS", -1)
    return Roots(tmp_path / "cache", None)


@pytest.mark.parametrize("name", ["lite0", "identity", "mlp:8", "dense:8x4", "tinyconv:3", "timm-random:resnet18"])
def test_name_is_enough_where_weights_are_pinned_or_drawn_from_a_seed(name: str, roots: Roots) -> None:
    assert fingerprint(name, roots) == name


def test_every_registered_family_can_be_asked(roots: Roots) -> None:
    for family in registry.BACKBONES.entries():
        assert family in str(fingerprint(f"{family}:x", roots))


@pytest.mark.parametrize("file", ["config.json", "tokenizer.json", "vocab.txt", "model.safetensors"])
def test_other_file_of_an_encoder_is_another_fingerprint(file: str, encoder: Path, roots: Roots) -> None:
    before = fingerprint(f"hf:{encoder}", roots)
    (encoder / file).write_text(file.upper())
    assert fingerprint(f"hf:{encoder}", roots) != before


def test_copy_of_an_encoder_has_the_same_fingerprint(encoder: Path, roots: Roots) -> None:
    shutil.copytree(encoder, encoder.parent / "two")
    (encoder / "README.md").write_text("hello")
    first, second = (fingerprint(f"hf:{encoder.parent / name}", roots) for name in ("one", "two"))
    assert first == second != fingerprint(f"hf:{encoder}@64", roots)
    assert str(encoder) not in str(first)
    assert fingerprint(f"hf:{encoder}@128", roots) == first


def test_second_look_reads_no_weights(encoder: Path, roots: Roots, monkeypatch: pytest.MonkeyPatch) -> None:
    first = fingerprint(f"hf:{encoder}", roots)
    monkeypatch.setattr(checksums, "sha256_of", pytest.fail)
    assert fingerprint(f"hf:{encoder}", roots) == first


def test_encoder_of_the_hub_is_identified_by_its_snapshot(
    encoder: Path, roots: Roots, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = tmp_path / "hub"
    snapshot = hub / "models--some--encoder" / "snapshots" / ("0" * 40)
    shutil.copytree(encoder, snapshot)
    (hub / "models--some--encoder" / "refs").mkdir()
    (hub / "models--some--encoder" / "refs" / "main").write_text("0" * 40)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(hub))
    before = fingerprint("hf:some/encoder", roots)
    assert before["name"] == "hf:some/encoder"
    assert before["content"] == fingerprint(f"hf:{encoder}", roots)["content"]
    (snapshot / "model.safetensors").write_text("new")
    assert fingerprint("hf:some/encoder", roots) != before
    assert fingerprint("hf:other/encoder", roots)["content"] is None


def test_published_weights_of_timm_are_identified_by_content_once_they_are_here(
    roots: Roots, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    name = "timm:resnet18.tv_in1k"
    assert fingerprint(name, roots) == {"name": name, "content": None}
    file = tmp_path / "hub" / "models--timm--resnet18.tv_in1k" / "snapshots" / "abc" / "model.safetensors"
    file.parent.mkdir(parents=True)
    file.write_text("weights")
    before = fingerprint(name, roots)
    file.write_text("others!")
    assert before["content"] != fingerprint(name, roots)["content"] != None  # noqa: E711
