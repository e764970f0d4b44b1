"""Evidence recall of a recipe over a dataset's questions: what `workbench recall` reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from typing import Any

import msgspec
import numpy as np

from workbench.errors import UsageError
from workbench.library import BankSet, open_banks
from workbench.memory.dimensions import of_question
from workbench.metrics import Measured, evidence_ranks, exclusion, summarise
from workbench.retrieve import score, semantic_scores
from workbench.schema import Question, Recipe
from workbench.shelf import Query, Shelf
from workbench.workspace import Workspace

__all__ = ["centroid_sources", "effective", "measure_recall", "query_of", "recall", "sources_for"]

Progress = Callable[[str, int, int], None]


def recall(
    banks: BankSet,
    recipe: Recipe,
    ks: Sequence[int] = (1, 5, 10, 25, 50, 100),
    split: str = "all",
    sources: dict[str, BankSet] | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Means over the split's measurable questions, with what was left out beside them.

    On the dual path K counts episodic memories (K_E); what the K_S semantic ones add is reported
    apart as `with_semantic`, since it spends more than K.
    """
    if not ks or min(ks) < 1:
        raise UsageError(f"K must be at least 1, not {min(ks, default='nothing')}")
    questions = in_split(banks, split)
    excluded = Counter(filter(None, map(exclusion, questions)))
    kept = [question for question in questions if exclusion(question) is None]
    recipe, notes = effective(banks, recipe)
    measured, with_semantic, said = measure_recall(banks, kept, recipe, sources, progress)
    notes += [f"{note} ({n} questions)" for note, n in said.items()]
    report = {
        "dataset": banks.dataset.name,
        "split": split,
        "banks": banks.id,
        "recipe": msgspec.to_builtins(recipe),
        "excluded": dict(sorted(excluded.items())),
        "unresolved_ids": sum(len(question.gold.unresolved) for question in kept),
        **summarise(measured, ks),
        "notes": notes,
    }
    if recipe.retriever == "ppro":
        both = summarise(with_semantic, ks)
        report["with_semantic"] = {"k_semantic": recipe.k_semantic, "recall": both["recall"]}
    if recipe.retriever == "approximate":
        exact = msgspec.structs.replace(recipe, retriever="dense")
        report["agreement_with_exact"] = _agreement(banks, kept, recipe, exact, sources)
    return report


def measure_recall(
    banks: BankSet,
    questions: Sequence[Question],
    recipe: Recipe,
    sources: dict[str, BankSet] | None = None,
    progress: Progress | None = None,
) -> tuple[list[Measured], list[Measured], Counter[str]]:
    """The evidence ranks of every question: by the episodic ranking, and with the semantic
    memories put in front of it; and the retriever's notes, counted."""
    vectors = banks.queries(question.text for question in questions)
    shelf_of = cache(partial(banks.shelf, sources=sources))
    episodic: list[Measured] = []
    both: list[Measured] = []
    notes = Counter[str]()
    for done, (question, vector) in enumerate(zip(questions, vectors, strict=True), start=1):
        shelf = shelf_of(question.scope)
        query = query_of(question, vector)
        ranked, extra, said = _ranked_sources(shelf, query, recipe)
        notes.update(said)
        ranks = evidence_ranks(question.gold.evidence, ranked, shelf.positions)
        lent = evidence_ranks(question.gold.evidence, extra, shelf.positions)
        merged = tuple(1 if found else rank for rank, found in zip(ranks, lent, strict=True))
        for into, found in ((episodic, ranks), (both, merged)):
            into.append(Measured(question=question.id, category=question.category, ranks=found))
        if progress:
            progress("retrieving", done, len(questions))
    return episodic, both, notes


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


def _ranked_sources(
    shelf: Shelf, query: Query, recipe: Recipe
) -> tuple[Iterable[tuple[str, ...]], Iterable[tuple[str, ...]], list[str]]:
    """Sources of all episodic memories, best first; of the K_S semantic ones; and notes."""
    if query.vector is None or not len(shelf.bank):
        return (), (), []
    scoring = score(shelf, query, recipe)
    memories = shelf.bank.memories
    ranked = (memories[row].sources for row in scoring.best(len(memories)))
    if recipe.retriever != "ppro" or not len(shelf.semantic):
        return ranked, (), scoring.notes
    rows = semantic_scores(shelf, query).best(recipe.k_semantic)
    return ranked, (shelf.semantic.memories[row].sources for row in rows), scoring.notes


def _agreement(
    banks: BankSet,
    questions: Sequence[Question],
    recipe: Recipe,
    exact: Recipe,
    sources: dict[str, BankSet] | None,
) -> float | None:
    """Mean share of the exact top K that the approximate top K holds."""
    shares = []
    shelf_of = cache(partial(banks.shelf, sources=sources))
    for question, vector in zip(questions, banks.queries(q.text for q in questions), strict=True):
        shelf = shelf_of(question.scope)
        if vector is None or not len(shelf.bank):
            continue
        query = query_of(question, vector)
        truth = score(shelf, query, exact).best(recipe.k)
        found = score(shelf, query, recipe).best(recipe.k)
        shares.append(len(np.intersect1d(truth, found)) / len(truth))
    return float(np.mean(shares)) if shares else None
