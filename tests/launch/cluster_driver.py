"""Run the twenty-four on the cluster of RAY_ADDRESS: `cluster_driver.py HOME shared|apart`. Prints what happened.

Apart: no node sees the home folder, as if each had a disk of its own.
"""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from unittest.mock import patch

from ftt.launch import Resources, launch
from ftt.launch import ray as on_ray
from ftt.progress import shown_on
from ftt.store import Home

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.heard import Heard
from tests.launch.twelve import TWENTY_FOUR


def main(home: str, disks: str) -> None:
    unseen = patch.object(on_ray, "seen_by", lambda home: contextlib.nullcontext("a file that is not there"))
    disk = unseen if disks == "apart" else contextlib.nullcontext()
    # Every step of every loop is told.
    with patch.object(on_ray, "EVERY", 0.0), disk, shown_on(heard := Heard()):
        outcomes = launch(TWENTY_FOUR, Home(Path(home)), on="ray", resources=Resources(threads=1))
    failed = [one.error for one in outcomes if one.error]
    trained = sorted({who for who, at in heard.reported if at is not None and at.label == "training"})
    sys.stdout.write(json.dumps({"failed": failed, "said": heard.said, "trained": trained}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
