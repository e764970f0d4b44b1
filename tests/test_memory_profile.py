"""Profiles by rule."""

from __future__ import annotations

from datetime import datetime

import pytest

from workbench.memory.profile import build_profile, choose_facts
from workbench.schema import Memory


def fact(text: str, day: int = 1, subject: str = "Ana") -> Memory:
    return Memory(
        id=f"f:{day}:{text}",
        scope="d",
        kind="fact",
        text=f"{text} ({day} May 2023)",
        sources=(f"D{day}:1",),
        owner="Ana",
        subject=subject,
        time=datetime(2023, 5, day),
    )


def test_latest_value_wins() -> None:
    choice = choose_facts(
        "d", "Ana", [fact("Ana works as a baker.", 9), fact("Ana is a nurse.", 2)]
    )
    assert [f.text for f in choice.profile.facts] == ["Ana works as a baker."]
    assert choice.left_out == {"older value": 1}


def test_order_and_sources() -> None:
    profile = build_profile(
        "d",
        "Ana",
        [
            fact("Ana loves tea.", 1),
            fact("Ana really loves tea.", 3),
            fact("Ana has a dog named Max.", 2),
            fact("Ana lives in Porto.", 4),
        ],
    )
    assert profile.text.splitlines() == [
        "Ana lives in Porto.",
        "Ana has a dog named Max.",
        "Ana really loves tea.",
    ]
    assert [f.sources for f in profile.facts] == [("D4:1",), ("D2:1",), ("D1:1", "D3:1")]
    assert {f.kind for f in profile.facts} == {"fact"}


@pytest.mark.parametrize(
    "text",
    [
        "Ana went to Rome.",
        "Ana is a mix of excited and scared.",
        "Ana would love a dog.",
        "Ana loves this kayak.",
        "Ana might be allergic to nuts.",
        "Anabel loves tea.",
    ],
)
def test_no_stable_trait(text: str) -> None:
    choice = choose_facts("d", "Ana", [fact(text)])
    assert (choice.profile.facts, choice.left_out) == ((), {"no stable trait": 1})


def test_other_people_and_scopes_stay_out() -> None:
    choice = choose_facts("e", "Ana", [fact("Ana loves tea.")])
    assert choice.left_out == {"another scope or kind": 1}
    choice = choose_facts("d", "Ana", [fact("Ana's friend Jo hates football.", subject="Jo")])
    assert not choice.profile.facts


def test_at_most_forty() -> None:
    choice = choose_facts("d", "Ana", [fact(f"Ana loves dish {n}.") for n in range(50)])
    assert len(choice.profile.facts) == 40
    assert choice.left_out == {"beyond the limit": 10}


def test_user_of_a_chat() -> None:
    profile = build_profile("d", "user", [fact("The user is allergic to nuts.", subject="user")])
    assert profile.text == "The user is allergic to nuts."


def turn(session: int, speaker: str, text: str) -> Memory:
    return Memory(
        id=f"t:D{session}:{speaker}:{len(text)}",
        scope="d",
        kind="turn",
        text=f"{speaker}: {text}",
        sources=(f"D{session}:{len(text)}",),
        owner=speaker,
        subject=speaker,
        session=str(session),
    )


TURNS = [
    turn(session, speaker, f"{text} Part {part}.")
    for session, speaker, text in (
        (1, "Ana", "I took Max to the vet, and my allotment flooded."),
        (1, "Bo", "Poor Max! The car is in the garage."),
        (2, "Ana", "Yesterday Max ate the tulips of my allotment."),
        (2, "Bo", "My car is back."),
        (3, "Ana", "Bo, the allotment is dry, and I saw Max there on Monday. Lovely!"),
        (3, "Bo", "I sold the car. I drove it twice."),
    )
    for part in ("one", "three")
]


def test_what_a_person_returns_to_in_three_sessions_joins_the_profile() -> None:
    facts = build_profile("d", "Ana", [*TURNS, fact("Ana loves tea.")]).facts
    assert [f.text for f in facts] == [
        "Ana loves tea.",
        "Ana often speaks of allotment.",
        "Ana often speaks of Max.",
    ]
    assert facts[1].sources == tuple(t.sources[0] for t in TURNS if t.owner == "Ana")


def test_a_topic_belongs_to_whom_it_comes_back_for() -> None:
    facts = build_profile("d", "Bo", TURNS).facts
    assert [f.text for f in facts] == []  # "car" has three letters, and Max is Ana's
    assert build_profile("e", "Ana", TURNS).facts == ()


@pytest.mark.parametrize(
    ("text", "enters"),
    [
        ("Ana is training for a half marathon.", True),
        ("Painting helps Ana relax.", True),
        ("Jazz is Ana's favourite.", True),
        ("Ana's sister is a nurse.", True),
        ("Ana's sister is so excited.", False),
        ("Ana coaches a youth team.", True),
        ("Ana is going to paint.", False),
        ("Seeing Ana's kids brings Ana joy.", False),
    ],
)
def test_what_counts_as_a_trait(text: str, enters: bool) -> None:
    subject = "Ana's sister" if text.startswith("Ana's sister") else "Ana"
    assert bool(build_profile("d", "Ana", [fact(text, subject=subject)]).facts) is enters
