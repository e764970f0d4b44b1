"""Where an answer was lost: one class for each question, from what was remembered, read and said.

answered                   the answer is right (a judge's verdict; else official F1 of 0.5 and more)
gold disputed              it isn't, and the audit says that the gold answer is wrong
retrieved, not used        all of the evidence was read, and still the answer is wrong
not in memory              no memory of the asker's scope rests on some turn of the evidence
in memory, not retrieved   every turn of evidence is remembered, but some was not given to read

The first that holds is the class: a question needs *all* of its evidence. Where nothing is known of
what was read (answers of another system) a wrong answer is `not answered`; where nothing was
answered (recall runs) evidence that was found is `retrieved`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from workbench.bank_set import BankSet
from workbench.datasets import load_dataset
from workbench.errors import UsageError
from workbench.library import Progress, open_banks
from workbench.metrics import GoldKind, evidence_of, exclusion
from workbench.runs import Run, load_run
from workbench.schema import Question
from workbench.score import CITATION
from workbench.traces import Trace
from workbench.workspace import Workspace

__all__ = [
    "ANSWERED",
    "CLASSES",
    "FILE",
    "Attribution",
    "Known",
    "attribute",
    "attribution_of",
    "of_recall",
    "of_score",
    "of_traces",
    "remembered",
    "right_by",
    "saved",
]

FILE = "attribution.parquet"
MEASURE, RIGHT = "f1_locomo", 0.5

ANSWERED, DISPUTED = "answered", "gold disputed"
ABSENT, MISSED = "not in memory", "in memory, not retrieved"
UNUSED, WRONG, RETRIEVED = "retrieved, not used", "not answered", "retrieved"
CLASSES = (ANSWERED, DISPUTED, ABSENT, MISSED, UNUSED, WRONG, RETRIEVED)

COLUMNS = dict.fromkeys(("question", "scope", "category", "class"), pl.String)


class Attribution(NamedTuple):
    """`frame` has a row a question that has a class: `question, scope, category, class`. `report`
    counts classes, in all and by category, and what was left out, why."""

    frame: pl.DataFrame
    report: dict[str, Any]


class Known(NamedTuple):
    """What is known of a run. `right` by question, None where nothing was answered; `given` the
    turns that were read by question, None where that is not known; `remembered` the turns behind
    the memories by scope, None where nothing is known of what was read either."""

    right: Mapping[str, bool] | None
    given: Mapping[str, Collection[str]] | None = None
    remembered: Mapping[str, Collection[str]] | None = None


def attribute(
    questions: Iterable[Question], known: Known, gold: GoldKind = "original"
) -> Attribution:
    """The class of every question; abstention items, questions without evidence that resolves, and
    those without an answer have none, and are counted."""
    rows, excluded = [], Counter[str]()
    for question in questions:
        why = exclusion(question, gold)
        if why is None and known.right is not None and question.id not in known.right:
            why = "without an answer"
        if why is not None:
            excluded[why] += 1
            continue
        about = (question.id, question.scope, question.category)
        rows.append((*about, _class_of(question, known, gold)))
    frame = pl.DataFrame(rows, schema=COLUMNS, orient="row")
    return Attribution(frame, _report(rows, excluded, known))


def of_traces(
    banks: BankSet,
    questions: Sequence[Question],
    traces: Iterable[Trace],
    scores: pl.DataFrame,
    verdicts: Mapping[str, bool] | None = None,
    gold: GoldKind = "original",
) -> Attribution:
    """The classes of a run's questions by its traces and the frame of its scores; a judge's
    `verdicts`, by question, count before the scores."""
    given = {trace.question: trace.sources for trace in traces}
    right = {**right_by(scores), **(verdicts or {})}
    return attribute(questions, Known(right, given, remembered(banks)), gold)


def of_score(run: Run, questions: Iterable[Question]) -> Attribution:
    """The classes of a run of kind "score": answers of any system, with nothing known of what it
    remembers or read."""
    return attribute(questions, Known(right_by(run.frame)), run.manifest["identity"]["gold"])


def of_recall(run: Run, banks: BankSet) -> Attribution:
    """The classes of a run of kind "recall", at its largest K; nothing was answered there.

    Raises UsageError where it measured sessions: their evidence is no turn.
    """
    identity = run.manifest["identity"]
    if identity["level"] != "turn":
        raise UsageError(f"run {run.id} measured sessions; attribution is of turns of evidence")
    metric = f"recall@{max(identity['ks'])}"
    values = dict(run.frame.filter(metric=metric).select("question", "value").iter_rows())
    asked = [question for question in banks.dataset.questions if question.id in values]
    gold: GoldKind = identity["gold"]
    given = {q.id: evidence_of(q, gold, "turn") if values[q.id] == 1 else () for q in asked}
    return attribute(asked, Known(None, given, remembered(banks)), gold)


def remembered(banks: BankSet) -> dict[str, frozenset[str]]:
    """The turns behind everything that is remembered of each scope: memories and profiles."""
    found: dict[str, set[str]] = {}
    for kept in (banks.episodic, banks.semantic):
        for scope, bank in kept.items():
            found.setdefault(scope, set()).update(s for m in bank.memories for s in m.sources)
    for scope, people in banks.people.items():
        facts = (fact for person in people.values() for fact in person.profile.facts)
        found.setdefault(scope, set()).update(s for fact in facts for s in fact.sources)
    return {scope: frozenset(turns) for scope, turns in found.items()}


def right_by(scores: pl.DataFrame) -> dict[str, bool]:
    """Whether each scored answer is right by its official F1."""
    rows = scores.filter(metric=MEASURE).select("question", "value").iter_rows()
    return {question: value >= RIGHT for question, value in rows}


def _class_of(question: Question, known: Known, gold: GoldKind) -> str:
    if known.right is not None and known.right[question.id]:
        return ANSWERED
    if known.right is not None and gold == "original" and _is_disputed(question):
        return DISPUTED
    if known.given is None:
        return WRONG
    evidence = evidence_of(question, gold, "turn")
    # First, because whole dialogues and oracle evidence are read past every memory.
    if set(known.given.get(question.id, ())).issuperset(evidence):
        return RETRIEVED if known.right is None else UNUSED
    held = (known.remembered or {}).get(question.scope, ())
    return MISSED if all(turn in held for turn in evidence) else ABSENT


def _is_disputed(question: Question) -> bool:
    return question.audited is not None and question.audit != CITATION


def _report(
    rows: Sequence[tuple[str, str, str, str]], excluded: Counter[str], known: Known
) -> dict[str, Any]:
    categories = sorted({category for _, _, category, _ in rows})
    total = Counter(found for *_, found in rows)
    apart = Counter((category, found) for _, _, category, found in rows)
    shown = [name for name in CLASSES if total[name]]
    rule = f"{MEASURE} >= {RIGHT:g}, or a judge's verdict" if known.right is not None else None
    return {
        "n": len(rows),
        "classes": {name: total[name] for name in shown},
        "by_category": {c: {name: apart[c, name] for name in shown} for c in categories},
        "excluded": dict(sorted(excluded.items())),
        "right": rule,
    }


def attribution_of(
    workspace: Workspace, name: str, progress: Progress | None = None
) -> dict[str, Any]:
    """What `workbench attribution` reports of a run by its id: {"run", "kind", "n", "classes",
    "by_category", "excluded", "right", "questions": {id: class}}.

    Raises UsageError for a run of a kind that has none.
    """
    run = load_run(workspace, name)
    kind, identity = run.manifest["kind"], run.manifest["identity"]
    made = saved(workspace, run)
    if made is None and kind == "score":
        made = of_score(run, load_dataset(workspace, identity["dataset"]).questions)
    elif made is None and kind == "recall":
        recipe = identity["recipe"]
        kinds = (recipe["memories"], recipe["embedder"])
        made = of_recall(run, open_banks(workspace, identity["dataset"], *kinds, progress))
    elif made is None:
        raise UsageError(f"run {run.id} ({kind}) says nothing of where single answers were lost")
    classes = dict(made.frame.select("question", "class").iter_rows())
    return {"run": run.id, "kind": kind, **made.report, "questions": classes}


def saved(workspace: Workspace, run: Run) -> Attribution | None:
    """The attribution that was kept with a run of `evaluate`; None where there is none."""
    path = workspace.folder("runs", run.id) / FILE
    if not path.is_file():
        return None
    return Attribution(pl.read_parquet(path), run.manifest["report"]["attribution"])
