"""Columns of a table from plain values.

`pyarrow.array` imports pandas to ask it whether a list is one of its own, which takes longer than listing ten thousand
runs. Values of one plain kind are laid out here as Arrow wants them; for everything else it is asked.
"""

from __future__ import annotations

import contextlib
import json
from array import array
from typing import Any

import numpy as np
import pyarrow as pa


def column(values: list[Any]) -> pa.Array:
    """Values of one kind as they are, lists and mixtures as text.

    Examples
    --------
    >>> column([0.25, None, 1.0]).to_pylist(), str(column([[0, 1], None]).type), column([1, "a"]).to_pylist()
    ([0.25, None, 1.0], 'string', ['1', 'a'])
    """
    if (found := _plain(values)) is not None:
        return found
    plain = [json.dumps(value) if isinstance(value, list | dict) else value for value in values]
    if (found := _plain(plain)) is not None:
        return found
    try:
        return pa.array(plain)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        return pa.array([None if value is None else str(value) for value in plain])


def _plain(values: list[Any]) -> pa.Array | None:
    """The array of values that are numbers, truth values or texts, and None; None if they are anything else."""
    present = [value for value in values if value is not None]
    kinds = set(map(type, present))
    if not present:
        return pa.nulls(len(values))
    if len(kinds) > 1:
        return None
    (kind,) = kinds
    blank = kind()
    whole = len(present) == len(values)
    filled = values if whole else [blank if value is None else value for value in values]
    valid = None if whole else _bits([value is not None for value in values])
    with contextlib.suppress(OverflowError, UnicodeError):
        if kind is float:
            return pa.Array.from_buffers(pa.float64(), len(values), [valid, pa.py_buffer(array("d", filled))])
        if kind is int:
            return pa.Array.from_buffers(pa.int64(), len(values), [valid, pa.py_buffer(array("q", filled))])
        if kind is bool:
            return pa.Array.from_buffers(pa.bool_(), len(values), [valid, _bits(filled)])
        if kind is str:
            texts = [value.encode() for value in filled]
            ends = np.cumsum([0, *map(len, texts)]).astype(np.int32)
            return pa.Array.from_buffers(
                pa.string(), len(values), [valid, pa.py_buffer(ends), pa.py_buffer(b"".join(texts))]
            )
    return None


def _bits(truths: list[bool]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(truths, bitorder="little"))
