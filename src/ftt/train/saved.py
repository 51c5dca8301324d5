"""A fitted model on disk: weights as safetensors, everything else as JSON, and a card for people.

Weights and config are checked together: the notes of the weights (`ftt.checked`) hold the checksum of the config. The
folder is written beside its place and then takes it, so an old model is there whole until the new one is.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ftt import checked
from ftt.atomic import replacing_folder, sweep
from ftt.backbones import Backbone, create
from ftt.data.inputs import Inputs
from ftt.errors import FttError
from ftt.freeze.freezer import Projection
from ftt.params import Json
from ftt.plain_text import markdown_cell
from ftt.recipe import Recipe
from ftt.train.model import Block, Branch, FreezeThenTrain, Trained, Untrained
from ftt.train.two_branch import TwoBranch
from ftt.version import __version__

LAYOUT = 3
WEIGHTS, CONFIG, CARD = "weights.safetensors", "config.json", "README.md"


def save(model: FreezeThenTrain, folder: Path, *, notes: dict[str, Any] | None = None) -> Path:
    """Write ``weights.safetensors``, ``config.json`` and ``README.md`` (the model card) as a folder.

    A saved model that is there already is replaced as a whole; a folder that holds other files is refused.

    Parameters
    ----------
    notes : dict, optional
        What the card should say besides: data set, results, licence.
    """
    _require_free(folder)
    arrays: checked.Arrays = {}
    branches = list({id(block.branch): block.branch for block in model.blocks}.values())
    for number, block in enumerate(model.blocks):
        if block.projection is not None:
            arrays |= {
                f"blocks.{number}.weight": block.projection.weight,
                f"blocks.{number}.bias": block.projection.bias,
            }
    for number, branch in enumerate(branches):
        weights = branch.network if isinstance(branch, Trained) else branch.backbone
        arrays |= {f"branches.{number}.{k}": v.detach().cpu().numpy() for k, v in weights.state_dict().items()}
    config = {
        "layout": LAYOUT,
        "version": __version__,
        "backbone": model.backbone_name,
        "recipe": model.recipe.describe(),
        "blocks": [
            {
                "branch": branches.index(block.branch),
                "scale": block.scale,
                "explained": block.projection.explained if block.projection else None,
            }
            for block in model.blocks
        ],
        "branches": [_described(branch) for branch in branches],
        "notes": notes or {},
    }
    text = json.dumps(config, indent=2, sort_keys=True).encode()
    sweep(folder.parent, deep=False)
    with replacing_folder(folder) as scratch:
        checked.write(scratch / WEIGHTS, arrays, {"config": hashlib.sha256(text).hexdigest()})
        (scratch / CONFIG).write_bytes(text)
        (scratch / CARD).write_text(card(model, notes or {}), encoding="utf-8")
    return folder


def _require_free(folder: Path) -> None:
    """Refuse a folder whose other files a replacement would take away."""
    others = {path.name for path in folder.iterdir()} - {WEIGHTS, CONFIG, CARD} if folder.is_dir() else set()
    if others or (folder.exists() and folder.samefile(Path.cwd())):
        raise FttError(
            "a model is saved as a folder of its own",
            given=f"{folder}, which holds {min(others)}" if others else f"{folder}, the current folder",
            allowed="a new or empty folder, or that of a saved model",
        )


def load(folder: Path, inputs: Inputs) -> FreezeThenTrain:
    """Read a saved model back.

    Parameters
    ----------
    inputs : Inputs
        Inputs of the kind it was fitted on (the width of an identity backbone is theirs).
    """
    config, arrays = _verified(folder)
    tensors = {name: torch.from_numpy(np.array(value)) for name, value in arrays.items()}
    branches = [
        _rebuilt(described, create(config["backbone"], inputs), _below(tensors, f"branches.{number}."))
        for number, described in enumerate(config["branches"])
    ]
    blocks = []
    for number, described in enumerate(config["blocks"]):
        projection = None
        if described["explained"] is not None:
            weight, bias = (tensors[f"blocks.{number}.{part}"].numpy() for part in ("weight", "bias"))
            projection = Projection(weight, bias, described["explained"])
        blocks.append(Block(branches[described["branch"]], projection, described["scale"]))
    return FreezeThenTrain(Recipe.from_description(config["recipe"]), config["backbone"], blocks)


def _verified(folder: Path) -> tuple[dict[str, Any], checked.Arrays]:
    """Config and weights, if both are as they were written."""
    if not (folder / CONFIG).is_file():
        raise FttError("there is no saved model here", given=folder, allowed="a folder written by save()")
    text = (folder / CONFIG).read_bytes()
    try:
        arrays, notes = checked.load(folder / WEIGHTS)
        if notes.get("config") != hashlib.sha256(text).hexdigest():
            raise checked.DamagedError(f"{CONFIG} does not belong to these weights")
    except checked.DamagedError as error:
        raise FttError(
            "the saved model is damaged, was modified or comes from another version",
            given=f"{folder / WEIGHTS}: {error}",
            hint="save the model again",
        ) from None
    config: dict[str, Any] = json.loads(text)
    if config["layout"] != LAYOUT:
        raise FttError("the model was saved in another layout", given=config["layout"], allowed=LAYOUT)
    return config, arrays


def _described(branch: Branch) -> dict[str, Json]:
    if isinstance(branch, Trained):
        network = branch.network
        return {"frozen_dims": network.frozen_dims, "n_classes": network.head.out_features, "log": branch.log}
    return {"weights_id": branch.backbone.weights_id}


def _rebuilt(described: dict[str, Any], backbone: Backbone, weights: dict[str, torch.Tensor]) -> Branch:
    if "weights_id" in described:
        backbone.load_state_dict(weights)
        backbone.weights_id = described["weights_id"]
        return Untrained(backbone.eval())
    network = TwoBranch(backbone, described["frozen_dims"], described["n_classes"])
    network.load_state_dict(weights)
    return Trained(network.eval(), log=described["log"])


def _below(tensors: dict[str, torch.Tensor], prefix: str) -> dict[str, torch.Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def card(model: FreezeThenTrain, notes: dict[str, Any]) -> str:
    """The model card: what it is, how it was made, what it is for and what not."""
    rows = {
        **model.describe(),
        "recipe in full": json.dumps(model.recipe.describe()),
        "made with": f"freeze-then-train {__version__}",
        **{str(key): value for key, value in notes.items()},
    }
    table = "\n".join(f"| {markdown_cell(key)} | {markdown_cell(str(value))} |" for key, value in rows.items())
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
