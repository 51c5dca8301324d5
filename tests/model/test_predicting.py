"""New data of every form is read a piece at a time, and a row that cannot be read says why."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from tests.cli.shell import Shell
from tests.contracts.small import ROWS, small_data
from tests.model.conftest import NEW, Drawn

import ftt
from ftt.errors import FttError
from ftt.model import Model
from ftt.model.accepted import Accepted
from ftt.model.predicting import stream
from ftt.model.reading import Source
from ftt.probe import DFRProbe


@pytest.fixture(scope="module")
def on_features() -> Model:
    data = small_data("features")
    features = ftt.fit(data, "pca", "identity")
    probe = DFRProbe(averages=2).fit(features.transform(data["val"]), data["val"].y, attribute=data["val"].a)
    return Model.of(features, probe, data)


def write_features(path: Path, X: Any) -> Path:
    if path.suffix == ".npz":
        (np.savez_compressed if "small" in path.stem else np.savez)(path, features=X, y=np.zeros(len(X)))
    elif path.suffix == ".npy":
        np.save(path, X)
    elif path.suffix == ".csv":
        pandas.DataFrame(X, columns=[f"features_{k}" for k in range(X.shape[1])]).to_csv(path)
    elif path.suffix == ".parquet":
        pandas.DataFrame({"features": list(X)}).to_parquet(path)
    else:
        path.mkdir()
        np.save(path / "features.npy", X)
    return path


@pytest.mark.parametrize("name", ["a.npz", "small.npz", "a.npy", "a.csv", "a.parquet", "folder"])
def test_features_of_every_form_give_the_same_piece_by_piece(
    on_features: Model, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    X = small_data("features").inputs.read(np.arange(3 * ROWS))
    monkeypatch.setattr(Accepted, "rows_at_once", 50)
    frame = ftt.predict(on_features, write_features(tmp_path / name, X))
    assert frame["row"].tolist() == [str(row) for row in range(len(X))]
    assert frame["label"].tolist() == on_features.predict(X).tolist()
    np.testing.assert_allclose(frame[["p_no", "p_yes"]], on_features.predict_proba(X), atol=1e-6)
    assert frame["error"].isna().all()


def test_a_row_that_is_not_finite_is_an_error_of_that_row(on_features: Model, tmp_path: Path) -> None:
    X = small_data("features").inputs.read(np.arange(10)).copy()
    X[3, 2], X[7, 0] = np.nan, np.inf
    frame = ftt.predict(on_features, write_features(tmp_path / "a.npy", X))
    assert frame.index[frame["error"].notna()].tolist() == [3, 7]
    assert frame.index[frame["label"].isna()].tolist() == [3, 7]
    assert frame.loc[3, ["probability", "p_no", "p_yes"]].isna().all()
    good = np.setdiff1d(np.arange(10), [3, 7])
    assert frame["label"][good].tolist() == on_features.predict(X[good]).tolist()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda path: np.save(path, np.zeros((4, 3))), "rows of 16 numbers"),
        (lambda path: np.save(path, np.zeros((4, 16), order="F")), "Fortran order"),
        (lambda path: np.save(path, np.array(["a"] * 4)), "do not fit"),
        (lambda path: path.write_bytes(b"\x93NUMPY"), "cannot be read"),
        (lambda path: np.save(path, np.array([{}], dtype=object)), "Python objects"),
        (lambda path: None, "no such file"),
    ],
    ids=["width", "order", "texts", "cut", "objects", "missing"],
)
def test_features_that_do_not_fit_are_refused_as_a_whole(
    on_features: Model, make: Any, words: str, tmp_path: Path
) -> None:
    make(tmp_path / "a.npy")
    with pytest.raises(FttError, match=words):
        ftt.predict(on_features, tmp_path / "a.npy")


def test_an_unknown_array_or_column_is_named_with_those_there_are(on_features: Model, tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", feature=np.zeros((4, 16)))
    with pytest.raises(FttError, match="did you mean 'feature'"):
        ftt.predict(on_features, tmp_path / "a.npz")
    assert len(ftt.predict(on_features, tmp_path / "a.npz", column="feature")) == 4
    with pytest.raises(FttError, match="the model takes features"):
        ftt.predict(on_features, write_features(tmp_path / "x.npy", np.zeros((1, 16))).rename(tmp_path / "x.png"))


def test_memory_holds_one_piece_at_a_time(on_features: Model, tmp_path: Path) -> None:
    """Of a compressed archive too: what comes first is predicted before the rest is read."""
    rows = on_features.accepted.rows_at_once
    path = write_features(tmp_path / "small.npz", np.zeros((3 * rows, 16), dtype=np.float32))
    sizes = [batch.num_rows for batch in stream(on_features, Source(path))]
    assert sizes == [rows] * 3


def test_a_folder_of_images_has_a_row_for_every_file_and_a_reason_for_every_bad_one(
    drawn: Drawn, tmp_path: Path
) -> None:
    (tmp_path / "sub").mkdir()
    for number, path in enumerate(drawn.new[:4]):
        (tmp_path / ("sub" if number % 2 else ".") / path.name).write_bytes(path.read_bytes())
    (tmp_path / "broken.png").write_bytes(b"no image")
    (tmp_path / "empty.JPG").write_bytes(b"")
    (tmp_path / "cut.png").write_bytes(drawn.new[0].read_bytes()[:80])
    (tmp_path / "lost.png").symlink_to(tmp_path / "nowhere")
    (tmp_path / "notes.txt").write_text("not an image, and not named like one")
    frame = ftt.predict(drawn.model, tmp_path).set_index("path")
    names = ["00.png", "02.png", "broken.png", "cut.png", "empty.JPG", "lost.png", "sub/01.png", "sub/03.png"]
    assert frame.index.tolist() == names
    assert frame.index[frame["error"].notna()].tolist() == ["broken.png", "cut.png", "empty.JPG", "lost.png"]
    assert frame.loc["lost.png", "error"] == "the file is missing"
    good = frame[frame["error"].isna()]
    wanted = drawn.model.predict([drawn.new[n] for n in (0, 2, 1, 3)])
    assert good["label"].tolist() == wanted.tolist()


def test_a_file_name_that_is_not_utf_8_has_its_row(drawn: Drawn, tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/odd\xff.png")).write_bytes(drawn.new[0].read_bytes())
    frame = ftt.predict(drawn.model, tmp_path)
    assert frame["path"].tolist() == ["odd\\udcff.png"]
    assert frame["label"].tolist() == drawn.model.predict(drawn.new[:1]).tolist()


@pytest.mark.slow
def test_predicting_does_not_import_pandas(drawn: Drawn, tmp_path: Path) -> None:
    """Its import takes as long as a few thousand small images."""
    code = f"""import sys
