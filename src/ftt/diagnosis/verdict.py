"""From the two noises to an answer: will training help or harm, by how much, and what would make it certain.

The theory says that training followed by probing helps while η_core < η_spu. A network is not there yet: it has a few
epochs and a few thousand rows, in which a shortcut that is never contradicted wins whatever the core says, and a core
without noise is still not learned perfectly. Both are offsets in the ratio of the noises,

    u = k · (log((η_spu + e) / (η_core + c)) − m),      gain = (up · H + down · B) · σ(u) − down · B

where H is what is left to gain above the initial features (1 − their accuracy) and B what is there to lose (their
accuracy above chance). The six constants were fitted to the measured gains of Dominoes (EfficientNet-Lite0, one
training seed) in the 13 noise settings of one colour of the 5 × 5 checkerboard; docs/results/diagnosis.md reports the
other 12. The form was chosen after the gains of all 25 had been looked at. The sign is carried by the theory, the size
by that data set: elsewhere it is a guide.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from scipy.optimize import brentq
from scipy.special import expit

from ftt.diagnosis.estimate import Estimate
from ftt.params import Json

UP, DOWN, SLOPE, MIDDLE = 0.464, 0.7194, 1.4832, -0.719
CONTRADICTED, LEARNED = 0.002, 0.0198
RESIDUAL = 0.018
"""Root mean square of measured minus fitted gains in the settings that the constants were fitted to."""

LITTLE = 0.015
"""Predicted gains closer to 0 than this are not called: the smallest without a wrong sign in those settings."""

SHORTCUT = 0.05
"""How much better than the most frequent label the attribute must predict to be a shortcut."""

MOST_ROWS = 100
"""Times the rows of the target split: beyond it more rows are no advice."""

HELPS, HARMS, CANNOT_TELL, NO_SHORTCUT, NO_ANSWER = "helps", "harms", "cannot tell", "no shortcut", "no answer"


@dataclass(frozen=True)
class Verdict:
    """The answer.

    Attributes
    ----------
    answer : str
        ``helps``, ``harms``, ``cannot tell``, ``no shortcut``, or ``no answer`` where the data do not allow one.
    gain : Estimate, optional
        Predicted worst-group accuracy of ERM minus that of the initial features.
    sure : bool
        Whether the interval of the gain leaves out 0.
    recipe : str
        Advised recipe.
    p : float
        Advised share of frozen features, where the recipe is ``ftt``.
    rows : int, optional
        Target rows that would make an unsure answer sure; None where it is sure or no number of rows would do.
    reasons : tuple of str
        Sentences.
    """

    answer: str
    gain: Estimate | None = None
    sure: bool = False
    recipe: str = "auto"
    p: float = 0.25
    rows: int | None = None
    reasons: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Json]:
        return {
            "answer": self.answer,
            "sure": self.sure,
            "gain": self.gain.to_json() if self.gain else None,
            "recipe": self.recipe,
            "p": self.p,
            "target_rows_needed": self.rows,
            "reasons": list(self.reasons),
        }


def predicted_gain(core: float, spurious: float, accuracy: float, classes: int = 2) -> float:
    """Worst-group accuracy of ERM minus that of the initial features, both probed.

    Parameters
    ----------
    core, spurious : float
        The two noises.
    accuracy : float
        Of a probe on the initial features, against true labels.

    Examples
    --------
    >>> round(predicted_gain(0.2, 0.0, 0.77), 2), round(predicted_gain(0.0, 0.2, 0.79), 2)
    (-0.19, 0.09)
    """
    left, there = 1 - accuracy, max(accuracy - 1 / classes, 0.0)
    u = SLOPE * (math.log((spurious + CONTRADICTED) / (core + LEARNED)) - MIDDLE)
    return float((UP * left + DOWN * there) * expit(u) - DOWN * there)


def decide(core: Estimate, spurious: Estimate, accuracy: float, *, classes: int, rows: int) -> Verdict:
    """The verdict of two noises that could both be estimated.

    Parameters
    ----------
    accuracy : float
        Accuracy of the initial features against true labels, see `clean_accuracy`.
    rows : int
        Target rows that the interval of `core` is from.
    """

    def gain_at(c: float, s: float) -> float:
        return predicted_gain(c, s, accuracy, classes)

    gain = gain_at(core.value, spurious.value)
    span = Estimate(
        gain,
        gain_at(core.high, spurious.low) - 2 * RESIDUAL,
        gain_at(core.low, spurious.high) + 2 * RESIDUAL,
    )
    sure = span.low > 0 or span.high < 0
    answer = CANNOT_TELL if abs(gain) < LITTLE else HELPS if gain > 0 else HARMS
    sure = sure and answer != CANNOT_TELL
    needed, advice = (None, ()) if sure else _more_rows(core, spurious.value, rows, gain_at)
    p = {HELPS: 0.0, HARMS: 1.0, CANNOT_TELL: 0.25}[answer]
    return Verdict(answer, span, sure, p=p, rows=needed, reasons=(*_reasons(core, spurious), *advice))


def clean_accuracy(observed: float, core: float, classes: int) -> float:
    """Accuracy against true labels of scores that agree with a share `observed` of labels of which `core` are wrong.

    Examples
    --------
    >>> round(clean_accuracy(0.66, 0.2, 2), 3)
    0.767
    """
    wrong = core / (classes - 1)
    return min(1.0, max(1 / classes, (observed - wrong) / max(1 - core - wrong, 1e-9)))


def _more_rows(
    core: Estimate, spurious: float, rows: int, gain_at: Callable[[float, float], float]
) -> tuple[int | None, tuple[str, ...]]:
    """The target rows with which the interval of the core noise would end where the predicted gain changes sign."""
    if not gain_at(0.0, spurious) > 0 > gain_at(0.5, spurious):
        return None, ("more target rows would not change this: no core noise gives the other answer",)
    even = float(brentq(lambda c: gain_at(c, spurious), 0.0, 0.5))
    distance = abs(core.value - even)
    if not core.low < even < core.high:
        return None, ("more target rows would not make it surer: what remains open is how exact the prediction is",)
    if distance * math.sqrt(MOST_ROWS) <= core.half_width:
        return None, (f"the two answers meet at a core noise of {even:.1%}: too close for more target rows to decide",)
    needed = math.ceil(rows * (core.half_width / distance) ** 2 / 100) * 100
    return needed, (f"about {needed:,} target rows (now {rows:,}) would tell the two answers apart",)


def _reasons(core: Estimate, spurious: Estimate) -> tuple[str, ...]:
    misses = f"the attribute alone misses {spurious.value:.1%} of the training labels"
    if spurious.high < 0.01:
        return (f"{misses}: training is almost never shown that the attribute can be wrong",)
    wrong = f"about {core.value:.1%} of the labels are wrong with respect to the core"
    if core.high < spurious.low:
        return (f"{misses}, and {wrong}: the core is the more reliable of the two",)
    if core.low > spurious.high:
        return (f"{misses}, and {wrong}: the attribute is the more reliable of the two",)
    return (f"{misses}, and {wrong} ({core.low:.1%} to {core.high:.1%}): the intervals overlap",)
