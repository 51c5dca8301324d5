"""Coverage-guided fuzzing of the readers: ``python -m tests.fuzz --minutes 10``.

An input that ends in neither a value nor words is kept in the folder of the corpus, one per place of the error; the
exit code is then 1. An input that takes over ten seconds ends the fuzzing.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--corpus", type=Path, default=Path("build/fuzz"), help="kept from one time to the next")
    given = parser.parse_args()
    try:
        import atheris
    except ImportError:
        sys.exit("fuzzing needs the extra [fuzz]: pip install -e '.[fuzz]'")
    with atheris.instrument_imports(include=["ftt"]):
        from tests.fuzz.readers import NAMES, examples, feed

    inputs = given.corpus / "inputs"
    inputs.mkdir(parents=True, exist_ok=True)
    for name, goods in examples().items():
        for n, good in enumerate(goods):
            (inputs / f"{name.replace(' ', '-')}-{n}").write_bytes(good)
    ends: Counter[tuple[str, str]] = Counter()
    found: dict[str, str] = {}
    end_at = time.monotonic() + 60 * given.minutes
    with tempfile.TemporaryDirectory() as scratch:

        def one(data: bytes) -> None:
            name = NAMES[data[0] % len(NAMES)] if data else "empty"
            try:
                ends[name, feed(data, Path(scratch))] += 1
            except Exception as error:
                ends[name, "finding"] += 1
                frames = traceback.extract_tb(error.__traceback__)
                last = [frame for frame in frames if f"{os.sep}ftt{os.sep}" in frame.filename] or frames
                place = f"{name}: {type(error).__name__} at {Path(last[-1].filename).name}:{last[-1].lineno}"
                if place not in found:
                    found[place] = str(error)[:200]
                    (given.corpus / f"finding-{len(found)}").write_bytes(data)
            if time.monotonic() > end_at:
                _finish(ends, found)

        options = ["-timeout=10", "-rss_limit_mb=3000", "-max_len=20000", f"-artifact_prefix={given.corpus}/"]
        atheris.Setup([sys.argv[0], *options, str(inputs)], one)
        atheris.Fuzz()


def _finish(ends: Counter[tuple[str, str]], found: dict[str, str]) -> None:
    """Say what was tried and found, and end the process, which libFuzzer would not do with an exit code of ours."""
    lines = [f"{sum(ends.values())} inputs"]
    lines += [f"  {name}: {count} {end}" for (name, end), count in sorted(ends.items())]
    lines += [f"{len(found)} findings", *(f"  {place}: {text}" for place, text in found.items())]
    sys.stderr.write("\n".join(lines) + "\n")
    sys.stderr.flush()
    os._exit(bool(found))


if __name__ == "__main__":
    main()
