"""The twelve runs done one after another in this process: what every other way has to equal."""

from __future__ import annotations

from typing import Any

import pytest

from ftt.launch import Resources, launch
from ftt.store import Home
from tests.launch.twelve import TWELVE, numbers


@pytest.fixture(scope="session")
def expected(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    home = Home(tmp_path_factory.mktemp("one-after-another"))
    return numbers(launch(TWELVE, home, resources=Resources(workers=1, threads=1)))
