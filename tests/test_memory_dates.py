"""Relative dates: every expected day was worked out by hand with a calendar."""

from __future__ import annotations

from datetime import date

import pytest

from workbench.memory.dates import resolve, rewrite

PERIODS = [
    # month ends, leap years, turns of the year
    ("I saw it yesterday.", "2023-03-01", "2023-02-28", "2023-02-28"),
    ("I saw it yesterday.", "2024-03-01", "2024-02-29", "2024-02-29"),
    ("I saw it yesterday.", "2024-01-01", "2023-12-31", "2023-12-31"),
    ("I leave tomorrow.", "2023-12-31", "2024-01-01", "2024-01-01"),
    ("I leave tomorrow.", "2024-02-28", "2024-02-29", "2024-02-29"),
    ("I met her the day before yesterday.", "2023-05-01", "2023-04-29", "2023-04-29"),
    ("I'm flying out the day after tomorrow.", "2023-05-30", "2023-06-01", "2023-06-01"),
    ("I cooked last night.", "2023-05-08", "2023-05-07", "2023-05-07"),
    ("I'm cooking tonight.", "2023-05-08", "2023-05-08", "2023-05-08"),
    ("I ran this morning.", "2023-05-08", "2023-05-08", "2023-05-08"),
    # weekdays: 25 May 2023 is a Thursday, 12 May a Friday, 10 May a Wednesday, 8 May a Monday
    ("I ran last Saturday.", "2023-05-25", "2023-05-20", "2023-05-20"),
    ("I ran last Friday.", "2023-05-12", "2023-05-05", "2023-05-05"),
    ("I'm racing next Tuesday.", "2023-05-10", "2023-05-16", "2023-05-16"),
    ("I went there on Saturday.", "2023-05-08", "2023-05-06", "2023-05-06"),
    ("I'll go there on Saturday.", "2023-05-08", "2023-05-13", "2023-05-13"),
    ("I'm seeing her this Sunday.", "2023-05-08", "2023-05-14", "2023-05-14"),
    # counted
    ("I went to Rome two weeks ago.", "2023-05-08", "2023-04-24", "2023-04-24"),
    ("I went to Rome three days ago.", "2023-03-02", "2023-02-27", "2023-02-27"),
    ("I moved two months ago.", "2023-01-15", "2022-11-01", "2022-11-30"),
    ("I moved three months ago.", "2023-05-31", "2023-02-01", "2023-02-28"),
    ("I moved 4 years ago.", "2024-02-29", "2020-01-01", "2020-12-31"),
    ("I moved in two weekends ago.", "2023-07-17", "2023-07-08", "2023-07-09"),
    ("I'm flying out in two weeks.", "2023-12-20", "2024-01-03", "2024-01-03"),
    ("I moved a few weeks ago.", "2023-05-08", "2023-04-03", "2023-04-24"),
    # weeks, weekends, months, years
    ("I went camping last week.", "2023-05-08", "2023-05-01", "2023-05-07"),
    ("I'm travelling next week.", "2023-05-08", "2023-05-09", "2023-05-15"),
    ("I hiked last weekend.", "2023-05-10", "2023-05-06", "2023-05-07"),
    ("I'm hiking this weekend.", "2023-05-10", "2023-05-13", "2023-05-14"),
    ("I'm hiking next weekend.", "2023-05-10", "2023-05-20", "2023-05-21"),
    ("I painted it last month.", "2023-01-10", "2022-12-01", "2022-12-31"),
    ("We're camping next month.", "2023-12-05", "2024-01-01", "2024-01-31"),
    ("We're camping next month.", "2024-01-31", "2024-02-01", "2024-02-29"),
    ("I painted it last year.", "2023-05-08", "2022-01-01", "2022-12-31"),
    ("I graduate next year.", "2023-05-08", "2024-01-01", "2024-12-31"),
    # months and seasons by name
    ("I was in Oslo in November.", "2023-05-08", "2022-11-01", "2022-11-30"),
    ("I'm going to Oslo in March.", "2023-05-08", "2024-03-01", "2024-03-31"),
    ("I finished last March.", "2023-03-08", "2022-03-01", "2022-03-31"),
    ("I married on June 3rd.", "2023-05-08", "2022-06-03", "2022-06-03"),
    ("I went to Peru last summer.", "2023-05-08", "2022-06-01", "2022-08-31"),
    ("I'm going to Peru this summer.", "2023-05-08", "2023-06-01", "2023-08-31"),
    ("I skied this winter.", "2024-01-20", "2023-12-01", "2024-02-29"),
]

LEFT_ALONE = [
    "I run every Friday.",
    "I've read a lot in the last year.",
    "It was my last year of school.",
    "I read it in two days.",
    "I loved last week's show.",
    "I play on Saturdays.",
    "I may run a march.",
    "I was born in May 1990.",
    "On 30 February 2023 I laughed.",
]


@pytest.mark.parametrize(("text", "said", "start", "end"), PERIODS)
def test_period(text: str, said: str, start: str, end: str) -> None:
    (mention,) = resolve(text, date.fromisoformat(said))
    assert (mention.start.isoformat(), mention.end.isoformat()) == (start, end)


@pytest.mark.parametrize("text", LEFT_ALONE)
def test_durations_habits_and_absolute_dates_stay(text: str) -> None:
    assert rewrite(text, date(2023, 5, 8)) == text


@pytest.mark.parametrize(
    ("text", "dated"),
    [
        ("I went camping last week.", "I went camping in the week before 8 May 2023."),
        ("Last week was wild.", "The week before 8 May 2023 was wild."),
        ("Yesterday I ran.", "On 7 May 2023 I ran."),
        ("I moved about five years ago.", "I moved around 2018."),
        ("I've run since last year.", "I've run since 2022."),
        ("We hike next month and next year.", "We hike in June 2023 and in 2024."),
        ("I ran last Friday night.", "I ran on the night of Friday 5 May 2023."),
    ],
)
def test_words_that_replace(text: str, dated: str) -> None:
    assert rewrite(text, date(2023, 5, 8)) == dated


def test_spans_are_in_order_and_cut_out_the_expression() -> None:
    text = "I sang yesterday and I'll sing tomorrow."
    spans = [mention.span for mention in resolve(text, date(2023, 5, 8))]
    assert [text[start:end] for start, end in spans] == ["yesterday", "tomorrow"]
