"""Libraries are made where there is a compiler, and used where they fit what they were made of."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ftt import compiled
from ftt.compiled import making

COMPILES = shutil.which("cc") is not None


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the sources."""
    for path in making.HERE.glob("*.[ch]"):
        shutil.copy(path, tmp_path)
    return tmp_path


def loaded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the libraries of a folder are used."""
    monkeypatch.setattr(compiled, "HERE", folder)
    return compiled.library.__wrapped__("float32") is not None


@pytest.mark.skipif(not COMPILES, reason="no C compiler")
@pytest.mark.slow
def test_libraries_are_made_and_used_until_their_sources_change(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not loaded(folder, monkeypatch)
    making.make(folder)
    assert {path.name for path in folder.glob("*.so")} == {"float32.so", "float64.so"}
    assert loaded(folder, monkeypatch)
    monkeypatch.setattr(compiled, "version_of", lambda: making.version_of(folder) + 1)
    assert not loaded(folder, monkeypatch)


@pytest.mark.parametrize("compiler", ["no-such-compiler", "false"])
def test_without_a_compiler_there_are_none(compiler: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", compiler)
    (folder / "float32.so").write_bytes(b"an old one")
    with pytest.raises(making.CannotCompileError, match=compiler):
        making.make(folder)
    assert not list(folder.glob("*.so"))


def test_a_library_of_another_kind_of_machine_is_not_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "float32.so").write_bytes(b"not a library")
    assert not loaded(folder, monkeypatch)


def test_where_all_machines_are_to_compute_alike_none_is_used() -> None:
    code = "from ftt import compiled, threads; threads.pin_kernels(); print(compiled.library('float32'))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "None\n"


def test_this_checkout_is_up_to_date() -> None:
    """`make` installs it anew when a source has changed; by hand it is `python -m ftt.compiled.making`."""
    if not COMPILES:
        pytest.skip("no C compiler")
    assert compiled.library("float32") is not None
    assert compiled.library("float64") is not None
