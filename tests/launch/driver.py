"""Run the twelve in a process of its own, which a test may kill: `driver.py HOME WORKERS`. Prints what it computed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from ftt.launch import Resources, launch
from ftt.store import Home

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.launch.twelve import TWELVE


def main(home: str, workers: str) -> None:
    outcomes = launch(TWELVE, Home(Path(home)), resources=Resources(int(workers), threads=1))
    computed = [one.run.id for one in outcomes if one.result and not one.result.from_store]
    sys.stdout.write(json.dumps(computed) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
