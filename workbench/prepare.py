"""What a recipe and a question need before ranking: queries, thresholds, further banks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from workbench.errors import UsageError
from workbench.library import BankSet, open_banks
from workbench.memory.dimensions import of_question
from workbench.schema import Question, Recipe
from workbench.shelf import Query
from workbench.workspace import Workspace

__all__ = ["centroid_sources", "effective", "in_split", "query_of", "sources_for"]

Progress = Callable[[str, int, int], None]


def query_of(question: Question, vector: Any) -> Query:
    """The question without its gold."""
    return Query(question.text, vector, question.people, of_question(question.text), question.until)


def effective(banks: BankSet, recipe: Recipe) -> tuple[Recipe, list[str]]:
    """The recipe with the embedder's own threshold where none was given, and a note on it."""
    if recipe.retriever != "ppro" or recipe.threshold is not None:
        return recipe, []
    known = banks.embedder.threshold
    if known is None:
        return recipe, [f"no similarity threshold is known for {banks.embedder.name}: it is off"]
    return msgspec.structs.replace(recipe, threshold=known), []


def centroid_sources(
    workspace: Workspace, banks: BankSet, prior: str, progress: Progress | None = None
) -> dict[str, BankSet]:
    """The further bank set that a prior looks at, built where it is missing: the last word of
    `centroid:KIND`, `contrast:KIND` and `other-user:contrast:KIND` names its kind of memory."""
    *names, kind = prior.split(":")
    if kind == banks.manifest["memories"] or not {"centroid", "contrast"}.intersection(names):
        return {}
    made = open_banks(workspace, banks.dataset.name, kind, banks.manifest["embedder"], progress)
    return {kind: made}


def sources_for(
    workspace: Workspace, banks: BankSet, recipe: Recipe, progress: Progress | None = None
) -> dict[str, BankSet]:
    """The further bank sets that a recipe needs: for a centroid, and to lend scores."""
    found = centroid_sources(workspace, banks, recipe.prior, progress)
    if recipe.lend:
        found |= centroid_sources(workspace, banks, f"centroid:{recipe.lend_from}", progress)
    return found


def in_split(banks: BankSet, split: str) -> list[Question]:
    """The questions of a split, in the dataset's order; "all" is every one."""
    if split == "all":
        return list(banks.dataset.questions)
    splits = banks.dataset.splits
    if split not in splits.values():
        known = ", ".join(["all", *sorted(set(splits.values()))])
        raise UsageError(f"{banks.dataset.name} has no split {split!r}; it has: {known}")
    return [q for q in banks.dataset.questions if splits.get(q.scope) == split]
