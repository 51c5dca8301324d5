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


def run_with(devices: int, recipe: str, home: Path) -> dict[str, Any]:
    command = [str(FTT), "run", "digits", "--recipe", recipe, "--backbone", "tinyconv", "--core-noise", "0.2"]
    command += ["--epochs", "2", "--batch-size", "100", "--accelerator", "cpu", "--devices", str(devices), "--json"]
    environment = {**os.environ, "FTT_HOME": str(home), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, "--threads", "1"], capture_output=True, text=True, timeout=300, check=False, env=environment
    )
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result


@pytest.mark.slow
@pytest.mark.parametrize("recipe", ["erm", "ftt"])
def test_two_processes_agree_with_one_at_the_same_global_batch(recipe: str, tmp_path: Path) -> None:
    """640 rows in batches of 100 leave an uneven last batch of 40, split in two as well."""
    run_with(1, recipe, tmp_path / "one")
    run_with(2, recipe, tmp_path / "two")
    (one,), (two,) = (list((tmp_path / n / "artifacts" / "trained").glob("*/*.safetensors")) for n in ("one", "two"))
    assert one.name == two.name
    expected, got = load_file(one), load_file(two)
    for key, value in expected.items():
        np.testing.assert_allclose(got[key], value, atol=1e-5, err_msg=key)


@pytest.mark.slow
def test_a_loss_over_the_whole_batch_is_refused_on_two_processes(tmp_path: Path) -> None:
    command = [str(FTT), "run", "digits", "--recipe", "cvar-dro", "--backbone", "tinyconv", "--epochs", "1"]
    environment = {**os.environ, "FTT_HOME": str(tmp_path), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, "--accelerator", "cpu", "--devices", "2"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env=environment,
    )
    assert done.returncode == 2
    assert "needs whole batches" in done.stderr
    assert "Traceback" not in done.stderr
