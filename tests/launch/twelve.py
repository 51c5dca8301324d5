"""Twelve small runs that share features and principal components, and what to compare of their results."""

from __future__ import annotations

from typing import Any

from ftt.data.digits import Digits
from ftt.freeze.pca import PCA
from ftt.launch import Outcome
from ftt.methods.erm import ERM
from ftt.recipe import Recipe
from ftt.spec import Spec, Training

TWELVE = [
    Spec(
        data=Digits(core_noise=noise),
        backbone="tinyconv",
        recipe=Recipe(PCA(p=p), ERM()),
        train=Training(epochs=2, batch_size=64),
        seed=seed,
    )
    for p in (0.25, 0.5, 0.75)
    for noise in (0.0, 0.2)
    for seed in (0, 1)
]


TWENTY_FOUR = [
    Spec(
        data=Digits(core_noise=noise, seed=seed),
        backbone="identity",
        recipe=Recipe(PCA(p=p), ERM()),
        train=Training(epochs=20, batch_size=64),
        seed=seed,
    )
    for p in (0.25, 0.5, 0.75)
    for noise in (0.0, 0.2)
    for seed in range(4)
]
"""Runs of a second or less, for clusters on which something happens meanwhile."""


def numbers(outcomes: list[Outcome]) -> list[dict[str, Any]]:
    """All of the results but how long they took and where they came from; every run must have one."""
    assert [outcome.error for outcome in outcomes] == [None] * len(outcomes)
    results = [outcome.result.to_json() for outcome in outcomes if outcome.result is not None]
    return [
        {name: value for name, value in result.items() if name not in ("seconds", "from_store")} for result in results
    ]
