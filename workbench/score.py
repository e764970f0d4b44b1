"""Scores of any system's answers: hypotheses by question in, a tidy frame and a report out.

Every question of the dataset ends in exactly one place: scored, excluded (abstention, no gold, bad
gold), missing (no row) or failed (a row that cannot be used). Only scored ones enter a mean, and
`n` is their number. Rows for questions that the dataset doesn't have are extra.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from workbench import __version__
from workbench.answer_file import Answers, read_answers
from workbench.answer_metrics import MEASURES, METHODS, macro_mean, measure
from workbench.datasets import load_dataset
from workbench.datasets.report import Dataset
from workbench.errors import DataError, UsageError
from workbench.metrics import GoldKind
from workbench.runs import save_run, tidy
from workbench.schema import Question, digest_of
from workbench.stats import Estimate, mean_interval
from workbench.tokens import squad_tokens, whitespace_tokens
from workbench.workspace import Workspace, file_sha256

__all__ = ["Scored", "score", "score_file"]

LEVEL = 0.95

# The audit's only type of error that leaves the answer right: its "corrections" are remarks.
CITATION = "WRONG_CITATION"

Values = npt.NDArray[np.float64]


class Scored(NamedTuple):
    """A tidy frame (with `answer_words` beside the measures) and what `score --json` prints."""

    frame: pl.DataFrame
    report: dict[str, Any]


class _Pair(NamedTuple):
    """A scored question: what was said, and what should have been."""

    question: Question
    said: str
    gold: str


def score_file(
    workspace: Workspace, name: str, path: Path, gold: GoldKind = "original"
) -> dict[str, Any]:
    """Score a file of answers to a dataset of the workspace, keep the run, return the report."""
    dataset = load_dataset(workspace, name)
    scored = score(dataset, read_answers(path), gold)
    identity = {
        "dataset": name,
        "content": digest_of(dataset.questions),
        "answers": file_sha256(path),
        "gold": gold,
        "methods": METHODS,
        "code": __version__,
    }
    facts = {"source": path.name, **{k: v for k, v in scored.report.items() if k not in identity}}
    run = save_run(workspace, "score", identity, scored.frame, facts)
    return {"run": run, "source": path.name, **scored.report}


def score(dataset: Dataset, answers: Answers, gold: GoldKind = "original") -> Scored:
    """Measure answers against a dataset's gold.

    `gold` "audited" puts the audit's answer where it disputes the original one (every type of
    error but a wrong citation). Micro means weigh questions alike, macro means categories;
    intervals are `stats.mean_interval`'s, clustered by scope. Raises UsageError where there is no
    audit to use, DataError where not one answer can be scored.
    """
    if gold == "audited" and not any(q.audited for q in dataset.questions):
        raise UsageError(f"{dataset.name} has no audited gold: import it with --audit FILE")
    excluded = {q.id: why for q in dataset.questions if (why := _exclusion(q, gold))}
    wanted = [q for q in dataset.questions if q.id not in excluded]
    pairs = [
        _Pair(q, answers.hypotheses[q.id], _gold(q, gold) or "")
        for q in wanted
        if q.id in answers.hypotheses
    ]
    if not pairs:
        raise DataError(_nothing(dataset, answers))
    strangers = {f.question for f in answers.failed} - {q.id for q in wanted} - {None}
    failed = [f for f in answers.failed if f.question not in strangers]
    answered = {*answers.hypotheses, *(f.question for f in answers.failed if f.question)}
    values = _values((p.said, p.gold, p.question.category) for p in pairs)
    report = {
        "dataset": dataset.name,
        "gold": gold,
        "n": len(pairs),
        "missing": [q.id for q in wanted if q.id not in answered],
        "extra": sorted(answered - {q.id for q in dataset.questions}),
        "repeated": answers.repeated,
        "failed": [msgspec.to_builtins(one) for one in failed],
        "excluded": dict(sorted(Counter(excluded.values()).items())),
        "level": LEVEL,
        "measures": _measures(pairs, values),
        "answer_length": _lengths(pairs),
        "ceiling": _ceiling(dataset, pairs, gold),
        "methods": METHODS,
    }
    return Scored(_frame(pairs, values), report)


def _exclusion(question: Question, gold: GoldKind) -> str | None:
    """Why no answer to a question can be scored; None where it can."""
    if question.abstention:
        return "abstention"
    answer = _gold(question, gold)
    if answer is None or not answer.strip():
        return "without gold answer"
    return None if squad_tokens(answer) else "bad gold"


def _gold(question: Question, gold: GoldKind) -> str | None:
    corrected = _corrected(question)
    return question.gold.answer if gold == "original" or corrected is None else corrected


def _corrected(question: Question) -> str | None:
    """The audit's answer, where it says that the original one is wrong."""
    if question.audited is None or question.audit == CITATION:
        return None
    return question.audited.answer


