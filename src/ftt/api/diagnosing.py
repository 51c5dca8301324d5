"""Will training help, and what does a classifier do that is there already?"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ftt import registry
from ftt.api.arguments import Folder, as_home, as_names, as_path
from ftt.errors import FttError, unknown
from ftt.screen import shows_progress

if TYPE_CHECKING:
    from ftt.data import GroupedData
    from ftt.diagnosis import Audit, Diagnosis, Rows
    from ftt.model import Model


def diagnose(
    data: GroupedData | str,
    *,
    backbone: str | None = None,
    predict_attribute: bool = False,
    home: Folder = None,
    **options: Any,
) -> Diagnosis:
    """Estimate the noises of label and shortcut, and say whether training will help or harm. Nothing is trained.

    Parameters
    ----------
    data : GroupedData or str
        Data, or a data set by name. Its training and target (``val``) splits are read with observed labels; the test
        split is not.
    backbone : str, optional
        A name of `ftt ls backbones`; by default that of `ftt run` for this data set.
    predict_attribute : bool
        Do not read the attribute of the training split; predict it by a probe of the target split.
    home : Home or path, optional
        Where features of a data set by name are kept; default ``FTT_HOME``.
    **options
        Parameters of a data set by name, as for `run`: ``core_noise=0.2``.

    Examples
    --------
    >>> found = diagnose("digits", core_noise=0.2, home=getfixture("tmp_path"))
    >>> found.verdict.answer, found.core.low < 0.2 < found.core.high
    ('harms', True)
    """
    from ftt.data import GroupedData
    from ftt.diagnosis import diagnose as diagnosed

    if isinstance(data, GroupedData):
        if options:
            raise FttError(
                "data that are loaded take no parameters", given=", ".join(options), allowed="diagnose(data)"
            )
        return diagnosed(data, backbone, predict_attribute=predict_attribute)
    from ftt.runs.compose import compose

    chosen = {"dataset": data, "recipe": "init", **({"backbone": backbone} if backbone else {}), **options}
    spec, folder = compose(chosen), as_home(home)
    return diagnosed(
        spec.data.load(folder.roots), spec.backbone, predict_attribute=predict_attribute, cache=folder.artifacts
    )


@shows_progress
def audit(
    source: Rows | Model | Path | str,
    on: GroupedData | Path | str | None = None,
    *,
    fewest: int = 30,
    home: Folder = None,
    **options: Any,
) -> Audit:
    """Audit a classifier: accuracy by group, what its predictions follow, and labels that look wrong.

    Parameters
    ----------
    source : path, Rows or Model
        A table with predictions (.csv, .parquet, .npz or a folder of .npy), arrays as `ftt.diagnosis.Rows`, or a model
        (or the folder it was saved in), which then predicts the data it is audited on.
    on : GroupedData, name or path, optional
        What a model is audited on: data, a data set by name, or labelled inputs in any form that `ftt.predict` reads.
    fewest : int
        Smallest group that is listed.
    home : Home or path, optional
        Folders of data sets by name.
    **options
        Columns of a table: ``label``, ``attributes``, ``prediction``, ``other``, ``split``, ``features``,
        ``probabilities``, ``ids``; the split that is ``audited``; for labelled inputs also ``column`` and
        ``image_root``, as for `predict`; for a data set by name its parameters. See `ftt audit --help`.

    Examples
    --------
    >>> from ftt.diagnosis import Rows
    >>> y, place = ["cow", "camel"] * 50, ["grass"] * 50 + ["sand"] * 50
    >>> audit(Rows(y, {"place": place}, predicted=y)).overall.value
    1.0
    """
    from ftt.diagnosis.audit_file import Named, read_rows
    from ftt.diagnosis.auditing import Rows
    from ftt.diagnosis.auditing import audit as audited
    from ftt.model import Model
    from ftt.train.saved import is_saved

    if isinstance(source, Rows):
        if options or on is not None:
            raise FttError("arrays have no columns to name", given=", ".join(options) or on, allowed="audit(rows)")
        return audited(source, fewest=fewest)
    if on is not None:
        model = source if isinstance(source, Model) else Model.load(source)
        name = "model" if isinstance(source, Model) else as_path("source", source).name
        return audited(_answered(model, on, home, options), fewest=fewest, name=name)
    path = None if isinstance(source, Model) else as_path("source", source)
    if path is None or is_saved(path):
        raise FttError(
            "a model is audited on labelled data",
            given="a model alone",
            allowed="a data set by name, a labelled list or table, or a folder of images",
            hint="ftt audit MODEL DATA",
        )
    return audited(read_rows(path, Named(**_named(options, Named))), fewest=fewest, name=path.stem)


def _answered(model: Model, on: GroupedData | Path | str, home: Folder, options: dict[str, Any]) -> Rows:
    """What a model says about labelled data."""
    from ftt.data import GroupedData
    from ftt.data.roots import expanded
    from ftt.diagnosis.audit_file import Named
    from ftt.diagnosis.audit_model import rows_of_data, rows_of_files
    from ftt.model.reading import Source

    if isinstance(on, GroupedData):
        return rows_of_data(model, on, **_known(options, {"audited"}))
    if isinstance(on, str) and on in registry.DATASETS.entries():
        from ftt.runs.compose import compose

        audited = options.pop("audited", "test")
        return rows_of_data(model, compose({"dataset": on, **options}).data.load(as_home(home).roots), audited)
    column, root = (options.pop(name, None) for name in ("column", "image_root"))
    source = Source(expanded(on, "on"), column, None if root is None else expanded(root, "image_root"))
    return rows_of_files(model, source, Named(**_named(options, Named)))


def _named(options: dict[str, Any], named: type) -> dict[str, Any]:
    """The columns of an audit, checked."""
    found = _known(options, {field.name for field in fields(named)})
    return found | ({"attributes": tuple(as_names("attributes", found["attributes"]))} if "attributes" in found else {})


def _known(options: dict[str, Any], known: set[str]) -> dict[str, Any]:
    for name in options:
        if name not in known:
            raise unknown("option of audit", name, known)
    return options
