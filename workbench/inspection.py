"""What a bank set holds, as tables: sessions, memories, and the dialogue that they come from.

Everything here is read from a dataset and its banks, for one scope at a time, in one pass: a scope
of 300,000 turns is a matter of seconds. How complete and clean the memories are is told by
`workbench.memory_quality`, what their vectors say by `workbench.memory_map`, and what a session
added by `workbench.streaming`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import polars as pl

from workbench.bank_set import BankSet
from workbench.build import by_scope
from workbench.datasets.report import Dataset
from workbench.errors import UsageError
from workbench.schema import Dialogue, Memory, Turn

__all__ = [
    "DIMENSIONS",
    "LAYERS",
    "by_month",
    "context",
    "dialogues_of",
    "history",
    "layers_of",
    "memory_rows",
    "memory_table",
    "sessions_of",
    "timeline",
]

LAYERS = ("episodic", "semantic", "profile")
DIMENSIONS = ("tense", "subjectivity", "certainty")

TIMELINE = {
    "place": pl.Int64,
    "dialogue": pl.String,
    "title": pl.String,
    "session": pl.String,
    "start": pl.Datetime,
    "end": pl.Datetime,
    "turns": pl.Int64,
    "speakers": pl.String,
}
MEMORIES: dict[str, Any] = {
    "memory": pl.String,
    "layer": pl.String,
    "kind": pl.String,
    "owner": pl.String,
    "subject": pl.String,
    "text": pl.String,
    "time": pl.Datetime,
    "session": pl.String,
    **dict.fromkeys(DIMENSIONS, pl.String),
    "sources": pl.List(pl.String),
}
CONTEXT = {
    "dialogue": pl.String,
    "session": pl.String,
    "turn": pl.String,
    "speaker": pl.String,
    "role": pl.String,
    "time": pl.Datetime,
    "text": pl.String,
    "caption": pl.String,
    "attachment": pl.String,
    "evidence": pl.Boolean,
    "gap": pl.Boolean,
}


def timeline(dataset: Dataset, scope: str) -> pl.DataFrame:
    """A row a session of a scope, in reading order.

    `place` (from 1), `dialogue`, its `title`, `session`, `start` and `end` (as the source states
    them, zones dropped; null where it states none), `turns`, and `speakers` ("Ana 12 · Bo 11":
    turns of each). Raises UsageError for an unknown scope, as everything here does.
    """
    rows = []
    for place, (dialogue, session, turns) in enumerate(sessions_of(dataset, scope), start=1):
        times = [turn.time.replace(tzinfo=None) for turn in turns if turn.time]
        spoken = Counter(turn.speaker for turn in turns)
        rows.append(
            {
                "place": place,
                "dialogue": dialogue.id,
                "title": dialogue.title,
                "session": session,
                "start": min(times, default=None),
                "end": max(times, default=None),
                "turns": len(turns),
                "speakers": " · ".join(f"{who} {n:,}" for who, n in spoken.most_common(8)),
            }
        )
    return pl.DataFrame(rows, schema=TIMELINE)


def history(banks: BankSet, scope: str) -> pl.DataFrame:
    """`timeline` with `memories`: how many episodic ones each session gave (one that rests on
    several sessions counts for the first)."""
    sessions = sessions_of(banks.dataset, scope)
    place = {turn.id: at for at, (_, _, said) in enumerate(sessions) for turn in said}
    memories = layers_of(banks, scope)["episodic"]
    gave = Counter(place.get(memory.sources[0]) for memory in memories)
    counts = pl.Series("memories", [gave[at] for at in range(len(sessions))], pl.Int64)
    return timeline(banks.dataset, scope).with_columns(counts)


def by_month(sessions: pl.DataFrame) -> pl.DataFrame:
    """`timeline` with a row a calendar month that has sessions: for histories with too many to be
    drawn one by one. `sessions` counts them; those without a time are left out."""
    dated = sessions.drop_nulls("start").with_columns(start=pl.col("start").dt.truncate("1mo"))
    counted = [name for name in ("turns", "memories") if name in sessions.columns]
    months = dated.group_by("start").agg(pl.col(counted).sum(), sessions=pl.len()).sort("start")
    return months.with_row_index("place", offset=1)


def memory_table(banks: BankSet, scope: str) -> pl.DataFrame:
    """Every memory of a scope: the episodic ones, the semantic ones, both in reading order of their
    first sources, and the profiles' facts.

    `memory` (its id), `layer` (see `LAYERS`), `kind`, `owner` (who said it; whose profile it is),
    `subject`, `text`, `time` (zone dropped), `session`, `tense`, `subjectivity`, `certainty`, and
    `sources`, the ids of the turns that it rests on.
    """
    turns = (turn.id for _, _, turns in sessions_of(banks.dataset, scope) for turn in turns)
    place = {turn: number for number, turn in enumerate(turns)}
    layers = layers_of(banks, scope)
    for layer in ("episodic", "semantic"):
        layers[layer] = sorted(layers[layer], key=lambda m: place.get(m.sources[0], -1))
    return pl.concat([memory_rows(layer, memories) for layer, memories in layers.items()])


def layers_of(banks: BankSet, scope: str) -> dict[str, Sequence[Memory]]:
    """The memories of a scope by layer; a profile's facts person by person."""
    dialogues_of(banks.dataset, scope)
    people = banks.people.get(scope, {}).values()
    banked = {"episodic": banks.episodic, "semantic": banks.semantic}
    found: dict[str, Sequence[Memory]] = {
        layer: of[scope].memories if scope in of else () for layer, of in banked.items()
    }
    return {**found, "profile": [fact for person in people for fact in person.profile.facts]}


