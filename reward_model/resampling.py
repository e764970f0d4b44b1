"""Intervals of standardised coefficients by refitting on other participants.

A resample is a weight for each comparison: how often its participant was drawn. All resamples of a
block are fitted together by Newton's method on weighted rows, a thousand of 291 comparisons in a
tenth of a second. `coefficients` says which interval is chosen, and why.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import expit, ndtr, ndtri, stdtrit

__all__ = ["INTERVALS", "Bounds", "Fit", "Rows", "refit"]

Vector = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]

STEPS, CLOSE, STRIDE = 60, 1e-8, 5.0  # at most so many, each moving no coefficient by more
FAR = 50.0  # a standardised coefficient beyond this is on its way to infinity
JITTER = 1e-9  # on the diagonal: a column that is constant in a resample stays where it is
BLOCK = 2_000_000  # weights held at a time
FAILED_SHARE = 0.05  # with more failures the rest would tell of the tame resamples only
TINY = 1e-12

Progress = Callable[[int, int], None]


class Rows(NamedTuple):
    """Training rows: `z` (n, d) standardised over all of them, `y` (n,) of 0 and 1, `group` (n,)
    numbers of participants 0..G-1, and `C` (None: no penalty)."""

    z: Vector
    y: Vector
    group: Whole
    C: float | None

    @property
    def groups(self) -> int:
        return int(self.group.max()) + 1


class Fit(NamedTuple):
    """The fit to all rows, beta (d,) and intercept, and how to resample around it."""

    rows: Rows
    beta: Vector
    intercept: float
    resamples: int
    seed: int


class Bounds(NamedTuple):
    """Ends (d,) of intervals, NaN where they cannot be told, how many refits failed, and why there
    is no interval at all ("" where there is one)."""

    lo: Vector
    hi: Vector
    failed: int = 0
    trouble: str = ""


def refit(fit: Fit, weights: Vector) -> tuple[Vector, npt.NDArray[np.bool_]]:
    """Coefficients (B, d), each per deviation in its own resample, and which (B,) are finite fits.

    `weights` (B, n) say how often each row counts. The penalty is on the coefficients of the
    resample's own standardisation, as it is for a model that was fitted to it.
    """
    size = max(1, BLOCK // weights.shape[1])
    parts = [_refit(fit, weights[at : at + size]) for at in range(0, len(weights), size)]
    return np.concatenate([one for one, _ in parts]), np.concatenate([ok for _, ok in parts])


def _refit(fit: Fit, weights: Vector) -> tuple[Vector, npt.NDArray[np.bool_]]:
    rows, d = fit.rows, fit.rows.z.shape[1]
    total = weights.sum(axis=1, keepdims=True)
    mean = weights @ rows.z / total
    variance = np.maximum(weights @ rows.z**2 / total - mean**2, 0)
    penalty = np.zeros((len(weights), d + 1))
    if rows.C is not None:
        penalty[:, :d] = variance / rows.C
    design = np.hstack([rows.z, np.ones((len(rows.z), 1))])
    outer = (design[:, :, None] * design[:, None, :]).reshape(len(design), -1)
    beta = np.tile(np.r_[fit.beta, fit.intercept], (len(weights), 1))
    arrived = np.zeros(len(weights), bool)
    active = np.arange(len(weights))
    diagonal = np.arange(d + 1)
    for _ in range(STEPS):
        here, w, ridge = beta[active], weights[active], penalty[active]
        p = expit(here @ design.T)
        gradient = (w * (rows.y - p)) @ design - ridge * here
        hessian = ((w * p * (1 - p)) @ outer).reshape(-1, d + 1, d + 1)
        hessian[:, diagonal, diagonal] += ridge + JITTER
        step = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        longest = np.abs(step).max(axis=1)
        beta[active] = here + step * np.minimum(1, STRIDE / np.maximum(longest, TINY))[:, None]
        arrived[active[longest < CLOSE]] = True
        active = active[(longest >= CLOSE) & (np.abs(beta[active]).max(axis=1) < FAR)]
        if not len(active):
            break
    return beta[:, :d] * np.sqrt(variance), arrived


def _bootstrap(fit: Fit) -> tuple[Vector, int]:
    """Finite refits (B, d) to as many participants drawn with replacement; how many failed."""
    rng = np.random.default_rng(fit.seed)
    groups = fit.rows.groups
    drawn = rng.multinomial(groups, np.full(groups, 1 / groups), size=fit.resamples)
    found, finite = refit(fit, drawn[:, fit.rows.group].astype(np.float64))
    return found[finite], int((~finite).sum())


def _each_left_out(fit: Fit) -> tuple[Vector, int]:
    """Finite refits (G, d) without each participant in turn; how many failed."""
    groups = np.arange(fit.rows.groups)
    found, finite = refit(fit, (groups[:, None] != fit.rows.group).astype(np.float64))
    return found[finite], int((~finite).sum())


def _failing(found: Vector, failed: int, what: str) -> str:
    if failed <= FAILED_SHARE * (failed + len(found)):
        return ""
    return (
        f"{failed} of {failed + len(found)} {what} have no finite fit (one class, or classes that "
        "are separated): no intervals"
    )


def _nothing(fit: Fit, failed: int, trouble: str) -> Bounds:
    unknown = np.full(fit.beta.shape, np.nan)
    return Bounds(unknown, unknown, failed, trouble)


def percentile(fit: Fit, level: float) -> Bounds:
    """Quantiles of the refits to resampled participants."""
    found, failed = _bootstrap(fit)
    if trouble := _failing(found, failed, "resamples"):
        return _nothing(fit, failed, trouble)
    lo, hi = np.quantile(found, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return Bounds(lo, hi, failed)


def bca(fit: Fit, level: float) -> Bounds:
    """Quantiles corrected for bias, and for a spread that changes with the value (Efron 1987).

    The acceleration comes from leaving each participant out in turn.
    """
    found, failed = _bootstrap(fit)
    without, lost = _each_left_out(fit)
    trouble = _failing(found, failed, "resamples") or _failing(without, lost, "leave-one-out fits")
    if trouble:
        return _nothing(fit, failed, trouble)
    below = (found < fit.beta).mean(axis=0) + (found == fit.beta).mean(axis=0) / 2
    shift = ndtri(below.clip(1 / len(found), 1 - 1 / len(found)))
    pull = without.mean(axis=0) - without
    spread = (pull**2).sum(axis=0)
    speed = (pull**3).sum(axis=0) / (6 * np.maximum(spread, TINY) ** 1.5)
    ends = []
    for tail in ((1 - level) / 2, (1 + level) / 2):
        wanted = shift + ndtri(tail)
        at = ndtr(shift + wanted / (1 - speed * wanted))
        ends.append([np.quantile(found[:, j], at[j]) for j in range(len(at))])
    return Bounds(np.array(ends[0]), np.array(ends[1]), failed)


def jackknife(fit: Fit, level: float) -> Bounds:
    """Student's t with G - 1 degrees of freedom, on the spread of leave-one-out fits."""
    without, failed = _each_left_out(fit)
    if trouble := _failing(without, failed, "leave-one-out fits"):
        return _nothing(fit, failed, trouble)
    groups = len(without)
    variance = (groups - 1) / groups * ((without - without.mean(axis=0)) ** 2).sum(axis=0)
    half = stdtrit(groups - 1, (1 + level) / 2) * np.sqrt(variance)
    return Bounds(fit.beta - half, fit.beta + half, failed)


