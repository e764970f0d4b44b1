"""Where answers to judge come from: the traces of an evaluated run, or a file of any system's."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from workbench.answer_file import read_answers
from workbench.datasets import load_dataset
from workbench.datasets.report import Dataset
from workbench.errors import DataError, UsageError
from workbench.prompted_answer import ABSTAINS
from workbench.runs import load_run
from workbench.schema import Question, Record
from workbench.traces import read_traces
from workbench.workspace import Workspace, file_sha256

__all__ = ["GivenAnswers", "answers_of_file", "answers_of_run", "declines", "given_verdicts"]


class GivenAnswers(Record, frozen=True, kw_only=True):
    """Answers by question id. `source` is what a result depends on, `label` names it for people.
    `declined` holds the questions whose trace says so; for others the words are looked at. `asked`
    are the questions that should have an answer (None: all of the dataset's)."""

    dataset: Dataset
    hypotheses: dict[str, str]
    source: dict[str, Any]
    label: str
    declined: frozenset[str] = frozenset()
    unusable: tuple[dict[str, Any], ...] = ()
    gold: str = "original"
    asked: frozenset[str] | None = None

    @property
    def questions(self) -> list[Question]:
        """The questions that should have an answer, in the dataset's order."""
        everything = self.dataset.questions
        return [q for q in everything if self.asked is None or q.id in self.asked]


def answers_of_run(workspace: Workspace, name: str) -> GivenAnswers:
    """The answers of a run of kind "evaluate", by its id or the beginning of it; its gold is the
    one to judge against. Raises UsageError for runs of other kinds."""
    run = load_run(workspace, name)
    kind = run.manifest.get("kind")
    if "traces.jsonl" not in run.manifest["files"]:
        raise UsageError(
            f"run {run.id} ({kind}) has no answers to judge: give a run of `workbench evaluate`, "
            "or the file of answers with --dataset"
        )
    identity = run.manifest["identity"]
    traces = read_traces(workspace.folder("runs", run.id) / "traces.jsonl")
    return GivenAnswers(
        dataset=load_dataset(workspace, identity["dataset"]),
        hypotheses={one.question: one.answer for one in traces if one.answer is not None},
        source={"run": run.id},
        label=f"run {run.id}",
        declined=frozenset(one.question for one in traces if one.abstained),
        unusable=tuple(
            {"where": f"trace of {one.question}", "why": one.error or "no answer"}
            for one in traces
            if one.answer is None
        ),
        gold=identity.get("gold", "original"),
        asked=frozenset(one.question for one in traces),
    )


def answers_of_file(workspace: Workspace, dataset: str, path: Path) -> GivenAnswers:
    """The answers of a JSONL file of {question_id, hypothesis} rows, as `workbench score` reads
    them. Raises DataError where it cannot be read."""
    answers = read_answers(path)
    return GivenAnswers(
        dataset=load_dataset(workspace, dataset),
        hypotheses=answers.hypotheses,
        source={"answers": file_sha256(path)},
        label=path.name,
        unusable=tuple({"where": one.where, "why": one.why} for one in answers.failed),
    )


def given_verdicts(path: Path, field: str) -> dict[str, tuple[bool, ...]]:
    """The verdicts that a file of answers brings in a field (true or false, or a list of these), by
    question id. Rows without any are left out.

    Raises DataError naming the line where the field holds something else, or none has it.
    """
    found: dict[str, tuple[bool, ...]] = {}
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            row = _row(line, f"{path}, line {number}")
            value = row.get(field)
            if value is None or not isinstance(row.get("question_id"), str):
                continue
            listed = value if isinstance(value, list) else [value]
            if not all(isinstance(one, bool) for one in listed):
                raise DataError(f"{path}, line {number}: {field} is no list of true and false")
            if listed:
                found[row["question_id"]] = tuple(listed)
    if not found:
        raise DataError(f"{path}: no row has verdicts in a field {field!r}")
    return found


def declines(given: GivenAnswers, question: str) -> bool:
    """Whether an answer declines: its trace says so, it is blank, or it begins like "I don't know"
    or "no information". How an answer goes on plays no part."""
    said = given.hypotheses[question]
    return question in given.declined or not said.strip() or ABSTAINS.match(said) is not None


def _row(line: bytes, where: str) -> Mapping[str, Any]:
    try:
        row = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{where}: not JSON ({error})") from error
    return row if isinstance(row, dict) else {}
