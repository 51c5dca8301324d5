"""Two processes give what one gives."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

FTT = Path(sys.executable).with_name("ftt")


def run_with(devices: int, recipe: str, home: Path, backbone: str, batch_size: int) -> dict[str, Any]:
    command = [str(FTT), "run", "digits", "--recipe", recipe, "--backbone", backbone, "--core-noise", "0.2"]
    command += ["--epochs", "2", "--batch-size", str(batch_size), "--accelerator", "cpu", "--devices", str(devices)]
    environment = {**os.environ, "FTT_HOME": str(home), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, "--threads", "1", "--json"],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def assert_two_agree_with_one(recipe: str, folder: Path, backbone: str, batch_size: int, within: float = 1e-5) -> None:
    run_with(1, recipe, folder / "one", backbone, batch_size)
    run_with(2, recipe, folder / "two", backbone, batch_size)
    (one,), (two,) = (list((folder / n / "artifacts" / "trained").glob("*/*.safetensors")) for n in ("one", "two"))
    assert one.name == two.name
    expected, got = load_file(one), load_file(two)
    for key, value in expected.items():
        np.testing.assert_allclose(got[key], value, atol=within, err_msg=key)


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["erm", "ftt"])
def test_two_processes_agree_with_one_at_the_same_global_batch(recipe: str, tmp_path: Path) -> None:
    """640 rows in batches of 99: processes differ by one row, and the last batch has 46."""
    assert_two_agree_with_one(recipe, tmp_path, "identity", 99)


@pytest.mark.slow
def test_two_processes_agree_with_one_in_a_network_but_for_the_kinks_of_its_activations(tmp_path: Path) -> None:
    """Rounding decides on which side of a kink a ReLU is, which moves weights by some 1e-4 on some processors.

    Training moves them by some 1e-1, and gradients that were not averaged would, too.
    """
    assert_two_agree_with_one("ftt", tmp_path, "tinyconv", 99, within=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["cvar-dro", "group-dro", "irm"])
def test_a_loss_over_the_whole_batch_is_the_same_on_two_processes(recipe: str, tmp_path: Path) -> None:
    """On linear features, which have no kinks."""
    assert_two_agree_with_one(recipe, tmp_path, "identity", 99)
