"""Do the work of a scene in children that are killed at random moments, until enough of them were.

Run as a script by test_kills.py: a fresh process with one thread, from which children are forked, so that no restart
costs imports. Half of the kills come at a random file event of the child (open for writing, rename, remove, new
folder), half at a random time. Prints one JSON object: kills by stage, orphans seen after kills, and what went wrong.
"""

from __future__ import annotations

import json
import mmap
import os
import random
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import ftt.runs.runner
import ftt.store.home
import ftt.train.loop
from ftt.store.verify import verify
from tests.faults.scene import SCENES, contents, home_of, model_weights, save_one, unfinished, write_images

STAGES = {"decoded": "decode", "features": "extract", "moments": "freeze", "basis": "freeze", "trained": "train"}
STAGES |= {"checkpoints": "train", "train.jsonl": "train", "result.json": "probe"}
EVENTS = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "open"}
NAMES = ["start", *dict.fromkeys(STAGES.values())]
SHARED = mmap.mmap(-1, 1 << 16)
"""What a child tells: the number of file events so far (8 bytes), its stage (32 bytes), the stage of every event."""


def tell(events: int, stage: str | None = None) -> None:
    SHARED[:8] = events.to_bytes(8, "big")
    if stage is not None:
        SHARED[8:40] = stage.encode().ljust(32)


def events_by_stage() -> list[list[int]]:
    """The numbers of the file events of the child before, by the stage in which they came."""
    count = int.from_bytes(SHARED[:8], "big")
    stages = [[n for n in range(1, count + 1) if SHARED[64 + n] == code] for code in range(len(NAMES))]
    return [numbers for numbers in stages if numbers]


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def watch(folder: Path, stage: str | None, last: int | None, act: Callable[[], None] = die) -> None:
    """Count the file events of this process below a folder; at number `last` act, which is: kill it."""
    count, below, code = 0, str(folder), 0

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal count, code
        if event not in EVENTS or (event == "open" and not arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)):
            return
        path = os.fsdecode(arguments[0]) if isinstance(arguments[0], str | bytes | os.PathLike) else ""
        if not path.startswith(below):
            return
        count += 1
        found = next((name for word, name in STAGES.items() if word in path), None)
        code = NAMES.index(found) if found else code
        SHARED[64 + count] = code
        tell(count, stage or found)
        if count == last:
            act()

    sys.addaudithook(hook)


def child(work: Callable[[], None], folder: Path, stage: str | None, last: int | None = None) -> int:
    """Fork the work; returns the child's process id."""
    tell(0, stage or "start")
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            ftt.store.home._TIDIED.clear()
            watch(folder, stage, last)
            work()
            code = 0
        except BaseException as error:
            sys.stderr.write(f"{type(error).__name__}: {error}\n")
        finally:
            os._exit(code)
    return pid


def ended(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def mark_probing(stage: str | None) -> None:
    """Probing writes nothing before its end; its stage is told when it begins."""
    before = ftt.runs.runner.probe_features

    def marked(*arguments: Any) -> Any:
        tell(int.from_bytes(SHARED[:8], "big"), stage or "probe")
        return before(*arguments)

    setattr(ftt.runs.runner, "probe_features", marked)  # noqa: B010 (of another type)


def main(folder: str, kills: str, seed: str) -> None:
    torch.set_num_threads(1)
    ftt.train.loop.CHECKPOINT_SECONDS = 0.0
    root, moments, hit = Path(folder), random.Random(int(seed)), Counter[str]()
    images = write_images(root / "images")
    wrong: list[str] = []
    orphans = rounds = 0
    plain: dict[str, tuple[dict[str, Any], list[list[int]], float]] = {}
    for name, scene in SCENES.items():
        start = time.monotonic()
        place = root / name
        if ended(child(lambda s=scene, p=place: s(p, images), place, None)):  # type: ignore[misc]
            wrong.append(f"{name}: the undisturbed work failed")
        plain[name] = contents(place), events_by_stage(), time.monotonic() - start
    mark_probing(None)
    save_one(root / "first", 0.25)
    models = {name: model_weights(root / name) for name in ("save", "first")}.values()
    while sum(hit.values()) < int(kills):
        # Most stages are those of a run.
        name = ("run", "sweep", "fetch", "run", "publish", "run", "save")[rounds % 7]
        scene, (wanted, events, seconds) = SCENES[name], plain[name]
        place, stage, rounds = root / f"{name}-{rounds}", None if name == "run" else name, rounds + 1

        def work(scene: Any = scene, place: Path = place) -> None:
            scene(place, images)

        there = False
        for _ in range(3):
            if moments.random() < 0.5:
                pid = child(work, place, stage, moments.choice(moments.choice(events)))
            else:
                pid = child(work, place, stage)
                time.sleep(moments.uniform(0, seconds))
                os.kill(pid, signal.SIGKILL)
            if ended(pid) == -signal.SIGKILL:
                hit[SHARED[8:40].decode().strip()] += 1
                orphans += len(unfinished(place))
            # A model that was there once is there after every kill, whole.
            if there and not (place / "model").is_dir():
                wrong.append(f"{place.name}: the saved model is gone")
            there = (place / "model").is_dir()
            if there and model_weights(place) not in models:
                wrong.append(f"{place.name}: the saved model is neither the old nor the new one")
        if ended(child(work, place, stage)):
            wrong.append(f"{place.name}: does not finish after kills")
        if contents(place) != wanted:
            odd = {k for k in {*wanted, *contents(place)} if wanted.get(k) != contents(place).get(k)}
            wrong.append(f"{place.name}: differs in {sorted(odd)}")
        wrong += [f"{path}: left behind" for path in unfinished(place)]
        wrong += [f"{damage.path}: {damage.reason}" for damage in verify(home_of(place)).damage]
        shutil.rmtree(place)
    sys.stdout.write(json.dumps({"kills": hit, "rounds": rounds, "orphans": orphans, "wrong": wrong}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
