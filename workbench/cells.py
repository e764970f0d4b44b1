"""A study: the questions of one dataset, measured under one recipe after another.

What is measured, the evidence ranks of one scope under one recipe at some λ, is a *cell*. Cells are
kept in the cache by the digest of everything they depend on, the code included, so a sweep that is
killed goes on where it was, and two sweeps share what they have in common. A damaged cell is a
miss. Cells hold ranks only: nothing of what anybody said.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from workbench.errors import UsageError
from workbench.library import BankSet
from workbench.metrics import exclusion
from workbench.parallel import ALONE, Workers, spread
from workbench.prepare import effective, in_split, query_of, sources_for
from workbench.provenance import code_digest
from workbench.retrieve import check_recipe
from workbench.schema import Question, Recipe, digest_of
from workbench.shelf import Shelf
from workbench.surface import RankMatrix, RankTable, Task, evidence_ranks_by_lambda
from workbench.workspace import Workspace, write_atomically

__all__ = ["Study"]

Progress = Callable[[str, int, int], None]

DIGEST_BYTES = 32


@dataclass(frozen=True)
class Study:
    """The measurable questions of a split, their vectors, and how they are to be measured.

    `seed` and `level` (of intervals) are for whoever makes statistics of the ranks, `rewriter` says
    whose words the questions of `banks` are in (`rewritten.rewritten`), where not their own.
    """

    workspace: Workspace
    banks: BankSet
    split: str = "all"
    seed: int = 0
    level: float = 0.95
    workers: Workers = ALONE
    progress: Progress | None = None
    rewriter: dict[str, Any] | None = None

    @cached_property
    def questions(self) -> list[Question]:
        """In the dataset's order. Raises UsageError where none can be measured."""
        kept = [q for q in in_split(self.banks, self.split) if exclusion(q) is None]
        if not kept:
            raise UsageError(f"{self.banks.dataset.name} ({self.split}): no question has evidence")
        return kept

    @cached_property
    def excluded(self) -> dict[str, int]:
        """How many questions of the split are not measured, by reason."""
        reasons = filter(None, map(exclusion, in_split(self.banks, self.split)))
        return dict(sorted(Counter(reasons).items()))

    @cached_property
    def clusters(self) -> list[str]:
        """The scope of each question: what its interval is clustered by."""
        return [question.scope for question in self.questions]

    @property
    def scopes(self) -> list[str]:
        """The scopes that have questions, sorted: one cell each."""
        return sorted(set(self.clusters))

    @property
    def about(self) -> dict[str, Any]:
        """What every report of this study says of its data."""
        return {
            "dataset": self.banks.dataset.name,
            "split": self.split,
            "banks": self.banks.id,
            "n": len(self.questions),
            "excluded": self.excluded,
            "level": self.level,
            "seed": self.seed,
            **({"rewriter": self.rewriter} if self.rewriter else {}),
        }

    @property
    def identity(self) -> dict[str, Any]:
        """What a run of this study depends on, besides its recipe and grid."""
        return {
            **self.about,
            "content": self.banks.manifest["content"],
            "memories": self.banks.manifest["memories"],
            "embedder": self.banks.manifest["embedder"],
            "questions": digest_of([_asked(question) for question in self.questions]),
            "rules": code_digest(),
        }

    def ready(self, recipe: Recipe) -> tuple[Recipe, list[str]]:
        """The recipe as it is measured (the embedder's threshold filled in), and remarks on it.

        Raises UsageError for a recipe that cannot be meant.
        """
        check_recipe(recipe)
        return effective(self.banks, recipe)

    def ranks(self, recipe: Recipe, lams: Sequence[float], semantic: bool = False) -> RankTable:
        """Evidence ranks of every question at every λ, from the cache as far as they are there.

        `semantic` ranks the semantic bank instead, for which `lams` should be (1.0,).
        """
        tasks = {scope: self.task(scope, recipe, tuple(lams), semantic) for scope in self.scopes}
        keys = {scope: self._key(scope, task) for scope, task in tasks.items()}
        found = {scope: self._read(keys[scope], task) for scope, task in tasks.items()}
        missing = [scope for scope, ranks in found.items() if ranks is None]
        todo = [tasks[scope] for scope in missing]
        made = spread(evidence_ranks_by_lambda, todo, self.workers)
        for done, (scope, ranks) in enumerate(zip(missing, made, strict=True), start=1):
            found[scope] = ranks
            self._write(keys[scope], ranks)
            if self.progress:
                self.progress("ranking", done, len(missing))
        return self._assembled(found)

    def _assembled(self, by_scope: dict[str, RankMatrix | None]) -> RankTable:
        """The scopes' ranks in the order of the questions."""
        counts = np.array([len(q.gold.evidence) for q in self.questions], dtype=np.intp)
        starts = Counter[str]()
        rows = []
        for question, count in zip(self.questions, counts, strict=True):
            ranks = by_scope[question.scope]
            assert ranks is not None
            start = starts[question.scope]
            rows.append(ranks[start : start + count])
            starts[question.scope] += int(count)
        return RankTable(np.concatenate(rows), counts)

    def sources(self, recipe: Recipe) -> dict[str, BankSet]:
        """The further bank sets that a recipe needs (a centroid's, a lender's); built where
        missing."""
        wanted = (recipe.prior, recipe.lend_from if recipe.lend else "")
        if wanted not in self._sources:
            found = sources_for(self.workspace, self.banks, recipe, self.progress)
            self._sources[wanted] = found
        return self._sources[wanted]

    @cached_property
    def _sources(self) -> dict[tuple[str, str], dict[str, BankSet]]:
        return {}

    @cached_property
    def _shelves(self) -> dict[tuple[str, ...], Shelf]:
        return {}

    @cached_property
    def _vectors(self) -> list[Any]:
        return self.banks.queries(question.text for question in self.questions)

    def task(
        self, scope: str, recipe: Recipe, lams: tuple[float, ...], semantic: bool = False
    ) -> Task:
        """A scope's part of the work."""
        sources = self.sources(recipe)
        kept = (scope, *(bank.id for bank in sources.values()))
        if kept not in self._shelves:
            self._shelves[kept] = self.banks.shelf(scope, sources)
        asked = [
            (question, vector)
            for question, vector in zip(self.questions, self._vectors, strict=True)
            if question.scope == scope
        ]
        queries = tuple(query_of(question, vector) for question, vector in asked)
        evidence = tuple(question.gold.evidence for question, _ in asked)
        return Task(self._shelves[kept], queries, evidence, recipe, lams, semantic)

    def _key(self, scope: str, task: Task) -> str:
        recipe = msgspec.structs.replace(task.recipe, lam=1.0)
        return digest_of(
            {
                "banks": self.banks.id,
                "sources": {k: b.id for k, b in self.sources(task.recipe).items()},
                "scope": scope,
                "questions": [_asked(q) for q in self.questions if q.scope == scope],
                "recipe": recipe,
                "lams": task.lams,
                "semantic": task.semantic,
                "rules": code_digest(),
            },
            length=32,
        )

    def _path(self, key: str) -> Path:
        return self.workspace.folder("cache") / "cells" / key[:2] / key

    def _read(self, key: str, task: Task) -> RankMatrix | None:
        """A cell's ranks; None where it is not there, or damaged."""
        try:
            stored = self._path(key).read_bytes()
        except OSError:
            return None
        stamp, data = stored[:DIGEST_BYTES], stored[DIGEST_BYTES:]
        if hashlib.sha256(data).digest() != stamp:
            return None
        return np.frombuffer(data, "<i4").astype(np.int32).reshape(task.shape)

    def _write(self, key: str, ranks: RankMatrix) -> None:
        if self.workspace.read_only:
            return
        data = ranks.astype("<i4").tobytes()
        write_atomically(self._path(key), hashlib.sha256(data).digest() + data)


def _asked(question: Question) -> list[Any]:
    """What a question's ranks, and the table made of them, depend on."""
    gold = question.gold
    return [
        *(question.id, question.scope, question.text, question.category),
        *(question.people, question.until, gold.evidence),
    ]
