"""A run of another memory system: its answers as traces, scored and kept like any other run.

Traces are appended as they come, scope by scope, and a run that was stopped goes on where it was;
of a scope that was begun the system remembers anew, and is asked what is left.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec

from workbench import attribution
from workbench.answer_file import Answers
from workbench.build import by_scope
from workbench.datasets import load_dataset
from workbench.datasets.report import Dataset
from workbench.errors import DataError, UsageError
from workbench.metrics import GoldKind
from workbench.runs import load_run, run_id, save_run, write_parquet
from workbench.schema import Dialogue, Question, digest_of, encode_jsonl
from workbench.score import score
from workbench.systems import OpenedSystem, Posed, System, posed, told_until
from workbench.traces import Trace, begin, resumed
from workbench.workspace import Content, Workspace, remove_folder

__all__ = ["SystemPlan", "evaluate_system"]

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class SystemPlan:
    """Which system answers what."""

    workspace: Workspace
    dataset: Dataset
    system: OpenedSystem
    split: str = "all"
    gold: GoldKind = "original"

    @property
    def questions(self) -> list[Question]:
        """Of the split, in the dataset's order. Raises UsageError for a split it doesn't have."""
        splits, asked = self.dataset.splits, self.dataset.questions
        if self.split == "all":
            return list(asked)
        if self.split not in splits.values():
            known = ", ".join(["all", *sorted(set(splits.values()))])
            raise UsageError(f"{self.dataset.name} has no split {self.split!r}; it has: {known}")
        return [question for question in asked if splits.get(question.scope) == self.split]

    @property
    def key(self) -> str:
        return digest_of([self.dataset.name, self.split, self.system.name])

    @property
    def folder(self) -> Path:
        return self.workspace.folder("traces", self.key)

    def identity(self) -> dict[str, Any]:
        """What the answers depend on, as far as that can be known."""
        seen = [(q.id, q.scope, q.text, q.people, q.until, q.asked) for q in self.questions]
        return {
            "dataset": self.dataset.name,
            "dialogues": digest_of(self.dataset.dialogues),
            "questions": digest_of(seen),
            "split": self.split,
            "answerer": self.system.name,
            "system": self.system.identity,
        }


def evaluate_system(
    workspace: Workspace,
    name: str,
    system: OpenedSystem,
    split: str = "all",
    gold: GoldKind = "original",
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Let a system answer a split's questions, score that, and keep it as a run.

    A run with failures is not kept, and goes on where it was when it is asked for again. Raises
    DataError where the system has not one answer.
    """
    plan = SystemPlan(workspace, load_dataset(workspace, name), system, split, gold)
    golds = digest_of([(q.gold, q.audited, q.audit, q.abstention) for q in plan.questions])
    identity = {**plan.identity(), "gold": gold, "golds": golds}
    made = run_id("evaluate", identity)
    if made in workspace.manifests("runs"):
        return {"run": made, **load_run(workspace, made).manifest["report"]}
    with workspace.lock(f"traces-{plan.key}"):
        traces = _traces(plan, progress)
        report, run = _scored(plan, traces, identity)
    return {"run": run, **report}


def _scored(
    plan: SystemPlan, traces: list[Trace], identity: dict[str, Any]
) -> tuple[dict[str, Any], str | None]:
    said = {trace.question: trace.answer for trace in traces if trace.answer is not None}
    failed = {trace.question: trace.error for trace in traces if trace.error is not None}
    if traces and not said:
        raise DataError(f"{plan.system.name} has not one answer; the first: {traces[0].error}")
    asked = msgspec.structs.replace(plan.dataset, questions=tuple(plan.questions))
    scored = score(asked, Answers(hypotheses=said), plan.gold)
    classes = _classes(plan, traces, attribution.right_by(scored.frame))
    unused = ("failed", "repeated", "extra")
    report = {
        **{key: value for key, value in scored.report.items() if key not in unused},
        "split": plan.split,
        "answerer": plan.system.name,
        "abstained": 0,
        "failed": failed,
        "failures": dict(sorted(Counter(t.failure or "error" for t in traces if t.error).items())),
        "seconds": round(sum(trace.seconds for trace in traces), 3),
        "notes": [],
        "attribution": classes.report,
    }
    if failed:
        return report, None
    files: dict[str, Content] = {
        "traces.jsonl": encode_jsonl(traces),
        attribution.FILE: lambda path: write_parquet(classes.frame, path),
    }
    facts = {"n": report["n"], "excluded": report["excluded"], "report": report}
    run = save_run(plan.workspace, "evaluate", identity, scored.frame, facts, files)
    remove_folder(plan.folder)
    return report, run


