"""Our own word lists and the verb forms made from them: what the rules know about English."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

__all__ = [
    "base_verbs",
    "noun_like_verbs",
    "past_forms",
    "past_participles",
    "phrase_list",
    "third_person_form",
    "third_person_forms",
    "word_list",
]

VOWELS = "aeiou"
SIBILANT = re.compile(r"(?:s|x|z|ch|sh|o)$")
SHORT_VERB = 6  # longer ones end in an unstressed syllable more often than not
IRREGULAR_THIRD_PERSON = {"be": "is", "have": "has", "do": "does", "go": "goes"}


@cache
def word_list(name: str) -> frozenset[str]:
    """The words of `lexicon/NAME.txt`; a line that begins with "#" is a comment."""
    return frozenset(word for line in _lines(name) for word in line.split())


@cache
def phrase_list(name: str, suffix: str = ".txt") -> tuple[str, ...]:
    """The lines of `lexicon/NAME.txt` in order, without comments."""
    return tuple(_lines(name, suffix))


@cache
def base_verbs() -> frozenset[str]:
    """Base forms of all verbs that the rules can inflect."""
    return (
        word_list("verbs")
        | word_list("verb_or_noun")
        | frozenset(line.split()[0] for line in _lines("irregular"))
    )


@cache
def noun_like_verbs() -> frozenset[str]:
    """Base forms that are as often nouns."""
    return word_list("verb_or_noun")


@cache
def past_forms() -> frozenset[str]:
    """Simple past forms that differ from their base form ("read" and "put" are not among them)."""
    irregular = dict(line.split()[:2] for line in _lines("irregular"))
    forms = {irregular.get(base) or regular_past(base) for base in base_verbs()}
    return (frozenset(forms) | {"were"}) - base_verbs()


@cache
def past_participles() -> frozenset[str]:
    """Forms that follow "have": "been", "seen", "tried"."""
    irregular = {line.split()[0]: line.split()[2] for line in _lines("irregular")}
    return frozenset(irregular.get(base) or regular_past(base) for base in base_verbs()) | {"got"}


def regular_past(base: str) -> str:
    """The simple past: "try" -> "tried", "stop" -> "stopped", "bake" -> "baked"."""
    if base.endswith("e"):
        return base + "d"
    if base.endswith("y") and base[-2] not in VOWELS:
        return base[:-1] + "ied"
    doubles = (
        len(base) < SHORT_VERB
        and base[-1] not in "wxy" + VOWELS
        and base[-2] in VOWELS
        and base[-3:-2] not in tuple(VOWELS)
        and base not in word_list("undoubled")
    )
    return base + (base[-1] if doubles else "") + "ed"


def third_person_form(base: str) -> str:
    """The "-s" form: "go" -> "goes", "try" -> "tries", "love" -> "loves"."""
    if base in IRREGULAR_THIRD_PERSON:
        return IRREGULAR_THIRD_PERSON[base]
    if base.endswith("y") and base[-2] not in VOWELS:
        return base[:-1] + "ies"
    return base + ("es" if SIBILANT.search(base) else "s")


@cache
def third_person_forms() -> frozenset[str]:
    """The "-s" forms of all base verbs."""
    return frozenset(third_person_form(base) for base in base_verbs())


def _lines(name: str, suffix: str = ".txt") -> list[str]:
    path = files("workbench.memory").joinpath("lexicon", name + suffix)
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]
