"""What the prior does to each question: helps, hurts or leaves it; and what is missed anyway."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from workbench.cells import Study
from workbench.schema import Recipe
from workbench.stats import EQUAL, interval_matrix
from workbench.surface import RankTable

__all__ = ["EFFECTS", "GRID", "Ranked", "by_user", "effect_on", "effects", "flipped", "ranked"]

EFFECTS = ("helped", "hurt", "unchanged", "missed")
# The λ that are ranked at once: as many cost hardly more than one.
GRID = tuple(step / 20 for step in range(21))

# What is ranked lower than this counts as not found.
DEPTH = 200


class Ranked(NamedTuple):
    """Every question of a study ranked at many λ, 1 among them: effects at any of these, and at
    any K up to 200, are a look-up."""

    study: Study
    lams: tuple[float, ...]
    table: RankTable
    first: npt.NDArray[np.int64]  # (q, λ) rank of the piece found first, 0 where none is

    def at(self, lam: float, k: int) -> pl.DataFrame:
        """What `effects` returns, at one of the λ and a K. Raises ValueError for another λ."""
        columns = [self.lams.index(lam), self.lams.index(1.0)]
        having, without = self.table.recall([k])[:, columns, 0].T
        rank_having, rank_without = self.first[:, columns].T
        asked = self.study.questions
        frame = pl.DataFrame(
            {
                "question": [q.id for q in asked],
                "scope": [q.scope for q in asked],
                "user": [" & ".join(q.people) for q in asked],
                "category": [q.category for q in asked],
                "text": [q.text for q in asked],
                "without": without,
                "having": having,
                "rank_without": _found(rank_without),
                "rank_having": _found(rank_having),
            }
        )
        change = pl.col("having") - pl.col("without")
        return frame.with_columns(
            change=change,
            effect=pl.when(change > EQUAL)
            .then(pl.lit("helped"))
            .when(change < -EQUAL)
            .then(pl.lit("hurt"))
            .otherwise(pl.lit("unchanged")),
            missed=pl.col("having") < 1 - EQUAL,
        )


def effects(study: Study, recipe: Recipe, k: int) -> pl.DataFrame:
    """One row a measurable question, in the dataset's order, for the recipe at its own λ.

    `question, scope, user, category, text`; `without` and `having`, its evidence recall@k with
    λ = 1 and with the recipe's λ; `change`, their difference; `rank_without` and `rank_having`, the
    rank of the piece of evidence found first (null where none is ranked, or beyond 200);
    `effect`, one of "helped", "hurt", "unchanged"; and `missed`, whether evidence is missing among
    the first k with the prior. A question that names several people has the user "A & B".
    """
    return ranked(study, recipe, (recipe.lam,)).at(recipe.lam, k)


def ranked(study: Study, recipe: Recipe, lams: Sequence[float] = GRID) -> Ranked:
    """Every measurable question ranked under a recipe at some λ, and at 1, in one pass.

    Raises UsageError for a recipe that cannot be meant, or where nothing can be measured.
    """
    recipe, _ = study.ready(recipe)
    wanted = (*(lam for lam in lams if lam != 1.0), 1.0)
    table = study.ranks(msgspec.structs.replace(recipe, lam=1.0, k=DEPTH), wanted)
    return Ranked(study, wanted, table, _first(table))


def effect_on(places: Sequence[Mapping[str, Any]], k: int) -> tuple[str, int, int]:
    """What the prior does to one question, of the `places` of its evidence that `workbench.ask.ask`
    gives: one of "helped", "hurt", "unchanged", as `effects` has it, and how many pieces are among
    the first k without and with the prior."""
    had, has = (
        sum(place[side] is not None and place[side] <= k for place in places)
        for side in ("without", "with")
    )
    return ("unchanged" if has == had else "helped" if has > had else "hurt"), had, has


def flipped(frame: pl.DataFrame) -> pl.DataFrame:
    """The questions of `effects` that the prior changes, the largest changes first."""
    changed = frame.filter(pl.col("effect") != "unchanged")
    return changed.sort(pl.col("change").abs(), "question", descending=[True, False])


def by_user(frame: pl.DataFrame, level: float = 0.95) -> pl.DataFrame:
    """Whom the prior helps and whom it harms: a row a scope and user of `effects`, those whom it
    harms most first.

    `scope, user, n, mean, lo, hi` (of `change`, with an interval over that user's questions, null
    where there are too few) and how many questions were `helped`, `hurt` and left `unchanged`.
    """
    rows = []
    for part in frame.partition_by("scope", "user", maintain_order=True):
        changes = part["change"].to_numpy()[:, None]
        mean, lo, hi = interval_matrix(
            changes, part["scope"].to_list(), level=level, differences=True
        )
        kinds = part["effect"].to_list()
        rows.append(
            {
                "scope": part["scope"][0],
                "user": part["user"][0],
                "n": len(part),
                "mean": float(mean[0]),
                "lo": float(lo[0]) if np.isfinite(lo[0]) else None,
                "hi": float(hi[0]) if np.isfinite(hi[0]) else None,
                **{effect: kinds.count(effect) for effect in EFFECTS[:3]},
            }
        )
    kept = ("scope", "user", "n", "mean", "lo", "hi", *EFFECTS[:3])
    if not rows:
        return pl.DataFrame(schema=list(kept))
    return pl.DataFrame(rows, infer_schema_length=None).sort("mean", "scope", "user")


def _found(ranks: npt.NDArray[np.int64]) -> pl.Series:
    return pl.Series([int(rank) or None for rank in ranks], dtype=pl.Int64)


def _first(table: RankTable) -> npt.NDArray[np.int64]:
    """(q, λ) the best rank of each question's pieces of evidence, 0 where none is in the depth."""
    far = DEPTH + 1
    seen = np.where((table.ranks > 0) & (table.ranks <= DEPTH), table.ranks, far).astype(np.int64)
    starts = np.concatenate([[0], np.cumsum(table.counts)[:-1]]).astype(np.intp)
    best = np.minimum.reduceat(seen, starts, axis=0)
    return np.where(best == far, 0, best)
