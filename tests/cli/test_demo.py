"""`ftt demo` from start to end on digits, with what `make demo` installs and nothing else."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ftt.paper import demo_claims
from tests.cli.shell import Shell, no_network

ROOT = Path(__file__).parents[2]
NOT_IN_DEMO = re.findall(r"^NOT_IN_DEMO := (.*)$", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)[0].split()

LEAN = """
import sys
sys.modules.update(dict.fromkeys({absent!r}))
from ftt.paper import demo_claims
demo_claims.SEEDS["digits"] = 1
sys.argv = ["ftt", *{arguments!r}]
from ftt.cli import main
main()
"""


def lean(*arguments: object) -> subprocess.CompletedProcess[str]:
    """A call where what the demo is installed without cannot be imported; one training seed."""
    code = LEAN.format(absent=NOT_IN_DEMO, arguments=[str(word) for word in arguments])
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=900, check=False)


@pytest.mark.slow
def test_demo_reports_every_row_as_it_lands_and_writes_page_pictures_and_numbers(tmp_path: Path) -> None:
    call = ("demo", "--dataset", "digits", "--home", tmp_path)
    done = lean(*call, "--workers", 1)
    assert done.returncode == 0, done.stderr
    folder = tmp_path / "demo" / "digits"
    assert str(folder) in done.stdout
    assert sorted(path.name for path in folder.iterdir()) == ["demo.html", "demo.png", "demo.svg", "results.json"]
    written = json.loads((folder / "results.json").read_text())
    assert "6 runs on digits, 1 at a time" in done.stderr
    landed = re.findall(r"^ *\d+ s +(\S+ / \S+) +(.*?) +[\d.]+(?: \(.*\))?$", done.stderr, flags=re.MULTILINE)
    assert landed == [
        (f"{core:.0%} / {spurious:.0%}", demo_claims.RECIPES[recipe])
        for core, spurious in demo_claims.SETTINGS
        for recipe in demo_claims.RUNNING_ORDER
    ]
    in_table = [(result["spec"]["data"]["core_noise"], result["recipe"].partition("(")[0]) for result in written]
    assert in_table == [(core, recipe) for core, _ in demo_claims.SETTINGS for recipe in demo_claims.RECIPES]
    assert re.search(r"first row after \d+ s, first verdict after \d+ s, all after \d+ s", done.stdout)
    again = json.loads(lean(*call, "--json").stdout)
    assert all(run["from_store"] for run in again["runs"])
    assert "of 4 of the paper's directions showed (one training seed)" in again["verdict"]


def test_demo_without_data_and_network_says_that_it_uses_digits(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    no_network(monkeypatch)
    monkeypatch.setattr("ftt.cli.demo.Show.run", lambda *_: None)
    answer = shell("demo")
    assert answer.code == 0
    assert "the demo uses the embedded digits instead" in answer.err
    assert "digits: probed accuracy" in answer.out


def test_a_command_that_needs_more_than_the_demo_says_how_to_install_it(tmp_path: Path) -> None:
    done = lean("results", "--home", tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: a package that this command needs is not installed")
    assert "pip install" in done.stderr
