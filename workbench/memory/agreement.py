"""Verbs that follow "I", made to agree with a name: "I love" -> "Ana loves"."""

from __future__ import annotations

import re

from workbench.memory.tenses import is_past
from workbench.memory.words import (
    base_verbs,
    noun_like_verbs,
    past_forms,
    past_participles,
    third_person_form,
    word_list,
)

__all__ = ["agreeing_clause"]

NEXT_WORD = re.compile(r"\s([\w']+)")
SINGULAR = {"am": "is", "have": "has", "do": "does", "don't": "doesn't", "haven't": "hasn't"}
PLURAL = {"am": "are", "was": "were", "wasn't": "weren't"}
SAME_IN_THE_PAST = frozenset(
    ("read", "put", "set", "cut", "hit", "let", "hurt", "quit", "spread", "shut", "cost")
)
HABIT = re.compile(r"\b(?:always|usually|often|sometimes|every|never|daily|each)\b", re.IGNORECASE)
LAST_TIME = re.compile(r"\b(?:before|ago|on \w+ ?\d|in \d{4}|last|once|first)\b", re.IGNORECASE)
# After these a base form stays one: modals and do-support; causatives and perception may, or not.
MODAL = re.compile(
    r"\b(?:can|could|will|would|should|might|may|must|do|does|did|cannot)\b|n't\b|'ll\b|'d\b",
    re.IGNORECASE,
)
CAUSATIVE = re.compile(r"\b(?:let|lets|makes?|made|helps?|helped|watch|watched|see|saw)\b", re.I)
CAUSES = frozenset(("let", "make", "made", "help", "helped"))
NEW_CLAUSE = re.compile(r"[.;:\u2013]|\s-\s|\b(?:that|who|which|when|while|if|because|where|how)\b")
JOINED_VERB = re.compile(
    r"(?P<lead>\b(?:and|but|or|then) "
    r"(?:(?:also|then|just|never|always|often|sometimes|still|even|\w+ly) )*)(?P<verb>[a-z]+)"
)
VERBAL = re.compile(r"^ (?:a|an|the|my|it|them|him|her|to|how|for|on|in|at|with|some|being|when)\b")


def agreeing_clause(short: str, after: str, singular: bool) -> str | None:
    """What follows a subject that stood as "I" or "we", its verbs agreeing with the new subject.

    `short` is the contraction ("'m"), `after` the text behind it, `singular` whether the new
    subject takes "-s". None where the verb is not known.
    """
    if short:
        rest = _joined(after, singular) if short in ("'m", "'ve") else after
        return None if rest is None else _spelt_out(short, after, singular) + rest
    match = _first_verb(after)
    if match is None:
        return None
    verb = _agreeing(match[1].lower(), after, singular)
    if verb is None:
        return None
    rest = after[match.end() :]
    if singular and match[1].lower() in CAUSES and _joined(rest, singular) != rest:
        return None  # "I help kids learn and grow" or "I make cakes and sell them"
    agreed = rest if MODAL.search(match[1]) else _joined(rest, singular)
    return None if agreed is None else f"{after[: match.start()]} {verb}{agreed}"


def _first_verb(after: str) -> re.Match[str] | None:
    """The verb behind a subject, past adverbs; None where anything else comes first."""
    place = 0
    while match := NEXT_WORD.match(after, place):
        if _is_verb(match[1]):
            return match
        if not _is_adverb(match[1].lower()):
            return None
        place = match.end()
    return None


def _spelt_out(short: str, after: str, singular: bool) -> str:
    if short in ("'m", "'re"):
        return " is" if singular else " are"
    if short == "'ve":
        return " has" if singular else " have"
    if short == "'ll":
        return " will"
    words = [word for word in after.split() if not _is_adverb(word.lower())]
    perfect = bool(words) and re.sub(r"\W", "", words[0].lower()) in past_participles() | {"better"}
    # "I'd come" would be read as "had come" where the base form and the participle are one.
    plain = bool(words) and words[0].lower() in base_verbs()
    return " had" if perfect and not plain else " would"


def _agreeing(verb: str, clause: str, singular: bool) -> str | None:
    if not singular:
        return PLURAL.get(verb, verb)
    if verb in SINGULAR:
        return SINGULAR[verb]
    if verb in word_list("unchanged") or verb in past_forms():
        return verb
    if verb in SAME_IN_THE_PAST and not HABIT.search(clause):
        return verb if is_past(clause) or LAST_TIME.search(clause) else None
    return third_person_form(verb)


def _joined(rest: str, singular: bool) -> str | None:
    """The rest of a clause, with base forms joined by "and" made to agree as well.

    None where a joined word may be a verb or a noun ("and lift weights", "and dance classes").
    """
    if not singular:
        return rest
    end = NEW_CLAUSE.search(rest)
    clause = rest[: end.start()] if end else rest
    for match in reversed(list(JOINED_VERB.finditer(clause))):
        word, after = match["verb"], clause[match.end() :]
        if word not in base_verbs() or _takes_base(clause[: match.start()]):
            continue
        if word in noun_like_verbs() and not VERBAL.match(after):
            if re.match(r" [a-z]", after):
                return None
            continue
        clause = clause[: match.start("verb")] + third_person_form(word) + after
    return clause + rest[end.start() :] if end else clause


def _takes_base(between: str) -> bool:
    infinitive = any(word in base_verbs() for word in re.findall(r"\bto (\w+)", between))
    governed = MODAL.search(between) or CAUSATIVE.search(between)
    return infinitive or governed is not None


def _is_verb(word: str) -> bool:
    word = word.lower()
    forms = (SINGULAR, word_list("unchanged"), past_forms(), base_verbs())
    return any(word in known for known in forms) and word not in word_list("adverbs")


def _is_adverb(word: str) -> bool:
    return word in word_list("adverbs") or (word.endswith("ly") and word not in base_verbs())
