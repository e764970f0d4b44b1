"""What is searched with instead of the question, and the retrieval dimensions of what is sought.

SPEC A.3.1. A rewriter sees the question's words, whose it is and its day: nothing of the gold. One
that cannot say anything usable leaves the question as it is, with the class of its failure; a call
that did not get through is no rewriting at all, and is made again by the next run.

To add a rewriter: a function of a model and a line in `REWRITERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, field_validator

from workbench.errors import UsageError
from workbench.llm import LLM, Reply, Request
from workbench.memory.dimensions import of_question
from workbench.prompting import prompt, quoted
from workbench.replies import NOT_ASKED_AGAIN, Exchange, ReplyFailure, ask_recorded
from workbench.schema import Certainty, Dimensions, Record, Subjectivity, Tense

__all__ = ["REWRITERS", "Rewriter", "Rewriting", "RewritingReply", "Wanted", "open_rewriter"]

LONGEST = 400  # characters of a query; more is no query
REPLY_TOKENS = 96


class Wanted(NamedTuple):
    """A question as a rewriter sees it; `today` is its day, None where nobody knows."""

    text: str
    people: tuple[str, ...] = ()
    today: datetime | None = None


class Rewriting(Record, frozen=True, kw_only=True):
    """What to search with. Where `failure` has a class, `text` and `dimensions` are the question's
    own; where `pending` is set besides, the call did not get through and should be made again."""

    text: str
    dimensions: Dimensions
    failure: str | None = None
    pending: bool = False
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0


Rewriter = Callable[[Sequence[Wanted]], list[Rewriting]]


class RewritingReply(BaseModel):
    """The reply that the prompt asks for; dimensions that are left out are unknown."""

    model_config = ConfigDict(strict=True)

    query: str = Field(max_length=LONGEST)
    tense: Tense = "unknown"
    subjectivity: Subjectivity = "unknown"
    certainty: Certainty = "unknown"

    @field_validator("query")
    @classmethod
    def says_something(cls, query: str) -> str:
        if not any(character.isalnum() for character in query):
            raise ValueError("blank")
        return " ".join(query.split())


def identity(wanted: Sequence[Wanted]) -> list[Rewriting]:
    """The questions as they are, with dimensions by rule."""
    return [_as_it_is(one) for one in wanted]


def prompted(llm: LLM) -> Rewriter:
    """The rewriter that asks a model with the prompt `rewrite`, twice where it must."""

    def rewrite(wanted: Sequence[Wanted]) -> list[Rewriting]:
        asked = [one for one in wanted if one.text.strip()]
        made = ask_recorded(llm, [request_of(one) for one in asked], RewritingReply)
        known = {id(one): _read(one, reply) for one, reply in zip(asked, made, strict=True)}
        return [known.get(id(one)) or _as_it_is(one) for one in wanted]

    return rewrite


# Each with whether it asks a model.
REWRITERS: dict[str, Callable[[LLM], Rewriter] | None] = {"identity": None, "prompted": prompted}


def open_rewriter(name: str, llm: LLM | None) -> Rewriter:
    """The rewriter of that name. Raises UsageError for an unknown one, or where its model lacks."""
    if name not in REWRITERS:
        raise UsageError(f"unknown rewriter {name!r}; known: {', '.join(REWRITERS)}")
    made = REWRITERS[name]
    if made is None:
        return identity
    if llm is None:
        raise UsageError(f"the rewriter {name} asks a language model: name one with --llm")
    return made(llm)


def request_of(wanted: Wanted) -> Request:
    """The request for one rewriting: our words apart, the question's as data."""
    parts = [quoted(wanted.text, "question")]
    if wanted.people:
        parts.append(quoted(", ".join(wanted.people), "person"))
    if wanted.today is not None:
        parts.append(quoted(wanted.today.strftime("%d %B %Y").lstrip("0"), "today"))
    return Request(
        system=prompt("rewrite").text,
        user="\n\n".join(parts),
        max_tokens=REPLY_TOKENS,
        json_object=True,
    )


def _as_it_is(wanted: Wanted, **told: Any) -> Rewriting:
    return Rewriting(text=wanted.text, dimensions=of_question(wanted.text), **told)


def _read(wanted: Wanted, made: Exchange) -> Rewriting:
    spent = _spent(made.replies)
    if isinstance(made.outcome, ReplyFailure):
        kind = made.outcome.kind
        return _as_it_is(wanted, failure=kind, pending=kind in NOT_ASKED_AGAIN, **spent)
    said = made.outcome
    assert isinstance(said, RewritingReply)
    dimensions = Dimensions(
        tense=said.tense, subjectivity=said.subjectivity, certainty=said.certainty
    )
    return Rewriting(text=said.query, dimensions=dimensions, **spent)


def _spent(replies: Sequence[Reply]) -> dict[str, Any]:
    names = ("tokens_in", "tokens_out", "seconds")
    return {name: sum(getattr(reply, name) for reply in replies) for name in names}
