"""Sweep files that are damaged, hostile or not files at all: each is refused in words, none is built in part."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.bad_inputs.unchanged import content_of
from tests.cli.shell import Shell

Write = Callable[[Path], object]
BASE = '[base]\ndataset = "digits"\nbackbone = "identity"\n'


def text(content: str) -> Write:
    return lambda path: path.write_text(content)


def grid(*axes: tuple[str, int]) -> Write:
    return text(BASE + "[grid]\n" + "".join(f"{name} = {list(range(count))}\n" for name, count in axes))


HUGE = grid(("seed", 1000), ("data.seed", 1000), ("probe.seed", 1000))

SWEEPS: dict[str, tuple[Write, tuple[str, ...]]] = {
    "10**9 runs": (HUGE, ("the sweep is too large", "1,000,000,000 runs", "at most 100,000")),
    "10**5 runs and one": (
        text(BASE + f"[grid]\nseed = {list(range(100_001))}\n"),
        ("the sweep is too large", "100,001 runs"),
    ),
    "empty axis": (text(BASE + "[grid]\np = []\n"), ("p of a grid must be a list of values",)),
    "axis that is a number": (text(BASE + "[grid]\np = 0.5\n"), ("p of a grid must be a list of values",)),
    "axis of tables": (text(BASE + "[grid]\np = [{a = 1}]\n"), ("invalid p",)),
    "axis of lists": (text(BASE + "[grid]\nepochs = [[1], [2]]\n"), ("invalid epochs",)),
    "base that is a list": (text('base = ["digits"]\n'), ("base of a sweep must be a table",)),
    "grid that is text": (text('grid = "p"\n'), ("grid of a sweep must be a table",)),
    "runs that are a table": (text(BASE + "[runs]\np = 1\n"), ("runs of a sweep must be a list of tables",)),
    "runs that are numbers": (text("runs = [1, 2]\n"), ("runs of a sweep must be a list of tables",)),
    "unknown section": (text(BASE + "[grids]\np = [1]\n"), ("no section of a sweep called 'grids'", "'grid'")),
    "fields outside base": (text('dataset = "digits"\n'), ("fields of all runs go into [base]",)),
    "no data set": (text("[base]\np = 0.5\n"), ("a run needs a data set",)),
    "nothing": (text(""), ("a run needs a data set",)),
    "data set that is a number": (text("[base]\ndataset = 5\n"), ("dataset must be a name", "5")),
    "data set that is a list": (text("[base]\ndataset = ['digits']\n"), ("dataset must be a name",)),
    "recipe that is a number": (text(BASE + "recipe = 1\n"), ("a recipe must be a name",)),
    "p that is text": (text(BASE + 'p = "0.5"\n'), ("invalid p", "'0.5'")),
    "p that is true": (text(BASE + "p = true\n"), ("invalid p", "True")),
    "p that is a date": (text(BASE + "p = 2020-01-01\n"), ("invalid p",)),
    "p that is nan": (text(BASE + "p = nan\n"), ("invalid p", "nan")),
    "p that is inf": (text(BASE + "p = inf\n"), ("invalid p", "inf")),
    "epochs that are a float": (text(BASE + "epochs = 2.0\n"), ("invalid epochs", "2.0")),
    "epochs that are 10**30": (text(BASE + f"epochs = {10**30}\n"), ("invalid epochs",)),
    "integer of 400 digits": (text(BASE + "epochs = " + "9" * 400 + "\n"), ("invalid epochs", "characters")),
    "integer of 5,000 digits": (text(BASE + "epochs = " + "9" * 5000 + "\n"), ("not valid TOML",)),
    "seed of 2**63": (text(BASE + f"seed = {2**63}\n"), ("seed must be a non-negative integer",)),
    "seed of -1": (text(BASE + "seed = -1\n"), ("seed must be a non-negative integer",)),
    "seed that is true": (text(BASE + "seed = true\n"), ("seed must be a non-negative integer",)),
    "unknown field": (text(BASE + "epoch = 2\n"), ("no parameter called 'epoch'", "did you mean 'epochs'?")),
    "unknown nested field": (text(BASE + "train.epoch = 2\n"), ("did you mean 'train.epochs'?",)),
    "deeply dotted field": (text(BASE + ".".join("a" * 3000) + " = 1\n"), ("nested too deeply",)),
    "field given twice": (text(BASE + "epochs = 1\ntrain.epochs = 2\n"), ("epochs is given twice",)),
    "p given twice": (text(BASE + "p = 0.25\nfreeze.p = 0.5\n"), ("p is given twice",)),
    "p given by three names": (text(BASE + "p = 0.25\nfreeze_p = 0.5\n"), ("p is given twice",)),
    "key twice": (text(BASE + "p = 0.25\np = 0.25\n"), ("not valid TOML",)),
    "lists nested 10,000 deep": (text(BASE + "p = " + "[" * 10_000), ("nested",)),
    "tables nested 10,000 deep": (text(BASE + "p = " + "{a=" * 10_000), ("nested",)),
    "broken TOML": (text("[base\n"), ("not valid TOML", "line 1")),
    "not UTF-8": (lambda path: path.write_bytes(b"\xff\xfe[base]"), ("cannot be read",)),
    "binary": (lambda path: path.write_bytes(bytes(range(256)) * 100), ("cannot be read",)),
    "NUL": (lambda path: path.write_bytes(b"name = '\0'"), ("not valid TOML",)),
    "hundred megabytes": (lambda path: path.open("w").truncate(100_000_000), ("cannot be read", "the limit is")),
    "folder": (lambda path: path.mkdir(), ("cannot be read",)),
    "named pipe": (lambda path: os.mkfifo(path), ("named pipe",)),
    "endless device": (lambda path: path.symlink_to("/dev/zero"), ("a device",)),
    "link to itself": (lambda path: path.symlink_to(path), ("cannot be read",)),
    "name that is a table": (text(BASE + "[name]\na = 1\n"), ("name of a sweep must be text",)),
}


@pytest.mark.parametrize("command", ["sweep", "status"])
@pytest.mark.parametrize("case", SWEEPS)
def test_bad_sweep_file_is_refused_in_words(case: str, command: str, shell: Shell, store: Path) -> None:
    write, expected = SWEEPS[case]
    write(shell.folder / "s.toml")
    before = content_of(store)
    answer = shell.refused(command, "s.toml")
    for words in expected:
        assert words in answer
    assert len(answer) < 3000
    assert content_of(store) == before


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", "\udcff.toml", "~nobody-of-that-name/s.toml", "/dev/full/x"])
def test_bad_name_of_a_sweep_file_is_refused_in_words(name: str, shell: Shell) -> None:
    assert "path" in shell.refused("sweep", name) or "cannot be read" in shell.refused("sweep", name)
