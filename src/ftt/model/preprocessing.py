"""What an exported model needs before it: in words, and as a few lines of Python without this library.

No exporter holds a decoder of images or a tokenizer. Everything after that is part of an exported model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ftt.model.model import Model

OPENED = """import numpy as np
from PIL import Image, ImageOps


def prepare(path):
    image = ImageOps.exif_transpose(Image.open(path))
    if image.has_transparency_data:
        image = image.convert("RGBA")
        image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
    image = image.convert("RGB")
"""

CROPPED = """    size = {size}
    scale = size / min(image.size)
    width, height = (max(size, round(side * scale)) for side in image.size)
    left, top = (width - size) // 2, (height - size) // 2
    right, bottom = min((left + size) / scale, image.width), min((top + size) / scale, image.height)
    box = (left / scale, top / scale, right, bottom)
    return np.asarray(image.resize((size, size), Image.Resampling.BILINEAR, box=box, reducing_gap=2.0))
"""

WHOLE = """    assert image.size == ({width}, {height})
    return np.asarray(image)[..., :{channels}]
"""

TOKENIZED = """import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

tokenizer = Tokenizer.from_str(load_file("weights.safetensors")["files.tokenizer.json"].tobytes().decode())
tokenizer.enable_truncation({tokens})
tokenizer.enable_padding()


def prepare(texts):
    found = tokenizer.encode_batch(list(texts))
    return np.stack([[f.ids for f in found], [f.attention_mask for f in found]], axis=1).astype(np.int64)
"""


def preprocessing(model: Model) -> dict[str, Any]:
    """Type and shape of the inputs of an exported model, and the steps that lead to them."""
    accepted, backbone = model.accepted, model.features.backbone
    if accepted.kind == "features":
        return {"input": "float32", "shape": ["n", *accepted.shape], "steps": []}
    if accepted.kind == "texts":
        return _of_texts(model)
    height, width, channels = accepted.shape
    steps = ["decode, rotate as its EXIF orientation says, put transparent parts on white, convert to 8-bit RGB"]
    if accepted.cropped:
        steps += [f"scale the shorter side to {height} pixels (bilinear, antialiased), cut out the centre"]
        code = OPENED + CROPPED.format(size=height)
    else:
        steps += [f"take images of {width} x {height} pixels only" + (", first channel" if channels == 1 else "")]
        code = OPENED + WHOLE.format(width=width, height=height, channels=channels)
    if backbone.prepares_tensors:
        return {"input": "uint8", "shape": ["n", height, width, channels], "steps": steps, "python": code}
    steps += [f"prepare as the backbone {model.features.backbone_name} does (Backbone.prepare)"]
    return {"input": "float32", "shape": ["n", "prepared"], "steps": steps}


def _of_texts(model: Model) -> dict[str, Any]:
    backbone = model.features.backbone
    tokens = getattr(backbone, "max_tokens", 512)
    found: dict[str, Any] = {
        "input": "int64",
        "shape": ["n", 2, "tokens"],
        "steps": [
            "tokenize with the files that weights.safetensors holds as files.*",
            f"truncate to {tokens} tokens, pad to the longest",
            "stack token numbers and attention mask along axis 1",
        ],
    }
    return found | ({"python": TOKENIZED.format(tokens=tokens)} if "tokenizer.json" in backbone.files() else {})
