"""What is asked often answers at once: nothing heavy is imported before a command needs it."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("torch", "numpy", "scipy", "sklearn", "timm", "altair", "pyarrow", "duckdb", "rich.progress")

AFTER_HELP = """
import sys
sys.argv = ["ftt", *{arguments!r}]
from ftt.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code, end.code
sys.stderr.write(" ".join(name for name in {heavy!r} if name in sys.modules))
"""


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)


def test_importing_the_package_imports_nothing_heavy() -> None:
    done = run_python(f"import sys, ftt; print([name for name in {HEAVY!r} if name in sys.modules])")
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["run", "--help"], ["data", "--help"]], ids=" ".join)
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    done = run_python(AFTER_HELP.format(arguments=arguments, heavy=HEAVY))
    assert done.stderr == ""
    assert "ftt" in done.stdout


def test_public_names_are_listed_and_each_can_be_had() -> None:
    import ftt

    for name in ftt.__all__:
        assert getattr(ftt, name) is not None
    assert set(dir(ftt)) == set(ftt.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = ftt.nothing
