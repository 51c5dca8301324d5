"""The way through the house as docs/architecture.md tells it: every function it names can be opened."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

TEXT = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
STEPS = [line for line in TEXT.splitlines() if re.match(r"\| \d+ \|", line)]
NAMED = sorted({name for line in STEPS for name in re.findall(r"`(ftt\.[\w.]+)`", line)})


def test_there_are_at_most_twelve_steps_each_with_a_function() -> None:
    assert 1 < len(STEPS) <= 12
    assert all("`ftt." in line for line in STEPS)


@pytest.mark.parametrize("name", NAMED)
def test_every_function_of_the_way_can_be_opened(name: str) -> None:
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for attribute in parts[cut:]:
            found = getattr(found, attribute)
        assert callable(found)
        return
    pytest.fail(f"{name} is not there")


def test_every_room_named_in_the_table_exists() -> None:
    rooms = re.findall(r"^\| `([a-z_]+/|[a-z_]+\.py)`", TEXT, flags=re.MULTILINE)
    source = Path(__file__).parents[1] / "src" / "ftt"
    assert len(rooms) > 10
    assert all((source / room).exists() for room in rooms), rooms
