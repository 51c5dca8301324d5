"""The scikit-learn front door behaves as scikit-learn asks."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import ftt
from ftt.errors import FttError


def digits() -> tuple[Any, Any, Any, Any, Any, Any]:
    data = ftt.load("digits", core_noise=0.1, spurious_noise=0.05)
    out: list[Any] = []
    for split in (data["train"], data["val"]):
        out += [split.inputs.read(np.arange(len(split))).reshape(len(split), -1) / 255, split.y, split.a]
    return tuple(out)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [ftt.PCAFreezer(), ftt.DFRProbe(), ftt.FTTClassifier(epochs=3)], ids=repr)
def test_sklearn_finds_nothing_to_complain_about(estimator: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        results = check_estimator(estimator, on_fail=None)
    failed = {r["check_name"]: str(r["exception"])[:200] for r in results if r["status"] == "failed"}
    assert not failed
    assert sum(r["status"] == "passed" for r in results) > 30


def test_a_grid_search_over_p_runs_on_digits() -> None:
    X, y, *_ = digits()
    search = GridSearchCV(ftt.FTTClassifier(epochs=2), {"p": [0.0, 0.25, 1.0]}, cv=2).fit(X, y)
    assert search.best_params_["p"] in (0.0, 0.25, 1.0)
    assert search.best_score_ > 0.7


def test_the_attribute_is_routed_through_a_pipeline() -> None:
    *_, X_val, y_val, a_val = digits()
    # As many rows of one value as of the other are balanced whether the attribute arrives or not.
    rows = np.r_[np.flatnonzero(a_val == 0), np.flatnonzero(a_val == 1)[:40]]
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), ftt.PCAFreezer(p=0.5), ftt.DFRProbe(averages=2))
        balanced = pipeline.fit(X_val[rows], y_val[rows], attribute=a_val[rows])[-1].coef_
        plain = clone(pipeline).fit(X_val[rows], y_val[rows])[-1].coef_
    direct = ftt.DFRProbe(averages=2).fit(pipeline[:-1].transform(X_val[rows]), y_val[rows], attribute=a_val[rows])
    np.testing.assert_allclose(balanced, direct.coef_)
    assert not np.allclose(balanced, plain)


def test_probing_on_the_target_beats_the_head_fitted_on_the_shortcut() -> None:
    X, y, a, X_val, y_val, a_val = digits()
    classifier = ftt.FTTClassifier(epochs=5).fit(X, y, attribute=a)
    held = slice(180, None)
    before = classifier.score(X_val[held], y_val[held])
    after = classifier.probe(X_val[:180], y_val[:180], attribute=a_val[:180]).score(X_val[held], y_val[held])
    assert after > before


@pytest.mark.parametrize("method", ["erm", "irm", "cvar-dro", "group-dro", "jtt"])
@pytest.mark.parametrize("branch", ["linear", "mlp"])
def test_every_method_fits_both_branches(method: str, branch: str) -> None:
    X, y, a, *_ = digits()
    classifier = ftt.FTTClassifier(method=method, branch=branch, epochs=1).fit(X, y, attribute=a)
    assert classifier.transform(X).shape == X.shape
    assert classifier.predict_proba(X).sum(axis=1) == pytest.approx(1)


def test_a_clone_fits_to_the_same_weights() -> None:
    X, y, a, *_ = digits()
    first = ftt.FTTClassifier(epochs=1).fit(X, y, attribute=a)
    second = clone(first).fit(X, y, attribute=a)
    np.testing.assert_array_equal(first.probe_.coef_, second.probe_.coef_)


@pytest.mark.parametrize(
    ("estimator", "name"),
    [
        (ftt.FTTClassifier(branch="linaer"), "branch"),
        (ftt.FTTClassifier(p=1.5), "p"),
        (ftt.FTTClassifier(epochs=0), "epochs"),
        (ftt.FTTClassifier(batch_size=2.5), "batch_size"),  # type: ignore[arg-type]
        (ftt.FTTClassifier(lr=float("inf")), "lr"),
        (ftt.FTTClassifier(weight_decay=-1), "weight_decay"),
        (ftt.FTTClassifier(method=3), "method"),  # type: ignore[arg-type]
        (ftt.FTTClassifier(freezer=ftt.JTT()), "freezer"),  # type: ignore[arg-type]
        (ftt.FTTClassifier(random_state="a"), "random_state"),  # type: ignore[arg-type]
        (ftt.PCAFreezer(p=0), "p"),
        (ftt.PCAFreezer(freezer=None), "freezer"),  # type: ignore[arg-type]
    ],
)
def test_an_invalid_parameter_is_named_with_its_value(estimator: Any, name: str) -> None:
    with pytest.raises(FttError, match=f"parameter '{name}' of {type(estimator).__name__}") as caught:
        estimator.fit(np.eye(8), np.arange(8) % 2)
    assert caught.value.given == repr(estimator.get_params()[name])


@pytest.mark.parametrize(
    ("estimator", "words"),
    [
        (ftt.FTTClassifier(method="emr"), "did you mean 'erm'"),
        (ftt.FTTClassifier(join="later"), "did you mean 'late'"),
        (ftt.FTTClassifier(p=0.5, freezer=None), "p has no effect without a freezer"),
        (ftt.PCAFreezer(freezer="contrastive"), "cannot be fitted on features alone"),
        (ftt.PCAFreezer(freezer=ftt.PCA(p=0)), "p = 0 keeps no features"),
    ],
)
def test_names_and_combinations_that_do_not_exist_are_refused(estimator: Any, words: str) -> None:
    with pytest.raises(FttError, match=words):
        estimator.fit(np.eye(8), np.arange(8) % 2)


def small(classes: int = 2, n: int = 120) -> tuple[Any, Any, Any]:
    rng = np.random.default_rng(0)
    y, a = np.arange(n) % classes, np.arange(n) // classes % 2
    return np.eye(classes, 6)[y] + 0.3 * rng.standard_normal((n, 6)), np.array(["ant", "bee", "cow"])[y], a


def test_objects_are_accepted_beside_names_and_survive_clone_and_set_params() -> None:
    X, y, a = small()
    by_name = ftt.FTTClassifier(p=0.5, method="jtt", epochs=1).fit(X, y, attribute=a)
    by_object = ftt.FTTClassifier(freezer=ftt.PCA(p=0.5), method=ftt.JTT(), epochs=1)
    for same in (by_object, clone(by_object), ftt.FTTClassifier(**by_object.get_params())):
        np.testing.assert_array_equal(same.fit(X, y, attribute=a).probe_.coef_, by_name.probe_.coef_)
    other = clone(by_object).set_params(method=ftt.JTT(upweight=2), p=0.0).fit(X, y, attribute=a)
    assert other.model_.recipe == ftt.Recipe(None, ftt.JTT(upweight=2))
    assert by_object.method == ftt.JTT()


def test_without_freezer_and_method_the_features_are_the_embeddings() -> None:
    X, y, _ = small()
    classifier = ftt.FTTClassifier(freezer=None, method=None).fit(X, y)
    np.testing.assert_allclose(classifier.transform(X), X / classifier.scale_)


def test_random_state_none_differs_and_numpy_integers_are_integers() -> None:
    X, y, _ = small()

    def coef(state: Any) -> Any:
        return ftt.FTTClassifier(epochs=np.int64(1), random_state=state).fit(X, y).probe_.coef_  # type: ignore[arg-type]

    assert (coef(None) != coef(None)).any()
    np.testing.assert_array_equal(coef(np.int32(3)), coef(3))
    np.testing.assert_array_equal(coef(np.random.RandomState(3)), coef(np.random.RandomState(3)))


@pytest.mark.parametrize("attribute", [np.zeros((120, 2)), 3, [None] * 120, [1, 2]])
def test_an_unusable_attribute_is_refused(attribute: Any) -> None:
    X, y, _ = small()
    with pytest.raises(FttError, match="attribute"):
        ftt.FTTClassifier(epochs=1).fit(X, y, attribute=attribute)


@pytest.mark.parametrize("kept", [("ant", "cow"), ("bee", "cow")])
def test_probing_on_fewer_classes_keeps_every_column(kept: tuple[str, str]) -> None:
    X, y, a = small(3)
    classifier = ftt.FTTClassifier(epochs=1).fit(X, y, attribute=a)
    rows = np.isin(y, kept)
    with pytest.warns(UserWarning, match="will never be predicted"):
        classifier.probe(X[rows], y[rows], attribute=a[rows])
    probabilities, scores = classifier.predict_proba(X), classifier.decision_function(X)
    assert classifier.classes_.tolist() == ["ant", "bee", "cow"]
    assert probabilities.shape == scores.shape == (120, 3)
    assert (probabilities[:, ~np.isin(classifier.classes_, kept)] == 0).all()
    for columns in (probabilities, scores):
        np.testing.assert_array_equal(classifier.classes_[columns.argmax(axis=1)], classifier.predict(X))


def test_a_class_unknown_to_the_fit_is_named() -> None:
    X, y, _ = small()
    with pytest.raises(FttError, match="no class called 'dog'"):
        ftt.FTTClassifier(epochs=1).fit(X, y).probe(X, np.where(y == "bee", "dog", y))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames_go_in_and_out_without_warnings(library: str) -> None:
    frames = pytest.importorskip(library)
    X, y, a = small()
    frame = frames.DataFrame({f"x{i}": X[:, i] for i in range(6)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classifier = ftt.FTTClassifier(p=0.5, epochs=1).set_output(transform=library)
        classifier.fit(frame, frames.Series(y), attribute=frames.Series(a)).probe(frame, y, attribute=a)
        features: Any = classifier.transform(frame)
        frozen = ftt.PCAFreezer(0.5).fit(frame).transform(frame)
        assert classifier.predict(frame).shape == classifier.predict_proba(frame)[:, 0].shape == (120,)
    assert list(features.columns) == ["frozen0", "frozen1", "frozen2", "trained0", "trained1", "trained2"]
    assert isinstance(frozen, np.ndarray)
    assert ftt.PCAFreezer(0.5).fit(frame).get_feature_names_out().tolist() == [f"pcafreezer{i}" for i in range(3)]
    with pytest.raises(ValueError, match="feature names"):
        classifier.predict(frame[["x1", "x0", "x2", "x3", "x4", "x5"]])


@pytest.mark.parametrize("branch", ["linear", "mlp"])
def test_skops_stores_every_estimator(branch: str) -> None:
    sio = pytest.importorskip("skops.io")
    X, y, a = small()
    classifier = ftt.FTTClassifier(branch=branch, method=ftt.JTT(upweight=3), epochs=1).fit(X, y, attribute=a)
    for fitted in (classifier, ftt.PCAFreezer(0.5).fit(X), ftt.DFRProbe().fit(X, y, attribute=a)):
        stored = sio.dumps(fitted)
        unknown = sio.get_untrusted_types(data=stored)
        assert all(name.startswith("ftt.") for name in unknown)
        back = sio.loads(stored, trusted=unknown)
        for name in ("transform", "predict_proba"):
            if hasattr(fitted, name):
                np.testing.assert_array_equal(getattr(back, name)(X), getattr(fitted, name)(X))
        assert back.get_params() == fitted.get_params()


def test_a_stored_classifier_that_names_another_backbone_is_refused() -> None:
    X, y, _ = small()
    state = ftt.FTTClassifier(epochs=1).fit(X, y).__getstate__()
    config = state["model_"]["config.json"].tobytes().replace(b'"identity"', b'"hf:./evil"')
    state["model_"]["config.json"] = np.frombuffer(config, dtype=np.uint8)
    with pytest.raises(FttError, match="not a stored FTTClassifier"):
        ftt.FTTClassifier().__setstate__(state)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_frozen_features_are_computed_in_the_precision_of_the_caller(dtype: Any) -> None:
    """A mean of a million costs the rounding of the input, not more."""
    X = (np.random.default_rng(0).standard_normal((500, 8)) * np.arange(1, 9) + 1e6).astype(dtype)
    oracle = PCA(4, svd_solver="full").fit(X.astype(np.float64))
    frozen = ftt.PCAFreezer(p=0.5).fit(X)
    found = frozen.transform(X)
    assert found.dtype == dtype
    signs = np.sign((frozen.components_ * oracle.components_).sum(axis=1))
    wanted = oracle.transform(X.astype(np.float64)) * signs
    np.testing.assert_allclose(found, wanted, atol=1e-8 if dtype == np.float64 else 1e-5)


def test_p_auto_chooses_anew_at_every_probing() -> None:
    """Trained features that carry the shortcut alone are dropped where the target does not have it."""
    rng = np.random.default_rng(0)
    core, a = rng.integers(0, 2, (2, 600))
    noisy = np.where(rng.random(600) < 0.3, 1 - core, core)

    def features(core: Any, a: Any) -> Any:
        return np.c_[core + 0.4 * rng.standard_normal(600), 20.0 * a, rng.standard_normal((600, 6))]

    model = ftt.FTTClassifier(p="auto", epochs=5).fit(features(core, noisy), noisy, attribute=noisy)
    model.probe(features(core, a), noisy, attribute=a)
    assert model.chosen_ in ("initial", "both")
    assert model.score(features(core, a), core) > 0.8
    assert model.predict_proba(features(core, a)).shape == (600, 2)


def test_p_auto_needs_a_method_by_name() -> None:
    with pytest.raises(FttError, match="needs a method by name"):
        ftt.FTTClassifier(p="auto", method=ftt.ERM()).fit(np.eye(4), [0, 1, 0, 1])
