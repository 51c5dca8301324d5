"""Train in a child that is killed at random moments, again and again, until it gets through.

Run as a script by test_resume.py: a fresh process with one thread, from which children are forked, so that every
restart costs no imports. Prints how often the child was killed while training.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

import torch

import ftt.train.loop
from ftt.runs.runner import run_spec
from ftt.spec import Run, Spec
from ftt.store import Home


def child(run: Run, home: Home) -> int:
    """Fork the run; returns the child's process id."""
    pid = os.fork()
    if pid == 0:
        try:
            run_spec(run.spec, home)
        finally:
            os._exit(0 if home.runs.find(run) else 1)
    return pid


def wait_for_checkpoints(home: Path, pid: int, count: int) -> bool:
    """Until the child wrote `count` checkpoints; False if it ended before."""
    seen, last = 0, -1
    while seen < count:
        for path in home.glob("checkpoints/*/last.safetensors"):
            try:
                stamp = path.stat().st_mtime_ns
            except FileNotFoundError:
                continue
            seen, last = seen + (stamp != last), stamp
        if os.waitpid(pid, os.WNOHANG)[0]:
            return False
        time.sleep(0.0005)
    return True


def main(spec_path: str, folder: str, kills: str) -> None:
    torch.set_num_threads(1)
    ftt.train.loop.CHECKPOINT_SECONDS = 0.0
    home = Home(Path(folder))
    run = Spec.from_description(json.loads(Path(spec_path).read_text())).identify(home.roots)
    moments = random.Random(int.from_bytes(run.key.encode()[:4], "big"))
    killed = 0
    while killed < int(kills):
        pid = child(run, home)
        if not wait_for_checkpoints(home.root, pid, moments.randint(1, 6)):
            break
        time.sleep(moments.uniform(0, 0.02))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        killed += 1
    pid = child(run, home)
    _, status = os.waitpid(pid, 0)
    sys.stdout.write(f"{killed}\n")
    raise SystemExit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main(*sys.argv[1:])
