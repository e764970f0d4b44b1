"""What one question's ranking is made of: components added one at a time, and parts of scores.

A recipe is plain dense retrieval and whatever it adds to it. `ladder` adds its components in turn
and ranks again after each; `split` and `parts` take the finished score apart. SPEC A.3: with
z = λ e_q + (1 - λ) e_p, a memory's score is the question's part, λ e_q·m / |z|, plus the profile's,
(1 - λ) e_p·m / |z|, plus boosts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import numpy as np
import polars as pl

from workbench.ask import Asking
from workbench.bank import Bank, Scores, rank_rows
from workbench.retrieve import score, semantic_scores
from workbench.schema import Recipe, Record
from workbench.scoring import Mask, Scoring, hits_of

__all__ = ["Stage", "ladder", "parts", "split", "stages"]

LADDER: dict[str, Any] = {
    "stage": pl.Int64,
    "component": pl.String,
    "turn": pl.String,
    "rank": pl.Int64,
    "layer": pl.String,
}
SPLIT: dict[str, Any] = {
    "turn": pl.String,
    "memory": pl.String,
    "part": pl.String,
    "value": pl.Float64,
    "before": pl.Int64,
    "after": pl.Int64,
}
PARTS: dict[str, Any] = {
    "rank": pl.Int64,
    "rank_without": pl.Int64,
    "memory": pl.String,
    "owner": pl.String,
    "text": pl.String,
    "sources": pl.List(pl.String),
    "evidence": pl.Boolean,
    "score": pl.Float64,
    "part": pl.String,
    "value": pl.Float64,
}


class Stage(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A recipe with its components so far; `name` is the one that was added last."""

    name: str
    recipe: Recipe


# The components in the order in which they are added: the fields that bring each in, and whether a
# recipe has it. Dense retrieval by the question alone comes before them all.
COMPONENTS: tuple[tuple[str, tuple[str, ...], Callable[[Recipe], bool]], ...] = (
    ("centring", ("centred",), lambda r: r.centred),
    ("profile prior", ("prior", "lam"), lambda r: r.prior != "none" and r.lam < 1),
    ("shared words", ("retriever", "lexical_weight"), lambda r: r.retriever == "hybrid"),
    ("dimensions", ("retriever", "boost"), lambda r: r.retriever == "ppro" and bool(r.boost)),
    (
        "threshold",
        ("retriever", "threshold"),
        lambda r: r.retriever == "ppro" and r.threshold is not None,
    ),
    ("speaker", ("speaker",), lambda r: bool(r.speaker)),
    ("lent scores", ("lend", "lend_from"), lambda r: bool(r.lend)),
    (
        "neighbours",
        ("neighbours", "neighbours_far"),
        lambda r: bool(r.neighbours or r.neighbours_far),
    ),
    ("graph index", ("retriever",), lambda r: r.retriever == "approximate"),
    (
        "semantic memories",
        ("retriever", "k_semantic"),
        lambda r: r.retriever == "ppro" and bool(r.k_semantic),
    ),
)


def stages(recipe: Recipe) -> list[Stage]:
    """The recipe built up from dense retrieval by the question alone, a component at a time. The
    last stage ranks as the recipe itself does. The lexical retriever has one stage only."""
    if recipe.retriever == "lexical":
        return [Stage(name="shared words", recipe=recipe)]
    plain = {
        "retriever": "dense",
        "prior": "none",
        "lam": 1.0,
        "k_semantic": 0,
        "threshold": None,
        "boost": 0.0,
        "centred": False,
        **dict.fromkeys(("neighbours", "neighbours_far", "speaker", "lend"), 0.0),
    }
    built = [Stage(name="question alone", recipe=msgspec.structs.replace(recipe, **plain))]
    for name, fields, contained in COMPONENTS:
        if contained(recipe):
            added: dict[str, Any] = {field: getattr(recipe, field) for field in fields}
            grown = msgspec.structs.replace(built[-1].recipe, **added)
            built.append(Stage(name=name, recipe=grown))
    return built


def ladder(one: Asking) -> pl.DataFrame:
    """Where each piece of the question's evidence stands after each component of its recipe.

    A row a stage and turn: `stage` (from 0), `component`, `turn`, its best `rank` in full depth
    (null where nothing that may be returned holds it), and the `layer` of that rank: "semantic"
    where one of the K_S semantic memories, which are read besides the K_E others, holds the turn.
    Empty without evidence.
    """
    rows = []
    for place, stage in enumerate(stages(one.recipe)):
        episodic = _ranks_of_turns(one.shelf.bank, one.ranks(stage.recipe))
        semantic = _semantic(one, stage.recipe)
        for turn in _evidence(one):
            layer = "semantic" if turn in semantic else "episodic"
            rank = semantic.get(turn, episodic.get(turn))
            rows.append((place, stage.name, turn, rank, layer))
    return pl.DataFrame(rows, schema=LADDER, orient="row")


