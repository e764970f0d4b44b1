"""What runs say of single questions: the answer, where it was lost, and what judges hold of it.

Runs of `evaluate` keep answers (their traces) and classes of error; a run of `judge` keeps verdicts
on the answers of another run, or of a file that `score` measured. Here they are brought together by
question, for whatever shows them; nothing is generated, retrieved or judged.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from workbench import attribution
from workbench.attribution import Attribution
from workbench.bank_set import BankSet
from workbench.datasets.report import Dataset
from workbench.errors import UsageError
from workbench.judged import JudgedAnswer
from workbench.metrics import GoldKind
from workbench.rubrics import gold_of
from workbench.runs import Run
from workbench.schema import Question, decode_jsonl
from workbench.traces import read_traces
from workbench.workspace import Workspace

__all__ = [
    "answers_of",
    "by_question",
    "classes_by_judge",
    "classes_of",
    "judged_run",
    "judges_of",
    "keeps_classes",
    "remembers",
    "runs_with_classes",
    "same_judge",
    "verdicts_of",
]

TRACES, VERDICTS = "traces.jsonl", "verdicts.jsonl"
F1 = "f1_locomo"
ANSWERS = {
    "question": pl.String,
    "answer": pl.String,
    "abstained": pl.Boolean,
    "failure": pl.String,
    "f1": pl.Float64,
}
HELD = {
    "question": pl.String,
    "right": pl.Boolean,
    "failure": pl.String,
    "votes": pl.Int64,
    "verdicts": pl.Int64,
}
WORDS = {0: "wrong", 1: "right"}
# Kinds of run whose questions have a class of error; those of "recall", where they are turns'.
CLASSED = ("evaluate", "score")


def answers_of(workspace: Workspace, run: Run) -> pl.DataFrame:
    """A row for every question that a run answered, failed on or scored: `question, answer,
    abstained, failure` (why there is no answer) and `f1`, the official F1.

    Runs of `score` keep no words: their `answer` is null. Runs of `judge` have the words that were
    judged and no F1; runs of other kinds have no rows.
    """
    if TRACES in run.manifest["files"]:
        rows = [
            (t.question, t.answer, t.abstained, t.failure or t.error)
            for t in read_traces(workspace.folder("runs", run.id) / TRACES)
        ]
    elif VERDICTS in run.manifest["files"]:
        rows = [(j.question, j.said, j.declined, None) for j in _judged(workspace, run)]
    else:
        rows = []
    said = pl.DataFrame(rows, schema=dict(list(ANSWERS.items())[:4]), orient="row")
    scored = run.frame.filter(pl.col("metric") == F1).select("question", f1=pl.col("value"))
    both = said.join(scored, on="question", how="full", coalesce=True, maintain_order="left_right")
    return both.select(pl.col(name).cast(kind) for name, kind in ANSWERS.items())


def judges_of(workspace: Workspace, run: Run) -> dict[str, dict[str, Any]]:
    """The runs of `judge` over a run's answers by id, oldest first: their manifests.

    Those of a run of `score` judged the same file of answers.
    """
    identity = run.manifest["identity"]
    wanted = {"answers": identity.get("answers")} if _is(run, "score") else {"run": run.id}
    return {
        name: manifest
        for name, manifest in workspace.manifests("runs").items()
        if manifest["kind"] == "judge" and manifest["identity"].get("answers") == wanted
    }


def judged_run(run: Run) -> str | None:
    """The id of the run whose answers a run of `judge` is about; None for a file's, and for runs of
    other kinds."""
    answers = run.manifest["identity"].get("answers")
    return answers.get("run") if _is(run, "judge") and isinstance(answers, Mapping) else None


def same_judge(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    """Whether two manifests of kind "judge" are verdicts of one judge, asked in one way."""
    return all(a["identity"].get(key) == b["identity"].get(key) for key in ("judge", "gold"))


def verdicts_of(workspace: Workspace, run: Run) -> pl.DataFrame:
    """A row for every answer that a run of `judge` was given: `question, right` (null: not judged),
    `failure` (why not), `votes`, and how many `verdicts` they gave.

    Raises UsageError for a run of another kind.
    """
    if VERDICTS not in run.manifest["files"]:
        raise UsageError(f"run {run.id} ({run.manifest['kind']}) has no verdicts")
    rows = [
        (j.question, j.right, j.failure, len(j.votes), len(j.votes) - len(j.pending))
        for j in _judged(workspace, run)
    ]
    return pl.DataFrame(rows, schema=HELD, orient="row")


def keeps_classes(manifest: Mapping[str, Any]) -> bool:
    """Whether the questions of a manifest's run can have classes of error."""
    if manifest["kind"] == "recall":
        return bool(manifest["identity"].get("level") == "turn")
    return manifest["kind"] in CLASSED