def _classes(
    plan: SystemPlan, traces: list[Trace], right: dict[str, bool]
) -> attribution.Attribution:
    """Where answers were lost. A system was told every turn, so none is "not in memory"; one that
    never says what it retrieved has answers that are right, or not."""
    given = {trace.question: trace.sources for trace in traces}
    if not any(given.values()):
        return attribution.attribute(plan.questions, attribution.Known(right), plan.gold)
    told = {
        scope: frozenset(turn.id for one in dialogues for turn in one.turns)
        for scope, dialogues in by_scope(plan.dataset).items()
    }
    return attribution.attribute(plan.questions, attribution.Known(right, given, told), plan.gold)


def _traces(plan: SystemPlan, progress: Progress | None) -> list[Trace]:
    """A trace of every question, while the lock is held; those that failed before are asked."""
    identity = plan.identity()
    done = resumed(plan.folder, identity)
    begin(plan.folder, identity, done.values())
    dialogues = by_scope(plan.dataset)
    groups: dict[tuple[str, str | None], list[Question]] = {}
    for question in plan.questions:
        if question.id not in done:
            groups.setdefault((question.scope, question.until), []).append(question)
    with (plan.folder / "traces.jsonl").open("ab") as stream:
        for (scope, until), asked in groups.items():
            for trace in _asked(plan, told_until(dialogues[scope], until), asked):
                stream.writelines(encode_jsonl([trace]))
                stream.flush()
                done[trace.question] = trace
                if progress:
                    progress("answering", len(done), len(plan.questions))
    return [done[question.id] for question in plan.questions]


def _asked(plan: SystemPlan, told: list[Dialogue], asked: list[Question]) -> Iterator[Trace]:
    """The traces of questions about the same dialogues, by a system of their own."""
    turns = {turn.id for dialogue in told for turn in dialogue.turns}
    times = [turn.time for dialogue in told for turn in dialogue.turns if turn.time is not None]
    try:
        system = plan.system.make()
        for dialogue in told:
            system.remember(dialogue)
    except Exception as error:  # noqa: BLE001 - anybody's code: whatever it raises is a failure
        yield from (_failed(question, error, "remember") for question in asked)
        return
    for question in asked:
        today: datetime | None = question.asked or (times[-1] if times else None)
        yield _trace(system, question, posed(question, today), turns)


def _trace(system: System, question: Question, seen: Posed, turns: set[str]) -> Trace:
    began = time.perf_counter()
    try:
        found = [str(turn) for turn in system.retrieve(seen)]
        said = system.answer(seen)
    except Exception as error:  # noqa: BLE001 - anybody's code: whatever it raises is a failure
        return _failed(question, error, "answer")
    if not isinstance(said, str):
        wrong = TypeError(f"an answer is text, not {type(said).__name__}")
        return _failed(question, wrong, "answer")
    strange = [turn for turn in found if turn not in turns]
    if strange:
        wrong = TypeError(f"retrieve gives ids of turns; {strange[0][:40]!r} is none of this scope")
        return _failed(question, wrong, "retrieve")
    return Trace(
        question=question.id,
        queries=(seen.text,),
        answer=said,
        sources=tuple(dict.fromkeys(found)),
        seconds=round(time.perf_counter() - began, 6),
    )


def _failed(question: Question, error: Exception, step: str) -> Trace:
    told = f"{step}: {type(error).__name__}: {error}"
    return Trace(question=question.id, error=told[:500], failure=f"{step} failed")