def split(one: Asking) -> pl.DataFrame:
    """Which part of the score moves each piece of evidence how far.

    For each turn, the memory that holds it and ranks best in the end is followed: a row a part of
    its score, in the order in which the parts are added: `turn, memory, part, value` (what it adds
    to the memory's own score), and its rank `before` (null for the first part) and `after` that
    part is added to every memory. A threshold is a last part, without a value. The ranks end
    where the recipe's own ranking has them; turns that no memory holds are left out.
    """
    if not _evidence(one) or one.query.vector is None or not len(one.shelf.bank):
        return pl.DataFrame(schema=SPLIT)
    bank, scoring = one.shelf.bank, score(one.shelf, one.query, one.recipe)
    final = _ranks(scoring.total, scoring.allowed)
    steps = list(_steps(scoring))
    rows: list[tuple[Any, ...]] = []
    for turn in _evidence(one):
        held = [row for row, memory in enumerate(bank.memories) if turn in memory.sources]
        if not held:
            continue
        row = min(held, key=lambda row: (final.get(row, len(bank) + 1), row))
        before: int | None = None
        for name, part, ranks in steps:
            value, after = None if part is None else float(part[row]), ranks.get(row)
            rows.append((turn, bank.memories[row].id, name, value, before, after))
            before = after
    return pl.DataFrame(rows, schema=SPLIT, orient="row")


def parts(one: Asking, top: int = 10) -> pl.DataFrame:
    """What the scores of the first `top` memories, and of all that hold evidence, are made of.

    A row a memory and part, the best memory first: `rank` (null where a threshold forbids it),
    `rank_without` the prior, `memory, owner, text, sources`, whether it holds `evidence`, its
    `score`, and the `part` with its `value`. A memory's values add up to its score.
    """
    if one.query.vector is None or not len(one.shelf.bank):
        return pl.DataFrame(schema=PARTS)
    bank, scoring = one.shelf.bank, score(one.shelf, one.query, one.recipe)
    ranks, without = _ranks(scoring.total, scoring.allowed), one.ranks(one.alone)
    wanted = set(_evidence(one))
    far = len(bank) + 1
    shown = [
        row
        for row in sorted(range(len(bank)), key=lambda row: (ranks.get(row, far), row))
        if ranks.get(row, far) <= top or not wanted.isdisjoint(bank.memories[row].sources)
    ]
    rows = []
    for hit, row in zip(hits_of(bank, scoring, np.array(shown, np.intp)), shown, strict=True):
        memory = hit.memory
        about = {
            "rank": ranks.get(row),
            "rank_without": without.get(memory.id),
            "memory": memory.id,
            "owner": memory.owner,
            "text": memory.text,
            "sources": list(memory.sources),
            "evidence": not wanted.isdisjoint(memory.sources),
            "score": hit.score,
        }
        rows += [{**about, "part": name, "value": value} for name, value in hit.parts.items()]
    return pl.DataFrame(rows, schema=PARTS)


def _steps(scoring: Scoring) -> Iterator[tuple[str, Scores | None, dict[int, int]]]:
    """Each part of a score, its values, and the ranks by the parts so far."""
    total: Scores = np.zeros(())
    for name, part in scoring.parts.items():
        total = total + part
        yield name, part, _ranks(total, None)
    if scoring.allowed is not None:
        yield "threshold", None, _ranks(total, scoring.allowed)


def _evidence(one: Asking) -> tuple[str, ...]:
    return one.question.gold.evidence if one.question else ()


def _ranks(total: Scores, allowed: Mask | None) -> dict[int, int]:
    """The rank, from 1, of every row that may be returned."""
    return {int(row): rank for rank, row in enumerate(rank_rows(total, len(total), allowed), 1)}


def _ranks_of_turns(bank: Bank, ranks: dict[str, int]) -> dict[str, int]:
    """The best rank of a memory that holds each turn."""
    return _best((turn, ranks[m.id]) for m in bank.memories if m.id in ranks for turn in m.sources)


def _semantic(one: Asking, recipe: Recipe) -> dict[str, int]:
    """The rank of each turn among the first K_S semantic memories, where a stage has them."""
    shelf = one.shelf
    if recipe.retriever != "ppro" or one.query.vector is None or not len(shelf.semantic):
        return {}
    rows = semantic_scores(shelf, one.query).best(recipe.k_semantic)
    memories = shelf.semantic.memories
    return _best((turn, rank) for rank, row in enumerate(rows, 1) for turn in memories[row].sources)


def _best(held: Iterator[tuple[str, int]]) -> dict[str, int]:
    found: dict[str, int] = {}
    for turn, rank in held:
        found[turn] = min(rank, found.get(turn, rank))
    return found
