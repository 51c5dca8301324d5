"""The paper's claims beside what the published runs show: the numbers of ``docs/reproduction.md``, from its runs.

``make claims`` writes it; a test makes it again and compares, so that no number on the page can differ from the runs.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ftt.atomic import replacing
from ftt.errors import FttError
from ftt.paper import coloured_mnist
from ftt.paper.grid_statistics import (
    ERM,
    FTT,
    INITIAL,
    Contrast,
    at,
    contrast,
    contrast_gains,
    rank_correlation,
    seeds_in_words,
    settings_of,
    worst_single_run,
)
from ftt.paper.noise_grid import LEVELS, contrast_in_words, grid_sentences
from ftt.paper.published_runs import PublishedTable
from ftt.paper.result_table import AVERAGE, METRICS
from ftt.report.tables import percent, signed

START, END = "<!-- numbers: made by `make claims` from the runs in results; do not edit -->", "<!-- end of numbers -->"
HARMS, BETWEEN, HELPS = at(0.2, 0.0), at(0.1, 0.1), at(0.0, 0.2)


@dataclass(frozen=True)
class Claim:
    """One row of the table: what is claimed, what the paper has, what we measured, whether it held, and where."""

    claim: str
    paper: str
    here: str
    held: str
    page: str

    def line(self) -> str:
        return f"| {self.claim} | {self.paper} | {self.here} | {self.held} | {self.page} |"


def claims(results: Path) -> list[Claim]:
    """Every claim whose numbers are in the published runs."""
    return [make(PublishedTable.read(results / f"{name}.jsonl")) for name, make in MADE]


def claims_block(results: Path) -> str:
    """The table of claims as Markdown."""
    head = ["| claim | the paper | here | held? | shown by |", "|---|---|---|---|---|"]
    return "\n".join([*head, *(claim.line() for claim in claims(results))])


def grid_block(results: Path) -> str:
    """What the grid of both noises shows, as a list."""
    table = PublishedTable.read(results / "fig1.jsonl")
    return "\n".join(f"- {sentence}" for sentence in grid_sentences(table, LEVELS))


def with_block(page: str, block: str) -> str:
    """The page with the text between the marks replaced."""
    before, start, rest = page.partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        raise FttError("the page has no place for the numbers", given="no marks", allowed=f"{START} … {END}")
    return f"{before}{start}\n{block}\n{end}{after}"


def pages(docs: Path) -> dict[Path, str]:
    """The pages that hold numbers of published runs, with these numbers as they should be."""
    results = docs / "results"
    blocks = {docs / "reproduction.md": claims_block(results), results / "README.md": grid_block(results)}
    return {page: with_block(page.read_text(encoding="utf-8"), block) for page, block in blocks.items()}


def _order_of_noises(table: PublishedTable) -> Claim:
    gains = contrast_gains(table, ERM, INITIAL, LEVELS)
    most, least = (choose(gains, key=lambda place: gains[place]) for choose in (max, min))
    rank = rank_correlation(table, LEVELS)
    assert rank is not None
    signs = {
        words: [gain for place, gain in gains.items() if place in settings_of(LEVELS, stratum)]
        for words, stratum in (("less", "η_core < η_spu"), ("more", "η_core > η_spu > 0"), ("no", "η_spu = 0"))
    }
    equal = [gains[place] for place in settings_of(LEVELS, "η_core = η_spu > 0") if place in gains]
    holds = rank < -0.7 and min(signs["less"]) > 0 > max(signs["more"])
    return Claim(
        "Training helps probing while η_core < η_spu and harms it beyond (Figure 1)",
        "gain of ERM from +6.7 to −12 points",
        f"from {signed(gains[most])} ({_place(most)}) to {signed(gains[least])} ({_place(least)}) over "
        f"{len(gains)} settings; rank correlation of the gain with η_core − η_spu: {_minus(f'{rank:.2f}')}. "
        f"Positive in {sum(gain > 0 for gain in signs['less'])} of {len(signs['less'])} settings with η_core < η_spu, "
        f"negative in {sum(gain < 0 for gain in signs['more'])} of {len(signs['more'])} with η_core > η_spu > 0. "
        f"A shortcut without noise is a case of its own: {signed(max(signs['no']))} to {signed(min(signs['no']))}, "
        f"also at 0 % / 0 % ({signed(gains[0.0, 0.0])}). At equal noises above 0: {signed(min(equal))} to "
        f"{signed(max(equal))}",
        "yes" if holds else "in part",
        "[fig1](results/fig1.md)",
    )


def _not_lost(table: PublishedTable) -> Claim:
    clean, noisy, less = (
        _contrast(table, stratum) for stratum in ("η_core > η_spu = 0", "η_core > η_spu > 0", "η_core < η_spu")
    )
    kept, single = contrast_gains(table, FTT, INITIAL, LEVELS), worst_single_run(table, FTT, INITIAL, LEVELS)
    assert single is not None
    place = min(kept, key=lambda setting: kept[setting])
    largest = max(clean.gains[clean.largest], noisy.gains[noisy.largest])
    return Claim(
        "FTT does not lose what training would destroy (Section 5.2, appendix)",
        "+4 points over ERM on average where η_core > η_spu, 9 at most",
        f"two populations: {contrast_in_words(clean)} with η_core > η_spu = 0, {contrast_in_words(noisy)} with "
        f"η_core > η_spu > 0. Largest single setting {signed(largest)}. "
        f"Worst change against the initial features {signed(kept[place])} in the mean of a setting ({_place(place)}), "
        f"{signed(single[0])} in a single run ({_place(single[1])}). The price: {contrast_in_words(less)} "
        "with η_core < η_spu",
        "yes, where η_core > η_spu" if noisy.mean > 0 and clean.mean > 0 else "no",
        "[fig1](results/fig1.md)",
    )


def _whole_grid(table: PublishedTable) -> Claim:
    means = {
        (row, metric): statistics.fmean(
            mean for place in settings_of(LEVELS) if (mean := table.mean(row, at(*place), metric)) is not None
        )
        for row in (ERM, FTT)
        for metric in METRICS
    }
    everywhere, noisy = _contrast(table, "all"), _contrast(table, "η_spu > 0")
    gains = [means[FTT, metric] - means[ERM, metric] for metric in METRICS]
    text = ", ".join(
        f"{percent(means[FTT, metric])} against {percent(means[ERM, metric])} ({words})"
        for metric, words in METRICS.items()
    )
    return Claim(
        "Over the whole grid FTT is better than ERM",
        "78.1 against 74.0 (worst group), 78.8 against 74.8: +4.1 and +4.0",
        f"{text}: {signed(gains[0])} and {signed(gains[1])}. All of it: {contrast_in_words(everywhere)}. "
        f"Without the column η_spu = 0: {contrast_in_words(noisy)} ({seeds_in_words(table, LEVELS)})",
        "on average, because of the column η_spu = 0" if everywhere.mean > 3 * noisy.mean else "on average",
        "[fig-dominoes](results/fig-dominoes.md)",
    )


def _fractions(table: PublishedTable) -> Claim:
    columns = (HARMS, BETWEEN, HELPS)
    over = {
        row: statistics.fmean(_known(table.gain(row, "p = 0", column)) for column in columns)
        for row in table.rows
        if row != "p = 0"
    }
    best = {column: max(table.rows, key=lambda row: _known(table.mean(row, column))) for column in columns}
    least, most = min(over.values()), max(over.values())
    ranked = [float(best[column].removeprefix("p = ")) for column in (HELPS, BETWEEN, HARMS)]
    return Claim(
        "FTT is not sensitive to p; the best p grows with η_core (Table 3)",
        "every p in [.25, .75] beats ERM by 1.7 on Waterbirds",
        f"p ≥ .25 against ERM, mean over three noises: {signed(least)} to {signed(most)}; "
        + ", ".join(f"best {best[column]} at {_short(column)}" for column in columns)
        + f". Where the core is clean: {percent(_known(table.mean('p = 0', HELPS)))} at p = 0, "
        f"{percent(_known(table.mean('p = 0.25', HELPS)))} at p = .25. One training seed",
        "yes" if least > 0 and ranked == sorted(ranked) else "in part",
        "[table-p](results/table-p-dominoes.md)",
    )


def _shift(table: PublishedTable) -> Claim:
    means = {
        row: statistics.fmean(_known(table.mean(row, column, AVERAGE)) for column in table.columns)
        for row in table.rows
    }
    ftt = means.pop(FTT)
    others = {row: mean for row, mean in means.items() if row != INITIAL}
    best = max(others, key=lambda row: others[row])
    return Claim(
        "FTT helps under distribution shift without an explicit shortcut (Table 2)",
        "PACS: FTT 94.1, GroupDRO 93.0, ERM 91.7, IRM 72.4",
        f"FTT {percent(ftt)}, "
        + ", ".join(f"{row} {percent(means[row])}" for row in sorted(means, key=lambda r: -means[r])),
        f"{'yes' if ftt > others[best] else 'no'}: {signed(ftt - others[best])} against the best other, {best} "
        "(one training seed; 800 to 2,000 test images per domain)",
        "[table-shift](results/table-shift.md)",
    )


def _dimensions(table: PublishedTable) -> Claim:
    def mean(row: str) -> float:
        return statistics.fmean(_known(table.mean(row, column)) for column in table.columns)

    def seconds(row: str) -> float:
        return statistics.median(
            float(r["seconds"]["probe"]) for column in table.columns for r in table.at(row, column)
        )

    enough = next(row for row in table.rows if mean(row) >= mean("all") - 0.005)
    return Claim(
        "A few features are enough to probe on (Section 5.3)",
        "64 dimensions as good as all, 3.9 times faster",
        f"64 of 1,280 dimensions: {percent(mean('64'))} against {percent(mean('all'))} with all (worst group, mean of "
        f"{len(table.columns)} noises), probing {seconds('all') / seconds('64'):.1f} times faster; the fewest within "
        f"half a point of all: {enough}, {seconds('all') / seconds(enough):.1f} times faster",
        "yes" if mean("64") >= mean("all") - 0.005 else f"in part: {enough} are needed here",
        "[fig-dims](results/fig-dims.md)",
    )


def _robust(table: PublishedTable) -> Claim:
    rows = ("IRM (halves)", "CVaR-DRO", "GroupDRO", "JTT")
    changes = [_known(table.gain(row, INITIAL, HARMS)) for row in rows]
    against = [_known(table.gain(row, ERM, HARMS)) for row in rows]
    return Claim(
        "Robust training is misled by noise (Section 5.2)",
        "JTT and CVaR-DRO 10 points below ERM on Waterbirds",
        f"at 20 % / 0 % on Dominoes IRM, CVaR-DRO, GroupDRO and JTT end {signed(min(changes))} to "
        f"{signed(max(changes))} from the initial features, {signed(min(against))} to {signed(max(against))} from ERM "
        "(final epoch, two training seeds)",
        "in part: none helps, none is much worse than ERM" if max(changes) < 0 else "no",
        "[recipes](results/recipes.md)",
    )


def _any_copy(table: PublishedTable) -> Claim:
    rows = {"PCA": FTT, "a random projection": "FTT, random projection", "the released basis": "FTT, released basis"}
    means = {words: _known(table.mean(row, HARMS)) for words, row in rows.items()}
    spread = max(means.values()) - min(means.values())
    return Claim(
        "It is PCA that preserves the features (Section 4)",
        "–",
        "FTT at 20 % / 0 % of Dominoes: " + ", ".join(f"{percent(mean)} with {words}" for words, mean in means.items()),
        "no: any frozen copy does it here" if spread < 0.02 else "in part",
        "[recipes](results/recipes.md)",
    )


def _along_core(table: PublishedTable) -> Claim:
    gains = [_known(table.gain(ERM, INITIAL, column)) for column in table.columns]
    return Claim(
        "The gain of ERM falls with η_core (Figure 4)",
        "on Waterbirds and CelebA",
        f"along η_spu = 10 % of Dominoes: from {signed(gains[0])} at 0 % to {signed(gains[-1])} at 20 % core noise",
        "yes, on Dominoes" if gains == sorted(gains, reverse=True) else "in part: not at every step",
        "[fig4](results/fig4-dominoes.md)",
    )


def _texts(table: PublishedTable) -> Claim:
    def three(column: str) -> str:
        return ", ".join(
            f"{words} {percent(_known(table.mean(row, column)))}"
            for words, row in (("initial", INITIAL), ("ERM", ERM), ("FTT", FTT))
        )

    return Claim(
        "The same for texts (not in the paper)",
        "–",
        f"worst group at 20 % / 0 %: {three(HARMS)}; at 0 % / 20 %: {three(HELPS)}",
        "the directions, but at 20 % / 0 % within noise (500 test texts per group, one training seed)",
        "[reviews](results/reviews.md)",
    )


def _coloured(table: PublishedTable) -> Claim:
    columns = [coloured_mnist.name_of(*pair) for pair in coloured_mnist.NOISES]
    trained = coloured_mnist.without_target(columns[0])
    named = {"initial": "init", "ERM": "erm", "FTT": "ftt"}
    parts = [
        f"{column}: {', '.join(f'{words} {percent(_known(table.mean(row, column)))}' for words, row in named.items())}"
        for column in columns
    ]
    heads = ", ".join(
        f"{words} {percent(_known(table.mean(row, trained, AVERAGE)))} (known: {coloured_mnist.KNOWN[row]})"
        for words, row in (("ERM", "erm"), ("IRM", "irm"), ("ERM without colours", coloured_mnist.ORACLE))
    )
    harmed = _known(table.gain("erm", "init", columns[0])) < 0
    return Claim(
        "Training harms where the core is noisier, on coloured MNIST (not in the paper)",
        "–",
        f"worst group after probing, {'; '.join(parts)}. Without target data, by the metric of Arjovsky et al.: "
        f"{heads}",
        "yes"
        if harmed
        else "no: pixels are weak features, and training improves them whatever the noises are; FTT adds "
        f"{signed(_known(table.gain('ftt', 'erm', columns[0])))} to ERM where the labels are noisier",
        "[table-cmnist](results/table-cmnist.md)",
    )


MADE: Sequence[tuple[str, Callable[[PublishedTable], Claim]]] = (
    ("fig1", _order_of_noises),
    ("fig1", _not_lost),
    ("fig-dominoes", _whole_grid),
    ("table-p-dominoes", _fractions),
    ("table-shift", _shift),
    ("fig-dims", _dimensions),
    ("recipes", _robust),
    ("recipes", _any_copy),
    ("fig4-dominoes", _along_core),
    ("reviews", _texts),
    ("table-cmnist", _coloured),
)


def _contrast(table: PublishedTable, stratum: str) -> Contrast:
    found = contrast(table, FTT, ERM, settings_of(LEVELS, stratum))
    assert found is not None
    return found


def _known(value: float | None) -> float:
    if value is None:
        raise FttError("a published table has a gap", given="no runs of a cell", allowed="runs of every cell")
    return value


def _place(setting: tuple[float, float]) -> str:
    return " / ".join(f"{100 * noise:g} %" for noise in setting)


def _short(column: str) -> str:
    return column.replace("core ", "").replace(", spurious ", " / ").replace("%", " %")


def _minus(number: str) -> str:
    return number.replace("-", "−")


if __name__ == "__main__":
    for page, text in pages(Path(sys.argv[1])).items():
        with replacing(page) as scratch:
            scratch.write_text(text, encoding="utf-8")
