"""Relative dates, resolved against the day on which they were said and never against today.

Rules (ours), where `said` is the session's day:

- "last Friday" is the latest Friday before `said`, "next Friday" the first one after it.
- A bare "on Friday", "in March" or "on May 5th" is the latest one not after `said` where the
  sentence is in the past, the first one not before it where it is about the future; where the
  sentence shows neither, it stays as it is.
- "last week" is the seven days before `said`, "next week" the seven after it.
- "last weekend" belongs to the calendar week (Monday to Sunday) before that of `said`.
- "last summer" is the latest that was over, by northern months (June to August).
- "two weeks ago" counts from `said`; months and years ago are whole months and years.
- Durations ("in the last year", "my last year of school") and possessives ("last week's") stay.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date

from workbench.memory import readings
from workbench.memory.periods import MONTHS, Period
from workbench.schema import Record

__all__ = ["Mention", "resolve", "rewrite"]

COUNT = r"(?P<count>an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\d{1,2})"
FEW = r"(?P<count>a couple(?: of)?|a few|several)"
UNIT = r"(?P<unit>day|week|weekend|month|year)s?"
WEEKDAY = r"(?P<weekday>(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
SHORT = r"(?P<weekday>(?:mon|tue|tues|wed|thu|thur|thurs|fri|sat|sun)(?:\b|[a-z]*day))"
MONTH = rf"(?P<month>{'|'.join(MONTHS)})"
SEASON = r"(?P<season>winter|spring|summer|autumn|fall)"
PART = r"(?:\s+(?P<part>morning|afternoon|evening|night))?"
# What may stand before a relative date: a preposition that is kept, or one that is replaced.
BEFORE = r"(?:\b(?P<kept>since|until|till|by|from|for|before|after|of)\s+|\b(?:on|in|at|back)\s+)?"
ABOUT = r"(?<!over )(?<!than )(?:\b(?P<about>about|around|almost|nearly|roughly|like) )?"
# "Last week was wild": the date is the subject and takes no preposition.
AS_SUBJECT = re.compile(r" (?:was|is|were|has|had|will)\b")
NOT_A_DURATION = r"(?<!\bthe )(?<!\bmy )(?<!\bour )(?<!\bhis )(?<!\bher )(?<!\btheir )(?<!\bone )"
WHICH = rf"(?P<which>{NOT_A_DURATION}(?:last|next)|this past|this coming|this)"
NOT_POSSESSIVE = r"(?!['\u2019]s\b)(?!-)"

# Every rule needs one of these words: most sentences have none, and are not tried against each.
CUE = re.compile(
    rf"day|tomorrow|tonight|night|morning|afternoon|evening|week|month|year|ago\b|{SHORT}"
    rf"|{MONTH}|{SEASON}".replace("?P<weekday>", "?:")
    .replace("?P<month>", "?:")
    .replace("?P<season>", "?:"),
    re.IGNORECASE,
)


class Mention(Record, frozen=True, kw_only=True):
    """A relative date: its place in the text, the days it covers and the words that replace it."""

    span: tuple[int, int]
    start: date
    end: date
    text: str


Reader = Callable[[re.Match[str], date, str], Period | None]


def resolve(text: str, said: date) -> list[Mention]:
    """The relative dates of a sentence said on the day `said`, in reading order, none overlapping.

    Rules earlier in `RULES` win where two match at one place.
    """
    if not CUE.search(text):
        return []
    found: list[Mention] = []
    for pattern, reader in _compiled():
        for match in pattern.finditer(text):
            if any(match.start() < m.span[1] and m.span[0] < match.end() for m in found):
                continue
            reading = reader(match, said, text)
            if reading is not None:
                found.append(_mention(match, reading))
    return sorted(found, key=lambda mention: mention.span)


def rewrite(text: str, said: date) -> str:
    """The sentence with its relative dates replaced by dated words."""
    for mention in reversed(resolve(text, said)):
        start, end = mention.span
        words = mention.text
        if start == 0 and AS_SUBJECT.match(text[end:]):
            words = words.partition(" ")[2]
        if text[start:end][:1].isupper():
            words = words[:1].upper() + words[1:]
        text = text[:start] + words + text[end:]
    return text


def _mention(match: re.Match[str], reading: Period) -> Mention:
    start, end, words, preposition = reading
    groups = match.groupdict()
    kept = "around" if groups.get("about") else groups.get("kept")
    lead = kept.lower() if kept else preposition
    return Mention(span=match.span(), start=start, end=end, text=f"{lead} {words}".strip())


RULES: tuple[tuple[str, Reader], ...] = (
    (rf"{BEFORE}\b(?P<word>the day before yesterday|the day after tomorrow)\b", readings.shift),
    (rf"{BEFORE}\b(?P<word>yesterday|tomorrow){PART}\b{NOT_POSSESSIVE}", readings.shift),
    (
        rf"{BEFORE}\b(?P<word>today|tonight|last night|this (?:morning|afternoon|evening))\b"
        rf"{NOT_POSSESSIVE}",
        readings.shift,
    ),
    (rf"{ABOUT}\b{COUNT} (?P<units>{UNIT}) (?P<way>ago|from now)\b", readings.counted),
    (rf"\b{FEW} {UNIT} ago\b", readings.few_ago),
    (rf"\bin {COUNT} (?P<units>{UNIT})\b(?! of\b){NOT_POSSESSIVE}", readings.in_counted),
    (rf"{BEFORE}\bthe (?P<unit>week|weekend|month|year) before last\b", readings.before_last),
    (
        rf"{BEFORE}\b{WHICH} (?P<unit>week|weekend|month|year)\b"
        rf"(?! (?:of|in) (?:school|college|uni|high)){NOT_POSSESSIVE}",
        readings.which_period,
    ),
    (rf"{BEFORE}\b{WHICH} {SHORT}{PART}\b(?!s\b){NOT_POSSESSIVE}", readings.which_weekday),
    (rf"{BEFORE}\b{WHICH} {MONTH}\b(?! \d)", readings.which_month),
    (rf"{BEFORE}\b{WHICH} {SEASON}\b{NOT_POSSESSIVE}", readings.which_season),
    (rf"\bon {MONTH} (?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b(?!,? \d{{4}})", readings.bare_month),
    (
        rf"\bon (?:the )?(?P<first>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?{MONTH}\b(?!,? \d{{4}})",
        readings.bare_month,
    ),
    (rf"\bin {MONTH}\b(?! \d)(?!,? \d{{4}}){NOT_POSSESSIVE}", readings.bare_month),
    (rf"\bon {WEEKDAY}{PART}\b(?!s\b){NOT_POSSESSIVE}", readings.bare_weekday),
)


def _compiled() -> list[tuple[re.Pattern[str], Reader]]:
    """The rules with their patterns; `re` keeps compiled patterns itself."""
    return [(re.compile(pattern, re.IGNORECASE), reader) for pattern, reader in RULES]
