"""Any network of timm: ``timm:resnet18.tv_in1k`` and ``timm:resnet50.tv_in1k`` are the paper's.

``timm:`` loads the published weights (from the local hub cache, or the network once), or with ``timm:resnet50@FILE``
those of a local file; ``timm-random:`` takes the architecture with random weights, for tests and for freezers that
learn by themselves.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy.typing as npt
import torch
from torch import Tensor, nn

from ftt.backbones.backbone import Backbone, images_to_tensor
from ftt.backbones.fast_layers import use_fast_layers, use_plain_layers
from ftt.backbones.torchvision_guard import ensure_torchvision_imports
from ftt.backbones.weight_file import put_weights, read_tensors
from ftt.backbones.weights import content_id
from ftt.data.checksums import Checksums
from ftt.data.inputs import Inputs, Kind
from ftt.data.roots import expanded
from ftt.errors import FttError, unknown
from ftt.network import offline, prepare_hub, reach_hub, waiting_for
from ftt.params import Json
from ftt.rng import torch_seeded


class Timm(Backbone):
    """A timm model without its classifier."""

    accepts: ClassVar[tuple[Kind, ...]] = ("images",)
    prepares_tensors: ClassVar[bool] = True
    pretrained: ClassVar[bool] = True
    family: ClassVar[str] = "timm"

    def __init__(self, member: str, weights: Path | None = None, *, published: bool = True) -> None:
        super().__init__()
        prepare_hub()
        ensure_torchvision_imports()
        import timm

        if not timm.is_model(member):
            known = timm.list_models(pretrained=self.pretrained) + timm.list_models()
            error = unknown("timm model", member, known)
            error.allowed = "a name of timm.list_models(), such as resnet18.tv_in1k"
            raise error
        with torch_seeded(0, "timm", member):
            wanted = self.pretrained and published and weights is None
            self.net: Any = _with_published_weights(member) if wanted else _architecture(member)
        if weights is not None:
            found = self.net.pretrained_cfg.get("classifier") or ()
            put_weights(self.net, read_tensors(weights), (found,) if isinstance(found, str) else tuple(found), weights)
        self.net = self.net.to(memory_format=torch.channels_last)
        use_fast_layers(self.net)
        self.num_features = int(self.net.num_features)
        self.mean, self.std = self.net.pretrained_cfg["mean"], self.net.pretrained_cfg["std"]
        self.weights_id = content_id(f"{self.family}:{member}", self.net)

    @classmethod
    def create(cls, member: str, inputs: Inputs) -> Self:
        if not member:
            raise FttError(f"{cls.family} needs a model", given=cls.family, allowed=f"{cls.family}:resnet18.tv_in1k")
        name, at, file = member.partition("@")
        return cls(name, expanded(file, "weights") if at else None)

    @classmethod
    def rebuilt(cls, member: str, inputs: Inputs, files: Mapping[str, bytes], weights: Mapping[str, Tensor]) -> Self:
        """The architecture alone: published weights need not be on this machine."""
        return cls(member, published=False)

    @classmethod
    def fingerprint(cls, name: str, checksums: Checksums) -> Json:
        """The name, and the content of the published weights where they are in the hub cache already."""
        member, at, file = name.partition(":")[2].partition("@")
        if at:
            path = expanded(file, "weights")
            return {"name": f"{cls.family}:{member}", "content": checksums.of(path.parent, [path.name])[0]}
        if not cls.pretrained or not re.fullmatch(r"[\w.]+", member):
            return name
        from huggingface_hub.constants import HF_HUB_CACHE

        cache = Path(HF_HUB_CACHE)
        # A name without a tag stands for one of several published weights.
        folders = [f for tag in ("", ".*") for f in cache.glob(f"models--timm--{member}{tag}/snapshots/*")]
        files = sorted(str(file.relative_to(cache)) for f in folders for file in f.glob("*.safetensors"))
        content = dict(zip((Path(file).parts[0] for file in files), checksums.of(cache, files), strict=True))
        return {"name": name, "content": content or None}

    def prepare(self, batch: npt.NDArray[Any]) -> Tensor:
        return images_to_tensor(batch, self.mean, self.std, smallest=32)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.net(x)
        return out

    def exportable(self) -> nn.Module:
        made = super().exportable()
        use_plain_layers(made)
        return made


def _with_published_weights(member: str) -> Any:
    import timm

    try:
        reach_hub()
        with waiting_for(f"the weights of {member}"):
            return timm.create_model(member, pretrained=True, num_classes=0)
    except Exception as error:  # the hub client has no common base of its errors
        raise FttError(
            f"the weights of {member!r} are not on this machine and could not be fetched",
            given=str(error).splitlines()[0][:160],
            allowed="weights in the hub cache (HF_HOME), or a network",
            hint="leave out --offline, or " * offline()
            + "fetch them once with a network, or use lite0, which works offline",
        ) from None


def _architecture(member: str) -> Any:
    import timm

    return timm.create_model(member, pretrained=False, num_classes=0)


class TimmRandom(Timm):
    """The architecture only, weights drawn from a fixed seed."""

    pretrained: ClassVar[bool] = False
    family: ClassVar[str] = "timm-random"
