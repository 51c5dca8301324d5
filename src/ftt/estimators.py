"""Estimators with scikit-learn's interface: embeddings in, frozen features or a fitted classifier out."""

from __future__ import annotations

import json
import tempfile
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Self, cast

import numpy as np
import numpy.typing as npt
import torch
from sklearn.base import BaseEstimator, ClassifierMixin, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import Interval, Real, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ftt import registry
from ftt.arrays import FloatArray, IntArray
from ftt.data import ArrayInputs, DatasetInfo, GroupedData
from ftt.errors import FttError, unknown
from ftt.freeze.freezer import Freezer
from ftt.methods.method import Method
from ftt.probe.dfr import DFRProbe
from ftt.probe.parameters import (
    COUNT,
    NOT_NEGATIVE,
    POSITIVE,
    RANDOM_STATE,
    RandomState,
    check_parameters,
    draw_seed,
    encode_attribute,
)
from ftt.recipe import Recipe
from ftt.settings import setting
from ftt.sources.auto import held_out_score
from ftt.spec import Training
from ftt.train import FreezeThenTrain, fit
from ftt.train.export import FeatureModule

__all__ = ["DFRProbe", "FTTClassifier", "PCAFreezer"]

USUAL = setting("embeddings").training
"""How `ftt run embeddings` trains."""

BRANCHES = {"linear": "identity", "mlp": "mlp"}


