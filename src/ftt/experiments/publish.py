"""An experiment as files: the page with its tables, the pictures, and every run behind them."""

from __future__ import annotations

from pathlib import Path

from ftt.atomic import replacing
from ftt.experiments.story import Ask, Experiment, Story
from ftt.experiments.tables import AVERAGE, WORST, Board, Measured, TextTable
from ftt.params import Json, canonical
from ftt.report import charts
from ftt.version import __version__


def command(experiment: Experiment, ask: Ask) -> str:
    """What makes it again."""
    words = ["ftt reproduce", experiment.name, f"--budget {ask.budget}"]
    if len(experiment.datasets) > 1:
        words.append(f"--dataset {ask.dataset}")
    if ask.seeds is not None:
        words.append(f"--seeds {ask.seeds}")
    if ask.probe_seeds is not None:
        words.append(f"--probe-seeds {ask.probe_seeds}")
    return " ".join(words)


def stem(experiment: Experiment, ask: Ask) -> str:
    """The name of its files: the data set is part of it where there is a choice."""
    several = len(experiment.datasets) > 1 and ask.dataset != experiment.datasets[0]
    return f"{experiment.name}-{ask.dataset}" if several else experiment.name


def publish(experiment: Experiment, ask: Ask, board: Board, story: Story, folder: Path) -> list[Path]:
    """Write page, pictures and runs into a folder."""
    name = stem(experiment, ask)
    files = []
    for chart, drawn in story.charts.items():
        files += charts.save(drawn, folder, chart.replace(experiment.name, name, 1), formats=("png",))
    page = folder / f"{name}.md"
    page.parent.mkdir(parents=True, exist_ok=True)
    with replacing(page) as scratch:
        scratch.write_text(markdown(experiment, ask, board, story, [path.name for path in files], name))
    files.insert(0, page)
    if board.cells:
        runs = folder / f"{name}.jsonl"
        with replacing(runs) as scratch:
            scratch.write_text("".join(canonical(record) + "\n" for record in records(board)))
        files.append(runs)
    return files


def markdown(experiment: Experiment, ask: Ask, board: Board, story: Story, pictures: list[str], name: str) -> str:
    """The page: question, findings, pictures, tables, and how it was made."""
    lines = [f"# {experiment.title}", "", experiment.question, ""]
    if experiment.said:
        lines += [f"**The paper:** {experiment.said}", ""]
    if story.findings:
        lines += ["**Here:**", "", *(f"- {finding}" for finding in story.findings), ""]
    lines += [f"**Reduced against the paper:** {experiment.differs(ask)}.", ""]
    for picture in pictures:
        lines += [f"![{Path(picture).stem}]({picture})", ""]
    for table in story.tables:
        lines += [*_markdown_table(table), ""]
    lines += _how(experiment, ask, board, name)
    return "\n".join(lines) + "\n"


def records(board: Board) -> list[dict[str, Json]]:
    """One record a run: where it stands in the table, what it gave, how long it took, and its Spec."""
    return [
        {
            "row": m.cell.row,
            "column": m.cell.column,
            "run_id": result["run_id"],
            "seed": result["spec"]["seed"],
            WORST: result[WORST],
            AVERAGE: result[AVERAGE],
            "probe": result["probe"],
            "seconds": result["seconds"],
            "version": result["version"],
            "spec": result["spec"],
        }
        for m in board.cells
        for result in m.results
    ]


def _how(experiment: Experiment, ask: Ask, board: Board, name: str) -> list[str]:
    lines = [f"Command: `{command(experiment, ask)}`, ftt {__version__}."]
    if not board.cells:
        return lines
    missing = sum(len(m.cell.specs) - len(m.results) for m in board.cells)
    lines[0] += (
        f" {sum(len(m.results) for m in board.cells)} runs{f', {missing} failed' if missing else ''}; "
        f"every one with its Spec, seeds and times is in [{name}.jsonl]({name}.jsonl)."
    )
    lines += [
        "",
        "A cell is the mean ± standard error over training seeds, (training seeds × probe seeds), then the paper's "
        f"number and the difference; with one training seed there is no error. {_labels(board.cells)}",
    ]
    return lines


def _labels(cells: list[Measured]) -> str:
    kinds = {result["labels"] for m in cells for result in m.results}
    return f"Probed on noisy target data, judged on {' and '.join(sorted(kinds))} test labels."


def _markdown_table(table: TextTable) -> list[str]:
    return [
        f"**{table.title}**",
        "",
        "| " + " | ".join(table.columns) + " |",
        "|" + "---|" * len(table.columns),
        *("| " + " | ".join(row) + " |" for row in table.rows),
    ]
