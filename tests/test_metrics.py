"""Evidence measures against values worked out by hand."""

from __future__ import annotations

import ir_measures
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from workbench.errors import DataError
from workbench.metrics import (
    Measured,
    evidence_ranks,
    exclusion,
    ndcg_at,
    reciprocal_rank,
    summarise,
)
from workbench.schema import Gold, Question

KNOWN = {"t1": 0, "t2": 1, "t3": 2, "t4": 3}


def question(id: str, **given: object) -> Question:
    return Question(id=id, scope="s", text="?", **given)  # type: ignore[arg-type]


def test_ranks_are_of_the_first_memory_that_has_the_turn() -> None:
    ranked = [("t9",), ("t2", "t3"), ("t1",), ("t1", "t2")]
    assert evidence_ranks(("t1", "t2", "t4"), ranked, KNOWN) == (3, 2, None)


def test_ids_of_another_level_are_an_error_and_not_a_zero() -> None:
    with pytest.raises(DataError, match="session"):
        evidence_ranks(("answer_session_1",), [("t1",)], KNOWN)


def test_three_questions_by_hand() -> None:
    """Ranks (1), (2, 7) and (None,): recall@5 = (1 + 1/2 + 0) / 3, any = 2/3, all = 1/3."""
    measured = [
        Measured(question="a", category="x", ranks=(1,)),
        Measured(question="b", category="y", ranks=(2, 7)),
        Measured(question="c", category="y", ranks=(None,)),
    ]
    found = summarise(measured, [1, 5, 10])
    assert found["n"] == 3
    assert found["recall"] == pytest.approx({"1": 1 / 3, "5": 0.5, "10": 2 / 3})
    assert found["any"] == pytest.approx({"1": 1 / 3, "5": 2 / 3, "10": 2 / 3})
    assert found["all"] == pytest.approx({"1": 1 / 3, "5": 1 / 3, "10": 2 / 3})
    assert found["mrr"] == pytest.approx((1 + 1 / 2 + 0) / 3)
    assert found["by_category"]["y"]["n"] == 2  # type: ignore[index]
    assert found["by_category"]["y"]["recall"]["5"] == 0.25  # type: ignore[index]


def test_nothing_measured_is_not_a_zero() -> None:
    found = summarise([], [5])
    assert found["n"] == 0
    assert found["recall"] == {"5": None}
    assert found["mrr"] is None


def test_questions_without_evidence_leave_the_mean_and_say_why() -> None:
    """Three questions: gold {a} found, gold {} and gold {b} unresolved: mean 1.0 over n = 1."""
    asked = [
        question("1", gold=Gold(evidence=("t1",))),
        question("2"),
        question("3", gold=Gold(unresolved=("D",))),
        question("4", abstention=True, gold=Gold(evidence=("t1",))),
    ]
    assert [exclusion(q) for q in asked] == [
        None,
        "without evidence",
        "unresolved evidence",
        "abstention",
    ]
    kept = [q for q in asked if exclusion(q) is None]
    measured = [
        Measured(
            question=q.id,
            category=q.category,
            ranks=evidence_ranks(q.gold.evidence, [("t1",)], KNOWN),
        )
        for q in kept
    ]
    found = summarise(measured, [1])
    assert (found["n"], found["recall"]) == (1, {"1": 1.0})


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.one_of(st.none(), st.integers(1, 30)), min_size=1, max_size=6),
    st.sampled_from([1, 3, 5, 10, 25]),
)
def test_ndcg_and_mrr_agree_with_ir_measures(ranks: list[int | None], k: int) -> None:
    found = [rank for rank in ranks if rank is not None]
    assume(len(set(found)) == len(found))  # one piece of evidence a rank
    qrels = [ir_measures.Qrel("q", f"e{i}", 1) for i in range(len(ranks))]
    run = [
        ir_measures.ScoredDoc("q", f"e{i}", -float(rank))
        for i, rank in enumerate(ranks)
        if rank is not None
    ]
    run += [
        ir_measures.ScoredDoc("q", f"other{rank}", -float(rank))
        for rank in range(1, 31)
        if rank not in found
    ]
    measures = [ir_measures.nDCG @ k, ir_measures.RR]
    expected = ir_measures.calc_aggregate(measures, qrels, run)
    assert ndcg_at(k, ranks) == pytest.approx(expected[measures[0]], abs=1e-6)
    assert reciprocal_rank(ranks) == pytest.approx(expected[measures[1]], abs=1e-6)


def test_ndcg_by_hand() -> None:
    """Evidence at ranks 2 and 4 of two pieces: (1/log2(3) + 1/log2(5)) / (1 + 1/log2(3))."""
    assert ndcg_at(5, (2, 4)) == pytest.approx(0.650921, abs=1e-6)
    assert ndcg_at(3, (2, 4)) == pytest.approx(0.386853, abs=1e-6)
    assert ndcg_at(5, (1, 1)) == 1.0  # one memory that brings both
