"""The reward model: fits against other optimisers, intervals against other libraries, files."""

from __future__ import annotations

import inspect
import json
import math
import pickle
import subprocess
import sys
import time
import zipfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from scipy.optimize import minimize
from scipy.stats import bootstrap
from scipy.stats import t as student
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from reward_model.coefficients import (
    Coefficients,
    Resampling,
    bootstrap_coefficients,
    standardised_fit,
)
from reward_model.fitting import explain_comparison, fit_comparisons, fitted
from reward_model.material import EvaluationPlan
from reward_model.model import MemoryAwareRewardModel, UnfitError
from reward_model.model_file import FORMAT, LARGEST, Origin, decode
from reward_model.resampling import Fit, Rows, refit
from reward_model.reward import MemoryReward, trl_reward
from reward_model.rubric import RUBRIC
from reward_model.schema import ComparisonSet, Pair
from reward_model.scores import Scores
from reward_model.separation import undetermined
from reward_model.simulate import SimulationOptions, simulate
from shell import environment
from workbench.errors import DataError, ModelError, UsageError

Vector = npt.NDArray[np.float64]
World = tuple[Vector, Vector, list[str]]

PROJECT = Path(__file__).resolve().parent.parent


def world(n: int = 200, d: int = 4, people: int = 60, seed: int = 0, spread: float = 0.6) -> World:
    """Correlated features on unlike scales, labels of a known curve, participants with a bent."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, d))
    z[:, 1] += 0.5 * z[:, 0]
    who = rng.integers(people, size=n)
    logit = z @ np.linspace(0.9, -0.4, d) + 0.3 + spread * rng.normal(size=people)[who]
    y = (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(float)
    return z * 10.0 ** np.arange(d) + 5, y, [f"p{one}" for one in who]


def names(d: int) -> list[str]:
    return list(RUBRIC)[:d]


def minimum(x: Vector, y: Vector, cost: float | None) -> Vector:
    """SPEC B.2 as it stands, for a general minimiser: weights and intercept (d + 1,)."""
    z = (x - x.mean(axis=0)) / x.std(axis=0)

    def loss(beta: Vector) -> float:
        margin = z @ beta[:-1] + beta[-1]
        penalty = 0.0 if cost is None else (beta[:-1] ** 2).sum() / (2 * cost)
        return float((np.logaddexp(0, margin) - y * margin).sum() + penalty)

    found = minimize(loss, np.zeros(x.shape[1] + 1), method="BFGS", options={"gtol": 1e-6})
    return np.asarray(found.x)


def _named(check: Any) -> str:
    return str(getattr(check, "func", check).__name__)


# It runs only where SciPy was told of array API before it was imported: in a process of its own.
ARRAY_API = "check_array_api_input"
CHECKS = [check for _, check in estimator_checks_generator(MemoryAwareRewardModel())]


@pytest.mark.parametrize("check", [one for one in CHECKS if _named(one) != ARRAY_API], ids=_named)
def test_it_is_a_scikit_learn_estimator(check: Any) -> None:
    check(MemoryAwareRewardModel())


def test_the_array_api_check_passes_too() -> None:
    said = subprocess.run(
        [
            sys.executable,
            "-c",
            "from sklearn.utils.estimator_checks import check_estimator\n"
            "from reward_model.model import MemoryAwareRewardModel\n"
            "told = check_estimator(MemoryAwareRewardModel(), on_skip=None)\n"
            f"print([one['status'] for one in told if one['check_name'] == {ARRAY_API!r}])",
        ],
        env=environment(SCIPY_ARRAY_API="1"),
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout.strip() == "['passed']"


# ---------------------------------------------------------------- the fit


@pytest.mark.parametrize("cost", [0.003, 0.1, 3.0, None])
def test_coefficients_are_those_of_a_general_minimiser(cost: float | None) -> None:
    x, y, _ = world()
    beta, intercept = standardised_fit(x, y, cost)
    assert np.r_[beta, intercept] == pytest.approx(minimum(x, y, cost), abs=1e-4)


@pytest.mark.parametrize("cost", [0.003, 0.1, 3.0])
def test_the_model_is_scikit_learns_pipeline(cost: float) -> None:
    x, y, _ = world()
    fresh, _, _ = world(seed=1)
    theirs = make_pipeline(StandardScaler(), LogisticRegression(C=cost, tol=1e-10)).fit(x, y)
    mine = MemoryAwareRewardModel(C=cost).fit(x, y)
    assert mine.coef_ == pytest.approx(theirs[-1].coef_[0], abs=1e-6)
    assert mine.predict_proba(fresh) == pytest.approx(theirs.predict_proba(fresh), abs=1e-6)
    assert (mine.predict(fresh) == theirs.predict(fresh)).all()


def test_one_yes_or_no_feature_gives_the_log_of_the_odds_ratio() -> None:
    # 30 of 40 prefer memory with it, 20 of 50 without: odds 3 and 2/3, ratio 4.5.
    x = np.repeat([1.0, 0.0], [40, 50])[:, None]
    y = np.r_[np.repeat([1.0, 0.0], [30, 10]), np.repeat([1.0, 0.0], [20, 30])]
    beta, intercept = standardised_fit(x, y)
    deviation = math.sqrt(40 / 90 * 50 / 90)
    assert beta[0] == pytest.approx(math.log(4.5) * deviation, abs=1e-7)
    assert intercept == pytest.approx(math.log(2 / 3) + math.log(4.5) * 40 / 90, abs=1e-7)


def test_what_is_explained_adds_up_to_the_log_odds_exactly() -> None:
    x, y, _ = world(d=12)
    model = MemoryAwareRewardModel(features=names(12)).fit(x, y)
    logits = model.decision_function(x)
    for row, logit in zip(x, logits, strict=True):
        found = model.explain(row)
        total = found.intercept
        for part in found.parts:
            total += part.contribution
        # To the last bit, alone as in the batch.
        assert total == found.logit == logit
    part = model.explain(x[0]).parts[2]
    assert (part.feature, part.value, part.memory) == ("REL", x[0, 2], True)
    assert part.standardised == pytest.approx((x[0, 2] - x[:, 2].mean()) / x[:, 2].std())
    assert part.contribution == pytest.approx(part.coef * part.standardised)
    assert found.probability == pytest.approx(1 / (1 + math.exp(-found.logit)))


def test_a_column_that_never_varies_has_no_weight_and_is_named() -> None:
    x, y, who = world()
    x[:, 1] = 0.1
    model = MemoryAwareRewardModel(features=names(4)).fit(x, y, who)
    assert model.constant_ == ("LEN",)
    assert model.coef_[1] == 0
    moved = x.copy()
    moved[:, 1] = 1e6
    assert (model.predict_proba(moved) == model.predict_proba(x)).all()
    row = model.coefficients().rows[1]
    assert (row.beta, row.lo, row.hi) == (0, None, None)
    assert model.coefficients().notes == (
        "LEN: the same in every comparison, so its coefficient is 0 and says nothing",
    )
    # The others are as if it were not there.
    rest = MemoryAwareRewardModel().fit(x[:, [0, 2, 3]], y)
    assert model.coef_[[0, 2, 3]] == pytest.approx(rest.coef_, abs=1e-9)


@pytest.mark.parametrize(
    ("y", "settings", "said"),
    [
        ([1.0] * 20, {}, "only one class: all 20 comparisons have the label 1.0"),
        ([0, 1, 2, 1] * 5, {}, "Only binary classification is supported"),
        ([0, 1] * 10, {"C": 0}, "C must be a number above 0, not 0"),
        ([0, 1] * 10, {"C": math.inf}, "C must be a number above 0, not inf"),
        ([0, 1] * 10, {"features": ["HEAD"]}, "1 feature names .* for 2 columns"),
        ([0, 1] * 10, {"features": ["HEAD", "HEAD"]}, "1 of them different"),
    ],
)
def test_what_cannot_be_fitted_is_said(y: list[float], settings: Any, said: str) -> None:
    x = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(UnfitError, match=said) as caught:
        MemoryAwareRewardModel(**settings).fit(x, y)
    # A mistake for us, and for scikit-learn's searches.
    assert isinstance(caught.value, DataError) and isinstance(caught.value, ValueError)


# ---------------------------------------------------------------- intervals


@pytest.mark.parametrize("cost", [None, 0.1])
def test_a_weight_counts_like_so_many_copies_of_a_row(cost: float | None) -> None:
    x, y, _ = world(80, 3)
    counts = np.random.default_rng(3).integers(0, 4, size=(5, 80))
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    fit = Fit(Rows(z, y, np.arange(80), cost), *standardised_fit(x, y, cost), 100, 0)
    found, finite = refit(fit, counts.astype(float))
    assert finite.all()
    for row, count in zip(found, counts, strict=True):
        copies = np.repeat(np.arange(80), count)
        by_hand, _ = standardised_fit(x[copies], y[copies], cost)
        assert row == pytest.approx(by_hand, abs=1e-6)


def test_bca_is_scipys() -> None:
    x, y, _ = world(90, 2, seed=5)

    def statistic(rows: npt.NDArray[np.int64]) -> Vector:
        return standardised_fit(x[rows], y[rows])[0]

    theirs = bootstrap(
        (np.arange(90),), statistic, vectorized=False, n_resamples=3000, method="BCa",
        rng=np.random.default_rng(0),
    ).confidence_interval  # fmt: skip
    alone = [str(one) for one in range(90)]  # every comparison by another participant
    how = Resampling(interval="bca", resamples=3000)
    mine = bootstrap_coefficients(x, y, alone, names(2), None, how)
    widths = theirs.high - theirs.low
    # Ends move by about a fortieth of the width from one set of 3,000 draws to the next.
    assert np.abs([one.lo for one in mine] - theirs.low).max() < 0.06 * widths.max()
    assert np.abs([one.hi for one in mine] - theirs.high).max() < 0.06 * widths.max()


def test_the_jackknife_leaves_out_each_participant_in_turn() -> None:
    x, y, who = world(120, 2, people=15)
    found = bootstrap_coefficients(x, y, who, names(2))
    assert found.interval == "jackknife"  # chosen for fewer than 30 participants
    people = sorted(set(who))
    rest = [[at for at, one in enumerate(who) if one != person] for person in people]
    fits = [
        make_pipeline(StandardScaler(), LogisticRegression(C=np.inf, tol=1e-10))
        .fit(x[rows], y[rows])[-1]
        .coef_[0]
        for rows in rest
    ]
    off = np.array(fits) - np.mean(fits, axis=0)
    half = student.ppf(0.975, 14) * np.sqrt(14 / 15 * (off**2).sum(axis=0))
    for at, one in enumerate(found):
        assert one.lo == pytest.approx(one.beta - half[at], abs=1e-4)
        assert one.hi == pytest.approx(one.beta + half[at], abs=1e-4)


@pytest.mark.parametrize("cost", [None, 0.1])
def test_the_sandwich_adds_up_what_a_little_more_of_each_participant_does(
    cost: float | None,
) -> None:
    x, y, who = world(150, 3, people=40)
    people, group = np.unique(who, return_inverse=True)
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    fit = Fit(Rows(z, y, group, cost), *standardised_fit(x, y, cost), 100, 0)
    more = 1 + 1e-4 * (group == np.arange(len(people))[:, None])
    slopes = (refit(fit, more)[0] - fit.beta) / 1e-4
    correction = len(people) / (len(people) - 1) * 149 / 146
    half = student.ppf(0.975, len(people) - 1) * np.sqrt(correction * (slopes**2).sum(axis=0))
    found = bootstrap_coefficients(x, y, who, names(3), cost, Resampling(interval="sandwich"))
    assert [one.hi - one.beta for one in found] == pytest.approx(half, rel=2e-3)


@pytest.mark.parametrize("interval", ["bca", "jackknife", "sandwich", "percentile"])
def test_copies_of_a_participants_judgments_tell_nothing_new(interval: str) -> None:
    x, y, who = world(150, 3, people=40)
    how = Resampling(interval=interval)
    once = bootstrap_coefficients(x, y, who, names(3), None, how)
    four = bootstrap_coefficients(np.tile(x, (4, 1)), np.tile(y, 4), who * 4, names(3), None, how)
    for a, b in zip(once, four, strict=True):
        # CR1's correction for the number of features alone sees the copies.
        loose = {"rel": 0.02} if interval == "sandwich" else {"abs": 1e-5}
        assert b.hi - b.lo == pytest.approx(a.hi - a.lo, **loose)
    # Treated as strangers, the copies would halve the interval.
    strangers = [str(at) for at in range(600)]
    naive = bootstrap_coefficients(
        np.tile(x, (4, 1)), np.tile(y, 4), strangers, names(3), None, how
    )
    assert naive.rows[0].hi - naive.rows[0].lo < 0.6 * (once.rows[0].hi - once.rows[0].lo)


def test_intervals_cover_the_descriptive_truth() -> None:
    x, y, _ = world(400_000, 4, people=100_000, seed=99)
    truth, _ = standardised_fit(x, y)
    held = []
    for seed in range(60):
        sample = world(250, 4, people=60, seed=seed)
        found = bootstrap_coefficients(*sample, names(4), None, Resampling(resamples=200))
        held += [one.lo <= true <= one.hi for one, true in zip(found, truth, strict=True)]
    # 240 intervals: 95 % give or take 1.4; the bench has 200 worlds of the simulator's.
    assert 0.92 <= np.mean(held) <= 0.98


def test_a_penalty_shrinks_and_its_intervals_miss_the_descriptive_truth() -> None:
    x, y, who = world(250, 4, seed=1)
    free = bootstrap_coefficients(x, y, who, names(4))
    tight = bootstrap_coefficients(x, y, who, names(4), 0.003)
    assert (free.C, tight.C) == (None, 0.003)
    assert abs(tight.rows[0].beta) < abs(free.rows[0].beta) / 2
    assert tight.rows[0].hi < free.rows[0].beta


def test_the_same_seed_gives_the_same_intervals() -> None:
    case = world(100, 2)
    one, again = (bootstrap_coefficients(*case, names(2)) for _ in range(2))
    assert one == again
    other = bootstrap_coefficients(*case, names(2), None, Resampling(seed=1))
    assert [row.beta for row in other] == [row.beta for row in one]
    assert other.rows[0].lo != one.rows[0].lo


def test_a_thousand_resamples_take_less_than_two_seconds() -> None:
    case = world(291, 12, people=87)
    began = time.perf_counter()
    found = bootstrap_coefficients(*case, names(12))
    assert time.perf_counter() - began < 2
    assert (found.n, found.interval, found.resamples, found.failed) == (291, "bca", 1000, 0)


def test_few_participants_are_said() -> None:
    x, y, _ = world(60, 2)
    found = bootstrap_coefficients(x, y, ["p"] * 60, names(2))
    assert [(one.lo, one.hi) for one in found] == [(None, None)] * 2
    assert found.notes == ("one participant: no interval over participants",)
    assert found.rows[0].beta is not None
    # Two of three, without whom there is one class only, cannot be left out.
    x, y = np.c_[np.arange(12.0)], np.array([1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 1.0])
    few = bootstrap_coefficients(x, y, list("aaaabbbbcccc"), ["LEN"])
    assert few.rows[0].lo is None
    assert "1 of 3 leave-one-out fits have no finite fit" in few.notes[0]


# ---------------------------------------------------------------- separation (CASES 42)


def test_a_feature_that_separates_the_classes_is_flagged() -> None:
    x, y, who = world(100, 3)
    x[:, 1] = y
    free = bootstrap_coefficients(x, y, who, names(3))
    assert [one.beta for one in free] == [None] * 3
    [said] = free.notes
    assert said.startswith("the classes are separated by the features (n = 100, ")
    assert "not to be read as effects" in said
    # A penalty makes them finite, no more.
    tight = bootstrap_coefficients(x, y, who, names(3), 0.1)
    assert tight.rows[1].beta is not None and tight.notes == free.notes
    assert MemoryAwareRewardModel(features=names(3)).fit(x, y, who).file_.notes == free.notes


@pytest.mark.parametrize(
    ("z", "y", "said"),
    [
        ([-2.0, -1, 1, 2], [0, 0, 1, 1], "are separated by the features (n = 4, 2 of them"),
        ([-1.0, 0, 0, 1], [0, 0, 1, 1], "separated but for ties on the border"),
        ([-1.0, 1, -1, 1], [0, 0, 1, 1], ""),
        ([-2.0, 1, -1, 2], [0, 0, 1, 1], ""),
        # All of one class are on the border: the ones there need not be pushed apart.
        ([0.0, 0, 0, 3], [0, 1, 1, 1], "separated but for ties on the border"),
    ],
)
def test_separation_by_hand(z: list[float], y: list[float], said: str) -> None:
    found = undetermined(np.array(z)[:, None], np.array(y, float))
    assert said in found if said else found == ""


def test_columns_that_follow_from_others_are_no_effects() -> None:
    x, y, who = world(100, 3)
    x[:, 2] = 3 * x[:, 0] - x[:, 1]
    found = bootstrap_coefficients(x, y, who, names(3))
    assert [one.beta for one in found] == [None] * 3
    assert "3 columns and an intercept have rank 3 over 100 comparisons" in found.notes[0]


@pytest.mark.parametrize(
    ("change", "settings", "said"),
    [
        ({"y": np.ones(60)}, {}, "60 of 60 comparisons prefer memory: a fit needs both classes"),
        ({"y": np.full(60, 0.5)}, {}, "leave ties out"),
        ({"x": np.full((60, 2), np.nan)}, {}, "comparison 0 has nan as HEAD"),
        ({"participants": ["p"] * 59}, {}, "do not fit 59 comparisons"),
        ({"features": ["HEAD"]}, {}, "and 1 names"),
        ({"C": -1.0}, {}, "C must be above 0 and finite"),
        ({}, {"interval": "wald"}, "no interval 'wald'; there are bca, jackknife, sandwich, perc"),
        ({}, {"resamples": 10}, "at least 100 resamples"),
        ({}, {"level": 1.0}, "a level between 0 and 1"),
    ],
)
def test_what_cannot_be_meant_is_refused(change: Any, settings: Any, said: str) -> None:
    x, y, who = world(60, 2)
    given = {"x": x, "y": y, "participants": who, "features": names(2)} | change
    with pytest.raises((DataError, UsageError), match=said):
        bootstrap_coefficients(**given, how=Resampling(**settings))


# ---------------------------------------------------------------- files (CASES 59)


def fit_model(d: int = 4) -> MemoryAwareRewardModel:
    x, y, who = world(d=d)
    return MemoryAwareRewardModel(C=0.3, features=names(d)).fit(x, y, who)


def test_a_saved_model_is_the_same_to_the_last_bit(tmp_path: Path) -> None:
    origin = Origin(
        dataset="mine", data="abc", scorer={"name": "offline", "embedder": {"id": 1}},
        synthetic=True, excluded={"too fast": 3},
    )  # fmt: skip
    model = fit_model().signed(origin)
    model.save(tmp_path / "model.json")
    again = MemoryAwareRewardModel.load(tmp_path / "model.json")
    fresh, _, _ = world(seed=7)
    assert (again.predict_proba(fresh) == model.predict_proba(fresh)).all()
    assert (again.predict(fresh) == model.predict(fresh)).all()
    assert again.explain(fresh[0]) == model.explain(fresh[0])
    assert again.explain(fresh[0]).synthetic
    assert again.coefficients() == model.coefficients()
    assert again.file_ == model.file_ and again.file_.origin == origin
    assert again.to_json() == model.to_json()
    assert again.get_params()["C"] == 0.3 and again.n_features_in_ == 4


def test_the_file_is_plain_json_that_a_person_can_read(tmp_path: Path) -> None:
    model = fit_model()
    model.save(tmp_path / "model.json")
    told = json.loads((tmp_path / "model.json").read_text(encoding="utf-8"))
    assert (told["format"], told["version"], told["n"], told["C"]) == (FORMAT, 1, 200, 0.3)
    head = told["features"][0]
    assert (head["name"], head["memory"], head["coef"]) == ("HEAD", False, model.coef_[0])
    assert (head["mean"], head["scale"]) == (model.mean_[0], model.scale_[0])
    assert head["lo"] < head["coef"] < head["hi"]
    assert [one["memory"] for one in told["features"]] == [False, False, True, True]


class Bomb:
    """Leaves a file where whoever loads it is."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_pickle_is_refused_and_does_nothing(tmp_path: Path, protocol: int) -> None:
    ran = tmp_path / "ran"
    (tmp_path / "model.json").write_bytes(pickle.dumps(Bomb(ran), protocol))
    with pytest.raises(DataError, match=r"model\.json is (a pickle|no reward model)"):
        MemoryAwareRewardModel.load(tmp_path / "model.json")
    assert not ran.exists()


