# %% [markdown]
# # From a folder of images to a decision
#
# Squares and circles on sea or land. The background agrees with the shape nine times out of ten, so a model can do well
# without looking at the shape. Does it? And does freezing features before training help?
#
# Run this file as it is, or cell by cell in Jupyter (jupytext), VS Code or PyCharm.

# %%
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

import ftt

folder = Path(tempfile.mkdtemp())
home = folder / "home"
epochs = int(sys.argv[1]) if sys.argv[1:] and sys.argv[1].isdigit() else 4

# %% [markdown]
# ## 1. Raw files
# One folder per shape, in it one per background: `images/<label>/<attribute>/<image>`.

# %%
rng = np.random.default_rng(0)
for number in range(600):
    square = rng.random() < 0.5
    sea = square == (rng.random() < 0.9)
    pixels = rng.integers(0, 60, (32, 32, 3)) + np.array((0, 60, 150) if sea else (60, 120, 0))
    image = Image.fromarray(pixels.astype(np.uint8))
    left, top, side = rng.integers(2, 12), rng.integers(2, 12), rng.integers(12, 18)
    shape = ImageDraw.Draw(image).rectangle if square else ImageDraw.Draw(image).ellipse
    shape((left, top, left + side, top + side), fill=(230, 220, 90))
    place = folder / "images" / ("square" if square else "circle") / ("sea" if sea else "land")
    place.mkdir(parents=True, exist_ok=True)
    image.save(place / f"{number}.png")

# %% [markdown]
# ## 2. Look at the data
# In a notebook `data` alone shows counts and a few images of every group.

# %%
options = {"path": str(folder / "images"), "size": 32}
data = ftt.load("folder", **options)
print(data.to_frame().pivot(index=["split", "label"], columns="attribute", values="rows"))

# %% [markdown]
# ## 3. The shortcut in plain sight
# The first line is the worst group of label and attribute; the paper's definition, by attribute alone, is second.

# %%
common = {**options, "backbone": "tinyconv", "epochs": epochs, "home": home}
result = ftt.run("folder", recipe="erm", **common)
print(result)
print(result.to_frame()[["label", "group", "accuracy", "n"]])

# %% [markdown]
# ## 4. What will a comparison cost?
# What the run above has left in the store is not computed again.

# %%
print(ftt.plan([replace(result.spec, recipe=name) for name in ("erm", "init", "ftt")], home=home))

# %% [markdown]
# ## 5. Compare
# Every recipe is probed on groups of label and attribute, on the same test rows.

# %%
compared = ftt.compare("folder", ["erm", "init", "ftt"], groups="label-attribute", **common)
print(compared)

# %% [markdown]
# ## 6. Decide
# A recipe is chosen over plain training only where the paired interval leaves no doubt.

# %%
better = [name for name in ("init", "ftt") if (d := compared.difference(name)).distinguishable and d.value > 0]
print(
    f"decision: use {better[-1]}" if better else "decision: not distinguishable from plain training; collect more rows"
)

# %% [markdown]
# ## 7. Step by step, with a model in hand

# %%
model = ftt.fit(data, "ftt", backbone="tinyconv", epochs=epochs)
val = data["val"]
probe = ftt.DFRProbe(groups="label-attribute").fit(model.transform(val), val.y, attribute=val.a)
print(ftt.group_report(probe, model, data["test"]))
