"""`ftt reproduce` as a user calls it: a table, a page, a JSON object; nothing is measured twice."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ftt import registry
from ftt.registry import Entry
from tests.cli.shell import Answer, Shell

HERE = "tests.cli.small_experiment"


@pytest.fixture(autouse=True)
def own_experiments(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("small", "failing"):
        monkeypatch.setitem(registry.EXPERIMENTS._entries, name, Entry(f"{HERE}:{name.upper()}", "of a few seconds"))


def reproduce(shell: Shell, name: str, *arguments: object) -> Answer:
    return shell("reproduce", name, "--budget", "smoke", "--workers", 1, "--threads", 1, *arguments)


def test_the_table_is_printed_with_what_was_reduced_and_stored_runs_are_not_repeated(shell: Shell) -> None:
    first = reproduce(shell, "small")
    assert first.code == 0, first.err
    assert "small: 4 runs, 0 of them already in the store" in first.err
    assert "at most about" in first.err
    for part in (
        "Does it run?",
        "worst group accuracy in %",
        "core 20%",
        "(1×1)",
        "reduced against the paper: everything",
    ):
        assert part in first.out
    again = reproduce(shell, "small")
    assert "4 runs, 4 of them already in the store" in again.err
    assert again.out == first.out


def test_json_is_one_object_with_tables_and_the_runs_behind_them(shell: Shell) -> None:
    made = json.loads(
        reproduce(shell, "small", "--seeds", 2, "--probe-seeds", 2, "--json").out, parse_constant=pytest.fail
    )
    assert (made["name"], made["budget"], made["failed"], made["files"]) == ("small", "smoke", {}, [])
    assert [table["title"] for table in made["tables"]] == ["worst group accuracy in %", "average accuracy in %"]
    assert len(made["runs"]) == 4 * 2
    assert {run["seed"] for run in made["runs"]} == {0, 1}
    assert all(len(run["probe"]["seeds"]) == 2 for run in made["runs"])
    values = {(run["row"], run["column"]): run["worst_group_accuracy"] for run in made["runs"] if run["seed"] == 0}
    assert all("(2×2)" in cell for table in made["tables"] for row in table["rows"] for cell in row[1:])
    assert set(values) == {(row, column) for row in ("init", "ftt") for column in ("core 0%", "core 20%")}


def test_out_gets_the_page_and_the_runs_and_their_paths_are_printed(shell: Shell) -> None:
    out = shell.folder / "out"
    answer = reproduce(shell, "small", "--out", out)
    assert sorted(path.name for path in out.iterdir()) == ["small.jsonl", "small.md"]
    assert str(out / "small.md") in answer.out
    page = (out / "small.md").read_text()
    assert "`ftt reproduce small --budget smoke`" in page
    runs: list[Any] = [json.loads(line) for line in (out / "small.jsonl").read_text().splitlines()]
    assert len(runs) == 4
    for run in runs:
        assert f"{100 * run['worst_group_accuracy']:.1f} (1×1)" in page


def test_published_runs_fill_the_table_of_an_empty_store_and_are_published_again_as_they_were(shell: Shell) -> None:
    out = shell.folder / "out"
    first = reproduce(shell, "small", "--out", out)
    lines = (out / "small.jsonl").read_text().splitlines(keepends=True)
    (out / "small.jsonl").write_text("".join(lines[1:]))
    elsewhere = (*("--home", shell.folder / "elsewhere"), *("--published", out))
    assert json.loads(reproduce(shell, "small", *elsewhere, "--dry-run", "--json").out)["runs"] == 1
    again = reproduce(shell, "small", *elsewhere, "--out", shell.folder / "again")
    assert f"3 more are published in {out}" in again.err
    assert len(list((shell.folder / "elsewhere" / "runs").glob("*/result.json"))) == 1
    assert again.out.partition("reduced")[0] == first.out.partition("reduced")[0]
    assert (shell.folder / "again" / "small.jsonl").read_text().splitlines(keepends=True)[1:] == lines[1:]


@pytest.mark.parametrize(("text", "words"), [("", "small.jsonl, line 1"), ("{}", "'run_id' is missing")])
def test_published_runs_that_cannot_be_read_are_refused(text: str, words: str, shell: Shell) -> None:
    (shell.folder / "out").mkdir()
    assert "there are no published runs" in shell.refused("reproduce", "small", "--published", shell.folder / "out")
    (shell.folder / "out" / "small.jsonl").write_text(text + "\n")
    assert words in shell.refused("reproduce", "small", "--published", shell.folder / "out")


def test_a_failing_run_leaves_its_cell_empty_and_ends_with_exit_code_1(shell: Shell) -> None:
    answer = reproduce(shell, "failing", "--out", shell.folder / "out")
    assert answer.code == 1
    assert "diverged" in answer.out
    assert "missing" in (shell.folder / "out" / "failing.md").read_text()
    told = reproduce(shell, "failing", "--json")
    assert told.code == 1
    made = json.loads(told.out)
    assert len(made["runs"]) == 1
    (error,) = made["failed"].values()
    assert "diverged" in error


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("figg1",), "did you mean 'fig1'"),
        (("fig1", "--budget", "tiny"), "cpu, paper, smoke"),
        (("fig1", "--dataset", "dominos"), "did you mean 'dominoes'"),
        (("fig3", "--dataset", "digits"), "has its own data"),
        (("table-main", "--budget", "paper", "--dataset", "dominoes"), "published setting of dominoes"),
        (("small", "--on", "mars"), "local, ray"),
    ],
    ids=" ".join,
)
def test_a_request_that_cannot_be_met_ends_with_two_and_words(
    arguments: tuple[str, ...], words: str, shell: Shell
) -> None:
    assert words in shell.refused("reproduce", *arguments)


def test_a_figure_of_the_paper_without_runs_prints_its_numbers_beside_the_closed_form(shell: Shell) -> None:
    answer = shell("reproduce", "fig3", "--budget", "smoke")
    assert answer.code == 0
    assert "closed form" in answer.out
    assert "here: after retraining" in answer.out


@pytest.mark.slow
def test_a_table_of_the_paper_runs_at_the_smoke_budget(shell: Shell) -> None:
    answer = reproduce(shell, "fig4", "--dataset", "dominoes", "--out", shell.folder / "out")
    assert answer.code == 0, answer.err
    assert list((shell.folder / "out").glob("fig4*.md"))
    assert "the paper: In both data sets the gain of ERM falls" in answer.out