def remembers(manifest: Mapping[str, Any]) -> bool:
    """Whether `classes_of` needs the banks of a manifest's run."""
    return bool(manifest["kind"] == "recall")


def runs_with_classes(workspace: Workspace, dataset: str) -> dict[str, dict[str, Any]]:
    """The runs of a dataset whose questions can have classes of error, oldest first: manifests."""
    return {
        name: manifest
        for name, manifest in workspace.manifests("runs").items()
        if keeps_classes(manifest) and manifest["identity"].get("dataset") == dataset
    }


def classes_of(
    workspace: Workspace, run: Run, dataset: Dataset, banks: BankSet | None = None
) -> Attribution | None:
    """Where a run's questions were lost; `banks`, those of its recipe, where `remembers` says so.

    None where nothing can be told: a run of another kind, or without the banks it needs.
    """
    if not keeps_classes(run.manifest):
        return None
    if _is(run, "recall"):
        return None if banks is None else attribution.of_recall(run, banks)
    kept = attribution.saved(workspace, run)
    return kept or attribution.of_score(run, dataset.questions)


def classes_by_judge(
    workspace: Workspace, run: Run, judge: Run, banks: BankSet
) -> Attribution | None:
    """The classes of a run of `evaluate` where a judge says which answers are right; those that it
    did not judge are right by their F1. None where the banks are not those of the run."""
    if run.manifest["identity"].get("banks") != banks.id or judged_run(judge) != run.id:
        return None
    traces = read_traces(workspace.folder("runs", run.id) / TRACES)
    asked = {trace.question for trace in traces}
    questions = [question for question in banks.dataset.questions if question.id in asked]
    held = {j.question: j.right for j in _judged(workspace, judge) if j.right is not None}
    gold = run.manifest["identity"].get("gold", "original")
    return attribution.of_traces(banks, questions, traces, run.frame, held, gold)


def by_question(
    answers: pl.DataFrame,
    classes: Attribution,
    verdicts: pl.DataFrame | None,
    questions: Mapping[str, Question],
    gold: GoldKind = "original",
) -> pl.DataFrame:
    """All that is known of each question of a run, a row each: the columns of `answers_of` with
    `class` (null: none), `verdict` ("right", "wrong", "none"; null: not given to the judge), `why`
    (there is no verdict), and of the dataset's `questions`, by id, `text, category, gold`.

    Where nothing was answered the rows are the questions that have a class.
    """
    lost = classes.frame.select("question", "class")
    order = answers if len(answers) else lost.select("question").join(answers, "question", "left")
    frame = order.join(lost, on="question", how="left", maintain_order="left")
    held = pl.DataFrame(schema=HELD) if verdicts is None else verdicts
    said = held.select(
        "question",
        verdict=pl.col("right").cast(pl.Int8).replace_strict(WORDS, default="none"),
        why=pl.col("failure"),
    )
    frame = frame.join(said, on="question", how="left", maintain_order="left")
    known = [questions.get(one) for one in frame["question"]]
    told = {
        "text": [one and one.text for one in known],
        "category": [one and one.category for one in known],
        "gold": [one and gold_of(one, gold) for one in known],
    }
    columns = {name: pl.Series(values, dtype=pl.String) for name, values in told.items()}
    return frame.with_columns(**columns)


def _judged(workspace: Workspace, run: Run) -> list[JudgedAnswer]:
    return decode_jsonl(workspace.folder("runs", run.id) / VERDICTS, JudgedAnswer)


def _is(run: Run, kind: str) -> bool:
    return bool(run.manifest["kind"] == kind)
