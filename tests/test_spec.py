"""A Spec is plain JSON; its key changes with everything that changes the numbers, and with nothing else."""

from __future__ import annotations

import dataclasses
import json

import pytest

from ftt.data.digits import Digits
from ftt.errors import FttError
from ftt.freeze.pca import PCA
from ftt.methods.erm import ERM
from ftt.spec import Probing, Spec, Training

BASE = Spec(data=Digits(core_noise=0.2), backbone="identity", freeze=PCA(p=0.25), method=ERM())


def test_spec_reads_back_from_json_to_the_same_key() -> None:
    copy = Spec.from_description(json.loads(json.dumps(BASE.describe())))
    assert copy == BASE
    assert copy.key == BASE.key


@pytest.mark.parametrize(
    "other",
    [
        dataclasses.replace(BASE, data=Digits(core_noise=0.1)),
        dataclasses.replace(BASE, data=Digits(core_noise=0.2, seed=1)),
        dataclasses.replace(BASE, backbone="lite0"),
        dataclasses.replace(BASE, freeze=PCA(p=0.5)),
        dataclasses.replace(BASE, freeze=None),
        dataclasses.replace(BASE, method=None),
        dataclasses.replace(BASE, train=Training(epochs=7)),
        dataclasses.replace(BASE, train=Training(drop_after=3)),
        dataclasses.replace(BASE, probe=Probing(seed=1)),
        dataclasses.replace(BASE, seed=1),
    ],
)
def test_key_changes_with_every_part(other: Spec) -> None:
    assert other.key != BASE.key
    assert other.run_id == other.key[:16]


def test_key_of_an_untrained_recipe_ignores_what_only_training_reads() -> None:
    frozen = dataclasses.replace(BASE, method=None)
    assert dataclasses.replace(frozen, train=Training(lr=1.0), seed=5).key == frozen.key
    assert dataclasses.replace(frozen, probe=Probing(seed=5)).key != frozen.key


def test_description_with_an_unknown_name_is_refused() -> None:
    with pytest.raises(FttError, match="did you mean 'pca'"):
        Spec.from_description({**BASE.describe(), "freeze": {"name": "pcaa", "p": 0.25}})
