"""The rows of an audit from a saved model: its answers to labelled data, and its features to judge the labels by."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath
from typing import Any

import numpy as np
import numpy.typing as npt

from ftt.arrays import BoolArray, Float32Array
from ftt.data.columns import Columns, encode_like, parse_split, read_columns
from ftt.data.files import is_folder
from ftt.data.folders import recognise
from ftt.data.grouped import GroupedData, HeldOut
from ftt.data.inputs import ArrayInputs, Inputs
from ftt.data.texts import Texts
from ftt.diagnosis.audit_file import Named, chosen_rows
from ftt.diagnosis.auditing import Rows
from ftt.errors import FttError, unknown
from ftt.model.model import Model
from ftt.model.reading import Source, walk
from ftt.progress import say


def rows_of_data(model: Model, data: GroupedData, audited: str = "test") -> Rows:
    """One split of a data set: true labels of the test split where they are known, observed ones elsewhere."""
    info, split = data.info, data[audited]  # type: ignore[call-overload]
    if strange := sorted(set(info.classes) - set(model.classes)):
        raise unknown("label", strange[0], model.classes, hint="the model was fitted on other classes")
    attribute = str(getattr(data.source, "attribute", "attribute"))
    counts = data.counts("train")
    phi = model.transform(split)
    return Rows(
        y=np.array(info.classes)[split.y_clean if isinstance(split, HeldOut) else split.y],
        attributes={attribute: np.array(info.attributes)[split.a]},
        predicted=_names(model, phi),
        features=phi,
        train={
            (label, value): float(counts[y, a])
            for y, label in enumerate(info.classes)
            for a, value in enumerate(info.attributes)
        },
        ids=split.ids,
    )


def rows_of_files(model: Model, source: Source, named: Named | None = None) -> Rows:
    """A labelled list, table of features, or folder of images ``<label>/<attribute>/<image>``.

    Inputs are read as by `ftt predict`; those that cannot be read are left out, and their number is said. Where there
    are splits, one of them is audited.
    """
    named = named or Named()
    columns = dict(_columns(model, source, named))
    if named.label in columns:
        codes = encode_like(columns[named.label], model.classes, "label")
        columns[named.label] = np.array(model.classes)[codes]
    kept, train = chosen_rows(columns, source.path.name, named)
    phi, names, rows = _features(model, source, kept)
    return Rows(
        y=columns[named.label][rows],
        attributes={name: columns[name][rows] for name in named.attributes},
        predicted=_names(model, phi),
        other=columns[named.other][rows] if named.other else None,
        features=phi,
        train=train,
        ids=columns[named.ids][rows] if named.ids in columns else names,
    )


def _names(model: Model, phi: Float32Array) -> npt.NDArray[np.str_]:
    return np.array(model.classes)[model.head.codes(phi.astype(np.float64), model.threshold)]


def _columns(model: Model, source: Source, named: Named) -> Columns:
    """Labels and attributes of every input, in the order in which `Source.pieces` reads them."""
    if model.accepted.kind != "images" or not is_folder(source.path):
        return read_columns(source.path, needed={named.label, *named.attributes, named.other or ""})
    paths = [PurePath(name) for name in walk(source.path)]
    depth = recognise(source.path, paths)
    parts = np.array([path.parts for path in paths]).reshape(-1, depth)
    folders = {named.label: parts[:, -3], named.attributes[0]: parts[:, -2]}
    return folders | ({named.split: parse_split(parts[:, 0])} if depth == 4 else {})


def _features(
    model: Model, source: Source, kept: BoolArray
) -> tuple[Float32Array, npt.NDArray[np.str_], npt.NDArray[np.int64]]:
    """Features, names and numbers of the audited rows that can be read."""
    parts = list(_pieces(model, source, kept))
    rows = np.concatenate([numbers for *_, numbers in parts]) if parts else np.zeros(0, dtype=np.int64)
    if unread := int(kept.sum()) - len(rows):
        say(f"{unread:,} of {int(kept.sum()):,} inputs cannot be read and are left out; ftt predict says why")
    if not len(rows):
        raise FttError("no input can be read", given=source.path, allowed="labelled inputs that the model takes")
    phi, names = (np.concatenate(part) for part in list(zip(*parts, strict=True))[:2])
    return phi, names, rows


def _pieces(model: Model, source: Source, kept: BoolArray) -> Iterator[tuple[Float32Array, Any, npt.NDArray[np.int64]]]:
    start = 0
    for piece in source.pieces(model.accepted):
        wanted = [row for row in range(len(piece.names)) if kept[start + row] and row not in piece.errors]
        if wanted:
            phi = model.features.transform(_inputs(model, piece.batch[wanted]))
            yield phi, np.array([piece.names[row] for row in wanted]), start + np.array(wanted)
        start += len(piece.names)


def _inputs(model: Model, batch: npt.NDArray[Any]) -> Inputs:
    texts = model.accepted.kind == "texts"
    return Texts([str(text) for text in batch]) if texts else ArrayInputs(batch, model.accepted.kind)
