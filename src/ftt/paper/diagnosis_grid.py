"""The diagnosis where the truth is known: both noises over the grid of Dominoes, and the sign of ERM's gain."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np

from ftt.arrays import FloatArray, IntArray
from ftt.backbones import Backbone, create, extract
from ftt.caching import Cache
from ftt.data import GroupedData
from ftt.data.grouped import Fittable
from ftt.diagnosis import Diagnosis, Target, Train, diagnose_arrays
from ftt.diagnosis.verdict import CANNOT_TELL, HARMS, HELPS
from ftt.paper.experiment import Experiment, Findings, Request
from ftt.paper.grid_statistics import at, settings_of
from ftt.paper.noise_estimators import Setting, comparison, core_noises, training_noise
from ftt.paper.noise_grid import levels
from ftt.paper.result_table import Cell, ResultTable
from ftt.progress import track
from ftt.recipe import preset
from ftt.report.charts import INK, chart_of
from ftt.report.tables import TextTable, percent, signed
from ftt.store import Home

ROWS = (100, 300, 1000)
DRAWS = 2
TRAPS = ((0.2, 0.0), (0.2, 0.2))
"""Settings in which the training split is looked at too."""

ENDS = (0.0, 0.2)
"""Noises of the settings in which target rows are left out."""

CLEAR = 0.02
"""Gains smaller than this are not counted: one training seed does not tell their sign."""


SEEN = (
    "the constants of the rule were fitted to 13 settings (one colour of the checkerboard) and are reported on the "
    "other 12; its form and the estimator were chosen after results of all 25 had been looked at, so that the held-out "
    "half is not blind to them"
)


@dataclass(frozen=True)
class Diagnosed:
    """One setting: the truth, the diagnosis, and the measured gain of ERM over the initial features."""

    setting: Setting
    diagnosis: Diagnosis
    gain: float | None
    target: Target
    train: Train

    @property
    def judged(self) -> str:
        """Whether the predicted sign is ``right``, ``wrong`` or ``cannot tell``; ``small`` gains are not judged."""
        return judge(self.diagnosis, self.gain)


def judge(diagnosis: Diagnosis, gain: float | None) -> str:
    """The predicted against the measured sign."""
    if gain is None or abs(gain) < CLEAR:
        return "small"
    answer = diagnosis.verdict.answer
    if answer not in (HELPS, HARMS):
        return CANNOT_TELL
    return "right" if (answer == HELPS) == (gain > 0) else "wrong"


def diagnosis_cells(request: Request) -> list[Cell]:
    """Initial features and ERM at every pair of noises."""
    return [
        Cell(name, at(core, spurious), request.specs(preset(name), core_noise=core, spurious_noise=spurious))
        for core in levels(request)
        for spurious in levels(request)
        for name in ("init", "erm")
    ]


def diagnosis_findings(table: ResultTable, request: Request, home: Home) -> Findings:
    """Estimated against true noises, the sign of the gain, the trap, and what fewer target rows do."""
    found, trap = [], []
    settings = settings_of(levels(request))
    for core, spurious in track(settings, "settings diagnosed", total=len(settings)):
        featured = _featured(request, core, spurious, home)
        done = _diagnosed(featured, core, spurious, table.gain("erm", "init", at(core, spurious)))
        found.append(done)
        if (core, spurious) in TRAPS:
            trap.append(_trap(featured, done))
    sentences = [*noise_sentences(found), *sign_sentences(found), SEEN]
    tables = [
        comparison([d.setting for d in found]),
        setting_table(found),
        TextTable(
            "the trap: wrong labels that are found on the training split, in % (the shortcut explains the others)",
            ("noise", *trap[0][1], "used, target split"),
            [[name, *(percent(value) for value in values.values()), own] for name, values, own in trap],
        ),
        rows_table(found, request),
    ]
    return Findings(tables, sentences, {"diagnosis": figure(found)})


@dataclass(frozen=True)
class Featured:
    """The data of one setting with a backbone, whose features are those that its runs have left in the store."""

    data: GroupedData
    backbone: str
    network: Backbone
    cache: Cache

    def features(self, split: Fittable) -> FloatArray:
        return extract(self.network, split.inputs, split.name, self.cache).array()


def diagnose_setting(request: Request, core: float, spurious: float, home: Home, *, seed: int = 0) -> Diagnosis:
    """The diagnosis of one noise setting, drawn with one seed."""
    featured = _featured(request, core, spurious, home, seed)
    train, val = featured.data["train"], featured.data["val"]
    target = Target(featured.features(val), val.y, val.a, featured.data.info)
    return diagnose_arrays(Train(train.y, train.a), target, backbone=featured.backbone)


def _featured(request: Request, core: float, spurious: float, home: Home, seed: int = 0) -> Featured:
    spec = request.specs(preset("init"), at_least=seed + 1, core_noise=core, spurious_noise=spurious)[seed]
    data = spec.data.load(home.roots)
    return Featured(data, spec.backbone, create(spec.backbone, data["val"].inputs), home.artifacts)


def _diagnosed(featured: Featured, core: float, spurious: float, gain: float | None) -> Diagnosed:
    train, val = featured.data["train"], featured.data["val"]
    phi = featured.features(val)
    target, given = Target(phi, val.y, val.a, featured.data.info), Train(train.y, train.a)
    made = diagnose_arrays(given, target, backbone=featured.backbone)
    return Diagnosed(Setting(core, spurious, core_noises(phi, val.y, val.a)), made, gain, target, given)


def _trap(featured: Featured, done: Diagnosed) -> tuple[str, dict[str, float], str]:
    train = featured.data["train"]
    values = training_noise(featured.features(train), train.y, train.a)
    core = done.diagnosis.core
    return at(done.setting.core, done.setting.spurious), values, percent(core.value) if core else "–"


def noise_sentences(found: Sequence[Diagnosed]) -> list[str]:
    """Mean absolute errors and coverage of both noises, on both halves."""
    lines = []
    for name in ("core", "spurious"):
        for half, chosen in (("held out", False), ("all", None)):
            known = [
                (getattr(d.diagnosis, name), getattr(d.setting, name))
                for d in found
                if (chosen is None or d.setting.fitted is chosen) and getattr(d.diagnosis, name) is not None
            ]
            if known:
                error = statistics.fmean(abs(estimate.value - truth) for estimate, truth in known)
                covered = sum(estimate.low <= truth <= estimate.high for estimate, truth in known)
                lines.append(
                    f"{name} noise, {half} settings: mean absolute error {100 * error:.1f} points, "
                    f"{covered} of {len(known)} intervals hold the truth"
                )
    return lines


def sign_sentences(found: Sequence[Diagnosed]) -> list[str]:
    """How often the sign of ERM's gain was predicted."""
    lines = []
    for half, chosen in (("fitted to", True), ("held out", False)):
        judged = [d.judged for d in found if d.setting.fitted is chosen and d.judged != "small"]
        if judged:
            told = len(judged) - judged.count(CANNOT_TELL)
            lines.append(
                f"sign of ERM's gain over the initial features, settings {half}, gains of more than "
                f"{100 * CLEAR:.0f} points: {judged.count('right')} of {told} right, "
                f"{judged.count(CANNOT_TELL)} of {len(judged)} cannot tell"
            )
    return lines


