"""Evidence recall of a recipe over a dataset's questions: what `workbench recall` reports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from typing import Any, NamedTuple

import msgspec
import numpy as np

from workbench.errors import UsageError
from workbench.library import BankSet
from workbench.metrics import (
    PLAN,
    Measured,
    Plan,
    evidence_of,
    evidence_ranks,
    exclusion,
    gold_of,
    recall_at,
    summarise,
    tidy_rows,
)
from workbench.prepare import effective, in_split, query_of
from workbench.provenance import code_digest
from workbench.retrieve import score, semantic_scores
from workbench.runs import save_run, tidy
from workbench.schema import Question, Recipe, digest_of
from workbench.shelf import Query, Shelf
from workbench.stats import mean_interval
from workbench.workspace import Workspace

__all__ = ["Outcome", "measure", "measure_recall", "recall", "save_recall"]

Progress = Callable[[str, int, int], None]


class Outcome(NamedTuple):
    """A measured recipe: what `recall --json` reports, and each question's ranks."""

    report: dict[str, Any]
    measured: list[Measured]


def recall(
    banks: BankSet,
    recipe: Recipe,
    ks: Sequence[int] = PLAN.ks,
    split: str = PLAN.split,
    sources: dict[str, BankSet] | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """The report of `measure` at some K of a split: turns, against the original gold."""
    return measure(banks, recipe, Plan(ks=tuple(ks), split=split), sources, progress).report


def measure(
    banks: BankSet,
    recipe: Recipe,
    plan: Plan = PLAN,
    sources: dict[str, BankSet] | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """Means over the plan's measurable questions, with intervals and what was left out.

    On the dual path K counts episodic memories (K_E); what the K_S semantic ones add is reported
    apart as `with_semantic`, since it spends more than K.
    """
    if not plan.ks or min(plan.ks) < 1:
        raise UsageError(f"K must be at least 1, not {min(plan.ks, default='nothing')}")
    if plan.gold == "audited" and not any(q.audited for q in banks.dataset.questions):
        raise UsageError(f"{banks.dataset.name} has no audited gold; import it with --audit FILE")
    recipe, notes = effective(banks, recipe)
    reasons = {q.id: exclusion(q, plan.gold, plan.level) for q in in_split(banks, plan.split)}
    kept = [q for q in in_split(banks, plan.split) if reasons[q.id] is None]
    measured, with_semantic, said = measure_recall(banks, kept, recipe, sources, progress, plan)
    notes += [f"{note} ({n} questions)" for note, n in said.items()]
    report = {
        "dataset": banks.dataset.name,
        **msgspec.to_builtins(plan),
        "banks": banks.id,
        "recipe": msgspec.to_builtins(recipe),
        "excluded": dict(sorted(Counter(filter(None, reasons.values())).items())),
        "unresolved_ids": sum(len(gold_of(q, plan.gold).unresolved) for q in kept),
        **summarise(measured, plan.ks),
        **_intervals(measured, plan.ks),
        "notes": notes,
    }
    if recipe.retriever == "ppro":
        both = summarise(with_semantic, plan.ks)
        report["with_semantic"] = {"k_semantic": recipe.k_semantic, "recall": both["recall"]}
    if recipe.retriever == "approximate":
        exact = msgspec.structs.replace(recipe, retriever="dense")
        report["agreement_with_exact"] = _agreement(banks, kept, recipe, exact, sources)
    return Outcome(report, measured)


def save_recall(workspace: Workspace, banks: BankSet, outcome: Outcome) -> str:
    """Keep an outcome as a run of the workspace; returns the run's id."""
    asked: tuple[str, ...] = ("dataset", "ks", "split", "level", "gold", "banks", "recipe")
    # Whose words were searched with, where not the questions' own: `rewritten.rewritten`.
    asked += ("rewriter",) if "rewriter" in outcome.report else ()
    identity = {key: outcome.report[key] for key in asked}
    identity |= {"content": digest_of(banks.dataset.questions), "code": code_digest()}
    frame = tidy(tidy_rows(outcome.measured, outcome.report["ks"]))
    facts = {key: value for key, value in outcome.report.items() if key not in identity}
    return save_run(workspace, "recall", identity, frame, facts)


def measure_recall(
    banks: BankSet,
    questions: Sequence[Question],
    recipe: Recipe,
    sources: dict[str, BankSet] | None = None,
    progress: Progress | None = None,
    plan: Plan = PLAN,
) -> tuple[list[Measured], list[Measured], Counter[str]]:
    """The evidence ranks of every question: by the episodic ranking, and with the semantic
    memories put in front of it; and the retriever's notes, counted."""
    vectors = banks.queries(question.text for question in questions)
    shelf_of = cache(partial(banks.shelf, sources=sources))
    episodic: list[Measured] = []
    both: list[Measured] = []
    notes = Counter[str]()
    for done, (question, vector) in enumerate(zip(questions, vectors, strict=True), start=1):
        shelf = shelf_of(question.scope).as_of(question.until)
        ranked, extra, said = _ranked_sources(shelf, query_of(question, vector), recipe)
        notes.update(said)
        ranks = _ranks(shelf, question, plan, ranked)
        lent = _ranks(shelf, question, plan, extra)
        merged = tuple(1 if found else rank for rank, found in zip(ranks, lent, strict=True))
        about = {"question": question.id, "scope": question.scope, "category": question.category}
        episodic.append(Measured(**about, ranks=ranks))
        both.append(Measured(**about, ranks=merged))
        if progress:
            progress("retrieving", done, len(questions))
    return episodic, both, notes


def _ranks(
    shelf: Shelf, question: Question, plan: Plan, ranked: Iterable[tuple[str, ...]]
) -> tuple[int | None, ...]:
    """Ranks of the question's evidence at the plan's level among ranked sources."""
    evidence = evidence_of(question, plan.gold, plan.level)
    if plan.level == "turn":
        return evidence_ranks(evidence, ranked, shelf.positions)
    known = dict.fromkeys(shelf.sessions.values(), 0)
    sessions = (shelf.sessions[turn] for sources in ranked for turn in sources)
    distinct = dict.fromkeys(sessions)  # K counts sessions, however many memories each has
    return evidence_ranks(evidence, ((session,) for session in distinct), known)


def _intervals(measured: Sequence[Measured], ks: Sequence[int]) -> dict[str, Any]:
    """95 % intervals of recall at every K, and what they are over (conversations or questions)."""
    if not measured:
        return {"interval": {str(k): [None, None] for k in ks}, "basis": None}
    scopes = [question.scope for question in measured]
    found = {}
    for k in ks:
        values = np.asarray([recall_at(k, question.ranks) for question in measured])
        found[str(k)] = mean_interval(values, scopes)
    return {
        "interval": {k: [estimate.lo, estimate.hi] for k, estimate in found.items()},
        "basis": next(iter(found.values())).basis,
    }


def _ranked_sources(
    shelf: Shelf, query: Query, recipe: Recipe
) -> tuple[Iterable[tuple[str, ...]], Iterable[tuple[str, ...]], list[str]]:
    """Sources of all episodic memories, best first; of the K_S semantic ones; and notes."""
    if query.vector is None:
        return (), (), ["a blank question finds nothing"]
    if not len(shelf.bank):
        return (), (), [f"there are no {recipe.memories} to retrieve"]
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
        shelf = shelf_of(question.scope).as_of(question.until)
        if vector is None or not len(shelf.bank):
            continue
        query = query_of(question, vector)
        truth = score(shelf, query, exact).best(recipe.k)
        found = score(shelf, query, recipe).best(recipe.k)
        shares.append(len(np.intersect1d(truth, found)) / len(truth))
    return float(np.mean(shares)) if shares else None
