"""Intervals, permutation tests and Holm against SciPy, exact counts and hand-worked examples."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from workbench.errors import UsageError
from workbench.stats import (
    Estimate,
    holm,
    interval_matrix,
    mean_interval,
    paired_difference,
)

SIZES = (150, 81, 152, 199, 178, 123, 150, 191, 156, 156)
CLUSTERS = [f"c{place}" for place, size in enumerate(SIZES) for _ in range(size)]


def scores(seed: int = 0, spread: float = 0.1, n: int = len(CLUSTERS)) -> np.ndarray:
    """Values 0, 1/2, 1 whose mean differs by conversation."""
    rng = np.random.default_rng(seed)
    chance = (0.58 + spread * rng.standard_normal(len(SIZES)))[[int(c[1:]) for c in CLUSTERS[:n]]]
    return rng.binomial(2, chance.clip(0, 1)) / 2


# ---------------------------------------------------------------- means


def test_equal_clusters_give_the_t_interval_of_their_means() -> None:
    """With clusters of one size the CR2 interval is Student's over the cluster means (SciPy's)."""
    rng = np.random.default_rng(3)
    values = rng.normal(2, 1, (6, 20)) + rng.normal(0, 1, (6, 1))
    clusters = [str(place) for place in range(6) for _ in range(20)]
    means = values.mean(axis=1)
    expected = stats.t.interval(0.9, 5, means.mean(), stats.sem(means))
    found = mean_interval(values.ravel(), clusters, level=0.9)
    assert (found.lo, found.hi) == pytest.approx(expected)
    assert (found.n, found.clusters, found.basis) == (120, 6, "conversations")


def test_clusters_of_one_question_each_give_student_s_t() -> None:
    values = scores(n=150)
    expected = stats.t.interval(0.95, 149, values.mean(), stats.sem(values))
    found = mean_interval(values, [str(place) for place in range(150)])
    assert (found.lo, found.hi) == pytest.approx(expected)


def test_unequal_clusters_by_the_definition_of_cr2_and_of_satterthwaite() -> None:
    """Bell & McCaffrey with whole n x n matrices: e = (I - H) y, A = (I - H_gg)^(-1/2) by
    eigenvectors, degrees of freedom from the eigenvalues of the quadratic form."""
    sizes = [2, 3, 5, 9]
    group = np.repeat(np.arange(4), sizes)
    n = len(group)
    y = np.random.default_rng(1).normal(5, 2, n)
    hat = np.full((n, n), 1 / n)
    columns, variance = [], 0.0
    for g in range(4):
        rows = np.flatnonzero(group == g)
        w, v = np.linalg.eigh(np.eye(len(rows)) - hat[np.ix_(rows, rows)])
        adjust = v @ np.diag(w**-0.5) @ v.T
        column = (np.eye(n) - hat)[:, rows] @ adjust @ np.ones(len(rows)) / n
        columns.append(column)
        variance += float(column @ y) ** 2
    eigen = np.linalg.eigvalsh(np.array(columns) @ np.array(columns).T)
    freedom = eigen.sum() ** 2 / (eigen**2).sum()
    half = stats.t.ppf(0.975, freedom) * np.sqrt(variance)
    found = mean_interval(y, [f"c{g}" for g in group])
    assert (found.lo, found.hi) == pytest.approx((y.mean() - half, y.mean() + half))


def test_the_order_of_questions_and_the_names_of_clusters_do_not_matter() -> None:
    values, order = scores(), np.random.default_rng(5).permutation(len(CLUSTERS))
    there = mean_interval(values, CLUSTERS)
    here = mean_interval(values[order], [f"other {CLUSTERS[place]}" for place in order])
    assert (here.mean, here.lo, here.hi) == pytest.approx((there.mean, there.lo, there.hi))


def test_conversations_that_differ_widen_the_interval() -> None:
    values = scores(spread=0.15)
    by_conversation = mean_interval(values, CLUSTERS)
    by_question = mean_interval(values, [str(place) for place in range(len(values))])
    assert width(by_conversation) > 3 * width(by_question)


@pytest.mark.parametrize("conversations", [1, 2])
def test_one_or_two_conversations_fall_back_to_questions_and_say_so(conversations: int) -> None:
    n = sum(SIZES[:conversations])
    values = scores(n=n)
    found = mean_interval(values, CLUSTERS[:n])
    expected = stats.t.interval(0.95, n - 1, values.mean(), stats.sem(values))
    assert (found.lo, found.hi) == pytest.approx(expected)
    assert (found.basis, found.clusters) == ("questions", conversations)


def test_three_very_unequal_conversations_fall_back_and_three_equal_ones_do_not() -> None:
    values = [0.0, 1.0, 0.5, 1.0, 1.0, 0.0] * 40
    unequal = ["a"] * 236 + ["b", "b", "c", "c"]
    assert mean_interval(values, unequal).basis == "questions"
    assert mean_interval(values, ["a"] * 82 + ["b"] * 80 + ["c"] * 78).basis == "conversations"


def test_clusters_that_agree_by_chance_do_not_make_a_mean_certain() -> None:
    """Every conversation's mean is 1/2: no spread between them, much within."""
    values = [0.0, 1.0] * 6
    found = mean_interval(values, list("aaaabbbbcccc"))
    expected = stats.t.interval(0.95, 11, 0.5, stats.sem(values))
    assert (found.lo, found.hi) == pytest.approx(expected)
    assert found.basis == "questions"


