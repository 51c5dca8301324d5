"""An exported model predicts what the library predicts, or is not written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from tests.cli.shell import Shell
from tests.contracts.small import small_data
from tests.model.conftest import Drawn

import ftt
from ftt.backbones import create
from ftt.errors import FttError
from ftt.model import Model
from ftt.model.exporting import export
from ftt.model.model import Head
from ftt.model.preprocessing import preprocessing
from ftt.probe import DFRProbe


@pytest.mark.slow
@pytest.mark.parametrize("form", ["onnx", "torchscript", "torch-export"])
def test_every_format_gives_the_library_s_predictions_on_new_images(drawn: Drawn, form: str, tmp_path: Path) -> None:
    if form == "onnx":
        pytest.importorskip("onnxscript", reason="needs the extra [onnx]")
    made = ftt.export(drawn.folder / "model", tmp_path / "out", form)
    assert made.rows == 8
    assert made.largest_difference < 1e-5
    pixels = drawn.model.accepted.image_files(drawn.new).read(np.arange(len(drawn.new)))
    if form == "onnx":
        runtime = pytest.importorskip("onnxruntime", reason="needs the extra [onnx]")
        session = runtime.InferenceSession(tmp_path / "out")
        found = session.run(["probabilities"], {"inputs": pixels})[0]
        properties = session.get_modelmeta().custom_metadata_map
        assert json.loads(properties["classes"]) == ["bright", "dark"]
        assert json.loads(properties["preprocessing"])["shape"] == ["n", 16, 16, 3]
    else:
        load: Any = torch.jit.load if form == "torchscript" else lambda path: torch.export.load(path).module()
        found = load(tmp_path / "out")(torch.from_numpy(pixels))[1].numpy()
    np.testing.assert_allclose(found, drawn.model.predict_proba(drawn.new), atol=1e-4)
    assert (found.argmax(axis=1) == drawn.model.predict_proba(drawn.new).argmax(axis=1)).all()


@pytest.mark.slow
@pytest.mark.parametrize(("backbone", "recipe", "kind"), [("lite0", "init", "images"), ("mlp:8", "both", "features")])
def test_other_backbones_and_recipes_export_to_onnx(backbone: str, recipe: str, kind: str, tmp_path: Path) -> None:
    pytest.importorskip("onnxscript", reason="needs the extra [onnx]")
    data = small_data(kind)  # type: ignore[arg-type]
    features = ftt.fit(data, recipe, backbone, epochs=1)
    probe = DFRProbe(averages=2).fit(features.transform(data["val"]), data["val"].y, attribute=data["val"].a)
    assert export(Model.of(features, probe, data), tmp_path / "m.onnx", "onnx").largest_difference < 1e-4


def test_a_model_that_predicts_otherwise_is_not_written(
    drawn: Drawn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Model.load(drawn.folder / "model")
    monkeypatch.setattr(Model, "probabilities", lambda self, batch: np.full((len(batch), 2), 0.5))
    with pytest.raises(FttError, match="gives other predictions and was not written"):
        export(model, tmp_path / "m.ts", "torchscript")
    assert list(tmp_path.iterdir()) == []


def test_an_export_needs_real_inputs(drawn: Drawn, shell: Shell, tmp_path: Path) -> None:
    bare = ftt.save(drawn.result, tmp_path / "bare", home=drawn.home, examples=0)
    out = tmp_path / "m.ts"
    assert "--on images/" in shell.refused("export", bare, "--torchscript", out)
    assert "no format" in shell.refused("export", bare)
    answer = shell.json("export", bare, "--torchscript", out, "--on", drawn.folder / "new")
    assert answer["exports"][0]["rows_compared"] == len(drawn.new)
    assert out.is_file()


def test_without_the_extra_the_error_names_it(drawn: Drawn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    with pytest.raises(FttError, match=r"freeze-then-train\[onnx\]"):
        export(drawn.model, tmp_path / "m.onnx", "onnx")


@pytest.mark.parametrize("name", [pytest.param("lite0", marks=pytest.mark.slow), "timm-random:test_efficientnet"])
def test_exportable_networks_have_plain_layers_and_the_same_features(name: str) -> None:
    inputs = small_data()["train"].inputs
    backbone = create(name, inputs).eval()
    plain = backbone.exportable()
    assert {type(module).__module__.partition(".")[0] for module in plain.net.modules()} <= {"torch", "timm"}  # type: ignore[union-attr]
    x = backbone.prepare(inputs.read(np.arange(4)))
    with torch.inference_mode():
        torch.testing.assert_close(plain(x), backbone(x), atol=1e-4, rtol=1e-4)


def test_a_head_after_a_projection_is_the_head_of_its_features() -> None:
    rng = np.random.default_rng(0)
    head = Head(rng.standard_normal((3, 4)), rng.standard_normal(3))
    weight, bias = (rng.standard_normal(shape).astype(np.float32) for shape in ((6, 4), (4,)))
    phi = rng.standard_normal((5, 6))
    whole = head.after(weight, bias)
    np.testing.assert_allclose(
        phi @ whole.coef_.T + whole.intercept_, (phi @ weight + bias) @ head.coef_.T + head.intercept_, rtol=1e-6
    )


def test_the_python_lines_in_the_config_prepare_images_as_the_library_does(drawn: Drawn, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    pixels = rng.integers(0, 255, (90, 61, 4)).astype(np.uint8)
    Image.fromarray(pixels).save(tmp_path / "transparent.png")
    turned = Image.fromarray(pixels[..., :3])
    turned.getexif()[0x0112] = 6
    turned.save(tmp_path / "turned.jpg", exif=turned.getexif())
    Image.fromarray(pixels[..., 0]).save(tmp_path / "grey.png")
    Image.fromarray(pixels[:7, :9, :3]).save(tmp_path / "tiny.bmp")
    paths = sorted(tmp_path.iterdir())
    names: dict[str, Any] = {}
    exec(preprocessing(drawn.model)["python"], names)
    wanted = drawn.model.accepted.image_files(paths).read(np.arange(len(paths)))
    np.testing.assert_array_equal(np.stack([names["prepare"](path) for path in paths]), wanted)
