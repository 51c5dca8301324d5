"""Estimators of label noise side by side, on target rows whose true noise is known."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import softmax

from ftt.arrays import FloatArray, IntArray
from ftt.diagnosis import Estimate, asymptote, confident, neighbours
from ftt.diagnosis.scores import Scores, out_of_fold
from ftt.errors import FttError
from ftt.report.tables import TextTable

ASYMPTOTE = "asymptote of the calibration curve (used)"
CLEANLAB = ("cleanlab, number of label issues", "cleanlab, joint of given and true labels")


@dataclass(frozen=True)
class Setting:
    """One noise setting: its true noises, what every estimator says, and on which half of the settings it lies."""

    core: float
    spurious: float
    estimates: Mapping[str, Estimate | float] = field(default_factory=dict)

    @property
    def fitted(self) -> bool:
        """Whether the rule was fitted to this setting: one colour of the checkerboard of both noises."""
        return (round(self.core / 0.05) + round(self.spurious / 0.05)) % 2 == 0


def core_noises(phi: FloatArray, y: IntArray, a: IntArray) -> dict[str, Estimate | float]:
    """What every estimator says about the noise of these labels, by name."""
    scores = out_of_fold(phi, y, a)
    near = neighbours.nearest(phi, a)
    found: dict[str, Estimate | float] = {
        ASYMPTOTE: asymptote.estimate(scores, a).noise,
        "error of the most confident tenth": confident.estimate(scores, a),
        "HOC, consensus of neighbours": neighbours.consensus(y, near),
        "agreement of neighbours, symmetric noise": neighbours.closed_form(y, near),
    }
    return found | cleanlab_noises(scores)


def cleanlab_noises(scores: Scores) -> dict[str, Estimate | float]:
    """Both estimates of cleanlab from out-of-fold probabilities; none where it is not installed."""
    try:
        from cleanlab.count import estimate_joint, num_label_issues
    except ImportError:
        return {}
    p = softmax(scores.logits, axis=1)
    joint = estimate_joint(scores.codes, p)
    values = num_label_issues(scores.codes, p) / len(p), 1 - np.trace(joint)
    return {name: float(value) for name, value in zip(CLEANLAB, values, strict=True)}


def comparison(settings: Sequence[Setting]) -> TextTable:
    """Mean absolute error, bias and coverage of every estimator; the used one was chosen on the first column."""
    rows = []
    for name in settings[0].estimates if settings else ():
        known = [(s, s.estimates[name]) for s in settings if name in s.estimates]
        errors = [(s.fitted, _value(found) - s.core) for s, found in known]
        covered = [found.low <= s.core <= found.high for s, found in known if isinstance(found, Estimate)]
        halves = [[error for fitted, error in errors if fitted is half] for half in (True, False)]
        bias = f"{100 * statistics.fmean(error for _, error in errors):+.1f}"
        share = f"{sum(covered)} of {len(covered)}" if covered else "–"
        rows.append([name, *map(_mean_error, (*halves, [error for _, error in errors])), bias, share])
    columns = ("core noise by", "chosen on", "held out", "all settings", "bias", "intervals that hold the truth")
    return TextTable("mean absolute error of the estimated core noise, in points (target split)", columns, rows)


def _mean_error(errors: Sequence[float]) -> str:
    return f"{100 * statistics.fmean(map(abs, errors)):.1f}" if errors else "–"


def _value(found: Estimate | float) -> float:
    return found.value if isinstance(found, Estimate) else found


def training_noise(phi: FloatArray, y: IntArray, a: IntArray) -> dict[str, float]:
    """The trap: what the same estimators say where the probe may use the shortcut, on the training split itself."""
    if len(phi) != len(y):
        raise FttError("features and labels differ in length", given=f"{len(phi)}, {len(y)}", allowed="one per row")
    scores = out_of_fold(phi, y, a)
    everywhere = np.zeros_like(a)
    found: dict[str, Estimate | float] = {ASYMPTOTE: asymptote.estimate(scores, everywhere).noise}
    return {name: _value(value) for name, value in (found | cleanlab_noises(scores)).items()}
