"""Text from data reaches terminals, spreadsheets and pages as text, whatever is in it."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from ftt.cli.common import print_lines, print_table
from ftt.plain_text import markdown_cell, printable
from ftt.report.charts import chart_of
from ftt.report.formats import as_text
from ftt.report.page import Page, Section, render
from ftt.report.parts import Figure
from ftt.report.tables import TextTable
from ftt.screen import Bars, Lines
from ftt.train import fit
from tests.cli.shell import Shell
from tests.contracts.small import small_data

EVIL = "a\x1b[31m\x1b]0;title\x07\x9b2J\rb[/red][bold]y"
SEEN = r"a\x1b[31m\x1b]0;title\x07\x9b2J\x0db[/red][bold]y"


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Shell:
    return Shell(monkeypatch, capsys, tmp_path)


def test_lines_tables_and_progress_show_escape_sequences_and_markup(capsys: pytest.CaptureFixture[str]) -> None:
    print_lines(EVIL)
    print_table(TextTable(EVIL, (EVIL, "n"), [[EVIL + "\nnext", "1"]]))
    Lines().say(EVIL)
    bars = Bars()
    bars.say(EVIL)
    with bars.progress:
        assert list(bars.track([1], "[/red]" + EVIL, 1, 0)) == [1]
    out, err = capsys.readouterr()
    assert re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", out + err) is None
    assert out.count(SEEN) == 4
    assert err.count(SEEN) >= 2


@pytest.mark.parametrize("text", ["left", "ü – ·", "two\nlines\tand a tab", "[bold]y"])
def test_text_that_commands_nothing_stays_as_it_is(text: str) -> None:
    assert printable(text) == text


def test_error_messages_quote_values_without_obeying_them(shell: Shell) -> None:
    message = shell.refused("run", EVIL)
    assert "\x1b" not in message
    assert r"\x1b[31m" in message


def test_odd_sweep_names_and_homes_are_shown_as_they_are(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "s.toml"
    base = 'dataset = "digits"\nrecipe = "init"\nbackbone = "identity"\nbudget = "smoke"'
    file.write_text(f"name = {json.dumps(EVIL)}\n[base]\n{base}\n[grid]\nseed = [{2**63 - 1}]\n", encoding="utf-8")
    home = tmp_path / "[/red]home\x1b[2J"
    answer = shell("sweep", file, "--home", home, "--workers", 1)
    assert answer.code == 0, answer.err
    for command in ("status", "results", "doctor --store"):
        again = shell(*command.split(), "--home", home)
        assert again.code == 0, again.err
        assert "\x1b" not in again.out + again.err
    assert SEEN in answer.out
    assert str(2**63 - 1) in shell("results", "--home", home, "--format", "csv").out
    assert r"[/red]home\x1b[2J" in shell("status", "--home", home).out


def test_ascii_terminals_get_every_table(tmp_path: Path) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "LANG": "C", "FTT_HOME": str(tmp_path)}
    flags = ["run", "digits", "--recipe", "init", "--backbone", "identity", "--budget", "smoke"]
    command = [sys.executable, "-m", "ftt", *flags]
    done = subprocess.run(command, capture_output=True, env=environment, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert "digits | identity | init" in done.stdout.decode("ascii")
    assert b"\\u" not in done.stdout


def test_csv_holds_no_formulas_and_keeps_numbers() -> None:
    table = pa.table({"=name": ["=cmd|' /C calc'!A0", "@x", "-2", None, "plain"], "n": [-1.5, 2, 3, 4, 5]})
    rows = list(csv.reader(io.StringIO(as_text(table, "csv"))))
    assert [row[0] for row in rows] == ["'=name", "'=cmd|' /C calc'!A0", "'@x", "-2", "", "plain"]
    assert rows[1][1] == "-1.5"


def test_markdown_cells_are_one_line_without_html() -> None:
    table = TextTable("<b>t\n", ("c",), [["<img src=x onerror=alert(1)>\n| a \\| b"]])
    text = table.to_markdown()
    assert "<" not in text
    assert len(text.splitlines()) == 5
    assert markdown_cell("a|b") == "a\\|b"


def test_model_card_keeps_notes_in_their_cells(tmp_path: Path) -> None:
    model = fit(small_data(), "init", "tinyconv")
    text = (model.save(tmp_path / "m", licence="<script>x</script>\n| a | b |") / "README.md").read_text()
    assert "<script" not in text
    assert "| licence | &lt;script&gt;x&lt;/script&gt; \\| a \\| b \\| |" in text


def test_scripts_of_a_page_hold_no_tags(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ftt.report.page.drawing_library", lambda: "")
    chart = chart_of([{"x": "<!--<script></script>"}]).mark_point().encode(x="x:N")
    text = render(Page("t", [], [Section("s", [Figure("h", "what it shows", chart)])]))
    (data,) = re.findall(r'<script type="application/json" id="chart-1-1">(.*?)</script>', text)
    assert "<" not in data
    assert json.loads(data)["data"]["values"] == [{"x": "<!--<script></script>"}]
