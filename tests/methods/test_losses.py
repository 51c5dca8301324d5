"""The losses against oracles that share no code with them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.contracts.small import ROWS, small_data
from torch.nn.functional import cross_entropy

from ftt.methods.cvar_dro import CVaRDRO, cvar
from ftt.methods.group_dro import GroupDRO
from ftt.methods.irm import IRM, scale_derivative, squared_derivative
from ftt.methods.jtt import JTT
from ftt.methods.method import Batch, Outputs, Task
from ftt.rows import InMemory
from ftt.spec import Training
from ftt.train.batches import Batches, Frozen
from ftt.train.loop import Trainer
from ftt.train.machine import Machine
from ftt.train.two_branch import build


def batch_of(y: list[int], a: list[int], step: int = 0, epoch: int = 0) -> Batch:
    return Batch(torch.tensor(y), torch.tensor(a), step, epoch)


@settings(deadline=None)
@given(
    losses=st.lists(st.floats(0, 20), min_size=1, max_size=70),
    alpha=st.floats(0.001, 1),
)
def test_cvar_is_the_average_of_the_worst_share_counted_in_thin_slices(losses: list[float], alpha: float) -> None:
    slices = 4000
    ordered = np.sort(np.array(losses))[::-1]
    # Each loss covers 1/B of the mass; averaging over slices of the first α of it needs no notion of a remainder.
    points = (np.arange(slices) + 0.5) / slices * alpha
    brute = ordered[np.minimum((points * len(losses)).astype(int), len(losses) - 1)].mean()
    got = float(cvar(torch.tensor(losses, dtype=torch.float64), alpha))
    assert got == pytest.approx(brute, abs=len(losses) * 21 / slices)


def test_cvar_at_one_is_the_mean_and_below_one_sample_the_maximum() -> None:
    losses = torch.rand(64, dtype=torch.float64)
    assert float(cvar(losses, 1.0)) == pytest.approx(float(losses.mean()))
    assert float(cvar(losses, 0.00852)) == pytest.approx(float(losses.max()))


def test_cvar_dro_is_the_cvar_of_the_cross_entropies() -> None:
    logits, y = torch.randn(10, 3), torch.randint(0, 3, (10,))
    worst = cross_entropy(logits, y, reduction="none").sort(descending=True).values[:5].mean()
    batch = Batch(y, y, 0, 0)
    assert torch.allclose(CVaRDRO(alpha=0.5).loss(Outputs(logits), batch, {}), worst)


@pytest.mark.parametrize("groups", ["attribute", "label-attribute"])
def test_group_weights_follow_the_closed_form(groups: str) -> None:
    """q after t steps is proportional to exp(η Σ ℓ_g), summed over the steps in which g was present."""
    method = GroupDRO(eta=0.3, groups=groups)
    state = method.start(Task(2, 3))
    total = np.zeros(len(state["q"]))
    rng = np.random.default_rng(0)
    for _ in range(7):
        y, a = rng.integers(0, 2, 12), rng.integers(0, 2, 12)
        logits = torch.tensor(rng.standard_normal((12, 2)), dtype=torch.float32)
        losses = cross_entropy(logits, torch.tensor(y), reduction="none").numpy()
        group = a if groups == "attribute" else y * 3 + a
        means = {g: losses[group == g].mean() for g in np.unique(group)}
        for g, mean in means.items():
            total[g] += mean
        q = np.exp(0.3 * total) / np.exp(0.3 * total).sum()
        loss = method.loss(Outputs(logits), batch_of(y.tolist(), a.tolist()), state)
        np.testing.assert_allclose(state["q"].numpy(), q, rtol=1e-5)
        assert float(loss) == pytest.approx(sum(q[g] * mean for g, mean in means.items()), rel=1e-5)


def test_a_group_without_training_rows_has_no_weight() -> None:
    held_out = Task(2, 3, rows=((5, 0, 2), (1, 0, 3)))
    assert GroupDRO().start(held_out)["q"].tolist() == [0.5, 0.0, 0.5]
    assert GroupDRO(groups="label-attribute").start(held_out)["q"].tolist() == [0.25, 0.0, 0.25, 0.25, 0.0, 0.25]


def test_the_derivative_of_irm_is_what_autograd_gives_for_a_scalar() -> None:
    logits, y = torch.randn(9, 4, dtype=torch.float64), torch.randint(0, 4, (9,))
    scale = torch.ones((), dtype=torch.float64, requires_grad=True)
    (derivative,) = torch.autograd.grad(cross_entropy(logits * scale, y), scale)
    assert float(scale_derivative(logits, y)) == pytest.approx(float(derivative))


def test_irm_adds_the_mean_penalty_of_the_environments_and_raises_it_after_the_warmup() -> None:
    logits, y, a = torch.randn(16, 2), torch.randint(0, 2, (16,)), torch.arange(16) % 2
    method = IRM(warmup=5, penalty=100.0)
    risks = torch.stack([cross_entropy(logits[a == e], y[a == e]) for e in (0, 1)]).mean()
    gaps = torch.stack([squared_derivative(logits[a == e], y[a == e]) for e in (0, 1)]).mean()
    for step, weight in ((4, 1.0), (5, 100.0)):
        loss = method.loss(Outputs(logits), Batch(y, a, step, 0), {})
        assert float(loss) == pytest.approx(float(risks + weight * gaps), rel=1e-5)
    assert [method.resets_optimizer(step) for step in (4, 5, 6)] == [False, True, False]


def test_the_penalty_of_irm_from_all_rows_is_the_square_of_the_derivative_by_autograd() -> None:
    logits = torch.randn(16, 2, dtype=torch.float64)
    y, a = torch.randint(0, 2, (16,)), torch.arange(16) % 2
    risks, squares = [], []
    for e in (0, 1):
        scale = torch.ones((), dtype=torch.float64, requires_grad=True)
        risk = cross_entropy(logits[a == e] * scale, y[a == e])
        squares.append(torch.autograd.grad(risk, scale)[0] ** 2)
        risks.append(risk.detach())
    loss = IRM(warmup=0, penalty=1000.0, estimate="square").loss(Outputs(logits), Batch(y, a, 0, 0), {})
    assert float(loss) == pytest.approx(float(sum(risks) / 2 + 1000 * sum(squares) / 2))


def test_irm_by_halves_ignores_the_attribute_and_grows_with_the_epoch() -> None:
    logits, y = torch.randn(16, 2), torch.randint(0, 2, (16,))
    method = IRM(variant="halves")
    plain, gap = cross_entropy(logits, y), squared_derivative(logits, y)
    for epoch, weight in ((0, 0), (3, 3), (50, 10)):
        for a in (torch.zeros(16, dtype=torch.int64), torch.arange(16) % 2):
            loss = method.loss(Outputs(logits), Batch(y, a, 0, epoch), {})
            assert float(loss) == pytest.approx(float(plain + weight * gap), rel=1e-5)


def test_jtt_visits_errors_one_plus_lambda_times_and_other_rows_once() -> None:
    data = small_data()
    train = data["train"]
    from ftt.backbones import create

    backbone = create("tinyconv", train.inputs)
    network = build(backbone, 0, 2, seed=0)
    training, task = Training(batch_size=32), Task(2, 2)
    batches = Batches(train, backbone, Frozen(InMemory(np.zeros((ROWS, 0), dtype=np.float32))), training)
    trainer = Trainer(JTT(), training, 0, task, batches, Machine(accelerator="cpu").fabric())
    rows = trainer._with_errors(network, copies=20)
    with torch.inference_mode():
        x = backbone.prepare(train.inputs.read(np.arange(ROWS)))
        wrong = network(x, batches.frozen(np.arange(ROWS))).argmax(1).numpy() != train.y
    assert wrong.any()
    np.testing.assert_array_equal(np.bincount(rows, minlength=ROWS), np.where(wrong, 21, 1))


def test_jtt_trains_twice_from_fresh_weights() -> None:
    first, second = JTT(identify_epochs=3, upweight=7).stages(Training().epochs)
    assert (first.epochs, first.copies_of_errors) == (3, 0)
    assert (second.epochs, second.copies_of_errors) == (Training().epochs, 7)
