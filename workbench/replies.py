"""Structured replies of language models: an answer of the asked form, or a failure with a class.

A reply that cannot be read never counts as an empty answer, and neither does a call that failed.
(`quoted` and `prompt`, which make the requests, are `workbench.prompting`'s.)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

import msgspec
from msgspec.structs import asdict

from workbench.errors import ModelError, UsageError
from workbench.llm import LLM, CallFailure, Reply, Request
from workbench.prompting import Prompt, grading_language, prompt, quoted
from workbench.reply_json import Found, objects_in
from workbench.schema import Record

if TYPE_CHECKING:
    from pydantic import BaseModel

__all__ = [
    "Exchange",
    "FailureKind",
    "Prompt",
    "ReplyFailure",
    "ask_recorded",
    "ask_structured",
    "grading_language",
    "parse_reply",
    "prompt",
    "quoted",
]

FailureKind = CallFailure | Literal["wrong schema"]
S = TypeVar("S", bound="BaseModel")

# The client repeats calls that did not get through; asking in other words would not help them.
NOT_ASKED_AGAIN = ("rate-limited", "timeout", "network")
REMINDERS = {
    "truncated": "Your last reply was cut off. Answer more briefly, with one whole JSON object.",
    "wrong schema": "Your last reply had other fields than those asked for, or wrong values in "
    "them. Answer with exactly the JSON object described above.",
}
REMINDER = "Your last reply could not be read. Answer with the JSON object alone, and no other text"

REFUSAL = re.compile(
    r"\W*(?:(?:i'?m|i am) (?:very |so |really )?(?:sorry|afraid|unable|not able)|sorry\b|apologies"
    r"|i (?:can'?t|cannot|can not|won'?t|will not|must decline)|unfortunately,? i|as an ai\b)",
    re.IGNORECASE,
)


class ReplyFailure(Record, frozen=True, kw_only=True):
    """A reply that is no answer: its class, what was wrong, the reply as it came, and how often was
    asked. `detail` names fields and kinds of error, never values."""

    kind: FailureKind
    detail: str = ""
    raw: str = ""
    tries: int = 1


class Exchange(NamedTuple):
    """A request, every reply to it in turn (for the audit), and what came of it."""

    request: Request
    replies: tuple[Reply, ...]
    outcome: BaseModel | ReplyFailure

    @property
    def record(self) -> dict[str, Any]:
        """JSON: what was asked, what came back word for word, and the answer or its failure."""
        told: dict[str, Any] = {
            "request": asdict(self.request),
            "replies": [asdict(reply) for reply in self.replies],
        }
        if isinstance(self.outcome, ReplyFailure):
            return told | {"answer": None, "failure": self.outcome.kind}
        return told | {"answer": self.outcome.model_dump(mode="json"), "failure": None}


def parse_reply(text: str, schema: type[S], data: str = "") -> S | ReplyFailure:
    """What a reply says, as `schema`, or why it says nothing that counts.

    The last object of the reply's own text is the answer. Objects that stand in `data` (what the
    model was given) are quotes: they count only where the reply has no other. An object without any
    of the schema's fields is of the wrong schema, even where all have defaults.
    """
    found = objects_in(text)
    visible = text[found.begin :].strip()
    kind, detail = _unreadable(found, visible)
    if kind is not None:
        return ReplyFailure(kind=kind, detail=detail, raw=text)
    answer = _own(found, data)
    fields = schema.model_fields
    known = set(fields) | {field.alias for field in fields.values() if field.alias}
    if fields and not known & answer.keys():
        detail = f"none of the fields {', '.join(sorted(known))}"
        return ReplyFailure(kind="wrong schema", detail=detail, raw=text)
    from pydantic import ValidationError

    try:
        return schema.model_validate(answer)
    except ValidationError as error:
        return ReplyFailure(kind="wrong schema", detail=_faults(error), raw=text)


def _unreadable(found: Found, visible: str) -> tuple[FailureKind | None, str]:
    """The class of a reply without an object to validate, and what is wrong; None where it has."""
    refused = REFUSAL.match(visible.replace("’", "'")) is not None
    reasons: list[tuple[bool, FailureKind, str]] = [
        (found.cut, "truncated", "a thought or a JSON object is not closed"),
        (found.broken, "invalid", "the last object is no JSON"),
        (not visible, "empty", ""),
        (not found.objects and found.other, "wrong schema", "a list"),
        (not found.objects and refused, "refusal", ""),
        (not found.objects, "invalid", "no JSON"),
    ]
    return next(((kind, detail) for holds, kind, detail in reasons if holds), (None, ""))


def ask_structured(
    llm: LLM, requests: Sequence[Request], schema: type[S], tries: int = 2
) -> list[S | ReplyFailure]:
    """One answer or failure for each request; see `ask_recorded`."""
    return [one.outcome for one in ask_recorded(llm, requests, schema, tries)]  # type: ignore[misc]


def ask_recorded(
    llm: LLM, requests: Sequence[Request], schema: type[S], tries: int = 2
) -> list[Exchange]:
    """Ask, and ask again what could not be read: at most `tries` times in all.

    Asking again says what was wrong in fixed words, takes another seed, and allows twice the length
    after a reply that was cut off. Raises ModelError where the model does not give one reply a
    request, UsageError for fewer than one try.
    """
    if tries < 1:
        raise UsageError(f"a request is made at least once, not {tries} times")
    replies: list[tuple[Reply, ...]] = [()] * len(requests)
    outcomes: list[Any] = [None] * len(requests)
    pending = list(range(len(requests)))
    for attempt in range(tries):
        if not pending:
            break
        asked = [_again(requests[row], outcomes[row], attempt) for row in pending]
        for row, reply in zip(pending, _complete(llm, asked), strict=True):
            replies[row] = (*replies[row], reply)
            outcomes[row] = _outcome(reply, schema, requests[row].user, attempt + 1)
        pending = [row for row in pending if _worth_asking(outcomes[row])]
    return [Exchange(*one) for one in zip(requests, replies, outcomes, strict=True)]


def _complete(llm: LLM, requests: list[Request]) -> list[Reply]:
    given = llm.complete(requests)
    if len(given) != len(requests):
        raise ModelError(f"the model gave {len(given)} replies to {len(requests)} requests")
    return given


def _again(request: Request, failure: ReplyFailure | None, attempt: int) -> Request:
    if failure is None:
        return request
    return msgspec.structs.replace(
        request,
        user=f"{request.user}\n\n{REMINDERS.get(failure.kind, REMINDER)}",
        seed=request.seed + attempt,
        max_tokens=request.max_tokens * (2 if failure.kind == "truncated" else 1),
    )


def _outcome(reply: Reply, schema: type[S], data: str, tries: int) -> S | ReplyFailure:
    """A reply that reached its length limit still counts where its answer was whole by then."""
    if reply.failure is not None and reply.failure != "truncated":
        return ReplyFailure(kind=reply.failure, raw=reply.text, tries=tries)
    read = parse_reply(reply.text, schema, data)
    if not isinstance(read, ReplyFailure):
        return read
    kind = reply.failure or read.kind
    return msgspec.structs.replace(read, kind=kind, tries=tries)


def _worth_asking(outcome: BaseModel | ReplyFailure) -> bool:
    return isinstance(outcome, ReplyFailure) and outcome.kind not in NOT_ASKED_AGAIN


def _own(found: Found, data: str) -> dict[str, Any]:
    """The last object that is no quote from the data, its white space aside."""
    given = "".join(data.split())
    own = [
        value
        for value, source in zip(found.objects, found.sources, strict=True)
        if "".join(source.split()) not in given
    ]
    return (own or found.objects)[-1]


def _faults(error: Any) -> str:
    told = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['type']}" for one in told[:5])
