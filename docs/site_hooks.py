"""What `make docs` does beyond mkdocs: the documents of the repository become one site.

- README, CHANGELOG and other documents outside `docs/` are pages; links between all of them are rewritten.
- Pages that the navigation names and nobody has written are left out; pages that it does not name are under "More".
- The commands are listed from the program itself.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from posixpath import dirname, normpath, relpath
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
OUTSIDE = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "benchmarks/results.md": "benchmarks.md",
    "examples/sweep.toml": "sweep.toml",
    "CITATION.cff": "CITATION.cff",
    "LICENSE": "LICENSE.txt",
    **{f"examples/{path.name}": f"{path.stem}.md" for path in (ROOT / "examples").glob("*.py")},
}
"""Files outside `docs/` and where they are on the site."""

ORIGIN = {site: path for path, site in OUTSIDE.items()}
COMMANDS = "reference/commands.md"
FUNCTIONS = "reference/functions.md"
ABOUT_COMMANDS = (
    "What `ftt COMMAND --help` prints. Commands that take a data set also have a flag for every parameter of data set, "
    "training and probing: `ftt run DATASET --flags` lists them."
)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Fit the navigation to the pages that there are."""
    written = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    written |= {*ORIGIN, COMMANDS}
    assert isinstance(config.nav, list)
    listed: set[str] = set()
    config.nav = _kept(config.nav, written, listed)
    more = sorted(name for name in written - listed if "/" not in name and name.endswith(".md"))
    if more:
        config.nav.append({"More": more})
    return config


def _kept(entries: list[Any], written: set[str], listed: set[str]) -> list[Any]:
    """The entries whose pages are written, at every level."""
    found: list[Any] = []
    for entry in entries:
        ((title, target),) = entry.items()
        if isinstance(target, list):
            found.append({title: _kept(target, written, listed)})
        elif target.endswith("/README.md"):
            # The pages of a folder are below the one that introduces it.
            inside = sorted(name for name in written - {target} if name.startswith(dirname(target)))
            listed.update((target, *inside))
            found.append({title: [target, *inside]})
        elif target in written:
            listed.add(target)
            found.append(entry)
    return found


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files from outside `docs/`, and the commands."""
    for path, site in OUTSIDE.items():
        text = (ROOT / path).read_text(encoding="utf-8")
        if path.endswith(".py"):
            text = f"# {Path(path).name}\n\n`{path}`\n\n```python\n{text}```\n"
        files.append(File.generated(config, site, content=text))
    files.append(File.generated(config, COMMANDS, content=commands()))
    return files


def commands() -> str:
    """The help of every command, as the program prints it."""
    sys.path.insert(0, str(ROOT / "src"))
    import typer

    from ftt.cli import app

    root: Any = typer.main.get_command(app)
    context = root.make_context("ftt", [], resilient_parsing=True)
    lines = ["# Commands", "", ABOUT_COMMANDS, ""]
    for name, command in _leaves(root):
        inner = type(context)(command, info_name=name, parent=context)
        lines += [f"## ftt {name}", "", "```text", command.get_help(inner).rstrip(), "```", ""]
    return "\n".join(lines)


def _leaves(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _leaves(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


def unlisted() -> list[str]:
    """Public names that no page of the reference shows yet; they go to the end of the functions."""
    tree = ast.parse((ROOT / "src" / "ftt" / "__init__.py").read_text(encoding="utf-8"))
    (public,) = (
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    pages = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "reference").glob("*.md"))
    return sorted({*public} - {*re.findall(r"^::: ftt\.(\w+)$", pages, flags=re.MULTILINE)} - {"__version__"})


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Links as the site has them, commands as shell code, and no comments that only tests read."""
    here = page.file.src_uri
    if here == FUNCTIONS:
        markdown += "".join(f"\n::: ftt.{name}" for name in unlisted())
    source = ORIGIN.get(here, f"docs/{here}")

    def link(match: re.Match[str]) -> str:
        target, anchor = match[1], match[2] or ""
        if re.match(r"[a-z]+:", target) or not target:
            return match[0]
        path = normpath(f"{dirname(source) or '.'}/{target}")
        site = OUTSIDE.get(path) or path.removeprefix("docs/")
        return f"]({relpath(site, dirname(here) or '.')}{anchor})"

    # Code is left alone: only text outside of fences has links.
    parts = re.split(r"(^```.*?^```$)", markdown, flags=re.DOTALL | re.MULTILINE)
    parts[::2] = [re.sub(r"\]\(([^)\s#]*)(#[^)\s]*)?\)", link, part) for part in parts[::2]]
    parts[::2] = [re.sub(r"^<!-- (?:run with|not run): .* -->\n", "", part, flags=re.MULTILINE) for part in parts[::2]]
    # A real subscript, where a text file has an underscore.
    parts[::2] = [re.sub(r"η_(core|spu)", r"η<sub>\1</sub>", part) for part in parts[::2]]
    return "".join(part.replace("```console", "```bash", 1) for part in parts)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Examples are tests as well; what only tests need is left out, or a folder."""
    tags, quote = r"(?:<[^>]*>)*", r"(?:&quot;|\")"
    words = ("home", "=", "getfixture", r"\(", f"{quote}tmp_path{quote}", r"\)")
    html = re.sub(f",{tags} {tags}{tags.join(words)}", "", html)
    return html.replace("getfixture", "Path").replace("tmp_path", "folder")
