"""Penalised logistic regression (SPEC B.2) for many values of C at once, by Newton's method.

The same minimum as scikit-learn's LogisticRegression (`liblinear` apart, which penalises the
intercept too). The protocol needs some 3,000 such fits of a dozen columns, where most of the time
of a general solver goes into its start and its checks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from workbench.errors import ModelError

__all__ = ["Scale", "fit_path", "scale_of"]

Vector = npt.NDArray[np.float64]

STEPS, CLOSE = 100, 1e-8  # at most so many, until none moves a coefficient by more


class Scale(NamedTuple):
    """Means and deviations (d,) of training rows; the deviation of a constant column is 1."""

    mean: Vector
    deviation: Vector

    def __call__(self, x: Vector) -> Vector:
        return (x - self.mean) / self.deviation


def scale_of(x: Vector) -> Scale:
    """The standardisation of training rows (n, d), as scikit-learn's StandardScaler's."""
    mean, variance = x.mean(axis=0), x.var(axis=0)
    eps = np.finfo(float).eps
    constant = variance <= len(x) * eps * variance + (len(x) * mean * eps) ** 2
    return Scale(mean, np.where(constant, 1.0, np.sqrt(variance)))


def fit_path(x: Vector, y: Vector, grid: Vector) -> tuple[Vector, Vector]:
    """Weights (k, d) and intercepts (k,) for the k values of C in `grid`.

    `x` (n, d) is taken as it is, `y` (n,) is 0 or 1 and has both.
    Minimises sum logloss + |w|^2 / 2C, the intercept unpenalised (SPEC B.2), by Newton's method
    with steps halved where they would climb. Raises ModelError where that does not arrive.
    """
    design = np.hstack([x, np.ones((len(x), 1))])
    penalty = np.hstack(
        [np.repeat(1 / grid[:, None], x.shape[1], axis=1), np.zeros((len(grid), 1))]
    )
    beta = np.zeros((len(grid), design.shape[1]))
    margin = beta @ design.T
    loss = _loss(margin, y, beta, penalty)
    diagonal = np.arange(design.shape[1])
    for _ in range(STEPS):
        p = expit(margin)
        gradient = (p - y) @ design + penalty * beta
        hessian = (design * (p * (1 - p))[:, :, None]).transpose(0, 2, 1) @ design
        hessian[:, diagonal, diagonal] += penalty
        step = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        ahead = beta - step
        there = ahead @ design.T
        lower = _loss(there, y, ahead, penalty)
        while (climbs := lower > loss + 1e-9 * np.abs(loss)).any():
            step[climbs] /= 2
            ahead = beta - step
            there = ahead @ design.T
            lower = _loss(there, y, ahead, penalty)
        beta, margin, loss = ahead, there, lower
        if np.abs(step).max() < CLOSE:
            return beta[:, :-1], beta[:, -1]
    raise ModelError(f"the fit of {len(x)} comparisons has not converged in {STEPS} steps")


def _loss(margin: Vector, y: Vector, beta: Vector, penalty: Vector) -> Vector:
    """SPEC B.2's sum (k,) at margins (k, n) and coefficients (k, d + 1)."""
    losses: Vector = (np.logaddexp(0, margin) - y * margin).sum(axis=1)
    return losses + (penalty * beta**2).sum(axis=1) / 2
