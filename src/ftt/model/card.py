"""The card of a model: metadata as the Hugging Face Hub reads it, then tables and words for people."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ftt.backbones.weight_file import without_file
from ftt.metrics import GroupReport
from ftt.plain_text import markdown_cell, printable
from ftt.train.saved import LIMITS
from ftt.version import __version__

if TYPE_CHECKING:
    from ftt.model.model import Model

TASKS = {"images": "image-classification", "texts": "text-classification", "features": "tabular-classification"}


def card(model: Model) -> str:
    """README.md of the folder."""
    about = model.about
    backbone = without_file(model.features.backbone_name)
    title = f"{about.dataset or 'A classifier'}: {model.features.recipe.name} on {backbone}"
    parts = [
        f"---\n{_yaml(metadata(model))}\n---",
        f"# {markdown_cell(title)}",
        f"Predicts {_words(model.classes)} from {model.accepted.kind}. Made by Freeze then Train.",
        _table(model),
    ]
    if about.report is not None:
        parts += ["## Accuracy on the test split", _groups(about.report)]
        remarks = [*about.report.remarks(), *about.notes]
        parts += ["\n".join(f"- {markdown_cell(remark)}" for remark in remarks)] if remarks else []
    parts += ["## Use", USE, _preprocessing(model), "## Data", _data(model), LIMITS]
    return "\n\n".join(parts) + "\n"


USE = """    ftt predict FOLDER images/ --csv predictions.csv
    ftt export FOLDER --onnx model.onnx

In Python, `ftt.Model.load(FOLDER).predict(...)`. Probabilities are those of averaged logistic regressions and are not
calibrated."""


def metadata(model: Model) -> dict[str, Any]:
    """The part of the card for programs: task, library, tags and metrics."""
    about, task = model.about, TASKS[model.accepted.kind]
    found: dict[str, Any] = {
        "library_name": "freeze-then-train",
        "pipeline_tag": task,
        "tags": ["freeze-then-train", "spurious-correlations", model.features.recipe.name],
    }
    if about.report is not None:
        named = {"name": about.dataset or "data", "type": _slug(about.dataset or "data"), "split": "test"}
        found["model-index"] = [
            {
                "name": f"{about.dataset or 'model'}-{model.features.recipe.name}",
                "results": [{"task": {"type": task}, "dataset": named, "metrics": _metrics(about.report)}],
            }
        ]
    return found


def _metrics(report: GroupReport) -> list[dict[str, Any]]:
    group, rate = report.headline
    rows = [("average accuracy", report.overall), (f"worst group accuracy ({group})", rate)]
    rows += [(f"accuracy, {label}, {name}", cell) for (label, name), cell in report.by_label_and_attribute.items()]
    return [{"type": "accuracy", "value": round(r.value, 4), "name": name} for name, r in rows if r.n]


def _groups(report: GroupReport) -> str:
    lines = ["| | group | accuracy | 95 % interval | rows |", "|---|---|---:|---:|---:|"]
    for kind, name, rate in report.rows():
        low, high = rate.interval()
        value = f"{rate.value:.1%}" if rate.n else "–"
        lines.append(f"| {kind} | {markdown_cell(name)} | {value} | {low:.1%} – {high:.1%} | {rate.n} |")
    return "\n".join(lines)


def _table(model: Model) -> str:
    rows = {**model.describe(), "recipe in full": json.dumps(model.features.recipe.describe())}
    for name, value in model.about.run.items():
        rows[name] = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    rows["made with"] = f"freeze-then-train {__version__}"
    body = "\n".join(f"| {markdown_cell(name)} | {markdown_cell(value)} |" for name, value in rows.items())
    return f"| | |\n|---|---|\n{body}"


def _preprocessing(model: Model) -> str:
    from ftt.model.preprocessing import preprocessing

    told = preprocessing(model)
    steps = "\n".join(f"{number}. {step}" for number, step in enumerate(told["steps"], 1)) or "Nothing."
    shape = ", ".join(map(str, told["shape"]))
    text = f"An exported model takes `{told['input']}` of shape ({shape}). What has to be done before:\n\n{steps}"
    if "python" in told:
        code = "\n".join(f"    {line}" if line else "" for line in told["python"].splitlines())
        text += f"\n\nIn Python, without this library (also in `config.json`):\n\n{code}"
    return text


def _data(model: Model) -> str:
    about = model.about
    lines = [
        f"{about.dataset or 'Unnamed data'}{': ' + about.summary if about.summary else ''}",
        f"Licence of the data: {about.licence or 'not stated'}.",
        f"Groups: {about.attribute} ({', '.join(about.attributes) or 'not stated'}).",
    ]
    if about.citation:
        lines.append(about.citation)
    if model.examples is not None and len(model.examples):
        lines.append(
            f"The folder holds {len(model.examples)} inputs of the probing split, on which exports are checked. "
            "If they must not be shared, save the model without them (`--examples 0`) before you pass it on."
        )
    return "\n".join(f"- {markdown_cell(line)}" for line in lines)


def _words(names: tuple[str, ...]) -> str:
    return ", ".join(markdown_cell(name) for name in names)


def _slug(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name.lower()).strip("-") or "data"


def _yaml(value: Any, indent: int = 0) -> str:
    """Block YAML whose scalars are JSON, which is YAML too: no text of the data can break out of it."""
    pad = "  " * indent
    lines = []
    for key, item in value.items():
        if isinstance(item, dict):
            lines.append(f"{pad}{key}:\n{_yaml(item, indent + 1)}")
        elif isinstance(item, list):
            lines.append(f"{pad}{key}:")
            for entry in item:
                text = _yaml(entry, indent + 1).lstrip() if isinstance(entry, dict) else _scalar(entry)
                lines.append(f"{pad}- {text}")
        else:
            lines.append(f"{pad}{key}: {_scalar(item)}")
    return "\n".join(lines)


def _scalar(value: Any) -> str:
    return json.dumps(printable(value, lines=False) if isinstance(value, str) else value)
