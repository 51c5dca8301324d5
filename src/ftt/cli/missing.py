"""A package that is not installed: `make demo` leaves out what the demo does not need."""

from __future__ import annotations

import re

from ftt.errors import FttError


def missing_package(error: ModuleNotFoundError) -> FttError | None:
    """The error in words if the module belongs to a package that this library names as a dependency."""
    from importlib.metadata import PackageNotFoundError, requires

    try:
        needed = requires("freeze-then-train") or []
    except PackageNotFoundError:
        return None
    module = (error.name or "").partition(".")[0]
    if module not in {re.split(r"[^\w-]", need)[0] for need in needed}:
        return None
    return FttError(
        "a package that this command needs is not installed",
        given=module,
        hint=f"pip install {module}; in a checkout that `make demo` has set up: .venv/bin/pip install -e .",
    )
