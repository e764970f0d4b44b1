"""What a session added: memories, semantic clusters and profile facts before and after it.

Both moments are made by the rules as if the history had ended there, so the difference is what
adding the session to a finished bank would have to bring about:

- Episodic memories only come: each rests on its own turns, and adding equals rebuilding.
- Semantic clusters are of complete linkage: a new memory can join a cluster, found one with an old
  memory, or come between the members of an old one, which then breaks up. So clusters cannot just
  be appended to; they are made anew, for both moments.
- A profile may replace a fact (a new job), or drop one that is crowded out by newer ones.

Beyond a stated number of turns nothing is made anew: then clusters and facts are those of the
finished banks that rest on nothing later, and the result says that it is not a rebuilding.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import polars as pl

from workbench.bank import Bank
from workbench.bank_set import BankSet
from workbench.build import TAU_CLUSTER
from workbench.errors import UsageError
from workbench.inspection import LAYERS, dialogues_of, layers_of, memory_rows, sessions_of
from workbench.memory.episodic import fact_memories, turn_memories
from workbench.memory.profile import build_profile
from workbench.memory.semantic import aggregate
from workbench.schema import Memory

__all__ = ["CHANGES", "Difference", "session_added"]

# What can happen to a memory, a cluster or a fact of a profile.
CHANGES = ("unchanged", "new", "grown", "gone")
MOST_TURNS = 10_000  # up to which clusters and profiles are made anew: some seconds on two cores

CHANGED: dict[str, Any] = {
    **dict.fromkeys(("layer", "change", "owner", "text"), pl.String),
    "before": pl.List(pl.String),
    "after": pl.List(pl.String),
}
COUNTS = {"layer": pl.String, "change": pl.String, "n": pl.Int64}


class Difference(NamedTuple):
    """What a session added.

    `memories` are the new episodic ones, as in `inspection.memory_table`. `changes` has `layer`
    ("semantic", "profile"), `change` (see `CHANGES`), `owner`, `text`, and the source turns
    `before` and `after`. `counts` has `layer, change, n`, the episodic layer among them. `rebuilt`
    says whether both moments were made anew.
    """

    session: str
    turns: int
    memories: pl.DataFrame
    changes: pl.DataFrame
    counts: pl.DataFrame
    rebuilt: bool


class _Moment(NamedTuple):
    """What was known at some time: the memories of each layer."""

    episodic: Bank
    layers: dict[str, Sequence[Memory]]


def session_added(
    banks: BankSet, scope: str, place: int, most_turns: int = MOST_TURNS
) -> Difference:
    """What the session at a `place` (from 1, in reading order: `inspection.timeline`) added.

    Raises UsageError where there is no such session, or no such scope.
    """
    sessions = sessions_of(banks.dataset, scope)
    if not 1 <= place <= len(sessions):
        raise UsageError(f"{scope} has {len(sessions)} sessions; there is no session {place}")
    _, name, turns = sessions[place - 1]
    told = {turn.id for _, _, said in sessions[: place - 1] for turn in said}
    then = told | {turn.id for turn in turns}
    rebuilt = len(then) <= most_turns
    known = _statements(banks, scope, then) if rebuilt else ()
    before, after = (_moment(banks, scope, known, said) for said in (told, then))
    if rebuilt:
        before, after = _anew(before), _anew(after)
    order = {turn.id: number for number, turn in enumerate(turns)}
    added = sorted(
        (memory for memory in after.episodic.memories if memory.id not in before.episodic.rows),
        key=lambda memory: (order.get(memory.sources[0], 0), memory.id),
    )
    changes = pl.concat(
        [_changes(layer, before.layers[layer], after.layers[layer]) for layer in after.layers]
    )
    new = {"new": len(added), "unchanged": len(after.episodic) - len(added)}
    return Difference(
        name, len(turns), memory_rows("episodic", added), changes, _counts(new, changes), rebuilt
    )


def _statements(banks: BankSet, scope: str, said: set[str]) -> list[Memory]:
    """What profiles are made of when some turns are said, as `build.remember` has it: facts or
    observations, and turns."""
    missing = fact_memories if banks.manifest["memories"] == "turns" else turn_memories
    extracted: list[Memory] = []
    for dialogue in dialogues_of(banks.dataset, scope):
        by_then = tuple(turn for turn in dialogue.turns if turn.id in said)
        extracted += missing(msgspec.structs.replace(dialogue, turns=by_then)).memories
    return [*_said(layers_of(banks, scope)["episodic"], said), *extracted]


def _moment(banks: BankSet, scope: str, known: Sequence[Memory], said: set[str]) -> _Moment:
    """The finished banks less what rests on a turn not yet said; profiles of `known`, if any."""
    finished = layers_of(banks, scope)
    late = {memory.id for memory in finished["episodic"] if not said.issuperset(memory.sources)}
    whole = banks.shelf(scope).bank
    layers: dict[str, Sequence[Memory]] = {
        layer: _said(finished[layer], said) for layer in ("semantic", "profile")
    }
    if known:
        by_then = _said(known, said)
        people = banks.people.get(scope, {})
        profiles = (build_profile(scope, person, by_then) for person in people)
        layers["profile"] = [fact for profile in profiles for fact in profile.facts]
    return _Moment(whole.without(late), layers)


def _anew(moment: _Moment) -> _Moment:
    """The moment with its clusters made of its own memories."""
    bank = moment.episodic
    clusters = aggregate(bank.memories, bank.vectors, TAU_CLUSTER)
    return _Moment(bank, {**moment.layers, "semantic": clusters})


def _said(memories: Iterable[Memory], said: set[str]) -> list[Memory]:
    return [memory for memory in memories if said.issuperset(memory.sources)]


def _changes(layer: str, before: Sequence[Memory], after: Sequence[Memory]) -> pl.DataFrame:
    """Each memory of two moments, and what became of it.

    One with the same id is the same, grown where its sources have changed. One with a new id, too,
    has grown where it holds all the sources of one of the same owner that is there no longer.
    """
    ids = {memory.id for memory in after}
    kept = {memory.id: memory for memory in before if memory.id in ids}
    left = {memory.id: memory for memory in before if memory.id not in ids}
    rows = []
    for memory in after:
        olds = [kept[memory.id]] if memory.id in kept else _absorbed(left.values(), memory)
        for old in olds:
            left.pop(old.id, None)
        was = [source for old in olds for source in old.sources]
        same = memory.id in kept and set(was) == set(memory.sources)
        change = "unchanged" if same else "grown" if olds else "new"
        rows.append((layer, change, memory.owner, memory.text, was, list(memory.sources)))
    for old in left.values():
        rows.append((layer, "gone", old.owner, old.text, list(old.sources), []))
    return pl.DataFrame(rows, schema=CHANGED, orient="row")


def _absorbed(olds: Iterable[Memory], new: Memory) -> list[Memory]:
    """Memories of the same owner whose sources are all among the new one's."""
    held = set(new.sources)
    return [old for old in olds if old.owner == new.owner and held.issuperset(old.sources)]


def _counts(episodic: Mapping[str, int], changes: pl.DataFrame) -> pl.DataFrame:
    """How many memories of each layer underwent each change."""
    counted = changes.group_by("layer", "change").len()
    found = {(layer, change): n for layer, change, n in counted.iter_rows()}
    found |= {("episodic", change): n for change, n in episodic.items()}
    rows = [
        (layer, change, found.get((layer, change), 0)) for layer in LAYERS for change in CHANGES
    ]
    return pl.DataFrame(rows, schema=COUNTS, orient="row")
