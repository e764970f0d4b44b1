"""A recipe and an answerer over a dataset's questions: traces, and their scores.

Traces are appended as they come, to `ROOT/traces/KEY/` where KEY stands for (dataset, split,
answerer). A run that was stopped goes on where it was; one that was begun with another recipe is
refused with the names of what changed. A finished run has its traces in its own folder, beside the
frame of its scores, and is not made again. The folder's lock is held until then: of two runs at
once the second waits, and begins with nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from workbench import retrieve
from workbench.answer import ANSWERERS, Asked
from workbench.answer_file import Answers
from workbench.embed import Vectors, embed
from workbench.errors import UsageError, WorkbenchError, WorkspaceError
from workbench.library import BankSet
from workbench.metrics import GoldKind
from workbench.parallel import ALONE, Workers, spread
from workbench.prepare import effective, in_split, query_of
from workbench.provenance import code_digest
from workbench.runs import load_run, run_id, save_run
from workbench.schema import Hit, Question, Recipe, digest_of, encode_jsonl
from workbench.score import score
from workbench.shelf import Query, Shelf
from workbench.traces import Trace, begin, found, resumed
from workbench.workspace import Workspace, read_manifest, remove_folder

__all__ = ["Plan", "answer_questions", "check", "evaluate", "sentence_vectors"]

Progress = Callable[[str, int, int], None]

# Questions whose sentences are embedded, and whose traces are written, at a time.
BATCH = 64


@dataclass(frozen=True)
class Plan:
    """Everything that answers depend on; `sources` are the further banks that a prior
    needs. `workers` change nothing but the time."""

    workspace: Workspace
    banks: BankSet
    recipe: Recipe
    answerer: str = "extractive"
    split: str = "all"
    sources: dict[str, BankSet] | None = None
    workers: Workers = ALONE

    @property
    def questions(self) -> list[Question]:
        return in_split(self.banks, self.split)

    @property
    def key(self) -> str:
        """The name of its folder of unfinished traces, and of that folder's lock."""
        return digest_of([self.banks.dataset.name, self.split, self.answerer])

    @property
    def folder(self) -> Path:
        """Where its traces are until it is finished."""
        return self.workspace.folder("traces", self.key)

    def identity(self) -> dict[str, Any]:
        """What the traces depend on, plain; nothing of it is gold."""
        asked = [(q.id, q.scope, q.text, q.people, q.until) for q in self.questions]
        return {
            "dataset": self.banks.dataset.name,
            "banks": self.banks.id,
            "sources": {name: banks.id for name, banks in (self.sources or {}).items()},
            "questions": digest_of(asked),
            "split": self.split,
            "answerer": self.answerer,
            "recipe": msgspec.to_builtins(effective(self.banks, self.recipe)[0]),
            "code": code_digest(),
        }


class _Job(NamedTuple):
    """A question's id and what it is answered from: its gold stays behind."""

    question: str
    shelf: Shelf
    query: Query
    hits: tuple[Hit, ...]


