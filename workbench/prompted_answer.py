"""Answers by a language model, from what `contexts` gives it to read.

The reply is plain text: a short answer, or the fixed words of an abstention. A call that failed, a
reply that was cut off, holds nothing or refuses is a failure with its class, never an answer; it is
asked once more in the same run, and again by the next.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from workbench.contexts import Section, tokens_of
from workbench.errors import ModelError
from workbench.llm import LLM, Reply, Request
from workbench.prompting import prompt, quoted
from workbench.replies import REFUSAL
from workbench.reply_json import objects_in
from workbench.schema import Memory, Record

__all__ = ["ABSTENTION", "Reading", "Said", "answer_all", "fits", "request_of"]

ABSTENTION = "No information available"
REPLY_TOKENS = 64
TRIES = 2
BRIEFLY = "Your last reply was no short answer. Give the answer alone, in at most ten words."

# "Sorry, there is no information about that" declines for want of memories; "I can't help with
# that" refuses. Only the beginning of a reply counts: an answer may hold any of these words.
ABSTAINS = re.compile(
    r"\W*(?:(?:i'?m |i am )?(?:sorry|afraid|unfortunately)\W+(?:but\W+)?)?"
    r"(?:(?:there(?:'s| is| was)|i have|the \w+ (?:hold|contain|provide|have)s?)\s+)?"
    r"(?:no (?:\w+ )?information\b|not (?:mentioned|stated|specified|provided|known)\b"
    r"|unknown\W*$|i (?:don'?t|do not) (?:know|have)\b|(?:it )?cannot be (?:determined|known)\b)",
    re.IGNORECASE,
)
LEAD = re.compile(r"^(?:the )?(?:short )?answer\s*(?:is\s*:?|:)\s*", re.IGNORECASE)
BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")
AROUND = " \t\n\"'`*“”"


class Reading(NamedTuple):
    """A question as the answer model sees it: nothing of its gold. `today` is None where neither
    the question nor its dialogue has a day."""

    question: str
    people: tuple[str, ...]
    today: datetime | None
    sections: tuple[Section, ...]


class Said(Record, frozen=True, kw_only=True):
    """What a model answered, or the class of its failure. Tokens and seconds are of all tries."""

    text: str = ""
    abstained: bool = False
    failure: str | None = None
    detail: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0


def answer_all(llm: LLM, readings: Sequence[Reading]) -> list[Said]:
    """One answer or failure for each, in order; asked together, so that a model can batch them.

    Raises ModelError where the model does not give one reply a request.
    """
    requests = [request_of(reading) for reading in readings]
    said = [Said()] * len(requests)
    pending = list(range(len(requests)))
    for attempt in range(TRIES):
        if not pending:
            break
        asked = [requests[row] if attempt == 0 else _again(requests[row]) for row in pending]
        replies = llm.complete(asked)
        if len(replies) != len(asked):
            raise ModelError(f"the model gave {len(replies)} replies to {len(asked)} requests")
        for row, reply in zip(pending, replies, strict=True):
            said[row] = _with_spent(read_reply(reply), said[row], reply)
        pending = [row for row in pending if _worth_asking(said[row])]
    return said


def request_of(reading: Reading) -> Request:
    """The request for one answer: our words in `system`, everything else as data."""
    parts = [quoted(_lines(section), section.label) for section in reading.sections]
    if reading.today is not None:
        parts.append(quoted(day(reading.today), "today"))
    if reading.people:
        parts.append(quoted(", ".join(reading.people), "about"))
    parts.append(quoted(reading.question, "question"))
    return Request(system=prompt("answer").text, user="\n\n".join(parts), max_tokens=REPLY_TOKENS)


def fits(reading: Reading, window: int | None) -> bool:
    """Whether a request and its reply fit a window of so many tokens, by `contexts.tokens_of`; any
    fits where the window is not known."""
    if window is None:
        return True
    request = request_of(reading)
    return tokens_of([request.system, request.user]) + 2 * REPLY_TOKENS <= window


def read_reply(reply: Reply) -> Said:
    """What a reply says, past thoughts, a leading "Answer:", bullets and quotation marks.

    Only the first paragraph counts; one that is whole counts although the rest was cut off.
    """
    if reply.failure is not None and reply.failure != "truncated":
        return Said(failure=reply.failure, detail=reply.detail)
    found = objects_in(reply.text)
    visible = reply.text[found.begin :].strip()
    paragraph, parted, _ = re.sub(r"\n\s*\n", "\n\n", visible).partition("\n\n")
    if reply.failure == "truncated" and not parted:
        return Said(failure="truncated", detail=reply.detail)
    lines = [BULLET.sub("", line).strip() for line in paragraph.splitlines() if line.strip()]
    listed = all(BULLET.match(line) for line in paragraph.splitlines() if line.strip())
    text = LEAD.sub("", (", " if listed else " ").join(lines).strip(AROUND)).strip(AROUND)
    if not any(character.isalnum() for character in text):
        return Said(failure="empty")
    plain = text.replace("’", "'")
    if ABSTAINS.match(plain):
        return Said(text=ABSTENTION, abstained=True)
    if REFUSAL.match(plain):
        return Said(failure="refusal")
    return Said(text=text.removesuffix(".") if text.count(".") == 1 else text)


def day(time: datetime) -> str:
    """A day as the prompt writes it: "7 May 2023"."""
    return f"{time.day} {time:%B %Y}"


def _lines(section: Section) -> str:
    return "\n".join(_line(memory, section.dated) for memory in section.memories)


def _line(memory: Memory, dated: bool) -> str:
    text = " ".join(memory.text.split())
    return f"- [{day(memory.time)}] {text}" if dated and memory.time else f"- {text}"


def _again(request: Request) -> Request:
    return msgspec.structs.replace(
        request,
        user=f"{request.user}\n\n{BRIEFLY}",
        max_tokens=2 * request.max_tokens,
        seed=request.seed + 1,
    )


def _worth_asking(said: Said) -> bool:
    """Asking in other words does not help a call that did not get through, or is too long."""
    return said.failure in ("truncated", "empty", "refusal")


def _with_spent(now: Said, before: Said, reply: Reply) -> Said:
    return msgspec.structs.replace(
        now,
        tokens_in=before.tokens_in + reply.tokens_in,
        tokens_out=before.tokens_out + reply.tokens_out,
        seconds=before.seconds + reply.seconds,
    )
