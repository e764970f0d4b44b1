"""The protocol and what comes of it: held against scikit-learn's parts and numbers by hand."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from reward_model import calibration, classifier_baseline, protocol
from reward_model.baseline_result import BaselineResult
from reward_model.baselines import EXPECTED, baseline_rows, rule_baselines
from reward_model.evaluate import Evaluation, evaluate, predictions_of, save_evaluation
from reward_model.judge_baseline import not_judged
from reward_model.logistic import fit_path, scale_of
from reward_model.material import EvaluationPlan, gather
from reward_model.protocol import GRID, draw_splits, held_out
from reward_model.quality import QualityRules
from reward_model.report import reward_findings
from reward_model.rubric import RUBRIC
from reward_model.schema import Comparison, ComparisonSet
from reward_model.scores import Scores, make_scores
from small_runs import HOSTILE, recall_run
from workbench import report
from workbench.compare import compare_runs
from workbench.errors import DataError, UsageError
from workbench.runs import load_run
from workbench.stats import mean_interval, paired_difference
from workbench.workspace import Workspace

Case = tuple[np.ndarray, np.ndarray, list[str]]


def made_up(n: int = 160, people: int = 30, seed: int = 0, width: int = 5) -> Case:
    """Features, labels that depend on the first three, participants of unlike sizes."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, width)) * [3.0, 1.0, 0.2, *[1.0] * (width - 3)] + 1
    chance = 1 / (1 + np.exp(-((x[:, 0] - 1) / 3 + x[:, 1] - 1 - 4 * (x[:, 2] - 1) + 0.3)))
    who = [f"p{one:02d}" for one in (people * rng.random(n) ** 1.5).astype(int)]
    return x, (rng.random(n) < chance).astype(float), who


# ---------------------------------------------------------------- the fits


@pytest.mark.parametrize("costs", [GRID, (1e-4, 1.0, 1e3)])
def test_the_fits_are_scikit_learns(costs: tuple[float, ...]) -> None:
    x, y, _ = made_up()
    weights, intercepts = fit_path(x, y, np.array(costs))
    for place, cost in enumerate(costs):
        theirs = LogisticRegression(C=cost, tol=1e-12, max_iter=100_000).fit(x, y)
        assert weights[place] == pytest.approx(theirs.coef_[0], abs=1e-6)
        assert intercepts[place] == pytest.approx(theirs.intercept_[0], abs=1e-6)


def test_a_fit_without_features_is_the_base_rate() -> None:
    y = np.array([1.0, 1, 1, 0])
    weights, [intercept] = fit_path(np.empty((4, 0)), y, np.array([0.1]))
    assert weights.shape == (1, 0)
    assert intercept == pytest.approx(np.log(3))


def test_separable_and_badly_scaled_columns_still_arrive_at_the_minimum() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((40, 2)) * [1e3, 1]
    y = (x[:, 0] > 0).astype(float)
    weights, intercept = fit_path(x, y, np.array([10.0]))
    design = np.hstack([x, np.ones((40, 1))])
    beta = np.append(weights[0], intercept)
    p = 1 / (1 + np.exp(-design @ beta))
    slope = (p - y) @ design + np.append(weights[0] / 10, 0)  # of SPEC B.2's formula
    assert np.abs(slope / np.abs(design).sum(axis=0)).max() < 1e-9


def test_standardisation_is_scikit_learns_also_of_constant_columns() -> None:
    x, _, _ = made_up(width=4)
    x[:, 3] = 0.1  # whose computed variance is not exactly 0
    theirs = StandardScaler().fit(x)
    ours = scale_of(x)
    assert ours.mean == pytest.approx(theirs.mean_)
    assert ours.deviation == pytest.approx(theirs.scale_)
    assert ours.deviation[3] == 1


# ---------------------------------------------------------------- the splits


