"""x → φ(x): pretrained networks behind one interface."""

from __future__ import annotations

from collections.abc import Mapping

from ftt import registry
from ftt.backbones.backbone import Backbone
from ftt.backbones.extract import extract
from ftt.data.checksums import Checksums
from ftt.data.inputs import Inputs
from ftt.data.roots import Roots
from ftt.params import Json

__all__ = ["Backbone", "create", "extract", "fingerprint", "missing"]


def create(name: str, inputs: Inputs) -> Backbone:
    """The backbone of this name, ready for these inputs; ``family:member`` picks a member."""
    family = registry.BACKBONES.get(name)
    member = name.partition(":")[2]
    backbone: Backbone = family.create(member, inputs)
    backbone.check(inputs)
    return backbone


def fingerprint(name: str, roots: Roots | None = None) -> Json:
    """What identifies the initial weights before they are loaded: the name, and the content of files it stands for."""
    family: type[Backbone] = registry.BACKBONES.get(name)
    return family.fingerprint(name, Checksums(roots or Roots.from_environment()))


def missing(name: str, roots: Roots | None = None) -> bool:
    """Whether the weights are files that are not on this machine."""
    known = fingerprint(name, roots)
    return isinstance(known, Mapping) and known.get("content") is None
