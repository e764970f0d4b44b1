"""Days, weekends, months, seasons and years as periods, with the words that name them."""

from __future__ import annotations

import calendar
from datetime import date, timedelta

__all__ = [
    "DAY",
    "MONTHS",
    "WEEKDAYS",
    "Period",
    "away",
    "long_date",
    "month_of",
    "on_day",
    "saturday_of",
    "season_of",
    "weekend_of",
    "year_of",
]

DAY = timedelta(days=1)
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
SEASONS = {"winter": 12, "spring": 3, "summer": 6, "autumn": 9, "fall": 9}

# First day, last day, the words that name it, and the preposition that they take.
Period = tuple[date, date, str, str]


def long_date(day: date) -> str:
    """The day as "8 May 2023", whatever the locale."""
    return f"{day.day} {MONTHS[day.month - 1].capitalize()} {day.year}"


def on_day(day: date, part: str | None = None, weekday: bool = False) -> Period:
    """One day, named with its weekday or a part of the day ("morning") where asked for."""
    words = f"{WEEKDAYS[day.weekday()].capitalize()} " if weekday else ""
    words += long_date(day)
    return day, day, f"the {part} of {words}" if part else words, "on"


def month_of(year: int, month: int) -> Period:
    """A whole month; `month` may lie outside 1..12 and then counts into other years."""
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    last = calendar.monthrange(year, month)[1]
    words = f"{MONTHS[month - 1].capitalize()} {year}"
    return date(year, month, 1), date(year, month, last), words, "in"


def year_of(year: int) -> Period:
    """A calendar year."""
    return date(year, 1, 1), date(year, 12, 31), str(year), "in"


def weekend_of(saturday: date) -> Period:
    """A Saturday and its Sunday."""
    return saturday, saturday + DAY, f"the weekend of {long_date(saturday)}", "on"


def season_of(name: str, year: int) -> Period:
    """The season that begins in `year`; a winter carries both of its years."""
    first = month_of(year, SEASONS[name])[0]
    last = month_of(year, SEASONS[name] + 2)[1]
    label = f"{year}-{(year + 1) % 100:02d}" if name == "winter" else str(year)
    return first, last, f"the {name} of {label}", "in"


def saturday_of(said: date, weeks: int) -> date:
    """Saturday of the calendar week that lies `weeks` after that of `said`."""
    return said + (5 - said.weekday() + 7 * weeks) * DAY


def away(said: date, n: int, unit: str, words: str) -> Period:
    """`n` units before (negative) or after `said`; `words` name the distance ("two weeks")."""
    if unit == "year":
        return year_of(said.year + n)
    if unit == "month":
        return month_of(said.year, said.month + n)
    if unit == "weekend":
        return weekend_of(saturday_of(said, n))
    if unit == "day":
        return on_day(said + n * DAY)
    day = said + n * 7 * DAY
    return day, day, f"{words} {'before' if n < 0 else 'after'} {long_date(said)}", ""
