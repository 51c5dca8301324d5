"""Your own data, from every kind of table; and every way it can be wrong is told in words."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from PIL import Image
from tests.data.hearing import Heard, shown_on

import ftt
from ftt.data import GroupedData, Roots
from ftt.data.embeddings import Embeddings
from ftt.data.images import ImageFiles
from ftt.data.manifest import Manifest
from ftt.errors import FttError
from ftt.runs.compose import compose

Table = dict[str, Any]
Writer = Callable[[Path, Table], Path]


def table(n: int = 24) -> Table:
    """Features, string labels, attribute and split of n rows; every group in every split."""
    rng = np.random.default_rng(0)
    return {
        "features": rng.standard_normal((n, 3)).astype(np.float32),
        "y": np.resize(["cat", "dog"], n),
        "attribute": np.resize(["day", "day", "night", "night"], n),
        "split": np.repeat(["train", "val", "test"], n // 3),
    }


def write_npz(folder: Path, columns: Table) -> Path:
    np.savez(folder / "own.npz", **columns)
    return folder / "own.npz"


def write_npy(folder: Path, columns: Table) -> Path:
    root = folder / "own"
    root.mkdir()
    for name, values in columns.items():
        np.save(root / f"{name}.npy", values)
    return root


def write_list_column(folder: Path, columns: Table, kind: pa.DataType | None = None) -> Path:
    lists = pa.array(columns["features"].tolist(), kind or pa.list_(pa.float32()))
    arrays = {**{name: pa.array(values) for name, values in columns.items() if name != "features"}, "features": lists}
    pyarrow.parquet.write_table(pa.table(arrays), folder / "own.parquet")
    return folder / "own.parquet"


def write_large_list_column(folder: Path, columns: Table) -> Path:
    return write_list_column(folder, columns, pa.large_list(pa.float32()))


def write_fixed_list_column(folder: Path, columns: Table) -> Path:
    return write_list_column(folder, columns, pa.list_(pa.float32(), columns["features"].shape[1]))


def write_numbered(folder: Path, columns: Table) -> Path:
    numbered = {f"features_{i}": columns["features"][:, i] for i in reversed(range(columns["features"].shape[1]))}
    others = {name: values for name, values in columns.items() if name != "features"}
    pyarrow.parquet.write_table(pa.table({**others, **numbered}), folder / "own.parquet")
    return folder / "own.parquet"


def write_csv(folder: Path, columns: Table) -> Path:
    pyarrow.csv.write_csv(pa.table(columns), folder / "own.csv")
    return folder / "own.csv"


def write_parquet(folder: Path, columns: Table) -> Path:
    pyarrow.parquet.write_table(pa.table(columns), folder / "own.parquet")
    return folder / "own.parquet"


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FTT_CACHE", str(tmp_path / "cache"))


def load(path: Path, **options: Any) -> GroupedData:
    return ftt.load("embeddings", path=str(path), **options)


@pytest.mark.parametrize(
    "write",
    [write_npz, write_npy, write_list_column, write_large_list_column, write_fixed_list_column, write_numbered],
)
def test_embeddings_are_the_same_from_every_kind_of_file(write: Writer, tmp_path: Path) -> None:
    given = table()
    data = load(write(tmp_path, given))
    np.testing.assert_array_equal(data.inputs.read(np.arange(24)), given["features"])
    assert data.info.classes == ("cat", "dog")
    assert data.info.attributes == ("day", "night")
    assert [data.info.classes[code] for code in data.y] == given["y"].tolist()
    assert [data.info.attributes[code] for code in data.a] == given["attribute"].tolist()
    assert data.split.tolist() == given["split"].tolist()
    assert data.y_clean is None


def test_more_than_ten_numbered_columns_stay_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    given = {**table(), "features": np.arange(24 * 12, dtype=np.float32).reshape(24, 12)}
    data = load(write_numbered(tmp_path, given))
    np.testing.assert_array_equal(data.inputs.read(np.arange(24)), given["features"])


def test_clean_labels_are_used_where_they_are_given(tmp_path: Path) -> None:
    given = table()
    data = load(write_npz(tmp_path, {**given, "y_clean": given["y"][::-1]}))
    assert data.y_clean is not None
    assert [data.info.classes[code] for code in data.y_clean] == given["y"][::-1].tolist()


def test_columns_may_have_other_names_and_splits_other_spellings(tmp_path: Path) -> None:
    given = table()
    renamed = {
        "emb": given["features"].astype(np.float64),
        "bird": np.resize([3, 7], 24),
        "place": np.resize([0.0, 0.0, 1.0, 1.0], 24),
        "part": np.repeat([0, 1, 2], 8),
    }
    path = write_npz(tmp_path, renamed)
    data = load(path, features="emb", label="bird", attribute="place", split="part")
    assert data.info.classes == ("3", "7")
    assert data.info.attributes == ("0", "1")
    assert data.split.tolist() == given["split"].tolist()
    given["split"] = np.repeat(["Train", "valid", "TEST"], 8)
    assert load(write_npz(tmp_path, given)).split[8] == "val"


def test_core_noise_flips_train_and_val_exactly_and_keeps_the_truth(tmp_path: Path) -> None:
    path = write_npz(tmp_path, table(120))
    clean, noisy = load(path), load(path, core_noise=0.2)
    assert noisy.y_clean is not None
    assert (noisy.y_clean == clean.y).all()
    wrong = noisy.y != noisy.y_clean
    assert [int(wrong[noisy.split == name].sum()) for name in ("train", "val", "test")] == [8, 8, 0]
    assert (wrong == noisy.flipped["core"]).all()


def nan_in(given: Table) -> Table:
    given["features"][[5, 7], 1] = np.nan
    return given


def without(*names: str) -> Callable[[Table], Table]:
    return lambda given: {name: values for name, values in given.items() if name not in names}


def having(**changes: Any) -> Callable[[Table], Table]:
    return lambda given: {**given, **changes}


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (nan_in, "2 of 24 rows, the first is row 5"),
        (having(features=np.full((24, 3), np.inf)), "NaN or infinity"),
        (having(features=np.zeros(24)), r"shape \(24,\)"),
        (having(features=np.zeros((24, 0))), "not a table of numbers"),
        (having(features=np.full((24, 3), "x")), "not a table of numbers"),
        (without("features"), "called 'features'"),
        (without("y"), "--label"),
        (without("attribute"), "--attribute"),
        (having(y=np.full(24, "cat")), "one class only"),
        (having(attribute=np.full(24, "day")), "one value only"),
        (having(y=np.zeros(20, dtype=int)), "'y' and the inputs differ in length"),
        (having(y=np.resize([0.0, 1.0, np.nan], 24)), "nan in row 2"),
        (having(y=np.zeros((24, 2), dtype=int)), "not one value per row"),
        (having(y_clean=np.full(24, "cow")), "no clean label called 'cow'"),
        (having(y_clean=np.full(3, "cat")), "'y_clean' and the inputs differ in length"),
        (having(split=np.full(24, "trainn")), "did you mean 'train'"),
        (having(y=np.array([{}] * 24, dtype=object)), "pickle"),
    ],
)
def test_bad_embeddings_are_refused_in_words(damage: Callable[[Table], Table], words: str, tmp_path: Path) -> None:
    path = write_npz(tmp_path, damage(table()))
    with pytest.raises(FttError, match=words):
        load(path)
    with pytest.raises(FttError, match=words):
        load(path, core_noise=0.1)


def test_misspelt_column_suggests_the_one_there_is(tmp_path: Path) -> None:
    given = table()
    given["atribute"] = given.pop("attribute")
    with pytest.raises(FttError, match="did you mean 'atribute'"):
        load(write_npz(tmp_path, given))


def test_infeasible_core_noise_on_own_data_is_refused_with_the_maximum(tmp_path: Path) -> None:
    given = table()
    given["attribute"] = np.where(np.arange(24) % 8 == 0, "night", np.resize(["day", "night"], 24))
    with pytest.raises(FttError, match=r"core_noise <= 0\."):
        load(write_npz(tmp_path, given), core_noise=0.4)


def test_lists_of_different_length_are_refused_even_where_their_sum_would_fit(tmp_path: Path) -> None:
    given = without("features")(table())
    lists = [[1.0, 2.0], [3.0], [4.0, 5.0, 6.0]] * 8
    pyarrow.parquet.write_table(pa.table({**given, "features": lists}), tmp_path / "own.parquet")
    with pytest.raises(FttError, match="'features' differ in length"):
        load(tmp_path / "own.parquet")


def test_empty_cell_is_named_by_column_and_row(tmp_path: Path) -> None:
    given = without("features")(table())
    path = write_parquet(
        tmp_path, {**given, "y": [None if row == 4 else "cat" for row in range(24)], "path": given["y"]}
    )
    with pytest.raises(FttError, match="column 'y' has empty cells") as caught:
        ftt.load("manifest", path=str(path))
    assert caught.value.given == "row 4"


@pytest.mark.parametrize("name", ["none.npz", "none.parquet", "none"])
def test_file_that_is_not_there_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(FttError, match="no such file"):
        load(tmp_path / name)


@pytest.mark.parametrize("name", ["own.npz", "own.parquet", "own.csv", "own.npy"])
def test_file_that_is_garbage_is_refused_by_name(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"\x93\x00PK garbage\n,,,\n")
    with pytest.raises(FttError):
        load(tmp_path / name)


@pytest.fixture
def pictures(tmp_path: Path) -> Table:
    """Twelve PNG and JPEG files of one colour each, and their list."""
    rng = np.random.default_rng(0)
    given = {name: values[::2] for name, values in table().items() if name != "features"}
    names = [f"{row:02d}.{'png' if row % 2 else 'jpg'}" for row in range(12)]
    (tmp_path / "images").mkdir()
    for row, name in enumerate(names):
        size = (40, 24) if row % 3 else (24, 40)
        Image.new("RGB", size, tuple(rng.integers(0, 256, 3).tolist())).save(tmp_path / "images" / name)
    given["y"] = np.resize(["cat", "dog"], 12)
    given["split"] = np.repeat(["train", "val", "test"], 4)
    return {**given, "path": np.array(names)}


@pytest.mark.parametrize("write", [write_csv, write_parquet])
def test_manifest_reads_real_images_in_order(write: Writer, pictures: Table, tmp_path: Path) -> None:
    path = write(tmp_path, pictures)
    data = ftt.load("manifest", path=str(path), image_root=str(tmp_path / "images"), size=16)
    images = data.inputs.read(np.arange(12))
    assert images.shape == (12, 16, 16, 3)
    for row, name in enumerate(pictures["path"]):
        colour = np.asarray(Image.open(tmp_path / "images" / name).convert("RGB"))[0, 0]
        assert np.abs(images[row].astype(int) - colour).max() <= 1
    assert data.info.classes == ("cat", "dog")
    assert data["val"].inputs.read(np.arange(1)).tolist() == images[4:5].tolist()


def test_manifest_paths_start_at_the_table_unless_told_otherwise(pictures: Table, tmp_path: Path) -> None:
    path = write_csv(tmp_path / "images", pictures)
    data = ftt.load("manifest", path=str(path), size=16)
    assert data.inputs.read(np.arange(1)).shape == (1, 16, 16, 3)


def read_all(path: Path, root: Path) -> npt.NDArray[Any]:
    data = ftt.load("manifest", path=str(path), image_root=str(root), size=16)
    return data.inputs.read(np.arange(len(data)))


@pytest.mark.parametrize("keep", [0, 20, 60])
def test_image_that_cannot_be_decoded_is_named(keep: int, pictures: Table, tmp_path: Path) -> None:
    for name in ("04.jpg", "05.png"):
        broken = tmp_path / "images" / name
        whole = broken.read_bytes()
        broken.write_bytes(whole[:keep])
        with pytest.raises(FttError, match=name.replace(".", r"\.")):
            read_all(write_csv(tmp_path, pictures), tmp_path / "images")
        broken.write_bytes(whole)


@pytest.mark.filterwarnings("ignore::UserWarning:PIL")
def test_damaged_bytes_anywhere_in_an_image_never_end_in_another_error(pictures: Table, tmp_path: Path) -> None:
    from ftt.data.inputs import decode

    rng = np.random.default_rng(0)
    for suffix in ("png", "jpg", "gif", "bmp", "tiff", "webp", "ppm"):
        path = tmp_path / f"fuzz.{suffix}"
        Image.fromarray(rng.integers(0, 256, (24, 24, 3), dtype=np.uint8)).save(path)
        whole = path.read_bytes()
        for _ in range(60):
            content = bytearray(whole)
            for place in rng.integers(0, len(content), 6):
                content[place] = int(rng.integers(0, 256))
            path.write_bytes(content[: int(rng.integers(1, len(content) + 1))])
            with contextlib.suppress(FttError):
                assert decode(path, 16).shape == (16, 16, 3)


def test_image_that_is_missing_is_named(pictures: Table, tmp_path: Path) -> None:
    (tmp_path / "images" / "03.png").unlink()
    with pytest.raises(FttError, match=r"03\.png"):
        read_all(write_csv(tmp_path, pictures), tmp_path / "images")


@pytest.mark.parametrize("name", ["../secret.png", "/etc/passwd"])
def test_image_path_that_leaves_the_folder_is_refused(name: str, pictures: Table, tmp_path: Path) -> None:
    pictures["path"] = np.array([*pictures["path"][:-1], name])
    with pytest.raises(FttError, match="leaves the folder"):
        read_all(write_csv(tmp_path, pictures), tmp_path / "images")


def test_a_row_that_names_the_folder_itself_opens_nothing_beside_it(pictures: Table, tmp_path: Path) -> None:
    """Both rows have the same parent, which the first may name."""
    pictures["path"] = np.array([".", *pictures["path"][1:-1], str(tmp_path / "secret.png")])
    with pytest.raises(FttError, match="leaves the folder"):
        read_all(write_csv(tmp_path, pictures), tmp_path / "images")


@pytest.mark.parametrize("name", ["..", "link.png", "outside/secret.png"])
def test_image_path_that_leaves_the_folder_by_a_link_is_refused(name: str, pictures: Table, tmp_path: Path) -> None:
    Image.new("RGB", (20, 20)).save(tmp_path / "secret.png")
    (tmp_path / "images" / "link.png").symlink_to(tmp_path / "secret.png")
    (tmp_path / "images" / "outside").symlink_to(tmp_path)
    pictures["path"] = np.array([*pictures["path"][:-1], name])
    with pytest.raises(FttError, match="leaves the folder"):
        read_all(write_csv(tmp_path, pictures), tmp_path / "images")


@pytest.mark.parametrize("again", ["00.jpg", "./00.jpg", "../images/00.jpg"])
def test_image_in_two_rows_is_refused_by_name(again: str, pictures: Table, tmp_path: Path) -> None:
    pictures["path"] = np.array([*pictures["path"][:-1], again])
    with pytest.raises(FttError, match=r"several rows") as caught:
        read_all(write_csv(tmp_path, pictures), tmp_path / "images")
    assert caught.value.given == "1 such images: 00.jpg"


def test_manifest_without_its_path_column_or_folder_is_refused(pictures: Table, tmp_path: Path) -> None:
    with pytest.raises(FttError, match="--image-root"):
        read_all(write_csv(tmp_path, pictures), tmp_path / "nothing")
    with pytest.raises(FttError, match="--image"):
        read_all(write_csv(tmp_path, without("path")(pictures)), tmp_path / "images")


def broken(folder: Path) -> None:
    """A zero-byte, a cut-off and a missing image among the twelve."""
    (folder / "01.png").write_bytes(b"")
    whole = (folder / "04.jpg").read_bytes()
    (folder / "04.jpg").write_bytes(whole[: len(whole) - 40])
    (folder / "07.png").unlink()


def test_all_broken_images_are_told_in_one_error_and_nothing_is_kept(pictures: Table, tmp_path: Path) -> None:
    broken(tmp_path / "images")
    with pytest.raises(FttError, match="3 of 12 images") as caught:
        read_all(write_csv(tmp_path, pictures), tmp_path / "images")
    for part in ("01.png (the file is empty)", "04.jpg", "07.png (the file is missing)", "--skip-broken"):
        assert part in str(caught.value)
    assert not list((tmp_path / "cache").rglob("*.npy"))


def test_an_error_lists_ten_broken_images_and_counts_the_others(pictures: Table, tmp_path: Path) -> None:
    for name in pictures["path"]:
        (tmp_path / "images" / name).write_bytes(b"no image")
    with pytest.raises(FttError, match="12 of 12 images") as caught:
        read_all(write_csv(tmp_path, pictures), tmp_path / "images")
    assert "09.png" in str(caught.value)
    assert "10.jpg" not in str(caught.value)
    assert "and 2 more" in str(caught.value)


def test_skipped_broken_images_leave_labels_attributes_and_splits_in_step(pictures: Table, tmp_path: Path) -> None:
    path = write_csv(tmp_path, pictures)
    options: Table = {"path": str(path), "image_root": str(tmp_path / "images"), "size": 16}
    whole = ftt.load("manifest", **options)
    before = whole.inputs.read(np.arange(12))
    broken(tmp_path / "images")
    rest = np.array([0, 2, 3, 5, 6, 8, 9, 10, 11])
    heard = Heard()
    with shown_on(heard):
        data = ftt.load("manifest", **options, skip_broken=True)
    np.testing.assert_array_equal(data.inputs.read(np.arange(9)), before[rest])
    for name in ("y", "a", "split"):
        assert getattr(data, name).tolist() == getattr(whole, name)[rest].tolist()
    assert any("left out 3 of 12 images" in line and "01.png" in line for line in heard.lines)
    assert (
        data.inputs.fingerprint()
        == ImageFiles([tmp_path / "images" / pictures["path"][r] for r in rest], 16).fingerprint()
    )
    with pytest.raises(FttError, match="3 of 12 images"):
        ftt.load("manifest", **options).inputs.read(np.arange(1))


@pytest.mark.parametrize("write", [write_npz, write_list_column])
def test_missing_splits_are_made_by_group_and_said(write: Writer, tmp_path: Path) -> None:
    given = without("split")(table(120))
    heard = Heard()
    with shown_on(heard):
        data = load(write(tmp_path, given))
    assert [data.counts(name).tolist() for name in ("train", "val", "test")] == [
        [[18, 18], [18, 18]],
        [[6, 6], [6, 6]],
        [[6, 6], [6, 6]],
    ]
    assert any("train 72, val 24, test 24" in line for line in heard.lines)


def test_made_splits_hang_on_their_own_seed_not_on_that_of_the_run(tmp_path: Path) -> None:
    path = write_npz(tmp_path, without("split")(table(120)))
    first, second, third = load(path), load(path, seed=3), load(path, split_seed=3)
    assert (first.split == second.split).all()
    assert (first.split != third.split).any()
    halves = load(path, shares=(0.5, 0.25, 0.25))
    assert int((halves.split == "train").sum()) == 60


def test_splits_are_not_made_where_a_column_looks_like_one_or_one_was_asked_for(tmp_path: Path) -> None:
    given = table()
    given["Splits"] = given.pop("split")
    path = write_npz(tmp_path, given)
    for options in ({}, {"split": "fold"}):
        with pytest.raises(FttError, match="--split"):
            load(path, **options)


def test_options_added_later_leave_the_identity_of_old_data_alone(tmp_path: Path) -> None:
    path = write_npz(tmp_path, table())
    assert set(Embeddings(path=str(path)).identity()) == {
        *("name", "path", "label", "attribute", "split", "clean", "core_noise", "seed", "features")
    }
    assert "shares" in Embeddings(path=str(path), shares=(0.8, 0.1, 0.1)).identity()


@pytest.mark.parametrize("write", [write_csv, write_parquet])
def test_manifest_of_texts_reads_a_column_and_asks_for_a_text_encoder(write: Writer, tmp_path: Path) -> None:
    columns = without("features")(table())
    texts = [f'review {row}, "quoted"\nsecond line' for row in range(24)]
    path = write(tmp_path, {**columns, "review": texts, "note": [None, "x"] * 12})
    manifest = Manifest(path=str(path), text="review")
    data = manifest.load(Roots.from_environment())
    assert data.inputs.kind == "texts"
    assert data.inputs.read(np.arange(24)).tolist() == texts
    given = {"dataset": "manifest", "recipe": "init", "path": str(path)}
    assert compose({**given, "text": "review"}).backbone == "hf:minilm"
    assert compose(given).backbone == "lite0"
    with pytest.raises(FttError, match="--text"):
        Manifest(path=str(path), text="reviews").load(Roots.from_environment())


def test_labels_of_a_categorical_column_are_its_words(tmp_path: Path) -> None:
    given = table()
    given["y"] = pa.array(given["y"]).dictionary_encode()
    pyarrow.parquet.write_table(pa.table({**given, "features": given["features"].tolist()}), tmp_path / "own.parquet")
    assert load(tmp_path / "own.parquet").info.classes == ("cat", "dog")
