"""Ceilings of evidence recall: what memories hold at all, and what an audit confirms."""

from __future__ import annotations

import polars as pl

from workbench.library import BankSet
from workbench.metrics import Level, Plan, evidence_of, exclusion
from workbench.prepare import in_split
from workbench.schema import Question
from workbench.stats import mean_interval

__all__ = ["ceilings"]


def ceilings(banks: BankSet, plan: Plan) -> pl.DataFrame:
    """`ceiling, mean, lo, hi, n`: the most that evidence recall against the original gold can be.

    "held by a memory": the share of the evidence that some memory of the bank holds, which no
    ranking can pass. "confirmed by the audit", where the data has one: the share of the evidence
    that the audit agrees is evidence, which is what a ranking gets that finds the true evidence
    and nothing else; above it a ranking earns by what is no evidence.
    """
    asked = [q for q in in_split(banks, plan.split) if exclusion(q, "original", plan.level) is None]
    found = {"held by a memory": [_held(banks, q, plan.level) for q in asked]}
    if any(q.audited for q in banks.dataset.questions):
        found["confirmed by the audit"] = [_confirmed(q, plan.level) for q in asked]
    rows = []
    for name, values in found.items():
        if values:
            whole = mean_interval(values, [q.scope for q in asked])
            told = {"mean": whole.mean, "lo": whole.lo, "hi": whole.hi, "n": whole.n}
            rows.append({"ceiling": name, **told})
    schema = dict.fromkeys(("mean", "lo", "hi"), pl.Float64)
    return pl.DataFrame(rows, schema={"ceiling": pl.String, **schema, "n": pl.Int64})


def _held(banks: BankSet, question: Question, level: Level) -> float:
    """The share of a question's evidence that some memory holds, as the bank stood then."""
    shelf = banks.shelf(question.scope).as_of(question.until)
    turns = {turn for memory in shelf.bank.memories for turn in memory.sources}
    held = turns if level == "turn" else {shelf.sessions[turn] for turn in turns}
    evidence = evidence_of(question, "original", level)
    return sum(piece in held for piece in evidence) / len(evidence)


def _confirmed(question: Question, level: Level) -> float:
    """The share of a question's original evidence that its audit, if it has one, agrees with."""
    evidence = evidence_of(question, "original", level)
    true = set(evidence_of(question, "audited", level))
    return sum(piece in true for piece in evidence) / len(evidence)
