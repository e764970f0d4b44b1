"""Pools of candidate rewrites: each question as it is, and what a rewriter might make of it.

With a model they are samples at temperature 1 in the words that training samples with, through the
model's reply cache: a pool that was stopped goes on where it was. Without one they are made by
rule, which the pool says of itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec

from workbench.answering import last_day, said_by
from workbench.errors import UsageError
from workbench.library import BankSet
from workbench.llm import LLM, Reply
from workbench.prompting import prompt
from workbench.replies import NOT_ASKED_AGAIN
from workbench.rule_rewrites import RULES, by_rule
from workbench.schema import Question
from workbench.statement import STATEMENT, Wanted, statement_of, statement_request

__all__ = ["IDENTITY", "Pool", "pool_of"]

Progress = Callable[[str, int, int], None]

IDENTITY = "identity"
# Questions whose candidates are sampled between two signs of life.
BATCH = 8


class Pool(NamedTuple):
    """`rewrites` has a row a question: the question itself, then its N candidates, None where the
    model gave none. `failures` counts those by class, `pending` are such as the next run will ask
    for again. `made_by` says how, for people; `identity` what the pool depends on."""

    rewrites: list[list[str | None]]
    failures: dict[str, int]
    pending: int
    made_by: str
    identity: dict[str, Any]


def pool_of(
    banks: BankSet,
    questions: Sequence[Question],
    number: int,
    llm: LLM | None = None,
    progress: Progress | None = None,
) -> Pool:
    """`number` candidates for each question, besides the question itself. Raises UsageError for
    more than the rules make, where there is no model, and for fewer than one."""
    if number < 1:
        raise UsageError(f"a pool needs at least one candidate, not {number}")
    wanted = [_wanted(banks, question) for question in questions]
    if llm is None:
        return _by_rule(wanted, number)
    return _sampled(wanted, number, llm, progress)


def _by_rule(wanted: Sequence[Wanted], number: int) -> Pool:
    others = RULES[1:]  # the first one leaves a question as it is
    if number > len(others):
        raise UsageError(f"there are {len(others)} rules, not {number}: ask for fewer, or --llm")
    # From all over the list, so that a few of them are still unlike.
    chosen = [others[place * len(others) // number] for place in range(number)]
    rows: list[list[str | None]] = [
        [one.text, *(by_rule(one, rule) for rule in chosen)] for one in wanted
    ]
    said = f"{number} rewrites by rule, in place of a model's"
    return Pool(rows, {}, 0, said, {"rules": [rule.name for rule in chosen]})


def _sampled(wanted: Sequence[Wanted], number: int, llm: LLM, progress: Progress | None) -> Pool:
    """Samples at temperature 1, each from its own seed."""
    rows: list[list[str | None]] = []
    failures = Counter[str]()
    for start in range(0, len(wanted), BATCH):
        asked = wanted[start : start + BATCH]
        replies = llm.complete(
            [
                msgspec.structs.replace(statement_request(one), temperature=1.0, seed=seed)
                for one in asked
                for seed in range(number)
            ]
        )
        for place, one in enumerate(asked):
            own = replies[place * number : (place + 1) * number]
            said = [_said(reply) for reply in own]
            failures.update(failure for _, failure in said if failure)
            rows.append([one.text, *(text for text, _ in said)])
        if progress:
            progress("rewriting", len(rows), len(wanted))
    known = {"llm": llm.identity, "prompt": prompt(STATEMENT).digest, "samples": number}
    model = llm.identity.get("model", llm.identity.get("kind", "a model"))
    pending = sum(failures[kind] for kind in NOT_ASKED_AGAIN)
    made_by = f"{number} samples of {model} at temperature 1"
    return Pool(rows, dict(sorted(failures.items())), pending, made_by, known)


def _said(reply: Reply) -> tuple[str | None, str | None]:
    """A candidate, or the class of its failure; one that was cut is used as far as it goes."""
    if reply.failure is not None and reply.failure != "truncated":
        return None, reply.failure
    text = statement_of(reply.text)
    return (text, None) if text else (None, "empty")


def _wanted(banks: BankSet, question: Question) -> Wanted:
    """What a rewriter sees of a question, as when it is answered."""
    today = question.asked or last_day(said_by(banks, question.scope, question.until))
    return Wanted(question.text, question.people, today)
