"""The questions as the policy reads them: rendered, measured, and in the order of the updates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jinja2 import TemplateError

from workbench.answering import last_day, said_by
from workbench.errors import UsageError
from workbench.library import BankSet
from workbench.schema import Question
from workbench.statement import Wanted, statement_request

__all__ = ["Asked", "Material", "material", "unrolled"]

Message = dict[str, str]


class Asked(NamedTuple):
    """A question as messages and as the tokens that its chat template makes of them."""

    question: Question
    messages: list[Message]
    tokens: list[int]


class Material(NamedTuple):
    """What fits, and the ids of the questions that are too long.

    The rule for those: they are left out, whole. Cut at the left they would lose their chat
    template's beginning, and the instructions with it; cut inside, the question's own end.
    """

    asked: list[Asked]
    too_long: list[str]


def material(
    banks: BankSet, questions: Sequence[Question], tokenizer: Any, longest: int
) -> Material:
    """The questions whose prompts have at most `longest` tokens; nothing of their gold.

    Raises UsageError where none has.
    """
    made = [_asked(banks, question, tokenizer) for question in questions]
    fitting = [one for one in made if len(one.tokens) <= longest]
    if not fitting:
        shortest = min((len(one.tokens) for one in made), default=0)
        raise UsageError(
            f"no question fits into longest_prompt = {longest} tokens; the shortest has {shortest}"
        )
    return Material(fitting, [o.question.id for o in made if len(o.tokens) > longest])


def unrolled(asked: Sequence[Asked], prompts: int, updates: int, seed: int) -> list[dict[str, Any]]:
    """The rows of all updates in turn, as TRL reads them: each pass has every question once, in an
    order of its own. The place of a row is the position in training, so a run that is resumed
    reads on where it was, whatever the libraries do with epochs."""
    wanted = prompts * updates
    random = np.random.default_rng(seed)
    passes = math.ceil(wanted / len(asked))
    order = np.concatenate([random.permutation(len(asked)) for _ in range(passes)])[:wanted]
    return [{"prompt": asked[n].messages, "question": asked[n].question.id} for n in order]


def _asked(banks: BankSet, question: Question, tokenizer: Any) -> Asked:
    said = said_by(banks, question.scope, question.until)
    today = question.asked or last_day(said)
    request = statement_request(Wanted(question.text, question.people, today))
    messages = [
        {"role": "system", "content": request.system},
        {"role": "user", "content": request.user},
    ]
    try:
        return Asked(question, messages, _tokens(tokenizer, messages))
    except TemplateError:  # some templates know no system message
        whole = [{"role": "user", "content": f"{request.system}\n\n{request.user}"}]
        return Asked(question, whole, _tokens(tokenizer, whole))


def _tokens(tokenizer: Any, messages: list[Message]) -> list[int]:
    text = tokenizer.apply_chat_template(
        messages, tokenize=False, add_generation_prompt=True, enable_thinking=False
    )
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])
