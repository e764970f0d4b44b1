"""Judging answers with a language model: a pass of its own over traces, or over a file of answers.

Nothing is generated or retrieved here. Every answer is put to the judge `repeats` times, the gold
first and the response first by turns; replies are read strictly (`workbench.verdicts`), and what
cannot be read is asked for again once. A vote without a verdict is never "wrong": it is counted by
its class, and the same command later asks for it, and only for it, anew. Verdicts are a run of kind
"judge" with every reply in `verdicts.jsonl`, whose frame `workbench compare` reads.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import msgspec
import numpy as np

from workbench.answer_sources import GivenAnswers, declines
from workbench.errors import DataError, UsageError
from workbench.judge_agreement import agreement_with
from workbench.judge_score import judged_frame, judged_report
from workbench.judge_votes import TRIES, Put, vote_again
from workbench.judged import JudgedAnswer, Vote
from workbench.llm import LLM
from workbench.metrics import GoldKind
from workbench.provenance import code_digest
from workbench.rubrics import asking, flagged, gold_of, order_of, prompts, rubric_of
from workbench.runs import run_id, save_run
from workbench.schema import Question, decode_jsonl, digest_of, encode_jsonl
from workbench.workspace import Workspace, read_manifest, remove_folder, verify_folder

__all__ = ["Judging", "judge_answers"]

Progress = Callable[[str, int, int], None]

VERDICTS = "verdicts.jsonl"
# Requests between two signs of progress; a local model makes batches of its own within.
CHUNK = 64


@dataclass(frozen=True)
class Judging:
    """Everything that verdicts depend on. `sample` is how many answers are drawn (None: all), the
    same ones for the same `seed`; a larger sample holds the smaller ones. `repeats` is best odd."""

    workspace: Workspace
    given: GivenAnswers
    llm: LLM
    gold: GoldKind = "original"
    repeats: int = 1
    sample: int | None = None
    seed: int = 0

    @cached_property
    def excluded(self) -> dict[str, str]:
        """Questions that no answer can be judged for, and why."""
        return {
            q.id: "without gold answer"
            for q in self.given.questions
            if not q.abstention and gold_of(q, self.gold) is None
        }

    @cached_property
    def questions(self) -> list[Question]:
        """The questions whose answers are judged, in the dataset's order."""
        asked = [
            q
            for q in self.given.questions
            if q.id in self.given.hypotheses and q.id not in self.excluded
        ]
        if self.sample is None or self.sample >= len(asked):
            return asked
        order = np.random.default_rng(self.seed).permutation(len(asked))
        return [asked[place] for place in sorted(order[: self.sample])]

    def judge(self) -> dict[str, Any]:
        """Who judges, and how: what every report and run states."""
        how = {**asking(), "tries": TRIES, "repeats": self.repeats}
        return {"model": self.llm.identity, "prompts": prompts(), **how}

    def identity(self) -> dict[str, Any]:
        return {
            "dataset": self.given.dataset.name,
            "content": digest_of(self.given.dataset.questions),
            "answers": self.given.source,
            "questions": digest_of([question.id for question in self.questions]),
            "gold": self.gold,
            "judge": self.judge(),
            "seed": self.seed,
            "code": code_digest(),
        }


