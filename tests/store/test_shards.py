"""Large tables in shards: made once each, shared by processes, made again where damaged, read by rows."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.heard import Heard

from ftt.arrays import Float32Array
from ftt.caching import Artifact
from ftt.progress import shown_on
from ftt.rows import BLOCK, InMemory, Mapped, SideBySide
from ftt.store import ArtifactStore
from ftt.store.artifacts import SHARD, ShardedTable, write

N = BLOCK + SHARD + 5
COUNT = -(-N // SHARD)
"""Shards of N rows."""
KEY = "ab" * 32


def values(start: int, stop: int) -> Float32Array:
    """Rows that tell where they come from."""
    rows: Float32Array = np.arange(start, stop, dtype=np.float32)[:, None] * np.array([1, -1, 0.5], dtype=np.float32)
    return rows


@pytest.fixture
def heard() -> Iterator[Heard]:
    display = Heard()
    with shown_on(display):
        yield display


def test_a_large_table_is_made_in_shards_once_and_read_by_rows(tmp_path: Path) -> None:
    asked = []

    def make(start: int, stop: int) -> Float32Array:
        asked.append((start, stop))
        return values(start, stop)

    store = ArtifactStore(tmp_path)
    table = store.keep_rows("features", KEY, N, make)
    assert asked == [(start, min(start + SHARD, N)) for start in range(0, N, SHARD)]
    assert store.made == {"features": COUNT}
    rows = np.array([N - 1, 0, SHARD, SHARD - 1, 0])
    for found in (table, ArtifactStore(tmp_path).keep_rows("features", KEY, N, lambda *_: pytest.fail("made again"))):
        assert found.shape == (N, 3)
        np.testing.assert_array_equal(found.read(rows), values(0, N)[rows])
        np.testing.assert_array_equal(np.concatenate(list(found.blocks(3000))), values(0, N))
        np.testing.assert_array_equal(found.array(), values(0, N))


def test_a_small_table_is_one_file_as_before(tmp_path: Path) -> None:
    store = ArtifactStore(tmp_path)
    store.keep_rows("features", KEY, 10, values)
    assert [path.name for path in tmp_path.rglob("*.safetensors")] == [f"{KEY}.safetensors"]
    np.testing.assert_array_equal(
        store.keep("features", KEY, lambda: pytest.fail("made again")).arrays["phi"], values(0, 10)
    )


def test_a_large_table_that_was_kept_in_one_file_is_read_from_it(tmp_path: Path) -> None:
    store = ArtifactStore(tmp_path)
    write(store.path("features", KEY), Artifact({"phi": values(0, N)}))
    table = store.keep_rows("features", KEY, N, lambda *_: pytest.fail("made again"))
    np.testing.assert_array_equal(table.read(np.array([N - 1, 3])), values(0, N)[[N - 1, 3]])


@pytest.mark.parametrize("damage", ["flip", "cut", "header"])
def test_a_damaged_shard_is_reported_and_made_again_alone(damage: str, tmp_path: Path, heard: Heard) -> None:
    store = ArtifactStore(tmp_path)
    store.keep_rows("features", KEY, N, values)
    path = ShardedTable(store, "features", KEY, N, values).path(2)
    content = bytearray(path.read_bytes())
    if damage == "flip":
        content[-5] ^= 1
    path.write_bytes(content[:-7] if damage == "cut" else content[:4] + b"\xff" * 9 if damage == "header" else content)
    again = ArtifactStore(tmp_path)
    np.testing.assert_array_equal(again.keep_rows("features", KEY, N, values).array(), values(0, N))
    assert again.made == {"features": 1}
    assert any("damaged" in line for line in heard.said)


KEEP = f"""
import sys
from pathlib import Path
import numpy as np
from ftt.store.artifacts import ArtifactStore

def values(start, stop):
    return np.zeros((stop - start, 3), dtype=np.float32)

ArtifactStore(Path(sys.argv[1])).keep_rows("features", {KEY!r}, {N}, values)
"""


@pytest.mark.slow
def test_processes_that_need_the_same_table_share_the_work(tmp_path: Path) -> None:
    others = [subprocess.Popen([sys.executable, "-c", KEEP, tmp_path]) for _ in range(3)]
    assert [other.wait() for other in others] == [0, 0, 0]
    made = [record["key"] for record in ArtifactStore(tmp_path).log()]
    assert sorted(made) == [f"{KEY}/{number}" for number in range(COUNT)]


def test_functions_of_tables_and_tables_side_by_side_are_read_by_rows() -> None:
    base = InMemory(values(0, 20))
    joined = SideBySide([base, Mapped(base, lambda part: part[:, :1] * 2, 1)])
    expected = np.concatenate([values(0, 20), values(0, 20)[:, :1] * 2], axis=1)
    assert joined.shape == (20, 4)
    np.testing.assert_array_equal(joined.read(np.array([7, 7, 1])), expected[[7, 7, 1]])
    np.testing.assert_array_equal(np.concatenate(list(joined.blocks(6))), expected)
    np.testing.assert_array_equal(np.asarray(joined), expected)
