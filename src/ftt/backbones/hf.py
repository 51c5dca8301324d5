"""Text encoders of Hugging Face transformers, mean-pooled: ``hf:minilm`` comes in a pip package and works offline.

``hf:<folder>`` reads a model folder, ``hf:<name>`` a model of the local hub cache: safetensors only, and never code
that comes with a model. Texts are cut at 128 tokens; ``hf:minilm@64`` cuts them at 64, which takes half the time. Needs
the extra ``[text]``.
"""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy.typing as npt
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from ftt.backbones import hf_folder
from ftt.backbones.backbone import Backbone
from ftt.backbones.torchvision_guard import ensure_torchvision_imports
from ftt.data.checksums import Checksums
from ftt.data.files import is_folder
from ftt.data.inputs import Inputs, Kind
from ftt.data.roots import Roots
from ftt.errors import FttError
from ftt.params import Json, digest

MAX_TOKENS = 128
TOGETHER = 16
"""Texts of about the same length that are encoded together; padding the short ones to the longest costs more."""


class HuggingFace(Backbone):
    """A transformer encoder; φ(x) is the mean of its last hidden states over the tokens of x."""

    accepts: ClassVar[tuple[Kind, ...]] = ("texts",)

    def __init__(self, member: str, folder: Path | None = None) -> None:
        super().__init__()
        name, self.max_tokens = _split_member(member)
        folder = folder or hf_folder.locate(name)
        content = hf_folder.checksums_of(folder, Checksums(Roots.from_environment()))
        hf_folder.check(folder)
        self.tokenizer, self.net = _load(folder, member)
        self._files = hf_folder.without_weights(folder)
        self.num_features = int(self.net.config.hidden_size)
        # Of all files, not of the weights alone: another vocabulary gives other features.
        self.weights_id = f"hf:{Path(name).name}@{digest(content)[:16]}"
        if self.max_tokens != MAX_TOKENS:
            self.weights_id += f" {self.max_tokens} tokens"

    @classmethod
    def create(cls, member: str, inputs: Inputs) -> Self:
        if not member:
            raise FttError(
                "hf needs an encoder", given="hf", allowed="hf:minilm, hf:<folder>, hf:<name>, each with @<tokens>"
            )
        return cls(member)

    def files(self) -> dict[str, bytes]:
        """Configuration and tokenizer."""
        return self._files

    @classmethod
    def rebuilt(cls, member: str, inputs: Inputs, files: Mapping[str, bytes], weights: Mapping[str, Tensor]) -> Self:
        """The encoder from a folder as published ones have it, so that it is checked as they are."""
        with tempfile.TemporaryDirectory() as folder:
            for name, content in files.items():
                (Path(folder) / Path(name).name).write_bytes(content)
            own = {name.removeprefix("net."): value.contiguous() for name, value in weights.items()}
            save_file(own, Path(folder) / "model.safetensors", metadata={"format": "pt"})
            return cls(member, Path(folder))

    def exportable(self) -> nn.Module:
        return _EncodedTogether(copy.deepcopy(self))

    @classmethod
    def fingerprint(cls, name: str, checksums: Checksums) -> Json:
        """Name, number of tokens and content of the files; a folder is not named by its path."""
        encoder, tokens = _split_member(name.partition(":")[2])
        try:
            content = hf_folder.checksums_of(hf_folder.locate(encoder), checksums)
        except FttError:
            content = None
        named = "hf" if content is not None and is_folder(encoder) else f"hf:{encoder}"
        return {"name": named, "tokens": tokens, "content": content}

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


class _EncodedTogether(nn.Module):
    """The encoder without the sorting by length, which depends on values and not on shapes alone."""

    def __init__(self, backbone: HuggingFace) -> None:
        super().__init__()
        self.backbone = backbone

    def forward(self, x: Tensor) -> Tensor:
        return self.backbone._encode(x)


def _load(folder: Path, member: str) -> tuple[Any, Any]:
    """Tokenizer and network; every weight of the network comes from the folder, and none is left over."""
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
    disable_progress_bar()  # type: ignore[no-untyped-call]  # Progress is reported by `ftt.progress` only.
    safe = {"local_files_only": True, "trust_remote_code": False}
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, **safe)
        net, found = AutoModel.from_pretrained(folder, use_safetensors=True, output_loading_info=True, **safe)
    except Exception as error:  # these libraries have no common base of their errors
        raise FttError(
            f"the text encoder {member!r} cannot be loaded",
            given=(str(error) or type(error).__name__).splitlines()[0][:160],
            allowed="a folder with config.json, a tokenizer and *.safetensors",
        ) from None
    wrong = {
        # The mean over tokens does not use a pooler, so an encoder saved without one is whole.
        "missing": [key for key in found["missing_keys"] if not key.startswith("pooler.")],
        "unexpected": [key for key in found["unexpected_keys"] if not key.startswith("pooler.")],
        "of another shape": [str(key) for key in found["mismatched_keys"]],
    }
    if any(wrong.values()) or found["error_msgs"]:
        listed = [f"{len(keys)} {kind} ({sorted(keys)[0]})" for kind, keys in wrong.items() if keys]
        raise FttError(
            f"the weights of {member!r} do not fit its config.json",
            given="; ".join([*listed, *map(str, found["error_msgs"])]),
            allowed="every weight of the encoder, and no others",
            hint="save the encoder alone: AutoModel.from_pretrained(NAME).save_pretrained(FOLDER), and its tokenizer",
        )
    if found["missing_keys"]:
        # What is not in the files would be random.
        net.pooler = None
    return tokenizer, net


def _split_member(member: str) -> tuple[str, int]:
    """Name and number of tokens of ``name@tokens``."""
    name, at, tokens = member.rpartition("@")
    if not at:
        return member, MAX_TOKENS
    if not tokens.isdecimal() or not 4 <= int(tokens) <= 512:
        raise FttError("the number of tokens is out of range", given=f"hf:{member}", allowed="hf:<encoder>@<4..512>")
    return name, int(tokens)
