"""A model in use: features, the probe on them, the names of the classes, and what is known about it."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from ftt.arrays import Float32Array, FloatArray
from ftt.backbones.folding import FoldedOnce
from ftt.backbones.weight_file import without_file
from ftt.data.grouped import GroupedData
from ftt.data.inputs import Inputs
from ftt.data.roots import expanded
from ftt.errors import FttError
from ftt.metrics import GroupReport, report_groups
from ftt.model.accepted import Accepted
from ftt.params import Json
from ftt.train import FreezeThenTrain
from ftt.train.export import Linear, ProbedModule, logit_weights

if TYPE_CHECKING:
    from pandas import DataFrame

EXAMPLES = 8
"""How many inputs are kept with a model for checking its exports."""

NEVER = -1e9
"""The logit of a class that the probing data did not have; finite, so that every exporter can hold it."""


@dataclass(frozen=True)
class Head:
    """The linear map from features to one logit per class: `coef_` (K, m), `intercept_` (K,)."""

    coef_: FloatArray
    intercept_: FloatArray

    @classmethod
    def mean_of(cls, probes: Sequence[Any], n_classes: int) -> Head:
        """The mean of the linear maps of several probes, each of which is a mean over balanced samples already.

        Parameters
        ----------
        probes : sequence of DFRProbe
            Fitted on class codes; a class that none of them has seen is never predicted.
        """
        maps = [logit_weights(probe) for probe in probes]
        seen = np.asarray(probes[0].classes_, dtype=np.int64)
        coef = np.zeros((n_classes, maps[0][0].shape[1]))
        intercept = np.full(n_classes, NEVER)
        coef[seen] = np.mean([rows for rows, _ in maps], axis=0)
        intercept[seen] = np.mean([offset for _, offset in maps], axis=0)
        return cls(coef, intercept)

    def after(self, weight: Float32Array, bias: Float32Array) -> Head:
        """The map that takes features before a projection φ ↦ φ·weight + bias."""
        wide = weight.astype(np.float64)
        return Head(self.coef_ @ wide.T, self.intercept_ + self.coef_ @ bias.astype(np.float64))

    def codes(self, phi: FloatArray, threshold: float | None = None) -> npt.NDArray[np.int64]:
        """(n,) class codes of (n, m) features; of two classes the second above a probability, where one is given."""
        return decide(softmax(phi @ self.coef_.T + self.intercept_, axis=1), threshold)


@dataclass(frozen=True)
class About:
    """What is known of a model besides its numbers; all of it is in the card.

    Attributes
    ----------
    dataset, summary, licence, citation : str
        The data that it was fitted on.
    attribute : str
        What the groups are called.
    attributes : tuple of str
        Its values.
    report : GroupReport, optional
        Accuracies of this very model on the test split.
    run : mapping
        Id, spec and accuracies of the run that it comes from, if it comes from one.
    notes : tuple of str
        What a reader should know before using it.
    """

    dataset: str = ""
    summary: str = ""
    licence: str = ""
    citation: str = ""
    attribute: str = "attribute"
    attributes: tuple[str, ...] = ()
    report: GroupReport | None = None
    run: Mapping[str, Json] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, data: GroupedData, predicted: npt.NDArray[np.int64] | None = None) -> About:
        """What a data set says about itself, and the report of predictions on its test split."""
        info, name = data.info, getattr(data.source, "attribute", "attribute")
        made = cls(info.name, info.summary, info.licence, info.citation, str(name), info.attributes)
        if predicted is None:
            return made
        test = data["test"]
        report = report_groups(predicted, test.y_clean, test.a, test.info, clean=test.clean_known)
        return replace(made, report=report)


class Model:
    """Inputs in, class names and probabilities out; needs neither the data set nor a store.

    `ftt.save` and `ftt run --save` write one from a run; `Model.of` puts one together from its parts.

    Parameters
    ----------
    features : FreezeThenTrain
        Fitted features.
    probe : Head, DFRProbe or any fitted linear classifier of scikit-learn
        The last layer, on class codes 0..K-1.
    accepted : Accepted
        Kind and shape of the inputs; ``Accepted.like(data.inputs)``.
    classes : sequence of str
        Names of the classes, in the order of their codes.
    threshold : float, optional
        For two classes: the probability of the second above which it is predicted.
    examples : Inputs, optional
        A few inputs that are saved with the model, for checking exports.

    Examples
    --------
    >>> import ftt
    >>> home = getfixture("tmp_path")
    >>> folder = ftt.save(ftt.run("digits", "init", home=home), home / "model", home=home)
    >>> model = ftt.Model.load(folder)
    >>> model.classes, model.predict(ftt.load("digits")["test"].inputs)[:3].tolist()
    (('even', 'odd'), ['even', 'odd', 'even'])
    """

    def __init__(
        self,
        features: FreezeThenTrain,
        probe: Linear,
        accepted: Accepted,
        classes: Sequence[str],
        *,
        threshold: float | None = None,
        about: About | None = None,
        examples: Inputs | None = None,
    ) -> None:
        self.features = features
        self.head = Head(*logit_weights(probe))
        self.accepted = accepted
        self.classes = tuple(classes)
        self.threshold = checked_threshold(threshold, len(self.classes))
        self.about = about or About()
        self.examples = examples
        if self.head.coef_.shape != (len(self.classes), sum(features.widths)):
            raise FttError(
                "the probe does not fit the features and classes",
                given=f"weights of shape {self.head.coef_.shape}",
                allowed=f"({len(self.classes)}, {sum(features.widths)})",
            )

    @classmethod
    def of(
        cls, features: FreezeThenTrain, probe: Linear, data: GroupedData, *, threshold: float | None = None
    ) -> Model:
        """A model of fitted features and a probe fitted on them, for the data they were fitted on.

        Its card reports the accuracies on the test split.
        """
        head = Head.mean_of([probe], data.n_classes)
        return cls(
            features,
            head,
            Accepted.like(data.inputs),
            data.info.classes,
            threshold=threshold,
            about=About.of(data, head.codes(features.transform(data["test"]), threshold)),
            examples=spread(data["val"].inputs, EXAMPLES),
        )

    @staticmethod
    def load(folder: Path | str) -> Model:
        """Read a saved model; damaged or modified files are refused."""
        from ftt.model import saved

        return saved.load(expanded(folder, "folder"))

    def save(self, folder: Path | str) -> Path:
        """Write weights (safetensors), config (JSON) and a model card as a folder of their own."""
        from ftt.model import saved

        return saved.save(self, expanded(folder, "folder"))

    def predict(self, X: Any) -> npt.NDArray[np.str_]:
        """(n,) names of the predicted classes.

        Parameters
        ----------
        X : paths, DataFrame, array, texts or Inputs
            Images as paths or as a uint8 array (n, H, W, C); features as an array or a DataFrame (n, d); texts as a
            list. Of a DataFrame with paths or texts, the column that the training data had is read.
        """
        return self.names(self.predict_proba(X))

    def predict_proba(self, X: Any) -> FloatArray:
        """(n, K) probabilities in the order of `classes`. They are not calibrated."""
        parts = [self.probabilities(batch) for batch in self._batches(self.accepted.inputs(X))]
        return np.concatenate(parts) if parts else np.zeros((0, len(self.classes)))

    def transform(self, X: Any) -> Float32Array:
        """(n, m) features."""
        return self.features.transform(self.accepted.inputs(X))

    def to_frame(self, X: Any) -> DataFrame:
        """One row per input: the predicted class, its probability, and the probability of every class."""
        import pandas

        chances = self.predict_proba(X)
        columns = {"label": self.names(chances), "probability": chances.max(axis=1, initial=0)}
        return pandas.DataFrame(columns | {f"p_{name}": chances[:, k] for k, name in enumerate(self.classes)})

    def names(self, chances: FloatArray) -> npt.NDArray[np.str_]:
        """(n,) names of the classes that (n, K) probabilities decide for."""
        return np.array(self.classes)[decide(chances, self.threshold)]

    def probabilities(self, batch: npt.NDArray[Any]) -> FloatArray:
        """(n, K) probabilities of a batch as `Inputs.read` gives it."""
        return np.asarray(softmax(self.logits(batch), axis=1))

    def logits(self, batch: npt.NDArray[Any]) -> FloatArray:
        """(n, K) logits of a batch as `Inputs.read` gives it."""
        return self._network(self.features.backbone.prepare(batch)).double().numpy()

    @cached_property
    def _network(self) -> FoldedOnce:
        return FoldedOnce(ProbedModule(self.features, self.head))

    def _batches(self, inputs: Inputs) -> Iterator[npt.NDArray[Any]]:
        size = self.accepted.rows_at_once
        for start in range(0, len(inputs), size):
            yield inputs.read(np.arange(start, min(start + size, len(inputs))))

    def describe(self) -> dict[str, str]:
        """What a person asks about the model, in words."""
        sides = " × ".join(map(str, self.accepted.shape))
        rows = {
            "classes": ", ".join(self.classes),
            "inputs": self.accepted.kind + (f", {sides}" if sides else ""),
            "data": self.about.dataset or "–",
            **self.features.describe(),
            "backbone": without_file(self.features.backbone_name),
        }
        if self.threshold is not None:
            rows["threshold"] = f"{self.classes[1]} above {self.threshold:g}"
        if self.about.report is not None:
            group, rate = self.about.report.headline
            rows["worst group on test"] = f"{rate.value:.1%} ({group})"
            rows["average on test"] = f"{self.about.report.overall.value:.1%}"
        return rows

    def __repr__(self) -> str:
        return f"Model({', '.join(f'{name}: {value}' for name, value in self.describe().items())})"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>"
            for name, value in self.describe().items()
        )
        report = self.about.report._repr_html_() if self.about.report is not None else ""
        return f"<table>{rows}</table>{report}"


def decide(chances: FloatArray, threshold: float | None) -> npt.NDArray[np.int64]:
    """(n,) class codes of (n, K) probabilities."""
    codes = chances.argmax(axis=1) if threshold is None else chances[:, 1] > threshold
    return codes.astype(np.int64)


def spread(inputs: Inputs, count: int) -> Inputs | None:
    """A few inputs from all over a split."""
    if count < 0:
        raise FttError("the number of examples is negative", given=count, allowed="0 or more")
    rows = np.unique(np.linspace(0, len(inputs) - 1, min(count, len(inputs))).astype(np.int64))
    return inputs.take(rows) if count else None


def checked_threshold(threshold: float | None, n_classes: int) -> float | None:
    """The threshold of a model with this many classes; 0.5 for two, none for more."""
    if threshold is None:
        return 0.5 if n_classes == 2 else None
    if n_classes != 2 or isinstance(threshold, bool) or not 0 < threshold < 1:
        raise FttError(
            "a threshold is a probability of the second of two classes",
            given=f"{threshold!r} for {n_classes} classes",
            allowed="0 < threshold < 1, two classes",
        )
    return float(threshold)