def evaluate(
    plan: Plan,
    gold: GoldKind = "original",
    fresh: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Answer a split's questions, score the answers, keep both as a run, and report.

    Abstention items are answered, and counted as in `score`: never among `n`. `seconds` are the
    answers' own, also where the run had been made before. Raises UsageError and WorkspaceError as
    `answer_questions` does.
    """
    check(plan.recipe, plan.answerer)
    golds = digest_of([(q.gold, q.audited, q.audit, q.abstention) for q in plan.questions])
    identity = {**plan.identity(), "gold": gold, "golds": golds, "seed": plan.recipe.seed}
    made = None if fresh else _made(plan, identity)
    if made is not None:
        return made
    with plan.workspace.lock(f"traces-{plan.key}"):
        # Whoever held the lock may have been making this very run.
        made = None if fresh else _made(plan, identity)
        return made or _make(plan, identity, fresh, progress)


def _made(plan: Plan, identity: dict[str, Any]) -> dict[str, Any] | None:
    """What is reported of a run that is there already; None where it isn't."""
    name = run_id("evaluate", identity)
    if name not in plan.workspace.manifests("runs"):
        return None
    return {"run": name, **load_run(plan.workspace, name).manifest["report"]}


def _make(
    plan: Plan, identity: dict[str, Any], fresh: bool, progress: Progress | None
) -> dict[str, Any]:
    """Answer, score and keep, while the lock is held."""
    traces = _answer(plan, fresh, progress)
    failed = {trace.question: trace.error for trace in traces if trace.error is not None}
    said = {trace.question: trace.answer for trace in traces if trace.answer is not None}
    asked = msgspec.structs.replace(plan.banks.dataset, questions=tuple(plan.questions))
    scored = score(asked, Answers(hypotheses=said), identity["gold"])
    report = {**_told(plan, scored.report, traces), "recipe": identity["recipe"], "failed": failed}
    facts = {"n": report["n"], "excluded": report["excluded"], "report": report}
    if failed:  # not kept: asking again tries those that failed, and only those
        return {"run": None, **report}
    files = {"traces.jsonl": encode_jsonl(traces)}
    name = save_run(plan.workspace, "evaluate", identity, scored.frame, facts, dict(files))
    remove_folder(plan.folder)
    return {"run": name, **report}


def _told(plan: Plan, scores: dict[str, Any], traces: Sequence[Trace]) -> dict[str, Any]:
    """What `score` reports, with what it cannot know in place of what it cannot see here."""
    unused = ("failed", "repeated", "extra")
    return {
        **{key: value for key, value in scores.items() if key not in unused},
        "split": plan.split,
        "answerer": plan.answerer,
        "abstained": sum(trace.abstained for trace in traces),
        "seconds": round(sum(trace.seconds for trace in traces), 3),
        "notes": effective(plan.banks, plan.recipe)[1],
    }


def check(recipe: Recipe, answerer: str) -> None:
    """Refuse what cannot be run before anything is embedded or built."""
    retrieve.check_recipe(recipe)
    if answerer not in ANSWERERS:
        raise UsageError(f"unknown answerer {answerer!r}; known: {', '.join(ANSWERERS)}")


def answer_questions(
    plan: Plan, fresh: bool = False, progress: Progress | None = None
) -> list[Trace]:
    """A trace of every question of the split, in the dataset's order.

    Those that a stopped run left are taken over, failed ones are tried again; `fresh` drops them
    all. Raises UsageError where they were made under another recipe, naming what changed, and
    WorkspaceError where others hold the folder for too long or the banks were replaced meanwhile.
    """
    check(plan.recipe, plan.answerer)
    with plan.workspace.lock(f"traces-{plan.key}"):
        return _answer(plan, fresh, progress)


def _answer(plan: Plan, fresh: bool, progress: Progress | None) -> list[Trace]:
    """The traces, while the lock is held."""
    identity = plan.identity()
    done = {} if fresh else resumed(plan.folder, identity)
    begin(plan.folder, identity, done.values())
    # Now that `forget` sees the folder, and waits for it: has it been here before?
    if read_manifest(plan.workspace.folder("banks", plan.banks.id)) is None:
        remove_folder(plan.folder)
        raise WorkspaceError("the banks were replaced before they were asked; ask once more")
    left = [question for question in plan.questions if question.id not in done]
    with (plan.folder / "traces.jsonl").open("ab") as stream:
        batches = [left[start : start + BATCH] for start in range(0, len(left), BATCH)]
        for traces in spread(partial(_answered, plan), batches, plan.workers):
            stream.writelines(encode_jsonl(traces))
            stream.flush()
            done.update({trace.question: trace for trace in traces})
            if progress:
                progress("answering", len(done), len(plan.questions))
    return [done[question.id] for question in plan.questions]


def _answered(plan: Plan, batch: list[Question]) -> list[Trace]:
    """Traces of a batch of questions, whose sentences are embedded together."""
    began = time.perf_counter()
    shelf_of = cache(lambda scope: plan.banks.shelf(scope, plan.sources))
    recipe = effective(plan.banks, plan.recipe)[0]
    jobs = []
    for question, vector in zip(
        batch, plan.banks.queries(question.text for question in batch), strict=True
    ):
        shelf, query = shelf_of(question.scope), query_of(question, vector)
        jobs.append(_Job(question.id, shelf, query, retrieve.retrieve(shelf, query, recipe)))
    read = ANSWERERS[plan.answerer].read
    rows = sentence_vectors(plan, (text for job in jobs for text in read(job.hits)))
    each = (time.perf_counter() - began) / len(batch)
    return [_trace(plan, job, rows, each) for job in jobs]


def sentence_vectors(plan: Plan, texts: Iterable[str]) -> dict[str, Any]:
    """The vector (d,) of every text, from the cache where it is there."""
    wanted = list(dict.fromkeys(texts))
    rows = embed(wanted, "passage", plan.banks.embedder, plan.banks.cache)
    return dict(zip(wanted, rows, strict=True))


def _trace(plan: Plan, job: _Job, rows: dict[str, Any], shared: float) -> Trace:
    """Answer one question; `shared` are the seconds that its batch spent on each of its own."""
    began = time.perf_counter()

    def vectors(texts: Sequence[str]) -> Vectors:
        return np.stack([rows[text] for text in texts])

    said, error = None, None
    try:
        asked = Asked(job.query, tuple(job.shelf.people), job.hits, vectors)
        said = ANSWERERS[plan.answerer].answer(asked)
    except WorkbenchError as failure:
        error = str(failure)
    return Trace(
        question=job.question,
        queries=(job.query.text,),
        hits=found(job.hits),
        answer=said.text if said else None,
        support=said.support if said else None,
        abstained=bool(said and said.abstained),
        seconds=round(shared + time.perf_counter() - began, 6),
        error=error,
    )
