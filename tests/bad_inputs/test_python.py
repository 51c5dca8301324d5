"""Calls of the Python front doors with values of the wrong kind: an `FttError` that names the value, no traceback of
ours. What means the same in another type (NumPy integers, paths) is accepted."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.bad_inputs.unchanged import content_of
from tests.cli.shell import Shell

import ftt
from ftt import registry
from ftt.errors import FttError

N = 80
rng = np.random.default_rng(0)
Y, A = np.resize([0, 1], N), np.resize([0, 0, 1, 1], N)
X = np.c_[Y + 0.3 * rng.standard_normal(N), A, rng.standard_normal((N, 2))]
QUICK: dict[str, Any] = {"backbone": "identity", "epochs": 1}
Call = Callable[[Path], object]
any_: Any = ftt


def loaded() -> Any:
    return ftt.load("digits")


class Loop(dict[str, Any]):
    """A mapping that holds itself."""

    def __init__(self) -> None:
        super().__init__(dataset="digits")
        self["base"] = self


CALLS: dict[str, tuple[Call, str]] = {
    "run(None)": (lambda home: any_.run(None, home=home), "dataset must be a name"),
    "run(5)": (lambda home: any_.run(5, home=home), "dataset must be a name"),
    "run of data": (lambda home: any_.run(loaded(), home=home), "dataset must be a name"),
    "run of bytes": (lambda home: any_.run(b"digits", home=home), "dataset must be a name"),
    "run recipe None": (lambda home: any_.run("digits", None, home=home), "a recipe must be a name"),
    "run method None": (lambda home: any_.run("digits", method=None, home=home), "method must be a name"),
    "run method 5": (lambda home: any_.run("digits", method=5, home=home), "method must be a name"),
    "run freeze object": (lambda home: any_.run("digits", freeze=ftt.PCA(), home=home), "freeze must be a name"),
    "run p text": (lambda home: any_.run("digits", p="0.5", home=home), "invalid p"),
    "run p nan": (lambda home: any_.run("digits", p=np.nan, home=home), "invalid p"),
    "run p array": (lambda home: any_.run("digits", p=np.array([0.5, 0.5]), home=home), "invalid p"),
    "run seed None": (lambda home: any_.run("digits", seed=None, home=home), "seed must be"),
    "run seed float": (lambda home: any_.run("digits", seed=1.0, home=home), "seed must be"),
    "run seed True": (lambda home: any_.run("digits", seed=True, home=home), "seed must be"),
    "run seed -1": (lambda home: any_.run("digits", seed=-1, home=home), "seed must be"),
    "run seed 2**63": (lambda home: any_.run("digits", seed=2**63, home=home), "seed must be"),
    "run epochs None": (lambda home: any_.run("digits", epochs=None, home=home), "invalid epochs"),
    "run epochs list": (lambda home: any_.run("digits", epochs=[1], home=home), "invalid epochs"),
    "run repeats 0": (lambda home: any_.run("digits", repeats=0, home=home), "invalid repeats"),
    "run unknown": (lambda home: any_.run("digits", epoch=1, home=home), "did you mean 'epochs'"),
    "run p twice": (lambda home: any_.run("digits", p=0.5, freeze_p=0.5, home=home), "p is given twice"),
    "run home 5": (lambda home: any_.run("digits", home=5), "home must be a path"),
    "run backbone None": (lambda home: any_.run("digits", backbone=None, home=home), "backbone must be a name"),
    "run machine text": (lambda home: any_.run("digits", machine="cpu", home=home), "machine must be"),
    "run(Spec, p)": (lambda home: any_.run(spec(), p=0.5, home=home), "a Spec is complete"),
    "Spec of None": (lambda home: any_.Spec(data=None, backbone="x", recipe="ftt"), "invalid data"),
    "Spec backbone None": (
        lambda home: any_.Spec(data=spec().data, backbone=None, recipe="ftt"),
        "backbone must be a name",
    ),
    "Spec recipe 5": (lambda home: any_.Spec(data=spec().data, backbone="x", recipe=5), "a recipe must be"),
    "Spec train None": (
        lambda home: any_.Spec(data=spec().data, backbone="x", recipe="ftt", train=None),
        "invalid train",
    ),
    "Spec.from_description(None)": (lambda home: any_.Spec.from_description(None), "does not describe a run"),
    "Spec.from_description({})": (lambda home: any_.Spec.from_description({}), "'data' is missing"),
    "Recipe freeze text": (lambda home: any_.Recipe(freeze="pca"), "freeze of a recipe must be"),
    "Recipe sources text": (lambda home: any_.Recipe(sources="initial"), "sources of a recipe must be"),
    "Recipe sources None": (lambda home: any_.Recipe(sources=None), "sources of a recipe must be"),
    "Training epochs text": (lambda home: any_.Training(epochs="2"), "invalid epochs"),
    "Probing repeats 0": (lambda home: any_.Probing(repeats=0), "invalid repeats"),
    "PCA p 2": (lambda home: any_.PCA(p=2), "invalid p"),
    "Resources workers 0": (lambda home: any_.Resources(workers=0), "workers must be a positive integer"),
    "Resources threads text": (lambda home: any_.Resources(threads="2"), "threads must be a positive integer"),
    "Resources workers True": (lambda home: any_.Resources(workers=True), "workers must be a positive integer"),
    "fit(None)": (lambda home: any_.fit(None), "data must be a GroupedData"),
    "fit of arrays": (lambda home: any_.fit(X), "data must be a GroupedData"),
    "fit recipe 5": (lambda home: any_.fit(loaded(), 5), "a recipe must be a name or a Recipe"),
    "fit backbone 5": (lambda home: any_.fit(loaded(), "ftt", 5), "no backbone called '5'"),
    "fit seed None": (lambda home: any_.fit(loaded(), seed=None), "seed must be"),
    "fit unknown": (lambda home: any_.fit(loaded(), epoch=2), "did you mean 'epochs'"),
    "fit training 5": (lambda home: any_.fit(loaded(), training=5), "training must be a Training"),
    "fit cache 5": (lambda home: any_.fit(loaded(), cache=5), "cache must be a path"),
    "sweep(None)": (lambda home: any_.sweep(None, home=home), "source must be a path"),
    "sweep(5)": (lambda home: any_.sweep(5, home=home), "source must be a path"),
    "sweep of a list": (lambda home: any_.sweep([1], home=home), "source must be a path"),
    "sweep of itself": (lambda home: any_.sweep({"base": Loop()}, home=home), "nested too deeply"),
    "sweep of odd keys": (lambda home: any_.sweep({5: 1}, home=home), "no section of a sweep"),
    "sweep of odd fields": (
        lambda home: any_.sweep({"base": {"dataset": "digits", 5: 1}}, home=home),
        "no parameter called '5'",
    ),
    "sweep grid generator": (
        lambda home: any_.sweep({"base": {"dataset": "digits"}, "grid": {"p": iter([1])}}, home=home),
        "must be a list",
    ),
    "sweep on cloud": (
        lambda home: any_.sweep({"base": {"dataset": "digits"}}, home=home, on="cloud"),
        "no launcher called 'cloud'",
    ),
    "sweep resources 5": (
        lambda home: any_.sweep({"base": {"dataset": "digits"}}, home=home, resources=5),
        "resources must be",
    ),
    "results(5)": (lambda home: any_.results(5, home=home), "where must be a condition"),
    "results(b'')": (lambda home: any_.results(b"p = 1", home=home), "where must be a condition"),
    "results group_by 5": (lambda home: any_.results(group_by=5, home=home), "group_by must be"),
    "results columns [None]": (lambda home: any_.results(columns=[None], home=home), "no column of the results"),
    "results home 5": (lambda home: any_.results(home=5), "home must be a path"),
    "reproduce(None)": (lambda home: any_.reproduce(None, home=home), "no experiment called 'None'"),
    "reproduce(5)": (lambda home: any_.reproduce(5, home=home), "no experiment called '5'"),
    "reproduce seeds 0": (lambda home: any_.reproduce("fig1", seeds=0, home=home), "seeds must be"),
    "reproduce seeds text": (lambda home: any_.reproduce("fig1", seeds="2", home=home), "seeds must be"),
    "reproduce seeds 10**9": (lambda home: any_.reproduce("fig1", seeds=10**9, home=home), "seeds must be"),
    "reproduce budget None": (lambda home: any_.reproduce("fig1", budget=None, home=home), "no budget called 'None'"),
    "reproduce unknown": (lambda home: any_.reproduce("fig1", seed=1, home=home), "did you mean 'seeds'"),
    "reproduce out 5": (lambda home: any_.reproduce("fig3", out=5, home=home), "out must be a path"),
    "ls(5)": (lambda home: any_.ls(5), "no list called '5'"),
    "load(None)": (lambda home: any_.load(None), "described by its name"),
    "load(5)": (lambda home: any_.load(5), "described by its name"),
    "load unknown": (lambda home: any_.load("digit"), "did you mean 'digits'"),
    "load noise text": (lambda home: any_.load("digits", core_noise="x"), "invalid core_noise"),
    "load cache 5": (lambda home: any_.load("digits", cache=5), "cache must be a path"),
    "load path None": (lambda home: any_.load("embeddings", path=None), "invalid path"),
    "load without path": (lambda home: any_.load("embeddings"), "'embeddings' needs path"),
    "probe 2-d attribute": (lambda home: ftt.DFRProbe().fit(X, Y, attribute=np.c_[A, A]), "one-dimensional"),
    "probe scalar attribute": (lambda home: ftt.DFRProbe().fit(X, Y, attribute=1), "one-dimensional"),
    "probe text attribute": (lambda home: ftt.DFRProbe().fit(X, Y, attribute="a"), "one-dimensional"),
    "probe short attribute": (lambda home: ftt.DFRProbe().fit(X, Y, attribute=A[:5]), "differ in length"),
    "probe attribute with None": (lambda home: ftt.DFRProbe().fit(X, Y, attribute=[None] * N), "missing values"),
    "probe attribute with NaN": (lambda home: ftt.DFRProbe().fit(X, Y, attribute=np.full(N, np.nan)), "missing"),
    "probe repeats 0": (lambda home: ftt.DFRProbe(repeats=0).fit(X, Y), "'repeats'"),
    "probe repeats 10**12": (lambda home: ftt.DFRProbe(repeats=10**12).fit(X, Y), "'repeats'"),
    "probe averages 10**12": (lambda home: ftt.DFRProbe(averages=10**12).fit(X, Y), "'averages'"),
    "probe repeats None": (lambda home: any_.DFRProbe(repeats=None).fit(X, Y), "'repeats'"),
    "probe tol inf": (lambda home: ftt.DFRProbe(tol=np.inf).fit(X, Y), "'tol'"),
    "probe tol nan": (lambda home: ftt.DFRProbe(tol=np.nan).fit(X, Y), "'tol'"),
    "probe grid None": (lambda home: any_.DFRProbe(grid=None).fit(X, Y), "'grid'"),
    "probe grid empty": (lambda home: ftt.DFRProbe(grid=[]).fit(X, Y), "'grid'"),
    "probe grid nan": (lambda home: ftt.DFRProbe(grid=[np.nan]).fit(X, Y), "'grid'"),
    "probe max_iter 0": (lambda home: ftt.DFRProbe(max_iter=0).fit(X, Y), "'max_iter'"),
    "probe penalty l3": (lambda home: ftt.DFRProbe(penalty="l3").fit(X, Y), "'penalty'"),
    "probe one class": (lambda home: ftt.DFRProbe().fit(X, np.zeros(N)), "one class only"),
    "probe random_state text": (lambda home: any_.DFRProbe(random_state="x").fit(X, Y), "'random_state'"),
    "classifier 2-d attribute": (lambda home: ftt.FTTClassifier(epochs=1).fit(X, Y, np.c_[A, A]), "one-dimensional"),
    "classifier scalar attribute": (lambda home: ftt.FTTClassifier(epochs=1).fit(X, Y, 0), "one-dimensional"),
    "classifier p 2": (lambda home: ftt.FTTClassifier(p=2).fit(X, Y), "'p'"),
    "classifier p nan": (lambda home: ftt.FTTClassifier(p=np.nan).fit(X, Y), "p"),
    "classifier epochs 0": (lambda home: ftt.FTTClassifier(epochs=0).fit(X, Y), "'epochs'"),
    "classifier epochs 10**30": (lambda home: ftt.FTTClassifier(epochs=10**30).fit(X, Y), "epochs"),
    "classifier lr inf": (lambda home: ftt.FTTClassifier(lr=np.inf).fit(X, Y), "lr"),
    "classifier method 5": (lambda home: any_.FTTClassifier(method=5).fit(X, Y), "'method'"),
    "classifier freezer pcaa": (lambda home: ftt.FTTClassifier(freezer="pcaa").fit(X, Y), "did you mean 'pca'"),
    "classifier join lat": (lambda home: ftt.FTTClassifier(join="lat").fit(X, Y), "did you mean 'late'"),
    "classifier one class": (lambda home: ftt.FTTClassifier().fit(X, np.zeros(N)), "one class"),
    "freezer p 0": (lambda home: ftt.PCAFreezer(p=0).fit(X), "'p'"),
    "FreezeThenTrain.load(None)": (lambda home: any_.FreezeThenTrain.load(None), "folder"),
    "FreezeThenTrain.load(nowhere)": (
        lambda home: ftt.FreezeThenTrain.load(home / "no"),
        "no saved model",
    ),
}


def spec() -> Any:
    from ftt.runs.compose import compose

    return compose({"dataset": "digits"})


@pytest.mark.parametrize("case", CALLS)
def test_bad_call_is_refused_in_words(case: str, store: Path) -> None:
    call, words = CALLS[case]
    before = content_of(store)
    with pytest.raises(FttError) as caught:
        call(store)
    assert words in str(caught.value)
    assert len(str(caught.value)) < 3000
    assert content_of(store) == before


def test_numpy_numbers_and_paths_mean_the_same_as_plain_ones(tmp_path: Path) -> None:
    plain = ftt.run("digits", "init", seed=1, repeats=2, home=str(tmp_path), backbone="identity")
    other = ftt.run(
        "digits", "init", seed=np.int64(1), repeats=np.int32(2), home=tmp_path, backbone=str(np.str_("identity"))
    )
    assert other.from_store
    assert other == plain
    assert any_.Resources(workers=np.int64(2)).divide(4, cores=4) == (2, 2)
    probe = any_.DFRProbe(repeats=np.int64(2), tol=np.float32(1e-3), random_state=np.int64(0)).fit(X, Y, attribute=A)
    np.testing.assert_array_equal(probe.fit(X, Y, attribute=list(A)).coef_, probe.coef_)
    np.savez(
        tmp_path / "own.npz", features=X, y=Y, attribute=A, split=np.repeat(["train", "val", "test"], [40, 20, 20])
    )
    assert len(ftt.load("embeddings", path=tmp_path / "own.npz", cache=tmp_path)["train"].y) == 40


@pytest.fixture
def broken_plugin(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A package whose entry point cannot be imported, found anew by every list."""
    (tmp_path / "raising_plugin.py").write_text("raise RuntimeError('this plug-in is broken')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    points = [
        importlib.metadata.EntryPoint(name, target, "ftt.methods")
        for name, target in (
            ("absent", "no_such_package:Method"),
            ("raises", "raising_plugin:Method"),
            ("odd", "not a target"),
        )
    ]
    real = importlib.metadata.entry_points

    def found(**given: Any) -> Any:
        return points if given.get("group") == "ftt.methods" else real(**given)

    monkeypatch.setattr(importlib.metadata, "entry_points", found)
    fresh: registry.PartRegistry[Any] = registry.PartRegistry("method", "methods", {})
    fresh._entries = dict(registry.METHODS._entries)
    monkeypatch.setattr(registry, "METHODS", fresh)


@pytest.mark.usefixtures("broken_plugin")
@pytest.mark.parametrize("name", ["absent", "raises", "odd"])
def test_broken_plugin_is_refused_in_words_and_does_not_spoil_the_lists(name: str, shell: Shell) -> None:
    listed = shell.json("ls", "methods")["methods"]
    assert {"erm", "absent", "raises", "odd"} <= set(listed)
    text = shell.refused("run", "digits", "--method", name)
    assert f"the method {name!r} cannot be imported" in text
    assert shell("run", "digits", "--recipe", "init", "--backbone", "identity").code == 0
