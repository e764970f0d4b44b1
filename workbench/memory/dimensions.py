"""Retrieval dimensions of statements and questions by rule: tense, subjectivity, certainty.

Rules (ours), tuned on the development part of our own labelled sentences only:

- Tense is that of the earliest cue: the first verb form that shows one. What others said is timed
  by what was said, not by the saying. A perfect that goes on ("for years", "since") is present; a
  present form with a coming date is future.
- A statement is subjective where it names a feeling, taste, wish or evaluation, else objective.
- It is speculative where it hedges, hopes, considers, infers or depends on a condition.
- Where no verb is recognised nothing is claimed: all stays unknown, which matches nothing.
- A question has the dimensions of the memory sought; not knowing makes nothing speculative.
"""

from __future__ import annotations

import re
from functools import cache

from workbench.memory.periods import MONTHS
from workbench.memory.words import (
    base_verbs,
    past_forms,
    past_participles,
    phrase_list,
    third_person_forms,
)
from workbench.schema import Certainty, Dimensions, Subjectivity, Tense

__all__ = ["of_question", "of_statement"]

WORD = re.compile(r"[\w'-]+")
REPORTING = re.compile(
    r"^.{0,40}?\b(?:says?|said|told \w+|tells? \w+|according to [\w' ]+,|turns out|suspects?|"
    r"believes?)(?: that\b)?",
    re.IGNORECASE,
)
STILL_HOLDS = re.compile(
    r"\b(?:for (?:\w+ ){0,2}(?:years?|months?|weeks?|ages|days)|since|always|lately|been \w+ing)\b",
    re.IGNORECASE,
)
COMING = re.compile(
    r"\b(?:tomorrow|tonight|next \w+|upcoming|soon|due|this (?:weekend|summer|winter|evening)|"
    r"on (?:the \d+\w*|(?:sun|mon|tues|wednes|thurs|fri|satur)day)|for good|"
    rf"in (?:{'|'.join(MONTHS)}))\b",
    re.IGNORECASE,
)
BE = r"(?:(?:am|is|are|\b\w+'m|\b\w+'re|\b\w+'s) (?:\w+ )?)?"
# Each cue with its tense; the earliest match decides, and of two at one place the first listed.
# "may" is matched in small letters only: "May" is a month.
CUES: tuple[tuple[Tense, str], ...] = (
    ("past", r"\b(?:might|(?-i:may)|must|could|should|would|can't)(?: \w+ly)? (?:have|'ve)\b"),
    ("past", r"\b(?:had planned|was going to|were going to|used to|would [^.]* every|had)\b"),
    ("past", r"\bwish(?:es)? (?:\w+ ){1,2}had\b|\bremember when\b|\blast (?:night|week|month)\b"),
    ("future", r"\b(?:will|won't|shall)\b|'ll\b|\bi bet\b|\bthere's a chance\b|\bi hope\b"),
    ("future", BE + r"\b(?:going|about|planning|hoping|unlikely|likely|plans?|hopes?|wants?) to\b"),
    ("future", BE + r"\b(?:look(?:s|ing)? forward|consider(?:s|ing)|thinkin?g? (?:of|about))\b"),
    ("future", BE + r"\bworried that\b|\b(?:can't|cannot) wait\b"),
    ("future", r"(?:\bwould|'d) (?:love|like) to\b"),
    ("future", r"\b(?:might|(?-i:may)) (?:not )?(?!be\b|look\b|seem\b|have\b|feel\b|know\b)\w+\b"),
    ("future", r"\bno way i'm\b|\bnot sure i'll\b|" + BE + r"\bgetting married\b"),
    ("present", r"^if (?:\w+) (?:had|were|was)\b|(?:\bwould|'d) rather\b"),
    ("present", r"\b(?:am|is|are|isn't|aren't|might|(?-i:may)|can|can't|do|does|don't|doesn't)\b"),
    ("present", r"\b\w+'(?:m|re)\b|\b(?:have|has|'ve|\w+'ve|\w+'s) got\b"),
)
QUESTION_PAST = re.compile(
    r"\b(?:did|was|were|had|used to)\b|\b(?:might|may|could|must) have\b", re.IGNORECASE
)
QUESTION_FUTURE = re.compile(
    r"\b(?:will|going to|plans?|planning|looking forward|hopes?|hoping|want to (?:be|become|do)|"
    r"getting married|upcoming|next|considering|intend)\b|\bwho's \w+ing\b|'s \w+ing .* after\b",
    re.IGNORECASE,
)
QUESTION_HEDGE = re.compile(
    r"\b(?:might|may|possibly|likely|probably|potentially|hopes?|hoping|could|considering|perhaps)\b",
    re.IGNORECASE,
)
SAYS_NOTHING = re.compile(
    r"^(?:a+w+|oh|hi|hey|bye|good (?:morning|night|luck)|thanks?|same here|take care|congrats)\b",
    re.IGNORECASE,
)
SHORT = 6  # words up to which a greeting or thanks says nothing else
EMPTY_QUESTION = re.compile(
    r"^(?:and |so )?(?:what|how) about\b|^(?:really|why|how so)\W*$", re.IGNORECASE
)
PERFECT = re.compile(r"(?:\bhave|\bhas|'ve|n't|\bnever|\balready|\bever|'s)$", re.IGNORECASE)
ATTRIBUTE = re.compile(r"(?:\bam|\bis|\bare|\bbeing|'m|'re|'s|\bso|\bgets?)$", re.IGNORECASE)


