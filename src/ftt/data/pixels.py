"""One encoded image to pixels, the way a viewer shows it: upright, in RGB, 8 bits, transparent parts white."""

from __future__ import annotations

import contextlib
from io import BytesIO
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps, UnidentifiedImageError

from ftt.errors import FttError

Pixels = npt.NDArray[np.uint8]

DECODING = 2
"""Raised when `decode` makes other pixels of the same file: nothing computed from the old ones is then found again."""


def decode(source: Path | bytes, size: int) -> Pixels:
    """One image as (size, size, 3) uint8; a file that is not an image is named in the error."""
    try:
        with Image.open(BytesIO(source) if isinstance(source, bytes) else source) as image:
            rgb = _upright_rgb(image)
    except FileNotFoundError:
        raise FttError("an image is missing", given=source, allowed="a file that exists") from None
    except (OSError, SyntaxError, ValueError, EOFError, Image.DecompressionBombError) as error:
        name = "" if isinstance(source, bytes) else f"{source}: "
        # PIL names the stream it was given, which says nothing to anyone.
        reason = "not an image, or cut off" if isinstance(error, UnidentifiedImageError) else error
        raise FttError(
            "an image cannot be decoded",
            given=f"{name}{reason if source else 'the file is empty'}",
            allowed="a whole image file that PIL reads",
            hint="repair it or take its row out of the list",
        ) from None
    scale = size / min(rgb.size)
    width, height = (max(size, round(side * scale)) for side in rgb.size)
    left, top = (width - size) // 2, (height - size) // 2
    # One resampling does both: the crop box is mapped back into the original picture.
    box = (left / scale, top / scale, min((left + size) / scale, rgb.width), min((top + size) / scale, rgb.height))
    small = rgb.resize((size, size), Image.Resampling.BILINEAR, box=box, reducing_gap=2.0)
    return np.asarray(small, dtype=np.uint8)


def _upright_rgb(image: Image.Image) -> Image.Image:
    """The picture as a viewer shows it: turned as the camera says, 16 bits scaled to 8, transparent parts white."""
    image.load()
    # Damaged notes about a whole picture raise anything; the picture then stays as it is.
    with contextlib.suppress(Exception):
        ImageOps.exif_transpose(image, in_place=True)
    if image.mode.startswith("I;16") or (image.mode == "I" and image.format == "PNG"):
        # PIL would cut off everything above 255.
        grey = np.rint(np.asarray(image).astype(np.float32) / 257)
        return Image.fromarray(np.clip(grey, 0, 255).astype(np.uint8)).convert("RGB")
    if image.mode in ("I", "F"):
        raise ValueError(f"pixels of mode {image.mode} have no range that is known")
    if image.has_transparency_data:
        colours = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", colours.size, "white"), colours).convert("RGB")
    return image.convert("RGB")
