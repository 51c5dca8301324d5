"""Plain SGD on finite samples: a second way to the numbers of the flow, with n and the learning rate finite."""

from __future__ import annotations

import numpy as np

from ftt.errors import FttError
from ftt.theory.flow import Start
from ftt.theory.mechanism import Array


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
        Parameters at t = 0; its first `frozen` columns stay.
    lr : float
        Learning rate; the flow is its limit at zero.
    steps : int
        Number of updates.
    batch : int or None
        Examples per update, drawn with replacement; None takes all of them every time, through their moments.
    rng : numpy Generator
        Draws the batches.

    Returns
    -------
    W : array (d, m)
    b : array (m,)
    """
    n, d = X.shape
    if start.W.shape[0] != d or y.shape != (n,):
        raise FttError("X, y and the start do not fit", given=f"X {X.shape}, y {y.shape}, W {start.W.shape}")
    if not lr > 0 or steps < 0 or (batch is not None and not batch >= 1):
        raise FttError(
            "SGD cannot run so",
            given=f"lr {lr}, steps {steps}, batch {batch}",
            allowed="lr > 0, steps >= 0, batch >= 1",
        )
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
            raise FttError("SGD diverged", given=f"lr = {lr:g}", hint="take a smaller learning rate")
    return W, b
