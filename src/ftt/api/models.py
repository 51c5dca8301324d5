"""A model that leaves the store: save, predict, export."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ftt.api.arguments import Folder, as_home
from ftt.errors import FttError

if TYPE_CHECKING:
    from pandas import DataFrame

    from ftt.model import Model
    from ftt.model.exporting import Exported
    from ftt.result import Result


def save(
    run: Result | str,
    folder: Path | str,
    *,
    home: Folder = None,
    threshold: float | None = None,
    examples: int | None = None,
) -> Path:
    """Save the model of a finished run as a folder: `ftt.Model.load` reads it, `ftt predict` uses it.

    Parameters
    ----------
    run : Result or str
        What `ftt.run` returned, or the id of a run; features and trainings that are in the store are not made again.
    folder : path
        A new folder, or that of a saved model, which is replaced.
    home : Home or path, optional
        Where the run is kept; default ``FTT_HOME``.
    threshold : float, optional
        For two classes: the probability of the second above which it is predicted; 0.5 by default.
    examples : int, optional
        How many inputs of the probing split are kept with the model, for checking exports; 8 by default.
    """
    from ftt.data.roots import expanded
    from ftt.model.model import EXAMPLES
    from ftt.result import Result
    from ftt.runs.saving import save_run

    if not isinstance(run, Result | str):
        raise FttError("run must be a Result or the id of a run", given=repr(run)[:80], allowed="ftt.run(…), or an id")
    kept = as_home(home)
    chosen = run.run if isinstance(run, Result) else kept.runs.named(run)
    count = EXAMPLES if examples is None else examples
    return save_run(chosen, expanded(folder, "folder"), kept, threshold=threshold, examples=count)


def predict(
    model: Model | Path | str, source: Path | str, *, column: str | None = None, image_root: Path | str | None = None
) -> DataFrame:
    """Predict classes of files without labels: one row per input, with probabilities, or with the reason of an error.

    Parameters
    ----------
    model : Model or path
        A model, or the folder it was saved in.
    source : path
        A folder of images, a list, a table of texts, or features; `ftt predict --help` names all forms.
    column : str, optional
        Column of paths or texts, or array of features; by default as in the data that the model was fitted on.
    image_root : path, optional
        Folder that the paths of a list are relative to; by default that of the list.

    Returns
    -------
    DataFrame
        `ftt.Model.predict` takes arrays, tables and lists; `ftt predict` writes results larger than memory.
    """
    import pyarrow

    from ftt.data.roots import expanded
    from ftt.model import Model
    from ftt.model.predicting import schema, stream
    from ftt.model.reading import Source

    loaded = model if isinstance(model, Model) else Model.load(model)
    root = None if image_root is None else expanded(image_root, "image_root")
    pieces = stream(loaded, Source(expanded(source, "source"), column, root))
    return pyarrow.Table.from_batches(pieces, schema(loaded)).to_pandas()


def export(
    model: Model | Path | str, path: Path | str, form: str = "onnx", *, on: Path | str | None = None
) -> Exported:
    """Write a saved model as ONNX, TorchScript or torch.export, if it predicts the same there.

    Parameters
    ----------
    model : Model or path
        A model, or the folder it was saved in.
    path : path
        File to write.
    form : {"onnx", "torchscript", "torch-export"}
    on : path, optional
        Inputs to compare on, as for `predict`; by default those that were saved with the model.
    """
    from ftt.data.roots import expanded
    from ftt.model import Model
    from ftt.model.exporting import export
    from ftt.model.reading import Source, first_rows

    loaded = model if isinstance(model, Model) else Model.load(model)
    inputs = None if on is None else first_rows(Source(expanded(on, "on")), loaded.accepted)
    return export(loaded, expanded(path, "path"), form, inputs)
