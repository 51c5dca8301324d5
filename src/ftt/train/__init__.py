"""The supervised stage: two branches, one head, one loop."""

from ftt.train.model import FreezeThenTrain, fit
from ftt.train.recipe import PRESETS, Recipe, preset

__all__ = ["PRESETS", "FreezeThenTrain", "Recipe", "fit", "preset"]
