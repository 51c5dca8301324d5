"""What the README shows, runs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def test_the_python_of_the_readme_runs(capsys: pytest.CaptureFixture[str]) -> None:
    """On digits and pixels instead of Dominoes and a network, since only the calls are in question."""
    (code,) = blocks("python")
    code = code.replace('"dominoes"', '"digits"').replace('"lite0"', '"identity"').replace("print(", "report = str(")
    rng = np.random.default_rng(0)
    X, y, a = rng.standard_normal((80, 8)), np.arange(80) % 2, np.arange(80) // 2 % 2
    names: dict[str, Any] = {"X": X, "y": y, "a": a, "X_target": X, "y_target": y, "a_target": a, "X_new": X[:3]}
    exec(compile(code, "README.md", "exec"), names)
    assert "worst group" in names["report"]
    assert names["clf"].predict(X[:3]).shape == (3,)


def test_every_command_of_the_readme_exists() -> None:
    words = set(re.findall(r"\bftt ([a-z]+)", "".join(blocks(""))))
    helped = subprocess.run([sys.executable, "-m", "ftt", "--help"], capture_output=True, text=True, check=True).stdout
    offered = set(re.findall(r"^  ([a-z]+) ", helped, flags=re.MULTILINE))
    assert words
    assert words <= offered


def test_every_link_of_the_readme_leads_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        assert target.startswith("http") or (ROOT / target).exists(), target


@pytest.mark.slow
def test_the_one_file_example_shows_the_claim() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "minimal_ftt.py")], capture_output=True, text=True, check=True
    )
    worst = {line[:18].strip(): float(line.split()[-1].rstrip("%")) for line in done.stdout.splitlines()}
    assert worst["ERM"] < worst["initial features"] - 5
    assert worst["Freeze then Train"] > worst["initial features"] - 5
