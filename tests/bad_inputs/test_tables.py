"""Tables that are damaged, hostile or not tables at all: each case is refused in words, none hangs."""

from __future__ import annotations

import io
import os
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.bad_inputs.odd_files import bind_socket

import ftt
from ftt.errors import FttError

N = 24
GOOD: dict[str, Any] = {
    "features": np.random.default_rng(0).standard_normal((N, 3)).astype(np.float32),
    "y": np.resize(["cat", "dog"], N),
    "attribute": np.resize(["day", "day", "night", "night"], N),
    "split": np.repeat(["train", "val", "test"], N // 3),
}
Write = Callable[[Path], None]


def header(shape: object, descr: object = "<f4", version: tuple[int, int] = (1, 0)) -> bytes:
    text = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode() + b"\n"
    length = struct.pack("<H" if version == (1, 0) else "<I", len(text))
    return b"\x93NUMPY" + bytes(version) + length + text


def npy(value: Any) -> bytes:
    sink = io.BytesIO()
    np.save(sink, value)
    return sink.getvalue()


def npz(members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> Write:
    """The good arrays, with these members in their place or beside them."""

    def write(path: Path) -> None:
        everything = {f"{name}.npy": npy(value) for name, value in GOOD.items()} | members
        with zipfile.ZipFile(path, "w", method) as archive:
            for name, content in everything.items():
                archive.writestr(name, content)

    return write


def arrays(**changes: Any) -> Write:
    return lambda path: np.savez(path, **{**GOOD, **changes})


def raw(content: bytes) -> Write:
    def write(path: Path) -> None:
        path.write_bytes(content)

    return write


def encrypted(path: Path) -> None:
    npz({})(path)
    content = bytearray(path.read_bytes())
    # The flag of the first member, in its own header and in the directory at the end.
    content[6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(content)


def twice(path: Path) -> None:
    npz({})(path)
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("y.npy", npy(GOOD["y"]))


def lying_size(path: Path) -> None:
    """A directory that claims a member of three gigabytes."""
    npz({})(path)
    content = bytearray(path.read_bytes())
    place = content.index(b"PK\x01\x02")
    content[place + 24 : place + 28] = struct.pack("<I", 3_000_000_000)
    path.write_bytes(content)


def bomb(path: Path) -> None:
    zeros = header((5_000_000,)) + bytes(20_000_000)
    npz({"features.npy": zeros}, zipfile.ZIP_DEFLATED)(path)


def folder(**changes: bytes) -> Write:
    def write(path: Path) -> None:
        path.mkdir()
        for name, value in GOOD.items():
            (path / f"{name}.npy").write_bytes(changes.get(name, npy(value)))

    return write


def pipe(path: Path) -> None:
    os.mkfifo(path)


def pipe_inside(path: Path) -> None:
    folder()(path)
    (path / "y.npy").unlink()
    os.mkfifo(path / "y.npy")


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def loop(path: Path) -> None:
    path.symlink_to(path)


def parquet(**changes: Any) -> Write:
    def write(path: Path) -> None:
        columns = {**GOOD, "features": GOOD["features"].tolist(), **changes}
        pyarrow.parquet.write_table(pa.table(columns), path)

    return write


def twice_in_parquet(path: Path) -> None:
    names = ["features", "y", "attribute", "split", "y"]
    columns = [GOOD["features"].tolist(), *(GOOD[name] for name in names[1:])]
    pyarrow.parquet.write_table(pa.Table.from_arrays([pa.array(c) for c in columns], names=names), path)


def long_constant(path: Path) -> None:
    schema = pa.schema([(f"c{n}", pa.int64()) for n in range(8)])
    block = pa.table({name: np.zeros(100_000, dtype=np.int64) for name in schema.names})
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        for _ in range(16):
            writer.write_table(block)


def cut(write: Write, keep: float) -> Write:
    def cut_off(path: Path) -> None:
        write(path)
        content = path.read_bytes()
        path.write_bytes(content[: int(keep * len(content))])

    return cut_off


big, huge = np.resize(np.array([0, 1], dtype=np.uint64), N), np.resize([0.0, 1.0], N)
big[7], huge[5] = 2**63, 2.0**53
blank, spaces = GOOD["y"].copy(), GOOD["attribute"].copy()
blank[4], spaces[9] = "", "  "

EMBEDDINGS: dict[str, tuple[str, Write, str]] = {
    "empty label": (".npz", arrays(y=blank), "'y' is empty"),
    "row of the empty label": (".npz", arrays(y=blank), "in row 4"),
    "label of spaces": (".npz", arrays(attribute=spaces), "row 9"),
    "empty label in Parquet": (".parquet", parquet(y=blank), "in row 4"),
    "label of 2**63": (".npz", arrays(y=big), "9223372036854775808 in row 7"),
    "label of 2**63 in Parquet": (".parquet", parquet(y=big), "row 7"),
    "float label of 2**53": (".npz", arrays(y=huge), "too large to be exact"),
    "row of the float label": (".npz", arrays(y=huge), "row 5"),
    "complex labels": (".npz", arrays(y=np.ones(N) * 1j), "not made of numbers or texts"),
    "labels of bytes": (".npz", arrays(y=GOOD["y"].astype("S3")), "not made of numbers or texts"),
    "structured labels": (".npz", arrays(y=np.zeros(N, dtype=[("a", "i4")])), "not made of numbers or texts"),
    "infinite labels": (".npz", arrays(y=np.full(N, np.inf)), "inf in row 0"),
    "scalar label": (".npz", arrays(y=np.int64(3)), "not one value per row"),
    "split that is a number": (".npz", arrays(split=np.full(N, 7)), "no split called '7'"),
    "empty split": (".npz", arrays(split=np.full(N, "")), "row 0"),
    "objects": (".npz", arrays(y=np.array([{}] * N, dtype=object)), "Python objects"),
    "header of terabytes": (".npz", npz({"features.npy": header((10**12, 3))}), "does not hold the array"),
    "header of terabytes in a folder": ("", folder(features=header((10**12, 3))), "does not hold the array"),
    "header of 400 digits": ("", folder(features=header((10**400,))), "does not hold the array"),
    "header of version 2": ("", folder(features=header((10**9,), version=(2, 0))), "does not hold the array"),
    "header of version 9": ("", folder(features=header((2,), version=(9, 9))), "cannot be read"),
    "negative shape": ("", folder(features=header((-1, 3))), "features.npy"),
    "shape that is text": ("", folder(features=header("x")), "cannot be read"),
    "nested header": ("", folder(features=b"\x93NUMPY\x01\x00\xff\xff" + b"(" * 65535), "cannot be read"),
    "header with NUL": ("", folder(features=header((2,)).replace(b"False", b"Fals\0")), "cannot be read"),
    "header without an end": ("", folder(features=header((2,)).replace(b"}", b" ")), "cannot be read"),
    "unknown type": ("", folder(features=header((2,), "<q9")), "cannot be read"),
    "type of objects": ("", folder(features=header((2,), "|O") + b"cos\nsystem\n"), "Python objects"),
    "array cut off": ("", folder(features=npy(GOOD["features"])[:-5]), "does not hold the array"),
    "array too long": ("", folder(features=npy(GOOD["features"]) + b"more"), "does not hold the array"),
    "array of no bytes": ("", folder(features=b""), "cannot be read"),
    "folder without arrays": ("", lambda path: path.mkdir(), "no column in"),
    "folder with a pipe": ("", pipe_inside, "named pipe"),
    "zip of nothing": (".npz", raw(b"PK\x05\x06" + bytes(18)), "features"),
    "zip of garbage": (".npz", raw(b"PK\x03\x04" + b"\xff" * 100), "cannot be read"),
    "zip cut off": (".npz", cut(npz({}), 0.7), "cannot be read"),
    "pickle called npz": (".npz", raw(b"\x80\x04cos\nsystem\n."), "cannot be read"),
    "encrypted member": (".npz", encrypted, "encrypted"),
    "unknown member": (".npz", npz({"evil.py": b"print(1)"}), "evil.py is not an array"),
    "member with a path": (".npz", npz({"../evil": b"x"}), "is not an array"),
    "member of lzma": (".npz", npz({}, zipfile.ZIP_LZMA), "unknown way"),
    "member twice": (".npz", twice, "two members"),
    "member that lies about its size": (".npz", lying_size, "unpack to 3,0"),
    "zip bomb": (".npz", bomb, "unpack to 20,0"),
    "npz that is a pipe": (".npz", pipe, "named pipe"),
    "npz that is a device": (".npz", device, "a device"),
    "npz that is a socket": (".npz", bind_socket, "a socket"),
    "npz that is a folder": (".npz", lambda path: path.mkdir(), "no column in"),
    "npz that is a loop": (".npz", loop, "leads back to itself"),
    "Parquet of text": (".parquet", raw(b"a,b\n1,2\n"), "cannot be read"),
    "Parquet of nothing": (".parquet", raw(b""), "cannot be read"),
    "Parquet of magic only": (".parquet", raw(b"PAR1" + bytes(20) + b"PAR1"), "cannot be read"),
    "Parquet cut off": (".parquet", cut(parquet(), 0.8), "cannot be read"),
    "Parquet that is a pipe": (".parquet", pipe, "named pipe"),
    "Parquet with a column twice": (".parquet", twice_in_parquet, "several columns called 'y'"),
    "Parquet of constants without end": (".parquet", long_constant, "larger in memory"),
    "Parquet of structs": (".parquet", parquet(features=[{"a": 1}] * N), "not a table of numbers"),
    "Parquet of nested lists": (".parquet", parquet(features=[[[1.0]]] * N), "not a table of numbers"),
    "unknown ending": (".xlsx", raw(b"PK"), "no kind of file"),
}


@pytest.mark.parametrize("case", EMBEDDINGS)
def test_bad_embeddings_are_refused_in_words(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # So that bombs need not be gigabytes.
    monkeypatch.setattr("ftt.data.npy.SMALL", 1_000_000)
    monkeypatch.setattr("ftt.data.columns.SMALL", 1_000_000)
    suffix, write, words = EMBEDDINGS[case]
    path = tmp_path / f"own{suffix}"
    write(path)
    with pytest.raises(FttError) as caught:
        ftt.load("embeddings", path=str(path))
    assert words in str(caught.value)


HEAD = "path,y,attribute,split\n"
BODY = "".join(f"{n}.png,{n % 2},{n // 2 % 2},{('train', 'val', 'test')[n // 4]}\n" for n in range(12))
LISTS: dict[str, tuple[Write, str]] = {
    "column twice": (raw((HEAD.replace("attribute", "y") + BODY).encode()), "several columns called 'y'"),
    "field of two megabytes": (raw((HEAD + "x" * 2_000_000 + ",0,0,train\n").encode()), "too long"),
    "quote that never closes": (raw((HEAD + '"' + BODY * 20_000).encode()), "million characters"),
    "rows of different length": (raw((HEAD + BODY + "only,two\n").encode()), "cannot be read"),
    "no rows": (raw(HEAD.encode()), "no rows"),
    "no bytes": (raw(b""), "cannot be read"),
    "names that are not UTF-8": (raw((HEAD + BODY).encode() + b"\xff\xfe.png,0,0,train\n"), "row 12"),
    "labels that are not UTF-8": (raw((HEAD + BODY).encode() + b"x.png,\xff,0,train\n"), "'y' is not UTF-8"),
    "UTF-16": (raw((HEAD + BODY).encode("utf-16")), "own.csv"),
    "empty label": (raw((HEAD + BODY.replace("5.png,1", "5.png,")).encode()), "row 5"),
    "empty text label": (raw((HEAD + BODY.replace(",1,", ",one,").replace("5.png,one", "5.png,")).encode()), "row 5"),
    "label of 2**63": (raw((HEAD + BODY.replace("5.png,1", f"5.png,{2**63}")).encode()), "row 5"),
    "label of 400 digits": (raw((HEAD + BODY.replace("5.png,1", "5.png," + "9" * 400)).encode()), "row 5"),
    "NUL in a name": (raw((HEAD + BODY.replace("5.png", "5\0.png")).encode()), "row 5"),
    "name of 3,000 characters": (raw((HEAD + BODY.replace("5.png", "x" * 3000 + ".png")).encode()), "too long"),
    "path of 9,000 characters": (raw((HEAD + BODY.replace("5.png", "x/" * 4500 + "a.png")).encode()), "too long"),
    "link that leads to itself": (raw((HEAD + BODY.replace("5.png", "loop.png")).encode()), "row 5"),
    "folder that leads to itself": (raw((HEAD + BODY.replace("5.png", "loop.png/a.png")).encode()), "row 5"),
    "absolute path": (raw((HEAD + BODY.replace("5.png", "/etc/passwd")).encode()), "leaves the folder"),
    "path upwards": (raw((HEAD + BODY.replace("5.png", "../../x.png")).encode()), "row 5"),
    "list that is a pipe": (pipe, "named pipe"),
    "list that is a device": (device, "a device"),
    "list that is a folder": (lambda path: path.mkdir(), "no column in"),
}


@pytest.mark.parametrize("case", LISTS)
def test_bad_list_is_refused_in_words(case: str, tmp_path: Path) -> None:
    write, words = LISTS[case]
    write(tmp_path / "own.csv")
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "loop.png").symlink_to(tmp_path / "images" / "loop.png")
    with pytest.raises(FttError) as caught:
        ftt.load("manifest", path=str(tmp_path / "own.csv"), image_root=str(tmp_path / "images"), size=16)
    assert words in str(caught.value)


@pytest.mark.parametrize("name", ["", "a\0b", "x" * 5000, "/proc/self/mem/x", "\udcff"])
@pytest.mark.parametrize("kind", ["embeddings", "manifest", "folder"])
def test_path_that_leads_nowhere_is_refused(
    kind: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FttError) as caught:
        ftt.load(kind, path=name)
    str(caught.value).encode()