def test_the_table_of_splits_keeps_participants_together() -> None:
    _, _, who = made_up()
    splits = draw_splits(who, repeats=3, folds=5, inner=4, seed=1)
    table = splits.table([f"c{at}" for at in range(len(who))])
    assert table.height == 3 * len(who)
    assert table["comparison"].to_list()[:2] == ["c0", "c1"]
    by = table.group_by("repeat", "participant").agg(pl.col("fold").n_unique())
    assert by["fold"].unique().to_list() == [1]
    # Folds hold the same number of people, give or take one.
    sizes = table.group_by("repeat", "fold").agg(pl.col("participant").n_unique())
    people = len(set(who))
    assert set(sizes["participant"].to_list()) <= {people // 5, people // 5 + 1}
    for row in table.filter(pl.col("repeat") == 1).iter_rows(named=True):
        inner = row["inner"]
        assert [place for place, one in enumerate(inner) if one is None] == [row["fold"]]
        assert all(one in range(4) for one in inner if one is not None)
    # Nobody is in two inner folds of one outer fold, and no inner fold is empty.
    for held in range(5):
        part = table.filter((pl.col("repeat") == 0) & (pl.col("fold") != held))
        part = part.with_columns(one=pl.col("inner").list.get(held))
        assert part.group_by("participant").agg(pl.col("one").n_unique())["one"].max() == 1
        assert part["one"].n_unique() == 4
    assert len({tuple(fold) for fold in splits.fold.tolist()}) == 3


def test_splits_depend_on_people_and_seed_not_on_the_order_of_rows() -> None:
    _, _, who = made_up()
    first = draw_splits(who, seed=3)
    turned = draw_splits(who[::-1], seed=3)
    assert (first.fold == turned.fold[:, ::-1]).all()
    assert (first.inner == turned.inner[:, :, ::-1]).all()
    assert (first.fold != draw_splits(who, seed=4).fold).any()


def test_few_participants_reduce_the_folds_and_it_is_said() -> None:
    """CASES 42: p1 with one class, two with both, five folds."""
    who = ["p1"] * 4 + ["p2"] * 4 + ["p3"] * 4
    y = np.array([1, 1, 1, 1, 1, 0, 1, 0, 0, 1, 0, 1.0])
    x = np.array([2, 1, 3, 2, 1, -1, 2, -2, -1, 1, -3, 2.0])[:, None]
    splits = draw_splits(who)
    assert splits.folds == 3
    assert splits.notes[0] == "5 folds wanted, but 3 participants: 3 folds"
    assert "as few as 2" in splits.notes[1]
    found = held_out(x, y, splits)
    assert np.isfinite(found.probability).all()
    # Pooled over all held-out predictions, though p1 alone has none: scikit-learn would say NaN.
    [area] = calibration.area_under_curve(found.probability, y)
    assert area == pytest.approx(roc_auc_score(y, found.probability))
    assert np.isnan(calibration.area_under_curve(found.probability[:4], y[:4])).all()
    with pytest.raises(UsageError, match="12 comparisons of 1 participant"):
        draw_splits(["p1"] * 12)


def test_one_class_training_folds_predict_their_rate_and_are_counted() -> None:
    # Without p1 all prefer memory, without p2 all prefer none.
    y = np.array([0.0, 0, 0, 1, 1, 1])
    splits = draw_splits(["p1"] * 3 + ["p2"] * 3, repeats=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = held_out(np.arange(6.0)[:, None], y, splits)
    # (k + 1) / (n + 2) of three ones: 0.8; of three zeros: 0.2.
    assert found.probability == pytest.approx([0.8] * 3 + [0.2] * 3)
    assert found.degenerate == {protocol.ONE_CLASS: 4}
    assert np.isnan(found.C).all()


def test_a_single_training_participant_allows_no_choice_of_c() -> None:
    x, y, _ = made_up(40)
    splits = draw_splits(["a"] * 20 + ["b"] * 20, repeats=1)
    found = held_out(x, y, splits)
    assert found.degenerate == {protocol.NO_CHOICE: 2}
    assert found.C.tolist() == [[min(GRID)] * 2]


# ---------------------------------------------------------------- the protocol


def test_the_protocol_is_gridsearchcv_in_a_loop() -> None:
    x, y, who = made_up()
    splits = draw_splits(who, repeats=1)
    ours = held_out(x, y, splits, GRID[::-1])  # the order of the grid does not matter
    each, chosen = np.empty((1, len(y))), np.empty((1, 5))
    for repeat, fold in enumerate(splits.fold):
        for held in range(5):
            train, inner = fold != held, splits.inner[repeat, held]
            inner = inner[train]
            search = GridSearchCV(
                make_pipeline(
                    StandardScaler(), LogisticRegression(solver="newton-cholesky", tol=1e-8)
                ),
                {"logisticregression__C": GRID},
                scoring="accuracy",
                cv=[(np.flatnonzero(inner != k), np.flatnonzero(inner == k)) for k in range(4)],
            ).fit(x[train], y[train])
            each[repeat, ~train] = search.predict_proba(x[~train])[:, 1]
            chosen[repeat, held] = search.best_params_["logisticregression__C"]
            # Equal accuracies within rounding: the smaller is ours.
            scores = search.cv_results_["mean_test_score"]
            wanted = GRID[int(np.flatnonzero(scores >= scores.max() - 1e-12)[0])]
            assert ours.C[repeat, held] == wanted
    same = (chosen == ours.C)[[[0]], splits.fold]
    assert same.mean() > 0.5
    assert ours.each[same] == pytest.approx(each[same], abs=1e-6)
    assert ours.probability == pytest.approx(ours.each.mean(axis=0))


def test_ties_between_c_go_to_the_smaller_and_are_counted() -> None:
    # A column that says it all: every C is right everywhere.
    y = np.array([0.0, 1] * 20)
    who = [f"p{at // 2}" for at in range(40)]
    found = held_out(y[:, None], y, draw_splits(who, repeats=1))
    assert set(found.C.ravel()) == {0.003}
    assert found.degenerate == {protocol.TIED: 5}


def test_held_out_rows_and_their_people_move_no_prediction_of_theirs() -> None:
    """No leak: new features and labels of one participant leave the model they meet unmoved."""
    x, y, who = made_up()
    splits = draw_splits(who, repeats=1)
    mine = np.array([one == who[0] for one in who])
    fold = splits.fold[0, mine][0]
    fellows = (splits.fold[0] == fold) & ~mine
    before = held_out(x, y, splits)
    turned, labels = x.copy(), y.copy()
    turned[mine] *= 50
    labels[mine] = 1 - labels[mine]
    after = held_out(turned, labels, splits)
    assert fellows.any()
    assert (before.each[0, fellows] == after.each[0, fellows]).all()
    assert (before.each[0, mine] != after.each[0, mine]).all()
    others = splits.fold[0] != fold
    assert (before.each[0, others] != after.each[0, others]).mean() > 0.9


def test_comparisons_that_train_nothing_meet_models_that_never_saw_their_people() -> None:
    x, y, who = made_up()
    splits = draw_splits(who, repeats=2)
    own = np.arange(0, len(y), 7)
    people = [who[at] for at in own]
    extra = np.concatenate([x[own], x[:1]])
    found = held_out(x, y, splits, GRID, (extra, [*people, "a stranger"]))
    # The same features of the same person: the same prediction as where it was fitted.
    assert found.others[:-1] == pytest.approx(found.probability[own], abs=1e-12)
    # A stranger's is the mean over all ten models.
    models = []
    for repeat, fold in enumerate(splits.fold):
        for held in range(5):
            train = fold != held
            fit = LogisticRegression(C=found.C[repeat, held], tol=1e-10, max_iter=10_000)
            model = make_pipeline(StandardScaler(), fit).fit(x[train], y[train])
            models.append(model.predict_proba(x[:1])[0, 1])
    assert found.others[-1] == pytest.approx(np.mean(models), abs=1e-6)


def test_a_code_of_the_participant_predicts_only_where_the_split_lets_it() -> None:
    """One-hot participants who mostly say one thing: chance when grouped, far more otherwise."""
    rng = np.random.default_rng(0)
    people = np.repeat(np.arange(30), 8)
    leaning = rng.permutation(np.arange(30) % 2)
    y = np.where(rng.random(240) < 0.9, leaning[people], 1 - leaning[people]).astype(float)
    x = np.eye(30)[people]
    who = [f"p{one}" for one in people]
    accuracy = {}
    for name, groups in {"grouped": who, "ungrouped": [str(at) for at in range(240)]}.items():
        found = held_out(x, y, draw_splits(groups, repeats=3), (0.03, 0.3))
        right = calibration.credit(found.probability, y)
        accuracy[name] = mean_interval(right, who)
    assert accuracy["grouped"].lo is not None and accuracy["grouped"].lo <= 0.5
    assert accuracy["grouped"].mean < 0.6
    assert accuracy["ungrouped"].mean > 0.8  # of the 0.9 that there is to know


@pytest.mark.parametrize("seed", range(3))
def test_with_shuffled_labels_nothing_is_learned(seed: int) -> None:
    x, y, who = made_up(seed=seed)
    shuffled = np.random.default_rng(seed).permutation(y)
    splits = draw_splits(who, seed=seed)
    tests = []
    for labels in (shuffled, y):
        right = calibration.credit(held_out(x, labels, splits).probability, labels)
        larger = calibration.credit(np.full(len(y), labels.mean()), labels)
        tests.append(paired_difference(right, larger, who))
    nothing, something = tests
    assert nothing.p > 0.05 or nothing.difference < 0
    # The true labels are another matter on the same splits, so the test can fail.
    assert something.p < 0.01 and something.difference > 0.1


# ---------------------------------------------------------------- what probabilities are worth


def logistic(gap: float) -> float:
    return 1 / (1 + np.exp(-gap))


def test_ties_are_worth_a_half() -> None:
    """CASES 44: scores (0.5, 0.5), (0.7, 0.7000000001), (0.2, 0.9) of A and B; labels A, B, tie."""
    p = [logistic(a - b) for a, b in ((0.5, 0.5), (0.7, 0.7000000001), (0.2, 0.9))]
    assert calibration.credit(p, [1, 0, np.nan]).tolist() == [0.5, 0.5, 0.5]
    assert calibration.credit(p, [1, 0, 0]).tolist() == [0.5, 0.5, 1.0]
    assert calibration.credit(p, [1, 0, 1]).tolist() == [0.5, 0.5, 0.0]
    constant = calibration.credit([0.5] * 4, [1, 1, 0, np.nan])
    assert constant.mean() == 0.5
    assert calibration.credit([0.5 + 2e-9, 0.5 - 2e-9], [1, 1]).tolist() == [1.0, 0.0]


def test_area_brier_and_calibration_by_other_means() -> None:
    rng = np.random.default_rng(0)
    p = np.round(rng.random(200), 2)  # with ties
    y = (rng.random(200) < p).astype(float)
    [area] = calibration.area_under_curve(p, y)
    assert area == pytest.approx(roc_auc_score(y, p))
    assert np.mean((p - y) ** 2) == pytest.approx(brier_score_loss(y, p))
    # By hand: bins [.0,.1): .05, .05 -> none of two; [.9,1]: .95, 1.0 -> one of two.
    p, y = np.array([0.05, 0.05, 0.95, 1.0]), np.array([0.0, 0, 1, 0])
    assert calibration.calibration_error(p, y) == pytest.approx((2 * 0.05 + 2 * 0.475) / 4)


def test_a_weight_is_how_often_a_comparison_occurs() -> None:
    rng = np.random.default_rng(1)
    p, y = np.round(rng.random(30), 1), rng.integers(2, size=30).astype(float)
    ids, credits = [f"c{at:02d}" for at in range(30)], calibration.credit(p, y)
    times = rng.integers(0, 4, size=(5, 30))
    coverages = (0.25, 0.5, 1.0)
    for weights in times:
        rows = np.repeat(np.arange(30), weights)
        again = [f"{ids[row]}{at:03d}" for at, row in enumerate(rows)]
        for whole, repeated in (
            (
                calibration.area_under_curve(p, y, weights[None] * 1.0),
                roc_auc_score(y[rows], p[rows]),
            ),
            (
                calibration.calibration_error(p, y, weights[None] * 1.0),
                calibration.calibration_error(p[rows], y[rows]),
            ),
            (
                calibration.selective(p, credits, ids, coverages, weights[None] * 1.0),
                calibration.selective(p[rows], credits[rows], again, coverages),
            ),
        ):
            assert whole == pytest.approx(repeated)


def test_reliability_rows_by_hand() -> None:
    p = np.array([0.05, 0.07, 0.95, 1.0, 0.92])
    rows = calibration.reliability(p, np.array([0.0, 1, 1, 1, 0]), ["a", "b", "a", "b", "c"])
    low, high = rows
    assert (low["bin_lo"], low["bin_hi"], low["n"]) == (0.0, 0.1, 2)
    assert (high["bin_lo"], high["bin_hi"], high["n"]) == (0.9, 1.0, 3)
    assert (low["mean_p"], low["share"]) == pytest.approx((0.06, 0.5))
    assert (high["mean_p"], high["share"]) == pytest.approx((2.87 / 3, 2 / 3))
    assert all(0 <= row["lo"] <= row["share"] <= row["hi"] <= 1 for row in rows)


def test_the_error_of_a_calibrated_model_is_not_zero() -> None:
    """Two comparisons in one bin at p = 1/2: off by 1/2 half of the time, else not at all."""
    expected = calibration.error_if_calibrated(np.array([0.5, 0.5]))
    assert expected.mean == pytest.approx(0.25, abs=0.03)
    assert (expected.lo, expected.hi) == (0, 0.5)
    assert calibration.error_if_calibrated(np.array([0.0, 1.0])) == (0, 0, 0)


def test_the_range_of_a_calibrated_model_holds_the_errors_of_calibrated_models() -> None:
    """What the error is to be compared with; an interval around the error would miss the truth."""
    rng = np.random.default_rng(5)
    inside = 0
    for seed in range(60):
        p = rng.uniform(0.05, 0.95, 291)
        y = (rng.random(291) < p).astype(float)
        told = calibration.quality_of(p, y, [f"p{at % 97}" for at in range(291)], seed)
        chance = told["ece_if_calibrated"]
        assert set(chance) == {"mean", "lo", "hi"} and "ece_interval" not in told
        inside += chance["lo"] <= told["ece"] <= chance["hi"]
    assert inside >= 52


def test_the_most_certain_are_chosen_by_certainty_and_then_by_id() -> None:
    p = np.array([0.9, 0.2, 0.5, 0.8, 0.1 + 1e-13])
    ids = ["e", "d", "c", "b", "a"]
    # Certainties .4 .3 0 .3 .4: a and e, then b before d, then c.
    assert [ids[at] for at in calibration.most_certain(p, ids, 1.0)] == ["a", "e", "b", "d", "c"]
    for coverage, number in {0.2: 1, 0.4: 2, 0.41: 3, 0.0001: 1, 0.6: 3}.items():
        assert len(calibration.most_certain(p, ids, coverage)) == number
    credits = calibration.credit(p, np.array([1.0, 1, 1, 1, 0]))
    found = calibration.selective(p, credits, ids, (0.4, 0.6, 1.0))
    assert found[0] == pytest.approx([1, 1, 0.7])


def test_intervals_resample_participants_not_comparisons() -> None:
    """Ten people with 20 equal values each: the spread is that of ten values, not of 200."""
    values = np.repeat(np.arange(10.0), 20)
    who = [f"p{int(one)}" for one in values]
    means = lambda given: given @ values / given.sum(axis=1)  # noqa: E731
    lo, hi = calibration.resampled_interval(means, who)
    # The standard error of a mean of ten draws from 0..9 is sqrt(8.25 / 10) = 0.908.
    assert (hi - lo) / (2 * 1.96) == pytest.approx(0.908, rel=0.1)
    assert np.isnan(calibration.resampled_interval(means, ["a"] * 200)).all()
    never = lambda given: np.full(len(given), np.nan)  # noqa: E731
    assert np.isnan(calibration.resampled_interval(never, who)).all()


# ---------------------------------------------------------------- an evaluation


def judged(n: int = 90, people: int = 18, seed: int = 0) -> tuple[ComparisonSet, Scores]:
    """Comparisons of which two thirds are clear, with made-up scores that their judgments follow.

    Every ninth is a tie and every ninth a slight preference; one is a repeat, one an attention
    check, one not judged, and one has no score of PROP. Nothing is too fast: no times are given.
    """
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((n, len(RUBRIC)))
    judgments: dict[bool, dict[str, Any]] = {
        True: {"much": "A much better", "slightly": "A slightly better"},
        False: {"much": "B much better", "slightly": "B slightly better"},
    }
    made = []
    for at in range(n):
        memory = bool(values[at, 0] + values[at, 2] + rng.normal() > 0)
        first = bool(rng.integers(2))
        strength = "slightly" if at % 9 == 1 else "much"
        judgment = "same" if at % 9 == 0 else judgments[memory == first][strength]
        extra: dict[str, Any] = {
            5: {"attention": "A", "judgment": "A much better"},
            6: {"repeat_of": "c000"},
        }.get(at, {})
        made.append(
            Comparison(
                **{
                    "id": f"c{at:03d}",
                    "participant": f"p{at % people:02d}",
                    "query": f"query {at}",
                    "memories": ("a memory",),
                    "with_memory": "one response",
                    "without_memory": "another",
                    "generator": "g1" if at % 3 else "g2",
                    "order": "memory first" if first else "memory second",
                    "judgment": judgment,
                    **extra,
                }
            )
        )
    columns = {name: values[:, at].tolist() for at, name in enumerate(RUBRIC)}
    columns["PROP"][8] = None
    ids = [one.id for one in made]
    scores = make_scores("c0ffee", {"name": "made up"}, ids, columns)
    return ComparisonSet(name="toy", content="c0ffee", comparisons=tuple(made)), scores


QUICK = EvaluationPlan(repeats=2, rules=QualityRules(identical_run=None, one_side=None))


@pytest.fixture(scope="module")
def evaluated() -> Evaluation:
    return evaluate(*judged(), QUICK)


def test_the_document_is_what_the_command_promises(evaluated: Evaluation) -> None:
    told = evaluated.document
    json.dumps(told, allow_nan=False)
    variants = {"full", "memory_only", "response_only", "majority", "length_only"}
    assert set(told["accuracy"]) == set(told["interval"]) == variants
    assert list(told["selective"]) == ["25", "50", "75", "100"]
    assert set(told["coefficients"][0]) == {"feature", "beta", "lo", "hi", "memory"}
    assert [one["feature"] for one in told["coefficients"]] == list(RUBRIC)
    assert {one["feature"] for one in told["coefficients"] if one["memory"]} == {
        *("REL", "PROP", "ASSUMP")
    }
    assert set(told["C_chosen"]) == variants - {"majority"}
    assert all(sum(one.values()) == 10 for one in told["C_chosen"].values())
    assert {"brier", "ece", "auc", "bins"} < set(told["calibration"])
    assert told["scorer"] == {"name": "made up"}
    assert told["synthetic"] is False


def test_every_comparison_ends_in_one_place(evaluated: Evaluation) -> None:
    told, predictions = evaluated.document, evaluated.predictions
    assert told["excluded"] == {
        "attention checks": 1,
        "repeats of others": 1,
        "not scored: PROP": 1,
    }
    # Of 90: 10 ties, 10 slight ones, 3 left out above (all "much"): 67 are fitted.
    assert told["n"] == predictions["fitted"].sum() == 67
    assert told["ties"]["human_ties"] == told["other_strengths"]["slightly"]["n"] == 10
    assert (told["ties"]["n_without"], told["ties"]["n_with"]) == (67, 77)
    left = evaluated.left_out["comparison"].to_list()
    assert sorted([*predictions["comparison"], *left]) == [f"c{at:03d}" for at in range(90)]
    assert sum(told["labels"].values()) == 67
    fitted = predictions.filter("fitted").group_by("participant")
    kinds = fitted.agg(pl.col("prefers_memory").n_unique())["prefers_memory"]
    assert told["one_class_participants"] == (kinds == 1).sum()
    assert told["participants"] == len(kinds) == 14


def test_means_are_those_of_the_predictions(evaluated: Evaluation) -> None:
    """Counted again from the table of predictions, in another way."""
    told = evaluated.document
    fitted = evaluated.predictions.filter("fitted")
    right = fitted.select(
        *("participant", "generator", "strength", "full"),
        right=(pl.col("full") > 0.5) == pl.col("prefers_memory"),
    )
    assert told["accuracy"]["full"] == pytest.approx(right["right"].mean())
    by = dict(right.group_by("generator").agg(pl.col("right").mean()).iter_rows())
    found = {name: one["accuracy"]["full"] for name, one in told["by_generator"].items()}
    assert found == pytest.approx(by)
    certain = right.with_columns(c=(pl.col("full") - 0.5).abs()).sort("c", descending=True)
    half = certain.head(34)["right"].mean()  # 50 % of 67, rounded up
    assert (told["selective"]["50"], told["selective_n"]["50"]) == (pytest.approx(half), 34)
    assert told["selective"]["100"] == told["accuracy"]["full"]
    assert told["selective_interval"]["100"] == told["interval"]["full"]
    y, p = fitted["prefers_memory"].to_numpy(), fitted["full"].to_numpy()
    assert told["calibration"]["brier"] == pytest.approx(brier_score_loss(y, p))
    assert told["calibration"]["auc"] == pytest.approx(roc_auc_score(y, p))
    assert sum(one["n"] for one in told["calibration"]["bins"]) == 67
    memory = told["labels"]["memory"] / 67
    assert told["accuracy"]["majority"] == pytest.approx(max(memory, 1 - memory))
    # Ties are worth a half: ten of 77.
    with_ties = (67 * told["accuracy"]["full"] + 5) / 77
    assert told["ties"]["accuracy_with"]["full"] == pytest.approx(with_ties)
    slight = evaluated.predictions.filter(strength="slightly")
    agreed = ((slight["full"] > 0.5) == slight["prefers_memory"]).mean()
    assert told["other_strengths"]["slightly"]["accuracy"]["full"] == pytest.approx(agreed)


def test_variants_are_tested_against_the_full_model(evaluated: Evaluation) -> None:
    frame = evaluated.frame.filter(pl.col("metric").str.starts_with("correct"))
    columns = frame.pivot("metric", index=["question", "scope"], values="value")
    ps = []
    for one in evaluated.document["tests"]:
        a, b = (columns[f"correct_{one[side]}"].to_numpy() for side in ("a", "b"))
        again = paired_difference(a, b, columns["scope"].to_list())
        assert (one["difference"], one["p"]) == (pytest.approx(again.difference), again.p)
        ps.append(one["p"])
    assert [one["b"] for one in evaluated.document["tests"]] == [
        *("memory_only", "response_only", "length_only", "majority")
    ]
    # Holm by hand: the smallest times four.
    least = min(evaluated.document["tests"], key=lambda one: one["p"])
    assert least["p_holm"] == pytest.approx(min(1, 4 * min(ps)))


def test_a_run_is_kept_named_by_what_it_depends_on_and_compared(
    workspace: Workspace, evaluated: Evaluation
) -> None:
    chosen, scores = judged()
    run = save_evaluation(workspace, evaluated)
    assert save_evaluation(workspace, evaluate(chosen, scores, QUICK)) == run
    kept = load_run(workspace, run)
    assert kept.manifest["kind"] == "reward-evaluate"
    assert kept.manifest["report"]["accuracy"] == evaluated.document["accuracy"]
    splits = pl.read_parquet(workspace.folder("runs", run) / "splits.parquet")
    assert splits.equals(evaluated.splits)
    assert splits.height == 2 * 67
    weaker = msgspec.structs.replace(QUICK, features=("COST", "REGISTER", "REL"))
    other = save_evaluation(workspace, evaluate(chosen, scores, weaker))
    assert other != run
    told = compare_runs(workspace, run, other, ["correct_full", "correct_length_only"])
    gap = evaluated.document["accuracy"]["full"] - told["measures"]["correct_full"]["b"]
    assert told["measures"]["correct_full"]["difference"] == pytest.approx(gap)
    assert told["measures"]["correct_length_only"]["difference"] == 0
    assert (told["n"], told["clusters"]) == (67, 14)  # four people were always undecided
    # Other values under the same scorer's name are another run.
    frame = scores.frame.with_columns(REL=pl.col("REL") + 1)
    again = evaluate(chosen, scores._replace(frame=frame), QUICK)
    assert save_evaluation(workspace, again) not in (run, other)


def test_the_order_of_the_comparisons_changes_nothing() -> None:
    chosen, scores = judged()
    turned = msgspec.structs.replace(chosen, comparisons=chosen.comparisons[::-1])
    first, second = (evaluate(one, scores, QUICK).document for one in (chosen, turned))
    assert second["accuracy"] == pytest.approx(first["accuracy"])
    assert second["C_chosen"] == first["C_chosen"]
    assert second["selective"] == pytest.approx(first["selective"])


def test_missing_variants_are_left_out_not_made_up() -> None:
    chosen, scores = judged()
    plan = msgspec.structs.replace(QUICK, features=("HEAD", "LEN"))
    told = evaluate(chosen, scores, plan).document
    assert list(told["accuracy"]) == ["full", "response_only", "length_only", "majority"]
    assert told["accuracy"]["full"] == told["accuracy"]["response_only"]
    assert told["excluded"] == {"attention checks": 1, "repeats of others": 1}


def test_synthetic_comparisons_and_separated_classes_are_said() -> None:
    chosen, scores = judged()
    made_of = [msgspec.structs.replace(one, synthetic=True) for one in chosen.comparisons]
    chosen = msgspec.structs.replace(chosen, comparisons=tuple(made_of))
    tells = [None if one.prefers_memory is None else float(one.prefers_memory) for one in made_of]
    scores = scores._replace(frame=scores.frame.with_columns(HEAD=pl.Series(tells).fill_null(0.5)))
    told = evaluate(chosen, scores, QUICK).document
    assert told["synthetic"] is True
    assert "synthetic" in told["notes"][0]
    assert told["accuracy"]["full"] == 1
    # Nothing but right answers in every resample is no certainty: the exact bound for n ones.
    for coverage, n in told["selective_n"].items():
        lo, hi = told["selective_interval"][coverage]
        assert (lo, hi) == (pytest.approx(0.025 ** (1 / n)), 1)
    assert all(one["beta"] is None for one in told["coefficients"])
    assert any("separated" in note for note in told["notes"])


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"strengths": ("much", "tie")}, "fitted on preferences"),
        ({"strengths": ()}, "fitted on preferences"),
        ({"features": ("HEAD", "NOVEL")}, "'NOVEL' is none of the rubric's"),
        ({"features": ()}, "empty list"),
        ({"Cs": (0.1, 0.0)}, "C must be above 0"),
        ({"Cs": ()}, "C must be above 0"),
        ({"folds": 1}, "at least 2 folds"),
        ({"repeats": 0}, "1 repeat"),
    ],
)
def test_plans_that_cannot_be_meant(change: dict[str, Any], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        evaluate(*judged(), msgspec.structs.replace(QUICK, **change))


def test_what_cannot_be_learned_from_is_refused_with_counts() -> None:
    chosen, scores = judged()
    with pytest.raises(UsageError, match="score it first"):
        evaluate(chosen, scores._replace(content="other"), QUICK)
    same = [
        msgspec.structs.replace(one, judgment="A much better", order="memory first")
        for one in chosen.comparisons
    ]
    one_class = msgspec.structs.replace(chosen, comparisons=tuple(same))
    with pytest.raises(DataError, match="all 87 prefer the memory"):
        evaluate(one_class, scores, QUICK)
    ties = [msgspec.structs.replace(one, judgment="same") for one in chosen.comparisons]
    with pytest.raises(DataError, match="there is none"):
        evaluate(msgspec.structs.replace(chosen, comparisons=tuple(ties)), scores, QUICK)


# ---------------------------------------------------------------- baselines


def test_rule_baselines_by_hand() -> None:
    chosen, scores = judged()
    found = {one.name: one for one in rule_baselines(chosen, scores, QUICK)}
    fitted = gather(chosen, scores, QUICK).fitted
    rows = {one["baseline"]: one for one in baseline_rows(fitted, list(found.values()))}
    length = dict(zip(scores.frame["comparison"], scores.frame["LEN"], strict=True))
    right = [(length[one.id] > 0) == one.prefers_memory for one in fitted]
    assert rows["longer wins"]["accuracy"] == pytest.approx(np.mean(right))
    assert rows["longer wins"]["chose_memory"] == pytest.approx(
        np.mean([length[one.id] > 0 for one in fitted])
    )
    told = evaluate(chosen, scores, QUICK).document
    assert rows["length-only"]["accuracy"] == told["accuracy"]["length_only"]
    assert rows["random"]["n"] == 67
    assert rows["training majority"]["accuracy"] <= told["accuracy"]["majority"]
    assert all(row["lo"] <= row["accuracy"] <= row["hi"] for row in rows.values() if row["n"])


def test_baselines_that_were_not_run_say_so_and_failures_count_for_nothing() -> None:
    chosen, scores = judged()
    fitted = gather(chosen, scores, QUICK).fitted
    chances: dict[str, float | None] = {one.id: None for one in fitted}
    for one in fitted[:4]:
        chances[one.id] = 0.9 if one.prefers_memory else 0.1
    chances[fitted[4].id] = 0.5
    judge = BaselineResult(name="a judge", probability=chances, failed={"refusal": 62})
    rows = {one["baseline"]: one for one in baseline_rows(fitted, [judge])}
    # Four right and one undecided; the refusals are neither right nor wrong.
    assert (rows["a judge"]["accuracy"], rows["a judge"]["n"]) == (pytest.approx(0.9), 5)
    assert rows["a judge"]["failed"] == {"refusal": 62}
    assert rows["a judge"]["model_ties"] == 1
    missing = {name for name, one in rows.items() if one["not_run"]}
    assert missing == set(EXPECTED)
    assert "no language model" in rows["direct judge"]["not_run"]
    assert all(rows[name]["accuracy"] is None for name in missing)


def test_the_table_knows_every_baseline_that_there_is() -> None:
    chosen, scores = judged()
    rules = {one.name for one in rule_baselines(chosen, scores, QUICK)}
    judges = {one.name for one in not_judged("no model")}
    assert rules | judges | set(classifier_baseline.NAMES.values()) == set(EXPECTED)


def test_a_position_that_decides_is_found_by_the_position_baseline() -> None:
    chosen, scores = judged()
    always_a = [
        msgspec.structs.replace(one, judgment="A much better") for one in chosen.comparisons
    ]
    biased = msgspec.structs.replace(chosen, comparisons=tuple(always_a))
    fitted = gather(biased, scores, QUICK).fitted
    results = rule_baselines(biased, scores, QUICK)
    rows = {one["baseline"]: one for one in baseline_rows(fitted, results)}
    assert rows["position-only"]["accuracy"] == 1
    assert f"chose A in {len(fitted)} of {len(fitted)}" in rows["position-only"]["note"]


# ---------------------------------------------------------------- reports


def test_a_report_shows_what_the_document_holds(
    workspace: Workspace, evaluated: Evaluation
) -> None:
    chosen, scores = judged()
    fitted = gather(chosen, scores, QUICK).fitted
    rows = baseline_rows(fitted, rule_baselines(chosen, scores, QUICK))
    run = save_evaluation(workspace, evaluated, rows)
    found = reward_findings(workspace, run)
    told, tables = evaluated.document, {one.name: one.frame for one in found.tables}
    assert found.title == "Reward model on toy"
    assert "n = 67 comparisons by 14 participants" in found.passport.counts
    assert found.passport.intervals == "95% intervals over participants"
    assert any(line.startswith("Folds of the full model") for line in found.lead) == bool(
        told["degenerate"]["full"]
    )
    accuracy = {row["model"]: row for row in tables["accuracy"].iter_rows(named=True)}
    assert accuracy["full"]["accuracy"] == told["accuracy"]["full"]
    assert accuracy["full"]["paper"] == 0.728
    assert tables["coefficients"]["beta"].to_list() == [one["beta"] for one in told["coefficients"]]
    assert tables["coefficients"]["paper"][0] == RUBRIC["HEAD"].paper
    assert tables["excluded"].sum()["n"].item() == 3
    assert list(found.figures) == [
        *("accuracy", "coefficients", "shrunken", "selective", "reliability"),
        *("regimes", "generators"),
    ]
    # A bar that was not drawn says why, and what the paper has.
    said = [one.text for one in found.figures["accuracy"].layout.annotations]
    assert any("no language model" in text and "0.581" in text for text in said)
    assert tables["baselines"].filter(pl.col("not_run") != "").height == 6
    assert f"predicts {told['accuracy']['full']:.3f} [" in found.lead[0]
    page = report.page(found)
    assert "67 comparisons by 14 participants" in page
    assert "synthetic" not in page.split("<script")[0].lower()
    assert "full" in report.csv_text(tables["accuracy"])
    assert "\\toprule" in report.latex_text(found)
    json.loads(report.json_text(found))


def test_synthetic_data_are_marked_in_every_export(workspace: Workspace) -> None:
    chosen, scores = judged()
    made_of = [msgspec.structs.replace(one, synthetic=True) for one in chosen.comparisons]
    chosen = msgspec.structs.replace(chosen, comparisons=tuple(made_of))
    run = save_evaluation(workspace, evaluate(chosen, scores, QUICK))
    found = reward_findings(workspace, run)
    assert found.title.endswith("(synthetic data)")
    assert found.lead[0].startswith("SYNTHETIC DATA")
    for made in (report.page(found), report.latex_text(found), report.json_text(found)):
        assert "synthetic data" in made.lower()
    assert all("synthetic data" in report.csv_text(one.frame) for one in found.tables)
    assert all("SYNTHETIC" in one.layout.meta["caption"] for one in found.figures.values())
    compared = reward_findings(workspace, run, run)
    assert compared.lead[0].startswith("SYNTHETIC DATA")
    assert set(compared.tables[0].frame["difference"]) == {0.0}


def test_hostile_names_stay_text_in_the_report(workspace: Workspace) -> None:
    chosen, scores = judged()
    odd = [
        msgspec.structs.replace(one, generator=HOSTILE, participant=f"{HOSTILE}{one.participant}")
        for one in chosen.comparisons
    ]
    chosen = msgspec.structs.replace(chosen, comparisons=tuple(odd))
    run = save_evaluation(workspace, evaluate(chosen, scores, QUICK))
    page = report.page(reward_findings(workspace, run))
    assert "<img" not in page
    assert "<a href" not in page.split("<script")[0]  # plotly.js itself has one
    assert "&lt;img src=x" in page


def test_other_runs_are_refused(workspace: Workspace) -> None:
    with pytest.raises(UsageError, match="of kind recall, not reward-evaluate"):
        reward_findings(workspace, recall_run(workspace))


def test_an_outcome_is_undecided_where_the_model_or_the_person_is(tmp_path: Path) -> None:
    folder = Workspace(tmp_path).folder("runs", "one")
    folder.mkdir(parents=True)
    told = {
        "comparison": ["a", "b", "c", "d", "e"],
        "full": [0.5 + 1e-12, 0.2, 0.9, 0.8, 0.8 + 1e-13],
        "prefers_memory": [True, False, None, False, True],
    }
    pl.DataFrame(told).write_parquet(folder / "predictions.parquet")
    found = predictions_of(Workspace(tmp_path), "one")
    # The surest first; certainties that differ by rounding only go by id.
    assert found["comparison"].to_list() == ["c", "b", "d", "e", "a"]
    assert found["outcome"].to_list() == ["undecided", "right", "wrong", "right", "undecided"]
    assert [calibration.choice(p) for p in (0.2, 0.5 - 1e-12, 0.5, 0.9)] == [
        False,
        None,
        None,
        True,
    ]
