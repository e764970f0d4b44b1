"""The statement that a rewriter makes of a question: how it is asked for, and how it is read.

A small model that is trained answers with one plain line, which costs it fewer tokens than JSON
would and leaves nothing to learn but the words that are searched with.
"""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from workbench.llm import Request
from workbench.prompting import prompt, quoted

__all__ = [
    "LONGEST",
    "STATEMENT",
    "STATEMENT_TOKENS",
    "Wanted",
    "asked_of",
    "query_text",
    "statement_of",
    "statement_request",
]

LONGEST = 400  # characters of a query; more is no query
# The prompt that asks for a statement alone, and the tokens of its reply.
STATEMENT, STATEMENT_TOKENS = "rewrite_statement", 48


class Wanted(NamedTuple):
    """A question as a rewriter sees it; `today` is its day, None where nobody knows."""

    text: str
    people: tuple[str, ...] = ()
    today: datetime | None = None


def asked_of(wanted: Wanted) -> str:
    """What is told of a question, as delimited data."""
    parts = [quoted(wanted.text, "question")]
    if wanted.people:
        parts.append(quoted(", ".join(wanted.people), "person"))
    if wanted.today is not None:
        parts.append(quoted(wanted.today.strftime("%d %B %Y").lstrip("0"), "today"))
    return "\n\n".join(parts)


def statement_request(wanted: Wanted, tokens: int = STATEMENT_TOKENS) -> Request:
    """The request for one statement of at most so many tokens, at temperature 0; training samples
    with the same words."""
    return Request(
        system=prompt(STATEMENT).text, user=asked_of(wanted), max_tokens=tokens, cut_counts=True
    )


def statement_of(reply: str) -> str:
    """The statement in a reply: its first line with a letter or digit, without surrounding quotes,
    as one run of words; "" where there is none.

    >>> statement_of(' "Ana plays  the piano." ')
    'Ana plays the piano.'
    """
    lines = (" ".join(line.split()) for line in reply.splitlines())
    said = next((line for line in lines if any(c.isalnum() for c in line)), "")
    return said.strip("\"'“”«» ")[:LONGEST]


def query_text(question: str, statement: str, with_question: bool) -> str:
    """What is searched with: the statement, or the question and then the statement; nothing where
    there is no statement."""
    said = statement.strip()
    return f"{question.strip()} {said}" if said and with_question else said
