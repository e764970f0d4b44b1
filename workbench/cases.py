"""Cases: which questions are worth a close look, and what the ranking does to one of them.

Cases are chosen by a stated rule over all measurable questions, never by hand. `compare` holds two
rankings of one question against each other; what a ranking is made of is in
`workbench.components`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from workbench.case_words import own_words
from workbench.effects import DEPTH, Ranked
from workbench.question_form import form_of
from workbench.schema import Question
from workbench.traces import Found

__all__ = ["RULES", "Rule", "choose", "compare"]

# Kinds of question whose answer is a time.
OF_TIME = ("when", "duration")

COMPARED = {"memory": pl.String, "before": pl.Int64, "after": pl.Int64, "change": pl.String}


class Rule(NamedTuple):
    """How cases are chosen: what it is called, what it looks for, and what to do where a dataset
    has no such case."""

    title: str
    said: str
    missing: str
    pick: Callable[[Ranked, pl.DataFrame], pl.DataFrame]


def choose(
    found: Ranked,
    rule: str,
    lam: float,
    k: int,
    n: int = 10,
    own: Sequence[Question] = (),
) -> pl.DataFrame:
    """The `n` best cases of a rule of `RULES`, best first.

    The columns of `effects.Ranked.at`, `places` (how many the first piece of evidence gains with
    the prior; a rank beyond 200 counts as 201), `why` in a sentence, and `rival`, the id of the
    memory that is mistaken for the evidence (temporal cases, else null). Fewer rows, or none,
    where there are no more such questions. Where `found` is in a rewriter's words, `own` are the
    dataset's questions: `text` is theirs, and `searched` what was searched with. Raises KeyError
    for an unknown rule.
    """
    frame = own_words(found.at(lam, k), own) if own else found.at(lam, k)
    ranks = [pl.col(name).fill_null(DEPTH + 1) for name in ("rank_without", "rank_having")]
    frame = frame.with_columns(places=ranks[0] - ranks[1])
    return RULES[rule].pick(found, frame).head(n)


def _gains(found: Ranked, frame: pl.DataFrame) -> pl.DataFrame:
    risen = frame.filter(pl.col("places") > 0).sort("places", "question", descending=[True, False])
    return _explained(risen, lambda row: f"The prior lifts its evidence {_moved(row)}.")


def _losses(found: Ranked, frame: pl.DataFrame) -> pl.DataFrame:
    fallen = frame.filter(pl.col("places") < 0).sort("places", "question")
    return _explained(fallen, lambda row: f"The prior pushes its evidence down {_moved(row)}.")


def _disputed(found: Ranked, frame: pl.DataFrame) -> pl.DataFrame:
    audits = {q.id: q.audit for q in found.study.questions if q.audit}
    disputed = frame.filter(pl.col("question").is_in(list(audits))).sort(
        pl.col("places").abs(), "question", descending=[True, False]
    )

    def why(row: Mapping[str, Any]) -> str:
        told = AUDITS.get(audits[row["question"]] or "", "differs from what the dialogue says")
        return f"The audit finds that the dataset's own key {told}."

    return _explained(disputed, why)


# The kinds of error that the audit of LoCoMo names.
AUDITS = {
    "HALLUCINATION": "says what nobody said",
    "TEMPORAL_ERROR": "has the time wrong",
    "ATTRIBUTION_ERROR": "gives the deed to the wrong person",
    "WRONG_CITATION": "cites the wrong turns as evidence",
    "AMBIGUOUS": "is one of several right ones",
    "INCOMPLETE": "leaves something out",
}


def _temporal(found: Ranked, frame: pl.DataFrame) -> pl.DataFrame:
    """Questions about a time whose evidence stands behind a memory of another session that
    resembles it; those first where question, evidence and that memory are nearest to each other
    (by the smallest of their cosines, which is that of question and evidence)."""
    # What a question asks for is in its own words: a rewriter's are no question.
    texts = dict(frame.select("question", "text").iter_rows())
    asked = [q for q in found.study.questions if form_of(texts[q.id]).kind in OF_TIME]
    vectors = found.study.banks.queries(question.text for question in asked)
    rivals = {
        question.id: rival
        for question, vector in zip(asked, vectors, strict=True)
        if vector is not None and (rival := _rival(found, question, vector)) is not None
    }
    confused = frame.filter(pl.col("question").is_in(list(rivals)))
    confused = _explained(
        confused,
        lambda row: (
            "It asks about a time, and a memory of another session, very like the evidence "
            f"(cosine {rivals[row['question']].likeness:.2f}), stands before it."
        ),
    )
    rows = [rivals[one] for one in confused["question"]]
    return (
        confused.with_columns(
            rival=pl.Series([one.memory for one in rows], dtype=pl.String),
            nearness=pl.Series([one.nearness for one in rows], dtype=pl.Float64),
        )
        .sort("nearness", "question", descending=[True, False])
        .drop("nearness")
    )


class _Rival(NamedTuple):
    """A memory mistaken for the evidence, its likeness to it, and the evidence's nearness to the
    question (cosines)."""

    memory: str
    likeness: float
    nearness: float


def _rival(found: Ranked, question: Question, vector: Any) -> _Rival | None:
    """Of the memories of other sessions that are nearer to the question than its evidence is, the
    one most like the evidence; None where none is as near to the evidence as the question is."""
    bank = found.study.banks.shelf(question.scope).as_of(question.until).bank
    evidence = set(question.gold.evidence)
    rows = [row for row, m in enumerate(bank.memories) if not evidence.isdisjoint(m.sources)]
    if not rows:
        return None
    to_query = bank.cosines(vector)[0]
    first = max(rows, key=lambda row: (to_query[row], -row))
    likeness = bank.cosines(bank.vectors[first])[0]
    sessions = {bank.memories[row].session for row in rows}
    elsewhere = np.array([memory.session not in sessions for memory in bank.memories])
    rivals = elsewhere & (to_query > to_query[first]) & (likeness >= to_query[first])
    if not rivals.any():
        return None
    best = int(np.argmax(np.where(rivals, likeness, -np.inf)))
    return _Rival(bank.memories[best].id, float(likeness[best]), float(to_query[first]))


# To add a rule: a function and a line here.
RULES: dict[str, Rule] = {
    "gain": Rule(
        "largest gain",
        "the prior lifts the first piece of evidence by the most places",
        "No question's evidence rises with this prior. Try another prior, or a smaller λ.",
        _gains,
    ),
    "loss": Rule(
        "largest loss",
        "the prior pushes the first piece of evidence down by the most places",
        "No question's evidence falls with this prior. Try another prior, or a smaller λ.",
        _losses,
    ),
    "temporal": Rule(
        "confused in time",
        "it asks about a time, and something alike, said in another session, stands before the "
        "evidence",
        "No question about a time has a rival like that here.",
        _temporal,
    ),
    "disputed": Rule(
        "disputed answer",
        "an audit of the dataset disputes its answer or its evidence",
        "This dataset has no audit. LoCoMo has one: "
        "workbench import locomo10.json --audit audit_errors.json",
        _disputed,
    ),
}


def _explained(frame: pl.DataFrame, why: Callable[[Mapping[str, Any]], str]) -> pl.DataFrame:
    told = [why(row) for row in frame.iter_rows(named=True)]
    return frame.with_columns(
        why=pl.Series(told, dtype=pl.String), rival=pl.lit(None, dtype=pl.String)
    )


def _moved(row: Mapping[str, Any]) -> str:
    places = abs(row["places"])
    before, after = (_place(row[name]) for name in ("rank_without", "rank_having"))
    return f"{places} {'place' if places == 1 else 'places'}, from {before} to {after}"


def _place(rank: int | None) -> str:
    return f"beyond {DEPTH}" if rank is None else f"{rank}"


# ---------------------------------------------------------------- comparing


def compare(before: Iterable[Found], after: Iterable[Found]) -> pl.DataFrame:
    """Two rankings of one question, of two traces or two recipes (`traces.found(hits)`).

    A row a memory, in the order of the second ranking and then of the first: `memory`, its rank
    `before` and `after` (null where it is not found), and `change`: "entered", "left", "rose",
    "fell" or "stayed".
    """
    ranks = [{hit.memory: hit.rank for hit in ranking} for ranking in (before, after)]
    rows = []
    for memory in dict.fromkeys([*ranks[1], *ranks[0]]):
        was, now = (one.get(memory) for one in ranks)
        rows.append({"memory": memory, "before": was, "after": now, "change": _change(was, now)})
    return pl.DataFrame(rows, schema=COMPARED)


def _change(was: int | None, now: int | None) -> str:
    if was is None:
        return "entered"
    if now is None:
        return "left"
    return "stayed" if was == now else "rose" if now < was else "fell"
