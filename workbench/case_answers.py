"""What kept runs say of one question: the answer, where it was lost, what a judge holds of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from workbench.attribution import CLASSES
from workbench.bank_set import BankSet
from workbench.effects import DEPTH, Ranked
from workbench.errors import UsageError
from workbench.run_answers import (
    answers_of,
    by_question,
    classes_by_judge,
    classes_of,
    judged_run,
    judges_of,
    remembers,
    verdicts_of,
)
from workbench.run_list import apart
from workbench.runs import Run, load_run
from workbench.workspace import Workspace

__all__ = ["SAID", "TELLING", "Told", "lost_cases", "question_pairs", "told_by", "told_of"]

# Kinds of run that say something of single questions.
TELLING = ("evaluate", "score", "recall")
# What each class says, for people.
SAID = dict(
    zip(
        CLASSES,
        (
            "the answer is right",
            "the answer differs from the gold, which an audit says is wrong",
            "no memory rests on some turn of the evidence: nothing could find it",
            "all of the evidence is remembered, and some was not among what was read",
            "all of the evidence was read, and the answer is wrong all the same",
            "the answer is wrong; what was read for it is not known",
            "all of the evidence was found (nothing was answered)",
        ),
        strict=True,
    )
)

TOLD = {
    **dict.fromkeys(("run", "answer", "class"), pl.String),
    "f1": pl.Float64,
    **dict.fromkeys(("verdict", "judge"), pl.String),
}


class Told(NamedTuple):
    """What a run says of single questions: `frame` is `run_answers.by_question`, by the verdicts of
    `judge` where there are some. `name` tells it apart from another run beside it."""

    name: str
    run: Run
    judge: Run | None
    frame: pl.DataFrame


def told_by(
    workspace: Workspace, banks: BankSet, names: Sequence[str], judge: Run | None = None
) -> list[Told]:
    """What one or two runs (ids) on the dataset of `banks` say; those that say nothing of single
    questions are left out. Verdicts are the newest on each run, or `judge`'s on its own.

    Raises UsageError where there is no such run.
    """
    runs = [load_run(workspace, name) for name in names]
    several = len(runs) == 2 and runs[0].id != runs[1].id
    titles = apart(*(run.manifest for run in runs)) if several else ("the run",)
    found = []
    for title, run in zip(titles, runs, strict=False):
        own = (
            judge if judge is not None and judged_run(judge) == run.id else _newest(workspace, run)
        )
        frame = _frame(workspace, banks, run, own)
        if frame is not None:
            found.append(Told(title, run, own, frame))
    return found


def told_of(question: str, told: Sequence[Told]) -> pl.DataFrame:
    """A row a run that has the question: `run, answer` (or why there is none), `class, f1, verdict`
    (or why there is none) and `judge`, the model's name."""
    rows = [
        (one.name, _answer(row), row["class"], row["f1"], row["why"] or row["verdict"], _model(one))
        for one in told
        for row in one.frame.filter(pl.col("question") == question).iter_rows(named=True)
    ]
    return pl.DataFrame(rows, schema=TOLD, orient="row")


def lost_cases(found: Ranked, frame: pl.DataFrame, lost: str, lam: float, k: int) -> pl.DataFrame:
    """The questions of one class of error, in the columns of `cases.choose`, those that the prior
    moves most first; `frame` is `Told.frame`."""
    ids = frame.filter(pl.col("class") == lost)["question"].to_list()
    far = [pl.col(name).fill_null(DEPTH + 1) for name in ("rank_without", "rank_having")]
    rows = found.at(lam, k).filter(pl.col("question").is_in(ids))
    return rows.with_columns(
        places=far[0] - far[1],
        why=pl.lit(f"The run’s class for it is “{lost}”: {SAID[lost]}."),
        rival=pl.lit(None, pl.String),
    ).sort(pl.col("places").abs(), "question", descending=[True, False])


def question_pairs(one: Run, other: Run, metric: str, first: str = "") -> pl.DataFrame:
    """`question, category, a, b, difference` of the questions that two runs measured, the largest
    differences first, and before them the question `first` (an id)."""
    frames = [run.frame.filter(pl.col("metric") == metric) for run in (one, other)]
    both = frames[0].join(frames[1], on=["question", "scope"])
    rows = both.select(
        "question",
        "category",
        a="value",
        b="value_right",
        difference=pl.col("value") - pl.col("value_right"),
    ).drop_nulls("difference")
    keys = [pl.col("question") != first, -pl.col("difference").abs(), pl.col("question")]
    return rows.sort(keys)


def _frame(
    workspace: Workspace, banks: BankSet, run: Run, judge: Run | None
) -> pl.DataFrame | None:
    """`run_answers.by_question` of a run; None where it says nothing of single questions."""
    own = run.manifest["identity"].get("banks") == banks.id
    try:
        held = banks if own and remembers(run.manifest) else None
        classes = classes_of(workspace, run, banks.dataset, held)
    except UsageError:  # it measured sessions
        return None
    if judge is not None:
        classes = classes_by_judge(workspace, run, judge, banks) or classes
    if classes is None:
        return None
    verdicts = None if judge is None else verdicts_of(workspace, judge)
    questions = {question.id: question for question in banks.dataset.questions}
    gold = run.manifest["identity"].get("gold", "original")
    return by_question(answers_of(workspace, run), classes, verdicts, questions, gold)


def _newest(workspace: Workspace, run: Run) -> Run | None:
    """The newest verdicts on a run's answers; None where nobody judged them."""
    found = list(judges_of(workspace, run))
    return load_run(workspace, found[-1]) if found else None


def _answer(row: Mapping[str, Any]) -> str | None:
    if row["failure"]:
        return f"none: {row['failure']}"
    if row["abstained"]:
        return "it declines to answer"
    return None if row["answer"] is None else str(row["answer"])


def _model(one: Told) -> str | None:
    if one.judge is None:
        return None
    model = one.judge.manifest["identity"]["judge"]["model"]
    return str(model.get("model", model.get("kind", "unknown")))
