"""A shelf: everything that one scope offers to a question, ready to be ranked.

It holds the episodic bank that is ranked, the semantic bank, the banks of other kinds of memory
(for centroids) and the profiles of everyone whose profile a prior or a control may need.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt

from workbench.bank import Bank
from workbench.embed import Vectors
from workbench.errors import UsageError
from workbench.lexical import LexicalIndex
from workbench.schema import Dimensions, Memory, Profile

__all__ = ["ProfileVectors", "Query", "Shelf"]


T = TypeVar("T")

# What a question asks for, where nothing is known of it.
ANYTHING = Dimensions()


@dataclass(frozen=True)
class ProfileVectors:
    """A profile with the vectors of its facts (f, d) and of its text (d,), None where empty."""

    profile: Profile
    facts: Vectors
    text: npt.NDArray[np.float32] | None

    def only(self, wanted: Callable[[Memory], bool]) -> ProfileVectors:
        """The profile of some of its facts; its text's vector is then the mean of theirs."""
        rows = [row for row, fact in enumerate(self.profile.facts) if wanted(fact)]
        if len(rows) == len(self.profile.facts):
            return self
        facts = tuple(self.profile.facts[row] for row in rows)
        mean = self.facts[rows].mean(axis=0) if rows else None
        text = None if mean is None else (mean / np.linalg.norm(mean)).astype(np.float32)
        return ProfileVectors(
            msgspec.structs.replace(self.profile, facts=facts), self.facts[rows], text
        )


@dataclass(frozen=True)
class Query:
    """A question as the retriever sees it: nothing of its gold.

    `vector` (d,) is None for a blank question, which finds nothing.
    """

    text: str
    vector: npt.NDArray[np.float32] | None
    people: tuple[str, ...] = ()
    dimensions: Dimensions = ANYTHING
    until: str | None = None


@dataclass(frozen=True)
class Shelf:
    """One scope's banks and people. `positions` is the reading order of its turns, `sessions` the
    session of each."""

    scope: str
    bank: Bank
    semantic: Bank
    sources: dict[str, Bank] = field(default_factory=dict)
    people: dict[str, ProfileVectors] = field(default_factory=dict)
    strangers: tuple[ProfileVectors, ...] = ()
    positions: dict[str, int] = field(default_factory=dict)
    sessions: dict[str, str] = field(default_factory=dict)
    _kept: dict[object, Any] = field(default_factory=dict, repr=False, compare=False)

    def once(self, key: object, make: Callable[[], T]) -> T:
        """What `make` returns, made on the first call with this key only: for whatever depends
        on the shelf but not on the question."""
        if key not in self._kept:
            self._kept[key] = make()
        kept: T = self._kept[key]
        return kept

    @cached_property
    def lexical(self) -> LexicalIndex:
        return LexicalIndex(memory.text for memory in self.bank.memories)

    @cached_property
    def group(self) -> npt.NDArray[np.intp]:
        """(n,) number of the place (session and position) of each memory, from 1: several facts of
        one turn share it."""
        return self.group_at(0)

    def group_at(self, steps: int) -> npt.NDArray[np.intp]:
        """(n,) number of the place `steps` turns further on in the session; 0 is "nobody there"."""

        def find() -> npt.NDArray[np.intp]:
            places = [(memory.session, memory.place) for memory in self.bank.memories]
            numbers = {place: number for number, place in enumerate(dict.fromkeys(places), start=1)}
            found = [numbers.get((session, place + steps), 0) for session, place in places]
            return np.asarray(found, dtype=np.intp)

        return self.once(("group", steps), find)

    def spoken_by(self, people: tuple[str, ...]) -> npt.NDArray[np.float64]:
        """(n,) 1 where one of the people said it, else 0."""

        def find() -> npt.NDArray[np.float64]:
            return np.asarray([memory.owner in people for memory in self.bank.memories], np.float64)

        return self.once(("spoken", people), find)

    def centred(self, kind: str) -> tuple[npt.NDArray[np.float32], Vectors]:
        """The mean (d,) of a kind of memory, and its vectors (n, d) less that mean, unit rows."""

        def find() -> tuple[npt.NDArray[np.float32], Vectors]:
            vectors = self.sources[kind].vectors if kind else self.bank.vectors
            mean = vectors.mean(axis=0, dtype=np.float64).astype(np.float32)
            rest = vectors - mean
            lengths = np.maximum(np.linalg.norm(rest, axis=1, keepdims=True), 1e-9)
            return mean, (rest / lengths).astype(np.float32)

        return self.once(("centred", kind), find)

    @cached_property
    def centred_bank(self) -> Bank:
        """The bank with its mean taken off every vector."""
        return replace(self.bank, vectors=self.centred("")[1])

    def recentre(self, vector: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """A unit vector (d,) less the bank's mean, again of unit length."""
        rest = vector - self.centred("")[0]
        return (rest / max(float(np.linalg.norm(rest)), 1e-9)).astype(np.float32)

    @cached_property
    def dimensions(self) -> npt.NDArray[np.str_]:
        """(n, 3) tense, subjectivity and certainty of every memory."""
        rows = [
            (m.dimensions.tense, m.dimensions.subjectivity, m.dimensions.certainty)
            for m in self.bank.memories
        ]
        return np.asarray(rows, dtype="U11").reshape(len(rows), 3)

    def agreements(self, asked: Dimensions) -> npt.NDArray[np.float64]:
        """(n,) number of dimensions, 0..3, that are known and equal in memory and question."""
        shared = np.zeros(len(self.bank))
        for column, value in enumerate((asked.tense, asked.subjectivity, asked.certainty)):
            if value != "unknown":
                shared += self.dimensions[:, column] == value
        return shared

    def person(self, name: str) -> str:
        """The name itself, where it is one of this scope's people."""
        if name not in self.people:
            known = ", ".join(self.people) or "nobody"
            raise UsageError(f"{name!r} is nobody of {self.scope!r}; its people are: {known}")
        return name

    def as_of(self, until: str | None) -> Shelf:
        """This shelf as it stood when turn `until` had just been said: no memory, profile fact or
        mean knows of anything later. The whole shelf for None.

        A profile that loses facts is represented by the mean of those left, since its text as it
        then was has no vector.
        """
        if until is None:
            return self
        return self.once(("as of", until), lambda: self._cut(self.positions[until]))

    def _cut(self, last: int) -> Shelf:
        def said(memory: Memory) -> bool:
            return all(self.positions.get(source, last) <= last for source in memory.sources)

        return replace(
            self,
            bank=_only(self.bank, said),
            semantic=_only(self.semantic, said),
            sources={kind: _only(bank, said) for kind, bank in self.sources.items()},
            people={name: person.only(said) for name, person in self.people.items()},
            _kept={},
        )


def _only(bank: Bank, wanted: Callable[[Memory], bool]) -> Bank:
    return bank.without({memory.id for memory in bank.memories if not wanted(memory)})
