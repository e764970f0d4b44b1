"""Answers without a model, on hits made by hand; expected ones are worked out by hand."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np
import pytest

from rooms import memory
from workbench.answer import ANSWERERS, Answer, Asked
from workbench.answer_weights import DATE_WEIGHTS, SPAN_WEIGHTS
from workbench.embed import Vectors
from workbench.question_form import form_of
from workbench.schema import Hit, Memory
from workbench.shelf import Query
from workbench.span_features import DATE_NAMES, SPAN_NAMES, stems_of
from workbench.spans import dated_spans, sentences, spans

WIDTH = 512
PEOPLE = ("Ana", "Bo")


def embed(texts: Sequence[str]) -> Vectors:
    """Texts as the stems that they have: the more two share, the nearer they are."""
    rows = np.full((len(texts), WIDTH), 1e-6, np.float32)
    for row, text in zip(rows, texts, strict=True):
        row[[zlib.crc32(stem.encode()) % WIDTH for stem in stems_of(text) if stem]] = 1
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def turn(text: str, said: str | None = "2023-05-08", **given: Any) -> Memory:
    time = datetime.fromisoformat(said) if said else None
    owner = given.pop("owner", "Ana")
    return memory(
        f"t{zlib.crc32(text.encode())}", f"{owner}: {text}", owner=owner, time=time, **given
    )


def asked(question: str, *memories: Memory, people: tuple[str, ...] = PEOPLE) -> Asked:
    """A question with hits in this order."""
    hits = tuple(
        Hit(memory=m, rank=rank, score=-float(rank), parts={}, raw={})
        for rank, m in enumerate(memories, start=1)
    )
    return Asked(Query(question, embed([question])[0], ("Ana",)), people, hits, embed)


def answer(question: str, *memories: Memory, by: str = "extractive") -> Answer:
    return ANSWERERS[by].answer(asked(question, *memories))


NOISE = (
    turn("The weather was lovely, we sat by the river.", owner="Bo"),
    turn("Wow, thanks! That sounds great."),
    turn("I bought new shoes for the office.", owner="Bo"),
)


@pytest.mark.parametrize(
    ("text", "said", "expected"),
    [
        ("I went to a support group yesterday.", "2023-05-08", "7 May 2023"),
        ("I joined the support group last year.", "2023-05-08", "2022"),
        # 15 July 2023 was a Saturday.
        (
            "I was at the support group last Friday.",
            "2023-07-15",
            "the Friday before 15 July 2023",
        ),
        ("I go to the support group next month.", "2023-05-25", "June 2023"),
        # 17 July 2023 was a Monday.
        (
            "I went to the support group last weekend.",
            "2023-07-17",
            "the weekend before 17 July 2023",
        ),
        (
            "I went to the support group two weekends ago.",
            "2023-07-17",
            "two weekends before 17 July 2023",
        ),
        ("I went to the support group last week.", "2023-06-09", "the week before 9 June 2023"),
        ("I went to the support group on 3 March 2021.", "2023-06-09", "3 March 2021"),
        ("I've just come from the support group.", "2023-06-09", "9 June 2023"),
    ],
)
def test_a_date_is_resolved_against_the_day_on_which_it_was_said(
    text: str, said: str, expected: str
) -> None:
    found = answer("When did Ana go to the support group?", turn(text, said), *NOISE)
    assert found.text == expected
    assert found.support == turn(text, said).id


def test_without_a_day_of_its_own_a_memory_gives_no_relative_date() -> None:
    undated = turn("I went to a support group yesterday.", None)
    assert answer("When did Ana go to the support group?", undated).abstained
    stated = turn("I went to a support group in May 2021.", None)
    assert answer("When did Ana go to the support group?", stated).text == "May 2021"


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        (
            "Who played at Ana's birthday concert?",
            "At my birthday concert Matt Patterson played.",
            "Matt Patterson",
        ),
        (
            "What country is Ana's grandmother from?",
            "My grandmother is from Sweden, she gave me this.",
            "Sweden",
        ),
        (
            "How long has Ana been married?",
            "We have been married for five years now.",
            "five years",
        ),
        ("How many cats does Ana have?", "I have three cats at home.", "three"),
        (
            "How often does Ana go to the beach?",
            "We go to the beach once or twice a year.",
            "once or twice a year",
        ),
        (
            "What book is Ana reading?",
            'I am reading a book, "The Lean Startup", these days.',
            "The Lean Startup",
        ),
    ],
)
def test_the_answer_is_the_span_that_the_question_asks_for(
    question: str, text: str, expected: str
) -> None:
    assert answer(question, turn(text), *NOISE).text == expected


def test_who_said_it_decides_between_two_like_memories() -> None:
    mine = turn("My pet is called Oscar Wild.")
    yours = turn("My pet is called Rufus Tame.", owner="Bo")
    for memories in ((mine, yours), (yours, mine)):
        assert answer("What is the name of Ana's pet?", *memories, *NOISE).text == "Oscar Wild"
        assert answer("What is the name of Bo's pet?", *memories, *NOISE).text == "Rufus Tame"
        assert (
            answer("What is the name of my pet?", *memories, *NOISE).text == "Oscar Wild"
        )  # Ana asks


def test_several_things_come_from_several_sentences() -> None:
    found = answer(
        "Which cities has Ana visited?",
        turn("I visited the city of Paris."),
        turn("I have visited Rome, such a city!"),
        *NOISE,
    )
    assert {"Paris", "Rome"} <= set(found.text.split(", "))


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("Does Ana like camping?", "I like camping a lot.", "Yes"),
        ("Does Ana like camping?", "I don't like camping.", "No"),
        ("Would Ana enjoy camping?", "I enjoy camping.", "Likely yes"),
        ("Would Ana enjoy camping?", "I never enjoy camping.", "Likely no"),
        ("Would Ana enjoy camping if she hadn't a tent?", "I enjoy camping.", "Likely no"),
    ],
)
def test_yes_or_no(question: str, text: str, expected: str) -> None:
    assert answer(question, turn(text)).text == expected


def test_it_abstains_where_nothing_fits() -> None:
    assert answer("Where does Ana live?").abstained
    unrelated = answer("Which violin concerto was rehearsed?", *NOISE)
    assert unrelated.abstained and unrelated.support is None
    blank = asked("What?", *NOISE)._replace(query=Query("  ", None))
    assert ANSWERERS["extractive"].answer(blank).abstained


def test_hostile_text_stays_a_span() -> None:
    hit = turn("My dog is called <img src=x onerror=alert(1)> {x} \x1b[31m Rex.")
    found = answer("What is Ana's dog called?", hit)
    assert not found.abstained and found.text in hit.text


@pytest.mark.parametrize("by", list(ANSWERERS))
def test_the_order_of_vectors_and_a_second_time_change_nothing(by: str) -> None:
    hits = (turn("I live in Oslo, near the sea."), *NOISE)
    question = asked("Where does Ana live?", *hits)
    backwards = question._replace(embed=lambda texts: embed(texts[::-1])[::-1])
    first = ANSWERERS[by].answer(question)
    assert first == ANSWERERS[by].answer(question) == ANSWERERS[by].answer(backwards)


# ---------------------------------------------------------------- the trivial rivals


def test_the_rivals_take_the_top_memory_as_it_is_and_its_last_phrase_or_date() -> None:
    hits = (turn("I saw Bo yesterday and we ate a lemon cake on the red sofa."), *NOISE)
    assert (
        answer("What did Ana eat?", *hits, by="top-memory").text
        == "I saw Bo yesterday and we ate a lemon cake on the red sofa."
    )
    assert answer("What did Ana eat?", *hits, by="last-phrase").text == "red sofa"
    assert answer("When did Ana see Bo?", *hits, by="last-phrase").text == "7 May 2023"
    dateless = turn("Bo was here.")
    assert answer("When did Ana see Bo?", dateless, by="last-phrase").text == "Bo"
    assert answer("Who?", by="top-memory").abstained and answer("Who?", by="last-phrase").abstained


# ---------------------------------------------------------------- its parts


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("When did Ana move?", "when"),
        ("In which month did Ana move?", "when"),
        ("What did Ana say when she moved?", "what"),
        ("How long ago did Ana move?", "duration"),
        ("How many cats are there?", "count"),
        ("Whose cat is it?", "who"),
        ("Which city did Ana see?", "where"),
        ("Why did Ana move?", "why"),
        ("How did Ana feel?", "how"),
        ("Did Ana move?", "yesno"),
        ("Would Ana move?", "likely"),
        ("Tell me about Ana", "what"),
    ],
)
def test_a_question_is_read_by_its_words(question: str, kind: str) -> None:
    assert form_of(question, PEOPLE).kind == kind


def test_the_stems_of_a_question_leave_out_names_and_what_only_asks() -> None:
    form = form_of("What kind of cakes does Ana bake?", PEOPLE)
    assert form.stems == {"cake", "bake"}
    assert form.people == {"ana"}


def test_spans_begin_and_end_with_content() -> None:
    found = {span.text: span.kind for span in spans('We made a cup with a dog face, "Rex", twice.')}
    assert found["cup with a dog face"] == "chunk"
    assert found["Rex"] == "quote"
    assert found["twice"] == "number"
    assert found["We made a cup with a dog face"] == "clause"
    assert "with a dog face" not in found and "cup with" not in found


def test_a_memory_is_read_without_its_speaker_and_with_its_picture() -> None:
    read = sentences("Ana: Look at this. It's new! [shares a photo of a red bike]", "Ana")
    assert [(s.text, s.shown) for s in read] == [
        ("Look at this.", False),
        ("It's new!", False),
        ("a red bike", True),
    ]


def test_a_date_stands_once_and_in_order_of_the_rules() -> None:
    said = datetime(2023, 5, 8)
    found = [span.text for span in dated_spans("In May 2021, not last year, and in 2019.", said)]
    assert sorted(found) == ["2019", "2022", "May 2021"]


def test_every_feature_has_a_weight() -> None:
    assert tuple(DATE_WEIGHTS) == DATE_NAMES
    assert tuple(SPAN_WEIGHTS) == SPAN_NAMES
