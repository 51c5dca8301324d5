"""Input that is invalid or too expensive ends in an error that names the value and the limit, at once."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from ftt.cli.theory import app
from ftt.errors import FttError
from ftt.theory import Mechanism, Setting, Start, figure_3, flow, follow, phase_diagram, sgd, xavier_start
from ftt.theory.curves import curves
from ftt.theory.phases import Network, sweep_p
from ftt.theory.surveys import random_settings, survey

NAN, INF = float("nan"), float("inf")
HUGE = "9" * 400

COMMANDS = [
    ("flow --eta-core 1e200", "eta_core"),
    ("flow --eta-core nan", "eta_core"),
    ("flow --eta-core=-1", "eta_core"),
    ("flow --eta-core 0", "eta_core"),
    ("flow --eta-spu inf", "eta_spu"),
    ("flow --eta-spu 1e-300", "eta_spu"),
    ("flow --d1 1000000000", "too many input dimensions"),
    ("flow --d2 1000000000", "too many input dimensions"),
    (f"flow --d1 {HUGE}", "too many input dimensions"),
    (f"flow --seed {HUGE}", "seed is out of range"),
    (f"bounds --seed {HUGE}", "seed is out of range"),
    (f"toy --seed {HUGE}", "seed is out of range"),
    (f"phase --seed {HUGE}", "seed is out of range"),
    ("flow --d1 4000 --d2 4000", "too many input dimensions"),
    ("flow --m 1000000000 --p 0", "too many learned features"),
    ("flow --m 10 --p 0.25", "whole number of features"),
    ("flow --p nan", "p"),
    ("flow --p 2", "p"),
    ("flow --k 60", "k is out of range"),
    (f"flow --k {HUGE}", "k is out of range"),
    ("flow --t nan", "t is out of range"),
    ("flow --t inf", "t is out of range"),
    ("flow --t=-1", "t is out of range"),
    ("flow --t 1e300", "t is out of range"),
    ("flow --points 1000000000", "too much memory"),
    (f"flow --points {HUGE}", "too much memory"),
    ("bounds --settings 1000000000", "settings is out of range"),
    (f"bounds --settings {HUGE}", "settings is out of range"),
    ("bounds --seeds 1000000000", "seeds is out of range"),
    ("bounds --settings 5000 --seeds 5000", "settings × seeds is out of range"),
    ("toy --low 2", "Figure 3"),
    ("toy --low nan", "Figure 3"),
    ("toy --high 1e200", "Figure 3"),
    ("toy --variance nan", "Figure 3"),
    ("toy --variance inf", "Figure 3"),
    ("toy --t nan", "t must"),
    ("toy --t inf", "t must"),
    ("phase --size 1000000", "size is out of range"),
    (f"phase --size {HUGE}", "size is out of range"),
    ("phase --low 2", "range"),
    ("phase --high nan", "range"),
    ("phase --high 1e200", "range"),
    ("phase --m 1000000000 --p 0", "too many learned features"),
    ("phase --t nan", "t is out of range"),
    ("phase --p nan", "whole number of features"),
]


@pytest.mark.parametrize(("command", "word"), COMMANDS, ids=[command[:40] for command, _ in COMMANDS])
def test_command_rejects_bad_input_at_once_and_writes_nothing(command: str, word: str, tmp_path: Path) -> None:
    before = time.process_time()
    result = CliRunner().invoke(app, [*command.split(), "--out", str(tmp_path / "out")])
    assert isinstance(result.exception, FttError), result.output
    assert word in str(result.exception)
    assert len(str(result.exception)) < 600
    assert time.process_time() - before < 5
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "command", ["flow --d1 0", "flow --seed=-1", "flow --t x", "phase --jobs 2147483648", "bounds --seeds 0"]
)
def test_options_outside_their_declared_range_are_usage_errors(command: str) -> None:
    result = CliRunner().invoke(app, command.split())
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def toy() -> Mechanism:
    return Mechanism([[2.0]], [1.0], [1.0], 0.5, 1.0)


def descend(**changes: object) -> None:
    X, y = toy().sample(10, np.random.default_rng(0))
    parts: dict[str, object] = {"lr": 0.1, "steps": 1, "batch": 2, "rng": np.random.default_rng(0), **changes}
    sgd(X, y, xavier_start(toy(), 1), **parts)  # type: ignore[arg-type]


CALLS: list[tuple[Callable[[], object], str]] = [
    (lambda: Mechanism([[2.0]], [1.0], [1.0], 1e200, 1.0), "eta_core is out of range"),
    (lambda: Mechanism([[2.0]], [1.0], [1.0], 1.0, -1.0), "eta_spu is out of range"),
    (lambda: Mechanism([[NAN]], [1.0], [1.0], 1.0, 1.0), "symmetric"),
    (lambda: Mechanism([[1e200]], [1.0], [1.0], 1.0, 1.0), "symmetric"),
    (lambda: Mechanism([[2.0]], [NAN], [1.0], 1.0, 1.0), "unit length"),
    (lambda: toy().with_noise(eta_core=NAN), "eta_core is out of range"),
    (lambda: toy().rescaled(1e200), "factor"),
    (lambda: toy().sample(10**12, np.random.default_rng(0)), "too much memory"),
    (lambda: toy().sample(-1, np.random.default_rng(0)), "n is out of range"),
    (lambda: toy().components(3), "principal components"),
    (lambda: Mechanism.random(np.random.default_rng(0), d1=10**9, d2=1, k=1, eta_core=1, eta_spu=1), "dimensions"),
    (lambda: Mechanism.random(np.random.default_rng(0), d1=2, d2=0, k=1, eta_core=1, eta_spu=1), "d2 is out"),
    (lambda: Mechanism.random(np.random.default_rng(0), d1=2, d2=1, k=1, eta_core=NAN, eta_spu=1), "eta_core"),
    (lambda: flow(toy(), 10**9), "learned features"),
    (lambda: flow(toy(), 0), "whole number of features"),
    (lambda: flow(toy(), 2, NAN), "whole number of features"),
    (lambda: flow(toy(), 1, t=NAN), "increasing"),
    (lambda: flow(toy(), 1, t=[1.0, NAN]), "increasing"),
    (lambda: flow(toy(), 1, t=INF), "increasing"),
    (lambda: flow(toy(), 1, tolerance=0.0), "tolerance is out of range"),
    (lambda: flow(toy(), 1, tolerance=NAN), "tolerance is out of range"),
    (lambda: follow(toy(), Start(np.full((2, 1), 1e200), np.ones(1), 0), 1.0), "start"),
    (lambda: follow(toy(), Start(np.full((2, 1), NAN), np.ones(1), 0), 1.0), "start"),
    (lambda: follow(toy(), xavier_start(toy(), 1), 1.0, teacher=np.array([NAN, 0.0])), "teacher"),
    (lambda: descend(steps=10**30), "steps is out of range"),
    (lambda: descend(steps=-1), "steps is out of range"),
    (lambda: descend(batch=10**12), "too much memory"),
    (lambda: descend(batch=0), "batch is out of range"),
    (lambda: descend(lr=NAN), "lr is out of range"),
    (lambda: descend(lr=INF), "lr is out of range"),
    (lambda: Setting(d1=10**9), "dimensions"),
    (lambda: Setting(d1=2.5), "d1"),  # type: ignore[arg-type]
    (lambda: Setting(eta_core=1e200), "eta_core"),
    (lambda: Setting(seed=-1), "seed"),
    (lambda: curves(Setting(), points=0), "points"),
    (lambda: figure_3(t=-1.0), "t must"),
    (lambda: Network(2, 0.5, t=0.0), "t is out of range"),
    (lambda: Network(2, 0.5, seed=-1), "seed is out of range"),
    (lambda: phase_diagram(toy(), [], [1.0], Network(1)), "two lists"),
    (lambda: phase_diagram(toy(), [NAN], [1.0], Network(1)), "below λ_k"),
    (lambda: phase_diagram(toy(), np.full(10**4, 0.5), np.full(10**4, 0.5), Network(1)), "cells"),
    (lambda: sweep_p(toy(), [(0.5, 0.5)], Network(10**7)), "number of flows"),
    (lambda: random_settings(0), "settings is out of range"),
    (lambda: random_settings(1, first=-1), "seed is out of range"),
    (lambda: survey([]), "nothing to survey"),
]


@pytest.mark.parametrize("case", range(len(CALLS)), ids=[word for _, word in CALLS])
def test_function_rejects_bad_input_at_once(case: int) -> None:
    call, word = CALLS[case]
    before = time.process_time()
    with pytest.raises(FttError, match=word):
        call()
    assert time.process_time() - before < 2


@pytest.mark.parametrize(("core", "spu"), [(1e-6, 1e6), (1e6, 1e-6), (1e6, 1e6), (1e-6, 1e-6)])
@pytest.mark.parametrize("t", [1e-9, 1e15])
def test_extremes_of_the_allowed_ranges_give_finite_numbers_or_an_error(
    core: float, spu: float, t: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ftt.theory.rosenbrock.MAX_STEPS", 500)  # time is bounded by steps; 500 keep the test short
    mechanism = Setting(d1=3, d2=2, k=1, m=2, p=0.5, eta_core=core, eta_spu=spu).mechanism()
    with contextlib.suppress(FttError):
        run = flow(mechanism, 2, 0.5, t)
        assert np.isfinite(run.ratio).all()
        assert np.isfinite(run.l_tr).all()
