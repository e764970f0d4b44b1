"""How complete and clean the memories of a bank set are: dimensions, duplicates, orphans, coverage.

Read from the banks and the dataset in one pass; nothing is compared pair by pair.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from workbench.bank_set import BankSet
from workbench.embed import is_blank
from workbench.inspection import DIMENSIONS, LAYERS, dialogues_of, layers_of
from workbench.metrics import exclusion
from workbench.schema import Memory, Question, Turn
from workbench.stats import Basis, mean_interval

__all__ = [
    "EVERY",
    "Coverage",
    "coverage",
    "dimension_counts",
    "duplicates",
    "orphans",
    "quality_rows",
]

EVERY = "all of them"  # the category of `coverage` that holds every question
ORPHANS = dict.fromkeys(("what", "id", "owner", "session", "text", "why"), pl.String)
COPIES: dict[str, Any] = {
    **dict.fromkeys(("text", "owner"), pl.String),
    "n": pl.Int64,
    **dict.fromkeys(("memories", "sources"), pl.List(pl.String)),
}
SHARES = {
    "category": pl.String,
    "series": pl.String,
    **dict.fromkeys(("n", "pieces", "covered"), pl.Int64),
    **dict.fromkeys(("mean", "lo", "hi"), pl.Float64),
    "basis": pl.String,
}


# What `extraction_quality.quality` counts of episodic memories, for people.
COUNTED = {
    "unsupported": "without support in their sources",
    "by_chance": "that as many random turns would support",
    "duplicates": "there before in the same words",
    "junk": "junk",
}


class Coverage(NamedTuple):
    """`shares` has a row a category and layer: `category, series, n, pieces, covered, mean, lo, hi,
    basis`. `n` questions of `scopes` conversations were measurable, `excluded` were not, why."""

    shares: pl.DataFrame
    n: int
    scopes: int
    excluded: dict[str, int]

    @property
    def basis(self) -> Basis:
        """What the intervals speak of, wherever shares differ at all."""
        return "conversations" if "conversations" in self.shares["basis"] else "questions"


def dimension_counts(memories: pl.DataFrame) -> pl.DataFrame:
    """How often each value of each retrieval dimension occurs in rows of `memory_table`:
    `dimension, value, n, share` (of the rows), the commonest value of a dimension first."""
    parts = [
        memories.group_by(value=name)
        .agg(n=pl.len().cast(pl.Int64))
        .select(dimension=pl.lit(name), value="value", n="n", share=pl.col("n") / pl.sum("n"))
        .sort("n", "value", descending=[True, False])
        for name in DIMENSIONS
    ]
    return pl.concat(parts)


def quality_rows(report: Mapping[str, Any]) -> pl.DataFrame:
    """The measures of an `extraction_quality.quality` report for a reader: `what, n, share`; `n` of
    evidence counts pieces, of all else episodic memories."""
    held = report["coverage"]["layers"].get("episodic", {})
    rows = [
        ("pieces of evidence held by an episodic memory", held.get("covered"), held.get("mean"))
    ]
    rows += [(said, report[key]["n"], report[key]["share"]) for key, said in COUNTED.items()]
    schema = {"what": pl.String, "n": pl.Int64, "share": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def duplicates(banks: BankSet, scope: str) -> pl.DataFrame:
    """Episodic memories of one person that say the same in the same words, from different turns.

    Case and white space don't count. A row a text that occurs more than once, the most frequent
    first: `text, owner, n, memories, sources`. Those that merely resemble each other are
    `memory_map.near_duplicates`.
    """
    groups: dict[tuple[str, str], list[Memory]] = {}
    for memory in layers_of(banks, scope)["episodic"]:
        groups.setdefault((memory.owner, " ".join(memory.text.lower().split())), []).append(memory)
    rows = [
        (
            same[0].text,
            same[0].owner,
            len(same),
            [memory.id for memory in same],
            [source for memory in same for source in memory.sources],
        )
        for same in groups.values()
        if len(same) > 1
    ]
    found = pl.DataFrame(rows, schema=COPIES, orient="row")
    return found.sort("n", "text", descending=[True, False])


def orphans(banks: BankSet, scope: str) -> pl.DataFrame:
    """What has lost its other half: memories that rest on turns which are not there (any more),
    and turns of which nothing is remembered.

    `what` ("memory" or "turn"), `id`, `owner` (the speaker of a turn), `session`, `text`, `why`.
    A memory of the first kind should not exist: `workbench doctor` looks for the cause.
    """
    turns = {turn.id: turn for d in dialogues_of(banks.dataset, scope) for turn in d.turns}
    rows = []
    for layer, memories in layers_of(banks, scope).items():
        for memory in memories:
            gone = [source for source in memory.sources if source not in turns]
            if gone:
                why = f"{layer}: no such turn: {', '.join(gone[:5])}"
                rows.append(("memory", memory.id, memory.owner, memory.session, memory.text, why))
    held = _sources(layers_of(banks, scope)["episodic"])
    for turn in turns.values():
        if turn.id not in held:
            why = _unremembered(turn, str(banks.manifest["memories"]))
            rows.append(("turn", turn.id, turn.speaker, turn.session, turn.text, why))
    return pl.DataFrame(rows, schema=ORPHANS, orient="row")


def coverage(banks: BankSet, scope: str | None = None) -> Coverage:
    """How much of the questions' evidence the memories hold at all: what is in no memory, no
    ranking can find, so the episodic row is the highest evidence recall that is possible.

    A row a category (and `EVERY`, last) and layer: `category`, `series` (a layer), `n` questions,
    `pieces` of evidence, `covered` ones, and `mean, lo, hi` of a question's share, with 95 %
    intervals over what `basis` names (see `stats.mean_interval`).
    Over every scope where none is given. Only measurable questions count (`metrics.exclusion`);
    `shares` is empty where there are none.
    """
    if scope is not None:
        dialogues_of(banks.dataset, scope)
    within = [q for q in banks.dataset.questions if scope in (None, q.scope)]
    asked = [question for question in within if exclusion(question) is None]
    held = {one: _held(banks, one) for one in {question.scope for question in asked}}
    by_category = {
        category: [question for question in asked if question.category == category]
        for category in sorted({question.category for question in asked})
    }
    rows = [
        _covered(category, layer, questions, {one: sets[layer] for one, sets in held.items()})
        for category, questions in [*by_category.items(), (EVERY, asked)]
        for layer in LAYERS
        if questions
    ]
    excluded = Counter(filter(None, map(exclusion, within)))
    return Coverage(pl.DataFrame(rows, schema=SHARES), len(asked), len(held), dict(excluded))


def _held(banks: BankSet, scope: str) -> dict[str, set[str]]:
    """The turns that the memories of each layer rest on."""
    return {layer: _sources(memories) for layer, memories in layers_of(banks, scope).items()}


def _covered(
    category: str, layer: str, questions: Sequence[Question], held: dict[str, set[str]]
) -> dict[str, Any]:
    """A row of `coverage`; `held` are the turns that the layer rests on, by scope."""
    found = [sum(turn in held[q.scope] for turn in q.gold.evidence) for q in questions]
    pieces = [len(question.gold.evidence) for question in questions]
    shares = [n / of for n, of in zip(found, pieces, strict=True)]
    told = mean_interval(shares, [question.scope for question in questions])
    counts = {"n": len(questions), "pieces": sum(pieces), "covered": sum(found)}
    interval = {"mean": told.mean, "lo": told.lo, "hi": told.hi, "basis": told.basis}
    return {"category": category, "series": layer, **counts, **interval}


def _sources(memories: Iterable[Memory]) -> set[str]:
    return {source for memory in memories for source in memory.sources}


def _unremembered(turn: Turn, kind: str) -> str:
    """Why a turn gave no memory, as far as that is certain."""
    if turn.role == "tool":
        return "tool turns are not remembered"
    if all(is_blank(said or "") for said in (turn.text, turn.caption, turn.attachment)):
        return "the turn is blank"
    if turn.role == "assistant" and kind == "facts":
        return "only people state facts of themselves, not an assistant"
    return {"facts": "no rule reads a fact in it"}.get(kind, "no memory names it as a source")
