"""Which interval covers: the study behind `workbench.intervals`. A few minutes on one core.

Worlds are simulated: conversations of LoCoMo's sizes draw an effect (normal, or exponential where
it says skew) that moves the chance of finding evidence; questions have one piece of it, a quarter
of them two, so values are 0, 1/2 and 1; paired differences are mostly 0, else -1 .. 1. The effect's
size is solved for the wanted intra-conversation correlation (ICC) and the true mean is known, so
one counts how often a nominal 95 % interval holds it. Cells: coverage in per cent / mean width.
    python tests/bench/bench_intervals.py [WORLDS]     the tables (default 1,000 worlds a row;
                                                       four times that for the shipped interval)
    python tests/bench/bench_intervals.py measure      LoCoMo's own ICCs, with MiniLM (minutes)
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from common import locomo_workspace, row
from scipy import stats
from scipy.special import ndtr, ndtri

from workbench.library import open_banks
from workbench.metrics import exclusion, recall_at
from workbench.recall import measure_recall
from workbench.schema import Recipe
from workbench.stats import interval_matrix

# Questions with evidence of categories 1-4 in each conversation of LoCoMo, in the file's order:
# the first is the train split, the second validation, the other eight test.
SIZES = np.array([150, 81, 152, 199, 178, 123, 150, 191, 156, 156])
TEST = SIZES[2:]
UNEVEN = np.array([200, 20, 20, 20, 20, 20])
RESAMPLES = 1000


class World(NamedTuple):
    """Counts (worlds, conversations, values) of what questions scored; what is true."""

    counts: np.ndarray
    values: np.ndarray
    truth: float
    own: np.ndarray  # (worlds,) the true mean of the conversations that were drawn

    @property
    def sums(self) -> np.ndarray:
        return self.counts @ self.values

    @property
    def sizes(self) -> np.ndarray:
        return self.counts[0].sum(axis=-1)


def recalls(chance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of 0, 1/2 and 1 where each piece of evidence is found with this chance."""
    lost, two = 1 - chance, 0.25
    cells = (
        (1 - two) * lost + two * lost**2,
        2 * two * chance * lost,
        (1 - two) * chance + two * chance**2,
    )
    return np.array([0, 0.5, 1]), np.stack(cells, axis=-1)


