"""What each kind of relative date means on the day on which it was said.

Every reader takes the match of its pattern in `dates.py`, the day `said` and the whole sentence.
It returns the period that is meant, or None where the sentence does not settle it.
"""

from __future__ import annotations

import calendar
import re
from datetime import date

from workbench.memory.periods import (
    DAY,
    MONTHS,
    WEEKDAYS,
    Period,
    away,
    long_date,
    month_of,
    on_day,
    saturday_of,
    season_of,
    weekend_of,
)
from workbench.memory.tenses import is_future, is_past

NUMBERS = {
    **{"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6},
    **{"seven": 7, "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12},
}
FEW_RANGE = {"a couple": (2, 2), "a few": (2, 5), "several": (3, 7)}
SHIFTS = {
    "the day before yesterday": -2,
    "yesterday": -1,
    "last night": -1,
    "tomorrow": 1,
    "the day after tomorrow": 2,
}
SATURDAY = WEEKDAYS.index("saturday")
MARCH = 3


def shift(match: re.Match[str], said: date, text: str) -> Period:
    """yesterday, today, tomorrow, and the days on either side of them."""
    word = match["word"].lower()
    part = match.groupdict().get("part")
    if word.endswith("night"):
        part = "night" if word == "last night" else "evening"
    elif word.startswith("this "):
        part = word.split()[1]
    return on_day(said + SHIFTS.get(word, 0) * DAY, part)


def counted(match: re.Match[str], said: date, text: str) -> Period | None:
    """Counted: "three weeks ago", "in two months", "five days from now"."""
    sign = -1 if match["way"].lower() == "ago" else 1
    words = f"{match['count']} {match['units']}".lower()
    return away(said, sign * _number(match["count"]), match["unit"].lower(), words)


def in_counted(match: re.Match[str], said: date, text: str) -> Period | None:
    """The phrase "in two weeks" is a date only in a sentence about the future, else a duration."""
    if is_past(text) or not is_future(text):
        return None
    words = f"{match['count']} {match['units']}".lower()
    return away(said, _number(match["count"]), match["unit"].lower(), words)


def few_ago(match: re.Match[str], said: date, text: str) -> Period:
    """The phrase "a few weeks ago": a range, said as loosely as the source says it."""
    count = match["count"].lower().removesuffix(" of")
    low, high = FEW_RANGE[count]
    unit = match["unit"].lower()
    far, near = (away(said, -n, unit, "") for n in (high, low))
    if count == "a couple" and unit in ("month", "year"):
        return near
    return far[0], near[1], f"{count} {unit}s before {long_date(said)}", ""


def which_period(match: re.Match[str], said: date, text: str) -> Period:
    """last, this and next week, weekend, month and year."""
    step = _step(match["which"])
    unit = match["unit"].lower()
    if unit == "week" and step:
        side = "before" if step < 0 else "after"
        first = said + (-7 if step < 0 else 1) * DAY
        return first, first + 6 * DAY, f"the week {side} {long_date(said)}", "in"
    if unit == "week":
        monday = said - said.weekday() * DAY
        return monday, monday + 6 * DAY, f"the week of {long_date(said)}", "in"
    if unit == "weekend" and match["which"].lower() == "this" and is_past(text):
        return weekend_of(saturday_of(said, 0 if said.weekday() >= SATURDAY else -1))
    return away(said, step, unit, "")


def before_last(match: re.Match[str], said: date, text: str) -> Period:
    """The phrase "the week before last" and its like."""
    unit = match["unit"].lower()
    if unit == "week":
        first = said - 14 * DAY
        return first, first + 6 * DAY, f"the second week before {long_date(said)}", "in"
    return away(said, -2, unit, "")


def _number(word: str) -> int:
    return int(word) if word.isdigit() else NUMBERS[word.lower()]


def _step(which: str) -> int:
    """-1, 0 or 1 for last, this and next."""
    return {"last": -1, "this past": -1, "next": 1}.get(which.lower(), 0)


def which_weekday(match: re.Match[str], said: date, text: str) -> Period:
    """last, this and next Friday; "this" looks back where the sentence does."""
    which = match["which"].lower()
    back = _step(which) < 0 or (which == "this" and is_past(text))
    return _nearest_weekday(match, said, back, same_day=which == "this")


def bare_weekday(match: re.Match[str], said: date, text: str) -> Period | None:
    """A bare "on Friday": which one, the sentence's tense says."""
    if is_past(text) == is_future(text):
        return None
    return _nearest_weekday(match, said, is_past(text), same_day=True)


def _nearest_weekday(match: re.Match[str], said: date, back: bool, same_day: bool) -> Period:
    wanted = next(i for i, name in enumerate(WEEKDAYS) if name[:3] == match["weekday"].lower()[:3])
    days = (said.weekday() - wanted) % 7 if back else (wanted - said.weekday()) % 7
    if days == 0 and not same_day:
        days = 7
    return on_day(said + (-days if back else days) * DAY, match.groupdict().get("part"), True)


def which_month(match: re.Match[str], said: date, text: str) -> Period:
    """last, this and next March."""
    month = MONTHS.index(match["month"].lower()) + 1
    step = _step(match["which"])
    year = said.year
    if step < 0 and month >= said.month:
        year -= 1
    if step > 0 and month <= said.month:
        year += 1
    return month_of(year, month)


def bare_month(match: re.Match[str], said: date, text: str) -> Period | None:
    """A bare "in March", "on March 5th", "5 March": the year follows from the sentence's tense."""
    if is_past(text) == is_future(text):
        return None
    month = MONTHS.index(match["month"].lower()) + 1
    number = match.groupdict().get("day") or match.groupdict().get("first")
    day = int(number) if number else said.day if month == said.month else 1
    year = said.year
    if is_past(text) and (month, day) > (said.month, said.day):
        year -= 1
    if is_future(text) and (month, day) < (said.month, said.day):
        year += 1
    if not number:
        return month_of(year, month)
    return on_day(date(year, month, day)) if day <= calendar.monthrange(year, month)[1] else None


def which_season(match: re.Match[str], said: date, text: str) -> Period:
    """last, this and next summer."""
    name = match["season"].lower()
    # In January and February "this winter" began in the year before.
    year = said.year - (name == "winter" and said.month < MARCH)
    step = _step(match["which"])
    if step < 0:
        while season_of(name, year)[1] >= said:
            year -= 1
    if step > 0:
        while season_of(name, year)[0] <= said:
            year += 1
    return season_of(name, year)
