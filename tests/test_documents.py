"""What the documents show, runs: every code block, every command, every link.

Blocks of one document run in order, in one process and one temporary folder: `python` in one namespace, `console` in a
shell. A block that starts with the comment ``# name.py`` or ``# name.toml`` is saved under that name. A `toml` block
with entry points is installed. `text` is output. A comment before a block changes what is run::

    <!-- not run: needs a cluster -->
    <!-- run with: dominoes = digits; --recipe ftt = --recipe ftt --epochs 1 -->
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import dropwhile
from pathlib import Path
from typing import Any

import pytest
import typer

from ftt.api import ls
from ftt.cli import app
from ftt.cli.flags import parse
from ftt.paper.experiment import Request
from ftt.registry import DATASETS, EXPERIMENTS
from ftt.runs.compose import owners_of

ROOT = Path(__file__).parents[1]
EXECUTED = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
READ = [*EXECUTED, ROOT / "CHANGELOG.md", *sorted((ROOT / "docs" / "results").rglob("*.md"))]
RUN, SHOWN = ("python", "console", "toml"), ("text", "mermaid")
REASONS = re.compile(r"needs (hours|minutes|a cluster|a GPU|a network|files you place)(, .+)?")
PLACEHOLDERS = {"DATASET": "digits", "NAME": "digits", "…": "digits", "N": "2", "M": "2"}


@dataclass(frozen=True)
class Block:
    """A fenced block: the line of its fence, its language, its text, and the comment directly before it."""

    line: int
    language: str
    code: str
    mark: str

    @property
    def skipped(self) -> str | None:
        """Why it is not run, if so."""
        return self.mark.removeprefix("not run: ") if self.mark.startswith("not run: ") else None

    @property
    def file(self) -> str | None:
        """The name it is saved under, if its first line is one."""
        named = re.match(r"# (\S+\.(?:py|toml))\n", self.code)
        return named[1] if named else None

    def with_stand_ins(self) -> str:
        """The code with what the mark replaces replaced; a stand-in for something that is not there is refused."""
        code = self.code
        if self.mark.startswith("run with: "):
            for pair in self.mark.removeprefix("run with: ").split("; "):
                shown, _, stand_in = pair.partition(" = ")
                assert shown in code, f"line {self.line}: {shown!r} is not in the block"
                code = code.replace(shown, stand_in)
        return code


def blocks(document: Path) -> list[Block]:
    """The fenced blocks of a document, in order."""
    found: list[Block] = []
    lines = document.read_text(encoding="utf-8").splitlines()
    opened: int | None = None
    for number, line in enumerate(lines):
        if not line.startswith("```"):
            continue
        if opened is None:
            opened = number
            continue
        comment = re.fullmatch(r"<!-- (.*) -->", lines[opened - 1]) if opened else None
        code = "\n".join(lines[opened + 1 : number]) + "\n"
        found.append(Block(opened + 1, lines[opened][3:].strip(), code, comment[1] if comment else ""))
        opened = None
    return found


def name_of(document: Path) -> str:
    return str(document.relative_to(ROOT))


every_document = pytest.mark.parametrize("document", READ, ids=name_of)


@every_document
def test_every_block_has_a_language_and_every_mark_a_known_form(document: Path) -> None:
    for block in blocks(document):
        where = f"{name_of(document)}, line {block.line}"
        assert block.language in (*RUN, *SHOWN), f"{where}: the language is {block.language or 'missing'}"
        if block.skipped is not None:
            assert REASONS.fullmatch(block.skipped), f"{where}: {block.skipped!r} is not a known reason"
        else:
            assert not block.mark or block.mark.startswith("run with: "), f"{where}: unknown mark {block.mark!r}"


@pytest.mark.slow
@pytest.mark.parametrize("document", [d for d in EXECUTED if any(b.language in RUN for b in blocks(d))], ids=name_of)
def test_every_block_of_a_document_runs(document: Path, tmp_path: Path) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    steps = [step for block in blocks(document) for step in steps_of(block, document)]
    script = tmp_path / "document.py"
    script.write_text("\n".join([HEAD, *steps]), encoding="utf-8")
    environment = os.environ | {
        "FTT_HOME": str(tmp_path / "home"),
        "FTT_CACHE": str(tmp_path / "cache"),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT / "src")]),
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
    }
    done = subprocess.run(
        [sys.executable, script.name],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout[-6000:]
    if document.name == "README.md":
        assert "worst group" in done.stdout


HEAD = '''
import subprocess, tomllib
from importlib import import_module
from pathlib import Path

def save(name, text):
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text)

def shell(text):
    subprocess.run(["bash", "-euo", "pipefail", "-c", text], check=True)

def install(text):
    """Make the entry points of a pyproject.toml visible, as an installer would."""
    project = tomllib.loads(text)["project"]
    folder = Path(f"{project['name'].replace('-', '_')}-{project['version']}.dist-info")
    save(folder / "METADATA", f"Metadata-Version: 2.1\\nName: {project['name']}\\nVersion: {project['version']}\\n")
    groups = project["entry-points"].items()
    lines = [line for group, points in groups for line in (f"[{group}]", *(f"{n} = {v}" for n, v in points.items()))]
    save(folder / "entry_points.txt", "\\n".join(lines))
'''


def steps_of(block: Block, document: Path) -> Iterator[str]:
    """Statements that run one block; tracebacks name the line of the document."""
    if block.skipped is not None or block.language in SHOWN:
        return
    code = block.with_stand_ins()
    if block.file:
        yield f"save({block.file!r}, {code!r})"
    if block.language == "toml":
        if "entry-points" in tomllib.loads(code).get("project", {}):
            yield f"install({code!r})"
    elif block.language == "console":
        yield f"shell({code!r})"
    elif block.file:
        yield f"import_module({block.file.removesuffix('.py').replace('/', '.')!r})"
    else:
        yield f"exec(compile({chr(10) * block.line + code!r}, {name_of(document)!r}, 'exec'))"


@every_document
def test_every_command_exists_with_its_flags(document: Path) -> None:
    for command in commands(document):
        try:
            check_command(command)
        except Exception as error:
            pytest.fail(f"{name_of(document)}: {command}: {error}", pytrace=False)


def commands(document: Path) -> Iterator[str]:
    """Every `ftt …` in inline code, and in console blocks that are not run as they are."""
    text = document.read_text(encoding="utf-8")
    console = [block for block in blocks(document) if block.language == "console" and block.mark]
    shown = [block.code.replace("\\\n", " ") for block in console]
    for line in "\n".join(shown).splitlines():
        yield from re.findall(r"(?:^|\bm )(ftt .*)", line)
    prose = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    for span in re.findall(r"`([^`]+)`", prose):
        if span.startswith("ftt "):
            yield " ".join(span.split())


def check_command(command: str) -> None:
    """Parse a command line without running it; a bare sub-command is a mention, not a call."""
    words = [PLACEHOLDERS.get(word, word) for word in shlex.split(command, comments=True)[1:]]
    parser: Any = typer.main.get_command(app)
    context = parser.make_context("ftt", list(words), resilient_parsing=words[0].startswith("--"))
    while words and hasattr(parser, "resolve_command"):
        name, parser, words = parser.resolve_command(context, words)
        if not words:
            return
        context = parser.make_context(name, list(words), parent=context)
    if context.info_name == "reproduce":
        options = {name: context.params[name] for name in ("budget", "dataset")}
        EXPERIMENTS.get(context.params["name"]).checked(Request(**options))
    if context.info_name == "compare":
        context.args = list(dropwhile(lambda word: not word.startswith("--"), context.args))
    if context.args:
        dataset = context.params.get("dataset") or context.params["name"]
        asked = ("recipe", "freeze", "method", "budget")
        chosen = {name: context.params[name] for name in asked if context.params.get(name)}
        parse(context.args, owners_of({"dataset": dataset, **chosen}) if chosen else {"data": DATASETS.get(dataset)})


@every_document
def test_every_link_leads_to_a_file_and_every_anchor_to_a_heading(document: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", document.read_text(encoding="utf-8")):
        if target.startswith(("http://", "https://")):
            continue
        path, _, anchor = target.partition("#")
        linked = (document.parent / path).resolve() if path else document
        assert linked.exists(), f"{name_of(document)}: {target}"
        assert not anchor or anchor in anchors(linked), f"{name_of(document)}: {target}"


def anchors(document: Path) -> set[str]:
    """What GitHub makes of the headings."""
    headings = re.findall(r"^#+ (.*)$", document.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("kind", ["datasets", "backbones", "freezers", "methods", "recipes"])
def test_the_readme_names_everything_that_can_be_chosen(kind: str) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    table = text[text.index("## A recipe is") : text.index("## What you can rely on")]
    assert set(ls(kind)[kind]) <= set(re.findall(r"[\w-]+", table))


def test_contributing_lists_the_rooms_in_the_order_of_the_import_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = [name.removeprefix("ftt.") for layer in contracts[0]["layers"] for name in layer.split(" | ")]
    rooms = re.findall(r"^\| (`.*?`) \|", (ROOT / "CONTRIBUTING.md").read_text(), flags=re.MULTILINE)
    assert [name.strip("`") for row in rooms for name in row.split(", ")] == layers


@pytest.mark.slow
def test_the_one_file_example_shows_the_claim_on_average() -> None:
    example, worst = str(ROOT / "examples" / "minimal_ftt.py"), dict[str, float]()
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    for seed in "012":
        done = subprocess.run(
            [sys.executable, example, seed], env=environment, capture_output=True, text=True, check=True
        )
        for line in done.stdout.splitlines():
            name, accuracy = line[:18].strip(), float(line.split()[-1].rstrip("%"))
            worst[name] = worst.get(name, 0) + accuracy / 3
    assert worst["ERM"] < worst["initial features"] - 5
    assert worst["Freeze then Train"] > worst["initial features"] - 5


@pytest.mark.slow
def test_the_tour_goes_from_a_folder_of_images_to_a_decision() -> None:
    tour = str(ROOT / "examples" / "tour.py")
    environment = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, tour, "1"], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "decision: " in done.stdout
    assert "on the worst group" in done.stdout