def of_statement(text: str) -> Dimensions:
    """Dimensions of a statement, in the first or in the third person."""
    text = text.replace("\u2019", "'")
    tense = _tense(text)
    greets = SAYS_NOTHING.match(text) is not None and len(text.split()) <= SHORT
    if greets or (tense == "unknown" and not _has_verb(text)):
        return Dimensions()
    return Dimensions(tense=tense, subjectivity=_subjectivity(text), certainty=_certainty(text))


def of_question(text: str) -> Dimensions:
    """Dimensions of the memory that would answer a question."""
    text = text.replace("\u2019", "'").strip()
    if EMPTY_QUESTION.search(text):
        return Dimensions()
    tense: Tense = "present"
    if _asks_for_past(text) and not STILL_HOLDS.search(text):
        tense = "past"
    elif QUESTION_FUTURE.search(text):
        tense = "future"
    return Dimensions(
        tense=tense,
        subjectivity=_subjectivity(text),
        certainty="speculative" if QUESTION_HEDGE.search(text) else "certain",
    )


def _asks_for_past(text: str) -> bool:
    """Whether a question has a past auxiliary, or "has" with a participle."""
    _, perfect, rest = re.split(r"\b(ha(?:s|ve))\b", text + " have ", maxsplit=1, flags=re.I)
    participle = any(word in past_participles() for word in WORD.findall(rest.lower()))
    return QUESTION_PAST.search(text) is not None or (bool(perfect) and participle)


def _tense(text: str) -> Tense:
    reported = REPORTING.sub("", text, count=1)
    clause = reported if _has_verb(reported) else text
    found = _earliest_cue(clause)
    if found == "past" and _is_perfect_that_holds(clause):
        return "present"
    if found in ("present", "unknown") and _has_verb(clause):
        return "future" if COMING.search(clause) else "present"
    return found


def _earliest_cue(clause: str) -> Tense:
    """The tense of the first verb form that shows one; a bare present form shows none."""
    places: list[tuple[int, int, Tense]] = []
    for rank, (tense, pattern) in enumerate(CUES):
        match = re.search(pattern, clause, re.IGNORECASE)
        if match:
            places.append((match.start(), rank, tense))
    past = _first_past(clause)
    if past is not None:
        places.append((past, len(CUES), "past"))
    return min(places)[2] if places else "unknown"


def _first_past(clause: str) -> int | None:
    """Where a simple past form stands, or a perfect's participle behind its auxiliary."""
    before = ""
    for match in WORD.finditer(clause):
        word = match.group().lower()
        same_form = word in past_participles() and word in base_verbs()  # "quit", "put"
        if word in past_forms():
            if word in ("was", "were") or not ATTRIBUTE.search(before):
                return match.start()
        elif word in past_participles() and (
            PERFECT.search(before) or (same_form and before[:1].isupper() and before != "I")
        ):
            return match.start()
        before = match.group()
    return None


def _is_perfect_that_holds(clause: str) -> bool:
    perfect = re.search(r"(?:\bhave|\bhas|'ve|'s) (\w+)(?: (\w+))?", clause, re.IGNORECASE)
    words = [word.lower() for word in perfect.groups() if word] if perfect else []
    return any(word in past_participles() for word in words) and bool(STILL_HOLDS.search(clause))


def _has_verb(text: str) -> bool:
    words = {word.lower() for word in WORD.findall(text)}
    forms = (past_forms(), base_verbs(), third_person_forms(), {"is", "are", "am"})
    contracted = re.search(r"'(?:m|s|re|ll|ve|d)\b|n't\b", text)
    return contracted is not None or any(words & known for known in forms)


def _subjectivity(text: str) -> Subjectivity:
    return "subjective" if _subjective().search(text) else "objective"


def _certainty(text: str) -> Certainty:
    return "speculative" if _speculative().search(text) else "certain"


@cache
def _subjective() -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(phrase_list('subjective'))})\b", re.IGNORECASE)


@cache
def _speculative() -> re.Pattern[str]:
    """Hedges, wishes, conditions, and "may" that concedes nothing ("I may look calm but ...")."""
    return re.compile(
        rf"\b(?:{'|'.join(phrase_list('hedges'))})\b"
        r"|(?:\bwould|'d) (?:love|like) to\b|\b(?-i:may) (?!.*\bbut\b)"
        r"|\bif (?:\w+ )?(?:i|he|she|they|we|the|my|\w+)(?:'d|\b) ",
        re.IGNORECASE,
    )
