"""`ftt theory`: tables, one JSON object, pages and pictures."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from ftt.cli.theory import app
from ftt.report.theory_pages import toy_page
from ftt.report.typeset import in_html
from ftt.theory import figure_3

SMALL = ["--d1", "8", "--d2", "4", "--k", "2", "--m", "4", "--p", "0.5"]
COMMANDS = [
    ["flow", *SMALL, "--t", "100", "--points", "8"],
    ["bounds", "--settings", "2", "--seeds", "1"],
    ["toy"],
    ["phase", "--size", "3", *SMALL, "--t", "100", "--jobs", "1"],
]


@pytest.fixture(scope="module", params=COMMANDS, ids=lambda command: command[0])
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any]]:
    """Name and JSON object of one command; pictures take most of the time, so that each runs once."""
    folder = tmp_path_factory.mktemp("theory") / "pictures"
    result = CliRunner().invoke(app, [*request.param, "--json", "--out", str(folder)])
    assert result.exit_code == 0, result.output
    return request.param[0], json.loads(result.stdout)


def test_json_is_one_object_and_names_files_that_exist(ran: tuple[str, dict[str, Any]]) -> None:
    name, found = ran
    assert found["command"] == f"theory {name}"
    endings = [Path(name).suffix for name in found["files"]]
    assert set(endings) == {".png", ".svg", ".html"}
    assert all(Path(name).stat().st_size > 1000 for name in found["files"])


def test_table_and_paths_are_printed_and_ftt_home_is_honoured(tmp_path: Path) -> None:
    result = CliRunner(env={"FTT_HOME": str(tmp_path)}).invoke(app, ["toy"])
    assert result.exit_code == 0
    assert "retrained" in result.stdout
    assert str(tmp_path / "theory" / "toy.png") in result.stdout


def test_page_has_a_title_findings_from_the_numbers_and_alt_text(ran: tuple[str, dict[str, Any]]) -> None:
    found = ran[1]
    (page,) = (Path(name) for name in found["files"] if name.endswith(".html"))
    text = page.read_text()
    prose = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    title = re.search("<h1>(.+)</h1>", prose)
    assert title is not None
    assert len(title.group(1)) > 20
    assert all(str(in_html(finding)) in prose for finding in found["findings"])
    assert re.search(r"\d", found["findings"][0])
    assert "η_" not in prose
    described = re.findall(r'role="img" aria-label="([^"]*)"', prose)
    assert described
    assert all(len(words) > 40 and re.search(r"\d", words) for words in described)


def test_finding_of_figure_3_states_the_two_ratios() -> None:
    flows = figure_3(0.3, 0.9)
    assert all(f"{each.ratio:.3g} times" in toy_page(flows).findings[0] for each in flows)


def test_same_seed_same_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ftt.report.theory_pages.TheoryPage.write", lambda *_: [])  # pictures take most of the time
    runs = [
        json.loads(CliRunner().invoke(app, [*COMMANDS[0], "--seed", seed, "--json", "--out", str(tmp_path)]).stdout)
        for seed in ("1", "1", "2")
    ]
    assert runs[0]["ftt"]["ratio"] == runs[1]["ftt"]["ratio"]
    assert runs[0]["ftt"]["ratio"] != runs[2]["ftt"]["ratio"]


def test_importing_the_command_imports_no_numbers_and_no_charts() -> None:
    code = (
        "import sys, ftt.cli.theory; print([m for m in ('numpy', 'altair', 'scipy', 'rich.table') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "numpy" not in done.stdout
    assert "altair" not in done.stdout
    assert "scipy" not in done.stdout
