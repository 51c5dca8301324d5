"""The command line as tests call it."""

from __future__ import annotations

import json
import sys
import urllib.error
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ftt.cli import main


class Answer(NamedTuple):
    code: int
    out: str
    err: str


class Shell:
    """Calls the command line in this process, with folders of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: Path) -> None:
        self.monkeypatch, self.capsys, self.folder = monkeypatch, capsys, folder
        for variable in ("FTT_HOME", "FTT_CACHE", "FTT_DATA"):
            monkeypatch.setenv(variable, str(folder / variable))
        monkeypatch.setenv("COLUMNS", "160")

    def __call__(self, *arguments: object) -> Answer:
        self.monkeypatch.setattr(sys, "argv", ["ftt", *map(str, arguments)])
        self.capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            main()
        out, err = self.capsys.readouterr()
        code = end.value.code
        return Answer(code if isinstance(code, int) else 0 if code is None else 1, out, err)

    def refused(self, *arguments: object) -> str:
        """The message of a call that must end with exit 2, words and nothing on standard output."""
        answer = self(*arguments)
        assert answer.code == 2
        assert answer.out == ""
        assert "Traceback" not in answer.err
        return answer.err

    def json(self, *arguments: object) -> Any:
        answer = self(*arguments, "--json")
        assert answer.code == 0, answer.err
        return json.loads(answer.out, parse_constant=pytest.fail)


def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing can be fetched: no npm, and no server answers."""

    def refuse(*_: object, **__: object) -> None:
        raise urllib.error.URLError("no network")

    monkeypatch.setattr("shutil.which", lambda _: None)
    monkeypatch.setattr("urllib.request.urlopen", refuse)
