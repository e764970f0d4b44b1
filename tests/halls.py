"""A whole bank set by hand, several scopes with questions, without a model or a build."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rooms import Vectors, memory, unit
from workbench.bank import Bank
from workbench.cells import Study
from workbench.datasets.report import Dataset
from workbench.library import BankSet
from workbench.schema import Dialogue, Gold, Profile, Question, Turn
from workbench.shelf import ProfileVectors
from workbench.workspace import Workspace

WIDTH = 6
SCOPES = ("s1", "s2", "s3", "s4")
PEOPLE = ("Ana", "Bo")
TURNS, ASKED = 40, 9


class Embedder:
    """Vectors drawn by the text's checksum, from few coordinates: many scores are equal."""

    name, fingerprint, dim, threshold = "drawn", "fp", WIDTH, None

    def prompt(self, side: str) -> str:
        return ""

    def excess(self, texts: Sequence[str], side: str) -> list[int]:
        return [0] * len(texts)

    def encode(self, texts: Sequence[str], side: str) -> Vectors:
        return np.stack([drawn(text) for text in texts])


def drawn(text: str) -> Vectors:
    coordinates = np.random.default_rng(zlib.crc32(text.encode())).integers(-1, 2, WIDTH)
    return unit(coordinates if coordinates.any() else np.ones(WIDTH))


def hall() -> BankSet:
    """Four scopes of 40 turns, some of them said twice; facts, profiles and semantic memories."""
    dialogues, questions, episodic, semantic, people = [], [], {}, {}, {}
    for scope in SCOPES:
        turns = [_turn(scope, place) for place in range(TURNS)]
        dialogues.append(Dialogue(id=scope, scope=scope, turns=tuple(turns)))
        episodic[scope] = _bank(scope, "m", [(turn.id,) for turn in turns], turns)
        pairs = [(turns[place].id, turns[place + 3].id) for place in range(0, 24, 4)]
        semantic[scope] = _bank(scope, "z", pairs, turns)
        people[scope] = {name: _person(scope, name) for name in PEOPLE}
        questions += [_question(scope, number) for number in range(ASKED)]
    nothing = Question(id="none", scope="s1", text="word1", people=("Ana",))
    declined = Question(id="declined", scope="s2", text="word2", abstention=True)
    dataset = Dataset(
        name="hall",
        format="jsonl",
        dialogues=tuple(dialogues),
        questions=(*questions[::2], nothing, declined, *questions[1::2]),
        splits={"s1": "train", "s2": "validation", "s3": "test", "s4": "test"},
    )
    manifest = {"id": "hall", "memories": "turns", "embedder": "drawn", "content": "c0"}
    return BankSet(
        "hall",
        manifest,
        dataset,
        Embedder(),
        None,
        episodic,
        semantic,
        people,  # type: ignore[arg-type]
    )


def study(folder: Path, **given: Any) -> Study:
    return Study(Workspace(folder), hall(), **given)


def _turn(scope: str, place: int) -> Turn:
    text = f"word{place % 7} word{place % 5} in {scope}"
    speaker = PEOPLE[place % 2]
    return Turn(id=f"{scope}:{place:02d}", session=str(place // 10), speaker=speaker, text=text)


def _bank(scope: str, stem: str, sources: list[tuple[str, ...]], turns: list[Turn]) -> Bank:
    of = {turn.id: (turn, place) for place, turn in enumerate(turns)}
    made = [
        memory(
            f"{stem}{number:02d}",
            of[held[0]][0].text,
            scope=scope,
            sources=held,
            owner=of[held[0]][0].speaker,
            session=of[held[0]][0].session,
            place=of[held[0]][1] % 10,
        )
        for number, held in enumerate(sources)
    ]
    return Bank.build(scope, made, np.stack([drawn(m.text) for m in made]), "fp")


def _person(scope: str, name: str) -> ProfileVectors:
    facts = tuple(
        memory(f"{name}{i}", f"{name} of {scope} likes {i}", kind="fact", scope=scope)
        for i in range(3)
    )
    rows = np.stack([drawn(fact.text) for fact in facts])
    return ProfileVectors(Profile(scope=scope, person=name, facts=facts), rows, drawn(name + scope))


def _question(scope: str, number: int) -> Question:
    """Every third names both people, every fourth was asked in the middle; one to three turns of
    evidence, said before that."""
    evidence = tuple(f"{scope}:{(7 * number + 5 * i) % 30:02d}" for i in range(1 + number % 3))
    return Question(
        id=f"{scope}/{number}",
        scope=scope,
        text=f"word{number} word{number + 2} of {scope}?",
        category="even" if number % 2 == 0 else "odd",
        people=PEOPLE if number % 3 == 0 else PEOPLE[number % 2 : number % 2 + 1],
        gold=Gold(answer="x", evidence=evidence),
        until=f"{scope}:30" if number % 4 == 0 else None,
    )