def sandwich(fit: Fit, level: float) -> Bounds:
    """Student's t on the robust variance of participants' summed influences: nothing is refitted.

    A row's influence on a feature's deviation, and so on its penalty, is included. Corrected for
    few participants by G / (G - 1) and for the features by (n - 1) / (n - d - 1) (CR1).
    """
    rows, groups = fit.rows, fit.rows.groups
    n, d = rows.z.shape
    design = np.hstack([rows.z, np.ones((n, 1))])
    p = expit(rows.z @ fit.beta + fit.intercept)
    hessian = (design * (p * (1 - p))[:, None]).T @ design
    diagonal = np.arange(d)
    ridge = 0.0 if rows.C is None else 1 / rows.C
    hessian[diagonal, diagonal] += JITTER + ridge
    wider = (rows.z**2 - 1) / n  # what a row adds to the variances
    gradient = (rows.y - p)[:, None] * design
    gradient[:, :d] -= ridge * fit.beta * wider
    influence = np.linalg.solve(hessian, gradient.T).T[:, :d] + fit.beta * wider / 2
    summed = np.zeros((groups, d))
    np.add.at(summed, rows.group, influence)
    correction = groups / (groups - 1) * (n - 1) / max(n - d - 1, 1)
    half = stdtrit(groups - 1, (1 + level) / 2) * np.sqrt(correction * (summed**2).sum(axis=0))
    return Bounds(fit.beta - half, fit.beta + half)


INTERVALS: dict[str, Callable[[Fit, float], Bounds]] = {
    "bca": bca,
    "jackknife": jackknife,
    "sandwich": sandwich,
    "percentile": percentile,
}
