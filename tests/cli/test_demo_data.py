"""What the demo runs on when its files are missing, and when they are not what they should be."""

from __future__ import annotations

from pathlib import Path

import pytest

from ftt.cli.demo import _available
from ftt.data import Roots
from ftt.data.cifar_mnist import CIFAR10
from ftt.data.fetch import Collection, UnreachableError
from ftt.errors import FttError


def test_without_files_and_sources_it_runs_on_digits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def nothing(self: Collection, roots: Roots, *, offline: bool = False) -> dict[str, Path]:
        raise UnreachableError("no source could be reached")

    monkeypatch.setattr(Collection, "obtain", nothing)
    assert _available(Roots(tmp_path, None)) == "digits"


def test_a_tampered_archive_stops_it(tmp_path: Path) -> None:
    name = CIFAR10.bundles[0].files[0].name
    (tmp_path / "cifar10").mkdir()
    (tmp_path / "cifar10" / name).write_bytes(b"not the archive")
    with pytest.raises(FttError, match="tampered"):
        _available(Roots(tmp_path, None))