def judge_answers(
    judging: Judging,
    others: dict[str, tuple[bool, ...]] | None = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Judge, keep the verdicts as a run, and report; see `judge_score.judged_report`.

    Where the run is there already only its pending votes are asked for. `run` is None where not one
    vote has a verdict: nothing is kept then. With `others` (verdicts on the same answers) `against`
    tells how far the judge agrees with them. Raises UsageError for fewer than one repeat or answer
    to draw, DataError where no answer can be judged, and what the model's client raises.
    """
    for number, what in ((judging.repeats, "--repeats"), (judging.sample, "--sample")):
        if number is not None and number < 1:
            raise UsageError(f"{what} is 1 or more, not {number}")
    if not judging.questions:
        raise DataError(_nothing(judging))
    identity = judging.identity()
    name = run_id("judge", identity)
    # A lock of its own: saving takes the run's.
    with judging.workspace.lock(f"judge-{name}"):
        before = _kept(judging.workspace, name)
        rows = _judged(judging, before or [], progress)
        report = {**_told(judging), **judged_report(rows)}
        run = None
        if any(row.right is not None for row in rows):
            run = name
            if rows != before:
                remove_folder(judging.workspace.folder("runs", name))
                facts = {"n": report["n"], "source": judging.given.label, "report": report}
                files = {VERDICTS: encode_jsonl(rows)}
                frame = judged_frame(rows)
                save_run(judging.workspace, "judge", identity, frame, facts, dict(files))
    against = {} if others is None else {"against": agreement_with(rows, others)}
    usage = getattr(judging.llm, "usage", None)
    return {"run": run, **report, **against, "usage": usage.record if usage else None}


def _kept(workspace: Workspace, name: str) -> list[JudgedAnswer] | None:
    """The rows of the run, where it was made before; None where it is not there, or damaged."""
    folder = workspace.folder("runs", name)
    if read_manifest(folder) is None or verify_folder(folder):
        return None
    return decode_jsonl(folder / VERDICTS, JudgedAnswer)


def _judged(
    judging: Judging, before: Sequence[JudgedAnswer], progress: Progress | None
) -> list[JudgedAnswer]:
    """A row of every question: those of `before` with their pending votes asked for anew."""
    rows = list(before) or [_unasked(judging, question) for question in judging.questions]
    wanted = [(place, vote) for place, row in enumerate(rows) for vote in row.pending]
    votes: dict[tuple[int, int], Vote] = {}
    for start in range(0, len(wanted), CHUNK):
        chunk = wanted[start : start + CHUNK]
        put = [_put(judging, place, vote) for place, vote in chunk]
        asked = vote_again(judging.llm, put, judging.seed)
        votes |= {(p, old.repeat): new for (p, old), new in zip(chunk, asked, strict=True)}
        if progress:
            progress("judging", start + len(chunk), len(wanted))
    return [
        msgspec.structs.replace(
            row, votes=tuple(votes.get((place, vote.repeat), vote) for vote in row.votes)
        )
        for place, row in enumerate(rows)
    ]


def _put(judging: Judging, place: int, vote: Vote) -> Put:
    question = judging.questions[place]
    said = judging.given.hypotheses[question.id]
    return Put(question, gold_of(question, judging.gold), said, vote)


def _unasked(judging: Judging, question: Question) -> JudgedAnswer:
    said, gold = judging.given.hypotheses[question.id], gold_of(question, judging.gold)
    rubric = rubric_of(question)
    return JudgedAnswer(
        question=question.id,
        scope=question.scope,
        category=question.category,
        rubric=rubric,
        prompt=prompts()[rubric],
        judge=judging.llm.identity,
        said=said,
        gold=gold,
        abstention=question.abstention,
        declined=declines(judging.given, question.id),
        flagged=flagged(question, gold, said),
        votes=tuple(
            # -1: the first attempt is number 0.
            Vote(repeat=number, order=order_of(number), attempt=-1)
            for number in range(judging.repeats)
        ),
    )


def _told(judging: Judging) -> dict[str, Any]:
    """What is judged, by whom, and where every other question and answer is left."""
    given = judging.given
    known = {question.id for question in given.dataset.questions}
    answerable = [q for q in given.questions if q.id not in judging.excluded]
    return {
        "dataset": given.dataset.name,
        "source": given.label,
        "gold": judging.gold,
        "judge": judging.judge(),
        "sample": judging.sample,
        "seed": judging.seed,
        "excluded": dict(Counter(judging.excluded.values())),
        "missing": sum(q.id not in given.hypotheses for q in answerable if not q.abstention),
        "extra": sorted(given.hypotheses.keys() - known),
        "unusable": list(given.unusable),
    }


def _nothing(judging: Judging) -> str:
    theirs = next(iter(judging.given.hypotheses), None)
    ours = next((q.id for q in judging.given.dataset.questions), None)
    return (
        f"none of the answers of {judging.given.label} is to a question of "
        f"{judging.given.dataset.name} that can be judged: their ids read like {theirs!r}, its "
        f"like {ours!r}"
    )
