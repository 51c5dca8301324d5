"""One encoded image to pixels, the way a viewer shows it: upright, in RGB, 8 bits, transparent parts white."""

from __future__ import annotations

import contextlib
import os
import re
import struct
from io import BytesIO
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps, UnidentifiedImageError

from ftt.data.files import printable, read_regular
from ftt.errors import FttError

Pixels = npt.NDArray[np.uint8]

DECODING = 2
"""Raised when `decode` makes other pixels of the same file: nothing computed from the old ones is then found again."""

FORMATS = ("JPEG", "PNG", "GIF", "BMP", "TIFF", "WEBP")
"""What is decoded, whatever a file is called; other readers of PIL start programs or are rarely tested."""
READABLE = "a whole JPEG, PNG, GIF, BMP, TIFF or WEBP file"
PIXELS = 64_000_000


def largest() -> int:
    """The number of pixels an image may have: 64 million, or what ``FTT_MAX_PIXELS`` says."""
    told = os.environ.get("FTT_MAX_PIXELS", "")
    if not told:
        return PIXELS
    if not told.isdecimal() or not 0 < len(told) < 16 or int(told) == 0:
        raise FttError("FTT_MAX_PIXELS is not a number of pixels", given=told[:40], allowed="a positive whole number")
    return int(told)


def decode(source: Path | bytes, size: int) -> Pixels:
    """One image as (size, size, 3) uint8; a file that is not an image is named in the error."""
    rgb = _opened(source)
    scale = size / min(rgb.size)
    width, height = (max(size, round(side * scale)) for side in rgb.size)
    left, top = (width - size) // 2, (height - size) // 2
    # One resampling does both: the crop box is mapped back into the original picture.
    box = (left / scale, top / scale, min((left + size) / scale, rgb.width), min((top + size) / scale, rgb.height))
    small = rgb.resize((size, size), Image.Resampling.BILINEAR, box=box, reducing_gap=2.0)
    return np.asarray(small, dtype=np.uint8)


def decode_whole(source: Path | bytes) -> Pixels:
    """One image as (height, width, 3) uint8, neither scaled nor cropped."""
    return np.asarray(_opened(source), dtype=np.uint8)


def _opened(source: Path | bytes) -> Image.Image:
    limit = largest()
    if limit > (Image.MAX_IMAGE_PIXELS or limit):
        # The user allows more than PIL does by itself.
        Image.MAX_IMAGE_PIXELS = limit
    content = b"?"
    try:
        content = source if isinstance(source, bytes) else read_regular(source, 16 * limit)
        with Image.open(BytesIO(content), formats=FORMATS) as image:
            if image.width * image.height > limit:
                raise Image.DecompressionBombError(f"{image.width} x {image.height} pixels")
            return _upright_rgb(image)
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        told = re.search(r"\d+ x \d+ pixels|\d+ pixels", str(error))
        raise _refuse(
            source,
            f"{told[0] if told else 'more pixels'}, the limit is {limit}",
            "set FTT_MAX_PIXELS to a larger number if you trust this file",
        ) from None
    except (OSError, SyntaxError, ValueError, EOFError, MemoryError, struct.error, IndexError, KeyError) as error:
        # PIL names the stream it was given, which tells nobody anything.
        reason = "not an image, or cut off" if isinstance(error, UnidentifiedImageError) else str(error)
        raise _refuse(source, reason if content else "the file is empty", "repair it or remove its row") from None


def _refuse(source: Path | bytes, reason: str, hint: str) -> FttError:
    name = "" if isinstance(source, bytes) else f"{printable(source)}: "
    return FttError("an image cannot be decoded", given=f"{name}{printable(reason)}", allowed=READABLE, hint=hint)


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
        raise ValueError(f"pixels of mode {image.mode} have no known range")
    if image.has_transparency_data:
        colours = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", colours.size, "white"), colours).convert("RGB")
    return image.convert("RGB")
