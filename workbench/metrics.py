"""Evidence measures, pure: ranks of a question's evidence in, values out (Paper A).

A question is measured where some of its evidence resolves to existing turns. The others are
excluded and counted, by reason; unresolved references leave the denominator.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from workbench.errors import DataError
from workbench.schema import Question, Record

__all__ = ["MEASURES", "Measured", "evidence_ranks", "exclusion", "summarise"]


class Measured(Record, frozen=True, kw_only=True):
    """One question's evidence: the rank of the first memory that has each turn among its
    sources, None where no ranked memory has."""

    question: str
    category: str
    ranks: tuple[int | None, ...]


def exclusion(question: Question) -> str | None:
    """Why a question is not measured; None where it is.

    Abstention items are a group of their own whatever evidence they carry: there is nothing that
    should be found.
    """
    if question.abstention:
        return "abstention"
    if question.gold.evidence:
        return None
    return "unresolved evidence" if question.gold.unresolved else "without evidence"


def evidence_ranks(
    evidence: Sequence[str], ranked: Iterable[Sequence[str]], known: Mapping[str, int]
) -> tuple[int | None, ...]:
    """Rank (from 1) at which each evidence turn is first among a ranked memory's sources.

    `ranked` are the sources of the memories, best first; `known` are the turn ids of the scope.
    Raises DataError where evidence names something that is no turn of the scope: ids of another
    level (sessions, say) would otherwise count as never found.
    """
    stray = [turn for turn in evidence if turn not in known]
    if stray:
        raise DataError(f"evidence {stray[0]!r} is no turn of this scope: is it a session id?")
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


MEASURES = {"recall": recall_at, "any": any_found_at, "all": all_found_at}


def summarise(measured: Sequence[Measured], ks: Sequence[int]) -> dict[str, object]:
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
