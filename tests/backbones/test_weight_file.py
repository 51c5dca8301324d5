"""Weights of a local file: the same features as the network they come from, and nothing but tensors is read."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from ftt import backbones
from ftt.backbones import Backbone
from ftt.backbones.torchvision_guard import ensure_torchvision_imports
from ftt.data import Roots
from ftt.data.inputs import ArrayInputs
from ftt.errors import FttError
from ftt.runs.compose import compose

NAME = "timm:resnet10t"
INPUTS = ArrayInputs(np.random.default_rng(0).integers(0, 256, (2, 32, 32, 3), dtype=np.uint8), "images")


@pytest.fixture(scope="module")
def state() -> dict[str, torch.Tensor]:
    """Weights as a training script leaves them, classifier included."""
    ensure_torchvision_imports()
    import timm

    torch.manual_seed(1)
    tensors: dict[str, torch.Tensor] = timm.create_model("resnet10t", pretrained=False, num_classes=5).state_dict()
    return tensors


def features(backbone: Backbone) -> Any:
    with torch.inference_mode():
        return backbone.eval()(backbone.prepare(INPUTS.read(np.arange(2)))).numpy()


def test_safetensors_and_pth_give_the_same_network_whatever_their_path(
    state: dict[str, torch.Tensor], tmp_path: Path
) -> None:
    save_file(state, tmp_path / "one.safetensors")
    torch.save(
        {"state_dict": {f"module.{name}": value for name, value in state.items()}, "epoch": 3}, tmp_path / "b.pth"
    )
    first, second = (backbones.create(f"{NAME}@{tmp_path / file}", INPUTS) for file in ("one.safetensors", "b.pth"))
    np.testing.assert_array_equal(features(first), features(second))
    assert first.weights_id == second.weights_id
    assert str(tmp_path) not in first.weights_id
    assert not np.array_equal(features(first), features(backbones.create("timm-random:resnet10t", INPUTS)))


def test_old_files_without_batch_counters_are_read(state: dict[str, torch.Tensor], tmp_path: Path) -> None:
    old = {name: value for name, value in state.items() if not name.endswith("num_batches_tracked")}
    save_file(old, tmp_path / "old.safetensors")
    assert backbones.create(f"{NAME}@{tmp_path / 'old.safetensors'}", INPUTS).num_features == 512


def test_the_fingerprint_is_the_content_of_the_file(state: dict[str, torch.Tensor], tmp_path: Path) -> None:
    roots = Roots(tmp_path / "cache", None)
    for file in ("one", "two"):
        save_file(state, tmp_path / f"{file}.safetensors")
    one, two = (backbones.fingerprint(f"{NAME}@{tmp_path / f'{file}.safetensors'}", roots) for file in ("one", "two"))
    assert one == two
    assert str(tmp_path) not in str(one)
    (tmp_path / "two.safetensors").write_bytes(b"other")
    assert backbones.fingerprint(f"{NAME}@{tmp_path / 'two.safetensors'}", roots) != one


class Harm:
    """What a pickle runs when it is loaded."""

    def __reduce__(self) -> tuple[Any, ...]:
        return (exec, ("raise SystemExit('code was run')",))


@pytest.mark.parametrize("ending", ["pth", "pt"])
def test_a_file_that_would_run_code_is_refused(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"harm.{ending}"
    path.write_bytes(pickle.dumps({"state_dict": Harm()}, protocol=2))
    with pytest.raises(FttError, match="cannot be read as tensors"):
        backbones.create(f"{NAME}@{path}", INPUTS)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda s: {**s, "spare": torch.zeros(1)}, "has too many 1 tensors, the first is spare"),
        (lambda s: {k: v for k, v in s.items() if k != "conv1.0.weight"}, "lacks 1 tensors"),
        (lambda s: {**s, "conv1.0.weight": torch.zeros(2)}, "has other shapes of 1 tensors"),
        (lambda s: {**s, "conv1.0.weight": s["conv1.0.weight"] * float("nan")}, "not finite"),
    ],
)
def test_weights_of_another_network_are_refused(
    change: Any, words: str, state: dict[str, torch.Tensor], tmp_path: Path
) -> None:
    save_file(change(state), tmp_path / "w.safetensors")
    with pytest.raises(FttError, match=words):
        backbones.create(f"{NAME}@{tmp_path / 'w.safetensors'}", INPUTS)


def test_a_missing_or_unknown_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(b"x")
    for file, words in (("nowhere.pth", "no such file|cannot|not"), ("w.bin", "unknown kind")):
        with pytest.raises(FttError, match=words):
            backbones.create(f"{NAME}@{tmp_path / file}", INPUTS)


def test_the_flag_joins_architecture_and_file(tmp_path: Path) -> None:
    given = {"dataset": "digits", "recipe": "erm", "backbone": "timm:resnet18"}
    assert compose({**given, "weights": str(tmp_path / "w.pth")}).backbone == f"timm:resnet18@{tmp_path / 'w.pth'}"
    with pytest.raises(FttError, match="needs the architecture"):
        compose({**given, "backbone": "lite0", "weights": "w.pth"})
