"""ftt export: a saved model for programs without this library."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ftt.cli.common import print_json, print_lines
from ftt.errors import FttError


def export(
    model: Annotated[Path, typer.Argument(help="folder of a saved model (ftt run --save, ftt save)")],
    onnx: Annotated[Path | None, typer.Option(help="file for ONNX; needs the extra [onnx]")] = None,
    torchscript: Annotated[Path | None, typer.Option(help="file for TorchScript")] = None,
    torch_export: Annotated[Path | None, typer.Option(help="file for torch.export (.pt2)")] = None,
    on: Annotated[
        Path | None, typer.Option(help="inputs to compare on, as for ftt predict; default: those saved with the model")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="print one JSON object on standard output")] = False,
) -> None:
    """Export a saved model to ONNX, TorchScript or torch.export.

    Nothing is written unless the exported model, loaded again, predicts the same labels and nearly the same
    probabilities as the library on real inputs.

    ftt export model --onnx model.onnx
    """
    asked = {"onnx": onnx, "torchscript": torchscript, "torch-export": torch_export}
    wanted = {form: path for form, path in asked.items() if path is not None}
    if not wanted:
        raise FttError(
            "no format is named", given="none", allowed="--onnx, --torchscript, --torch-export, each with a file"
        )

    from ftt import api
    from ftt.cli.screen import watched

    with watched():
        made = [api.export(model, path, form, on=on) for form, path in wanted.items()]
    if json:
        print_json({"exports": [exported.to_json() for exported in made]})
    else:
        print_lines(*map(str, made))
