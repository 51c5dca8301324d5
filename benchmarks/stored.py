"""Real features to probe: those of lite0 on a data set, before and after training, from the store.

They are made once and kept in the home that ``FTT_HOME`` names; Dominoes takes a minute or two, PACS several.
"""

from __future__ import annotations

from benchmarks.features import Features, Labels
from ftt.runs.compose import compose
from ftt.runs.runner import ProbedFeatures
from ftt.store import Home
from ftt.train import Services, fit

RECIPES = {"initial": "init", "trained": "erm"}
NOISE = {"dominoes": {"core_noise": 0.2, "spurious_noise": 0.2}}


def probing_set(dataset: str, kind: str) -> tuple[Features, Labels, Labels]:
    """Features, observed labels and attributes of the split that is probed.

    Parameters
    ----------
    dataset : str
    kind : {"initial", "trained"}
    """
    home = Home.from_environment()
    spec = compose({"dataset": dataset, "recipe": RECIPES[kind], **NOISE.get(dataset, {})})
    data = spec.data.load(home.roots)
    services = Services(home.artifacts)
    model = fit(data, spec.recipe, spec.backbone, training=spec.train, seed=spec.seed, services=services)
    view = ProbedFeatures(model, spec.probe, data, home.artifacts)
    return view.transform(data["val"]), data["val"].y, data["val"].a
