"""What is searched with instead of the question, and the retrieval dimensions of what is sought.

SPEC A.3.1. A rewriter sees the question's words, whose it is and its day: nothing of the gold. One
that cannot say anything usable leaves the question as it is, with the class of its failure; a call
that did not get through is no rewriting at all, and is made again by the next run.

`trained:FOLDER` is a rewriter that `workbench train` made; `untrained:FOLDER` is the model that it
was made from, asked in the same words. Both answer with a statement alone, not with JSON.

To add a rewriter: a function of a model and a line in `REWRITERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, field_validator

from workbench.chat_models import ChatModel
from workbench.errors import UsageError
from workbench.llm import LLM, Reply, Request
from workbench.memory.dimensions import of_question
from workbench.prompting import prompt
from workbench.replies import NOT_ASKED_AGAIN, Exchange, ReplyFailure, ask_recorded
from workbench.schema import Certainty, Dimensions, Record, Subjectivity, Tense
from workbench.statement import (
    LONGEST,
    STATEMENT_TOKENS,
    Wanted,
    asked_of,
    query_text,
    statement_of,
    statement_request,
)
from workbench.trained_model import open_trained
from workbench.workspace import Workspace

__all__ = [
    "REWRITERS",
    "Rewriter",
    "Rewriting",
    "RewritingReply",
    "Wanted",
    "asks_model",
    "check_rewriter",
    "open_rewriter",
    "rewriter_identity",
    "rewriter_name",
    "stating",
    "taken_away",
]

REPLY_TOKENS = 96
# Names that are followed by a checkpoint's folder: whether what was learnt is used.
TRAINED = {"trained": True, "untrained": False}


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


def stating(llm: LLM, with_question: bool = False, tokens: int = STATEMENT_TOKENS) -> Rewriter:
    """The rewriter that asks a model for a statement alone: what is trained, and its base model.
    It is searched with that, or `with_question`, with the question and that; `tokens` bounds it.

    The dimensions are those of the statement, by rule. A reply that was cut is used as far as it
    goes: a query need not be a whole sentence.
    """

    def rewrite(wanted: Sequence[Wanted]) -> list[Rewriting]:
        asked = [one for one in wanted if one.text.strip()]
        made = llm.complete([statement_request(one, tokens) for one in asked])
        known = {
            id(one): _stated(one, reply, with_question)
            for one, reply in zip(asked, made, strict=True)
        }
        return [known.get(id(one)) or _as_it_is(one) for one in wanted]

    return rewrite


def check_rewriter(name: str) -> None:
    """Raises UsageError for an unknown rewriter; a checkpoint's folder is looked at later."""
    if name not in REWRITERS and _checkpoint(name) is None:
        raise UsageError(
            f"unknown rewriter {name!r}; known: {', '.join(REWRITERS)}, or trained:FOLDER with "
            "what `workbench train` made"
        )


def asks_model(name: str) -> bool:
    """Whether a known rewriter asks the model of `--llm`."""
    return REWRITERS.get(name) is not None


def taken_away(name: str) -> dict[str, str]:
    """The rewriters that show what this one is worth, by what is taken away: its training, and all
    of it. Nothing for the questions' own words."""
    found = _checkpoint(name)
    without = {} if name == "identity" else {"without rewriting": "identity"}
    if found is not None and found[1]:
        without = {"without GRPO": f"untrained:{found[0]}", **without}
    return without


def rewriter_name(name: str) -> str:
    """What a rewriter is called in a report: no path of this machine is in it."""
    found = _checkpoint(name)
    return name if found is None else next(kind for kind, of in TRAINED.items() if of == found[1])


def rewriter_identity(name: str) -> Any:
    """What the rewritings depend on besides the model of `--llm`: the rewriter's name, or a
    checkpoint's weights, which may lie in any folder."""
    found = _checkpoint(name)
    return name if found is None else open_trained(*found).identity


def open_rewriter(name: str, llm: LLM | None, workspace: Workspace | None = None) -> Rewriter:
    """The rewriter of that name; a trained one keeps its replies in the workspace's cache.

    Raises UsageError for an unknown one, or where its model lacks; ModelError for a checkpoint
    that is damaged or whose base model is not here.
    """
    check_rewriter(name)
    found = _checkpoint(name)
    if found is not None:
        model = open_trained(*found)
        llm = model if workspace is None else ChatModel(name, workspace, model)
        return stating(llm, model.manifest["with_question"], model.manifest["tokens"])
    made = REWRITERS[name]
    if made is None:
        return identity
    if llm is None:
        raise UsageError(f"the rewriter {name} asks a language model: name one with --llm")
    return made(llm)


def _checkpoint(name: str) -> tuple[Path, bool] | None:
    """Folder and whether its training counts; None for a name of `REWRITERS`."""
    kind, colon, folder = name.partition(":")
    if colon and kind in TRAINED and folder:
        return Path(folder).expanduser(), TRAINED[kind]
    bare = Path(name).expanduser()
    return (bare, True) if name not in REWRITERS and bare.is_dir() else None


def request_of(wanted: Wanted) -> Request:
    """The request for one rewriting: our words apart, the question's as data."""
    return Request(
        system=prompt("rewrite").text,
        user=asked_of(wanted),
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


def _stated(wanted: Wanted, reply: Reply, with_question: bool) -> Rewriting:
    spent = _spent([reply])
    if reply.failure is not None and reply.failure != "truncated":
        pending = reply.failure in NOT_ASKED_AGAIN
        return _as_it_is(wanted, failure=reply.failure, pending=pending, **spent)
    said = statement_of(reply.text)
    if not said:
        return _as_it_is(wanted, failure="empty", **spent)
    text = query_text(wanted.text, said, with_question)
    return Rewriting(text=text, dimensions=of_question(text), **spent)


def _spent(replies: Sequence[Reply]) -> dict[str, Any]:
    names = ("tokens_in", "tokens_out", "seconds")
    return {name: sum(getattr(reply, name) for reply in replies) for name in names}
