"""The page of any runs, from top to bottom; what needs data or artifacts is passed in by whoever has them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ftt.params import Json
from ftt.report.cases import AVERAGE, CELL, Case, Cases, best_of, difference, said
from ftt.report.formats import Strong, as_csv
from ftt.report.page import Page, Section
from ftt.report.parts import Code, Downloads, Facts, Folded, Link, Notes
from ftt.report.run_charts import MOST_PANELS, curve_figures, group_figure, noise_figures, training_figure
from ftt.report.tables import TextTable, one_class, percent, result_table, signed
from ftt.report.takeaway import takeaway
from ftt.result import Result
from ftt.store.query import row_of

MOST_SPECS = 12
"""Specs that are folded into a page; of more runs they are in the download."""


@dataclass(frozen=True)
class Extras:
    """What a page shows besides results.

    Attributes
    ----------
    about : sequence
        Parts about the data: sentences, tables, examples of every group.
    mistakes : sequence
        Parts about test rows that were classified wrongly.
    command : str
        The command that makes the page again.
    commands : dict of str to str
        The command of a run, by its id.
    notes : sequence of str
        What the reader should know: runs that failed or are missing.
    """

    about: Sequence[Any] = ()
    mistakes: Sequence[Any] = ()
    command: str = ""
    commands: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()


def run_page(results: Sequence[Result], extras: Extras | None = None, title: str = "") -> Page:
    """The page of one run, of several recipes, or of hundreds of runs."""
    cases, extras = Cases.of(results), extras or Extras()
    sections = [
        Section("The data", extras.about) if extras.about else None,
        Section("Accuracy by group", group_parts(cases)),
        Section("All runs", [comparison_table(cases), HOW_TO_READ]) if len(cases.cases) > 1 else None,
        _section("Over the noises and other parameters", [*noise_figures(cases), *curve_figures(cases)]),
        _section("Training", _training(cases)),
        Section("What is classified wrongly", extras.mistakes) if extras.mistakes else None,
        Section("How it was made", _making(cases, extras)),
    ]
    return Page(
        title or _title(cases),
        [*takeaway(cases), *extras.notes],
        [section for section in sections if section],
        _subtitle(cases),
    )


HOW_TO_READ = (
    "± is the standard error over training seeds. An interval is over training seeds where there are several, over "
    "test rows otherwise. The worst group and the worst cell (label and attribute) are found in every run, then "
    "averaged over training seeds. Changes are paired: both runs are judged on the same test rows. Seeds are "
    "training seeds × probe seeds; n is the number of test rows. Bold is the best of a setting, only where its "
    "advantage over every other is distinguishable."
)


def _title(cases: Cases) -> str:
    datasets = list(dict.fromkeys(str(case.setting["dataset"]) for case in cases.cases))
    if len(cases.cases) == 1:
        return f"{cases.cases[0].recipe} on {datasets[0]}"
    return f"{len(cases.results)} runs on {', '.join(datasets)}"


def _subtitle(cases: Cases) -> str:
    first = cases.results[0]
    fixed = {**first.spec.data.describe(), "backbone": first.spec.backbone}
    noises = [said(f"data.{name}", value) for name, value in fixed.items() if name.endswith("_noise")]
    same = [] if any(name.endswith("_noise") for name in cases.setting_fields) else noises
    backbones = list(dict.fromkeys(str(case.setting["backbone"]) for case in cases.cases))
    labels = sorted({"clean" if result.report.clean else "observed" for result in cases.results})
    parts = [*same, f"backbone {', '.join(backbones)}", f"judged on {' and '.join(labels)} test labels"]
    text = " · ".join(parts)
    return text[:1].upper() + text[1:]


def _section(heading: str, parts: Sequence[Any]) -> Section | None:
    return Section(heading, parts) if parts else None


def focus_panels(cases: Cases) -> dict[str, Case]:
    """A few cases of the setting that tells most, by name: what they are compared with first, then the others."""
    base = cases.base(cases.focus)
    ranked = sorted(cases.focus, key=lambda case: (case is not base, case.recipe not in ("erm", "ftt")))
    kept = ranked[:MOST_PANELS]
    return {cases.label(case): case for case in cases.focus if any(case is one for one in kept)}


def group_parts(cases: Cases) -> list[Any]:
    """The heat map of groups, and their table."""
    panels = focus_panels(cases)
    place = cases.where(cases.focus[0])
    parts: list[Any] = [f"Shown for {place}."] if place else []
    parts.append(group_figure(panels))
    if remarks := _remarks(panels):
        parts.append(Notes(remarks))
    if len(cases.cases) == 1:
        parts.append(result_table(cases.results[0]))
    return parts


def _remarks(panels: Mapping[str, Case]) -> list[str]:
    """What the reader should know, once each, with the names of those it is about where others are shown too."""
    about: dict[str, list[str]] = {}
    for name, case in panels.items():
        warnings = (warning for result in case.results for warning in result.warnings)
        for remark in dict.fromkeys((*case.report.remarks(), *warnings)):
            about.setdefault(remark, []).append(name)
    sentences = [
        remark if len(names) == len(panels) else f"{', '.join(names)}: {remark}" for remark, names in about.items()
    ]
    return [sentence[:1].upper() + sentence[1:] + "." for sentence in sentences]


def comparison_table(cases: Cases) -> TextTable:
    """One row per case: its setting, accuracies, and the paired change against the base of its setting."""
    settings = cases.settings()
    bases = [base for cases_there in settings if (base := cases.base(cases_there)) is not None]
    names = list(dict.fromkeys(cases.label(base) for base in bases))
    against = names[0] if len(names) == 1 else "the first of each setting"
    columns = (
        *(_short(name) for name in cases.setting_fields),
        "recipe",
        "worst group",
        "±",
        "95 % interval",
        "average",
        "worst cell",
        "change",
        "95 % of change",
        "seeds",
        "n",
    )
    rows: list[list[str]] = []
    for there in settings:
        if rows and len(settings) <= 40:
            rows.append([])
        rows += _setting_rows(cases, there)
    title = f"{len(cases.results)} runs: accuracy in %, change of the worst group against {against}"
    return TextTable(title, columns, rows, left=len(cases.setting_fields) + 1)


def _setting_rows(cases: Cases, there: Sequence[Case]) -> list[list[str]]:
    base, best = cases.base(there), best_of(there)
    rows = []
    for case in there:
        found = None if base is None or case is base else difference(case, base)
        error, (low, high) = case.error(), case.interval()
        value = percent(case.mean())
        seeds, probes = len(case.results), len(case.results[0].probes)
        rows.append(
            [
                *(_value(case.setting.get(name)) for name in cases.setting_fields),
                cases.label(case) + one_class(case.results),
                Strong(value) if case is best else value,
                "" if error is None else percent(error),
                f"{percent(low)} – {percent(high)}",
                percent(case.mean(AVERAGE)),
                percent(case.mean(CELL)),
                "" if found is None else signed(found.value),
                "" if found is None else f"[{signed(found.low)}, {signed(found.high)}]",
                f"{seeds}×{probes}",
                str(case.report.overall.n),
            ]
        )
    return rows


def _short(name: str) -> str:
    return (name.partition(".")[2] or name).replace("_", " ")


def _value(value: Json) -> str:
    return f"{value:g}" if isinstance(value, float) else "–" if value is None else str(value)


def _training(cases: Cases) -> list[Any]:
    figure = training_figure(focus_panels(cases))
    return [] if figure is None else [figure]


def _making(cases: Cases, extras: Extras) -> list[Any]:
    parts: list[Any] = []
    if extras.command:
        parts += ["The command that makes this page:", Code(extras.command)]
    runs = [f"{extras.commands[r.run.id]}" for r in cases.results if r.run.id in extras.commands]
    if runs and len(runs) <= MOST_SPECS:
        parts.append(Folded("The command of every run", [Code("\n".join(runs))]))
    names = [*cases.setting_fields, *cases.variant_fields]
    if len(cases.cases) > 1 and names:
        rows = [
            [case.results[0].run.id, *(_value({**case.setting, **case.variant}.get(name)) for name in names)]
            for case in cases.cases
        ]
        parts.append(Folded("Settings that differ", [TextTable("", ("run", *names), rows, left=1 + len(names))]))
    specs = [Folded(f"Spec of run {r.run.id}", [Code(_pretty(r.spec.describe()))]) for r in cases.results[:MOST_SPECS]]
    if len(cases.results) == 1:
        parts += specs
    else:
        left = len(cases.results) - len(specs)
        more = [f"The Specs of {left} further runs are in the JSON file below."] if left else []
        parts.append(Folded("The full Specs", [*specs, *more]))
    parts += [Facts(_environment(cases.results), "Environment"), "All runs, every parameter and figure:"]
    parts.append(downloads(cases.results))
    return parts


def _pretty(content: Any) -> str:
    return json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False)


def _environment(results: Sequence[Result]) -> list[tuple[str, str]]:
    names = dict.fromkeys(name for result in results for name in result.environment)
    pairs = [(name, _distinct(str(r.environment[name]) for r in results if name in r.environment)) for name in names]
    seconds = sum(sum(result.seconds.values()) for result in results)
    return [*pairs, ("ftt", _distinct(r.version for r in results)), ("time of all runs", f"{seconds:,.0f} s")]


def _distinct(values: Any) -> str:
    return ", ".join(dict.fromkeys(values))


def downloads(results: Sequence[Result]) -> Downloads:
    """All runs as CSV (one row each) and JSON (with their Specs)."""
    rows = [row_of(result.to_json()) for result in results]
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = as_csv(names, [["" if row.get(name) is None else str(row[name]) for name in names] for row in rows])
    listed = [{**row, "spec": result.spec.describe()} for row, result in zip(rows, results, strict=True)]
    return Downloads(
        [
            Link.of_text("CSV", "runs.csv", table, "text/csv"),
            Link.of_text("JSON", "runs.json", json.dumps(listed, ensure_ascii=False), "application/json"),
        ]
    )