@pytest.mark.parametrize("n", [1, 5, 100])
def test_ones_alone_get_the_exact_bound_of_a_binomial(n: int) -> None:
    exact = stats.binomtest(n, n).proportion_ci(0.95, "exact")
    found = mean_interval([1.0] * n, ["c"] * n)
    assert (found.lo, found.hi) == pytest.approx((exact.low, exact.high))
    exact = stats.binomtest(0, n).proportion_ci(0.95, "exact")
    found = mean_interval([0.0] * n, [str(place) for place in range(n)])
    assert (found.lo, found.hi) == pytest.approx((exact.low, exact.high))


@pytest.mark.parametrize("values", [[7.0], [7.0, 7.0, 7.0]])
def test_equal_values_of_no_known_range_have_no_interval(values: list[float]) -> None:
    found = mean_interval(values, ["c"] * len(values))
    assert (found.mean, found.lo, found.hi, found.n) == (7.0, None, None, len(values))


def test_an_interval_stays_within_the_range_of_its_values() -> None:
    found = mean_interval([1, 1, 1, 0.5, 1, 1], list("abcdef"))
    assert found.hi == 1.0
    assert found.lo is not None and 0 < found.lo < found.mean
    lengths = mean_interval([3.0, 3.0, 3.0, 0.0, 3.0], list("abcde"))
    assert lengths.hi is not None and lengths.hi > 3


BAD: list[tuple[list[float], list[str], float, str]] = [
    ([], [], 0.95, "no values"),
    ([1.0, float("nan")], ["a", "b"], 0.95, "not finite"),
    ([1.0, float("inf")], ["a", "b"], 0.95, "not finite"),
    ([1.0, 0.0], ["a"], 0.95, "2 values but 1 clusters"),
    ([1.0, 0.0], ["a", "b"], 95, "between 0 and 1"),
]


@pytest.mark.parametrize(("values", "clusters", "level", "why"), BAD)
def test_what_cannot_be_estimated_is_refused(
    values: list[float], clusters: list[str], level: float, why: str
) -> None:
    with pytest.raises(UsageError, match=why):
        mean_interval(values, clusters, level=level)
    with pytest.raises(UsageError, match=why):
        paired_difference(values, values, clusters, level=level)


def test_a_matrix_gives_what_its_columns_give() -> None:
    matrix = np.stack([scores(seed) for seed in range(5)] + [np.ones(len(CLUSTERS))], axis=1)
    mean, lo, hi = interval_matrix(matrix, CLUSTERS)
    for place in range(6):
        one = mean_interval(matrix[:, place], CLUSTERS)
        assert (mean[place], lo[place], hi[place]) == pytest.approx((one.mean, one.lo, one.hi))


def test_a_matrix_of_differences_knows_their_range() -> None:
    """Ten equal zeros: at most a share 1 - .025^(1/10) of others, each of -1 or 1."""
    mean, lo, hi = interval_matrix(np.array([[0.0, -1.0]] * 5 + [[0.0, 1.0]] * 5), ["c"] * 10)
    reach = 1 - 0.025 ** (1 / 10)
    assert (mean[0], lo[0], hi[0]) == pytest.approx((0, -reach, reach))
    _, lo, hi = interval_matrix(np.full((4, 1), 9.0), ["c"] * 4)
    assert (lo[0], hi[0]) == (-np.inf, np.inf)


def test_the_interval_covers_where_a_bootstrap_of_conversations_falls_short() -> None:
    """400 worlds of LoCoMo's sizes with a known mean (.58): the bench's study in small.

    Three standard errors of a coverage of 95 % over 400 worlds are 3.3 points.
    """
    rng = np.random.default_rng(7)
    group = np.array([int(c[1:]) for c in CLUSTERS])
    chance = 0.58 + 0.08 * rng.uniform(-1, 1, (400, len(SIZES))) * 3**0.5
    matrix = (rng.random((400, len(group))) < chance[:, group]).astype(float).T
    _, lo, hi = interval_matrix(matrix, CLUSTERS)
    assert 0.917 <= np.mean((lo <= 0.58) & (hi >= 0.58)) <= 0.983
    sums = np.stack([np.bincount(group, column) for column in matrix.T])
    draws = rng.multinomial(len(SIZES), np.full(len(SIZES), 0.1), size=1000)
    means = (draws @ sums.T) / (draws @ np.array(SIZES))[:, None]
    low, high = np.quantile(means, [0.025, 0.975], axis=0)
    assert np.mean((low <= 0.58) & (high >= 0.58)) < 0.917


# ---------------------------------------------------------------- paired differences


