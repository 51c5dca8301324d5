"""Work on a disk that fills up at a file event, and on one that may not be written to.

Run as a script by test_disks.py. The disk is a small tmpfs, which takes root. Prints one JSON object: full disks by
stage, the outcomes on read-only folders, and what went wrong.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import torch

import ftt
import ftt.cli
import ftt.store.home
import ftt.train.loop
from ftt.errors import FttError, as_ftt_error
from ftt.store.verify import verify
from tests.faults.kill_driver import SHARED, ended, events_by_stage, mark_probing, tell, watch
from tests.faults.scene import SCENES, contents, home_of, model_weights, unfinished, write_images

SMALL = ["--size", "16", "--backbone", "tinyconv", "--epochs", "3", "--batch-size", "8"]
SMALL += ["--repeats", "1", "--averages", "2", "--threads", "1"]
NOBODY = 65534


def fill(disk: Path) -> None:
    """Leave no room at all."""
    handle = os.open(disk / "filler", os.O_WRONLY | os.O_CREAT)
    for block in (b"\0" * 65536, b"\0"):
        with suppress(OSError):
            while os.write(handle, block):
                pass
    os.close(handle)


Work = Callable[[Path], None]


def command(*words: str) -> Work:
    """A command of ftt in a home and a cache below a folder."""

    def work(folder: Path) -> None:
        sys.argv = ["ftt", *words, "--home", str(folder / "home")]
        sys.argv += ["--cache", str(folder / "cache")] if words[0] == "run" else []
        ftt.cli.main()

    return work


def scene(name: str, images: Path) -> Work:
    """A scene in Python, where an error ends with exit code 2 as on the command line."""

    def work(folder: Path) -> None:
        try:
            SCENES[name](folder, images)
        except (FttError, OSError) as error:
            ftt.cli._end(str(as_ftt_error(error)), 2)

    return work


def done(work: Work, folder: Path, messages: Path, full_at: int | None = None, user: int = 0) -> int:
    """Do work in a child; its exit code. What it says goes to a file."""
    tell(0, "start")
    pid = os.fork()
    if pid == 0:
        code = 99
        try:
            sink = os.open(messages, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
            os.dup2(sink, 1)
            os.dup2(sink, 2)
            ftt.store.home._TIDIED.clear()
            watch(folder, None, full_at, lambda: fill(folder))
            if user:
                os.setuid(user)
            work(folder)
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0
        except BaseException as error:
            os.write(2, f"Traceback: {type(error).__name__}: {error}\n".encode())
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    return ended(pid)


def main(folder: str, cases: str, seed: str) -> None:
    torch.set_num_threads(1)
    ftt.train.loop.CHECKPOINT_SECONDS = 0.0
    mark_probing(None)
    root, wrong = Path(folder), list[str]()
    root.chmod(0o755)
    images, said, disk = write_images(root / "images"), root / "said.txt", root / "disk"
    run = command("run", "folder", "--path", str(images), *SMALL)
    works = {"run": run, **{name: scene(name, images) for name in ("sweep", "publish", "save")}}
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(disk)], check=True)
    try:
        full, moments = Counter[str](), random.Random(int(seed))
        for name, work in works.items():
            full += full_disks(name, work, disk, said, wrong, int(cases) // len(works), moments)
        outcomes = read_only(run, disk, said, wrong)
    finally:
        subprocess.run(["umount", str(disk)], check=True)
    sys.stdout.write(json.dumps({"full": full, "read_only": outcomes, "wrong": wrong}) + "\n")


def full_disks(
    name: str, work: Work, disk: Path, said: Path, wrong: list[str], cases: int, moments: random.Random
) -> Counter[str]:
    """Fill the disk at events of every stage; afterwards, with room again, the same work ends in the same bits."""
    full = Counter[str]()
    if done(work, disk, said) != 0:
        wrong.append(f"{name}: the undisturbed work failed: {said.read_text()[-300:]}")
    wanted, stages = contents(disk), events_by_stage()
    empty(disk)
    share = max(1, cases // len(stages))
    for place in [n for numbers in stages for n in sorted(moments.sample(numbers, min(share, len(numbers))))]:
        code = done(work, disk, said, full_at=place)
        stage, text = SHARED[8:40].decode().strip() if name == "run" else name, said.read_text()
        full[f"{stage}: {'refused' if code == 2 else 'ran without room' if code == 0 else 'failed'}"] += 1
        if code not in (0, 2) or "Traceback" in text or (code == 2 and "no space left" not in text.lower()):
            wrong.append(f"{name}, full at event {place} ({stage}): exit {code}, {text[-300:]}")
        (disk / "filler").unlink(missing_ok=True)
        if (disk / "model").is_dir():
            model_weights(disk)
        if done(work, disk, said) != 0 or contents(disk) != wanted:
            wrong.append(f"{name}, full at event {place} ({stage}): not the same later: {said.read_text()[-300:]}")
        wrong += [f"{path}: left behind" for path in unfinished(disk)]
        wrong += [f"{damage.path}: {damage.reason}" for damage in verify(home_of(disk)).damage]
        empty(disk)
    return full


def empty(disk: Path) -> None:
    for path in disk.iterdir():
        shutil.rmtree(path)


def open_to_all(path: Path) -> bool:
    """Whether a user without rights of his own may read this."""
    return all(
        place.stat().st_mode & 0o5 == 0o5 for place in (path.resolve(), *path.resolve().parents) if place.is_dir()
    )


def read_only(run: Work, disk: Path, said: Path, wrong: list[str]) -> dict[str, int]:
    """Nothing new can be run where nothing may be written; what is stored can be read."""
    outcomes = {}

    def expect(name: str, work: Work, code: int, reason: str, user: int = 0) -> None:
        outcomes[name] = done(work, disk, said, user=user)
        text = said.read_text()
        if outcomes[name] != code or reason not in text or "Traceback" in text:
            wrong.append(f"{name}: exit {outcomes[name]}, {text[-300:]}")

    for state in ("empty", "complete"):
        if state == "complete" and done(run, disk, said) != 0:
            wrong.append("the run before the disk became read-only failed")
        code, reason = (2, "read-only") if state == "empty" else (0, "from the store")
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        expect(f"EROFS, {state}: run", run, code, reason)
        for word in ("status", "results") if state == "complete" else ():
            expect(f"EROFS, {state}: {word}", command(word), 0, "")
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
        if not open_to_all(Path(sys.prefix)) or not open_to_all(Path(ftt.__file__)):
            outcomes[f"EACCES, {state}: skipped, another user cannot import the library here"] = 0
            continue
        disk.chmod(0o555)
        said.chmod(0o666)
        reason = "permission denied" if state == "empty" else reason
        expect(f"EACCES, {state}: run", run, code, reason, user=NOBODY)
        disk.chmod(0o755)
    return outcomes


if __name__ == "__main__":
    main(*sys.argv[1:])
