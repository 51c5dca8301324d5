"""Hidden layers over flat inputs: their shape, their start, and what a wrong name says."""

import numpy as np
import pytest
import torch

from ftt.backbones import create
from ftt.data import ArrayInputs
from ftt.errors import FttError

ROWS = ArrayInputs(np.random.default_rng(0).standard_normal((6, 5)).astype(np.float32), "features")


def test_features_are_the_units_of_the_last_hidden_layer() -> None:
    backbone = create("dense:7x3", ROWS)
    first, second = (layer for layer in backbone.modules() if isinstance(layer, torch.nn.Linear))
    x = backbone.prepare(ROWS.read(np.arange(6)))
    by_hand = torch.relu(torch.relu(x @ first.weight.T) @ second.weight.T)
    assert backbone.num_features == 3
    torch.testing.assert_close(backbone(x), by_hand)


def test_weights_follow_from_the_name_alone() -> None:
    torch.manual_seed(1)
    same, again, other = (create(name, ROWS) for name in ("dense:7x3", "dense:7x3@0", "dense:7x3@1"))
    assert same.weights_id == again.weights_id != other.weights_id


@pytest.mark.parametrize(
    "name", ["dense", "dense:", "dense:x3", "dense:0", "dense:3x", "dense:3@", "dense:3@a", "dense:9" + "0" * 6]
)
def test_other_names_are_refused_with_an_example(name: str) -> None:
    with pytest.raises(FttError, match="dense:390x390"):
        create(name, ROWS)
