"""Exact dates and addresses in English texts, and what may be said instead.

A day becomes its month and year, or its month; a numeric date whose day and month could be
exchanged becomes its year. Ages, weekdays, months, years and times of day stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reward_model.known_names import Span
from workbench.memory.periods import MONTHS

__all__ = ["addresses", "exact_dates"]

SHORT = [month[:3] for month in MONTHS]
# A full stop belongs to a month only where it is cut short.
MONTH = rf"(?:(?P<month>{'|'.join(MONTHS)})\b|(?P<short>sept|{'|'.join(SHORT)})\b\.?)"
DAY = r"\d{1,2}(?P<suffix>st|nd|rd|th)?"
SINCE = r"(?:\d{1,2}(?:st|nd|rd|th)?(?: (?:to|till|until|and|or) | ?[-–] ?)(?:the )?)?"
PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?<![\w/-])(?P<year>\d{4})[-/.](?P<number>\d{1,2})[-/.]\d{1,2}"
        r"(?:T[\d:.]+(?:Z|[+-][\d:]+)?)?(?![\w/-])",
        rf"(?<![\w/-]){SINCE}{DAY}(?: of)?[ -]{MONTH}(?:,?[ -](?P<year>\d{{4}}))?(?!\w)",
        rf"\b{MONTH} (?:the )?{DAY}(?:,? (?P<year>\d{{4}}))?(?![\w%:.]\w|\w)",
        r"(?<![\w./-])\d{1,2}(?P<mark>[/.-])\d{1,2}(?P=mark)(?P<year>\d{4}|\d{2})(?![\w/-]|\.\d)",
    )
)
LOWER_CASE_WORDS = frozenset(("may", "march", "mar"))
ROADS = "Rua|Calle|Via|Rue|Avenida|Praça|Plaza"
STREETS = (
    r"Street|St|Road|Rd|Avenue|Ave|Lane|Ln|Drive|Dr|Square|Sq|Boulevard|Blvd|Court|Ct|Way|Place|Pl|"
    r"Terrace|Crescent|Close"
)
ADDRESSES = (
    re.compile(rf"\b\d{{1,5}}[A-Za-z]?,? (?:[^\W\d_a-z][\w'’.-]* ){{1,4}}(?:{STREETS})\b\.?"),
    re.compile(
        r"\b\d{1,5}[A-Za-z]?,? (?:Rua|Calle|Via|Rue|Avenida|Praça|Plaza)(?: [\w'’.-]+){1,4}"
    ),
    re.compile(
        r"\b(?:Rua|Calle|Via|Rue|Avenida|Praça|Plaza)(?: [^\W\d_][\w'’.-]+){1,4},? \d{1,5}\b"
    ),
    re.compile(r"\b[^\W\d_a-z]\w*(?:straße|strasse|gasse|weg|platz|straat)(?: \d{1,5}[a-z]?)\b"),
    re.compile(r"\b[A-Z]{1,2}\d[A-Z\d]? \d[A-Z]{2}\b"),  # postcodes of the United Kingdom
)


def exact_dates(text: str) -> Iterator[Span]:
    """Days in a text, each with its month and year, or as much as is sure of them."""
    for pattern in PATTERNS:
        for match in pattern.finditer(text):
            said = _general(match.groupdict())
            if said is not None:
                key = re.sub(r"\W+", " ", match.group().casefold())
                yield Span(*match.span(), "DATE", key, "date rules", said)


def _general(groups: dict[str, str | None]) -> str | None:
    """What is said instead of a day; None where it is no date after all."""
    year, name, number = (
        groups.get("year"),
        groups.get("month") or groups.get("short"),
        groups.get("number"),
    )
    if number is not None:
        return f"{MONTHS[int(number) - 1].capitalize()} {year}" if 1 <= int(number) <= 12 else year
    if name is None:
        return year if year and len(year) == 4 else ""
    doubtful = name in LOWER_CASE_WORDS and not groups.get("suffix") and not year
    if doubtful:
        return None
    month = MONTHS[SHORT.index(name[:3].lower())].capitalize()
    return f"{month} {year}" if year else month


def addresses(text: str) -> Iterator[Span]:
    """House numbers with their street, and postcodes."""
    for pattern in ADDRESSES:
        for match in pattern.finditer(text):
            yield Span(*match.span(), "PLACE", match.group().casefold(), "address rules")