def memory_rows(layer: str, memories: Sequence[Memory]) -> pl.DataFrame:
    """The rows of `memory_table` for some memories of one layer, in their order."""
    return pl.DataFrame(
        {
            "memory": [m.id for m in memories],
            "layer": [layer] * len(memories),
            "kind": [m.kind for m in memories],
            "owner": [m.owner for m in memories],
            "subject": [m.subject for m in memories],
            "text": [m.text for m in memories],
            "time": [_wall(m.time) for m in memories],
            "session": [m.session for m in memories],
            **{name: [getattr(m.dimensions, name) for m in memories] for name in DIMENSIONS},
            "sources": [list(m.sources) for m in memories],
        },
        schema=MEMORIES,
    )


def context(dataset: Dataset, scope: str, turn_ids: Iterable[str], around: int = 2) -> pl.DataFrame:
    """The dialogue around some turns: those, and up to `around` before and after in the session.

    `dialogue, session, turn, speaker, role, time, text, caption, attachment`; `evidence`, whether
    the turn is one of `turn_ids`; `gap`, whether turns are left out before it. In reading order;
    ids of no turn are passed over.
    """
    wanted = set(turn_ids)
    rows = []
    for dialogue in dialogues_of(dataset, scope):
        turns, last = dialogue.turns, None
        for place in _around(turns, wanted, around):
            turn = turns[place]
            rows.append(
                {
                    "dialogue": dialogue.id,
                    "turn": turn.id,
                    **{name: getattr(turn, name) for name in ("session", "speaker", "role")},
                    **{name: getattr(turn, name) for name in ("text", "caption", "attachment")},
                    "time": _wall(turn.time),
                    "evidence": turn.id in wanted,
                    "gap": last is not None and place != last + 1,
                }
            )
            last = place
    return pl.DataFrame(rows, schema=CONTEXT)


def dialogues_of(dataset: Dataset, scope: str) -> list[Dialogue]:
    """The dialogues of a scope. Raises UsageError, with scopes that there are, for no such one."""
    found = by_scope(dataset)
    if scope not in found:
        known = ", ".join(list(found)[:12]) or "none"
        raise UsageError(f"{dataset.name} has no scope {scope!r}; it has: {known}")
    return found[scope]


def sessions_of(dataset: Dataset, scope: str) -> list[tuple[Dialogue, str, list[Turn]]]:
    """The sessions of a scope in reading order: dialogue, session and its turns."""
    found: dict[tuple[str, str], tuple[Dialogue, str, list[Turn]]] = {}
    for dialogue in dialogues_of(dataset, scope):
        for turn in dialogue.turns:
            key = (dialogue.id, turn.session)
            found.setdefault(key, (dialogue, turn.session, []))[2].append(turn)
    return list(found.values())


def _around(turns: Sequence[Turn], wanted: set[str], around: int) -> list[int]:
    """Places of the wanted turns and of their neighbours in the same session."""
    places = (place for place, turn in enumerate(turns) if turn.id in wanted)
    near = {
        other
        for place in places
        for other in range(max(place - around, 0), min(place + around + 1, len(turns)))
        if turns[other].session == turns[place].session
    }
    return sorted(near)


def _wall(time: datetime | None) -> datetime | None:
    """A time as its source's clock showed it: some sources name zones, and some none."""
    return None if time is None else time.replace(tzinfo=None)
