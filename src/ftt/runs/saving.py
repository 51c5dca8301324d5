"""From a finished run to a model: features and probes from the store, put together for use.

Of several probe seeds the mean of their linear maps is kept. Each probe is such a mean itself, over balanced samples,
so that five seeds of ten samples become one probe of fifty. The card reports this very probe on the test split, beside
the figures of the run, which are means over its probes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ftt.arrays import unpack
from ftt.data import GroupedData
from ftt.errors import FttError
from ftt.metrics import predict
from ftt.model import Model
from ftt.model.accepted import Accepted
from ftt.model.model import EXAMPLES, About, Head, spread
from ftt.params import Json
from ftt.probe import DFRProbe
from ftt.progress import say
from ftt.result import Result
from ftt.runs.own_head import OwnHead
from ftt.runs.runner import ProbedFeatures, probe_features
from ftt.spec import Run
from ftt.store import Home
from ftt.train import FreezeThenTrain, Services, fit
from ftt.train.checkpoint import CheckpointFile
from ftt.train.model import Block, Trained, Untrained
from ftt.train.saved import require_free

Probes = Sequence[DFRProbe | OwnHead]


def save_run(run: Run, folder: Path, home: Home, *, threshold: float | None = None, examples: int = EXAMPLES) -> Path:
    """Write the model of a finished run; what the store still holds is not computed again.

    Parameters
    ----------
    threshold : float, optional
        For two classes: the probability of the second above which it is predicted; 0.5 by default.
    examples : int
        How many inputs of the probing split are kept with the model, for checking exports.
    """
    require_free(folder)
    return model_of(run, home, threshold=threshold, examples=examples).save(folder)


def model_of(run: Run, home: Home, *, threshold: float | None = None, examples: int = EXAMPLES) -> Model:
    """The model of a finished run."""
    spec, result = run.spec, _finished(run, home)
    data = spec.data.load(home.roots)
    services = Services(home.artifacts, checkpoints=lambda key: CheckpointFile(home.checkpoint_folder(key)))
    features = fit(data, spec.recipe, spec.backbone, training=spec.train, seed=spec.seed, services=services)
    view = ProbedFeatures(features, spec.probe, data, services.cache)
    probes, _ = probe_features(view, data)
    _compare(probes, view, data, result)
    head = _head(probes, data.n_classes)
    data = replace(data, source=spec.data)
    predicted = np.concatenate([head.codes(block, threshold) for block in view.rows(data["test"]).blocks()])
    about = About.of(data, predicted)
    if view.projection is not None:
        head = head.after(view.projection.weight, view.projection.bias)
    columns = (getattr(spec.data, name, None) for name in ("text", "features", "image"))
    column = next((value for value in columns if isinstance(value, str)), None)
    return Model(
        _read_at(features, spec.probe.depth),
        head,
        Accepted.like(data.inputs, column),
        data.info.classes,
        threshold=threshold,
        about=replace(about, run=_run_in_words(result), notes=result.warnings),
        examples=spread(data["val"].inputs, examples),
    )


def _finished(run: Run, home: Home) -> Result:
    """The result of a run, whose data and weights must still be those that it was made from."""
    result = home.runs.find(run)
    if result is None:
        raise FttError(
            f"the run {run.id} has not finished",
            given=run.id,
            allowed="a finished run",
            hint="ftt status lists all runs; the same `ftt run` command resumes one",
        )
    if run.spec.identify(home.roots).key != run.key:
        raise FttError(
            "the data or the weights have changed since this run",
            given=f"{run.spec.data.name}, {run.spec.backbone}",
            allowed="the files that the run was made from",
            hint="run it again and save that run; relative paths start from the folder in which the run was started",
        )
    return result


def _head(probes: Probes, n_classes: int) -> Head:
    """The last layer of a run: the mean of its probes, or the one that was trained where nothing was probed."""
    first = probes[0]
    return Head(first.weight, first.bias) if isinstance(first, OwnHead) else Head.mean_of(probes, n_classes)


def _compare(probes: Probes, view: ProbedFeatures, data: GroupedData, result: Result) -> None:
    """Say so where features that had to be made again lead to other predictions than those of the run."""
    differ = [
        int((predict(probe, view, data["test"]) != unpack(kept.predicted)).sum())
        for probe, kept in zip(probes, result.probes, strict=True)
    ]
    if any(differ):
        say(
            f"note: {max(differ)} of {len(data['test'])} test rows are predicted otherwise than in the run: its "
            "features were no longer in the store and were computed again, in another environment or with other threads"
        )


def _read_at(features: FreezeThenTrain, depth: str) -> FreezeThenTrain:
    """The same features as blocks that are read after their last layer: those before it have none."""
    if depth == "projected":
        return features

    def before(block: Block) -> Block:
        trained = isinstance(block.branch, Trained)
        return replace(block, branch=Untrained(block.branch.backbone)) if trained else block

    return FreezeThenTrain(features.recipe, features.backbone_name, [before(block) for block in features.blocks])


def _run_in_words(result: Result) -> dict[str, Json]:
    spec = result.spec
    own = {name: value for name, value in spec.data.describe().items() if name not in spec.data.paths}
    return {
        "run": result.run.id,
        "seed": spec.seed,
        "data set": own,
        "training": spec.train.describe() if spec.recipe.trains else None,
        "probing": spec.probe.describe(),
        "worst group of the run": round(result.report.headline[1].value, 4),
        "average of the run": round(result.average_accuracy, 4),
    }
