"""Clean labels are behind glass: what is fitted cannot reach them, and nothing is fitted on test."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import ftt
from ftt.data import ArrayInputs, DatasetInfo, Fittable, GroupedData, HeldOut
from ftt.data.grouped import require_fittable
from ftt.errors import FttError
from ftt.spec import Training

INFO = DatasetInfo("toy", ("no", "yes"), ("left", "right"), "four rows")


def toy(**changes: Any) -> GroupedData:
    values: dict[str, Any] = {
        "inputs": ArrayInputs(np.arange(10, dtype=np.float32)[:, None], "features"),
        "y": np.array([0, 1] * 5),
        "a": np.array([0, 0, 1, 1, 0, 0, 1, 1, 0, 1]),
        "split": np.array(["train"] * 4 + ["val"] * 4 + ["test"] * 2),
        "info": INFO,
        "y_clean": np.array([0, 1, 1, 1, 0, 1, 0, 0, 1, 1]),
    }
    return GroupedData(**{**values, **changes})


class Glass(np.ndarray[Any, np.dtype[np.int64]]):
    """Clean labels that may be read row by row in the test split and in no other way."""

    may_be_read: npt.NDArray[np.bool_]

    def __getitem__(self, rows: Any) -> Any:
        if not np.asarray(self.may_be_read)[rows].all():
            raise AssertionError("a clean label of train or val was read")
        return np.asarray(self)[rows]

    def __array_ufunc__(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("all clean labels were read at once")

    def __array_function__(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("all clean labels were read at once")


def behind_glass(data: GroupedData) -> GroupedData:
    assert data.y_clean is not None
    glass = data.y_clean.view(Glass)
    glass.may_be_read = data.split == "test"
    object.__setattr__(data, "y_clean", glass)
    return data


def pipeline(data: GroupedData) -> tuple[npt.NDArray[Any], str]:
    """Fit, probe and report; the probe's weights and the report."""
    recipe = ftt.Recipe(freeze=ftt.PCA(p=0.25), method=ftt.ERM())
    model = ftt.fit(data, recipe, backbone="identity", training=Training(epochs=1))
    val = data["val"]
    probe = ftt.DFRProbe(grid="paper", averages=2).fit(model.transform(val), val.y, attribute=val.a)
    return probe.coef_, str(ftt.group_report(probe, model, data["test"]))


def test_glass_itself_breaks_when_touched() -> None:
    data = behind_glass(toy())
    assert data.y_clean is not None
    assert data.y_clean[np.array([8, 9])].tolist() == [1, 1]
    with pytest.raises(AssertionError):
        data.y_clean[np.array([0, 9])]
    with pytest.raises(AssertionError):
        np.mean(data.y_clean)


def test_fit_probe_and_report_never_read_a_clean_label_of_train_or_val() -> None:
    pipeline(behind_glass(ftt.load("digits", core_noise=0.2)))


def test_numbers_do_not_depend_on_clean_labels_of_train_and_val_or_observed_labels_of_test() -> None:
    plain, scrambled = ftt.load("digits", core_noise=0.2), ftt.load("digits", core_noise=0.2)
    held_out = scrambled.split == "test"
    assert scrambled.y_clean is not None
    scrambled.y_clean[~held_out] = 0
    scrambled.y[held_out] = 1 - scrambled.y[held_out]
    (one, first), (other, second) = pipeline(plain), pipeline(scrambled)
    np.testing.assert_array_equal(one, other)
    assert first == second


def test_train_and_val_carry_observed_labels_only_and_test_clean_labels_only() -> None:
    data = toy()
    for name in ("train", "val"):
        part = data[name]
        assert isinstance(part, Fittable)
        assert not isinstance(part, HeldOut)
        assert not hasattr(part, "y_clean")
    assert data["val"].y.tolist() == [0, 1, 0, 1]
    test = data["test"]
    assert isinstance(test, HeldOut)
    assert not isinstance(test, Fittable)
    assert not hasattr(test, "y")
    assert test.y_clean.tolist() == [1, 1]
    assert test.clean_known


def test_without_clean_labels_the_observed_ones_of_test_are_used_and_marked() -> None:
    test = toy(y_clean=None)["test"]
    assert test.y_clean.tolist() == [0, 1]
    assert not test.clean_known


def test_clean_labels_do_not_show_in_the_printed_form() -> None:
    assert "y_clean" not in repr(toy())


def test_fitting_on_test_is_refused_with_what_to_pass_instead() -> None:
    data = toy()
    assert require_fittable(data["val"], "probing") is not None
    with pytest.raises(FttError, match="probing may not see the split 'test'") as caught:
        require_fittable(data["test"], "probing")
    assert "data['train']" in str(caught.value.hint)


def test_reporting_on_train_is_refused() -> None:
    data = ftt.load("digits")
    model = ftt.fit(data, ftt.Recipe(), backbone="identity")
    probe = ftt.DFRProbe(grid=[0.1], averages=1).fit(model.transform(data["val"]), data["val"].y)
    with pytest.raises(FttError, match="held-out"):
        ftt.group_report(probe, model, data["val"])  # type: ignore[arg-type]


def test_splits_hold_their_own_rows() -> None:
    data = toy()
    assert data["val"].inputs.read(np.arange(4))[:, 0].tolist() == [4, 5, 6, 7]
    assert data["val"].ids.tolist() == ["4", "5", "6", "7"]
    assert data["test"].a.tolist() == [0, 1]


def test_counts_are_by_observed_label_and_attribute() -> None:
    assert toy().counts("train").tolist() == [[1, 1], [1, 1]]
    assert toy(y=np.array([0, 1, 1, 1] + [0, 1] * 3)).counts("train").tolist() == [[1, 0], [1, 2]]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"y": np.array([0, 1])}, "y and the inputs differ in length"),
        ({"y_clean": np.array([0, 1])}, "y_clean and the inputs differ in length"),
        ({"flipped": {"core": np.zeros(3, dtype=bool)}}, "core and the inputs differ in length"),
        ({"y": np.array([0, 2] * 5)}, "y contains codes without a name"),
        ({"y_clean": np.array([0, -1] * 5)}, "y_clean contains codes without a name"),
        ({"a": np.array([0, 3] * 5)}, "attribute contains codes without a name"),
        ({"split": np.array(["train"] * 9 + ["tests"])}, "did you mean 'test'"),
        ({"y": np.array([1] * 4 + [0] * 6)}, "one class only"),
        ({"split": np.array(["val"] * 10)}, "one class only"),
    ],
)
def test_data_that_does_not_fit_together_is_refused(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(FttError, match=words):
        toy(**changes)


def test_missing_split_is_named_when_it_is_asked_for() -> None:
    data = toy(split=np.array(["train"] * 8 + ["test"] * 2))
    with pytest.raises(FttError, match="has no val rows"):
        data["val"]
    with pytest.raises(FttError, match="did you mean 'val'"):
        data["vali"]  # type: ignore[call-overload]