def test_the_difference_of_two_runs_is_the_interval_of_the_differences() -> None:
    a, b = scores(1), scores(2)
    found, alone = paired_difference(a, b, CLUSTERS), mean_interval(5 + a - b, CLUSTERS)
    assert alone.lo is not None and alone.hi is not None
    assert found.difference == pytest.approx(a.mean() - b.mean())
    assert (found.lo, found.hi) == pytest.approx((alone.lo - 5, alone.hi - 5))
    assert (found.n, found.clusters, found.basis) == (len(a), 10, "conversations")


def test_a_hand_worked_permutation() -> None:
    """Differences 1, 1, 1, -1 sum to 2; of 16 sign patterns 10 reach |sum| >= 2 (4 + 4 + 1 + 1):
    p = 10/16. Zeros change nothing."""
    a, b = [1, 1, 1, 0, 1, 0], [0, 0, 0, 1, 1, 0]
    assert paired_difference(a, b, list("abcdef")).p == 10 / 16
    assert paired_difference([1] * 5, [0] * 5, list("abcde")).p == 2 / 32


def scipy_p(gaps: np.ndarray, **given: object) -> float:
    def size(x: np.ndarray, axis: int) -> np.ndarray:
        return np.abs(x.sum(axis=axis))

    return stats.permutation_test(
        (gaps,), size, permutation_type="samples", vectorized=True, alternative="greater", **given
    ).pvalue


@pytest.mark.parametrize("n", [3, 8, 13])
def test_few_differences_have_scipy_s_exact_p(n: int) -> None:
    gaps = np.random.default_rng(n).normal(0.3, 1, n)
    found = paired_difference(gaps, np.zeros(n), [str(place) for place in range(n)])
    assert found.p == pytest.approx(scipy_p(gaps, n_resamples=np.inf))


def test_many_differences_have_scipy_s_p_within_the_error_of_both_samples() -> None:
    """Four standard errors of the difference between two such p of .1 are .017."""
    gaps = np.random.default_rng(11).normal(0.13, 1, 200)
    found = paired_difference(gaps, np.zeros(200), ["c"] * 200).p
    other = scipy_p(gaps, n_resamples=9_999, rng=np.random.default_rng(0))
    assert 0.01 < other < 0.1
    assert found == pytest.approx(other, abs=0.02)
    # The t test of the same question agrees to about as much with so many normal differences.
    assert found == pytest.approx(stats.ttest_1samp(gaps, 0).pvalue, abs=0.02)


def test_a_monte_carlo_p_is_never_zero() -> None:
    assert paired_difference(np.ones(500), np.zeros(500), ["c"] * 500).p == 1 / 10_000


def test_p_is_uniform_where_nothing_differs() -> None:
    """Of 1,000 null comparisons 5 % have p <= .05, give or take three standard errors (2.1 %)."""
    rng = np.random.default_rng(2)
    ps = [paired_difference(rng.normal(0, 1, 10), np.zeros(10), ["c"] * 10).p for _ in range(1000)]
    assert 0.029 <= np.mean(np.array(ps) <= 0.05) <= 0.071


def test_identical_runs_differ_by_nothing_and_less_surely_the_fewer_they_are() -> None:
    found = paired_difference([1, 0, 1], [1, 0, 1], list("abc"))
    reach = 1 - 0.025 ** (1 / 3)
    assert (found.difference, found.p) == (0.0, 1.0)
    assert (found.lo, found.hi) == pytest.approx((-reach, reach))


def test_repetition_gives_the_same_to_the_last_digit() -> None:
    assert mean_interval(scores(), CLUSTERS) == mean_interval(scores(), CLUSTERS)
    once, again = (paired_difference(scores(1), scores(2), CLUSTERS, seed=4) for _ in range(2))
    assert once == again


def test_another_seed_draws_other_flips() -> None:
    ps = {paired_difference(scores(1), scores(2), CLUSTERS, seed=seed).p for seed in range(6)}
    assert len(ps) > 1


# ---------------------------------------------------------------- Holm


def test_holm_by_hand() -> None:
    """Sorted .005, .01, .03, .04 times 4, 3, 2, 1: .02, .03, .06, .04 -> never falling: .06."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_holm_at_its_edges() -> None:
    assert holm([]) == []
    assert holm([0.04]) == [0.04]
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([0.02, 0.02]) == [0.04, 0.04]
    with pytest.raises(UsageError, match=r"not 1\.2"):
        holm([0.5, 1.2])


def test_holm_rejects_what_the_step_down_procedure_rejects() -> None:
    """Holm 1979 as a procedure: reject in order while p <= .05 / (tests left)."""
    for ps in itertools.product([0.001, 0.012, 0.02, 0.04, 0.3], repeat=4):
        rejected: set[int] = set()
        for left, place in zip(range(4, 0, -1), np.argsort(ps, kind="stable"), strict=True):
            if ps[place] > 0.05 / left:
                break
            rejected.add(int(place))
        assert {place for place, p in enumerate(holm(ps)) if p <= 0.05} == rejected


def width(estimate: Estimate) -> float:
    assert estimate.lo is not None and estimate.hi is not None
    return estimate.hi - estimate.lo
