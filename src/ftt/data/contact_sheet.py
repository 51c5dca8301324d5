"""A contact sheet: a few images of every group, to look at before anything is run."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from ftt.arrays import IntArray
from ftt.atomic import replacing
from ftt.data.decoded import peek
from ftt.data.grouped import SPLITS, GroupedData
from ftt.errors import FttError
from ftt.rng import generator

TILE, GAP, LINE = 96, 6, 15
"""Pixels: the side of an image, the room between two, the height of a line of text."""

MOST_GROUPS = 12
"""Groups up to which a notebook shows images."""


def examples(data: GroupedData, split: str, each: int, seed: int) -> dict[tuple[int, int], IntArray]:
    """Up to `each` rows of every group (label, attribute) of a split, drawn from a seed."""
    found = {}
    for label in range(len(data.info.classes)):
        for value in range(len(data.info.attributes)):
            rows = np.flatnonzero((data.split == split) & (data.y == label) & (data.a == value))
            order = generator(seed, "examples", split, label, value).permutation(rows)
            found[label, value] = np.sort(order[:each])
    return found


def contact_sheet(data: GroupedData, split: str = "train", each: int = 6, seed: int = 0) -> Image.Image:
    """The sheet: a row of images for every label, a block for every attribute, each with its caption."""
    if data.inputs.kind != "images":
        raise FttError("only images can be drawn", given=data.inputs.kind, allowed="a data set of images")
    chosen = examples(data, split, each, seed)
    counts = data.counts(split)
    classes, attributes = data.info.classes, data.info.attributes
    block, row = each * (TILE + GAP) + 2 * GAP, TILE + 2 * LINE + 2 * GAP
    sheet = Image.new("RGB", (GAP + len(attributes) * block, 2 * LINE + len(classes) * row), "white")
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(11)
    _write(draw, (GAP, 4), f"{data.info.name}, split {split}: label / attribute", sheet.width - 2 * GAP, font, "black")
    for (label, value), rows in chosen.items():
        left, top = GAP + value * block, 2 * LINE + label * row
        number = int(counts[label, value])
        caption = f"{classes[label]} / {attributes[value]}"
        _write(draw, (left, top), caption, block - 2 * GAP, font, "black")
        _write(draw, (left, top + LINE - 2), f"{number:,} rows" if number else "no rows", block, font, "dimgray")
        if rows.size:
            for place, pixels in enumerate(peek(data.inputs, rows)):
                sheet.paste(_tile(pixels), (left + place * (TILE + GAP), top + 2 * LINE))
    return sheet


def save_sheet(sheet: Image.Image, path: Path) -> Path:
    """Write the sheet as PNG, whole or not at all."""
    with replacing(path) as scratch:
        sheet.save(scratch, "PNG")
    return path


def html_preview(data: GroupedData) -> str:
    """A data set for notebooks: counts of every group, and a contact sheet where there are images."""
    names = "".join(f"<th>{escape(name)}</th>" for name in data.info.attributes)
    rows = [
        f"<tr><td>{split}</td><td>{escape(label)}</td>{''.join(f'<td>{count:,}</td>' for count in counts)}</tr>"
        for split in SPLITS
        if (data.split == split).any()
        for label, counts in zip(data.info.classes, data.counts(split).tolist(), strict=True)
    ]
    table = f"<table><tr><th>split</th><th>label</th>{names}</tr>{''.join(rows)}</table>"
    title = f"<p><b>{escape(data.info.name)}</b> {escape(data.info.summary)}</p>"
    if data.inputs.kind != "images" or len(data.info.classes) * len(data.info.attributes) > MOST_GROUPS:
        return title + table
    picture = io.BytesIO()
    contact_sheet(data, each=3).save(picture, "PNG")
    source = base64.b64encode(picture.getvalue()).decode()
    return f'{title}{table}<img alt="a few training images of every group" src="data:image/png;base64,{source}">'


def _tile(pixels: npt.NDArray[Any]) -> Image.Image:
    """One image on a square of its own; pixels of small ones are repeated, so that they stay what they are."""
    if pixels.shape[-1] == 2:  # red and green: blue is empty
        pixels = np.pad(pixels, ((0, 0), (0, 0), (0, 1)))
    image = Image.fromarray(pixels.squeeze(-1) if pixels.shape[-1] == 1 else pixels).convert("RGB")
    scale = TILE / max(image.size)
    method = Image.Resampling.NEAREST if scale > 1 else Image.Resampling.BILINEAR
    small = image.resize((max(1, round(image.width * scale)), max(1, round(image.height * scale))), method)
    tile = Image.new("RGB", (TILE, TILE), "white")
    tile.paste(small, ((TILE - small.width) // 2, (TILE - small.height) // 2))
    return tile


def _write(draw: ImageDraw.ImageDraw, place: tuple[int, int], text: str, width: int, font: Any, colour: str) -> None:
    """A line of text, cut with an ellipsis where it would run into the next block."""
    while len(text) > 2 and draw.textlength(text, font) > width:
        text = text[:-2] + "…"
    draw.text(place, text, colour, font)


def text_examples(data: GroupedData, split: str = "train", each: int = 2, seed: int = 0) -> list[dict[str, Any]]:
    """A few texts of every group, for data that cannot be drawn."""
    classes, attributes = data.info.classes, data.info.attributes
    return [
        {"label": classes[label], "attribute": attributes[value], "texts": _texts(data, rows)}
        for (label, value), rows in examples(data, split, each, seed).items()
    ]


def _texts(data: GroupedData, rows: IntArray) -> Sequence[str]:
    return [" ".join(str(text).split()) for text in data.inputs.read(rows)] if rows.size else []
