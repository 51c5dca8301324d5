"""From data to a Diagnosis. Only the training split and the target split (val) are looked at, with observed labels."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from ftt.arrays import FloatArray, IntArray
from ftt.backbones import create, extract
from ftt.caching import Cache, NoCache
from ftt.data.grouped import DatasetInfo, Fittable, GroupedData, require_fittable
from ftt.diagnosis import asymptote
from ftt.diagnosis.diagnosis import Diagnosis
from ftt.diagnosis.scores import FOLDS, Scores, out_of_fold
from ftt.diagnosis.spurious import Shortcut, count, count_predicted
from ftt.diagnosis.verdict import (
    NO_ANSWER,
    NO_SHORTCUT,
    SHORTCUT,
    Verdict,
    clean_accuracy,
    decide,
)
from ftt.errors import FttError
from ftt.probe.logistic import fit_many
from ftt.settings import BACKBONES, setting

FEW_PER_CLASS = 30
"""Rows per class below which the interval of the core noise is mostly the model's."""

RANDOM = 0.9
"""Core noise, relative to that of random labels, from which on nothing follows from the labels."""

UNLIKELY = 0.01
"""p-value below which the calibration curve does not fit."""


@dataclass(frozen=True)
class Target:
    """The target split: features (n, d), observed labels and attribute (n,), and the names of their codes."""

    phi: FloatArray
    y: IntArray
    a: IntArray
    info: DatasetInfo

    @property
    def cells(self) -> IntArray:
        """(K, A) rows by label and attribute."""
        return _table(self.y, self.a, self.info)


@dataclass(frozen=True)
class Train:
    """The training split: observed labels, and the attribute (n,) or else features (n, d) to predict it from."""

    y: IntArray
    a: IntArray | None = None
    phi: FloatArray | None = None


def diagnose(
    data: GroupedData,
    backbone: str | None = None,
    *,
    predict_attribute: bool = False,
    cache: Cache | None = None,
) -> Diagnosis:
    """Estimate both noises of a data set, and say whether training will help.

    Parameters
    ----------
    data : GroupedData
        Its splits ``train`` and ``val`` are read with observed labels; ``test`` is not touched.
    backbone : str, optional
        A name of `ftt ls backbones`; by default that of `ftt run` for this data set.
    predict_attribute : bool
        Do not read the attribute of the training split: predict it by a probe fitted on the target split.
    cache : Cache, optional
        Where features are kept between calls.
    """
    usual = setting(data.source.name).backbone if data.source else None
    name = backbone or usual or BACKBONES[data.inputs.kind]
    train, val = (require_fittable(data[split], "diagnosis") for split in ("train", "val"))
    network = create(name, val.inputs)

    def features(split: Fittable) -> FloatArray:
        return extract(network, split.inputs, split.name, cache or NoCache()).array()

    target = Target(features(val), val.y, val.a, data.info)
    given = Train(train.y, phi=features(train)) if predict_attribute else Train(train.y, train.a)
    return diagnose_arrays(given, target, backbone=name)


def diagnose_arrays(train: Train, target: Target, *, backbone: str = "features") -> Diagnosis:
    """The same from arrays: labels and attribute (or features) of the training split, everything of the target split.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> core, a = rng.integers(0, 2, (2, 1000))
    >>> y = np.where(rng.random(1000) < 0.2, 1 - core, core)
    >>> phi = np.c_[2 * core + rng.standard_normal(1000), a + 0.1 * rng.standard_normal(1000)]
    >>> info = DatasetInfo("birds", ("land", "water"), ("forest", "sea"), "made up")
    >>> found = diagnose_arrays(Train(y, y), Target(phi, y, a, info))
    >>> found.verdict.answer, abs(found.core.value - 0.2) < 0.05
    ('harms', True)
    """
    start = time.perf_counter()
    found = _Found(train, target, backbone)
    made = found.diagnosis()
    object.__setattr__(made, "seconds", round(time.perf_counter() - start, 2))
    return made


