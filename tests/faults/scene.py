"""The work that is disturbed, as functions of a folder, and what must be equal afterwards."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
from PIL import Image

import ftt
from ftt import api, checked, registry
from ftt.data import Roots
from ftt.data.fetch import Bundle, Collection, RemoteFile
from ftt.data.folders import Folder
from ftt.errors import FttError
from ftt.launch import Resources
from ftt.recipe import preset
from ftt.runs.runner import run_spec
from ftt.spec import Probing, Spec, Training
from ftt.store import Home
from ftt.store.checked_json import read_checked
from ftt.train import saved

ONE = Resources(workers=1, threads=1)
PUBLISHED = b"what was published " * 50_000
TIMES = ("seconds", "from_store")


def home_of(folder: Path) -> Home:
    return Home(folder / "home", Roots(folder / "cache", None))


def write_images(folder: Path) -> Path:
    """96 small images in two classes and two groups."""
    rng = np.random.default_rng(0)
    for split in ("train", "val", "test"):
        for label in ("cat", "dog"):
            for attribute in ("day", "night"):
                place = folder / split / label / attribute
                place.mkdir(parents=True)
                for number in range(8):
                    pixels = rng.integers(0, 200, (20, 20, 3)) + (40 if label == "cat" else 0)
                    Image.fromarray(pixels.astype(np.uint8)).save(place / f"{number}.png")
    return folder


def spec_of(images: Path) -> Spec:
    """Frozen and trained features of images; a few steps of training, a short probe."""
    return Spec(
        data=Folder(path=str(images), size=16),
        backbone="tinyconv",
        recipe=preset("ftt"),
        train=Training(epochs=3, batch_size=8),
        probe=Probing(repeats=1, averages=2),
    )


def run(folder: Path, images: Path) -> None:
    """Decode, extract, freeze, train, probe."""
    run_spec(spec_of(images), home_of(folder))


def sweep(folder: Path, images: Path) -> None:
    base = {"dataset": "digits", "budget": "smoke", "epochs": 1, "backbone": "identity"}
    done = api.sweep({"base": base, "grid": {"p": [0.25, 0.5]}}, home=home_of(folder), resources=ONE)
    if done.failed:
        raise FttError("runs failed", given=[outcome.error for outcome in done.outcomes])


def publish(folder: Path, images: Path) -> None:
    if "small" not in registry.EXPERIMENTS.entries():
        registry.EXPERIMENTS.register("small", "tests.cli.small_experiment:SMALL")
    made = api.reproduce("small", budget="smoke", home=home_of(folder), out=folder / "out", resources=ONE)
    if made.failures:
        raise FttError("runs failed", given=list(made.failures.values()))


def save(folder: Path, images: Path) -> None:
    """A new model over an old one, several times."""
    for p in (0.25, 0.5, 0.25, 0.5):
        save_one(folder, p)


def save_one(folder: Path, p: float) -> None:
    data = ftt.load("digits")
    features, target = ftt.fit(data, ftt.Recipe(ftt.PCA(p=p), None), "identity"), data["val"]
    probe = ftt.DFRProbe(repeats=1, averages=2).fit(features.transform(target), target.y, attribute=target.a)
    ftt.Model.of(features, probe, data).save(folder / "model")


def fetch(folder: Path, images: Path) -> None:
    """A file from a loopback server that sends it piece by piece."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(PUBLISHED)))
            self.end_headers()
            for start in range(0, len(PUBLISHED), 1 << 15):
                self.wfile.write(PUBLISHED[start : start + (1 << 15)])
                time.sleep(0.005)

        def log_message(self, *_: object) -> None:
            return None

    os.environ["no_proxy"] = "*"
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    source = f"http://127.0.0.1:{server.server_address[1]}/file.bin"
    file = RemoteFile("file.bin", hashlib.sha256(PUBLISHED).hexdigest(), source)
    home = home_of(folder)
    home.runs  # noqa: B018 (a store that is opened is swept)
    Collection("things", (Bundle((file,)),)).obtain(home.roots)
    server.shutdown()


SCENES: dict[str, Callable[[Path, Path], None]] = {
    "run": run,
    "sweep": sweep,
    "publish": publish,
    "save": save,
    "fetch": fetch,
}


def contents(folder: Path) -> dict[str, Any]:
    """Everything that must be bit-equal, by name: artifacts, results without their times, pages, the saved model."""
    home = home_of(folder)
    found: dict[str, Any] = {}
    for path in sorted(home.artifacts.root.glob("*/*/*.safetensors")):
        arrays, notes = checked.load(path)
        found[str(path.relative_to(folder))] = checked.digest_of(arrays, json.dumps(notes, sort_keys=True))
    for path in sorted(home.runs.root.glob("*/result.json")):
        text = read_checked(path)
        found[str(path.relative_to(folder))] = {name: value for name, value in text.items() if name not in TIMES}
    for path in sorted((folder / "cache").rglob("*.bin")):
        found[str(path.relative_to(folder))] = path.read_bytes()
    for path in sorted((folder / "out").glob("*")):
        found[f"out/{path.name}"] = path.read_bytes() if path.suffix != ".jsonl" else None
    for path in sorted((folder / "model").glob("*")):
        found[f"model/{path.name}"] = model_weights(folder) if path.name == saved.WEIGHTS else path.read_bytes()
    return found


def model_weights(folder: Path) -> str:
    """A digest of the saved model's weights, if they and its config are as they were written."""
    return checked.digest_of(saved.read(folder / "model")[1], "")


def unfinished(folder: Path) -> list[Path]:
    """Scratch files and folders, wherever they are."""
    return [path for path in folder.rglob(".*") if path.name.endswith(".unfinished")]