def setting_table(found: Sequence[Diagnosed]) -> TextTable:
    """One row per setting."""
    rows = []
    for d in found:
        core, gain = d.diagnosis.core, d.diagnosis.verdict.gain
        rows.append(
            [
                at(d.setting.core, d.setting.spurious),
                "fitted" if d.setting.fitted else "held out",
                "–" if core is None else f"{percent(core.value)} [{percent(core.low)}, {percent(core.high)}]",
                "–" if d.diagnosis.spurious is None else percent(d.diagnosis.spurious.value),
                "–" if gain is None else f"{signed(gain.value)} [{signed(gain.low)}, {signed(gain.high)}]",
                "–" if d.gain is None else signed(d.gain),
                d.diagnosis.verdict.answer,
                "–" if d.gain is None else d.judged,
            ]
        )
    columns = ("noise", "half", "core", "spurious", "predicted gain", "measured gain", "answer", "sign")
    return TextTable("every setting: estimates in % [95 % interval], gains in points", columns, rows, left=2)


def rows_table(found: Sequence[Diagnosed], request: Request) -> TextTable:
    """Fewer target rows, drawn evenly from label and attribute."""
    rng, rows = np.random.default_rng(0), []
    sizes = [size for size in ROWS if size < len(found[0].target.y)] if request.budget != "smoke" else [100]
    for size in sizes:
        drawn = [
            (d, diagnose_arrays(d.train, _fewer(d.target, size, rng)))
            for d in found
            if d.setting.core in ENDS and d.setting.spurious in ENDS
            for _ in range(DRAWS)
        ]
        rows.append([f"{size:,}", *_summary(drawn)])
    whole = [(d, d.diagnosis) for d in found if d.setting.core in ENDS and d.setting.spurious in ENDS]
    rows.append([f"{len(found[0].target.y):,}", *_summary(whole)])
    columns = ("target rows", "half width", "error", "hold the truth", "no number", "right", "wrong", "cannot tell")
    return TextTable(
        f"fewer target rows at the four corners: core noise in points, and signs ({DRAWS} draws each)", columns, rows
    )