def _values(rows: Iterable[tuple[str, str, str]]) -> dict[str, Values]:
    """Every measure's values (n,) of rows of hypothesis, gold and category."""
    measured = [measure(*row) for row in rows]
    return {name: np.array([one[name] for one in measured], float) for name in MEASURES}


def _measures(pairs: Sequence[_Pair], values: Mapping[str, Values]) -> dict[str, dict[str, Any]]:
    categories = np.array([pair.question.category for pair in pairs])
    scopes = np.array([pair.question.scope for pair in pairs])

    groups = {category: categories == category for category in sorted(set(categories.tolist()))}

    def estimate(of: Values, rows: Any = slice(None)) -> Estimate:
        return mean_interval(of[rows], scopes[rows].tolist(), level=LEVEL)

    report = {}
    for name, column in values.items():
        macro, influence = macro_mean(column, categories)
        micro = estimate(column)
        report[name] = {
            "micro": float(column.mean()),
            "macro": macro,
            "interval": _bounds(micro),
            "macro_interval": _bounds(estimate(influence)),
            "basis": micro.basis,
            "by_category": {
                category: {
                    "n": int(rows.sum()),
                    "mean": float(column[rows].mean()),
                    "interval": _bounds(estimate(column, rows)),
                }
                for category, rows in groups.items()
            },
        }
    return report


def _bounds(found: Estimate) -> list[float | None]:
    """An interval within 0..1, where influences may lead out of it; None where nothing is told."""
    lo, hi = found.lo, found.hi
    return [
        None if lo is None else max(0.0, float(lo)),
        None if hi is None else min(1.0, float(hi)),
    ]


def _lengths(pairs: Sequence[_Pair]) -> dict[str, Any]:
    """White-space tokens of answers and golds, and how many answers say nothing."""
    said = np.array([len(whitespace_tokens(pair.said)) for pair in pairs])
    wanted = np.array([len(whitespace_tokens(pair.gold)) for pair in pairs])
    return {
        "words": float(said.mean()),
        "median": float(np.median(said)),
        "gold_words": float(wanted.mean()),
        "empty": int((said == 0).sum()),
    }


def _ceiling(dataset: Dataset, pairs: Sequence[_Pair], gold: GoldKind) -> dict[str, Any] | None:
    """What an answerer that is always right can reach over the scored questions.

    `share`: the questions whose gold the audit doesn't dispute; only there can a true answer also
    be a right one. `measures`: 1 for each of these, and for each disputed one the score of the
    audit's own answer against the gold; the audit words some answers at length, so a terser truth
    may do better. All 1 for the audited gold. None where the dataset has no audit.
    """
    if not any(question.audited for question in dataset.questions):
        return None
    truths = [_corrected(p.question) if gold == "original" else None for p in pairs]
    rows = [place for place, truth in enumerate(truths) if truth is not None]
    disputed = [(truths[i] or "", pairs[i].gold, pairs[i].question.category) for i in rows]
    categories = np.array([pair.question.category for pair in pairs])
    measures = {}
    for name, lost in _values(disputed).items():
        values = np.ones(len(pairs))
        values[rows] = lost
        measures[name] = {"micro": float(values.mean()), "macro": macro_mean(values, categories)[0]}
    share = 1 - len(rows) / len(pairs)
    return {"share": share, "disputed": len(rows), "n": len(pairs), "measures": measures}


def _frame(pairs: Sequence[_Pair], values: Mapping[str, Values]) -> pl.DataFrame:
    words = np.array([len(whitespace_tokens(pair.said)) for pair in pairs], float)
    return tidy(
        [
            {
                "question": pair.question.id,
                "scope": pair.question.scope,
                "category": pair.question.category,
                "metric": name,
                "value": float(column[row]),
            }
            for name, column in {**values, "answer_words": words}.items()
            for row, pair in enumerate(pairs)
        ]
    )


def _nothing(dataset: Dataset, answers: Answers) -> str:
    theirs = next(iter(answers.hypotheses), None)
    ours = next((q.id for q in dataset.questions), None)
    if answers.failed and theirs is None:
        first = answers.failed[0]
        return f"no row can be used; the first: {first.where}: {first.why}"
    return (
        f"none of the answers is to a question of {dataset.name} that can be scored: "
        f"their ids read like {theirs!r}, its like {ours!r}"
    )
