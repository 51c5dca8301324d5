"""The scikit-learn front door: embeddings in, a fitted classifier out."""

from __future__ import annotations

from typing import Any, ClassVar, Self, cast

import numpy as np
import numpy.typing as npt
import torch
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ftt import registry
from ftt.data import ArrayInputs, DatasetInfo, GroupedData
from ftt.errors import FttError, unknown
from ftt.freeze.base import Projection
from ftt.probe.dfr import DFRProbe
from ftt.recipe import Recipe
from ftt.spec import Training
from ftt.train import fit
from ftt.train.export import FeatureModule

__all__ = ["DFRProbe", "FTTClassifier", "PCAFreezer"]

BRANCHES = {"linear": "identity", "mlp": "mlp"}


class PCAFreezer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """The freeze stage as a transformer: p·d principal components, centred, not whitened.

    Parameters
    ----------
    p : float
        Share of the dimensions that is kept, 0 < p <= 1.
    freezer : str
        A name of `ftt ls freezers` that needs no images.
    """

    def __init__(self, p: float = 0.25, freezer: str = "pca") -> None:
        self.p = p
        self.freezer = freezer

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the directions; `y` is never looked at."""
        X = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
        freezer = registry.FREEZERS.build({"name": self.freezer, "p": self.p})
        self.projection_: Projection = freezer.basis([X], X.shape[1]).first(max(1, freezer.frozen_dims(X.shape[1])))
        self.explained_variance_ratio_ = self.projection_.explained
        return self

    def transform(self, X: Any) -> npt.NDArray[np.floating[Any]]:
        """(n, p·d) frozen features."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        return cast("npt.NDArray[np.floating[Any]]", X @ self.projection_.weight + self.projection_.bias)


class FTTClassifier(ClassifierMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Freeze then Train on embeddings.

    `fit` freezes and trains on the training environment; `probe` retrains the last layer on the target environment.
    Before `probe`, `predict` uses a last layer fitted on the training data.

    Parameters
    ----------
    p : float
        Share of frozen features, 0..1.
    freezer, method : str
        Names of `ftt ls freezers` and `ftt ls methods`.
    branch : {"linear", "mlp"}
        What is trained beside the frozen features.
    join : {"joint", "late"}
        Where frozen and trained features meet.
    epochs, batch_size, lr, weight_decay
        Training of the branch, by SGD with momentum 0.9.
    random_state : int or None
        Seed.

    Attributes
    ----------
    model_ : FreezeThenTrain
        The fitted features.
    probe_ : DFRProbe
        The last layer in use.

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

    def __init__(
        self,
        p: float = 0.25,
        freezer: str = "pca",
        method: str = "erm",
        branch: str = "linear",
        join: str = "joint",
        epochs: int = 20,
        batch_size: int = 128,
        lr: float = 0.01,
        weight_decay: float = 1e-3,
        random_state: int | None = 0,
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
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32])
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise FttError(
                "classifier cannot be fitted on one class", given=self.classes_.tolist(), allowed="two or more"
            )
        if self.branch not in BRANCHES:
            raise unknown("branch", self.branch, BRANCHES)
        # Features of any scale train alike: one common scale is taken out, directions are left as they are.
        self.scale_ = float(np.sqrt(X.var(axis=0, dtype=np.float64).mean())) or 1.0
        data = self._data(X, codes, attribute)
        recipe = Recipe(
            registry.FREEZERS.build({"name": self.freezer, "p": self.p}),
            registry.METHODS.build({"name": self.method}),
            self.join,
        )
        training = Training(epochs=self.epochs, batch_size=self.batch_size, lr=self.lr, weight_decay=self.weight_decay)
        self.model_ = fit(data, recipe, BRANCHES[self.branch], training=training, seed=self._seed())
        # Double precision costs little at this size and makes a row's features independent of its neighbours.
        self.features_ = FeatureModule(self.model_).double()
        return self.probe(X, y, attribute)

    def probe(self, X: Any, y: Any, attribute: Any = None) -> Self:
        """Retrain the last layer on data of the target environment; the features stay as they are."""
        check_is_fitted(self, "model_")
        phi = self.transform(X)
        y = np.asarray(y)
        missing = set(np.unique(y)) - set(self.classes_)
        if missing:
            raise unknown("class", sorted(missing)[0], [str(c) for c in self.classes_])
        self.probe_ = DFRProbe(random_state=self._seed()).fit(phi, y, attribute=attribute)
        return self

    def transform(self, X: Any) -> npt.NDArray[np.floating[Any]]:
        """(n, d) frozen and trained features."""
        check_is_fitted(self, "model_")
        X = validate_data(self, X, dtype=[np.float64, np.float32], reset=False)
        with torch.inference_mode():
            phi = self.features_(torch.from_numpy(np.asarray(X / self.scale_, dtype=np.float64)))
        return cast("npt.NDArray[np.floating[Any]]", phi.numpy().astype(X.dtype))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """(n,) predicted labels."""
        check_is_fitted(self, "probe_")
        return self.probe_.predict(self.transform(X))

    def predict_proba(self, X: Any) -> npt.NDArray[np.floating[Any]]:
        """(n, K) probabilities."""
        check_is_fitted(self, "probe_")
        return self.probe_.predict_proba(self.transform(X))

    def decision_function(self, X: Any) -> npt.NDArray[np.floating[Any]]:
        """(n,) or (n, K) scores."""
        check_is_fitted(self, "probe_")
        return self.probe_.decision_function(self.transform(X))

    def _seed(self) -> int:
        return 0 if self.random_state is None else int(self.random_state)

    def _data(self, X: npt.NDArray[np.floating[Any]], codes: npt.NDArray[np.int64], attribute: Any) -> GroupedData:
        names, groups = np.unique(np.zeros(len(X)) if attribute is None else np.asarray(attribute), return_inverse=True)
        info = DatasetInfo(
            "embeddings", tuple(map(str, self.classes_)), tuple(map(str, names)), "embeddings of the caller"
        )
        inputs = ArrayInputs(np.ascontiguousarray(X / self.scale_, dtype=np.float32), "features")
        return GroupedData(inputs, codes.astype(np.int64), groups.astype(np.int64), np.full(len(X), "train"), info)