def _summary(drawn: Sequence[tuple[Diagnosed, Diagnosis]]) -> list[str]:
    known = [(d.setting.core, made.core) for d, made in drawn if made.core is not None]
    judged = [judge(made, d.gain) for d, made in drawn]
    width, error = "–", "–"
    if known:
        width = f"{100 * statistics.fmean(e.half_width for _, e in known):.1f}"
        error = f"{100 * statistics.fmean(abs(e.value - truth) for truth, e in known):.1f}"
    covered = f"{sum(e.low <= truth <= e.high for truth, e in known)} of {len(known)}"
    signs = (str(judged.count(word)) for word in ("right", "wrong", CANNOT_TELL))
    return [width, error, covered, str(len(drawn) - len(known)), *signs]


def _fewer(target: Target, size: int, rng: np.random.Generator) -> Target:
    rows: IntArray = np.sort(rng.permutation(len(target.y))[:size])
    phi: FloatArray = target.phi[rows]
    return Target(phi, target.y[rows], target.a[rows], target.info)


def figure(found: Sequence[Diagnosed]) -> alt.TopLevelMixin:
    """Estimated against true core noise, and predicted against measured gain."""
    rows: list[dict[str, Any]] = [
        {
            "truth": d.setting.core + (d.setting.spurious - 0.1) / 20,
            "core": d.diagnosis.core.value,
            "low": d.diagnosis.core.low,
            "high": d.diagnosis.core.high,
            "settings": "fitted to" if d.setting.fitted else "held out",
            "predicted": 100 * d.diagnosis.verdict.gain.value if d.diagnosis.verdict.gain else None,
            "measured": None if d.gain is None else 100 * d.gain,
        }
        for d in found
        if d.diagnosis.core is not None
    ]
    base, percents = chart_of(rows), alt.Axis(format="%")
    colour = alt.Color("settings:N", title="settings")
    noise = alt.layer(
        chart_of([{"at": 0.0}, {"at": 0.22}]).mark_line(color=INK, strokeWidth=1).encode(x="at:Q", y="at:Q"),
        base.mark_rule().encode(x="truth:Q", y="low:Q", y2="high:Q", color=colour),
        base.mark_point().encode(
            alt.X("truth:Q", title="true core noise (moved apart by spurious noise)", axis=percents),
            alt.Y("core:Q", title="estimated core noise", axis=percents),
            color=colour,
        ),
    ).properties(width=340, height=280)
    gains = alt.layer(
        chart_of([{"x": 0}]).mark_rule(color=INK).encode(x="x:Q"),
        chart_of([{"y": 0}]).mark_rule(color=INK).encode(y="y:Q"),
        base.mark_point().encode(
            alt.X("measured:Q", title="measured gain of ERM in points"),
            alt.Y("predicted:Q", title="predicted gain in points"),
            color=colour,
        ),
    ).properties(width=340, height=280)
    joined: alt.TopLevelMixin = alt.hconcat(noise, gains)
    return joined


DIAGNOSIS = Experiment(
    "diagnosis",
    "Diagnosis: both noises and the sign of ERM's gain, where the truth is known",
    "Can the noises be estimated before training, and do they tell whether training helps?",
    diagnosis_cells,
    diagnosis_findings,
    datasets=("dominoes", "digits"),
    reduced="not an experiment of the paper; the settings of its cpu budget",
)
