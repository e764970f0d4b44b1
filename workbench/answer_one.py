"""One question answered from each of its two rankings, by rule or by a language model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from workbench.answer import ANSWERERS, Answer, Asked
from workbench.answering import last_day, said_by
from workbench.ask import Asking
from workbench.contexts import Occasion, context_of
from workbench.embed import Vectors, embed
from workbench.errors import ModelError
from workbench.llm import LLM
from workbench.prompted_answer import Reading, Said, answer_all
from workbench.run_plan import LLM_ANSWERER, check
from workbench.schema import Hit

__all__ = ["answer_both", "readings", "say_both"]


def answer_both(
    one: Asking, answerer: str = "extractive", llm: LLM | None = None
) -> dict[str, Answer]:
    """The answers "without" and "with" the prior, as `workbench evaluate` would give them.

    The gold is not looked at. Sentences that were never read are embedded first, which takes up to
    a second or two; "llm" asks the model, which reads the context `ppro`. Raises UsageError for an
    unknown answerer or without a model, ModelError where the model gives no answer.
    """
    check(one.recipe, answerer, llm=llm is not None)
    if answerer == LLM_ANSWERER and llm is not None:
        return {name: _told(said) for name, said in say_both(readings(one), llm).items()}
    without, having = one.hits()
    return {"without": _answer(one, answerer, without), "with": _answer(one, answerer, having)}


def readings(one: Asking) -> dict[str, Reading]:
    """What a language model reads "without" and "with" the prior: the context `ppro`."""
    both = zip(("without", "with"), one.hits(), strict=True)
    return {name: _reading(one, hits) for name, hits in both}


def say_both(given: Mapping[str, Reading], llm: LLM) -> dict[str, Said]:
    """The model's answer, or the class of its failure, for each reading; asked together."""
    said = answer_all(llm, list(given.values()))
    return dict(zip(given, said, strict=True))


def _answer(one: Asking, answerer: str, hits: tuple[Hit, ...]) -> Answer:
    texts = list(dict.fromkeys(ANSWERERS[answerer].read(hits)))
    rows = embed(texts, "passage", one.banks.embedder, one.banks.cache)
    known = dict(zip(texts, rows, strict=True))

    def vectors(wanted: Sequence[str]) -> Vectors:
        return np.stack([known[text] for text in wanted])

    query = replace(one.query, text=one.text)  # read for what was asked, not searched with
    asked = Asked(query, tuple(one.shelf.people), hits, vectors)
    return ANSWERERS[answerer].answer(asked)


def _reading(one: Asking, hits: tuple[Hit, ...]) -> Reading:
    said = said_by(one.banks, one.scope, one.query.until)
    today = (one.question.asked if one.question else None) or last_day(said)
    sections = context_of("ppro", Occasion(one.shelf, one.query, hits, said))
    return Reading(one.text, one.query.people, today, sections)


def _told(said: Said) -> Answer:
    if said.failure is not None:
        raise ModelError(f"the model gave no answer: {said.failure} {said.detail}".strip())
    return Answer(text=said.text, abstained=said.abstained)
