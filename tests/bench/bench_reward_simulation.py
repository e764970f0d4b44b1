"""Are the reward model's intervals and accuracies what they claim to be? On synthetic data only.

Comparisons come from the simulator (`reward_model.simulate`: features and judgments, no texts) with
its default options: the paper's weights, participants' effects of .5, momentary noise of 1.9 on the
logit scale. As in the protocol, only clear ("much better") preferences are fitted. To have exactly
n of them, 15 % more comparisons of the 87 participants are drawn than n clear ones need on average
(a clear one takes 2.8: 821 for n = 291), and the clear ones beyond n are left out at random.

The truth that intervals should hold is the same fit on 10^6 clear comparisons. It is not the
simulator's weights: the first table says what moves it.
    python tests/bench/bench_reward_simulation.py [SIMULATIONS]     all tables (default 200, as
                                                                    RESULTS.md quotes them)
    python tests/bench/bench_reward_simulation.py [SIMULATIONS] TABLE ..    some: moved, coverage,
                                                                    few, penalty, accuracy, shuffled
"""

from __future__ import annotations

import math
import os
import sys
import time
from typing import NamedTuple

import msgspec
import numpy as np
from common import row
from joblib import Parallel, delayed

from reward_model.coefficients import Resampling, bootstrap_coefficients, standardised_fit
from reward_model.model import MemoryAwareRewardModel
from reward_model.protocol import GRID, draw_splits, held_out
from reward_model.resampling import INTERVALS
from reward_model.rubric import RUBRIC
from reward_model.simulate import SimulationOptions, draw_judged, truth
from reward_model.simulated_judgments import logits, spread
from workbench.stats import paired_difference

OPTIONS = SimulationOptions()
SIZES = (291, 821)
MANY = 1_000_000
AT_A_TIME = 400_000
WORKERS = len(os.sched_getaffinity(0))


class Fitted(NamedTuple):
    """Rows of a fit: features (n, 12), labels (n,), participants (n,), what was known (n,)."""

    x: np.ndarray
    y: np.ndarray
    who: list[str]
    logit: np.ndarray


def drawn(options: SimulationOptions, n: int, seed: int, kind: str = "much") -> Fitted:
    """Exactly n comparisons of a kind ("much" or "strict"), of all of the options' participants."""
    rng = np.random.default_rng([seed, n])
    share = options.much_share if kind == "much" else 1 - options.tie_share
    wanted = math.ceil(1.15 * n / share) + 50
    many = msgspec.structs.replace(options, comparisons=wanted)
    found = draw_judged(options, spread(many, rng), rng)
    rows = np.sort(rng.permutation(np.flatnonzero(getattr(found, kind)))[:n])
    assert len(rows) == n
    who = [str(one) for one in found.participant[rows]]
    features = found.features[rows]
    return Fitted(
        features, found.prefers_memory[rows].astype(float), who, logits(options, features)
    )


