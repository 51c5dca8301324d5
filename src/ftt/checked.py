"""One file for arrays and notes that are read again: written whole or not at all, verified when read.

A safetensors file whose header holds the notes and a SHA-256 over names, types, shapes, values and notes.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from ftt.atomic import replacing
from ftt.params import Json, canonical
from ftt.progress import say
from ftt.rows import BLOCK, RowFile

_KINDS = {"F32": "<f4", "F64": "<f8"}

Arrays = dict[str, npt.NDArray[Any]]


def write(path: Path, arrays: Mapping[str, npt.NDArray[Any]], notes: Mapping[str, Json] | None = None) -> None:
    """Write arrays and notes, which plain JSON can hold, with their checksum."""
    # Unlike `ascontiguousarray` this leaves a single number a single number.
    plain = {name: np.asarray(value, order="C") for name, value in arrays.items()}
    written = canonical(dict(notes or {}))
    with replacing(path) as scratch:
        try:
            save_file(plain, scratch, metadata={"notes": written, "sha256": digest_of(plain, written)})
        except SafetensorError as error:
            # A full disk is an error of the system here as everywhere else.
            if (code := re.search(r"os error (\d+)", str(error))) is None:
                raise
            raise OSError(int(code[1]), os.strerror(int(code[1])), str(path)) from None


class DamagedError(ValueError):
    """A file of ours that does not hold what was written."""


def load(path: Path) -> tuple[Arrays, dict[str, Any]]:
    """Arrays and notes of a file that is there; `DamagedError` says why they cannot be trusted."""
    try:
        with safe_open(path, framework="np") as stored:
            header = stored.metadata() or {}
            arrays = {name: stored.get_tensor(name) for name in stored.keys()}  # noqa: SIM118
        if digest_of(arrays, header["notes"]) == header["sha256"]:
            return arrays, json.loads(header["notes"])
    except KeyError as error:
        raise DamagedError(f"{error} is missing in its header") from None
    except (SafetensorError, OSError, ValueError, TypeError, RecursionError) as error:
        raise DamagedError(str(error)) from None
    raise DamagedError("its checksum is wrong")


def load_rows(path: Path, name: str) -> RowFile:
    """One array of a file that is there, verified piece by piece and not held; `DamagedError` as in `load`."""
    try:
        with path.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            size = path.stat().st_size
            header = json.loads(stream.read(length)) if length <= size else {}
        notes, described = header["__metadata__"], header[name]
        kind, shape = np.dtype(_KINDS[described["dtype"]]), tuple(int(side) for side in described["shape"])
        first, last = described["data_offsets"]
        whole = len(header) == 2 and first == 0 and 8 + length + last == size
        if not whole or last != kind.itemsize * math.prod(shape) or not shape:
            raise DamagedError("its header does not describe what it holds")
        rows = RowFile(path, 8 + length, kind, shape)
        sha = hashlib.sha256(notes["notes"].encode())
        sha.update(f"\0{name} {kind.str} {shape}\0".encode())
        for start in range(0, len(rows), BLOCK):
            sha.update(rows[start : start + BLOCK].data)
        if sha.hexdigest() == notes["sha256"]:
            return rows
    except KeyError as error:
        raise DamagedError(f"{error} is missing in its header") from None
    except (OSError, ValueError, TypeError, RecursionError, OverflowError) as error:
        raise DamagedError(str(error)) from None
    raise DamagedError("its checksum is wrong")


def read(path: Path, what: str) -> tuple[Arrays, dict[str, Any]] | None:
    """Arrays and notes; None where there is no such file, or it is damaged, which is reported.

    Parameters
    ----------
    what : str
        What the file holds, for the message: "decoded images".
    """
    if not path.is_file():
        return None
    try:
        return load(path)
    except DamagedError as error:
        say(f"{what}: {path.name} is damaged ({error}) and is made again")
        return None


def digest_of(arrays: Mapping[str, npt.NDArray[Any]], notes: str) -> str:
    """SHA-256 (hex) of the arrays, whatever their order, and of the notes."""
    sha = hashlib.sha256(notes.encode())
    for name in sorted(arrays):
        value = np.asarray(arrays[name], order="C")
        sha.update(f"\0{name} {value.dtype.str} {value.shape}\0".encode())
        sha.update(value.data)
    return sha.hexdigest()
