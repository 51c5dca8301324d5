"""Plain SGD on finite samples, an independent check of the gradient flow with finite n and learning rate."""

from __future__ import annotations

import numpy as np

from ftt.errors import FttError
from ftt.theory.gradient_flow import Start
from ftt.theory.limits import need_memory, need_number
from ftt.theory.mechanism import Array

MAX_STEPS = 10**8
"""Most updates; one takes at least 10 µs."""


def sgd(
    X: Array, y: Array, start: Start, *, lr: float, steps: int, batch: int | None, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Minimise (1/2n)‖XWb − y‖² by plain SGD over (W_sl, b); after `steps` steps the flow's time is t = lr · steps.

    Parameters
    ----------
    X : array (n, d)
    y : array (n,)
        A sample of the training environment.
    start : Start
        Parameters at t = 0; its first `frozen` columns stay fixed.
    lr : float
        Learning rate; the flow is its limit at zero.
    steps : int
        Number of updates.
    batch : int or None
        Examples per update, drawn with replacement; None uses all of them in every update, through their moments.
    rng : numpy Generator
        Draws the batches.

    Returns
    -------
    W : array (d, m)
    b : array (m,)
    """
    n, d = X.shape
    if start.W.shape[0] != d or y.shape != (n,):
        raise FttError(
            "X, y and the start have incompatible shapes", given=f"X {X.shape}, y {y.shape}, W {start.W.shape}"
        )
    need_number("lr", lr, 1e-300, 1e300)
    need_number("steps", steps, 0, MAX_STEPS)
    if batch is not None:
        need_number("batch", batch, 1, np.inf)
        need_memory("a batch", batch, d)
    W, b, f = start.W.copy(), start.b.copy(), start.frozen
    H, xy = X.T @ X / n, X.T @ y / n
    for _ in range(steps):
        v = W @ b
        if batch is None:
            r = xy - H @ v
        else:
            pick = rng.integers(n, size=batch)
            r = X[pick].T @ (y[pick] - X[pick] @ v) / batch
        up = W.T @ r
        W[:, f:] += np.multiply.outer(lr * r, b[f:])
        b += lr * up
        if not np.isfinite(b).all():
            raise FttError("SGD diverged", given=f"lr = {lr:g}", hint="decrease the learning rate")
    return W, b
