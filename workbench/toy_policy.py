"""A toy of the trained rewriter: a policy that chooses among a few dozen rules, taught by GRPO.

Everything that GRPO does to a language model it does here to one row of numbers, slowly enough to
look at: the policy is a softmax over the rules of `rule_rewrites`, an *action* is to rewrite a
question by one of them, and the reward is that of `RewriteRewards`. One step (SPEC A.6, as TRL
counts):

    advantage  A = (r - mean) / (std + 1e-4) within the group of one question (std over n - 1)
    ratio      rho = pi(a) / pi_old(a)
    objective  mean of min(rho A, clip(rho, 1 - eps, 1 + eps) A) - beta KL
    KL         pi_ref / pi - log(pi_ref / pi) - 1 at the sampled actions (never negative)

A group whose rewards are all alike has advantages of 0: it teaches nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl

from workbench.errors import UsageError
from workbench.rewards import RewriteRewards
from workbench.rule_rewrites import RULES, Rule, by_rule
from workbench.schema import Question, Record
from workbench.statement import Wanted

__all__ = [
    "Drawn",
    "Toy",
    "Training",
    "advantages",
    "clipped",
    "gradient",
    "kl",
    "probabilities",
    "reward_table",
    "train",
    "training_frame",
]

Values = npt.NDArray[np.float64]
Actions = npt.NDArray[np.intp]

TINY = 1e-4


class Toy(Record, frozen=True, kw_only=True, omit_defaults=False):
    """How the toy is trained: SPEC A.6 in its group size, clip and KL; the learning rate is that of
    a few dozen numbers. `questions` are asked a step, each `group` times; `passes` are updates from
    one draw, so that ratios leave 1 and clipping has something to do."""

    steps: int = 60
    questions: int = 8
    group: int = 8
    passes: int = 4
    rate: float = 1.0
    clip: float = 0.2
    beta: float = 0.001
    seed: int = 0


class Drawn(NamedTuple):
    """A step's draw: the rows of the `questions` (q,), the `actions` tried (q, g), and what each
    was paid (q, g)."""

    questions: Actions
    actions: Actions
    rewards: Values


class Training(NamedTuple):
    """What was learnt: logits (steps + 1, a) from the untrained policy on, and each step's draw,
    mean reward, share of flat groups, share of clipped samples, KL and entropy (steps,)."""

    logits: Values
    draws: list[Drawn]
    reward: Values
    flat: Values
    clipped: Values
    kl: Values
    entropy: Values


def reward_table(
    rewards: RewriteRewards, questions: Sequence[Question], rules: Sequence[Rule] = RULES
) -> Values:
    """(q, a) what every rule is paid for every question, before normalisation: its retrieval
    reward, and where answers are paid for R = α answer + (1 - α) retrieval of them.

    Raises UsageError where a question cannot be paid for.
    """
    texts = [by_rule(Wanted(q.text, q.people), rule) for q in questions for rule in rules]
    ids = [q.id for q in questions for _ in rules]
    alpha = rewards.terms.alpha
    paid = []
    for one in rewards.score(ids, texts):
        parts = [(1 - alpha, one.retrieval), (alpha, one.answer)]
        known = [weight * value for weight, value in parts if weight and value is not None]
        if len(known) < sum(weight > 0 for weight, _ in parts):
            raise UsageError(f"question {one.question} cannot be paid for: leave it out")
        paid.append(sum(known))
    return np.asarray(paid).reshape(len(questions), len(rules))


def probabilities(logits: Values) -> Values:
    """Softmax over the last axis."""
    raised = np.exp(logits - logits.max(axis=-1, keepdims=True))
    shares: Values = raised / raised.sum(axis=-1, keepdims=True)
    return shares


def advantages(rewards: Values) -> Values:
    """(q, g) rewards of groups as advantages: less the group's mean, over its spread (n - 1)."""
    centred = rewards - rewards.mean(axis=1, keepdims=True)
    spread = rewards.std(axis=1, ddof=1, keepdims=True)
    scaled: Values = centred / (spread + TINY)
    return scaled