from pathlib import Path
from ftt.model import Model
from ftt.model.predicting import write
from ftt.model.reading import Source
write(Model.load({str(drawn.folder / "model")!r}), Source(Path({str(drawn.folder / "new")!r})), "csv", Path("out.csv"))
assert "pandas" not in sys.modules"""
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)


def test_a_list_of_images_keeps_its_order_and_its_names(drawn: Drawn, tmp_path: Path) -> None:
    names = ["03.png", "", "01.png", "gone.png", "03.png"]
    (tmp_path / "list.csv").write_text("id,path\n" + "\n".join(f"{n},{name}" for n, name in enumerate(names)))
    frame = ftt.predict(drawn.model, tmp_path / "list.csv", image_root=drawn.folder / "new")
    assert frame["path"].tolist() == names
    assert frame["error"].tolist()[1::2] == ["the path is empty", "the file is missing"]
    assert frame["label"][[0, 2, 4]].tolist() == drawn.model.predict([drawn.new[n] for n in (3, 1, 3)]).tolist()


def test_images_that_were_never_scaled_must_have_the_same_size(tmp_path: Path) -> None:
    from PIL import Image

    result = ftt.run("digits", "init", home=tmp_path / "home", backbone="identity")
    model = Model.load(ftt.save(result, tmp_path / "model", home=tmp_path / "home"))
    pixels = ftt.load("digits")["test"].inputs.read(np.arange(2))
    assert model.accepted.shape == (16, 8, 1)
    for number in range(2):
        Image.fromarray(pixels[number, :, :, 0]).save(tmp_path / f"{number}.png")
    Image.new("L", (8, 8)).save(tmp_path / "2.png")
    frame = ftt.predict(model, tmp_path)
    assert frame["label"][:2].tolist() == model.predict(pixels).tolist()
    assert frame["error"][2] == "8 x 8 pixels, the model takes 8 x 16"


def test_the_command_writes_every_format_alike(drawn: Drawn, shell: Shell, tmp_path: Path) -> None:
    model, new = drawn.folder / "model", drawn.folder / "new"
    printed = shell("predict", model, new)
    assert printed.code == 0, printed.err
    assert f"{NEW} rows" in printed.err
    for flag in ("--csv", "--json", "--parquet"):
        assert shell("predict", model, new, flag, tmp_path / f"out{flag[1:]}").code == 0
    assert (tmp_path / "out-csv").read_text() == printed.out
    table = pandas.read_csv(tmp_path / "out-csv", dtype={"error": str})
    pandas.testing.assert_frame_equal(pandas.read_parquet(tmp_path / "out-parquet"), table, check_dtype=False)
    found = json.loads((tmp_path / "out-json").read_text())
    assert [row["label"] for row in found["predictions"]] == table["label"].tolist()
    assert found["summary"]["counts"] == table["label"].value_counts().to_dict()
    assert found == shell.json("predict", model, new)


def test_unreadable_rows_end_in_exit_code_1_and_a_summary(drawn: Drawn, shell: Shell, tmp_path: Path) -> None:
    new = tmp_path / "new"
    new.mkdir()
    (new / "a.png").write_bytes(drawn.new[0].read_bytes())
    (new / "=b.png").write_bytes(b"")
    answer = shell("predict", drawn.folder / "model", new)
    assert answer.code == 1
    assert "1 could not be read" in answer.err
    assert '"\'=b.png",,,,,"the file is empty"' in answer.out


def test_a_failed_prediction_leaves_no_file(drawn: Drawn, shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "list.csv").write_text("path\na.png\n" + "x" * 10 + ",y\n")
    model = drawn.folder / "model"
    assert "cannot be read" in shell.refused("predict", model, tmp_path / "list.csv", tmp_path / "out.csv")
    assert "one format" in shell.refused("predict", model, tmp_path, "--csv", "--json")
    assert "needs a file" in shell.refused("predict", model, tmp_path, "--parquet")
    assert "no saved model" in shell.refused("predict", tmp_path, tmp_path)
    assert "nothing to predict" in shell.refused("predict", model, tmp_path, tmp_path / "out.csv")
    assert {path.name for path in tmp_path.iterdir()} == {"list.csv"}


def test_save_is_checked_before_anything_is_trained(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("x")
    call = ["run", "digits", "--recipe", "init", "--backbone", "identity", "--save"]
    assert "thesis.tex" in shell.refused(*call, tmp_path / "full")
    assert "one run" in shell.refused(*call, tmp_path / "model", "--seeds", 2)
    assert "no runs yet" in shell("status").out
    answer = shell(*call, tmp_path / "model")
    assert answer.code == 0, answer.err
    assert f"ftt predict {tmp_path / 'model'}" in answer.out
    run = shell.json(*call[:-1])["run_id"]
    assert shell("save", run[:6], tmp_path / "again").code == 0
    first, second = (Model.load(tmp_path / name) for name in ("model", "again"))
    np.testing.assert_array_equal(first.head.coef_, second.head.coef_)


@pytest.mark.slow
def test_texts_are_predicted_from_a_column(tmp_path: Path) -> None:
    pytest.importorskip("transformers", reason="needs the extra [text]")
    data = small_data("texts")
    features = ftt.fit(data, "init", "hf:minilm@16")
    probe = DFRProbe(averages=2).fit(features.transform(data["val"]), data["val"].y, attribute=data["val"].a)
    model = Model.load(Model.of(features, probe, data).save(tmp_path / "model"))
    texts = [str(text) for text in data["test"].inputs.read(np.arange(8))]
    pandas.DataFrame({"review": [*texts, None]}).to_csv(tmp_path / "new.csv")
    frame = ftt.predict(model, tmp_path / "new.csv", column="review")
    assert frame["label"].tolist()[:8] == model.predict(texts).tolist()
    assert frame["error"].tolist()[8] == "the text is empty"
