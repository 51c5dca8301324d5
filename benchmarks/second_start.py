"""The second start of a finished run: what it costs that keys are made of content, where nothing was touched.

Two arms of `ftt run`, each in processes of its own that take turns: one identifies files by their content, as the
library does; the other by their names alone. Both find a finished run in the store.
"""

from __future__ import annotations

import csv
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from shutil import copytree
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.reading import write_images
from ftt.data import Roots
from ftt.data.checksums import SETTLED_NS, Checksums
from ftt.runs.compose import compose
from ftt.runs.runner import run_spec
from ftt.store import Home

ARMS = ("content", "names")
Options = dict[str, Any]


def placed_folder(folder: Path, count: int) -> Options:
    """Waterbirds' layout: a list and the images it names."""
    root = folder / "data" / "waterbirds"
    root.mkdir(parents=True)
    write_images(root, count)
    header = ("img_id", "img_filename", "y", "split", "place")
    _write_csv(root / "metadata.csv", header, ((n, f"{n}.jpg", n % 2, n % 3, n // 2 % 2) for n in range(count)))
    return {"dataset": "waterbirds"}


def image_list(folder: Path, count: int) -> Options:
    """A list of images."""
    write_images(folder, count)
    rows = ((f"{n}.jpg", n % 2, n // 2 % 2, ("train", "val", "test")[n % 3]) for n in range(count))
    _write_csv(folder / "list.csv", ("path", "y", "attribute", "split"), rows)
    return {"dataset": "manifest", "path": str(folder / "list.csv")}


def hub_folder(folder: Path, count: int) -> Options:
    """A folder of `save_to_disk` whose Arrow files hold 20 kB a row."""
    import datasets

    datasets.disable_progress_bars()
    rng = np.random.default_rng(0)
    cells = {"image": [rng.bytes(20_000) for _ in range(count)], "label": np.arange(count) % 2}
    datasets.Dataset.from_dict(cells).save_to_disk(str(folder / "own"))
    return {"dataset": "huggingface", "path": str(folder / "own")}


def encoder_folder(folder: Path, _: int) -> Options:
    """A text encoder in a folder of its own: MiniLM."""
    from ftt.backbones.hf_folder import locate

    copytree(locate("minilm"), folder / "encoder")
    _write_csv(folder / "texts.csv", ("text", "y", "attribute"), ((f"row {n}", n % 2, n // 2 % 2) for n in range(100)))
    texts = {"dataset": "manifest", "path": str(folder / "texts.csv"), "text": "text"}
    return {**texts, "backbone": f"hf:{folder / 'encoder'}"}


def weight_file(folder: Path, _: int) -> Options:
    """The weights of a ResNet-18 in a local file."""
    from safetensors.torch import save_file

    from ftt.backbones.torchvision_guard import ensure_torchvision_imports

    ensure_torchvision_imports()
    import timm

    save_file(timm.create_model("resnet18", pretrained=False).state_dict(), folder / "resnet18.safetensors")
    return {"dataset": "digits", "backbone": "timm:resnet18", "weights": str(folder / "resnet18.safetensors")}


KINDS: dict[str, Callable[[Path, int], Options]] = {
    "placed folder": placed_folder,
    "list of images": image_list,
    "Hugging Face folder": hub_folder,
    "hf:FOLDER": encoder_folder,
    "--weights FILE": weight_file,
}


def _write_csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(header)
        table.writerows(rows)


def identified_by(arm: str) -> AbstractContextManager[Any]:
    """How files are identified inside the block."""
    return nullcontext() if arm == "content" else patch.object(Checksums, "of", lambda _, root, names: list(names))


def plant(options: Options, home: Home, model: Any) -> float:
    """A finished run under the key of each arm; CPU seconds of the first look at the files."""
    first = time.process_time()
    run = compose(options).identify(home.roots)
    first = time.process_time() - first
    for arm in ARMS:
        with identified_by(arm):
            run = compose(options).identify(home.roots)
        home.runs.finish(run, replace(model, run=run))
    return first


def start(arm: str, words: Sequence[str]) -> None:
    """One start: `ftt` with these words."""
    from ftt.cli import main

    sys.argv = ["ftt", *words]
    with identified_by(arm):
        main()


def cpu_seconds(arm: str, options: Options, home: Home) -> float:
    """CPU time of a start from beginning to end, in a process of its own."""
    flags = [word for name, value in options.items() if name != "dataset" for word in (f"--{name}", str(value))]
    words = ["run", options["dataset"], *flags, "--home", str(home.root)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    told = subprocess.run(
        [sys.executable, "-m", "benchmarks.second_start", arm, *words],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "FTT_CACHE": str(home.roots.cache), "FTT_DATA": str(home.roots.data)},
    )
    assert "from the store" in told.stdout, told.stdout
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(kind: str, count: int, pairs: int, scratch: Path, model: Any) -> dict[str, Any]:
    """The row of one kind of files."""
    scratch.mkdir()
    options = {**KINDS[kind](scratch, count), "recipe": "init"}
    home = Home(scratch / "home", Roots(scratch / "cache", scratch / "data"))
    # What changed just now is read again, lest a second change in the same instant go unnoticed.
    time.sleep(2 * SETTLED_NS / 1e9)
    first = plant(options, home, model)
    taken = [[cpu_seconds(arm, options, home) for arm in ARMS] for _ in range(pairs)]
    content, names = (statistics.median(side) for side in zip(*taken, strict=True))
    keying = {arm: statistics.median(_keying(arm, options, home) for _ in range(5)) for arm in ARMS}
    files = [file for file in scratch.rglob("*") if file.is_file() and not file.is_relative_to(home.roots.cache)]
    size = sum(file.stat().st_size for file in files) / 1e6
    return {
        "stage": f"second start of a finished run: {kind}",
        "baseline": "a start that identifies files by their names",
        "ratio": round(content / names, 3),
        "floor": "<= 1.2x",
        "quality": f"{len(files):,} files, {size:,.0f} MB; {content:.2f} s of CPU beside {names:.2f} s, "
        f"medians of {pairs}; the key alone {1000 * keying['content']:.1f} ms beside {1000 * keying['names']:.1f} ms, "
        f"{first:.2f} s when the files were new",
    }


def _keying(arm: str, options: Options, home: Home) -> float:
    spec, begun = compose(options), time.process_time()
    with identified_by(arm):
        spec.identify(home.roots)
    return time.process_time() - begun


def rows(quick: bool) -> Iterator[dict[str, Any]]:
    """One row per kind of files."""
    count, pairs = (500, 1) if quick else (10_000, 5)
    with tempfile.TemporaryDirectory() as scratch:
        model = run_spec(compose({"dataset": "digits", "recipe": "init"}), Home(Path(scratch) / "model"))
        for n, kind in enumerate(KINDS):
            yield measure(kind, count, pairs, Path(scratch) / f"{n}", model)


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in ARMS:
        start(sys.argv[1], sys.argv[2:])
    else:
        for row in rows(quick="--quick" in sys.argv):
            print(row, flush=True)
