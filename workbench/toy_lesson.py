"""GRPO in the lesson: the toy policy on the sample, one step laid open, and an exercise on it."""

from __future__ import annotations

from typing import NamedTuple

import msgspec
import numpy as np
import polars as pl

from workbench.bank_set import BankSet
from workbench.lesson import Check
from workbench.metrics import exclusion
from workbench.passport import Passport, passport_of_banks
from workbench.reward_terms import Terms
from workbench.rewards import RewriteRewards
from workbench.rule_rewrites import RULES, by_rule
from workbench.run_plan import Plan
from workbench.schema import Question, Recipe, digest_of
from workbench.statement import Wanted
from workbench.toy_policy import (
    Toy,
    Training,
    Values,
    advantages,
    clipped,
    kl,
    probabilities,
    reward_table,
    train,
    training_frame,
)
from workbench.workspace import Workspace

__all__ = [
    "NONE",
    "Taught",
    "check_gain",
    "curve",
    "group_rows",
    "learnt",
    "rule_rows",
    "toy_passport",
]

# Questions of a conversation: enough to learn from, few enough to embed while somebody waits.
ASKED = 8
TRAINED, OTHERS = "questions trained on", "another conversation"
# The answer for a group from which nothing can be learnt.
NONE = "none: all were paid the same"
WAITING = Check(None, "Not answered yet.")


class Taught(NamedTuple):
    """The toy after training: the questions of the first conversation and of the last, what every
    rule is paid for them (q, a), and the training on the first."""

    trained: list[Question]
    others: list[Question]
    tables: dict[str, Values]
    training: Training
    recipe: Recipe
    how: Toy


def learnt(workspace: Workspace, banks: BankSet, recipe: Recipe, how: Toy | None = None) -> Taught:
    """Train the toy on a dataset's first conversation; the last one shows whether what was learnt
    holds elsewhere. It is paid by where the evidence stands (`reward_search.rank_aware`)."""
    how = how or Toy()
    scopes = list(dict.fromkeys(question.scope for question in banks.dataset.questions))
    first, last = (_measurable(banks, scope) for scope in (scopes[0], scopes[-1]))
    terms = Terms(alpha=0, retrieval="rank-aware", answered=False)
    rewards = RewriteRewards(Plan(workspace, banks, recipe), terms)
    tables = {
        TRAINED: reward_table(rewards, first),
        OTHERS: reward_table(rewards, last),
    }
    return Taught(first, last, tables, train(tables[TRAINED], how), recipe, how)


def curve(taught: Taught) -> pl.DataFrame:
    """What the policy of every step is paid on average, as `figures.training_curves` takes it."""
    return training_frame(taught.training, taught.tables)


def group_rows(taught: Taught, step: int, group: int = 0) -> pl.DataFrame:
    """One group of one step (from 1), a row a sample: `rewrite`, `rule`, what it was `paid`, its
    `advantage`, how `likely` the rule was before the step and is `afterwards`, their `ratio`, the
    `objective` that the ratio gives it, whether that is `clipped`, and its `kl` to the untrained
    policy."""
    training, how = taught.training, taught.how
    drawn = training.draws[step - 1]
    tried, paid = drawn.actions[group], drawn.rewards[group]
    question = taught.trained[drawn.questions[group]]
    before, after, first = (probabilities(training.logits[i]) for i in (step - 1, step, 0))
    ratio, advantage = after[tried] / before[tried], advantages(drawn.rewards)[group]
    objective = clipped(ratio, advantage, how.clip)
    wanted = Wanted(question.text, question.people)
    return pl.DataFrame(
        {
            "rewrite": [by_rule(wanted, RULES[action]) for action in tried],
            "rule": [RULES[action].name for action in tried],
            "paid": paid,
            "advantage": advantage,
            "likely": before[tried],
            "afterwards": after[tried],
            "ratio": ratio,
            "objective": objective,
            "clipped": objective < ratio * advantage,
            "kl": kl(after[tried], first[tried]),
        }
    )


def rule_rows(taught: Taught, most: int = 5) -> pl.DataFrame:
    """The rules that are likeliest after training: `rule`, `likely`, and its mean `paid` on the
    `trained` and the `other` questions."""
    after = probabilities(taught.training.logits[-1])
    order = np.argsort(-after, kind="stable")[:most]
    return pl.DataFrame(
        {
            "rule": [RULES[place].name for place in order],
            "likely": after[order],
            "trained": taught.tables[TRAINED].mean(axis=0)[order],
            "other": taught.tables[OTHERS].mean(axis=0)[order],
        }
    )


def check_gain(answer: str | None, rows: pl.DataFrame) -> Check:
    """Which rewrite of a group is pushed up most? Any with the largest advantage is right; in a
    group whose rewards are all alike none is. `rows` are `group_rows`."""
    if not answer:
        return WAITING
    most = rows["advantage"].max()
    assert isinstance(most, float)
    if most <= 0:
        right = answer == NONE
        said = "all were paid the same, so none is better than its group, and nothing is learnt."
        return Check(right, f"{'Right' if right else 'Not quite'}: {said}")
    best = rows.filter(pl.col("advantage") == most)
    right = answer in best["rewrite"].to_list()
    paid, mean = float(best["paid"][0]), float(rows["paid"].mean())  # type: ignore[arg-type]
    return Check(
        right,
        f"{'Right' if right else 'Not quite'}: the best of its group was paid {paid:.2f}, the "
        f"group {mean:.2f} on average. Only what is better than its own group is pushed up "
        f"({most:+.2f}); being paid much does not count where all are paid much.",
    )


def toy_passport(taught: Taught, banks: BankSet) -> Passport:
    """The passport of the training curve."""
    n = len(taught.trained) + len(taught.others)
    more = {
        "kind": "toy",
        "seed": taught.how.seed,
        "recipe": digest_of([taught.recipe, taught.how]),
    }
    whole = passport_of_banks(banks.manifest, n)
    return msgspec.structs.replace(whole, **more)


def _measurable(banks: BankSet, scope: str) -> list[Question]:
    own = (q for q in banks.dataset.questions if q.scope == scope and exclusion(q) is None)
    return list(own)[:ASKED]
