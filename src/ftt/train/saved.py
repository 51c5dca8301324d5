"""A fitted model on disk: weights as safetensors, everything else as JSON, and a card for people."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from ftt.atomic import replacing
from ftt.backbones import create
from ftt.data.inputs import Inputs
from ftt.errors import FttError
from ftt.freeze.base import Projection
from ftt.recipe import Recipe
from ftt.train.model import Block, FreezeThenTrain, Trained
from ftt.train.network import TwoBranch
from ftt.version import __version__

LAYOUT = 1


def save(model: FreezeThenTrain, folder: Path, *, notes: dict[str, Any] | None = None) -> Path:
    """Write ``weights.safetensors``, ``config.json`` and ``README.md`` (the model card) into a folder.

    Parameters
    ----------
    notes : dict, optional
        What the card should say besides: data set, results, licence.
    """
    tensors: dict[str, torch.Tensor] = {}
    for number, block in enumerate(model.blocks):
        if block.projection is not None:
            tensors[f"blocks.{number}.weight"] = torch.from_numpy(np.ascontiguousarray(block.projection.weight))
            tensors[f"blocks.{number}.bias"] = torch.from_numpy(np.ascontiguousarray(block.projection.bias))
    if model.network is not None:
        tensors |= {f"network.{k}": v.detach().cpu().contiguous() for k, v in model.network.state_dict().items()}
    # A freezer that learned by itself changed the frozen backbone; its weights are nowhere else.
    tensors |= {f"frozen.{k}": v.detach().cpu().contiguous() for k, v in model.frozen.state_dict().items()}
    config = {
        "layout": LAYOUT,
        "version": __version__,
        "backbone": model.backbone_name,
        "weights_id": model.frozen.weights_id,
        "recipe": model.recipe.describe(),
        "blocks": [
            {"source": b.source, "scale": b.scale, "explained": b.projection.explained if b.projection else None}
            for b in model.blocks
        ],
        "frozen_dims": model.network.frozen_dims if model.network else None,
        "n_classes": model.network.head.out_features if model.network else None,
        "notes": notes or {},
    }
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(folder / "weights.safetensors") as scratch:
        save_file(tensors, scratch)
    with replacing(folder / "README.md") as scratch:
        scratch.write_text(card(model, notes or {}))
    # Last, since its presence says that the rest is there.
    with replacing(folder / "config.json") as scratch:
        scratch.write_text(json.dumps(config, indent=2, sort_keys=True))
    return folder


def load(folder: Path, inputs: Inputs) -> FreezeThenTrain:
    """Read a saved model back.

    Parameters
    ----------
    inputs : Inputs
        Inputs of the kind it was fitted on (the width of an identity backbone is theirs).
    """
    path = folder / "config.json"
    if not path.is_file():
        raise FttError("there is no saved model here", given=folder, allowed="a folder written by save()")
    config = json.loads(path.read_text())
    if config["layout"] != LAYOUT:
        raise FttError("the model was saved in another layout", given=config["layout"], allowed=LAYOUT)
    tensors = load_file(folder / "weights.safetensors")
    initial = create(config["backbone"], inputs)
    frozen = create(config["backbone"], inputs)
    frozen.load_state_dict(_below(tensors, "frozen."))
    frozen.weights_id = config["weights_id"]
    blocks = []
    for number, described in enumerate(config["blocks"]):
        projection = None
        if described["explained"] is not None:
            weight, bias = (tensors[f"blocks.{number}.{part}"].numpy() for part in ("weight", "bias"))
            projection = Projection(weight, bias, described["explained"])
        blocks.append(Block(described["source"], projection, described["scale"]))
    trained = None
    if config["frozen_dims"] is not None:
        network = TwoBranch(initial, config["frozen_dims"], config["n_classes"])
        network.load_state_dict(_below(tensors, "network."))
        trained = Trained(network.eval())
    recipe = Recipe.from_description(config["recipe"])
    return FreezeThenTrain(recipe, config["backbone"], frozen.eval(), blocks, trained)


def _below(tensors: dict[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def card(model: FreezeThenTrain, notes: dict[str, Any]) -> str:
    """The model card: what it is, how it was made, what it is for and what not."""
    freezer, method = model.recipe.freeze, model.recipe.method
    rows = {
        "backbone": model.frozen.weights_id,
        "freeze stage": json.dumps(freezer.describe()) if freezer else "none",
        "train stage": json.dumps(method.describe()) if method else "none",
        "join": model.recipe.join,
        "variance kept by the frozen features": f"{model.explained:.1%}" if model.explained is not None else "–",
        "epochs trained": len(model.log) or "–",
        "made with": f"freeze-then-train {__version__}",
        **{str(key): value for key, value in notes.items()},
    }
    table = "\n".join(f"| {key} | {value} |" for key, value in rows.items())
    return f"""# Features by Freeze then Train

| | |
|---|---|
{table}

**Use.** `transform` gives features; fit a probe (`ftt.DFRProbe`) on a little data of the environment where the model
will be used, with the attribute of every row, and judge it by its worst group.

**Limits.** The features were trained on observed labels, which may be wrong. Without probing on the target environment
the head repeats the shortcuts of the training data. Group accuracies hold for the groups that were named, not others.

Method: Ye, Zou, Zhang, *Freeze then Train: Towards Provable Representation Learning under Spurious Correlations and
Feature Noise*, AISTATS 2023.
"""