class _Found:
    """What is found out on the way, so that an early answer still holds what is known by then."""

    def __init__(self, train: Train, target: Target, backbone: str) -> None:
        self.train, self.target, self.backbone = train, target, backbone
        self.info = target.info
        self.notes: list[str] = []
        self.shortcut: Shortcut | None = None
        self.label: Scores | None = None
        self.attribute: Scores | None = None
        self.curve: asymptote.Asymptote | None = None

    def diagnosis(self) -> Diagnosis:
        verdict = self._verdict()
        return Diagnosis(
            name=self.info.name,
            backbone=self.backbone,
            train_rows=len(self.train.y),
            target_rows=len(self.target.y),
            verdict=verdict,
            spurious=self.shortcut.noise if self.shortcut else None,
            core=self.curve.noise if self.curve else None,
            label=self.label.accuracy if self.label else None,
            attribute=self.attribute.accuracy if self.attribute else None,
            notes=tuple(self.notes),
        )

    def _verdict(self) -> Verdict:
        self.shortcut = self._counted()
        none = self.shortcut is not None and not _is_shortcut(self.shortcut)
        if problem := self._too_small() or (None if none else self._group_missing()):
            reasons = (self._no_shortcut(self.shortcut), problem) if none else (problem,)
            return Verdict(NO_SHORTCUT if none else NO_ANSWER, p=0.0 if none else 0.25, reasons=reasons)
        K = len(self.info.classes)
        self.attribute = self._attribute_scores()
        self.shortcut = self.shortcut or self._predicted(self.attribute)
        self.label = out_of_fold(self.target.phi, self.target.y, self.target.a, n_classes=K)
        if not self.label.informative and not none:
            return Verdict(NO_ANSWER, reasons=(self._uninformative(self.label),))
        self.curve = asymptote.estimate(self.label, self.target.a)
        self._remark(self.curve)
        noise = self.curve.noise
        if self.shortcut is None or not _is_shortcut(self.shortcut):
            return Verdict(NO_SHORTCUT, p=0.0, reasons=(self._no_shortcut(self.shortcut),))
        if noise.high > RANDOM * (1 - 1 / K):
            reason = (
                f"core noise between {noise.low:.0%} and {noise.high:.0%}: these labels may be no better than random, "
                "so nothing follows from them"
            )
            return Verdict(NO_ANSWER, reasons=(reason,))
        accuracy = clean_accuracy(self.label.accuracy.value, noise.value, K)
        return decide(noise, self.shortcut.noise, accuracy, classes=K, rows=len(self.target.y))

    def _too_small(self) -> str | None:
        """Which classes have too few target rows."""
        rows = self.target.cells.sum(axis=1)
        few = ", ".join(f"{self.info.classes[k]} ({rows[k]})" for k in np.flatnonzero(rows < FOLDS)[:8])
        return f"the target split is too small: fewer than {FOLDS} rows of {few}" if few else None

    def _group_missing(self) -> str | None:
        """Which groups the target split lacks, without which a wrong label looks like the shortcut."""
        cells, classes, values = self.target.cells, self.info.classes, self.info.attributes
        if self.train.a is not None:
            seen = np.bincount(self.train.a, minlength=len(values)) > 0
            if (absent := np.flatnonzero(seen & (cells.sum(axis=0) == 0))).size:
                names = ", ".join(values[a] for a in absent)
                return f"the target split has no rows of the attribute value {names}, which training has"
        single = np.flatnonzero((cells > 0).sum(axis=0) == 1)
        if single.size:
            names = "; ".join(f"{values[a]} (all {classes[int(cells[:, a].argmax())]})" for a in single[:8])
            return (
                f"within an attribute value all target rows have the same label: {names}; "
                "a wrong label cannot be told from the shortcut there, so rows of the missing group are needed"
            )
        return None

    def _attribute_scores(self) -> Scores | None:
        """Out-of-fold scores of the attribute."""
        counts = np.bincount(self.target.a, minlength=len(self.info.attributes))
        present, codes = np.unique(self.target.a, return_inverse=True)
        if len(present) < 2:
            self.notes.append("the target split has one attribute value only: the attribute is not predicted")
            return None
        if counts[present].min() < FOLDS:
            self.notes.append(f"an attribute value has fewer than {FOLDS} target rows: the attribute is not predicted")
            return None
        return out_of_fold(self.target.phi, codes.astype(np.int64), self.target.y)

    def _counted(self) -> Shortcut | None:
        return None if self.train.a is None else count(_table(self.train.y, self.train.a, self.info))

    def _predicted(self, attribute: Scores | None) -> Shortcut | None:
        """η_spu from attributes predicted by a probe of the target split."""
        if attribute is None:
            return None
        if self.train.phi is None:
            raise FttError(
                "the training split needs the attribute, or features to predict it from",
                given="neither",
                allowed="Train(y, a) or Train(y, phi=…)",
            )
        if not attribute.informative:
            self.notes.append("the backbone does not carry the attribute, so that it cannot be predicted in training")
            return None
        phi, codes = self.target.phi, attribute.codes
        spread = float(np.sqrt(phi.var(axis=0, dtype=np.float64).mean())) or 1.0
        fit = fit_many(phi / spread, codes, [np.arange(len(codes))], [attribute.C], tol=1e-3)
        z = (self.train.phi / spread) @ fit.coef[0].T + fit.intercept[0]
        predicted = (z[:, 0] > 0).astype(np.int64) if z.shape[1] == 1 else z.argmax(axis=1)
        K, A = len(self.info.classes), int(codes.max()) + 1
        confusion = np.zeros((K, A, A), dtype=np.int64)
        np.add.at(confusion, (self.target.y, codes, attribute.logits.argmax(axis=1)), 1)
        table = np.zeros((K, A), dtype=np.int64)
        np.add.at(table, (self.train.y, predicted), 1)
        self.notes.append(
            "the attribute of the training split was predicted by a probe of the target split and corrected for its "
            "errors, which are taken to be the same in both splits"
        )
        return count_predicted(table, confusion)

    def _remark(self, curve: asymptote.Asymptote) -> None:
        if curve.misfit < UNLIKELY:
            self.notes.append(
                "a constant share of wrong labels does not fit these rows "
                f"(p = {curve.misfit:.1g}): labels seem to be wrong more often where the probe is unsure, and the core "
                "noise given is that of the rows it is sure of, a lower bound"
            )
        rows = np.bincount(self.target.y)
        if rows.min() < FEW_PER_CLASS:
            self.notes.append(f"fewer than {FEW_PER_CLASS} target rows of a class: the interval is a rough one")
        self.notes.append("assumes that fewer than half of the labels are wrong: more would look like swapped names")

    def _uninformative(self, scores: Scores) -> str:
        return (
            f"a probe on the target split agrees with {scores.accuracy.value:.1%} of the labels, no more than always "
            f"naming the most frequent one ({scores.chance:.1%}): the backbone does not carry the label, there are too "
            "few target rows, or about half of the labels are wrong"
        )

    def _no_shortcut(self, shortcut: Shortcut | None) -> str:
        if shortcut is None:
            return "the attribute of the training split is not known, so that no shortcut can be seen"
        return (
            f"in training the attribute alone misses {shortcut.noise.value:.1%} of the labels; without it, the most "
            f"frequent label misses {shortcut.constant:.1%}"
        )


def _is_shortcut(shortcut: Shortcut) -> bool:
    """Whether the attribute tells more about the training labels than their frequencies do."""
    return shortcut.noise.value <= shortcut.constant - SHORTCUT


def _table(y: IntArray, a: IntArray, info: DatasetInfo) -> IntArray:
    table = np.zeros((len(info.classes), len(info.attributes)), dtype=np.int64)
    np.add.at(table, (y, a), 1)
    return table
