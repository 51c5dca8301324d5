"""Weights of a network from a local file: safetensors, or a ``.pth`` file of which only tensors are read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ftt.data.files import printable, require_regular
from ftt.errors import FttError

ENDINGS = (".safetensors", ".pth", ".pt")
WRAPPERS = ("state_dict", "model", "model_state_dict")
"""Names under which training scripts put the weights beside other things."""
COUNTER = ".num_batches_tracked"
"""Of BatchNorm: not in files that are older than it, and not used here."""


def read_tensors(path: Path) -> dict[str, Tensor]:
    """The tensors of a file by name; of a ``.pth`` file nothing that could run code is loaded."""
    if path.suffix not in ENDINGS:
        raise FttError("unknown kind of weight file", given=printable(path.name), allowed=", ".join(ENDINGS))
    require_regular(path, "a file of weights")
    try:
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file

            return load_file(path)
        content: Any = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # damaged files make torch raise almost anything
        raise FttError(
            "the weight file cannot be read as tensors",
            given=f"{printable(path)}: {type(error).__name__}",
            allowed="safetensors, or a .pth file that holds tensors by name and nothing else",
            hint="save it again with safetensors.torch.save_file(model.state_dict(), …)",
        ) from None
    for name in WRAPPERS:
        if isinstance(content, Mapping) and isinstance(content.get(name), Mapping):
            content = content[name]
    if not isinstance(content, Mapping) or not content or not all(isinstance(v, Tensor) for v in content.values()):
        raise FttError(
            "the weight file does not hold tensors by name",
            given=printable(path),
            allowed="the state dict of a network",
        )
    return {str(name).removeprefix("module."): value for name, value in content.items()}


def without_file(name: str) -> str:
    """The name of a backbone under which its architecture is built again where the weights are stored elsewhere."""
    return name.partition("@")[0] if name.startswith("timm:") else name


def put_weights(network: nn.Module, tensors: Mapping[str, Tensor], classifier: tuple[str, ...], path: Path) -> None:
    """Put every tensor into the network; only its missing classifier may be left over.

    Parameters
    ----------
    classifier : tuple of str
        Names of the classifier's modules, which the network here does not have.
    """
    own = network.state_dict()
    given = {name: value for name, value in tensors.items() if not name.startswith(tuple(f"{c}." for c in classifier))}
    missing = [name for name in own if name not in given and not name.endswith(COUNTER)]
    spare = [name for name in given if name not in own]
    wrong = [name for name in own if name in given and given[name].shape != own[name].shape]
    for names, words in ((missing, "lacks"), (spare, "has too many"), (wrong, "has other shapes of")):
        if names:
            raise FttError(
                "the weights are not those of this network",
                given=f"{printable(path.name)} {words} {len(names)} tensors, the first is {printable(names[0])}",
                allowed=f"the {len(own)} tensors of the network",
                hint="name the architecture the file was saved from",
            )
    if broken := [name for name, value in given.items() if value.is_floating_point() and not value.isfinite().all()]:
        raise FttError("the weights are not finite numbers", given=printable(broken[0]), allowed="finite weights")
    network.load_state_dict({**own, **given})