def population_fit(options: SimulationOptions, kind: str = "much") -> np.ndarray:
    """The descriptive fit (12,) of 10^6 comparisons of a kind; participants judge 9.4 each."""
    parts, number = [], math.ceil(MANY / AT_A_TIME)
    for seed in range(number):
        n = min(AT_A_TIME, MANY - seed * AT_A_TIME)
        many = msgspec.structs.replace(options, comparisons=10**9, participants=n // 3)
        parts.append(drawn(many, n, 1_000 + seed, kind))
    x, y = (np.concatenate([getattr(part, name) for part in parts]) for name in ("x", "y"))
    return standardised_fit(x, y)[0]


def moved() -> np.ndarray:
    """What moves the truth away from the weights; returns the truth of the default options."""
    quiet = msgspec.structs.replace(OPTIONS, participant_sd=0.0, retest_noise=0.0)
    columns = {
        "all, no noise": (msgspec.structs.replace(quiet, tie_share=0.0), "strict"),
        "strict only": (quiet, "strict"),
        "much only": (quiet, "much"),
        "much, people": (msgspec.structs.replace(quiet, participant_sd=0.5), "much"),
        "much, noise": (msgspec.structs.replace(quiet, retest_noise=1.9), "much"),
        "default": (OPTIONS, "much"),
    }
    print(
        "\ncoefficients of the descriptive fit on 10^6 comparisons, by what is simulated and taken"
    )
    row("", "weight", *columns)
    fits = {name: population_fit(*one) for name, one in columns.items()}
    weights = OPTIONS.vector
    for at, name in enumerate(RUBRIC):
        row(name, f"{weights[at]:+.3f}", *(f"{fit[at]:+.3f}" for fit in fits.values()))
    slopes = (f"{fit @ weights / (weights @ weights):.3f}" for fit in fits.values())
    row("times the weights", "1", *slopes)
    return fits["default"]


def intervals(
    n: int, seed: int, method: str, cost: float | None, people: int
) -> tuple[np.ndarray, int]:
    """Beta, lower and upper ends (3, 12) of one simulation; NaN where there is none."""
    data = drawn(msgspec.structs.replace(OPTIONS, participants=people), n, seed)
    how = Resampling(interval=method, resamples=1000, seed=seed)
    table = bootstrap_coefficients(data.x, data.y, data.who, tuple(RUBRIC), cost, how)
    ends = [[one.beta, one.lo, one.hi] for one in table]
    return np.array(ends, float).T, len(set(data.who))


def covered(
    n: int,
    method: str,
    cost: float | None,
    at: np.ndarray,
    simulations: int,
    people: int = OPTIONS.participants,
) -> list[str]:
    """Cells: mean coverage, its standard error over simulations, least and most of a coefficient,
    mean width, mean beta over truth, simulations without intervals."""
    made = Parallel(n_jobs=WORKERS)(
        delayed(intervals)(n, seed, method, cost, people) for seed in range(simulations)
    )
    found = np.array([one for one, _ in made])
    told = np.isfinite(found).all(axis=(1, 2))
    beta, lo, hi = found[told].transpose(1, 0, 2)
    held = (lo <= at) & (at <= hi)
    slope = (beta @ at / (at @ at)).mean()
    each = 100 * held.mean(axis=0)
    error = 100 * held.mean(axis=1).std(ddof=1) / math.sqrt(len(held))
    return [
        f"{each.mean():.1f} ±{error:.1f}",
        f"{each.min():.1f}..{each.max():.1f}",
        f"{(hi - lo).mean():.3f}",
        f"{slope:.2f}",
        f"{(~told).sum()}",
    ]


HEAD = ("coverage, %", "by coefficient", "width", "beta / truth", "none made")


def coverage(at: np.ndarray, simulations: int) -> None:
    print(f"\n95 % intervals of the descriptive fit, {simulations} simulations, 87 participants")
    row("", *HEAD)
    for n in SIZES:
        for method in INTERVALS:
            row(f"n = {n}, {method}", *covered(n, method, None, at, simulations))


def few(at: np.ndarray, simulations: int) -> None:
    print(f"\nthe same of few participants, n = {SIZES[0]}")
    row("", *HEAD)
    for people in (25, 12):
        for method in INTERVALS:
            cells = covered(SIZES[0], method, None, at, simulations, people)
            row(f"{people} people, {method}", *cells)


def penalty(at: np.ndarray, simulations: int) -> None:
    print("\nwhat the penalty does: the same, of the fit with C, for the truth without penalty")
    row("", *HEAD)
    for n in SIZES:
        for cost in GRID:
            row(f"n = {n}, C = {cost}", *covered(n, "percentile", cost, at, simulations))


def accuracy() -> None:
    told = truth(OPTIONS)["bayes_accuracy"]
    print(
        "\nfitted on 2,000 clear comparisons (C = 0.1), asked of 20,000 clear ones of others; Bayes"
        f"\nrate of the population {100 * told['much']:.1f} (clear), {100 * told['strict']:.1f} "
        "(strict)"
    )
    row("20 draws", "accuracy", "Bayes, same", "points below", "worst draw")
    of_many = msgspec.structs.replace(OPTIONS, participants=200, comparisons=MANY)
    others = msgspec.structs.replace(OPTIONS, participants=2_000, comparisons=MANY)
    found = []
    for seed in range(20):
        train, test = drawn(of_many, 2_000, seed), drawn(others, 20_000, 500 + seed)
        model = MemoryAwareRewardModel(C=0.1, features=tuple(RUBRIC)).fit(train.x, train.y)
        ours = (model.predict(test.x) == test.y).mean()
        found.append((ours, ((test.logit > 0) == test.y).mean()))
    ours, best = 100 * np.array(found).T
    cells = (ours.mean(), best.mean(), (best - ours).mean(), (best - ours).max())
    row("", *(f"{cell:.2f}" for cell in cells))


def shuffled(simulations: int) -> None:
    number = max(10, simulations // 5)
    print(f"\nthe whole protocol on n = 291 with labels as they are and shuffled, {number} draws")
    row("", "accuracy", "majority", "minus majority", "beats it, p<.05", "loses, p<.05")
    for name, turned in (("as they are", False), ("shuffled", True)):
        made = Parallel(n_jobs=WORKERS)(delayed(against_majority)(s, turned) for s in range(number))
        ours, most, gap, p = np.array(made).T
        row(
            name,
            f"{100 * ours.mean():.1f}",
            f"{100 * most.mean():.1f}",
            f"{100 * gap.mean():+.1f}",
            f"{((gap > 0) & (p < 0.05)).sum()} of {number}",
            f"{((gap < 0) & (p < 0.05)).sum()} of {number}",
        )


def against_majority(seed: int, turned: bool) -> tuple[float, float, float, float]:
    data = drawn(OPTIONS, SIZES[0], seed)
    rng = np.random.default_rng(seed)
    y = rng.permutation(data.y) if turned else data.y
    p = held_out(data.x, y, draw_splits(data.who, seed=seed)).probability
    ours = np.where(p == 0.5, 0.5, (p > 0.5) == y)
    most = (y == (y.mean() >= 0.5)).astype(float)
    gap = paired_difference(ours, most, data.who, seed=seed)
    return ours.mean(), most.mean(), gap.difference, gap.p


if __name__ == "__main__":
    began = time.perf_counter()
    numbers = [int(one) for one in sys.argv[1:] if one.isdigit()]
    simulations = numbers[0] if numbers else 200
    tables = [one for one in sys.argv[1:] if not one.isdigit()]
    tables = tables or ["moved", "coverage", "few", "penalty", "accuracy", "shuffled"]
    if {"moved", "coverage", "few", "penalty"} & set(tables):
        target = moved() if "moved" in tables else population_fit(OPTIONS)
    if "coverage" in tables:
        coverage(target, simulations)
    if "few" in tables:
        few(target, simulations)
    if "penalty" in tables:
        penalty(target, simulations)
    if "accuracy" in tables:
        accuracy()
    if "shuffled" in tables:
        shuffled(simulations)
    print(f"\n{time.perf_counter() - began:.0f} s")
