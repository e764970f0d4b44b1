"""Rewrites of a question by rule: four wordings, three speakers, with or without the question.

They stand in for a language model where there is none: as candidates of a landscape, and as the
actions of the toy policy. A rule sees the question's words and whose it is, and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from workbench.spans import is_light
from workbench.statement import Wanted

__all__ = ["RULES", "Rule", "by_rule"]

WORD = re.compile(r"\w+(?:['\u2019-]\w+)*")
ASKING = re.compile(
    r"^(?:(?:in|on|at|to|from|with|for|by) )?(?:what|which|whose|who|whom|when|where|why"
    r"|how(?: (?:many|much|long|often|old))?)\b(?: (?:kind|kinds|type|types|sort) of)?\s*",
    re.IGNORECASE,
)
AUXILIARY = re.compile(
    r"^(?:did|do|does|is|are|am|was|were|has|have|had|can|could|would|will|should|might|may)\b\s*",
    re.IGNORECASE,
)
FIRST_PERSON = re.compile(r"\b(?:I|me|my|mine|myself)\b")


class Rule(NamedTuple):
    """One way to rewrite, in words that a table can show."""

    wording: str
    speaker: str
    extent: str

    @property
    def name(self) -> str:
        """ "key words, as the person says it, alone"."""
        return f"{self.wording}, {self.speaker}, {self.extent}"


def as_asked(text: str) -> str:
    """The question without its question mark."""
    return text.strip().rstrip("?").strip()


def statement(text: str) -> str:
    """Without the words that ask: "What am I training for?" gives "I training for"."""
    return AUXILIARY.sub("", ASKING.sub("", as_asked(text))) or as_asked(text)


def key_words(text: str) -> str:
    """Its content words alone."""
    kept = [word for word in WORD.findall(text) if not is_light(word)]
    return " ".join(kept) or as_asked(text)


def last_words(text: str) -> str:
    """The last three of its words: mostly too little."""
    return " ".join(WORD.findall(text)[-3:]) or as_asked(text)


def nobody(text: str, people: tuple[str, ...]) -> str:
    """As it stands."""
    return text


def named(text: str, people: tuple[str, ...]) -> str:
    """With the person's name in place of "I", and in front where it stands nowhere."""
    if not people:
        return text
    told = FIRST_PERSON.sub(people[0], text)
    return told if people[0].casefold() in told.casefold() else f"{people[0]} {told}"


def speaking(text: str, people: tuple[str, ...]) -> str:
    """As the person would say it: "Ana: I training for", with "I" in place of the name."""
    if not people:
        return text
    own = re.sub(rf"\b{re.escape(people[0])}(?:['\u2019]s)?\b", "I", text)
    return f"{people[0]}: {own}"


WORDINGS: dict[str, Callable[[str], str]] = {
    "as asked": as_asked,
    "statement": statement,
    "key words": key_words,
    "last words": last_words,
}
SPEAKERS: dict[str, Callable[[str, tuple[str, ...]], str]] = {
    "by nobody": nobody,
    "naming the person": named,
    "said by the person": speaking,
}
EXTENTS = {"alone": False, "behind the question": True}

RULES: tuple[Rule, ...] = tuple(
    Rule(wording, speaker, extent)
    for extent in EXTENTS
    for speaker in SPEAKERS
    for wording in WORDINGS
)


def by_rule(wanted: Wanted, rule: Rule) -> str:
    """What a rule makes of a question; never blank unless the question is."""
    made = SPEAKERS[rule.speaker](WORDINGS[rule.wording](wanted.text), wanted.people)
    return f"{wanted.text.strip()} {made}" if EXTENTS[rule.extent] else made
