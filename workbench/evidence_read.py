"""Evidence measures of answered questions, from their traces: what was retrieved, what was read.

recall@K         share of the evidence turns behind the K_E episodic memories that were retrieved
                 (Paper A, ER@K); only where anything is retrieved
evidence read    share of the evidence turns behind everything that the answerer was given: the
                 profile's facts and semantic memories too, all turns of a full context

Questions without evidence that resolves are left out, as everywhere (`metrics.exclusion`), and so
are those that were not answered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from workbench.bank_set import BankSet
from workbench.metrics import GoldKind, evidence_of, exclusion
from workbench.runs import tidy
from workbench.schema import Question
from workbench.traces import Trace

__all__ = ["READ", "evidence_frame"]

READ = "evidence read"


def evidence_frame(
    questions: Sequence[Question],
    traces: Iterable[Trace],
    gold: GoldKind,
    retrieved: tuple[BankSet, int] | None = None,
) -> pl.DataFrame:
    """A tidy frame of `READ` and, where `retrieved` gives the banks that were searched and K_E, of
    `recall@K`."""
    answered = {trace.question: trace for trace in traces if trace.answer is not None}
    rows = []
    for question in questions:
        trace = answered.get(question.id)
        if trace is None or exclusion(question, gold) is not None:
            continue
        evidence = evidence_of(question, gold, "turn")
        about = {"question": question.id, "scope": question.scope, "category": question.category}
        found = {READ: _share(evidence, trace.sources)}
        if retrieved is not None:
            banks, k = retrieved
            found[f"recall@{k}"] = _share(evidence, _episodic(banks, question.scope, trace))
        rows += [{**about, "metric": name, "value": value} for name, value in found.items()]
    return tidy(rows)


def _episodic(banks: BankSet, scope: str, trace: Trace) -> set[str]:
    """The turns behind the episodic memories among a trace's hits."""
    bank = banks.episodic.get(scope)
    rows: Mapping[str, int] = bank.rows if bank else {}
    held = (bank.memories[rows[hit.memory]] for hit in trace.hits if bank and hit.memory in rows)
    return {source for memory in held for source in memory.sources}


def _share(evidence: Sequence[str], turns: Iterable[str]) -> float:
    return len(set(evidence).intersection(turns)) / len(set(evidence))
