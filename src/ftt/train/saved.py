"""A fitted model on disk: weights as safetensors, everything else as JSON, and a card for people.

One folder holds features (`save`, `load`), or features and the probe on them (`ftt.model`, which adds its own arrays
and its own part of the config). Weights and config are checked together: the notes of the weights (`ftt.checked`) hold
the checksum of the config. The folder is written beside its place and then takes it, so an old model is there whole
until the new one is. The card is for people, who may edit it: it is not checked and never read back.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ftt import checked, registry
from ftt.atomic import replacing_folder, sweep
from ftt.backbones import Backbone
from ftt.backbones.stages import Stages
from ftt.backbones.weight_file import without_file
from ftt.data.inputs import ArrayInputs
from ftt.errors import FttError, described
from ftt.freeze.freezer import Projection
from ftt.params import Json
from ftt.plain_text import markdown_cell
from ftt.recipe import Recipe
from ftt.train.model import Block, Branch, FreezeThenTrain, Trained, Untrained
from ftt.train.two_branch import TwoBranch
from ftt.version import __version__

LAYOUT = 4
WEIGHTS, CONFIG, CARD = "weights.safetensors", "config.json", "README.md"

Config = dict[str, Any]
Tensors = dict[str, torch.Tensor]


def save(model: FreezeThenTrain, folder: Path, *, notes: dict[str, Any] | None = None) -> Path:
    """Write the features of a model: ``weights.safetensors``, ``config.json`` and ``README.md`` (the model card).

    A saved model that is there already is replaced as a whole; a folder that holds other files is refused.

    Parameters
    ----------
    notes : dict, optional
        What the card should say besides: data set, results, licence.
    """
    config, arrays = parts_of(model)
    return write(folder, {**config, "notes": notes or {}}, arrays, card(model, notes or {}))


def load(folder: Path) -> FreezeThenTrain:
    """Read the features of a saved model back."""
    return rebuild(*read(folder))


def parts_of(model: FreezeThenTrain) -> tuple[Config, checked.Arrays]:
    """Config and arrays of a model's features."""
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
    files = model.backbone.files()
    arrays |= {f"files.{name}": np.frombuffer(content, dtype=np.uint8) for name, content in files.items()}
    config = {
        # The weights are saved: the file they came from is not needed again, nor is its path of interest elsewhere.
        "backbone": without_file(model.backbone_name),
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
    }
    return config, arrays


def rebuild(config: Config, arrays: checked.Arrays) -> FreezeThenTrain:
    """The features of `parts_of`; neither data nor published weights are needed."""
    with described("a saved model", f"a {CONFIG} written by save()"):
        tensors = {name: torch.from_numpy(np.array(value)) for name, value in arrays.items()}
        files = {name: value.numpy().tobytes() for name, value in _below(tensors, "files.").items()}
        branches = [
            _rebuilt(config["backbone"], described, _below(tensors, f"branches.{number}."), files)
            for number, described in enumerate(config["branches"])
        ]
        blocks = []
        for number, described_block in enumerate(config["blocks"]):
            projection = None
            if described_block["explained"] is not None:
                weight, bias = (tensors[f"blocks.{number}.{part}"].numpy() for part in ("weight", "bias"))
                projection = Projection(weight, bias, described_block["explained"])
            blocks.append(Block(branches[described_block["branch"]], projection, described_block["scale"]))
        return FreezeThenTrain(Recipe.from_description(config["recipe"]), config["backbone"], blocks)


def write(folder: Path, config: Config, arrays: checked.Arrays, text: str) -> Path:
    """Write config, arrays and card (`text`) as a folder, whole or not at all."""
    require_free(folder)
    content = json.dumps({"layout": LAYOUT, "version": __version__, **config}, indent=2, sort_keys=True).encode()
    sweep(folder.parent, deep=False)
    with replacing_folder(folder) as scratch:
        checked.write(scratch / WEIGHTS, arrays, {"config": hashlib.sha256(content).hexdigest()})
        (scratch / CONFIG).write_bytes(content)
        (scratch / CARD).write_text(text, encoding="utf-8")
    return folder


