"""Every registered data set keeps its contract: a new one is tested by existing."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ftt import registry
from ftt.data import Dataset, Fittable, GroupedData, HeldOut, Roots
from ftt.data.grouped import SPLITS
from ftt.errors import FttError
from ftt.params import canonical
from tests.contracts.small_datasets import FETCHED, SIZES, WRITERS, small_dataset

# The samples are smaller than what was published, which the data sets say.
pytestmark = pytest.mark.filterwarnings("ignore::ftt.data.published.UnexpectedCountsWarning")
NAMES = list(registry.DATASETS.entries())


@pytest.fixture(scope="module", params=[pytest.param(n, marks=[pytest.mark.data] * (n in FETCHED)) for n in NAMES])
def source(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Dataset, Roots]:
    return small_dataset(request.param, tmp_path_factory.mktemp(request.param))


@pytest.fixture(scope="module")
def data(source: tuple[Dataset, Roots]) -> GroupedData:
    dataset, roots = source
    try:
        return dataset.load(roots)
    except FttError as error:
        if dataset.name not in FETCHED:
            raise
        pytest.skip(f"{dataset.name}: {error.problem}")


def test_every_data_set_is_covered() -> None:
    assert set(WRITERS) | FETCHED == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_data_set_says_what_it_is_where_it_is_from_and_whose_it_is(name: str) -> None:
    found = registry.DATASETS.get(name)
    assert (found.name, found.info.name) == (name, name)
    assert found.info.summary
    assert found.info.licence
    assert found.info.how_to_get
    assert all(part.metadata["help"] for part in found.params())


def test_it_has_its_splits_and_only_test_shows_clean_labels(source: tuple[Dataset, Roots], data: GroupedData) -> None:
    dataset, _ = source
    sizes = tuple(int((data.split == part).sum()) for part in SPLITS)
    assert min(sizes) > 0
    assert sizes == SIZES.get(dataset.name, sizes)
    assert isinstance(data["train"], Fittable)
    assert isinstance(data["val"], Fittable)
    assert isinstance(data["test"], HeldOut)
    assert not hasattr(data["train"], "y_clean")


def test_its_inputs_are_of_the_promised_kind_and_can_be_read(source: tuple[Dataset, Roots], data: GroupedData) -> None:
    assert data.inputs.kind == source[0].kind
    dimensions = {"images": 4, "features": 2, "texts": 1}
    assert data.inputs.read(np.array([0, len(data) - 1])).ndim == dimensions[data.inputs.kind]


def test_no_row_is_in_two_splits(data: GroupedData) -> None:
    assert data.ids is not None
    assert len(np.unique(data.ids)) == len(data)


def test_loading_it_again_gives_the_same_rows(source: tuple[Dataset, Roots], data: GroupedData) -> None:
    dataset, roots = source
    again = dataset.load(roots)
    for name in ("y", "a", "split", "ids", "y_clean"):
        np.testing.assert_array_equal(getattr(again, name), getattr(data, name), err_msg=name)
    assert again.inputs.fingerprint() == data.inputs.fingerprint()


def test_its_description_builds_it_again(source: tuple[Dataset, Roots]) -> None:
    dataset, _ = source
    assert registry.DATASETS.build(json.loads(json.dumps(dataset.describe()))) == dataset


@pytest.mark.usefixtures("data")
def test_its_fingerprint_is_json_and_stays_the_same(source: tuple[Dataset, Roots]) -> None:
    """Also after it was read: decoding and caching leave no trace in it."""
    dataset, roots = source
    first = canonical(dataset.fingerprint(roots))
    assert json.loads(first)["name"] == dataset.name
    copy = registry.DATASETS.build(dataset.describe())
    assert canonical(copy.fingerprint(roots)) == first
    assert canonical(dataset.replace(seed=1).fingerprint(roots)) != first


@pytest.mark.usefixtures("data")
def test_core_noise_flips_labels_of_train_and_val_and_never_of_test(source: tuple[Dataset, Roots]) -> None:
    dataset, roots = source
    if "core_noise" not in {part.name for part in dataset.params()}:
        pytest.skip(f"{dataset.name} has no core noise to add")
    noisy = dataset.replace(core_noise=0.25).load(roots)
    assert noisy.y_clean is not None
    flipped = noisy.flipped["core"]
    np.testing.assert_array_equal(flipped, noisy.y != noisy.y_clean)
    share = {part: float(flipped[noisy.split == part].mean()) for part in SPLITS}
    assert share == pytest.approx({"train": 0.25, "val": 0.25, "test": 0.0}, abs=0.08)


@pytest.mark.parametrize("name", sorted(set(NAMES) - FETCHED - {"digits", "reviews"}))
def test_without_its_files_it_is_refused_with_a_way_out(name: str, tmp_path: Path) -> None:
    found = registry.DATASETS.get(name)
    options = {"path": str(tmp_path / "nowhere")} if "path" in {part.name for part in found.params()} else {}
    with pytest.raises(FttError) as told:
        found.from_options(options).load(Roots(tmp_path / "cache", tmp_path / "placed"))
    assert told.value.allowed or told.value.hint
