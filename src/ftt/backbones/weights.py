"""The identity of weights that have no published checksum: the SHA-256 of the tensors themselves."""

from __future__ import annotations

import hashlib

from torch import nn


def content_id(name: str, module: nn.Module) -> str:
    """``name@<first digits of the hash>`` over every parameter and buffer."""
    sha = hashlib.sha256()
    for key, value in sorted(module.state_dict().items()):
        sha.update(f"{key} {tuple(value.shape)}".encode())
        sha.update(value.detach().cpu().contiguous().numpy().tobytes())
    return f"{name}@{sha.hexdigest()[:16]}"
