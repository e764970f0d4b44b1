"""Candidate answers: the spans of a memory that could answer a question, by rule.

A sentence gives itself, its clauses, its chunks (runs that begin and end with a content word and
may hold function words: "a cup with a dog face"), quoted titles, numbers and durations. A date is
resolved against the day on which the memory was said, in words that are true on any day: "last
Friday" said on 15 July 2023 is "the Friday before 15 July 2023", "yesterday" is "14 July 2023".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime
from functools import lru_cache
from typing import Literal, NamedTuple

from workbench.memory.dates import Mention, resolve
from workbench.memory.periods import MONTHS, WEEKDAYS, long_date
from workbench.memory.sentences import sentences_of
from workbench.memory.words import base_verbs, noun_like_verbs, past_forms, word_list
from workbench.schema import Memory

__all__ = [
    "WORD",
    "Sentence",
    "Span",
    "dated_spans",
    "is_light",
    "plain_verbs",
    "said_span",
    "sentences",
    "spans",
]

SpanKind = Literal["sentence", "clause", "chunk", "quote", "number", "duration", "date", "said"]

LONGEST = 12
WORD = re.compile(r"\w+(?:['\u2019.-]\w+)*")
STOP = r"[,;:!?()\[\]\"\u2013\u2014]| - |\.(?=\s|$)| because "
PHRASE_END = re.compile(STOP)
CLAUSE_END = re.compile(rf"{STOP}| (?:and|but|so) ")
QUOTED = re.compile(r"[\"\u201c]([^\"\u201c\u201d]{2,60})[\"\u201d]|(?<![\w])'([^']{3,60})'(?!\w)")
COUNTED = (
    r"(?:\d[\d,.]*|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen"
    r"|twenty|thirty|forty|fifty|hundred|once|twice|a few|several|a couple(?: of)?)"
)
NUMBER = re.compile(rf"\b(?!an?\b){COUNTED}\b(?! (?:of|a) )", re.IGNORECASE)
DURATION = re.compile(
    rf"\b(?:(?:over|about|around|almost|since|once or) )?{COUNTED}(?: (?:or|to) {COUNTED})?"
    r"(?: \w+)? (?:second|minute|hour|day|week|month|year|decade)s?(?: old)?\b"
    r"|\b(?:once|twice|every|each) (?:or twice )?(?:a |an |other )?"
    r"(?:day|night|week|weekend|month|year)s?\b|\bsince (?:\d{4}|\w+ \d{4})\b"
    r"|\b(?:dai|week|month|year)ly\b",
    re.IGNORECASE,
)
MONTH = "|".join(MONTHS)
ABSOLUTE = re.compile(
    rf"\b(?:\d{{1,2}}(?:st|nd|rd|th)? (?:of )?)?(?:{MONTH})(?: \d{{1,2}}(?:st|nd|rd|th)?)?"
    r"(?:,? \d{4})\b|\b(?:19|20)\d\d\b",
    re.IGNORECASE,
)
ADDED = re.compile(r"\s*\[(?:shares|attaches) (?P<what>[^\]]*)\]")
MEDIUM = re.compile(r"^an? (?:photo\w*|picture|image|photography)(?: of)? ", re.IGNORECASE)


class Span(NamedTuple):
    """A candidate: its words as an answer, place in the sentence, and kind.

    `before` is the word that stands before it, lower-cased.
    """

    text: str
    start: int
    end: int
    kind: SpanKind
    before: str = ""


class Sentence(NamedTuple):
    """A sentence of a memory. `shown` marks the caption of a picture."""

    text: str
    shown: bool = False


@lru_cache(maxsize=65536)
def sentences(memory_text: str, owner: str) -> tuple[Sentence, ...]:
    """The sentences of a memory's text, without the speaker's name before a turn."""
    text = memory_text.removeprefix(f"{owner}: ") if owner else memory_text
    captions = [Sentence(MEDIUM.sub("", m["what"]), True) for m in ADDED.finditer(text)]
    return (*(Sentence(s) for s in sentences_of(ADDED.sub("", text))), *captions)


@lru_cache(maxsize=65536)
def spans(sentence: str) -> tuple[Span, ...]:
    """Every candidate of a sentence that is no date, each text once, in reading order."""
    found: dict[str, Span] = {}
    for span in _all_spans(sentence):
        if span.text:
            found.setdefault(span.text, span)
    return tuple(found.values())


def _all_spans(sentence: str) -> Iterator[Span]:
    for match in QUOTED.finditer(sentence):
        yield _span(sentence, *match.span(), "quote")
    for pattern, kind in ((DURATION, "duration"), (NUMBER, "number")):
        for match in pattern.finditer(sentence):
            yield _span(sentence, *match.span(), kind)  # type: ignore[arg-type]
    for start, end in _pieces(sentence, PHRASE_END):
        yield from _chunks(sentence, start, end)
        yield _span(sentence, start, end, "clause")
    for start, end in _pieces(sentence, CLAUSE_END):
        yield _span(sentence, start, end, "clause")
    yield _span(sentence, 0, len(sentence), "sentence")


def _pieces(sentence: str, end: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    start = 0
    for match in end.finditer(sentence):
        if match.start() > start:
            yield start, match.start()
        start = match.end()
    if start < len(sentence):
        yield start, len(sentence)


def _chunks(sentence: str, start: int, end: int) -> Iterator[Span]:
    """Runs of at most LONGEST words; a run begins after a function word or a verb form."""
    words = [(m.start(), m.end()) for m in WORD.finditer(sentence, start, end)]
    light = [is_light(sentence[a:b]) for a, b in words]
    verbs = [sentence[a:b].lower() in plain_verbs() for a, b in words]
    edge = [one or other for one, other in zip(light, verbs, strict=True)]
    ends = [j for j in range(len(words)) if not light[j] and (j + 1 == len(words) or edge[j + 1])]
    for i, (begin, _) in enumerate(words):
        if light[i]:
            continue
        for j in ends:
            if i <= j < i + LONGEST:
                yield _span(sentence, begin, words[j][1], "chunk")


def _span(sentence: str, start: int, end: int, kind: SpanKind) -> Span:
    before = WORD.findall(sentence[max(start - 25, 0) : start])
    text = sentence[start:end].strip(" .,;:!?'\"\u201c\u201d()-[]")
    return Span(text, start, end, kind, before[-1].lower() if before else "")


@lru_cache(maxsize=1)
def plain_verbs() -> frozenset[str]:
    """Forms that are verbs and seldom nouns."""
    return (base_verbs() | past_forms()) - noun_like_verbs()


@lru_cache(maxsize=65536)
def is_light(word: str) -> bool:
    """Whether a word is a function word, contractions ("I'm", "that's") included."""
    lowered = word.lower().replace("\u2019", "'")
    light = word_list("function_words")
    return lowered in light or lowered.partition("'")[0] in light


def dated_spans(sentence: str, said: datetime | None) -> list[Span]:
    """The dates of a sentence, relative ones resolved; none relative where `said` is unknown."""
    found = []
    if said is not None:
        for mention in resolve(sentence, said.date()):
            found.append(Span(in_words(mention, said.date(), sentence), *mention.span, "date"))
    taken = [(span.start, span.end) for span in found]
    for match in ABSOLUTE.finditer(sentence):
        if not any(match.start() < end and start < match.end() for start, end in taken):
            found.append(Span(match.group(), *match.span(), "date"))
    return found


def said_span(memory: Memory) -> Span | None:
    """The day on which a memory was said: when the thing happened, where nothing else is known."""
    return None if memory.time is None else Span(long_date(memory.time.date()), 0, 0, "said")


def in_words(mention: Mention, said: date, sentence: str) -> str:
    """A resolved date as an answer, without its preposition."""
    source = sentence[slice(*mention.span)].lower()
    side = "before" if mention.end < said else "after"
    weekday = WEEKDAYS[mention.start.weekday()]
    if mention.start == mention.end and weekday[:3] in source and mention.start != said:
        return f"the {weekday.capitalize()} {side} {long_date(said)}"
    if "weekend" in source and mention.end != said:
        count = re.search(r"\b(two|three|four|2|3|4)\b", source)
        lead = f"{count.group()} weekends" if count else "the weekend"
        return f"{lead} {side} {long_date(said)}"
    return re.sub(r"^(?:on|in|around|since|until|till|by|from|for|of) ", "", mention.text)