def differences(chance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities of -1, -1/2, 0, 1/2, 1: a fifth of the questions moves, upwards by chance."""
    up, down = 0.2 * chance, 0.2 * (1 - chance)
    cells = (0.7 * down, 0.3 * down, np.full_like(up, 0.8), 0.3 * up, 0.7 * up)
    return np.array([-1, -0.5, 0, 0.5, 1]), np.stack(cells, axis=-1)


def solved(function: Callable[[float], float], wanted: float, low: float, high: float) -> float:
    """Where a rising function reaches a value, by halving."""
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) < wanted else (low, middle)
    return (low + high) / 2


def simulate(
    kind: Callable[..., Any], mean: float, icc: float, sizes: np.ndarray, worlds: int, skew: bool
) -> World:
    rng = np.random.default_rng(0)
    shape = (worlds, len(sizes))
    drawn = rng.exponential(size=shape) - 1 if skew else rng.standard_normal(shape)
    even = (np.arange(5_000) + 0.5) / 5_000
    many = -np.log1p(-even) - 1 if skew else ndtri(even)  # the effects' quantiles: what is true
    values, _ = kind(many)

    def expected(base: float, spread: float) -> np.ndarray:
        return kind(ndtr(base + spread * many))[1] @ values

    def base_of(spread: float) -> float:
        return solved(lambda base: expected(base, spread).mean(), mean, -4, 4)

    def icc_of(spread: float) -> float:
        cells = kind(ndtr(base_of(spread) + spread * many))[1]
        means = cells @ values
        return means.var() / ((cells @ values**2).mean() - means.mean() ** 2)

    spread = solved(icc_of, icc, 0, 3) if icc else 0.0
    base = base_of(spread)
    cells = kind(ndtr(base + spread * drawn))[1]
    counts = rng.multinomial(np.broadcast_to(sizes, cells.shape[:2]), cells)
    own = (cells @ values) @ sizes / sizes.sum()
    return World(counts, values, float(expected(base, spread).mean()), own)


# ---------------------------------------------------------------- intervals: (2, worlds)


def shipped(world: World) -> np.ndarray:
    return np.array(interval_matrix(*questions(world))[1:])


def questions(world: World) -> tuple[np.ndarray, list[str]]:
    """The values (n, worlds) question by question, and their conversations."""
    ends = world.counts.cumsum(axis=-1)
    columns = [
        world.values[(np.arange(size)[:, None, None] >= ends[:, place]).sum(axis=-1)]
        for place, size in enumerate(world.sizes)
    ]
    names = [str(place) for place, size in enumerate(world.sizes) for _ in range(size)]
    return np.concatenate(columns), names


def resampled(method: str) -> Callable[[World], np.ndarray]:
    """SciPy's bootstrap of conversations."""

    def intervals(world: World) -> np.ndarray:
        def mean(sums: np.ndarray, sizes: np.ndarray, axis: int) -> np.ndarray:
            return sums.sum(axis=axis) / sizes.sum(axis=axis)

        rng = np.random.default_rng(1)
        found = [
            stats.bootstrap(
                (sums, world.sizes),
                mean,
                paired=True,
                method=method,
                n_resamples=RESAMPLES,
                rng=rng,
            ).confidence_interval
            for sums in world.sums
        ]
        return np.array(found).T

    return intervals


def of_questions(world: World) -> np.ndarray:
    """Percentile bootstrap of questions, whatever conversation they are of."""
    rng, n = np.random.default_rng(1), world.sizes.sum()
    shares = world.counts.sum(axis=1) / n
    draws = rng.multinomial(n, shares, size=(RESAMPLES, len(shares))) @ world.values / n
    return np.quantile(draws, [0.025, 0.975], axis=0)


def two_stage(world: World) -> np.ndarray:
    """Conversations, then questions within each."""
    rng, sizes, found = np.random.default_rng(1), world.sizes, []
    for counts in world.counts:
        picked = rng.integers(len(sizes), size=(RESAMPLES // 2, len(sizes)))
        drawn = rng.multinomial(sizes[picked], (counts / sizes[:, None])[picked])
        means = (drawn @ world.values).sum(axis=1) / sizes[picked].sum(axis=1)
        found.append(np.quantile(means, [0.025, 0.975]))
    return np.array(found).T


def linearised(power: float) -> Callable[[World], np.ndarray]:
    """t with G - 1 degrees of freedom; `power` of the leverage: 0 with G/(G-1) is CR1, 1 CR3."""

    def intervals(world: World) -> np.ndarray:
        groups, n = len(world.sizes), world.sizes.sum()
        mean = world.sums.sum(axis=1) / n
        off = (world.sums - mean[:, None] * world.sizes) / (1 - world.sizes / n) ** power
        scale = 1 if power else np.sqrt(groups / (groups - 1))
        half = stats.t.ppf(0.975, groups - 1) * scale * np.sqrt((off**2).sum(axis=1)) / n
        return np.array([mean - half, mean + half])

    return intervals


def wild(world: World) -> np.ndarray:
    """Wild bootstrap-t of conversations: all sign patterns, CR2 residuals."""
    sizes, n = world.sizes, world.sizes.sum()
    leverage = np.sqrt(1 - sizes / n)
    signs = np.array(list(itertools.product((-1, 1), repeat=len(sizes))))
    mean = world.sums.sum(axis=1) / n
    off = (world.sums - mean[:, None] * sizes) / leverage
    error = np.sqrt((off**2).sum(axis=1)) / n
    found = []
    for one in off:
        turned = signs * one
        moved = turned.sum(axis=1) / n
        rest = (turned - moved[:, None] * sizes) / leverage
        t = np.abs(moved) / (np.sqrt((rest**2).sum(axis=1)) / n + 1e-300)
        found.append(np.sort(t)[int(np.ceil(0.95 * len(t))) - 1])
    half = np.array(found) * error
    return np.array([mean - half, mean + half])


METHODS: dict[str, Callable[[World], np.ndarray]] = {
    "shipped": shipped,
    "questions": of_questions,
    "percentile": resampled("percentile"),
    "BCa": resampled("BCa"),
    "two-stage": two_stage,
    "CR1 t(G-1)": linearised(0),
    "CR3 t(G-1)": linearised(1),
    "wild t": wild,
}


def cell(intervals: np.ndarray, truth: float | np.ndarray) -> str:
    low, high = intervals
    covered = np.mean((low <= truth + 1e-9) & (truth - 1e-9 <= high))
    return f"{100 * covered:.1f} / {np.mean(high - low):.3f}"


def coverage(worlds: int) -> None:
    print("\nintervals for the mean over all conversations like these")
    row("", *METHODS)
    for groups, sizes in {
        "10": SIZES,
        "8": TEST,
        "5": SIZES[:5],
        "3": SIZES[2:5],
        "1 + 5": UNEVEN,
    }.items():
        for kind, mean, icc, skew in (
            (recalls, 0.58, 0.0, False),
            (recalls, 0.58, 0.02, False),
            (recalls, 0.58, 0.05, False),
            (recalls, 0.58, 0.1, False),
            (recalls, 0.58, 0.05, True),
            (recalls, 0.9, 0.02, False),
            (differences, 0.03, 0.0, False),
            (differences, 0.03, 0.01, False),
            (differences, 0.03, 0.05, False),
        ):
            if len(sizes) < 8 and icc not in (0.02, 0.01):
                continue
            named = f"{groups} {kind.__name__[:6]} {100 * mean:g} {icc:g}{' skew' * skew}"
            more = simulate(kind, mean, icc, sizes, 4 * worlds, skew)
            less = more._replace(counts=more.counts[:worlds])
            cells = [
                cell(method(more if name == "shipped" else less), more.truth)
                for name, method in METHODS.items()
            ]
            row(named, *cells)


def fallback(worlds: int) -> None:
    print("\ntoo few conversations, so questions are sampled: does the interval hold the mean of")
    row("", "these", "others too", "questions boot.: these")
    for named, sizes in (
        ("2", SIZES[:2]),
        ("1", SIZES[:1]),
        ("1 of 81", SIZES[1:2]),
        ("1 of 20", np.array([20])),
        ("1 of 8", np.array([8])),
    ):
        for kind, mean, icc in (
            (recalls, 0.58, 0.02),
            (recalls, 0.9, 0.02),
            (differences, 0.03, 0.01),
        ):
            world = simulate(kind, mean, icc, sizes, 4 * worlds, False)
            found, rival = shipped(world), cell(of_questions(world), world.own)
            label = f"{named} {kind.__name__[:6]} {mean}"
            row(label, cell(found, world.own), cell(found, world.truth), rival)


def correlation(values: np.ndarray, scopes: np.ndarray) -> float:
    """ICC by the analysis of variance."""
    _, group, sizes = np.unique(scopes, return_inverse=True, return_counts=True)
    means, n, groups = np.bincount(group, values) / sizes, len(values), len(sizes)
    between = (sizes * (means - values.mean()) ** 2).sum() / (groups - 1)
    within = ((values - means[group]) ** 2).sum() / (n - groups)
    typical = (n - (sizes**2).sum() / n) / (groups - 1)
    return (between - within) / (between + (typical - 1) * within)


def measure() -> None:
    """LoCoMo's own correlations within conversations, at K = 25."""
    recipes = {
        "dense": Recipe(retriever="dense", prior="none", lam=1.0),
        "centroid, 0.8": Recipe(retriever="dense", prior="centroid:turns", lam=0.8),
        "facts, 0.7": Recipe(retriever="dense", prior="facts", lam=0.7),
        "hybrid": Recipe(retriever="hybrid", prior="none", lam=1.0),
    }
    row("recall@25", "mean", "ICC", "minus dense", "ICC of that")
    with locomo_workspace() as workspace:
        banks = open_banks(workspace, "locomo")
        asked = [q for q in banks.dataset.questions if exclusion(q) is None]
        scopes, dense = np.array([q.scope for q in asked]), None
        for name, recipe in recipes.items():
            ranks = measure_recall(banks, asked, recipe)[0]
            found = np.array([recall_at(25, one.ranks) for one in ranks])
            dense = found if dense is None else dense
            gap = found - dense
            second = (f"{gap.mean():+.4f}", f"{correlation(gap, scopes):.4f}") if gap.any() else ()
            row(name, f"{found.mean():.4f}", f"{correlation(found, scopes):.4f}", *second)


if __name__ == "__main__":
    began = time.perf_counter()
    if sys.argv[1:] == ["measure"]:
        measure()
    else:
        number = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
        coverage(number)
        fallback(number)
    print(f"\n{time.perf_counter() - began:.0f} s")