def require_free(folder: Path) -> None:
    """Refuse a folder whose other files a replacement would take away."""
    others = {path.name for path in folder.iterdir()} - {WEIGHTS, CONFIG, CARD} if folder.is_dir() else set()
    if others or (folder.exists() and folder.samefile(Path.cwd())):
        raise FttError(
            "a model is saved as a folder of its own",
            given=f"{folder}, which holds {min(others)}" if others else f"{folder}, the current folder",
            allowed="a new or empty folder, or that of a saved model",
        )


def is_saved(folder: Path) -> bool:
    """Whether a folder was written here, damaged or not."""
    return (folder / CONFIG).is_file()


def read(folder: Path) -> tuple[Config, checked.Arrays]:
    """Config and arrays, if both are as they were written."""
    if not is_saved(folder):
        raise FttError(
            "there is no saved model here",
            given=folder,
            allowed="a folder written by `ftt run … --save`, `ftt save` or save()",
        )
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
    config: Config = json.loads(text)
    if config.get("layout") != LAYOUT:
        raise FttError(
            "the model was saved in another layout",
            given=config.get("layout"),
            allowed=LAYOUT,
            hint="save it again with this version, as with `ftt save RUN DIR`",
        )
    return config, arrays


def _described(branch: Branch) -> dict[str, Json]:
    if isinstance(branch, Trained):
        network = branch.network
        trained: dict[str, Json] = {"frozen_dims": network.frozen_dims, "n_classes": network.head.out_features}
        return {**trained, "log": branch.log, "width": branch.backbone.num_features}
    backbone = branch.backbone
    if isinstance(backbone, Stages):
        stages: list[Json] = [[name, width] for name, width in dict(backbone.widths).items()]
        return {"weights_id": backbone.weights_id, "width": backbone.backbone.num_features, "stages": stages}
    return {"weights_id": backbone.weights_id, "width": branch.width}


def _rebuilt(name: str, described: Config, weights: Tensors, files: dict[str, bytes]) -> Branch:
    trained, stages = "weights_id" not in described, described.get("stages")
    below = _below(weights, "backbone." if trained else "pooled.network.") if trained or stages else weights
    backbone = _backbone(name, described["width"], files, below)
    if stages:
        backbone = Stages(backbone, dict(stages))
    if not trained:
        _fill(backbone, weights)
        backbone.weights_id = described["weights_id"]
        return Untrained(backbone.eval())
    network = TwoBranch(backbone, described["frozen_dims"], described["n_classes"])
    _fill(network, weights)
    return Trained(network.eval(), log=described["log"])


def _fill(network: torch.nn.Module, weights: Tensors) -> None:
    try:
        network.load_state_dict(weights)
    except RuntimeError as error:
        raise FttError(
            "the weights of the saved model do not fit its backbone",
            given=str(error).splitlines()[-1].strip()[:160],
            hint="save the model again with this version",
        ) from None


def _backbone(name: str, width: int, files: dict[str, bytes], weights: Tensors) -> Backbone:
    family = registry.BACKBONES.get(name)
    # All that a backbone may ask of inputs that are not there yet is how wide a row is.
    like = ArrayInputs(np.zeros((1, width), dtype=np.float32), family.accepts[0])
    return family.rebuilt(name.partition(":")[2], like, files, weights)


def _below(tensors: Tensors, prefix: str) -> Tensors:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def card(model: FreezeThenTrain, notes: dict[str, Any]) -> str:
    """The card of features without a probe: what they are, how they were made, what they are for and what not."""
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

{LIMITS}
"""


LIMITS = """**Limits.** The features were trained on observed labels, which may be wrong. Without probing on the target
environment the head repeats the shortcuts of the training data. Group accuracies hold for the groups that were named,
not others.

Method: Ye, Zou, Zhang, *Freeze then Train: Towards Provable Representation Learning under Spurious Correlations and
Feature Noise*, AISTATS 2023."""
