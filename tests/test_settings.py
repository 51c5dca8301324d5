"""The paper's settings are valid settings."""

from __future__ import annotations

import pytest

from ftt import registry
from ftt.errors import FttError
from ftt.spec import Training
from ftt.train.presets import PAPER, paper_setting


@pytest.mark.parametrize(("dataset", "method"), list(PAPER))
def test_every_published_setting_builds(dataset: str, method: str) -> None:
    setting = paper_setting(dataset, method)
    assert Training().replace(**setting.training).lr > 0
    assert registry.METHODS.build({"name": method, **setting.method}).describe()["name"] == method
    registry.BACKBONES.get(setting.backbone)


def test_dominoes_is_trained_as_the_appendix_says() -> None:
    training = Training().replace(**paper_setting("dominoes", "erm").training)
    assert (training.lr, training.weight_decay, training.epochs, training.batch_size) == (0.01, 1e-3, 200, 256)
    assert (training.schedule, training.drop_after, training.lr * training.drop_factor) == ("drop", 50, 0.002)


def test_a_setting_the_paper_does_not_have_is_refused() -> None:
    with pytest.raises(FttError, match="setting of the paper"):
        paper_setting("dominoes", "jtt")
