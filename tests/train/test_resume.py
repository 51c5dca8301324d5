"""A training that is killed at any moment goes on and ends in the same bits."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from safetensors.numpy import load_file
from tests.heard import Heard

from ftt.data.digits import Digits
from ftt.methods.jtt import JTT
from ftt.progress import shown_on
from ftt.recipe import Recipe, preset
from ftt.result import Result
from ftt.runs.runner import run_spec
from ftt.spec import Spec, Training
from ftt.store import Home
from ftt.train.checkpoint import CheckpointFile, Position, Snapshot

RECIPES = {
    "erm": preset("erm"),
    "jtt": Recipe(None, JTT(identify_epochs=2, upweight=3)),
    "ftt": preset("ftt"),
    "lp-ft": preset("lp-ft"),
    "target": preset("target"),
    "taught": preset("taught"),
    "two-teachers": preset("two-teachers"),
}
TRAINING = Training(epochs=8, batch_size=64, schedule="drop", drop_after=4)
CASES = {
    **{name: (recipe, TRAINING) for name, recipe in RECIPES.items()},
    "ftt, best epoch": (RECIPES["ftt"], TRAINING.replace(select="worst-group")),
}
BEFORE = {"taught": ("erm",), "two-teachers": ("erm", "target")}
"""What is trained before the kills begin, so that they hit the student."""


def trained(home: Path) -> dict[str, npt.NDArray[Any]]:
    paths = (home / "artifacts" / "trained").glob("*/*.safetensors")
    return {f"{path.stem} {name}": value for path in paths for name, value in load_file(path).items()}


def without_times(result: Result) -> Result:
    return replace(result, seconds={})


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_five_kills_change_no_bit_of_weights_and_result(name: str, tmp_path: Path) -> None:
    recipe, training = CASES[name]
    spec = Spec(data=Digits(core_noise=0.2), backbone="tinyconv", recipe=recipe, train=training)
    (tmp_path / "spec.json").write_text(json.dumps(spec.describe()))
    torch.set_num_threads(1)
    for other in BEFORE.get(name, ()):
        run_spec(replace(spec, recipe=preset(other)), Home(tmp_path / "killed"))
    driver = Path(__file__).with_name("resume_driver.py")
    command = [sys.executable, str(driver), str(tmp_path / "spec.json"), str(tmp_path / "killed"), "5"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) == 5
    whole = run_spec(spec, Home(tmp_path / "whole"))
    killed = Home(tmp_path / "killed").runs.find(whole.run)
    assert killed is not None
    assert without_times(killed) == without_times(whole)
    expected, got = trained(tmp_path / "whole"), trained(tmp_path / "killed")
    assert expected.keys() == got.keys()
    for key, value in expected.items():
        np.testing.assert_array_equal(got[key], value, err_msg=key)
    assert not list((tmp_path / "killed").glob("checkpoints/*/*.safetensors")), "finished trainings leave no checkpoint"


def test_a_damaged_checkpoint_falls_back_to_the_one_before(tmp_path: Path) -> None:
    file = CheckpointFile(tmp_path)
    for epoch in (1, 2):
        file.save(Snapshot({"w": torch.full((3,), float(epoch))}, Position(epoch=epoch)))
    file.last.write_bytes(file.last.read_bytes()[:20])
    snapshot = file.load()
    assert snapshot is not None
    assert snapshot.position.epoch == 1
    assert snapshot.tensors["w"].tolist() == [1.0, 1.0, 1.0]


def test_no_flipped_byte_of_a_checkpoint_is_resumed_from(tmp_path: Path) -> None:
    file = CheckpointFile(tmp_path)
    for epoch in (1, 2):
        file.save(Snapshot({"w": torch.full((3,), float(epoch))}, Position(epoch=epoch)))
    whole = file.last.read_bytes()
    for place in range(len(whole)):
        file.last.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        snapshot, heard = None, Heard()
        with shown_on(heard):
            snapshot = file.load()
        assert snapshot is not None
        assert snapshot.tensors["w"].tolist() == [float(snapshot.position.epoch)] * 3
        assert snapshot.position.epoch == 2 or "is damaged" in heard.said[0]


def test_training_restarts_where_both_checkpoints_are_damaged_and_says_so(tmp_path: Path) -> None:
    whole, home = tmp_path / "whole", Home(tmp_path / "home")
    spec = Spec(data=Digits(), backbone="identity", recipe=preset("erm"), train=Training(epochs=1))
    wanted = run_spec(spec, Home(whole))
    (artifact,) = (whole / "artifacts" / "trained").glob("*/*.safetensors")
    file = CheckpointFile(home.checkpoint_folder(artifact.stem))
    for _ in range(2):
        file.save(Snapshot({"w": torch.zeros(1)}, Position()))
    for path in (file.last, file.previous):
        path.write_bytes(path.read_bytes()[:-1])
    with shown_on(heard := Heard()):
        assert without_times(run_spec(spec, home)) == without_times(wanted)
    said = [line for line in heard.said if "is damaged" in line]
    assert ["the one before is used" in said[0], "training restarts" in said[1]] == [True, True]


def test_without_a_checkpoint_there_is_nothing_to_go_on_from(tmp_path: Path) -> None:
    assert CheckpointFile(tmp_path).load() is None


def test_momentum_lies_in_memory_as_its_parameter_does(tmp_path: Path) -> None:
    """Weights in channels_last, as in every image backbone here; the file holds them in plain order."""
    from ftt.train.checkpoint import optimizer_tensors, restore_optimizer
    from ftt.train.loop import make_optimizer

    def network() -> torch.nn.Module:
        torch.manual_seed(0)
        net: torch.nn.Module = torch.nn.Conv2d(3, 5, 3)
        return net.to(memory_format=torch.channels_last)  # type: ignore[call-overload, no-any-return]

    def step(net: torch.nn.Module, chosen: torch.optim.Optimizer) -> None:
        chosen.zero_grad()
        net(torch.linspace(-1, 1, 192).view(1, 3, 8, 8)).square().sum().backward()
        chosen.step()

    first = network()
    own = make_optimizer(first, Training())
    step(first, own)
    file = CheckpointFile(tmp_path)
    file.save(Snapshot({**first.state_dict(), **optimizer_tensors(own)}, Position()))
    snapshot = file.load()
    assert snapshot is not None
    second = network()
    second.load_state_dict({name: snapshot.tensors[name] for name in ("weight", "bias")})
    other = make_optimizer(second, Training())
    restore_optimizer(other, snapshot.tensors)
    step(first, own)
    step(second, other)
    for name, value in first.state_dict().items():
        assert torch.equal(second.state_dict()[name], value), name


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_an_optimizer_is_restored_to_the_same_next_step(optimizer: str, tmp_path: Path) -> None:
    from ftt.train.checkpoint import optimizer_tensors, restore_optimizer
    from ftt.train.loop import make_optimizer

    def steps(net: torch.nn.Linear, chosen: torch.optim.Optimizer, count: int) -> None:
        for number in range(count):
            chosen.zero_grad()
            net(torch.full((2, 3), float(number))).sum().backward()
            chosen.step()

    training = Training(optimizer=optimizer, lr=0.1)
    torch.manual_seed(0)
    first = torch.nn.Linear(3, 1)
    own = make_optimizer(first, training)
    steps(first, own, 3)
    file = CheckpointFile(tmp_path)
    file.save(Snapshot({**first.state_dict(), **optimizer_tensors(own)}, Position()))
    snapshot = file.load()
    assert snapshot is not None
    second = torch.nn.Linear(3, 1)
    second.load_state_dict({name: snapshot.tensors[name] for name in ("weight", "bias")})
    other = make_optimizer(second, training)
    restore_optimizer(other, snapshot.tensors)
    steps(first, own, 2)
    steps(second, other, 2)
    assert torch.equal(first.weight, second.weight)
