"""Compiles the kernels of `ftt.compiled` while the package is built, where there is a C compiler for them.

Without one the package is complete all the same: what the kernels compute, torch and NumPy compute as well.
"""

from __future__ import annotations

import runpy
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDER = "src/ftt/compiled"


class CompileKernels(BuildHookInterface[Any]):
    """The hook that hatchling calls before it collects the files of a wheel or of an editable install."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        making = runpy.run_path(str(Path(self.root, FOLDER, "making.py")))
        try:
            making["make"](Path(self.root, FOLDER))
        except making["CannotCompileError"] as error:
            self.app.display_warning(f"built without the compiled kernels, which are optional: {error}")
            return
        build_data["artifacts"].append(f"/{FOLDER}/*.so")
        build_data["pure_python"] = False
        # Nothing in them depends on the version of Python.
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["tag"] = f"py3-none-{platform}"
