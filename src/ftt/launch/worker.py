"""One Spec in a worker: run it, or keep the traceback and say in one line what went wrong.

As a program (`python -m ftt.launch.worker`) it takes orders as JSON lines on its standard input and answers with JSON
lines on its standard output, one run after another, until its input ends. Nothing is pickled.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
import traceback
from pathlib import Path
from typing import Any, TextIO

from ftt import threads
from ftt.data.roots import Roots
from ftt.errors import FttError
from ftt.freed_memory import collect_seldom, reuse_freed_memory
from ftt.launch.launcher import Ended
from ftt.launch.messages import Messages
from ftt.params import Json
from ftt.progress import shown_on
from ftt.result import Result
from ftt.spec import Run, Spec
from ftt.stopping import Stopped
from ftt.store import Home


def attempt(spec: Spec, home: Home) -> dict[str, Json]:
    """Run a Spec: its ``result`` in its written form, or its ``error`` in one line and the ``traceback``."""
    # Imported here: a process that only starts workers needs no torch.
    from ftt.runs.runner import run_spec

    try:
        return {"result": run_spec(spec, home).to_json()}
    except Exception as error:
        return failure(error)


def answered(index: int, answer: dict[str, Any], attempts: int = 1) -> Ended:
    """What a worker's answer says about run number `index`."""
    result = Result.from_json(answer["result"]) if answer["result"] is not None else None
    return Ended(index, result, answer.get("error"), answer.get("traceback", ""), attempts)


def failure(error: Exception) -> dict[str, Json]:
    """What a worker answers when a run failed; call it where the error was caught."""
    return {"result": None, "error": in_one_line(error), "traceback": traceback.format_exc()}


def in_one_line(error: BaseException) -> str:
    """The message of an error, with its type if it is not an FttError."""
    words = " · ".join(line.strip() for line in str(error).splitlines() if line.strip())
    return words if isinstance(error, FttError) else f"{type(error).__name__}: {words}"


def order(run: Run, home: Home) -> dict[str, Json]:
    """All a worker has to know, as plain JSON. Paths are absolute: a worker may be in another folder."""
    return {
        "spec": run.spec.describe(),
        "home": str(home.root.resolve()),
        "cache": str(home.roots.cache.resolve()),
        "data": str(home.roots.data.resolve()) if home.roots.data else None,
    }


def carry_out(given: dict[str, Any], root: Path | None = None) -> dict[str, Json]:
    """Do what an order says: make shards of features, or `attempt` a run, below another root if one is given."""
    if "features" in given:
        return _make_shards(given)
    roots = Roots(Path(given["cache"]), Path(given["data"]) if given["data"] else None)
    try:
        spec = Spec.from_description(given["spec"])
    except FttError as error:
        # The driver knows a data set or method that this process does not.
        return failure(error)
    return attempt(spec, Home(root or Path(given["home"]), roots))


def _make_shards(given: dict[str, Any]) -> dict[str, Json]:
    from ftt.launch.extraction import make_shards  # A worker that only runs Specs needs none of this.

    try:
        return make_shards(given)
    except Exception as error:
        return failure(error)


class Wire(Messages):
    """A display at the other end of a pipe."""

    def __init__(self, sink: TextIO) -> None:
        self.sink = sink

    def send(self, message: dict[str, Any]) -> None:
        self.sink.write(json.dumps(message) + "\n")
        self.sink.flush()


def main() -> None:
    """Carry out orders until standard input ends."""
    # Ctrl-C reaches the whole group of processes; it is the driver that ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    reuse_freed_memory()
    collect_seldom()
    # Standard output is the wire; whatever a library prints goes to standard error.
    wire = Wire(os.fdopen(os.dup(1), "w", encoding="utf-8"))
    os.dup2(2, 1)
    orders: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_listen, args=(orders,), daemon=True).start()
    import torch  # noqa: F401 (`limited_to` sets the threads of what is loaded)

    if orders.empty():
        import ftt.runs.runner  # noqa: F401 (started ahead: most likely for runs)

    with threads.limited_to(int(os.environ["OMP_NUM_THREADS"])), shown_on(wire):
        while True:
            order_given = json.loads(orders.get())
            try:
                wire.send(carry_out(order_given))
            except (Stopped, KeyboardInterrupt):
                # The driver ends its workers with SIGTERM; a training has saved its checkpoint by now.
                os._exit(128 + signal.SIGTERM)


def _listen(orders: queue.Queue[str]) -> None:
    """Queue orders; exit when the driver is gone, since unfinished work is on disk and can be resumed."""
    for line in sys.stdin:
        orders.put(line)
    os._exit(0)


if __name__ == "__main__":
    main()
