"""A dataset's questions in a rewriter's words: what any measure of retrieval then searches with.

`recall` and the sweeps ask a bank set for its dataset's questions; here these get other words,
once, and nothing else of them changes: not their gold, not whose they are, not their ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from workbench.answering import last_day, said_by
from workbench.ask import find_asker, find_question
from workbench.errors import ModelError
from workbench.library import BankSet
from workbench.llm import LLM
from workbench.prepare import in_split
from workbench.rewrite import Rewriting, Wanted, open_rewriter, rewriter_identity, rewriter_name
from workbench.schema import Question
from workbench.workspace import Workspace

__all__ = ["Worded", "rewritten", "searched_with", "wanted_of"]

Progress = Callable[[str, int, int], None]
# Banks whose questions are in a rewriter's words, and what is reported of that.
Worded = tuple[BankSet, dict[str, Any]]
BATCH = 16


def wanted_of(banks: BankSet, questions: Sequence[Question]) -> list[Wanted]:
    """Questions as a rewriter sees them, each with the day on which it was asked."""
    days = {}
    for question in questions:
        key = (question.scope, question.until)
        if key not in days:
            days[key] = last_day(said_by(banks, *key))
    return [Wanted(q.text, q.people, q.asked or days[q.scope, q.until]) for q in questions]


def rewritten(
    workspace: Workspace,
    banks: BankSet,
    rewriter: tuple[str, LLM | None],
    split: str = "all",
    progress: Progress | None = None,
) -> Worded:
    """The bank set with a split's questions rewritten, and what to report of that: the rewriter's
    identity, and how many questions stayed as they are, by the class of failure.

    `rewriter` is a name and the model that it may ask. The dimensions of a question are those of
    its new words, by rule. Raises ModelError where a call did not get through: the measure would
    depend on the weather; ask again, since what came is kept.
    """
    name, llm = rewriter
    if name == "identity":
        return banks, {"name": name}
    asked = in_split(banks, split)
    made = _made(workspace, banks, rewriter, asked, progress)
    pending = sum(one.pending for one in made)
    if pending:
        kinds = Counter(one.failure for one in made if one.pending).most_common()
        raise ModelError(f"{pending} of {len(made)} rewrites did not get through: {kinds}")
    texts = {question.id: one.text for question, one in zip(asked, made, strict=True)}
    dataset = msgspec.structs.replace(
        banks.dataset,
        questions=tuple(
            msgspec.structs.replace(question, text=texts.get(question.id, question.text))
            for question in banks.dataset.questions
        ),
    )
    told = {
        "name": rewriter_name(name),
        "identity": rewriter_identity(name),
        "llm": None if llm is None else llm.identity,
        "not_rewritten": dict(Counter(one.failure for one in made if one.failure)),
    }
    return replace(banks, dataset=dataset), told


def searched_with(
    workspace: Workspace,
    banks: BankSet,
    rewriter: tuple[str, LLM | None],
    asked: str,
    user: str | None = None,
) -> str | None:
    """A question, by its text or id, in a rewriter's words; None for `identity`, which leaves it.

    Raises UsageError where `user` names nobody, ModelError where the call did not get through.
    """
    if rewriter[0] == "identity":
        return None
    known = find_question(banks.dataset, asked)
    scope, people = find_asker(banks.dataset, asked, user)
    question = known or Question(id="", scope=scope, text=asked, people=people)
    [made] = _made(workspace, banks, rewriter, [question], None)
    if made.pending:
        raise ModelError(f"the rewriter did not get through: {made.failure}")
    return made.text


def _made(
    workspace: Workspace,
    banks: BankSet,
    rewriter: tuple[str, LLM | None],
    asked: Sequence[Question],
    progress: Progress | None,
) -> list[Rewriting]:
    rewrite, wanted = open_rewriter(*rewriter, workspace), wanted_of(banks, asked)
    made: list[Rewriting] = []
    for start in range(0, len(wanted), BATCH):
        made += rewrite(wanted[start : start + BATCH])
        if progress:
            progress("rewriting", len(made), len(wanted))
    return made
