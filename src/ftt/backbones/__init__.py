"""x → φ(x): pretrained networks behind one interface."""

from __future__ import annotations

from ftt import registry
from ftt.backbones.base import Backbone
from ftt.backbones.extract import extract
from ftt.data.inputs import Inputs
from ftt.params import Json

__all__ = ["Backbone", "create", "extract", "fingerprint"]


def create(name: str, inputs: Inputs) -> Backbone:
    """The backbone of this name, ready for these inputs; ``family:member`` picks a member."""
    family = registry.BACKBONES.get(name)
    member = name.partition(":")[2]
    backbone: Backbone = family.create(member, inputs)
    backbone.check(inputs)
    return backbone


def fingerprint(name: str) -> Json:
    """What identifies the initial weights before they are loaded: the name, or the content of a folder it names."""
    return name