def test_other_files_are_refused_by_what_they_are(tmp_path: Path) -> None:
    path = tmp_path / "model.pt"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", pickle.dumps({}))
    with pytest.raises(DataError, match=r"model\.pt is an archive .* could run code"):
        MemoryAwareRewardModel.load(path)
    np.save(tmp_path / "model.npy", np.zeros(3))
    with pytest.raises(DataError, match="is a NumPy file"):
        MemoryAwareRewardModel.load(tmp_path / "model.npy")
    (tmp_path / "large.json").write_bytes(b" " * (LARGEST + 1))
    with pytest.raises(DataError, match="no reward model is over 4,000,000"):
        MemoryAwareRewardModel.load(tmp_path / "large.json")
    with pytest.raises(DataError, match=r"none\.json cannot be read: No such file"):
        MemoryAwareRewardModel.load(tmp_path / "none.json")


@cache
def saved() -> str:
    return fit_model().to_json()


def damaged(**change: Any) -> dict[str, Any]:
    return json.loads(saved()) | change


def feature(**change: Any) -> dict[str, Any]:
    told = damaged()
    told["features"][1] |= change
    return told


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({}, "no reward model"),
        ([1, 2], "no reward model"),
        ({"coef": [1, 2]}, "no reward model"),
        (damaged(format="other"), "no reward model"),
        (damaged(version=2), "no reward model .*version"),
        (damaged(run="rm -rf /"), "unknown field `run`"),
        (damaged(features=[]), "has no features"),
        (damaged(features=damaged()["features"] * 2), "names the feature 'HEAD' twice"),
        (damaged(C=0), "C must be above 0"),
        (damaged(n=3, preferring_memory=3), "3 of n = 3 comparisons prefer memory"),
        (damaged(intercept="0"), "intercept"),
        (feature(scale=0), "feature 'LEN': scale must be above 0"),
        (feature(coef=None), "coef"),
        (feature(coef=True), "coef"),
        (feature(constant=True), "is constant, so its coef must be 0"),
        (feature(name=3), "name"),
        (feature(means=[1, 2]), "unknown field `means`"),
    ],
)
def test_foreign_json_is_refused(told: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        MemoryAwareRewardModel.from_json(json.dumps(told))


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", '"NaN"'])
def test_numbers_that_are_none_are_refused(number: str) -> None:
    text = saved()
    first = json.loads(text)["features"][0]["coef"]
    assert text.count(repr(first)) == 1
    with pytest.raises(DataError):
        MemoryAwareRewardModel.from_json(text.replace(repr(first), number))


@pytest.mark.parametrize("cut", [0, 1, 100, -2])
def test_half_a_file_is_refused(cut: int) -> None:
    with pytest.raises(DataError, match="no reward model"):
        decode(saved()[:cut])


def test_labels_other_than_0_and_1_are_not_saved() -> None:
    x, y, _ = world()
    model = MemoryAwareRewardModel().fit(x, np.where(y > 0, "memory", "none"))
    with pytest.raises(UnfitError, match=r"labels 0 .* and 1"):
        model.to_json()
    assert MemoryAwareRewardModel().fit(x, y > 0).to_json()


# ---------------------------------------------------------------- comparisons


@pytest.fixture(scope="module")
def simulated() -> tuple[ComparisonSet, Scores]:
    options = SimulationOptions(participants=40, comparisons=320, retest=10, attention=1)
    made = simulate(options)
    chosen = ComparisonSet(name="simulated", content="c0ffee", comparisons=made.comparisons)
    return chosen, made.scores("c0ffee")


def test_a_model_says_what_it_was_fitted_to(simulated: tuple[ComparisonSet, Scores]) -> None:
    chosen, scores = simulated
    model = fit_comparisons(chosen, scores, C=0.3)
    clear = [
        one for one in chosen.comparisons
        if one.strength == "much" and one.attention is None and one.repeat_of is None
    ]  # fmt: skip
    told = json.loads(json.dumps(fitted(model)))
    assert told["n"] == len(clear)
    assert told["preferring_memory"] == sum(bool(one.prefers_memory) for one in clear)
    assert told["participants"] == len({one.participant for one in clear})
    assert (told["dataset"], told["data"], told["synthetic"]) == ("simulated", "c0ffee", True)
    assert told["scorer"]["name"] == "simulator" and told["C"] == 0.3
    # Everything but ties and slight preferences that is not fitted is listed as left out.
    assert sum(told["excluded"].values()) == 40 + 10
    assert [one["feature"] for one in told["rows"]] == list(RUBRIC)
    values = {row[0]: row[1:] for row in scores.frame.iter_rows()}
    x = np.array([values[one.id] for one in clear], float)
    y = np.array([float(bool(one.prefers_memory)) for one in clear])
    assert model.coef_ == pytest.approx(minimum(x, y, 0.3)[:-1], abs=1e-4)


def test_one_comparison_is_explained(simulated: tuple[ComparisonSet, Scores]) -> None:
    chosen, scores = simulated
    plan = EvaluationPlan(features=("LEN", "REL"))
    model = fit_comparisons(chosen, scores, plan)
    one = next(one for one in chosen.comparisons if one.attention is None)
    told = explain_comparison(model, chosen, scores, one.id)
    row = scores.frame.row(by_predicate=pl.col("comparison") == one.id, named=True)
    assert [(p["feature"], p["value"]) for p in told["parts"]] == [
        ("LEN", row["LEN"]), ("REL", row["REL"])
    ]  # fmt: skip
    total = told["intercept"] + told["parts"][0]["contribution"] + told["parts"][1]["contribution"]
    assert told["logit"] == total
    assert told["comparison"] == one.id and told["synthetic"]
    with pytest.raises(UsageError, match="have no 'nobody'"):
        explain_comparison(model, chosen, scores, "nobody")
    check = next(one for one in chosen.comparisons if one.attention is not None)
    with pytest.raises(DataError, match="not scored: LEN, REL"):
        explain_comparison(model, chosen, scores, check.id)
    others = scores._replace(scorer={"name": "offline", "version": "1"})
    with pytest.raises(UsageError, match=r"\(name simulator\) than these \(name offline\)"):
        explain_comparison(model, chosen, others, one.id)


# ---------------------------------------------------------------- the reward


class Scripted:
    """A scorer that answers from a function, None where the response says "unscorable"."""

    identity: dict[str, Any] = {"name": "scripted", "version": "2"}  # noqa: RUF012

    def __init__(self) -> None:
        self.failed: dict[str, int] = {}
        self.asked: list[Pair] = []

    def scores(
        self, pairs: Sequence[Pair], features: Sequence[str]
    ) -> dict[str, list[float | None]]:
        self.asked += pairs
        new = sum("unscorable" in one.with_memory for one in pairs)
        self.failed["unscorable"] = self.failed.get("unscorable", 0) + new
        return {
            name: [
                None if "unscorable" in one.with_memory else float(len(one.memories))
                for one in pairs
            ]
            for name in features
        }


def by_hand(*features: str, intercept: float = -0.25) -> MemoryAwareRewardModel:
    """Weights 1, 2, 3 .. of features as they are (mean 0, deviation 1)."""
    told = damaged(intercept=intercept)
    told["features"] = [
        {"name": name, "memory": None, "mean": 0.0, "scale": 1.0, "coef": at + 1.0}
        for at, name in enumerate(features)
    ]
    told["origin"] = {"scorer": {"name": "scripted", "version": "1"}}
    return MemoryAwareRewardModel.from_json(json.dumps(told))


def test_the_reward_is_the_log_odds_by_hand() -> None:
    reward = MemoryReward(by_hand("HEAD", "LEN", "REL"), Scripted())
    answer = "# Tea\n\nDrink green tea."
    # One heading more; 4 words against 1: log 5/2; two memories.
    found = reward.reward("What?", answer, ["likes tea", "has a pot"], "Water.")
    assert found == pytest.approx(-0.25 + 1 + 2 * math.log(5 / 2) + 3 * 2)
    # Without a baseline: against nothing, no words and no heading.
    alone = reward.reward("What?", answer, ["likes tea", "has a pot"])
    assert alone == pytest.approx(-0.25 + 1 + 2 * math.log(5) + 3 * 2)
    assert reward.scorer.asked[-1] == Pair(  # type: ignore[attr-defined]
        query="What?", memories=("likes tea", "has a pot"), with_memory=answer, without_memory=""
    )


def test_a_pair_of_ones_own_is_explained() -> None:
    reward = MemoryReward(by_hand("LEN", "REL"), Scripted())
    pair = Pair(query="q", memories=("m", "n"), with_memory="a b c", without_memory="a")
    told = reward.explain(pair)
    assert [(one.feature, one.value) for one in told.parts] == [
        ("LEN", pytest.approx(math.log(2))), ("REL", 2.0)
    ]  # fmt: skip
    assert told.logit == reward.reward("q", "a b c", ["m", "n"], "a") == reward.rewards([pair])[0]


def test_the_empty_baseline_cancels_among_responses_to_one_query() -> None:
    reward = MemoryReward(by_hand("HEAD", "LEN"), Scripted())
    one, other = "# A\n\nb c", "b c d e f"
    with_it = [reward.reward("q", text, [], "some other text") for text in (one, other)]
    without = [reward.reward("q", text, []) for text in (one, other)]
    assert with_it[0] - with_it[1] == pytest.approx(without[0] - without[1])


def test_what_cannot_be_scored_has_no_reward() -> None:
    reward = MemoryReward(by_hand("LEN", "REL"), Scripted())
    with pytest.raises(ModelError, match=r"REL of the response could not .* unscorable \(1\)"):
        reward.reward("q", "unscorable", [])
    with pytest.raises(UsageError, match="memories are a list of texts"):
        reward.reward("q", "text", "one memory")
    assert reward.rewards([]) == []


def test_a_failure_is_explained_by_its_own_reasons_alone() -> None:
    scorer = Scripted()
    reward = MemoryReward(by_hand("LEN", "REL"), scorer)
    reward.rewards([Pair(query="q", memories=(), with_memory="unscorable", without_memory="a")])
    scorer.failed["REL: timeout"] = 3  # of earlier calls
    with pytest.raises(ModelError, match=r": unscorable \(1\)$"):
        reward.reward("q", "unscorable", [])


def test_a_reward_of_another_scorer_must_be_meant() -> None:
    model = by_hand("REL").signed(Origin(scorer={"name": "offline"}))
    with pytest.raises(UsageError, match=r"\(name offline\) than these \(name scripted\)"):
        MemoryReward(model, Scripted())
    kin = by_hand("REL").signed(Origin(scorer={"name": "scripted", "embedder": "a"}))
    with pytest.raises(UsageError, match=r"\(embedder a\) than these \(embedder None\)"):
        MemoryReward(kin, Scripted())
    assert MemoryReward(model, Scripted(), other_scorer=True).reward("q", "a", ["m"]) == 0.75
    with pytest.raises(UsageError, match="nothing here scores: WARMTH"):
        MemoryReward(by_hand("WARMTH"), Scripted())


def message(role: str, content: Any) -> dict[str, Any]:
    return {"role": role, "content": content}


def test_trl_calls_it_with_texts_and_with_conversations() -> None:
    function = trl_reward(MemoryReward(by_hand("LEN", "REL"), Scripted()))
    columns = {"memories": [["m"], ["m", "n"], None, ["m"]], "baseline": ["a b", None, "a", "a"]}
    texts = ["x y z", "x", "x y", "unscorable"]
    # LEN + 2 REL - 1/4: log 4/3 + 2, log 2 + 4; no memories told; not scored.
    expected = [math.log(4 / 3) + 1.75, math.log(2) + 3.75, None, None]
    plain = function(
        prompts=["q"] * 4, completions=texts, completion_ids=[[1]] * 4,
        trainer_state=object(), log_extra=print, **columns,
    )  # fmt: skip
    assert plain == [None if one is None else pytest.approx(one) for one in expected]
    prompt = [message("system", "s"), message("user", "q"), message("assistant", "?")]
    talks = [[message("assistant", text)] for text in texts]
    parts = [[{"content": [{"type": "text", "text": text}]}] for text in texts]
    for completions in (talks, parts):
        assert function([prompt] * 4, completions, **columns) == plain
    assert function.__name__ == "memory_aware_reward"
    given = list(inspect.signature(function).parameters.values())
    assert [one.name for one in given[:3]] == ["prompts", "completions", "completion_ids"]
    assert given[2].default is None and given[3].kind is inspect.Parameter.VAR_KEYWORD


def test_trl_columns_are_read_as_they_are() -> None:
    scorer = Scripted()
    function = trl_reward(MemoryReward(by_hand("REL"), scorer), name="mine")
    prompts = [[message("user", "first"), message("user", "last")]]
    function(prompts, ["a"], memories=["likes tea\n\n has a pot \n"])
    function(prompts, ["a"], memories=[["m"]], query=["the column’s"])
    assert [(one.query, one.memories) for one in scorer.asked] == [
        ("last", ("likes tea", "has a pot")),
        ("the column’s", ("m",)),
    ]
    assert function.__name__ == "mine"
    with pytest.raises(UsageError, match="needs a column `memories`"):
        function(prompts, ["a"])
    with pytest.raises(UsageError, match="1 memories for 2 completions"):
        function(prompts * 2, ["a", "b"], memories=[["m"]])
    with pytest.raises(UsageError, match="1 query for 2 completions"):
        function(prompts * 2, ["a", "b"], memories=[["m"], ["m"]], query=["q"])
    with pytest.raises(UsageError, match="1 query for 2 completions"):
        function(prompts, ["a", "b"], memories=[["m"], ["m"]])


def test_the_reward_needs_neither_torch_nor_trl() -> None:
    code = (
        "import sys, reward_model.reward; print(*{'torch', 'trl', 'transformers'} & {*sys.modules})"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(PYTHONPATH=str(PROJECT)),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == ""


def test_coefficients_are_a_document() -> None:
    found = bootstrap_coefficients(*world(100, 2), names(2))
    told = json.loads(json.dumps(msgspec.to_builtins(found)))
    assert msgspec.convert(told, Coefficients) == found
