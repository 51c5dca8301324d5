"""Shell completion: names that are registered, found without importing any of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ftt import registry
from ftt.recipe import PRESETS

ROOT = Path(__file__).parents[2]
FTT = "import sys; sys.argv[0] = 'ftt'; from ftt.cli import main; main()"


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT / "src")}


def completed(*words: str) -> list[str]:
    """What bash would be told to offer for the last of these words."""
    asked = {"COMP_WORDS": " ".join(words), "COMP_CWORD": str(len(words) - 1), "_FTT_COMPLETE": "complete_bash"}
    command = [sys.executable, "-c", FTT]
    done = subprocess.run(command, env=environment() | asked, capture_output=True, text=True, check=False, timeout=120)
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("run", "d"), ["digits", "dominoes"]),
        (("run", "digits", "--recipe", "ftt-"), ["ftt-late", "ftt-released", "ftt-random"]),
        (("compare", "digits", "erm", "group"), ["group-dro"]),
        (("run", "digits", "--quie"), ["--quiet"]),
    ],
)
def test_names_and_flags_are_completed(words: tuple[str, ...], names: list[str]) -> None:
    assert completed("ftt", *words) == names


def test_every_registered_name_can_be_completed() -> None:
    from ftt.cli.names import completes

    for kind in ("datasets", "backbones", "freezers", "methods", "experiments"):
        assert [name for name, _ in completes(kind)("")] == list(getattr(registry, kind.upper()).entries())
    assert [name for name, _ in completes("recipes")("")] == list(PRESETS)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_after_it_has_read_the_script(tmp_path: Path) -> None:
    program = tmp_path / "ftt"
    program.write_text(f"#!{sys.executable}\n{FTT}\n")
    program.chmod(0o755)
    script = """
    source <(_FTT_COMPLETE=source_bash ftt)
    COMP_WORDS=(ftt run digits --method ir); COMP_CWORD=4
    $(complete -p ftt | sed 's/.*-F \\([^ ]*\\) .*/\\1/') ftt
    echo "${COMPREPLY[@]}"
    """
    path = {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", script], env=environment() | path, capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout.split() == ["irm"], done.stderr