class PCAFreezer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The freeze stage as a transformer: p·d principal components, centred, not whitened.

    Parameters
    ----------
    p : float, optional
        Share of the dimensions that is kept, 0 < p <= 1; by default that of the freezer, 0.25.
    freezer : str or Freezer
        A name of `ftt ls freezers`, or an object such as ``ftt.PCA(rows=1000)``.

    Attributes
    ----------
    components_ : (k, d) array
        Orthonormal directions, the best first.
    mean_ : (d,) array
        Mean feature, which is subtracted.
    explained_variance_ratio_ : float
        Share of the variance that the kept directions hold.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((50, 8))
    >>> PCAFreezer(p=0.5).fit_transform(X).shape
    (50, 4)
    """

    def __init__(self, p: float | None = None, freezer: str | Freezer = "pca") -> None:
        self.p = p
        self.freezer = freezer

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the directions; `y` is ignored."""
        check_parameters(self, {"p": [Interval(Real, 0, 1, closed="right"), None], "freezer": [str, Freezer]})
        X = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
        freezer = _freezer(self.freezer, self.p)
        assert freezer is not None
        if freezer.p == 0:
            raise FttError("p = 0 keeps no features", given=repr(self.freezer), allowed="0 < p <= 1")
        if type(freezer).adapt is not Freezer.adapt:
            raise FttError(
                f"the freezer {freezer.name!r} trains a backbone, so it cannot be fitted on features alone",
                given=repr(self.freezer),
                allowed="a freezer that only looks at features, such as 'pca'",
                hint="use FTTClassifier",
            )
        basis, k = freezer.basis([X], X.shape[1]), max(1, freezer.frozen_dims(X.shape[1]))
        self.components_, self.mean_ = np.ascontiguousarray(basis.weight[:, :k].T), basis.mean
        self.explained_variance_ratio_ = basis.explained(k)
        return self

    def transform(self, X: Any) -> FloatArray:
        """(n, p·d) frozen features."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        weight, mean = self.components_.T.astype(X.dtype), self.mean_.astype(X.dtype)
        # Centred first, so that a large mean costs no digits; then what the mean lost in the precision of X.
        return cast(FloatArray, (X - mean) @ weight + ((mean - self.mean_) @ self.components_.T).astype(X.dtype))

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)


class FTTClassifier(ClassifierMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Freeze then Train on embeddings.

    `fit` freezes and trains on the training environment; `probe` retrains the last layer on the target environment.
    Before `probe`, `predict` uses a last layer fitted on the training data.

    Parameters
    ----------
    p : float or "auto", optional
        Share of frozen features, 0 <= p <= 1; by default that of the freezer, 0.25. With ``"auto"`` the method is
        trained alone (by name), and every probing keeps all initial features, all trained ones or both, whichever has
        the best worst group on held-out halves of its data.
    freezer : str, Freezer or None
        A name of `ftt ls freezers`, or an object such as ``ftt.PCA(rows=1000)``; None freezes nothing.
    method : str, Method or None
        A name of `ftt ls methods`, or an object such as ``ftt.JTT(upweight=5)``; None trains nothing.
    branch : {"linear", "mlp"}
        The part that is trained beside the frozen features.
    join : {"joint", "late"}
        Where frozen and trained features meet: in training, or only at probing.
    epochs, batch_size, lr, weight_decay
        Training of the branch, by SGD with momentum 0.9.
    random_state : int, RandomState, Generator or None
        Randomness of training and probing; None gives different results at every fit.

    Attributes
    ----------
    classes_ : (K,) array
        Labels seen in `fit`.
    model_ : FreezeThenTrain
        The fitted features.
    probe_ : DFRProbe
        The last layer in use.
    chosen_ : {"initial", "both", "trained"}
        What the last probing kept; only with ``p="auto"``.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> a, y = rng.integers(0, 2, 200), rng.integers(0, 2, 200)
    >>> X = np.c_[y + 0.1 * rng.standard_normal(200), a, rng.standard_normal((200, 6))]
    >>> float(FTTClassifier(epochs=2).fit(X, y, attribute=a).probe(X, y, attribute=a).score(X, y)) > 0.9
    True
    """

    __metadata_request__fit: ClassVar = {"attribute": True}
    __metadata_request__probe: ClassVar = {"attribute": True}
    _constraints: ClassVar[dict[str, list[Any]]] = {
        "p": [Interval(Real, 0, 1, closed="both"), StrOptions({"auto"}), None],
        "freezer": [str, Freezer, None],
        "method": [str, Method, None],
        "branch": [StrOptions(set(BRANCHES))],
        "join": [str],
        "epochs": [COUNT],
        "batch_size": [COUNT],
        "lr": [POSITIVE],
        "weight_decay": [NOT_NEGATIVE],
        "random_state": RANDOM_STATE,
    }

    def __init__(
        self,
        p: float | str | None = None,
        freezer: str | Freezer | None = "pca",
        method: str | Method | None = "erm",
        branch: str = "linear",
        join: str = "joint",
        epochs: int = USUAL.epochs,
        batch_size: int = USUAL.batch_size,
        lr: float = USUAL.lr,
        weight_decay: float = USUAL.weight_decay,
        random_state: RandomState = 0,
    ) -> None:
        self.p = p
        self.freezer = freezer
        self.method = method
        self.branch = branch
        self.join = join
        self.epochs = epochs
        self.batch_size = batch_size
        self.lr = lr
        self.weight_decay = weight_decay
        self.random_state = random_state

    def fit(self, X: Any, y: Any, attribute: Any = None) -> Self:
        """Freeze and train.

        Parameters
        ----------
        X : (n, d) array
            Embeddings.
        y : (n,) array
            Observed labels.
        attribute : (n,) array, optional
            Groups, for the methods that use them and for the first probe.
        """
        check_parameters(self, self._constraints)
        recipe = self._recipe()
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise FttError(
                "classifier cannot be fitted on one class", given=self.classes_.tolist(), allowed="two or more classes"
            )
        # Features of any scale train alike: one common scale is taken out, directions are left as they are.
        self.scale_ = float(np.sqrt(X.var(axis=0, dtype=np.float64).mean())) or 1.0
        training = Training(
            epochs=int(self.epochs),
            batch_size=int(self.batch_size),
            lr=float(self.lr),
            weight_decay=float(self.weight_decay),
        )
        seed = draw_seed(self.random_state)
        data = self._data(X, codes, attribute)
        self.model_ = fit(data, recipe, BRANCHES[self.branch], training=training, seed=seed)
        self._export()
        self._fit_probe(X, y, attribute, seed)
        return self

    def probe(self, X: Any, y: Any, attribute: Any = None) -> Self:
        """Retrain the last layer on data of the target environment; the features stay as they are.

        Parameters
        ----------
        X : (n, d) array
            Embeddings.
        y : (n,) array
            Observed labels. Classes that do not occur keep their column in `predict_proba`, with probability 0.
        attribute : (n,) array, optional
            Groups to balance.
        """
        check_is_fitted(self, "model_")
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], reset=False)
        given = set(np.unique(y).tolist())
        if new := sorted(given - set(self.classes_.tolist())):
            raise unknown("class", new[0], map(str, self.classes_))
        if absent := sorted(set(self.classes_.tolist()) - given):
            warnings.warn(f"the probing data has no rows of {absent}; they will never be predicted", stacklevel=2)
        self._fit_probe(X, y, attribute, draw_seed(self.random_state))
        return self

    def transform(self, X: Any) -> FloatArray:
        """(n, d) frozen and trained features."""
        check_is_fitted(self, "model_")
        return self._features(validate_data(self, X, dtype=[np.float64, np.float32], reset=False))

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """Names of the columns of `transform`: ``frozen0``, …, ``trained0``, …"""
        check_is_fitted(self, "model_")
        blocks = self.model_.blocks
        names = [f"{block.branch.kind}{i}" for block in blocks for i in range(block.width)]
        return np.array(names, dtype=np.object_)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """(n,) predicted labels."""
        phi = self._checked(X)
        return self.probe_.predict(phi)

    def predict_proba(self, X: Any) -> FloatArray:
        """(n, K) probabilities, in the order of `classes_`."""
        phi = self._checked(X)
        return self._every_class(self.probe_.predict_proba(phi), 0.0)

    def decision_function(self, X: Any) -> FloatArray:
        """(n,) scores of the second class for two classes, (n, K) otherwise."""
        phi = self._checked(X)
        scores = self.probe_.decision_function(phi)
        if scores.ndim == 1 and len(self.classes_) > 2:
            scores = np.stack([np.zeros_like(scores), scores], axis=1)
        # As in scikit-learn's cross-validation: a class the probe has not seen scores lowest.
        return scores if scores.ndim == 1 else self._every_class(scores, float(np.finfo(scores.dtype).min))

    def __getstate__(self) -> dict[str, Any]:
        """Arrays and plain values only, so that skops (and whatever else reads no torch objects) can store a fit."""
        state = dict(super().__getstate__())
        if "model_" in state:
            del state["features_"]
            with tempfile.TemporaryDirectory() as folder:
                self.model_.save(folder)
                state["model_"] = {
                    path.name: np.frombuffer(path.read_bytes(), dtype=np.uint8) for path in Path(folder).iterdir()
                }
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        files = state.pop("model_", None)
        super().__setstate__(state)
        if files is None:
            return
        # A stored estimator may come from anywhere: only the backbones of this class are ever built.
        backbone = json.loads(files["config.json"].tobytes())["backbone"]
        if backbone not in BRANCHES.values():
            raise FttError("not a stored FTTClassifier", given=repr(backbone), allowed=", ".join(BRANCHES.values()))
        with tempfile.TemporaryDirectory() as folder:
            for name, content in files.items():
                (Path(folder) / Path(name).name).write_bytes(content.tobytes())
            self.model_ = FreezeThenTrain.load(folder)
        self._export()

    def _recipe(self) -> Recipe:
        if self.p != "auto":
            return Recipe(_freezer(self.freezer, cast("float | None", self.p)), _method(self.method), self.join)
        if not isinstance(self.method, str):
            raise FttError("p='auto' needs a method by name", given=repr(self.method), allowed="method='erm'")
        sources = [{"name": "initial"}, {"name": "trained", "by": self.method}]
        return Recipe(sources=tuple(registry.SOURCES.build(source) for source in sources))

    def _checked(self, X: Any) -> FloatArray:
        check_is_fitted(self, "probe_")
        phi = self._features(validate_data(self, X, dtype=[np.float64, np.float32], reset=False))
        return phi[:, self._columns(self.chosen_)] if self.p == "auto" else phi

    def _columns(self, choice: str) -> slice:
        """The columns of the features that a choice of ``p="auto"`` keeps."""
        first = self.model_.widths[0]
        return {"initial": slice(0, first), "both": slice(None), "trained": slice(first, None)}[choice]

    def _features(self, X: FloatArray) -> FloatArray:
        with torch.inference_mode():
            phi = self.features_(torch.from_numpy(np.asarray(X / self.scale_, dtype=np.float64)))
        return cast(FloatArray, phi.numpy().astype(X.dtype))

    def _export(self) -> None:
        # Double precision costs little at this size and makes a row's features independent of its neighbours.
        self.features_ = FeatureModule(self.model_).double()

    def _fit_probe(self, X: FloatArray, y: npt.NDArray[Any], attribute: Any, seed: int) -> None:
        phi = self._features(X)
        if self.p == "auto":
            codes, groups = (np.unique(y, return_inverse=True)[1], encode_attribute(attribute, len(y))[1])
            scores = {
                choice: held_out_score(phi[:, self._columns(choice)], codes, groups, seed)
                for choice in ("initial", "both", "trained")
            }
            self.chosen_ = max(scores, key=lambda choice: scores[choice])
            phi = phi[:, self._columns(self.chosen_)]
        self.probe_ = DFRProbe(random_state=seed).fit(phi, y, attribute=attribute)

    def _every_class(self, columns: FloatArray, absent: float) -> FloatArray:
        """Columns of the probe's classes as columns of all classes."""
        if len(self.probe_.classes_) == len(self.classes_):
            return columns
        full = np.full((len(columns), len(self.classes_)), absent, dtype=columns.dtype)
        full[:, np.searchsorted(self.classes_, self.probe_.classes_)] = columns
        return full

    def _data(self, X: FloatArray, codes: IntArray, attribute: Any) -> GroupedData:
        names, groups = encode_attribute(attribute, len(X))
        info = DatasetInfo(
            "embeddings", tuple(map(str, self.classes_)), tuple(map(str, names)), "embeddings of the caller"
        )
        inputs = ArrayInputs(np.ascontiguousarray(X / self.scale_, dtype=np.float32), "features")
        return GroupedData(inputs, codes.astype(np.int64), groups, np.full(len(X), "train"), info)


def _freezer(chosen: str | Freezer | None, p: float | None) -> Freezer | None:
    """The freezer of a name or an object; `p`, where given, replaces its own."""
    if chosen is None:
        if p is None:
            return None
        raise FttError("p has no effect without a freezer", given=f"p={p!r}, freezer=None", allowed="p=None")
    made = chosen if isinstance(chosen, Freezer) else registry.FREEZERS.build({"name": chosen})
    return made if p is None else replace(made, p=float(p))


def _method(chosen: str | Method | None) -> Method | None:
    return registry.METHODS.build({"name": chosen}) if isinstance(chosen, str) else chosen
