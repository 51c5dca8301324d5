"""A model as a folder: the format of `ftt.train.saved` with the probe, the names and a few examples beside it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np

from ftt import checked
from ftt.data.inputs import ArrayInputs, Inputs
from ftt.data.texts import Texts
from ftt.errors import FttError, described
from ftt.metrics import GroupReport
from ftt.model.accepted import Accepted
from ftt.model.card import card
from ftt.model.model import About, Head, Model
from ftt.model.preprocessing import preprocessing
from ftt.train import saved


def save(model: Model, folder: Path) -> Path:
    """Write a model and its card; a saved model that is there already is replaced as a whole."""
    config, arrays = saved.parts_of(model.features)
    about = {name: value for name, value in vars(model.about).items() if name != "report"}
    report = model.about.report
    config["model"] = {
        "inputs": asdict(model.accepted),
        "classes": list(model.classes),
        "threshold": model.threshold,
        "about": {**about, "run": dict(model.about.run)},
        "report": None if report is None else report.to_json(),
        "preprocessing": preprocessing(model),
    }
    arrays |= {"probe.coef": model.head.coef_, "probe.intercept": model.head.intercept_, **_kept(model.examples)}
    return saved.write(folder, config, arrays, card(model))


def load(folder: Path) -> Model:
    """Read a model back; features without a probe are refused."""
    config, arrays = saved.read(folder)
    if "model" not in config:
        raise FttError(
            "this folder holds features without a probe",
            given=folder,
            allowed="a folder written by `ftt run … --save`, `ftt save` or Model.save",
            hint="read it with ftt.FreezeThenTrain.load",
        )
    with described("a saved model", f"a {saved.CONFIG} written by Model.save"):
        text = config["model"]
        inputs = {**text["inputs"], "shape": tuple(text["inputs"]["shape"])}
        sequences = {name: tuple(text["about"][name]) for name in ("attributes", "notes")}
        report = None if text["report"] is None else GroupReport.from_json(text["report"])
        return Model(
            saved.rebuild(config, arrays),
            Head(arrays["probe.coef"], arrays["probe.intercept"]),
            Accepted(**inputs),
            text["classes"],
            threshold=text["threshold"],
            about=About(**{**text["about"], **sequences, "report": report}),
            examples=_examples(arrays, Accepted(**inputs)),
        )


def _kept(examples: Inputs | None) -> checked.Arrays:
    if examples is None or not len(examples):
        return {}
    rows = examples.read(np.arange(len(examples)))
    if examples.kind == "texts":
        text = json.dumps([str(row) for row in rows])
        return {"examples.texts": np.frombuffer(text.encode(), dtype=np.uint8)}
    return {"examples.inputs": np.asarray(rows)}


def _examples(arrays: checked.Arrays, accepted: Accepted) -> Inputs | None:
    if "examples.texts" in arrays:
        return Texts(json.loads(arrays["examples.texts"].tobytes()))
    if "examples.inputs" in arrays:
        return ArrayInputs(arrays["examples.inputs"], accepted.kind)
    return None
