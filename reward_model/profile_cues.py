"""Signs that a text names a person, an employer, a school or a way to reach somebody.

Rules for English wording, without any model: they flag what its author should look at again, and
help de-identification. A bare name without such a sign is not found; names that the participant
lists are found by `reward_model.placeholders`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

__all__ = ["Cue", "CueKind", "cues"]

CueKind = Literal["person", "employer", "school", "contact", "account"]

# Up to five words after a sign; those that begin with a capital are the name.
WORDS = r"(?P<name>[^\W\d_][\w'’.-]*(?:[ ](?:&|[^\W_][\w'’.-]*)){0,4})"
JOIN = frozenset(("of", "the", "and", "&", "de", "da", "di", "del", "van", "von", "for"))
RELATION = (
    r"wife|husband|partner|spouse|girlfriend|boyfriend|fianc(?:é|e|ée|ee)|mother|father|mum|mom|dad|"
    r"sister|brother|son|daughter|aunt|uncle|cousin|niece|nephew|grandmother|grandfather|friend|"
    r"colleague|coworker|co-worker|boss|manager|supervisor|mentor|teacher|professor|therapist|"
    r"doctor|neighbou?r|roommate|flatmate|landlord|client|child|baby|dog|cat"
)
WORKS = (
    r"works?|worked|working|employed|interns?|interned|internship|employee|job|position|role|"
    r"contracts?|consults?|freelances?|engineer|developer|manager|analyst|designer|teacher|nurse|"
    r"accountant|researcher|lawyer|assistant|director|consultant"
)
STUDIES = r"stud(?:y|ies|ied|ying)|enrolled|graduat(?:ed?|es)|degree|attends?|attended|student|alum"
APART, ENDED = r"(?<![\w.,/:-])", r"(?![\w:]|[.,-]\d)"
SCHOOLS = r"University|College|Institute|School|Academy|Universität|Université|Universidad"
COMPANY = r"Inc|Ltd|LLC|GmbH|Corp|Corporation|PLC|Plc|Pty|Group|Holdings|Bank|Hospital|Clinic|Labs"

AFTER_SIGN: tuple[tuple[CueKind, re.Pattern[str]], ...] = (
    ("person", re.compile(rf"\b(?:Dr|Mr|Mrs|Ms|Miss|Prof|Professor|Sir)\.? {WORDS}")),
    ("person", re.compile(rf"\b(?i:{RELATION})(?:(?i:, | is| named| called|:))* {WORDS}")),
    (
        "person",
        re.compile(rf"\b(?i:name(?:d| is|'s)|surname is|goes by|calls? (?:her|him)) {WORDS}"),
    ),
    ("employer", re.compile(rf"\b(?i:{WORKS})(?: \w+)?? (?i:at|for|by) (?:the )?{WORDS}")),
    ("school", re.compile(rf"\b(?i:{STUDIES})(?: \w+)?? (?i:at|from) (?:the )?{WORDS}")),
)
ITSELF: tuple[tuple[CueKind, re.Pattern[str]], ...] = (
    ("school", re.compile(rf"\b(?:{SCHOOLS}) of (?P<name>[^\W\d_]\w+(?: [^\W\d_]\w+){{0,2}})")),
    ("contact", re.compile(r"(?<![\w.])[\w.!#$%&'*+/=?^`{|}~-]+@\w[\w-]*(?:\.\w[\w-]*)+")),
    ("contact", re.compile(r"\bhttps?://[^\s<>\"')\]]+|\bwww\.[^\s<>\"')\]]+", re.IGNORECASE)),
    ("contact", re.compile(r"\b[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|edu|gov|io|co\.uk)\b(?:/\S*)?")),
    # Telephone numbers: a plus, a bracket or a zero in front, or in groups of 3, 3 and 4.
    (
        "contact",
        re.compile(rf"{APART}(?:\+|\(\d|0\d)\d?(?:[ ()./-]{{0,2}}\d){{6,14}}(?![\w:])"),
    ),
    (
        "contact",
        re.compile(rf"{APART}(?:\d{{3}}[ .-]){{1,2}}\d{{3}}[ .-]?\d{{3,4}}{ENDED}"),
    ),
    ("contact", re.compile(rf"{APART}\d{{3}}[.-]\d{{4}}{ENDED}")),
    ("account", re.compile(r"(?<![\w@.])@[A-Za-z_][\w.]{1,29}(?!\w)(?!\.\w)")),
)
BEFORE_SIGN: tuple[tuple[CueKind, re.Pattern[str]], ...] = (
    ("school", re.compile(rf"\b(?:{SCHOOLS})\b(?! of [A-Z])")),
    ("employer", re.compile(rf"\b(?:{COMPANY})\b\.?")),
)
LEADING = re.compile(r"((?:[^\W\d_][\w'’&.-]* ){1,4})$")
DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./-]\d{1,2}[./-]\d{2,4}")
NOT_NAMES = frozenset(
    (
        *("I", "I'm", "I've", "I'd", "The", "A", "An", "He", "She", "They", "We", "You", "It"),
        *("His", "Her", "Their", "My", "Our", "Your", "This", "That", "English", "Unknown"),
        *("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
        *("January", "February", "March", "April", "May", "June", "July", "August"),
        *("September", "October", "November", "December", "Inferred"),
    )
)


class Cue(NamedTuple):
    """A piece `text[start:end]` that may identify somebody, and what it may be."""

    kind: CueKind
    start: int
    end: int


def cues(text: str) -> list[Cue]:
    """What a text may give away, in reading order; of cues inside one another the longest."""
    kept: list[Cue] = []
    for cue in sorted(set(_found(text)), key=lambda one: (one.start, -one.end, one.kind)):
        if not kept or cue.end > kept[-1].end:
            kept.append(cue)
    return kept


def _found(text: str) -> Iterator[Cue]:
    for kind, pattern in AFTER_SIGN:
        for match in pattern.finditer(text):
            end = match.start("name") + _named(match["name"])
            if end > match.start("name"):
                yield Cue(kind, match.start("name"), end)
    for kind, pattern in ITSELF:
        for match in pattern.finditer(text):
            if pattern.groups:
                length = _named(match["name"])
                if length:
                    yield Cue(kind, match.start(), match.start("name") + length)
            elif not DATE.fullmatch(match.group()):
                yield Cue(kind, *match.span())
    for kind, pattern in BEFORE_SIGN:
        for match in pattern.finditer(text):
            start = _begins(text, match.start())
            if start < match.start():
                yield Cue(kind, start, match.end())


def _named(words: str) -> int:
    """Length of the capitalised beginning of some words; 0 where it is no name."""
    length = kept = 0
    for word in words.split(" "):
        bare = word.rstrip(".,'’-")
        if bare and bare[0].isupper() and bare not in NOT_NAMES:
            kept = length + len(_without_possessive(bare))
            if bare != word or _without_possessive(bare) != bare:
                break
        elif bare not in JOIN or not kept:
            break
        length += len(word) + 1
    return kept


def _without_possessive(word: str) -> str:
    return word[:-2] if word.endswith(("'s", "’s")) else word


def _begins(text: str, end: int) -> int:
    """Where the capitalised words that stand directly before `end` begin; `end` without any."""
    leading = LEADING.search(text[max(0, end - 120) : end])
    if leading is None:
        return end
    start = at = end
    for word in reversed(leading[1].rstrip(" ").split(" ")):
        at -= len(word) + 1
        if word[0].isupper() and word not in NOT_NAMES and not word.endswith("."):
            start = at
        elif word not in JOIN:
            break
    return start
