"""What is published: the same bytes every time, nothing but the package, and enough of it to run."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
COMPILES = shutil.which("cc") is not None
pytestmark = pytest.mark.slow


def build(out: Path, **variables: str) -> dict[str, Path]:
    """Wheel and sdist by suffix, built without a network from a copy of what the package is made of."""
    pytest.importorskip("hatchling", reason="the build backend is not installed")
    code = (
        "import sys; from hatchling.build import build_sdist, build_wheel; "
        "build_wheel(sys.argv[1]); build_sdist(sys.argv[1])"
    )
    out.mkdir()
    copy = out.with_name(f"{out.name}-source")
    # The kernels are compiled anew, which must not happen to those that other tests are using.
    shutil.copytree(ROOT / "src", copy / "src", ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    for name in (".gitignore", "pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000", **variables}
    subprocess.run([sys.executable, "-c", code, str(out)], cwd=copy, env=environment, check=True, capture_output=True)
    return {path.suffix: path for path in out.iterdir()}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return build(tmp_path_factory.mktemp("build") / "one")


def test_two_builds_have_the_same_bytes(built: dict[str, Path], tmp_path: Path) -> None:
    again = build(tmp_path / "two")
    assert set(built) == {".whl", ".gz"}
    for suffix, path in built.items():
        assert path.name == again[suffix].name
        digests = {hashlib.sha256(file.read_bytes()).hexdigest() for file in (path, again[suffix])}
        assert len(digests) == 1


def test_wheel_holds_the_package_and_nothing_else(built: dict[str, Path]) -> None:
    with zipfile.ZipFile(built[".whl"]) as wheel:
        names = wheel.namelist()
    inside = {name for name in names if not name.startswith("freeze_then_train-")}
    package = ROOT / "src"
    expected = {
        str(path.relative_to(package))
        for path in (package / "ftt").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".so"
    }
    libraries = {f"ftt/compiled/{precision}.so" for precision in ("float32", "float64")} if COMPILES else set()
    assert inside == expected | libraries
    assert built[".whl"].name.endswith("-py3-none-any.whl") is not COMPILES
    with tarfile.open(built[".gz"]) as source:
        assert not [
            name for name in source.getnames() if ".venv" in name or name.endswith((".pyc", ".so", ".safetensors"))
        ]


def test_without_a_compiler_a_wheel_for_any_machine_is_built(tmp_path: Path) -> None:
    made = build(tmp_path / "plain", CC="no-such-compiler")[".whl"]
    assert made.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(made) as wheel:
        assert not [name for name in wheel.namelist() if name.endswith(".so")]


def test_installed_wheel_runs(built: dict[str, Path], tmp_path: Path) -> None:
    target = tmp_path / "site"
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--no-deps",
            "--no-index",
            "--target",
            target,
            built[".whl"],
        ],
        check=True,
    )
    environment = {**os.environ, "PYTHONPATH": str(target), "FTT_HOME": str(tmp_path / "home")}

    def python(*arguments: str) -> str:
        done = subprocess.run(
            [sys.executable, "-P", *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout

    where = "import ftt, sys; print(ftt.__file__, 'torch' in sys.modules)"
    assert python("-c", where).split() == [str(target / "ftt" / "__init__.py"), "False"]
    result = json.loads(python("-m", "ftt", "run", "digits", "--budget", "smoke", "--json"))
    assert 0 < result["worst_group_accuracy"] <= 1
