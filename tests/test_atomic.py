"""A file appears whole or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest

from ftt.atomic import replacing


def test_file_appears_when_the_block_ends_and_not_before(tmp_path: Path) -> None:
    target = tmp_path / "new" / "a.txt"
    with replacing(target) as scratch:
        scratch.write_text("half")
        assert not target.exists()
        scratch.write_text("whole")
    assert target.read_text() == "whole"
    assert [path.name for path in target.parent.iterdir()] == ["a.txt"]


def test_interrupted_block_leaves_the_old_file_and_no_fragment(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")

    def write() -> None:
        with replacing(target) as scratch:
            scratch.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
