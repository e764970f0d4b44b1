"""How an answer is put to a judge: which rubric it falls under, and the request.

The rubrics are ours, in our own words. A question's category names its rubric (LoCoMo's four, the
six types of LongMemEval); abstention items have one of their own, whatever their category. Those of
LongMemEval are known by their ids (`_abs`), which its loader reads into `Question.abstention`.
"""

from __future__ import annotations

from typing import Any

from workbench.llm import Request
from workbench.metrics import GoldKind
from workbench.prompting import grading_language, prompt, quoted
from workbench.schema import Question, digest_of

__all__ = ["ABSTENTION", "RUBRICS", "flagged", "gold_of", "prompts", "request_of", "rubric_of"]

ABSTENTION, OTHER = "abstention", "fact"
RUBRICS = {
    "single-hop": "fact",
    "multi-hop": "several",
    "temporal": "date",
    "open-domain": "inference",
    "single-session-user": "fact",
    "single-session-assistant": "fact",
    "single-session-preference": "preference",
    "multi-session": "several",
    "temporal-reasoning": "elapsed",
    "knowledge-update": "update",
}
# Room for a reason, and for the thoughts of models that think aloud.
REPLY_TOKENS = 512
# The first two repeats (one in each order) are as certain as the model can be.
STEADY, WARMTH = 2, 0.7
# The audit's only type of error that leaves the answer right.
CITATION = "WRONG_CITATION"


def rubric_of(question: Question) -> str:
    """The rubric's name; unknown categories are judged as facts."""
    return ABSTENTION if question.abstention else RUBRICS.get(question.category, OTHER)


def gold_of(question: Question, gold: GoldKind) -> str | None:
    """The answer to judge against (for abstention items the explanation); None where there is none.

    "audited" is the audit's answer where it says that the original one is wrong.
    """
    corrected = question.audited if question.audit != CITATION else None
    found = corrected if gold == "audited" and corrected is not None else question.gold
    return found.answer if found.answer and found.answer.strip() else None


def order_of(repeat: int) -> str:
    """What a repeat shows first, by turns."""
    return "response first" if repeat % 2 else "gold first"


def request_of(question: Question, gold: str | None, said: str, repeat: int, seed: int) -> Request:
    """The request of one repeat (from 0). Orders alternate; from the third on the temperature is
    0.7, since a model at 0 would but repeat itself."""
    rubric = rubric_of(question)
    label = "explanation" if rubric == ABSTENTION else "gold"
    parts = [quoted(gold, label)] if gold is not None else []
    parts.append(quoted(said, "response"))
    if order_of(repeat) == "response first":
        parts.reverse()
    today = [quoted(question.asked.strftime("%Y-%m-%d"), "asked_on")] if question.asked else []
    told = [*today, quoted(question.text, "question"), *parts, "Is the response right?"]
    return Request(
        system=_system(rubric),
        user="\n\n".join(told),
        max_tokens=REPLY_TOKENS,
        temperature=0.0 if repeat < STEADY else WARMTH,
        seed=seed + repeat,
        json_object=True,
    )


def prompts() -> dict[str, str]:
    """The digest of each rubric's whole prompt, by rubric."""
    names = sorted({*RUBRICS.values(), ABSTENTION})
    return {name: digest_of(_system(name)) for name in names}


def flagged(question: Question, gold: str | None, said: str) -> bool:
    """Whether a text that the judge sees "contains grading language" (CASES 36)."""
    return any(grading_language(text) for text in (question.text, gold or "", said))


def asking() -> dict[str, Any]:
    """How is asked, besides the prompts: part of a judge's identity."""
    return {
        "tokens": REPLY_TOKENS,
        "orders": "gold first, response first, by turns",
        "warm": WARMTH,
    }


def _system(rubric: str) -> str:
    return prompt("judge").filled(rubric=prompt(f"judge_{rubric}").text)
