"""Making the libraries from their sources: when the package is built, or by hand in a checkout.

python -m ftt.compiled.making

Needs nothing but Python: the build hook (`hatch_build.py`) runs it where nothing is installed yet.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import sysconfig
from pathlib import Path

HERE = Path(__file__).parent
PRECISIONS = {"float32": "float", "float64": "double"}
FLAGS = [
    *("-O3", "-std=c11", "-shared", "-fPIC", "-Wno-psabi"),
    # No sum is reordered, so that results do not depend on the width of vectors.
    *("-fno-math-errno", "-fno-trapping-math", "-mprefer-vector-width=512"),
]


class CannotCompileError(Exception):
    """There is no C compiler, or none that knows what the sources need."""


def make(folder: Path = HERE) -> None:
    """A library for each precision next to the sources; both are compiled at once, and old ones are removed."""
    for old in folder.glob("*.so"):
        old.unlink()
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")
    names, version = sorted(path.name for path in folder.glob("*.c")), version_of(folder)
    try:
        # In the folder itself, so that no path gets into the libraries.
        running = [
            subprocess.Popen(
                [*compiler, *FLAGS, f"-DREAL={real}", f"-DVERSION={version}", "-o", f"{precision}.so", *names, "-lm"],
                cwd=folder,
                stderr=subprocess.PIPE,
                text=True,
            )
            for precision, real in PRECISIONS.items()
        ]
    except OSError as error:
        raise CannotCompileError(f"{compiler[0]}: {error.strerror}") from None
    told = [process.communicate()[1] for process in running]
    if any(process.returncode for process in running):
        for made in folder.glob("*.so"):
            made.unlink()
        raise CannotCompileError("".join(told).strip() or f"{compiler[0]} failed")


def version_of(folder: Path = HERE) -> int:
    """A number for the sources, which a library made of them carries."""
    parts = [path.read_bytes() for path in sorted([*folder.glob("*.c"), *folder.glob("*.h")])]
    return int(hashlib.sha256(b"".join(parts)).hexdigest()[:15], 16)


if __name__ == "__main__":
    make()
