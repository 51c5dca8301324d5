"""`--deterministic` computes with kernels that do not depend on the processor."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ftt.errors import FttError
from ftt.threads import KERNELS, pin_kernels

RUN = ("run", "digits", "--recipe", "erm", "--budget", "smoke", "--threads", "1", "--deterministic", "--json")


def result(home: Path, **environment: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "ftt", *RUN, "--home", str(home)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.slow
def test_kernels_of_the_environment_do_not_change_a_deterministic_run(tmp_path: Path) -> None:
    one = result(tmp_path / "one")
    other = result(tmp_path / "two", ATEN_CPU_CAPABILITY="default", OPENBLAS_CORETYPE="Nehalem")
    assert one["environment"]["instructions"] == "AVX2"
    for name in ("probe", "train_log", "by_group", "environment"):
        assert one[name] == other[name], name


def test_too_late_is_an_error_that_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", sys)
    for name in KERNELS:
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(FttError, match="has happened already") as told:
        pin_kernels()
    assert "MKL_CBWR=COMPATIBLE" in str(told.value.allowed)
