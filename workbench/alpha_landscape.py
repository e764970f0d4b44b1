"""The α landscape: what each balance of the two rewards would choose among the same rewrites.

Nothing is trained. A pool of candidates of each question is scored once, and every α chooses from
it *by gold*: a ceiling of best-of-N under that reward, and a picture of how far α matters at all.
The α that reaches most is not a tuned α, since gold of the same questions chose it.

A run of kind "sweep-alpha" holds
    frame.parquet      question, scope, category, metric, value of the questions *as asked*: what is
                       chosen by gold must not be compared with other runs
    landscape.parquet  series, alpha, mean, lo, hi
    pool.parquet       `alpha_table.COLUMNS`: a row a candidate with its rewards and measures
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import msgspec
import polars as pl

from workbench.alpha_report import CEILING, choices_told, lines_of
from workbench.alpha_table import COLUMNS, AlphaTable
from workbench.answer_metrics import bleu1, f1_squad
from workbench.candidate_pool import Pool, pool_of
from workbench.errors import DataError, UsageError
from workbench.llm import LLM
from workbench.metrics import exclusion
from workbench.prepare import effective
from workbench.replies import NOT_ASKED_AGAIN
from workbench.reward_step import Scored
from workbench.reward_terms import Terms
from workbench.rewards import RewriteRewards
from workbench.run_plan import Plan
from workbench.runs import run_id, save_run, tidy, write_parquet
from workbench.schema import Question, Record, digest_of
from workbench.workspace import Content, Workspace

__all__ = ["ALPHAS", "Landscape", "alpha_landscape", "table_of"]

Progress = Callable[[str, int, int], None]

ALPHAS = tuple(round(0.05 * step, 2) for step in range(21))
# Questions whose candidates are scored between two signs of life.
BATCH = 8


class Landscape(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What is looked at: the α, how many `candidates` besides the question itself, how many
    `questions` (drawn by their ids, so that fewer are some of the same; 0: all), and what is paid
    (whose own α plays no part)."""

    alphas: tuple[float, ...] = ALPHAS
    candidates: int = 8
    questions: int = 0
    terms: Terms = Terms()
    level: float = 0.95


class _Made(NamedTuple):
    table: AlphaTable
    scored: list[Scored]
    excluded: dict[str, int]
    failures: dict[str, int]


