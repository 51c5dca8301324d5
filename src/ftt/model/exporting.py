"""A model for programs without this library: ONNX, TorchScript or torch.export, checked before it is written.

An exported model takes inputs as they are read (uint8 images, float32 features) and normalises them itself; texts come
as token numbers, since no exporter holds a tokenizer. It gives logits and probabilities for any number of rows. It is
loaded again and compared with the library's own predictions on real inputs, in several batches, and only then written.
What has to be done to an image or text before is in the card and, for programs, in ``config.json`` ("preprocessing").
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from ftt.arrays import FloatArray
from ftt.atomic import replacing
from ftt.data.inputs import Inputs
from ftt.errors import FttError, unknown
from ftt.model.model import Model
from ftt.params import Json
from ftt.train.export import ProbedModule

TOLERANCE = 1e-4
"""Largest difference of a probability between an exported model and this library."""

Run = Callable[[npt.NDArray[Any]], FloatArray]
"""From a batch to (n, K) probabilities."""


@dataclass(frozen=True)
class Exported:
    """What was written: file, format, and how far its predictions are from the library's on the rows compared."""

    path: Path
    form: str
    rows: int
    largest_difference: float

    def to_json(self) -> dict[str, Json]:
        return {
            "path": str(self.path),
            "format": self.form,
            "rows_compared": self.rows,
            "largest_difference": self.largest_difference,
        }

    def __str__(self) -> str:
        return (
            f"{self.path} ({self.form}): the same labels on {self.rows} inputs, probabilities differ by at most "
            f"{self.largest_difference:.1e}"
        )


