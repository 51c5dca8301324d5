"""Drawn shapes on two backgrounds: raw files as a user has them, with and without labels."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

SHORTCUT = 0.85
"""How often the background agrees with the shape."""


def draw(folder: Path, count: int, seed: int) -> list[tuple[str, str, str]]:
    """Images of squares and circles on sea or land; returns (name, shape, background) of each."""
    rng, rows = np.random.default_rng(seed), []
    folder.mkdir(parents=True)
    for number in range(count):
        square = rng.random() < 0.5
        sea = square == (rng.random() < SHORTCUT)
        pixels = rng.integers(0, 60, (40, 48, 3)) + np.array((0, 60, 150) if sea else (60, 120, 0))
        image = Image.fromarray(pixels.astype(np.uint8))
        left, top, side = (int(rng.integers(*span)) for span in ((6, 18), (4, 12), (16, 22)))
        shape = ImageDraw.Draw(image).rectangle if square else ImageDraw.Draw(image).ellipse
        shape((left, top, left + side, top + side), fill=(230, 220, 90))
        name = f"{number:04}.png"
        image.save(folder / name)
        rows.append((name, "square" if square else "circle", "sea" if sea else "land"))
    return rows


def write_list(path: Path, rows: list[tuple[str, str, str]]) -> None:
    with path.open("w", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(["path", "shape", "background"])
        table.writerows(rows)
