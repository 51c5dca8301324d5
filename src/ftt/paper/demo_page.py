"""The demo's table, chart and page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import altair as alt

from ftt.paper.demo_claims import RECIPES, SETTINGS, DemoRow, Noises, plan, verdict
from ftt.report import page
from ftt.report.charts import INK, PALETTE, chart_of, save
from ftt.report.page import Page, Section
from ftt.report.parts import Code, Figure
from ftt.report.tables import TextTable, one_class, percent, signed

COLUMNS = ("core / spurious noise", "features", "worst group", "against initial", "average", "paper", "shows here")


def table(rows: Sequence[DemoRow], dataset: str) -> TextTable:
    """The rows as texts; a rule separates the noise settings."""
    cells: list[list[str]] = []
    for number, row in enumerate(rows):
        if number and row.noises != rows[number - 1].noises:
            cells.append([])
        claim, gain = row.claim, row.gain
        cells.append(
            [
                in_words(row.noises),
                RECIPES[row.recipe] + one_class(row.results),
                percent(row.worst),
                "" if gain is None else signed(gain),
                percent(row.average),
                claim.paper if claim else "",
                "" if claim is None or gain is None else "yes" if claim.holds(gain) else "NO",
            ]
        )
    return TextTable(f"{dataset}: probed accuracy on clean test labels (%)", COLUMNS, cells, left=2)


def in_words(noises: Noises) -> str:
    core, spurious = noises
    return f"{core:.0%} / {spurious:.0%}"


def chart(lines: Sequence[DemoRow]) -> alt.TopLevelMixin:
    """Worst-group accuracy of each kind of features with its interval, one panel per noise setting."""
    rows: list[dict[str, Any]] = []
    for line in lines:
        low, high = line.interval()
        rows.append(
            {
                "setting": f"core noise {line.noises[0]:.0%}, spurious noise {line.noises[1]:.0%}",
                "features": RECIPES[line.recipe],
                "worst": 100 * line.worst,
                "average": 100 * line.average,
                "low": 100 * low,
                "high": 100 * high,
            }
        )
    order = list(RECIPES.values())
    base = chart_of(rows).encode(x=alt.X("features:N", sort=order, title=None, axis=alt.Axis(labelAngle=0)))
    colour = alt.Color("features:N", sort=order, legend=None, scale=alt.Scale(domain=order, range=list(PALETTE[:3])))
    worst = alt.Y("worst:Q", title="worst-group accuracy (%)", scale=alt.Scale(zero=False))
    # Points, not bars: the axis does not start at zero.
    points = base.mark_point(size=140, opacity=1).encode(
        y=worst,
        color=colour,
        tooltip=[
            alt.Tooltip("features:N"),
            alt.Tooltip("worst:Q", format=".1f"),
            alt.Tooltip("average:Q", format=".1f"),
        ],
    )
    whiskers = base.mark_rule(strokeWidth=2).encode(y=alt.Y("low:Q", title=""), y2="high:Q", color=colour)
    numbers = base.mark_text(align="left", dx=12, fontSize=13, color=INK).encode(
        y=worst, text=alt.Text("worst:Q", format=".1f")
    )
    panels = alt.layer(whiskers, points, numbers).properties(width=300, height=260)
    settings = alt.Facet("setting:N", title=None, sort=[r["setting"] for r in rows])
    return panels.facet(facet=settings, columns=len(SETTINGS))


ABOUT = {
    "dominoes": "Real CIFAR-10 cars and trucks (core) above real MNIST zeros and ones (spurious); "
    "EfficientNet-Lite0 with ImageNet weights.",
    "digits": "Embedded handwritten digits: even or odd (core) above a zero or one (spurious); a small network "
    "with random weights. A stand-in for Dominoes, used when that cannot be fetched. With so few images it depends "
    "on the training seed whether ERM learns the shortcut, so the mean of five seeds is shown.",
}
HOW = (
    "Labels are wrong at the rate of the core noise η_core; the shortcut disagrees with the label at the rate of the "
    "spurious noise η_spu. Each kind of features is probed on noisy, balanced data of the target environment and "
    "judged on clean test labels. Lines show 95 % intervals over test images, or over training seeds where there are "
    "several."
)


def takeaway(rows: Sequence[DemoRow]) -> list[str]:
    """What training did to the worst group in each setting, in a sentence each, and the verdict."""
    sentences = []
    for noises in dict.fromkeys(row.noises for row in rows):
        gains = {row.recipe: row.gain for row in rows if row.noises == noises and row.gain is not None}
        if not gains:
            continue
        core, spurious = noises
        which = "noisier than" if core > spurious else "cleaner than"
        parts = " and ".join(f"{RECIPES[name]} {_did(gain)}" for name, gain in gains.items())
        sentences.append(
            f"Where the core is {which} the shortcut (core noise {core:.0%}, spurious noise {spurious:.0%}), "
            f"{parts} on the worst group."
        )
    return [*sentences, verdict(rows) + "."]


def _did(gain: float) -> str:
    return f"{'gained' if gain >= 0 else 'lost'} {100 * abs(gain):.1f} points"


def page_of(rows: Sequence[DemoRow], dataset: str) -> Page:
    """The demo's page."""
    sentences = takeaway(rows)
    alt = " ".join(sentences[:-1]) or f"The worst group of the initial features is at {percent(rows[0].worst)} %."
    figure = Figure("Worst-group accuracy with its 95 % interval", alt, chart(rows), "demo")
    return Page(
        "Freeze then Train: the demo",
        sentences,
        [
            Section("Worst group", [figure]),
            Section("All numbers", [table(rows, dataset)]),
            Section("How it was made", [HOW, *_sizes(rows), Code(_command(rows, dataset))]),
        ],
        subtitle=ABOUT[dataset],
        footer=f"{page.FOOTER} The paper's numbers: Figure 1 and Section 5.2.",
    )


def _sizes(rows: Sequence[DemoRow]) -> list[str]:
    """What each setting was trained on, where the size can be chosen."""
    specs = {row.noises: row.result.spec for row in rows}
    return [
        f"{in_words(noises)}: {size:,} training images, {spec.train.epochs} epochs."
        for noises, spec in specs.items()
        if (size := getattr(spec.data, "train_size", None)) is not None
    ]


def _command(rows: Sequence[DemoRow], dataset: str) -> str:
    small, full = ({spec for line in plan(dataset, full=whole) for spec in line.specs} for whole in (False, True))
    return f"ftt demo --dataset {dataset}{' --full' * any(row.result.spec in full - small for row in rows)}"


def write(rows: Sequence[DemoRow], dataset: str, folder: Path) -> list[Path]:
    """Chart (PNG, SVG) and page (HTML) in one folder."""
    pictures = save(chart(rows), folder, "demo", ("png", "svg"))
    return [*pictures, page.write(folder / "demo.html", page_of(rows, dataset))]