def clipped(ratio: Values, advantage: Values, clip: float) -> Values:
    """min(rho A, clip(rho) A): what is gained by moving further is cut off beyond 1 ± clip, what
    is lost never is."""
    held = np.clip(ratio, 1 - clip, 1 + clip)
    least: Values = np.minimum(ratio * advantage, held * advantage)
    return least


def kl(policy: Values, reference: Values) -> Values:
    """The estimate of KL(policy, reference) at sampled actions, from their probabilities."""
    towards = reference / policy
    estimate: Values = towards - np.log(towards) - 1
    return estimate


def gradient(
    logits: Values, old: Values, reference: Values, drawn: Drawn, how: Toy
) -> tuple[Values, float]:
    """(a,) the direction in which the objective grows, and the share of clipped samples.

    `logits`, `old` and `reference` (a,) are the policy's now, when the actions were drawn, and
    before any training. The gradient of log pi(a) is onehot(a) - pi.
    """
    pi, before, first = (probabilities(one) for one in (logits, old, reference))
    tried = drawn.actions
    advantage = advantages(drawn.rewards)
    ratio = pi[tried] / before[tried]
    # Where the minimum is the clipped side, it does not move with the policy.
    stopped = clipped(ratio, advantage, how.clip) < ratio * advantage
    weight = np.where(stopped, 0.0, ratio * advantage)
    weight = weight - how.beta * (1 - first[tried] / pi[tried])
    pushed = np.zeros_like(pi)
    np.add.at(pushed, tried.ravel(), weight.ravel())
    direction: Values = (pushed - weight.sum() * pi) / tried.size
    return direction, float(stopped.mean())


def train(table: Values, how: Toy | None = None) -> Training:
    """Teach an untrained policy on a table (q, a) of rewards; the same seed teaches the same.

    Raises UsageError for groups of fewer than two: they have no spread.
    """
    how = how or Toy()
    if how.group < 2:
        raise UsageError(f"a group needs at least two samples, not {how.group}")
    rng = np.random.default_rng(how.seed)
    reference = np.zeros(table.shape[1])
    logits, told, draws = [reference], [], []
    for _ in range(how.steps):
        old = logits[-1]
        drawn = _drawn(table, old, how, rng)
        now, shares = old, []
        for _ in range(how.passes):
            direction, share = gradient(now, old, reference, drawn, how)
            now = now + how.rate * direction
            shares.append(share)
        draws.append(drawn)
        logits.append(now)
        told.append((*_measured(now, reference, drawn), float(np.mean(shares))))
    reward, flat, distance, entropy, cut = np.asarray(told).T
    return Training(np.stack(logits), draws, reward, flat, cut, distance, entropy)


def _drawn(table: Values, logits: Values, how: Toy, rng: np.random.Generator) -> Drawn:
    """A step's questions, and a group of actions for each."""
    asked = rng.permutation(len(table))[: how.questions]
    pi = probabilities(logits)
    tried = rng.choice(len(pi), size=(len(asked), how.group), p=pi)
    return Drawn(asked, tried, table[asked[:, None], tried])


def _measured(logits: Values, reference: Values, drawn: Drawn) -> tuple[float, ...]:
    """Mean reward of a draw, its share of flat groups, KL to the reference, and entropy."""
    pi, first = probabilities(logits), probabilities(reference)
    flat = np.ptp(drawn.rewards, axis=1) == 0
    distance = float(np.sum(pi * np.log(pi / first)))
    return float(drawn.rewards.mean()), float(flat.mean()), distance, float(-pi @ np.log(pi))


def training_frame(training: Training, tables: dict[str, Values]) -> pl.DataFrame:
    """`series, step, mean, lo, hi`: what the policy of every step is paid on average, on each of
    some tables (q, a) of rewards. The average is exact, over all actions, so `lo` and `hi` are
    null."""
    pi = probabilities(training.logits)
    parts = [
        pl.DataFrame({"series": name, "step": np.arange(len(pi)), "mean": pi @ table.mean(axis=0)})
        for name, table in tables.items()
    ]
    bounds = (pl.lit(None, dtype=pl.Float64).alias(name) for name in ("lo", "hi"))
    return pl.concat(parts).with_columns(*bounds)
