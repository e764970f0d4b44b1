"""The toy of GRPO: every quantity by hand, the gradient by differences, and that it learns."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from msgspec.structs import replace

from halls import hall
from workbench.errors import UsageError
from workbench.figures.toy import toy_curves
from workbench.metrics import exclusion
from workbench.reward_search import rank_aware
from workbench.rewards import RewriteRewards, Terms
from workbench.rule_rewrites import RULES, by_rule
from workbench.run_plan import Plan
from workbench.schema import Recipe
from workbench.statement import Wanted
from workbench.toy_lesson import (
    NONE,
    check_gain,
    curve,
    group_rows,
    learnt,
    rule_rows,
    toy_passport,
)
from workbench.toy_policy import (
    Drawn,
    Toy,
    advantages,
    clipped,
    gradient,
    kl,
    probabilities,
    reward_table,
    train,
)
from workbench.workspace import Workspace

PLAIN = Recipe(prior="none", lam=1.0, k=5)


def test_advantages_are_taken_within_their_group() -> None:
    made = advantages(np.array([[1.0, 0.0, 0.0, 1.0], [0.3, 0.3, 0.3, 0.3], [5.0, 6.0, 7.0, 6.0]]))
    # Mean 1/2, standard deviation sqrt(1/3) over n - 1; then nothing; then sqrt(2/3).
    first = 0.5 / (math.sqrt(1 / 3) + 1e-4)
    assert made[0].tolist() == pytest.approx([first, -first, -first, first])
    assert made[1].tolist() == pytest.approx([0, 0, 0, 0])
    third = 1 / (math.sqrt(2 / 3) + 1e-4)
    assert made[2].tolist() == pytest.approx([-third, 0, third, 0])


@pytest.mark.parametrize(
    ("ratio", "advantage", "expected"),
    [(1.5, 1, 1.2), (1.5, -1, -1.5), (0.5, 1, 0.5), (0.5, -1, -0.8), (1.1, 2, 2.2), (1.0, 0, 0.0)],
)
def test_only_what_would_be_gained_is_clipped(
    ratio: float, advantage: float, expected: float
) -> None:
    made = clipped(np.array([ratio]), np.array([advantage]), 0.2)
    assert made.tolist() == pytest.approx([expected])


def test_kl_at_samples_by_hand() -> None:
    made = kl(np.array([0.5, 0.25, 0.25]), np.array([0.25, 0.5, 0.25]))
    by_hand = [0.5 + math.log(2) - 1, 2 - math.log(2) - 1, 0.0]
    assert made.tolist() == pytest.approx(by_hand)


def objective(logits: np.ndarray, old: np.ndarray, drawn: Drawn, how: Toy) -> float:
    """Written once more, sample by sample."""
    pi, before = (np.exp(one) / np.exp(one).sum() for one in (logits, old))
    first, total = 1 / len(pi), 0.0
    for tried, paid in zip(drawn.actions, drawn.rewards, strict=True):
        mean = sum(paid) / len(paid)
        spread = math.sqrt(sum((one - mean) ** 2 for one in paid) / (len(paid) - 1))
        for action, reward in zip(tried, paid, strict=True):
            advantage = (reward - mean) / (spread + 1e-4)
            ratio = pi[action] / before[action]
            held = min(max(ratio, 1 - how.clip), 1 + how.clip)
            towards = first / pi[action]
            total += min(ratio * advantage, held * advantage)
            total -= how.beta * (towards - math.log(towards) - 1)
    return total / drawn.actions.size


def test_the_gradient_is_that_of_the_objective() -> None:
    rng = np.random.default_rng(3)
    how = Toy(beta=0.05)
    old = rng.normal(size=6)
    logits = old + rng.normal(scale=0.4, size=6)
    tried = rng.integers(6, size=(5, 4))
    drawn = Drawn(np.arange(5), tried, rng.random((5, 4)).round(1))
    made, share = gradient(logits, old, np.zeros(6), drawn, how)
    assert 0 < share < 1  # some samples are clipped, and some are not
    step = 1e-6
    for place in range(6):
        moved = np.eye(6)[place] * step
        up, down = (objective(logits + sign * moved, old, drawn, how) for sign in (1, -1))
        assert made[place] == pytest.approx((up - down) / (2 * step), abs=1e-6)


def test_it_learns_a_planted_rule_and_a_seed_is_a_curve() -> None:
    table = np.zeros((12, 24))
    table[:, 17] = 1.0
    taught = train(table, Toy(steps=80, seed=4))
    policy = probabilities(taught.logits)
    assert policy[0].tolist() == pytest.approx([1 / 24] * 24)
    assert policy[-1, 17] > 0.9
    early, late = taught.reward[:10], taught.reward[-10:]
    assert late.mean() > 0.85 and early.mean() < 0.4
    assert taught.entropy[0] > 3 and taught.entropy[-1] < 0.5
    assert taught.kl[-1] > taught.kl[0] > 0 and taught.clipped.max() > 0
    again = train(table, Toy(steps=80, seed=4))
    assert (again.logits == taught.logits).all()
    assert (train(table, Toy(steps=80, seed=5)).logits != taught.logits).any()
    # Where every rule is paid alike nothing is learnt, however much is paid.
    flat = train(np.ones((12, 24)), Toy(steps=5))
    assert flat.flat.tolist() == [1.0] * 5
    assert np.abs(flat.logits[-1]).max() < 1e-12
    # A strong pull to the untrained policy leaves less of the rule.
    held = train(table, Toy(steps=80, seed=4, beta=0.5))
    assert probabilities(held.logits)[-1, 17] < policy[-1, 17]
    with pytest.raises(UsageError, match="at least two"):
        train(table, Toy(group=1))


def test_its_rewards_are_those_of_the_real_training(workspace: Workspace) -> None:
    banks = hall()
    asked = [q for q in banks.dataset.questions if exclusion(q) is None][:4]
    terms = Terms(alpha=0, retrieval="rank-aware", answered=False)
    rewards = RewriteRewards(Plan(workspace, banks, PLAIN), terms)
    table = reward_table(rewards, asked)
    assert table.shape == (4, len(RULES)) and 0 < table.min() < table.max() <= 1
    wanted = Wanted(asked[2].text, asked[2].people)
    [one] = rewards.score([asked[2].id], [by_rule(wanted, RULES[5])])
    assert table[2, 5] == one.retrieval
    both = RewriteRewards(
        Plan(workspace, banks, PLAIN, "top-memory"), replace(terms, alpha=0.25, answered=True)
    )
    # No memory answers "x", so the answers add nothing.
    assert reward_table(both, asked) == pytest.approx(0.75 * table)
    without = [q for q in banks.dataset.questions if q.id == "none"]
    with pytest.raises(UsageError, match="cannot be paid for"):
        reward_table(rewards, without)
    assert rank_aware(5, (1,)) == 1


def test_one_step_laid_open_and_its_exercise(tmp_path: Path) -> None:
    banks = hall()
    taught = learnt(Workspace(tmp_path), banks, PLAIN, Toy(steps=12))
    assert {q.scope for q in taught.trained} == {"s1"}
    assert {q.scope for q in taught.others} == {"s4"}
    rows = group_rows(taught, 3)
    assert rows.height == 8
    # The samples of one question, and the quantities of the tests above.
    paid = rows["paid"].to_numpy()[None]
    assert rows["advantage"].to_list() == pytest.approx(advantages(paid)[0].tolist())
    ratio = rows["afterwards"] / rows["likely"]
    assert rows["ratio"].to_list() == pytest.approx(ratio.to_list())
    assert rows["objective"].to_list() == pytest.approx(
        [
            min(r * a, min(max(r, 0.8), 1.2) * a)
            for r, a in zip(rows["ratio"], rows["advantage"], strict=True)
        ]
    )
    best = rows.sort("advantage", descending=True)
    assert best["advantage"][0] > 0 > best["advantage"][-1]
    assert check_gain(None, rows).right is None
    assert check_gain(best["rewrite"][0], rows).right
    wrong = check_gain(best["rewrite"][-1], rows)
    assert wrong.right is False and "better than its own group" in wrong.said
    flat = rows.with_columns(advantage=pl.lit(0.0))
    assert check_gain(NONE, flat).right and not check_gain(best["rewrite"][0], flat).right
    frame = curve(taught)
    assert frame["step"].max() == 12 and frame["series"].n_unique() == 2
    own = frame.filter(pl.col("series") == "questions trained on")["mean"]
    assert own[0] == pytest.approx(taught.tables["questions trained on"].mean())
    figure = toy_curves(frame, toy_passport(taught, banks))
    assert list(figure.data[1].y) == pytest.approx(own.to_list())
    assert "no intervals" in figure.layout.meta["caption"]
    rules = rule_rows(taught)
    assert rules.height == 5 and rules["likely"].is_sorted(descending=True)
