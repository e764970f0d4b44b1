"""Whether a sentence speaks of the past or of the future, by its verbs."""

from __future__ import annotations

import re

from workbench.memory.words import past_forms

__all__ = ["is_future", "is_past"]

WORD = re.compile(r"[A-Za-zé]+")
FUTURE = re.compile(
    r"\bwill\b(?! have)|['\u2019]ll\b|\bwon['\u2019]t\b|\bshall\b|\bgonna\b|\bupcoming\b"
    r"|\b(?:going|about|planning|hoping|aiming|due|set|plans?|hopes?|intends?) to\b"
    r"|\b(?:can['\u2019]t|cannot) wait\b|\blook(?:s|ing)? forward\b|\bthinking (?:about|of)\b"
    r"|(?:['\u2019]m|['\u2019]re|\b(?:am|is|are)) (?:not |also |finally |still |just )?[a-z]+ing\b",
    re.IGNORECASE,
)
# "was planning to" and "were going to" tell of a past intention, not of the future.
PAST_INTENTION = re.compile(r"\b(?:was|were) \w+ing\b", re.IGNORECASE)


def is_past(text: str) -> bool:
    """Whether a simple past form, or an elided one that begins the sentence, occurs in it."""
    return any(word.lower() in past_forms() for word in WORD.findall(text))


def is_future(text: str) -> bool:
    """Whether it names a coming event: will, going to, plans, the present progressive."""
    return bool(FUTURE.search(PAST_INTENTION.sub("", text)))