class RawModule(nn.Module):
    """Inputs as they are read in, (n, K) logits and probabilities out."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        backbone = model.features.backbone
        self.prepare = backbone.prepare if backbone.prepares_tensors else None
        self.probed = ProbedModule(model.features, model.head, exportable=True)

    def forward(self, inputs: Tensor) -> tuple[Tensor, Tensor]:
        x: Any = inputs if self.prepare is None else self.prepare(inputs)  # type: ignore[arg-type]
        logits = self.probed(x)
        return logits, torch.softmax(logits, dim=1)


def export(model: Model, path: Path, form: str, inputs: Inputs | None = None) -> Exported:
    """Write a model in another format, if it gives the same predictions there.

    Parameters
    ----------
    form : {"onnx", "torchscript", "torch-export"}
    inputs : Inputs, optional
        Real inputs to compare on; by default those that were saved with the model.
    """
    if form not in WRITERS:
        raise unknown("export format", form, WRITERS)
    rows = inputs if inputs is not None else model.examples
    if rows is None or not len(rows):
        raise FttError(
            "an export is checked on real inputs, and the model was saved without any",
            given="no examples",
            allowed="inputs of the kind that the model takes",
            hint="name some with --on images/, or save the model with --examples 8",
        )
    batch = rows.read(np.arange(min(len(rows), model.accepted.rows_at_once)))
    module = RawModule(model).eval()
    raw = _as_read(model, batch)
    with replacing(path) as scratch, _quiet(), torch.no_grad():
        run = WRITERS[form](module, torch.from_numpy(raw), scratch, model)
        difference = _compare(model, batch, raw, run, form)
    return Exported(path, form, len(batch), difference)


def _as_read(model: Model, batch: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """What an exported model takes: the batch itself, or prepared where its preparation cannot be exported."""
    backbone = model.features.backbone
    return np.ascontiguousarray(batch) if backbone.prepares_tensors else backbone.prepare(batch).contiguous().numpy()


def _compare(model: Model, batch: npt.NDArray[Any], raw: npt.NDArray[Any], run: Run, form: str) -> float:
    """The largest difference of a probability, over all rows at once and over the first alone; a larger is refused."""
    wanted = model.probabilities(batch)
    found = np.concatenate([run(raw), run(raw[:1])])
    wanted = np.concatenate([wanted, wanted[:1]])
    difference = float(np.abs(found - wanted).max())
    # Where two classes are as likely, rounding decides; such a row says nothing about an export.
    ordered = np.sort(wanted, axis=1)
    clear = ordered[:, -1] - ordered[:, -2] > 2 * TOLERANCE
    same = bool((found.argmax(axis=1) == wanted.argmax(axis=1))[clear].all())
    if not np.isfinite(found).all() or difference > TOLERANCE or not same:
        raise FttError(
            f"the {form} model gives other predictions and was not written",
            given=f"probabilities that differ by {difference:.2g} on {len(batch)} inputs",
            allowed=f"at most {TOLERANCE:g}, and the same labels",
        )
    return difference


def _write_onnx(module: RawModule, raw: Tensor, path: Path, model: Model) -> Run:
    runtime = _required("onnxruntime", "ONNX")
    _required("onnxscript", "ONNX")
    program = torch.onnx.export(
        module,
        (raw,),
        dynamo=True,
        dynamic_shapes=_dynamic(model),
        input_names=["inputs"],
        output_names=["logits", "probabilities"],
        verbose=False,
    )
    assert program is not None
    _describe(program, model)
    program.save(str(path))
    options = runtime.SessionOptions()
    options.log_severity_level = 3
    # What is on the disk, not what is in memory, is compared.
    session = runtime.InferenceSession(path.read_bytes(), options, providers=["CPUExecutionProvider"])
    return lambda rows: np.asarray(session.run(["probabilities"], {"inputs": rows})[0], dtype=np.float64)


def _write_torchscript(module: RawModule, raw: Tensor, path: Path, model: Model) -> Run:
    traced = torch.jit.trace(module, (raw,), check_trace=False)  # type: ignore[no-untyped-call]
    traced.save(str(path))
    return _torch_run(torch.jit.load(str(path)))  # type: ignore[no-untyped-call]


def _write_torch_export(module: RawModule, raw: Tensor, path: Path, model: Model) -> Run:
    program = torch.export.export(module, (raw,), dynamic_shapes=_dynamic(model))
    with path.open("wb") as sink:
        torch.export.save(program, sink)
    with path.open("rb") as stored:
        return _torch_run(torch.export.load(stored).module())


WRITERS: dict[str, Callable[[RawModule, Tensor, Path, Model], Run]] = {
    "onnx": _write_onnx,
    "torchscript": _write_torchscript,
    "torch-export": _write_torch_export,
}


def _torch_run(loaded: Callable[[Tensor], tuple[Tensor, Tensor]]) -> Run:
    return lambda rows: loaded(torch.from_numpy(rows))[1].double().numpy()


def _dynamic(model: Model) -> Any:
    """Any number of rows, and of tokens."""
    sizes: dict[int, Any] = {0: torch.export.Dim("n", min=1)}
    if model.accepted.kind == "texts":
        sizes[2] = torch.export.Dim("tokens", min=2, max=getattr(model.features.backbone, "max_tokens", 512))
    return {"inputs": sizes}


def _describe(program: Any, model: Model) -> None:
    """Class names, threshold and preprocessing go with the file."""
    import json

    from ftt.model.preprocessing import preprocessing

    program.model.metadata_props["classes"] = json.dumps(list(model.classes))
    program.model.metadata_props["preprocessing"] = json.dumps(preprocessing(model))
    if model.threshold is not None:
        program.model.metadata_props["threshold"] = str(model.threshold)


def _required(package: str, what: str) -> Any:
    from importlib import import_module

    try:
        return import_module(package)
    except ImportError:
        raise FttError(
            f"{what} needs the extra [onnx]",
            given=f"{package} is not installed",
            allowed="onnx, onnxscript and onnxruntime",
            hint="pip install 'freeze-then-train[onnx]'",
        ) from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Exporters warn about what they do by design; what matters is compared afterwards."""
    loggers = [logging.getLogger(name) for name in ("torch.onnx", "torch.export", "onnxscript", "onnx_ir")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
