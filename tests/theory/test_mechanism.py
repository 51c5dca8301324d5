"""The mechanism: closed forms against samples, and every assumption by name."""

from __future__ import annotations

import numpy as np
import pytest

from ftt.errors import FttError
from ftt.theory import Mechanism, training_error
from ftt.theory.mechanism import CoreLaw


@pytest.mark.parametrize("law", ["gaussian", "rademacher", "uniform"])
def test_H_and_xy_are_the_moments_of_a_million_samples(law: CoreLaw) -> None:  # noqa: N802
    mechanism = Mechanism.random(np.random.default_rng(0), d1=4, d2=3, k=2, eta_core=0.8, eta_spu=0.5)
    n = 1_000_000
    X, y = mechanism.sample(n, np.random.default_rng(1), law=law)
    products = np.einsum("ni,nj->ij", X, X) / n
    spread = np.sqrt(np.einsum("ni,nj->ij", X**2, X**2) / n - products**2)
    assert np.max(np.abs(products - mechanism.H) / (spread / np.sqrt(n) + 1e-12)) < 5
    cross = X.T @ y / n
    spread_y = np.sqrt((X**2).T @ y**2 / n - cross**2)
    assert np.max(np.abs(cross - mechanism.xy) / (spread_y / np.sqrt(n))) < 5


def test_test_samples_lose_the_spurious_correlation() -> None:
    mechanism = Mechanism.random(np.random.default_rng(0), d1=4, d2=3, k=2, eta_core=0.8, eta_spu=0.5)
    X, y = mechanism.sample(200_000, np.random.default_rng(1), environment="test")
    assert np.max(np.abs(X[:, 4:].T @ y / len(y))) < 0.02
    assert np.allclose(X[:, 4:].T @ X[:, 4:] / len(y), 0.25 * np.eye(3), atol=0.01)


def test_v_tr_solves_the_normal_equations(mechanism: Mechanism) -> None:
    assert np.allclose(mechanism.H @ mechanism.v_tr, mechanism.xy, atol=1e-12)


def test_err_tr_is_the_training_error_by_its_definition(mechanism: Mechanism) -> None:
    v = mechanism.v_tr
    y2 = mechanism.g + mechanism.eta_core**2
    by_hand = (v @ mechanism.H @ v - 2 * v @ mechanism.xy + y2) / 2
    assert mechanism.err_tr == pytest.approx(by_hand, abs=1e-12)
    other = v + 0.1
    by_hand = (other @ mechanism.H @ other - 2 * other @ mechanism.xy + y2) / 2
    assert training_error(mechanism, other) == pytest.approx(by_hand, abs=1e-10)


def test_k_is_the_smallest_number_of_eigenvectors_that_reach_beta() -> None:
    Sigma = np.diag([4.0, 3.0, 2.0, 1.0])
    assert Mechanism(Sigma, [0.6, 0.0, 0.8, 0.0], [1.0], 0.5, 0.5).k == 3
    assert Mechanism(Sigma, [0.6, 0.8, 0.0, 0.0], [1.0], 0.5, 0.5, declared_k=4).k == 2


def test_with_noise_equals_a_mechanism_built_anew(mechanism: Mechanism) -> None:
    mechanism.spectrum, mechanism.H  # noqa: B018 (filled caches must not leak into the copy)
    moved = mechanism.with_noise(eta_core=0.3, eta_spu=0.7)
    fresh = Mechanism(mechanism.Sigma, mechanism.beta, mechanism.gamma, 0.3, 0.7)
    assert np.array_equal(moved.H, fresh.H)
    assert np.array_equal(moved.xy, fresh.xy)
    assert np.allclose(moved.spectrum[0], fresh.spectrum[0], atol=1e-14)
    assert mechanism.eta_core == 1.0


VALID = {"distinct", "span", "salient", "salient-sum", "salient-spu"}


def failing(mechanism: Mechanism) -> set[str]:
    return {name for name, each in mechanism.assumptions().items() if name in VALID and not each.holds}


def test_random_mechanisms_satisfy_every_assumption(mechanism: Mechanism) -> None:
    assert failing(mechanism) == set()


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"Sigma": np.diag([4.0, 4.0, 2.0])}, {"distinct"}),
        ({"declared_k": 1}, {"span"}),
        ({"eta_core": 1.5}, {"salient-sum"}),
        ({"eta_core": 1.8}, {"salient", "salient-sum"}),
        ({"eta_spu": 1.8}, {"salient", "salient-sum", "salient-spu"}),
    ],
)
def test_the_assumption_that_fails_is_named(change: dict[str, object], expected: set[str]) -> None:
    parts: dict[str, object] = {
        "Sigma": np.diag([4.0, 3.0, 0.5]),
        "beta": [0.6, 0.8, 0.0],
        "gamma": [1.0],
        "eta_core": 0.5,
        "eta_spu": 0.9,
    }
    mechanism = Mechanism(**{**parts, **change})  # type: ignore[arg-type]
    assert failing(mechanism) == expected
    name = sorted(expected)[0]
    with pytest.raises(FttError) as caught:
        mechanism.require(name, statement="the claim")
    assert mechanism.assumptions()[name].text in str(caught.value)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"Sigma": np.diag([1.0, -1.0])}, "invertible"),
        ({"Sigma": np.array([[2.0, 1.0], [0.0, 1.0]])}, "symmetric"),
        ({"Sigma": np.eye(3)}, "incompatible"),
        ({"beta": [1.0, 1.0]}, "unit length"),
        ({"gamma": [0.5]}, "unit length"),
        ({"gamma": []}, "vector"),
        ({"eta_core": 0.0}, "eta_core"),
        ({"eta_spu": float("nan")}, "eta_spu"),
        ({"declared_k": 3}, "k is out of range"),
    ],
)
def test_nonsense_is_refused_with_its_name(change: dict[str, object], word: str) -> None:
    parts: dict[str, object] = {
        "Sigma": np.diag([2.0, 1.0]),
        "beta": [1.0, 0.0],
        "gamma": [1.0],
        "eta_core": 0.5,
        "eta_spu": 0.5,
    }
    with pytest.raises(FttError, match=word):
        Mechanism(**{**parts, **change})  # type: ignore[arg-type]


def test_sampling_refuses_unknown_words(mechanism: Mechanism) -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(FttError, match="environment"):
        mechanism.sample(2, rng, environment="validation")  # type: ignore[arg-type]
    with pytest.raises(FttError, match="law"):
        mechanism.sample(2, rng, law="cauchy")  # type: ignore[arg-type]
