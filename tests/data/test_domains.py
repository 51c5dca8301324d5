"""PACS, Office-Home, VLCS: every published layout is read, splits are stratified, a run has one key a domain."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.data.layouts import write_domains

from ftt.data import GroupedData, Roots
from ftt.data.domains import PACS, VLCS, Domains, OfficeHome, share_of
from ftt.data.overview import noises
from ftt.data.published import UnexpectedCountsWarning
from ftt.errors import FttError
from ftt.metrics import report_groups
from ftt.probe import DFRProbe

SMALLER = 20
KINDS = (PACS, OfficeHome, VLCS)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("placed")
    for kind in KINDS:
        write_domains(folder / kind.folders[0], kind)
    return folder


def read(root: Path, chosen: Domains) -> GroupedData:
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnexpectedCountsWarning)
        return chosen.load(Roots(root / "cache", root))


@pytest.mark.parametrize("kind", KINDS)
def test_the_published_counts_are_found_in_every_domain(kind: type[Domains], root: Path) -> None:
    data = read(root, kind(hold_out=0.0))
    totals = sum(data.counts(part).sum(axis=0) for part in ("train", "val", "test"))
    assert np.asarray(totals).tolist() == [domain.images for domain in kind.domains]


def test_the_published_counts_are_these() -> None:
    assert [d.images for d in PACS.domains] == [2048, 2344, 1670, 3929]
    assert [d.images for d in OfficeHome.domains] == [2427, 4365, 4439, 4357]
    assert [d.images for d in VLCS.domains] == [1415, 2656, 3282, 3376]
    assert [len(kind.info.classes) for kind in KINDS] == [7, 65, 5]


@pytest.mark.parametrize("kind", KINDS)
def test_the_held_out_domain_is_halved_and_a_fifth_of_the_others_is_left_out(kind: type[Domains], root: Path) -> None:
    for code, domain in enumerate(kind.domains):
        data = read(root, kind(held_out=domain.name))
        train, val, test = (data.counts(part) for part in ("train", "val", "test"))
        others = [n for n in range(4) if n != code]
        assert train[:, code].sum() == 0
        assert val[:, others].sum() == test[:, others].sum() == 0
        assert abs(val.sum() - test.sum()) <= 1
        assert np.abs(val - test).max() <= 1
        assert [train[:, n].sum() for n in others] == [
            kind.domains[n].images - kind.domains[n].images // 5 for n in others
        ]


def test_what_is_held_out_does_not_change_how_another_domain_is_divided(root: Path) -> None:
    sketch, photo = (read(root, PACS(held_out=name)) for name in ("sketch", "photo"))
    for data in (sketch, photo):
        assert data.ids is not None
    cartoons = [{name for name in data["train"].ids if name.startswith("cartoon/")} for data in (sketch, photo)]
    assert cartoons[0] == cartoons[1]


def test_the_seed_moves_both_divisions(root: Path) -> None:
    first, again, other = (read(root, VLCS(seed=seed)) for seed in (0, 0, 1))
    assert first["val"].ids.tolist() == again["val"].ids.tolist()
    assert set(first["val"].ids) != set(other["val"].ids)
    assert set(first["train"].ids) != set(other["train"].ids)


@pytest.mark.parametrize(
    ("kind", "word", "name"),
    [
        (PACS, "art", "art_painting"),
        (PACS, "", "sketch"),
        (OfficeHome, "RealWorld", "Real World"),
        (OfficeHome, "real", "Real World"),
        (OfficeHome, "real-world", "Real World"),
        (VLCS, "pascal", "VOC2007"),
        (VLCS, "caltech", "Caltech101"),
    ],
)
def test_every_spelling_of_a_domain_is_the_same_data_set(kind: type[Domains], word: str, name: str) -> None:
    assert kind(held_out=word) == kind(held_out=name)
    assert kind(held_out=word).identity()["held_out"] == name


def test_an_unknown_domain_is_refused_with_those_there_are() -> None:
    with pytest.raises(FttError, match="did you mean 'sketch'"):
        PACS(held_out="scetch")


@pytest.mark.filterwarnings("ignore::ftt.data.published.UnexpectedCountsWarning")
@pytest.mark.parametrize("folder", OfficeHome.folders)
@pytest.mark.parametrize("real", ["Real World", "RealWorld", "real_world", "Real"])
def test_office_home_is_found_under_its_names(folder: str, real: str, tmp_path: Path) -> None:
    write_domains(tmp_path / folder, OfficeHome, folders={"Real World": real}, divide=SMALLER)
    data = OfficeHome(hold_out=0.0).load(Roots(tmp_path / "cache", tmp_path))
    assert data.counts("val").sum() + data.counts("test").sum() == 4357 // SMALLER


ORIGINAL = {"Caltech101": "CALTECH", "LabelMe": "LABELME", "SUN09": "SUN", "VOC2007": "PASCAL"}


@pytest.mark.filterwarnings("ignore::ftt.data.published.UnexpectedCountsWarning")
@pytest.mark.parametrize("parts", [("full", "test"), ("train", "crossval", "test"), ("train", "test")])
def test_vlcs_is_read_in_its_original_layout(parts: tuple[str, ...], tmp_path: Path) -> None:
    write_domains(tmp_path / "VLCS", VLCS, folders=ORIGINAL, parts=parts, numbered=True, divide=SMALLER)
    data = VLCS(hold_out=0.0).load(Roots(tmp_path / "cache", tmp_path))
    totals = np.asarray(sum(data.counts(part) for part in ("train", "val", "test")))
    assert totals.sum(axis=0).tolist() == [domain.images // SMALLER for domain in VLCS.domains]
    assert (totals > 0).all()


@pytest.mark.filterwarnings("ignore::ftt.data.published.UnexpectedCountsWarning")
def test_what_vlcs_holds_twice_is_counted_once(tmp_path: Path) -> None:
    write_domains(tmp_path / "VLCS", VLCS, folders=ORIGINAL, parts=("full", "test"), numbered=True, divide=SMALLER)
    for domain in ORIGINAL.values():
        for child in (tmp_path / "VLCS" / domain / "full").iterdir():
            for number, image in enumerate(sorted(child.iterdir())):
                copy = tmp_path / "VLCS" / domain / ("crossval" if number % 4 == 0 else "train") / child.name
                copy.mkdir(parents=True, exist_ok=True)
                os.link(image, copy / image.name)
    data = VLCS(hold_out=0.0).load(Roots(tmp_path / "cache", tmp_path))
    assert len(data) == sum(domain.images // SMALLER for domain in VLCS.domains)


@pytest.mark.filterwarnings("ignore::ftt.data.published.UnexpectedCountsWarning")
def test_files_that_are_no_images_and_hidden_folders_are_passed_over(tmp_path: Path) -> None:
    write_domains(tmp_path / "pacs", PACS, divide=SMALLER)
    (tmp_path / "pacs" / "photo" / "dog" / "Thumbs.db").write_bytes(b"x")
    (tmp_path / "pacs" / "photo" / "dog" / "._pic.jpg").write_bytes(b"x")
    (tmp_path / "pacs" / "photo" / ".cache").mkdir()
    data = PACS(hold_out=0.0).load(Roots(tmp_path / "cache", tmp_path))
    assert len(data) == sum(domain.images // SMALLER for domain in PACS.domains)


@pytest.mark.filterwarnings("ignore::ftt.data.published.UnexpectedCountsWarning")
def test_a_missing_domain_and_an_unknown_class_are_named(tmp_path: Path) -> None:
    roots = Roots(tmp_path / "cache", tmp_path)
    write_domains(tmp_path / "pacs", PACS, divide=SMALLER)
    (tmp_path / "pacs" / "photo" / "cat").mkdir()
    with pytest.raises(FttError, match="cat"):
        PACS().load(roots)
    (tmp_path / "pacs" / "photo").rename(tmp_path / "elsewhere")
    with pytest.raises(FttError, match="the domain 'photo' of 'pacs' is missing"):
        PACS().load(roots)


def test_other_counts_are_a_warning_that_names_the_domain(tmp_path: Path) -> None:
    write_domains(tmp_path / "pacs", PACS, divide=SMALLER)
    with pytest.warns(UnexpectedCountsWarning, match="cartoon"):
        PACS().load(Roots(tmp_path / "cache", tmp_path))


@given(st.lists(st.integers(0, 4), min_size=1, max_size=200), st.floats(0, 1), st.integers(0, 9))
def test_a_share_is_exact_to_one_row_in_all_and_in_every_class(labels: list[int], share: float, seed: int) -> None:
    y = np.array(labels)
    mask = share_of(y, share, np.random.default_rng(seed))
    assert abs(mask.sum() - share * len(y)) <= 1
    for label in np.unique(y):
        assert abs(mask[y == label].sum() - share * (y == label).sum()) <= 1 + 1e-9


@pytest.mark.parametrize("kind", KINDS)
def test_domains_have_no_spurious_noise_to_speak_of(kind: type[Domains], root: Path) -> None:
    assert noises(read(root, kind()), "train")["spurious"] is None


def test_one_domain_is_one_group_for_probing_and_reporting(root: Path) -> None:
    data = read(root, PACS(held_out="photo"))
    val, test = data["val"], data["test"]
    rng = np.random.default_rng(0)
    planted = 3 * np.eye(7)
    probe = DFRProbe(averages=2, repeats=1).fit(
        planted[val.y] + rng.standard_normal((len(val), 7)), val.y, attribute=val.a
    )
    predicted = probe.predict(planted[test.y_clean] + rng.standard_normal((len(test), 7)))
    report = report_groups(predicted, test.y_clean, test.a, data.info)
    assert report.worst == ("photo", report.overall)
    assert report.overall.value > 0.8
    json.dumps(report.to_json(), allow_nan=False)


REAL = Path(os.environ.get("FTT_DATA") or "absent") / "PACS"
needs_pacs = pytest.mark.skipif(not REAL.is_dir(), reason="PACS is not in FTT_DATA")


@pytest.mark.data
@needs_pacs
def test_the_real_pacs_has_its_published_counts(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnexpectedCountsWarning)
        data = PACS(hold_out=0.0).load(Roots(tmp_path, REAL.parent))
    totals = np.asarray(sum(data.counts(part) for part in ("train", "val", "test")))
    assert totals.sum(axis=0).tolist() == [2048, 2344, 1670, 3929]
    assert (totals > 0).all()


@pytest.mark.data
@pytest.mark.slow
@needs_pacs
def test_ftt_goes_the_whole_way_on_the_real_pacs(tmp_path: Path) -> None:
    small = ["--held-out", "sketch", "--hold-out", "0.9", "--size", "32", "--steps", "2", "--threads", "1", "--json"]
    where = [f"--home={tmp_path / 'home'}", f"--cache={tmp_path / 'cache'}", f"--data={REAL.parent}"]
    command = [sys.executable, "-m", "ftt", "run", "pacs", "--recipe", "ftt", *small, *where]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert result["worst_group"] == "sketch"
    assert result["average_accuracy"] > 1 / 7
