"""Which pairs of responses are wanted: queries of participants, with nine of their memories each.

Two sources. A participant's confirmed profile (`profile_store`): their own recent queries and
memories. A dataset of the workspace: its questions, or queries of one's own, and what each person
said in it. Either way memories are filtered to the participant *before* the core's retriever ranks
them by embedding, so nobody else's can be among the nine or push one out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from reward_model.profile_draft import Draft, memories_of
from workbench.ask import find_person
from workbench.bank import Bank
from workbench.bank_set import BankSet
from workbench.datasets.store import SAMPLE
from workbench.embed import Embedder, embed, is_blank
from workbench.errors import DataError
from workbench.retrieve import retrieve
from workbench.schema import Recipe, Record, digest_of
from workbench.shelf import Query, Shelf
from workbench.vector_cache import VectorCache

__all__ = ["MEMORIES", "Asked", "Wanted", "WantedPairs", "asked_of_questions", "read_queries"]
__all__ += ["wanted_of_dataset", "wanted_of_profile"]

MEMORIES = 9  # the paper's


class Asked(NamedTuple):
    """A query of somebody: of which scope, who, and the last turn that had been said by then."""

    scope: str
    person: str
    query: str
    until: str | None = None


class Wanted(Record, frozen=True, kw_only=True):
    """A query with its memories, best first. `sources` are the memories' ids; `synthetic` marks
    people who do not exist."""

    participant: str
    query: str
    memories: tuple[str, ...]
    sources: tuple[str, ...]
    synthetic: bool = False


class WantedPairs(NamedTuple):
    """What is wanted, and how many queries were left out, by reason."""

    pairs: list[Wanted]
    left_out: dict[str, int]


def asked_of_questions(banks: BankSet) -> tuple[list[Asked], dict[str, int]]:
    """The dataset's questions as queries of whoever asks them; those of nobody, or of several
    people, are no one's query, and are counted."""
    asked, left = [], Counter[str]()
    for one in banks.dataset.questions:
        if len(one.people) == 1:
            asked.append(Asked(one.scope, one.people[0], one.text, one.until))
        else:
            left["of nobody, or of several people"] += 1
    return asked, dict(left)


def read_queries(path: Path, banks: BankSet) -> list[Asked]:
    """Queries of a file: JSONL rows {"participant": "PERSON" or "SCOPE/PERSON", "query": "..."}.

    Raises DataError naming file and line for another row, UsageError for a participant who is
    nobody of the dataset, or several people.
    """
    found = []
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        if not line.strip():
            continue
        try:
            row = msgspec.json.decode(line, type=dict[str, Any])
            person, query = str(row["participant"]), str(row["query"])
        except (msgspec.DecodeError, UnicodeDecodeError, KeyError) as error:
            raise DataError(
                f'{path}, line {number}: write {{"participant": .., "query": ..}} a line ({error})'
            ) from error
        scope, people = find_person(banks.dataset, person)
        found.append(Asked(scope, people[0], query))
    if not found:
        raise DataError(f"{path}: holds no query")
    return found


def wanted_of_dataset(banks: BankSet, asked: Sequence[Asked], k: int = MEMORIES) -> WantedPairs:
    """The queries with the `k` memories of their person that are nearest to each."""
    vectors = banks.queries(one.query for one in asked)
    made, left = [], Counter[str]()
    for one, vector in zip(asked, vectors, strict=True):
        shelf = _own(banks.shelf(one.scope).as_of(one.until), one.person)
        who = f"{one.scope}/{one.person}"
        found = _wanted(shelf, Query(one.query, vector), who, k)
        if isinstance(found, str):
            left[found] += 1
        else:
            invented = banks.dataset.name == SAMPLE
            made.append(msgspec.structs.replace(found, synthetic=invented))
    return WantedPairs(made, dict(left))


def wanted_of_profile(
    draft: Draft, embedder: Embedder, cache: VectorCache | None = None, k: int = MEMORIES
) -> WantedPairs:
    """A participant's recent queries, each with the `k` nearest of their memories.

    Raises UsageError where the participant has not confirmed the profile.
    """
    scope = digest_of(draft.participant)
    memories = memories_of(draft, scope)
    vectors = embed([memory.text for memory in memories], "passage", embedder, cache)
    bank = Bank.build(scope, memories, vectors, embedder.fingerprint)
    empty = Bank(scope, (), np.empty((0, embedder.dim), np.float32), embedder.fingerprint)
    shelf = Shelf(scope=scope, bank=bank, semantic=empty)
    texts = [entry.text for entry in draft.queries if not is_blank(entry.text)]
    made, left = [], Counter[str]()
    for text, vector in zip(texts, embed(texts, "query", embedder, cache), strict=True):
        found = _wanted(shelf, Query(text, vector), draft.participant, k)
        if isinstance(found, str):
            left[found] += 1
        else:
            made.append(found)
    return WantedPairs(made, dict(left))


def _own(shelf: Shelf, person: str) -> Shelf:
    """The shelf with nothing but what a person of it said."""
    shelf.person(person)
    others = {memory.id for memory in shelf.bank.memories if memory.owner != person}
    return replace(shelf, bank=shelf.bank.without(others), _kept={})


def _wanted(shelf: Shelf, query: Query, participant: str, k: int) -> Wanted | str:
    """A query with its memories, or why there can be no pair."""
    if query.vector is None:
        return "the query is blank"
    hits = retrieve(shelf, query, Recipe(prior="none", lam=1.0, k=k))
    if not hits:
        return "no memories"
    return Wanted(
        participant=participant,
        query=query.text,
        memories=tuple(hit.memory.text for hit in hits),
        sources=tuple(hit.memory.id for hit in hits),
    )
