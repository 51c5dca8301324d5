"""The supervised stage: two branches, one head, one loop."""

from ftt.train.fitting import fit
from ftt.train.model import FreezeThenTrain
from ftt.train.services import Services

__all__ = ["FreezeThenTrain", "Services", "fit"]
