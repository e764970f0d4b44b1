"""Evidence measures, pure: ranks of a question's evidence in, values out (Paper A).

A question is measured where some of its evidence resolves to existing turns (or sessions, where
sessions are measured). The others are excluded and counted, by reason; unresolved references leave
the denominator. The gold is the original one, or an audit's where it corrects a question.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from workbench.errors import DataError
from workbench.schema import Gold, Question, Record

__all__ = [
    "MEASURES",
    "PLAN",
    "GoldKind",
    "Level",
    "Measured",
    "Plan",
    "evidence_of",
    "evidence_ranks",
    "exclusion",
    "gold_of",
    "summarise",
    "tidy_rows",
]

GoldKind = Literal["original", "audited"]
Level = Literal["turn", "session"]


class Plan(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What is measured: at which K, of which split, turns or sessions, against which gold."""

    ks: tuple[int, ...] = (1, 5, 10, 25, 50, 100)
    split: str = "all"
    level: Level = "turn"
    gold: GoldKind = "original"


PLAN = Plan()


class Measured(Record, frozen=True, kw_only=True):
    """One question's evidence: the rank of the first memory that has each turn among its
    sources, None where no ranked memory has."""

    question: str
    scope: str = ""
    category: str
    ranks: tuple[int | None, ...]


def gold_of(question: Question, gold: GoldKind = "original") -> Gold:
    """The original gold, or the audit's where it has corrected this question."""
    return question.audited or question.gold if gold == "audited" else question.gold


def evidence_of(question: Question, gold: GoldKind, level: Level) -> tuple[str, ...]:
    """The ids of turns, or of sessions, that should be found."""
    found = gold_of(question, gold)
    return found.sessions if level == "session" else found.evidence


def exclusion(question: Question, gold: GoldKind = "original", level: Level = "turn") -> str | None:
    """Why a question is not measured; None where it is.

    Abstention items are a group of their own whatever evidence they carry: there is nothing that
    should be found.
    """
    if question.abstention:
        return "abstention"
    if evidence_of(question, gold, level):
        return None
    return "unresolved evidence" if gold_of(question, gold).unresolved else "without evidence"


def evidence_ranks(
    evidence: Sequence[str], ranked: Iterable[Sequence[str]], known: Mapping[str, int]
) -> tuple[int | None, ...]:
    """Rank (from 1) at which each evidence turn is first among a ranked memory's sources.

    `ranked` are the sources of the memories, best first; `known` are the ids of the scope at the
    level of the evidence. Raises DataError where evidence names something else: ids of another
    level would otherwise count as never found.
    """
    stray = [turn for turn in evidence if turn not in known]
    if stray:
        raise DataError(
            f"evidence {stray[0]!r} is not of this scope: turns and sessions are different levels"
        )
    wanted = set(evidence)
    first: dict[str, int] = {}
    for rank, sources in enumerate(ranked, start=1):
        for turn in wanted.intersection(sources):
            first.setdefault(turn, rank)
        if len(first) == len(wanted):
            break
    return tuple(first.get(turn) for turn in evidence)


def recall_at(k: int, ranks: Sequence[int | None]) -> float:
    """Share of the evidence found among the first k."""
    return sum(rank is not None and rank <= k for rank in ranks) / len(ranks)


def any_found_at(k: int, ranks: Sequence[int | None]) -> float:
    return float(recall_at(k, ranks) > 0)


def all_found_at(k: int, ranks: Sequence[int | None]) -> float:
    return float(recall_at(k, ranks) == 1)


def reciprocal_rank(ranks: Sequence[int | None]) -> float:
    """1 / rank of the first evidence found; 0 where none was."""
    return 1 / min((rank for rank in ranks if rank is not None), default=float("inf"))


def ndcg_at(k: int, ranks: Sequence[int | None]) -> float:
    """Normalised discounted cumulative gain with binary gains, log base 2.

    A memory that brings several evidence turns at once counts each at its rank; since the ideal
    has one turn a rank, the value is cut at 1.
    """
    gain = sum(1 / math.log2(1 + rank) for rank in ranks if rank is not None and rank <= k)
    ideal = sum(1 / math.log2(1 + rank) for rank in range(1, min(k, len(ranks)) + 1))
    return min(gain / ideal, 1.0)


MEASURES = {"recall": recall_at, "any": any_found_at, "all": all_found_at, "ndcg": ndcg_at}


def tidy_rows(measured: Sequence[Measured], ks: Sequence[int]) -> list[dict[str, Any]]:
    """A row for every question and metric ("recall@25", .., "mrr")."""
    rows = []
    for question in measured:
        values = {
            f"{name}@{k}": measure(k, question.ranks)
            for name, measure in MEASURES.items()
            for k in ks
        }
        values["mrr"] = reciprocal_rank(question.ranks)
        about = {"question": question.question, "scope": question.scope}
        about["category"] = question.category
        rows += [{**about, "metric": name, "value": value} for name, value in values.items()]
    return rows


def summarise(measured: Sequence[Measured], ks: Sequence[int]) -> dict[str, Any]:
    """Means over questions of every measure at every K, and by category; None where n is 0."""
    categories = Counter(question.category for question in measured)
    return {
        "n": len(measured),
        **_means(measured, ks),
        "mrr": _mean(reciprocal_rank(question.ranks) for question in measured),
        "by_category": {
            category: {
                "n": n,
                **_means([q for q in measured if q.category == category], ks),
            }
            for category, n in sorted(categories.items())
        },
    }


def _means(measured: Sequence[Measured], ks: Sequence[int]) -> dict[str, dict[str, float | None]]:
    return {
        name: {str(k): _mean(measure(k, question.ranks) for question in measured) for k in ks}
        for name, measure in MEASURES.items()
    }


def _mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return sum(found) / len(found) if found else None