def alpha_landscape(
    plan: Plan,
    landscape: Landscape,
    rewriter: LLM | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Score a pool, choose under every α, keep the run, and return what the command reports.

    `rewriter` samples the candidates; without one they are made by rule. The run is kept where no
    call is left to be made again (`run` is None else). Raises UsageError for α outside 0..1,
    DataError where no question can be scored.
    """
    began = time.perf_counter()
    if not landscape.alphas or not all(0 <= alpha <= 1 for alpha in landscape.alphas):
        raise UsageError(f"α must lie in 0..1, not {list(landscape.alphas)}")
    if not landscape.terms.answered:
        raise UsageError("a landscape weighs two rewards: the answers must be paid for as well")
    rewards = RewriteRewards(plan, landscape.terms)
    questions, excluded = _scorable(plan, landscape.questions)
    pool = pool_of(plan.banks, questions, landscape.candidates, rewriter, progress)
    made = _scored(rewards, questions, pool, progress)
    made = made._replace(excluded=dict(sorted((excluded + Counter(made.excluded)).items())))
    waiting = pool.pending + sum(made.failures.get(kind, 0) for kind in NOT_ASKED_AGAIN)
    report = {**_about(plan, landscape, pool, made), "pending": waiting}
    report |= choices_told(made.table, landscape.alphas, landscape.level)
    told = {"run": None if waiting else _keep(plan, landscape, pool, made, report), **report}
    return {**told, "seconds": round(time.perf_counter() - began, 3)}


def table_of(workspace: Workspace, run: str) -> AlphaTable:
    """The table of a kept landscape, by the run's whole id."""
    return AlphaTable(pl.read_parquet(workspace.folder("runs", run) / "pool.parquet"))


def _scorable(plan: Plan, wanted: int) -> tuple[list[Question], Counter[str]]:
    """The questions that both rewards can be paid for, and why the others can't."""
    reasons = [exclusion(one) or _without_answer(one) for one in plan.questions]
    kept = [one for one, why in zip(plan.questions, reasons, strict=True) if why is None]
    if not kept:
        raise DataError(f"{plan.banks.dataset.name} ({plan.split}): no question has evidence")
    if 0 < wanted < len(kept):
        # By a digest, so that fewer questions are some of the same: their replies are known.
        drawn = {one.id for one in sorted(kept, key=lambda one: digest_of(one.id))[:wanted]}
        kept = [one for one in kept if one.id in drawn]
    return kept, Counter(why for why in reasons if why is not None)


def _without_answer(question: Question) -> str | None:
    gold = question.gold.answer or ""
    known = f1_squad("", gold) is not None and bleu1("", gold) is not None
    return None if known else "without a reference answer"


def _scored(
    rewards: RewriteRewards, questions: Sequence[Question], pool: Pool, progress: Progress | None
) -> _Made:
    """Score every candidate that there is; questions whose own answer failed are left out."""
    rows: list[dict[str, Any]] = []
    every: list[Scored] = []
    failures = Counter[str]()
    excluded = Counter[str]()
    for start in range(0, len(questions), BATCH):
        batch = questions[start : start + BATCH]
        there = [
            (question, place, text)
            for question, row in zip(batch, pool.rewrites[start : start + BATCH], strict=True)
            for place, text in enumerate(row)
            if text is not None
        ]
        made = rewards.score([q.id for q, _, _ in there], [text for _, _, text in there])
        failures.update(one.failure for one in made if one.failure is not None)
        usable = {
            q.id
            for (q, place, _), one in zip(there, made, strict=True)
            if place == 0 and one.failure is None
        }
        excluded["answer failed"] += len(batch) - len(usable)
        for (question, place, _), one in zip(there, made, strict=True):
            if question.id in usable and one.failure is None:
                rows.append(_row(question, place, one))
                every.append(one)
        if progress:
            progress("scoring", min(start + BATCH, len(questions)), len(questions))
    if not rows:
        raise DataError(f"no question has an answer to be paid for: {dict(failures)}")
    table = AlphaTable(pl.DataFrame(rows, schema=COLUMNS))
    return _Made(table, every, dict(+excluded), dict(sorted(failures.items())))


def _row(question: Question, place: int, one: Scored) -> dict[str, Any]:
    about = {"question": question.id, "scope": question.scope, "category": question.category}
    values = {name: getattr(one, name) for name in ("text", "retrieval", "answer", "recall", "f1")}
    return {**about, "candidate": place, **values, "guards": ", ".join(one.guards)}


def _about(plan: Plan, landscape: Landscape, pool: Pool, made: _Made) -> dict[str, Any]:
    """What a report says of its data and of how the pool came about."""
    recipe, notes = effective(plan.banks, plan.recipe)
    guards = Counter(name for one in made.scored for name in one.guards)
    return {
        "is": CEILING,
        "dataset": plan.banks.dataset.name,
        "split": plan.split,
        "banks": plan.banks.id,
        "n": len(made.table.about),
        "excluded": made.excluded,
        "level": landscape.level,
        "seed": plan.recipe.seed,
        "recipe": msgspec.to_builtins(recipe),
        "answerer": plan.answerer,
        "pays": {"retrieval": landscape.terms.retrieval, "answer": landscape.terms.answer},
        "candidates": landscape.candidates,
        "made_by": pool.made_by,
        "failures": {"rewriting": pool.failures, "answering": made.failures},
        "guards": dict(sorted(guards.items())),
        "notes": notes,
    }


def _keep(plan: Plan, landscape: Landscape, pool: Pool, made: _Made, report: dict[str, Any]) -> str:
    """Save the run; returns its id."""
    golds = digest_of([(question.id, question.gold) for question in plan.questions])
    identity = {
        **plan.identity(),
        "landscape": msgspec.to_builtins(landscape),
        "pool": pool.identity,
        "content": plan.banks.manifest["content"],
        "golds": golds,
        "seed": plan.recipe.seed,
    }
    k = plan.recipe.k
    asked = made.table.frame.filter(pl.col("candidate") == 0)
    about = ["question", "scope", "category"]
    wide = asked.select(*about, pl.col("recall").alias(f"recall@{k}"), f1_squad="f1")
    frame = wide.unpivot(index=about, variable_name="metric", value_name="value")
    lines = lines_of(report, k)
    files: dict[str, Content] = {
        "landscape.parquet": lambda path: write_parquet(lines, path),
        "pool.parquet": lambda path: write_parquet(made.table.frame, path),
    }
    whole = msgspec.to_builtins(identity)
    told = {"run": run_id("sweep-alpha", whole), **report}
    facts = {**{key: told[key] for key in ("dataset", "split", "n", "excluded")}, "report": told}
    return save_run(plan.workspace, "sweep-alpha", whole, tidy(frame.to_dicts()), facts, files)
