"""The supervised stage: two branches, one head, one loop."""

from ftt.train.fitting import fit
from ftt.train.model import FreezeThenTrain
from ftt.train.recipe import PRESETS, Recipe, preset

__all__ = ["PRESETS", "FreezeThenTrain", "Recipe", "fit", "preset"]
