"""Answers to what many rewrites found, by the plan's answerer, as one batch.

The answerer reads the question as it was asked, and what the rewrite found: as `workbench evaluate`
has it, so that what training is paid for is what is measured afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np

from workbench.answer import ANSWERERS, Asked
from workbench.answer_metrics import MEASURES, f1_locomo
from workbench.answering import OVER, last_day, said_by, sentence_vectors
from workbench.contexts import Occasion, context_of
from workbench.embed import Vectors
from workbench.prompted_answer import Reading, answer_all, fits
from workbench.reward_search import Found
from workbench.run_plan import LLM_ANSWERER, Plan
from workbench.schema import Question

__all__ = ["ANSWER_REWARDS", "Answered", "answer_reward", "answers"]

# What an answer may be paid by: "bleu1" (SPEC A.5), "f1_squad" and the other answer measures.
ANSWER_REWARDS: dict[str, Callable[..., float | None]] = MEASURES


class Answered(NamedTuple):
    """An answer, or the class of the failure to get one ("over the window" where the context is too
    long for the model)."""

    text: str
    failure: str | None = None


def answers(plan: Plan, found: Sequence[Found]) -> list[Answered]:
    """One answer or failure for each, in order: asked together, so that a model can batch them."""
    return (_asked if plan.answerer == LLM_ANSWERER else _extracted)(plan, found)


def answer_reward(measure: str, question: Question, answered: Answered) -> float | None:
    """An answer against the reference by a measure; None where nothing can be paid: the answer
    failed, the question is to be declined, or it has no reference answer."""
    gold = question.gold.answer
    if answered.failure is not None or question.abstention or gold is None:
        return None
    made = ANSWER_REWARDS[measure]
    category = {"category": question.category} if made is f1_locomo else {}
    return made(answered.text, gold, **category)


def _extracted(plan: Plan, found: Sequence[Found]) -> list[Answered]:
    one = ANSWERERS[plan.answerer]
    vectors = sentence_vectors(plan, (text for each in found for text in one.read(each.hits)))

    def rows(texts: Sequence[str]) -> Vectors:
        return np.stack([vectors[text] for text in texts])

    said = []
    for each in found:
        query = replace(each.query, text=each.question.text)
        said.append(one.answer(Asked(query, tuple(each.shelf.people), each.hits, rows)))
    return [Answered(answer.text) for answer in said]


def _asked(plan: Plan, found: Sequence[Found]) -> list[Answered]:
    assert plan.llm is not None
    said_of = cache(lambda scope, until: said_by(plan.banks, scope, until))
    readings = []
    for one in found:
        said = said_of(one.question.scope, one.question.until)
        today = one.question.asked or last_day(said)
        sections = context_of(plan.read, Occasion(one.shelf, one.query, one.hits, said))
        readings.append(Reading(one.question.text, one.question.people, today, sections))
    ready = [row for row, one in enumerate(readings) if fits(one, plan.window)]
    made = answer_all(plan.llm, [readings[row] for row in ready])
    answered = [Answered("", OVER)] * len(found)
    for row, said_to in zip(ready, made, strict=True):
        answered[row] = Answered(said_to.text, said_to.failure)
    return answered
