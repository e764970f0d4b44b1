"""A recipe and an answerer over a dataset's questions: traces, and their scores.

Traces are appended as they come, to `ROOT/traces/KEY/` where KEY stands for (dataset, split,
answerer). A run that was stopped goes on where it was; one that was begun with another recipe is
refused with the names of what changed. A finished run has its traces in its own folder, beside the
frame of its scores, and is not made again. The folder's lock is held until then: of two runs at
once the second waits, and begins with nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec

from workbench import attribution
from workbench.answer_file import Answers
from workbench.answering import OVER, sentence_vectors, traces_of
from workbench.errors import DataError, ModelError, WorkbenchError, WorkspaceError
from workbench.metrics import GoldKind
from workbench.parallel import spread
from workbench.prepare import effective
from workbench.rewrite import rewriter_name
from workbench.run_plan import LLM_ANSWERER, Plan, check
from workbench.runs import load_run, run_id, save_run, write_parquet
from workbench.schema import digest_of, encode_jsonl
from workbench.score import score
from workbench.traces import Trace, begin, resumed
from workbench.workspace import Content, read_manifest, remove_folder

__all__ = ["Plan", "answer_questions", "check", "evaluate", "sentence_vectors"]

Progress = Callable[[str, int, int], None]

# Questions whose sentences are embedded, and whose traces are written, at a time.
BATCH = 64
# The same where a language model answers, which takes seconds a question.
LLM_BATCH = 16


def evaluate(
    plan: Plan,
    gold: GoldKind = "original",
    fresh: bool = False,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Answer a split's questions, score the answers, keep both as a run, and report.

    Abstention items are answered, and counted as in `score`: never among `n`. `seconds` are the
    answers' own, also where the run had been made before. Raises UsageError and WorkspaceError as
    `answer_questions` does; ModelError or DataError where not one question has an answer.
    """
    _check(plan)
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
    if traces and not said:
        raise _nothing(plan, traces)
    asked = msgspec.structs.replace(plan.banks.dataset, questions=tuple(plan.questions))
    scored = score(asked, Answers(hypotheses=said), identity["gold"])
    classes = attribution.of_traces(
        plan.banks, plan.questions, traces, scored.frame, gold=identity["gold"]
    )
    report = {
        **_told(plan, scored.report, traces),
        "recipe": identity["recipe"],
        "failed": failed,
        "attribution": classes.report,
    }
    facts = {"n": report["n"], "excluded": report["excluded"], "report": report}
    if failed:  # not kept: asking again tries those that failed, and only those
        return {"run": None, **report}
    files: dict[str, Content] = {
        "traces.jsonl": encode_jsonl(traces),
        attribution.FILE: lambda path: write_parquet(classes.frame, path),
    }
    name = save_run(plan.workspace, "evaluate", identity, scored.frame, facts, files)
    remove_folder(plan.folder)
    return {"run": name, **report}


def _nothing(plan: Plan, traces: Sequence[Trace]) -> WorkbenchError:
    """What to say where no question has an answer: they failed, or nothing fits the window."""
    errors = [trace for trace in traces if trace.error is not None]
    if not errors:
        left = f"not one of the {len(traces)} questions fits a window of {plan.window} tokens"
        return DataError(f"{left}; try another --context, a smaller --k or a larger --window")
    kinds = Counter(trace.failure or "error" for trace in errors).most_common()
    counted = ", ".join(f"{n} {kind}" for kind, n in kinds)
    return ModelError(
        f"not one of {len(traces)} questions was answered: {counted}; the first: {errors[0].error}"
    )


def _told(plan: Plan, scores: dict[str, Any], traces: Sequence[Trace]) -> dict[str, Any]:
    """What `score` reports, with what it cannot know in place of what it cannot see here."""
    unused = ("failed", "repeated", "extra")
    failures = Counter(t.failure or "error" for t in traces if t.error is not None)
    rewritings = Counter(t.rewriting for t in traces if t.rewriting is not None)
    return {
        **{key: value for key, value in scores.items() if key not in unused},
        "split": plan.split,
        "answerer": plan.answerer,
        "context": plan.read,
        "rewriter": rewriter_name(plan.rewriter),
        "llm": None if plan.llm is None else plan.llm.identity,
        "abstained": sum(trace.abstained for trace in traces),
        "failures": dict(sorted(failures.items())),
        "not_rewritten": dict(sorted(rewritings.items())),
        "over_window": sum(trace.failure == OVER for trace in traces),
        "tokens": {
            "in": sum(trace.tokens_in for trace in traces),
            "out": sum(trace.tokens_out for trace in traces),
        },
        "seconds": round(sum(trace.seconds for trace in traces), 3),
        "notes": effective(plan.banks, plan.recipe)[1],
    }


def _check(plan: Plan) -> None:
    check(plan.recipe, plan.answerer, plan.context, plan.rewriter, plan.llm is not None)


def answer_questions(
    plan: Plan, fresh: bool = False, progress: Progress | None = None
) -> list[Trace]:
    """A trace of every question of the split, in the dataset's order.

    Those that a stopped run left are taken over, failed ones are tried again; `fresh` drops them
    all. Raises UsageError where they were made under another recipe, naming what changed, and
    WorkspaceError where others hold the folder for too long or the banks were replaced meanwhile.
    """
    _check(plan)
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
        size = min(BATCH, LLM_BATCH) if plan.answerer == LLM_ANSWERER else BATCH
        batches = [left[start : start + size] for start in range(0, len(left), size)]
        for traces in spread(partial(traces_of, plan), batches, plan.workers):
            stream.writelines(encode_jsonl(traces))
            stream.flush()
            done.update({trace.question: trace for trace in traces})
            if progress:
                progress("answering", len(done), len(plan.questions))
    return [done[question.id] for question in plan.questions]
