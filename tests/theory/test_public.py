"""The public names of `ftt.theory`."""

from __future__ import annotations

import inspect

import pytest

import ftt.theory
from ftt.report.theory_pages import flow_page
from ftt.theory.curves import curves


@pytest.mark.parametrize("name", ftt.theory.__all__)
def test_public_name_is_documented_and_shadows_no_module(name: str) -> None:
    thing = getattr(ftt.theory, name)
    assert inspect.getdoc(thing)
    assert not inspect.ismodule(thing)
    assert thing.__module__.rpartition(".")[2] != name


def test_flow_page_says_where_theorem_2_fails() -> None:
    setting = ftt.theory.Setting(d1=1, d2=1, k=1, m=1, p=0.0, eta_core=1.0, eta_spu=0.3, seed=94)
    assert "does not hold here (measured 4.13" in flow_page(curves(setting, points=3)).findings[1]
    sound = setting.replace(seed=0, d1=4, m=2)
    assert "does not hold" not in " ".join(flow_page(curves(sound, points=3)).findings)
