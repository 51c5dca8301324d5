"""The page of runs with what it needs besides results: the data, confidences from stored features, commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ftt.arrays import Float32Array, FloatArray
from ftt.caching import Artifact, MakeRows
from ftt.data import GroupedData
from ftt.errors import FttError
from ftt.probe import DFRProbe
from ftt.progress import say
from ftt.report.cases import Case, Cases
from ftt.report.example_parts import Predictions, data_parts, mistakes_gallery
from ftt.report.page import Page
from ftt.report.run_page import Extras, focus_panels, run_page
from ftt.result import Result
from ftt.rows import Rows
from ftt.runs.command import command_of
from ftt.runs.runner import ProbedFeatures, probe_features
from ftt.store import ArtifactStore, Home
from ftt.store.artifacts import read
from ftt.train import Services, fit

MOST_MISTAKES = 2
"""Runs whose mistakes are shown: what others are compared with, and the one with the worst group."""


def report_page(
    results: Sequence[Result], home: Home, *, command: str = "", title: str = "", notes: Sequence[str] = ()
) -> Page:
    """The page of these results; parts whose data or features are not on this machine are left out and named."""
    cases = Cases.of(results)
    extras = Extras(command=command, notes=notes, commands=_commands(cases))
    shown = _mistaken(cases)
    try:
        data = shown[0].results[0].spec.data.load(home.roots)
    except (FttError, OSError) as error:
        say(f"the page shows no examples, since the data cannot be read: {str(error).splitlines()[0]}")
        missing = "The data are not on the machine where this page was made, so that no examples are shown."
        return run_page(results, replace(extras, about=[missing]), title)
    mistakes = [part for case in shown if (part := _mistakes(cases, case, data, home)) is not None]
    return run_page(results, replace(extras, about=data_parts(data), mistakes=mistakes), title)


def _commands(cases: Cases) -> dict[str, str]:
    found = {result.run.id: command_of(result.spec) for result in cases.results[:50]}
    return {run_id: command for run_id, command in found.items() if command is not None}


def _mistaken(cases: Cases) -> list[Case]:
    """The cases whose mistakes are shown, all on the same data."""
    panels = list(focus_panels(cases).values())
    ranked = sorted(panels, key=lambda case: case.mean())
    kept = [ranked[0], *(case for case in (cases.base(cases.focus),) if case is not None and case is not ranked[0])]
    return kept[:MOST_MISTAKES]


def _mistakes(cases: Cases, case: Case, data: GroupedData, home: Home) -> Any:
    result = case.results[0]
    try:
        said = Predictions.of(result, probabilities(result, data, home.artifacts))
        return mistakes_gallery(result, data, said, cases.label(case))
    except (FttError, OSError, ValueError) as error:
        say(f"the mistakes of run {result.run.id} are not shown: {str(error).splitlines()[0]}")
        return None


class _NotStoredError(Exception):
    """An artifact that would have to be made first."""


class _Stored:
    """Reads what is there and makes nothing: a page must not start a training."""

    def __init__(self, store: ArtifactStore) -> None:
        self.store = store

    def keep(self, stage: str, key: str, make: Callable[[], Artifact]) -> Artifact:
        found = read(self.store.path(stage, key))
        if found is None:
            raise _NotStoredError(stage)
        return found

    def keep_rows(self, stage: str, key: str, n: int, make: MakeRows) -> Rows:
        def refuse(start: int, stop: int) -> Float32Array:
            raise _NotStoredError(stage)

        return self.store.keep_rows(stage, key, n, refuse)


def probabilities(result: Result, data: GroupedData, store: ArtifactStore) -> FloatArray | None:
    """(n, K) probabilities of the test rows, averaged over probe seeds; None where features are not stored or no probe
    was fitted on them.

    Results keep predictions only. Probing is quick and gives the same probes again, so their probabilities are
    computed from the stored features when a page asks for them.
    """
    spec = result.spec
    services = Services(cache=_Stored(store))
    try:
        model = fit(data, spec.recipe, spec.backbone, training=spec.train, seed=spec.seed, services=services)
        view = ProbedFeatures(model, spec.probe, data, services.cache)
        probes, _ = probe_features(view, data)
        # A head that was trained with the features has no calibrated probabilities of its own.
        found = [p.predict_proba(view.transform(data["test"])) for p in probes if isinstance(p, DFRProbe)]
    except _NotStoredError:
        return None
    if not found:
        return None
    averaged: FloatArray = np.mean(found, axis=0)
    return averaged
