"""Every number of the reproduction page is what the published runs give."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ftt.errors import FttError
from ftt.paper.claims import END, START, claims, pages, with_block
from ftt.paper.grid_statistics import ERM, FTT, INITIAL, at, contrast, settings_of, worst_single_run
from ftt.paper.noise_grid import LEVELS
from ftt.paper.published_runs import PublishedTable

DOCS = Path(__file__).parents[2] / "docs"
GRID = PublishedTable.read(DOCS / "results" / "fig1.jsonl")


def test_the_numbers_of_the_pages_are_those_of_the_published_runs() -> None:
    for page, text in pages(DOCS).items():
        assert page.read_text(encoding="utf-8") == text, f"{page.name} is out of date: run `make claims`"


def test_no_number_of_ours_stands_outside_the_block_that_is_made_from_runs() -> None:
    """Accuracies have one decimal; the text around the table may name none."""
    page = (DOCS / "reproduction.md").read_text(encoding="utf-8")
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    assert set(re.findall(r"\d\d\.\d|[+−]\d+\.\d", before + after)) == set()


def test_strata_add_up_to_the_grid() -> None:
    parts = ("η_spu = 0", "η_core > η_spu > 0", "η_core = η_spu > 0", "η_core < η_spu")
    places = [place for part in parts for place in settings_of(LEVELS, part)]
    assert sorted(places) == sorted(settings_of(LEVELS))
    found = [contrast(GRID, FTT, ERM, settings_of(LEVELS, part)) for part in (*parts, "all")]
    sums = [one.mean * len(one.gains) for one in found if one is not None]
    assert sum(sums[:-1]) == pytest.approx(sums[-1])


def test_a_mean_is_that_of_the_runs_in_the_file() -> None:
    records = [json.loads(line) for line in (DOCS / "results" / "fig1.jsonl").read_text().splitlines()]
    place = at(0.2, 0.1)
    here = [record for record in records if record["column"] == place]
    runs = {row: [r["worst_group_accuracy"] for r in here if r["row"] == row] for row in (ERM, FTT)}
    by_hand = sum(runs[FTT]) / len(runs[FTT]) - sum(runs[ERM]) / len(runs[ERM])
    assert GRID.gain(FTT, ERM, place) == pytest.approx(by_hand)


def test_a_single_run_may_lose_more_than_the_mean_of_its_setting() -> None:
    single = worst_single_run(GRID, FTT, INITIAL, LEVELS)
    means = [gain for place in settings_of(LEVELS) if (gain := GRID.gain(FTT, INITIAL, at(*place))) is not None]
    assert single is not None
    assert single[0] <= min(means)


def test_every_claim_names_a_page_that_exists() -> None:
    for claim in claims(DOCS / "results"):
        target = re.search(r"\((.+)\)", claim.page)
        assert target is not None
        assert (DOCS / target[1]).is_file()


def test_a_page_without_marks_is_refused() -> None:
    with pytest.raises(FttError, match="no place for the numbers"):
        with_block("# A page", "numbers")
