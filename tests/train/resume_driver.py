"""Train in a child that is killed at random moments, again and again, until it gets through.

Run as a script by test_resume.py: a fresh process with one thread, from which children are forked, so that every
restart costs no imports. Prints how often the child was killed while training.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

import torch

import ftt.train.loop
from ftt.data import Roots
from ftt.experiments.runner import run
from ftt.spec import Spec
from ftt.store import Home


def child(spec: Spec, home: Path) -> int:
    """Fork a run of the Spec; returns the child's process id."""
    pid = os.fork()
    if pid == 0:
        try:
            run(spec, Home(home), Roots.from_environment())
        finally:
            os._exit(0 if Home(home).runs.find(spec) else 1)
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


def main(spec_path: str, home: str, kills: str) -> None:
    import json

    torch.set_num_threads(1)
    ftt.train.loop.CHECKPOINT_SECONDS = 0.0
    spec = Spec.from_description(json.loads(Path(spec_path).read_text()))
    moments = random.Random(int.from_bytes(spec.key.encode()[:4], "big"))
    killed = 0
    while killed < int(kills):
        pid = child(spec, Path(home))
        if not wait_for_checkpoints(Path(home), pid, moments.randint(1, 6)):
            break
        time.sleep(moments.uniform(0, 0.02))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        killed += 1
    pid = child(spec, Path(home))
    _, status = os.waitpid(pid, 0)
    sys.stdout.write(f"{killed}\n")
    raise SystemExit(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main(*sys.argv[1:])
