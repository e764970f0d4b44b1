"""From questions to traces: rewrite, retrieve, choose what is read, answer.

Nothing of a question's gold gets past `_jobs`, except which turns are evidence where the context
`oracle` is asked for by name.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from workbench import retrieve
from workbench.answer import ANSWERERS, Asked
from workbench.build import by_scope
from workbench.contexts import RETRIEVING, Occasion, Section, context_of, sources_of
from workbench.embed import Vectors, embed
from workbench.errors import WorkbenchError
from workbench.library import BankSet
from workbench.memory.episodic import turn_memories
from workbench.prepare import effective, query_of
from workbench.prompted_answer import Reading, answer_all, fits
from workbench.rewrite import Rewriting, Wanted, open_rewriter
from workbench.run_plan import LLM_ANSWERER, Plan
from workbench.schema import Hit, Memory, Question
from workbench.shelf import Query, Shelf
from workbench.traces import Trace, found

__all__ = ["OVER", "last_day", "said_by", "sentence_vectors", "traces_of"]

# Why a question has no answer whose context does not fit: no failure, since it never will.
OVER = "over the window"


class _Job(NamedTuple):
    """A question as it is answered: its gold stays behind. `query` has the words that were searched
    with, None where nothing was."""

    question: str
    text: str
    today: datetime | None
    shelf: Shelf
    query: Query | None
    people: tuple[str, ...]
    hits: tuple[Hit, ...]
    rewriting: Rewriting | None
    sections: tuple[Section, ...] = ()


def traces_of(plan: Plan, batch: Sequence[Question]) -> list[Trace]:
    """Traces of a batch of questions, whose texts are embedded, and models asked, together."""
    began = time.perf_counter()
    jobs = _jobs(plan, batch)
    if plan.answerer == LLM_ANSWERER:
        return _prompted(plan, jobs, (time.perf_counter() - began) / len(jobs))
    read = ANSWERERS[plan.answerer].read
    rows = sentence_vectors(plan, (text for job in jobs for text in read(job.hits)))
    each = (time.perf_counter() - began) / len(batch)
    return [_extracted(plan, job, rows, each) for job in jobs]


def sentence_vectors(plan: Plan, texts: Iterable[str]) -> dict[str, Any]:
    """The vector (d,) of every text, from the cache where it is there."""
    wanted = list(dict.fromkeys(texts))
    rows = embed(wanted, "passage", plan.banks.embedder, plan.banks.cache)
    return dict(zip(wanted, rows, strict=True))


def _jobs(plan: Plan, batch: Sequence[Question]) -> list[_Job]:
    shelf_of = cache(lambda scope: plan.banks.shelf(scope, plan.sources))
    said_of = cache(lambda scope, until: said_by(plan.banks, scope, until))
    searches = plan.read in RETRIEVING
    said = [said_of(question.scope, question.until) for question in batch]
    todays = [q.asked or last_day(turns) for q, turns in zip(batch, said, strict=True)]
    queries, rewritings = _queries(plan, batch, todays) if searches else ([], [])
    recipe = effective(plan.banks, plan.recipe)[0]
    jobs = []
    for row, question in enumerate(batch):
        shelf, query = shelf_of(question.scope), queries[row] if searches else None
        hits = retrieve.retrieve(shelf, query, recipe) if query else ()
        asked = query or Query(question.text, None, question.people, until=question.until)
        gold = frozenset(question.gold.evidence if plan.read == "oracle" else ())
        occasion = Occasion(shelf.as_of(question.until), asked, hits, said[row], gold)
        sections = context_of(plan.read, occasion) if plan.answerer == LLM_ANSWERER else ()
        about = (question.id, question.text, todays[row], shelf, query, question.people, hits)
        jobs.append(_Job(*about, rewritings[row] if searches else None, sections))
    return jobs


def _queries(
    plan: Plan, batch: Sequence[Question], todays: Sequence[datetime | None]
) -> tuple[list[Query], list[Rewriting]]:
    """What each question is searched with, and how that came about."""
    wanted = [Wanted(q.text, q.people, day) for q, day in zip(batch, todays, strict=True)]
    made = open_rewriter(plan.rewriter, plan.llm, plan.workspace)(wanted)
    vectors = plan.banks.queries(one.text for one in made)
    queries = [
        replace(query_of(question, vector), text=one.text, dimensions=one.dimensions)
        for question, one, vector in zip(batch, made, vectors, strict=True)
    ]
    return queries, made


def said_by(banks: BankSet, scope: str, until: str | None = None) -> tuple[Memory, ...]:
    """Every turn of a scope as a memory, in reading order, whatever the banks remember: all that
    had been said when turn `until` was (None: everything)."""
    dialogues = by_scope(banks.dataset)[scope]
    turns = tuple(memory for one in dialogues for memory in turn_memories(one).memories)
    if until is None:
        return turns
    positions = banks.shelf(scope).positions
    return tuple(t for t in turns if positions[t.sources[0]] <= positions[until])


def last_day(turns: Sequence[Memory]) -> datetime | None:
    """The day on which anything was last said: "today" where a question has no day of its own."""
    return next((turn.time for turn in reversed(turns) if turn.time is not None), None)


def _prompted(plan: Plan, jobs: Sequence[_Job], shared: float) -> list[Trace]:
    """Answers of the plan's model; each question has its own failure, and no other's."""
    assert plan.llm is not None
    readings = [Reading(j.text, j.people, j.today, j.sections) for j in jobs]
    fitting = [row for row, one in enumerate(readings) if fits(one, plan.window)]
    ready = [row for row in fitting if not _is_pending(jobs[row])]
    made = answer_all(plan.llm, [readings[row] for row in ready])
    known = dict(zip(ready, made, strict=True))
    traces = []
    for row, job in enumerate(jobs):
        told = _told(job, sources_of(job.sections), shared)
        said = known.get(row)
        if row not in fitting:
            told |= {"failure": OVER}
        elif said is None:
            told |= _failed(job.rewriting.failure if job.rewriting else None, "rewriting")
        else:
            told["tokens_in"] += said.tokens_in
            told["tokens_out"] += said.tokens_out
            told["seconds"] = round(told["seconds"] + said.seconds, 6)
            if said.failure is not None:
                told |= _failed(said.failure, said.detail)
            else:
                told |= {"answer": said.text, "abstained": said.abstained}
        traces.append(Trace(**told))
    return traces


def _extracted(plan: Plan, job: _Job, rows: dict[str, Any], shared: float) -> Trace:
    """Answer one question without a model; `shared` are the seconds that its batch spent on each of
    its own."""
    began = time.perf_counter()

    def vectors(texts: Sequence[str]) -> Vectors:
        return np.stack([rows[text] for text in texts])

    told = _told(job, tuple(dict.fromkeys(s for h in job.hits for s in h.memory.sources)), shared)
    if _is_pending(job):
        told |= _failed(job.rewriting.failure if job.rewriting else None, "rewriting")
        return Trace(**told)
    assert job.query is not None
    try:
        query = replace(job.query, text=job.text)
        asked = Asked(query, tuple(job.shelf.people), job.hits, vectors)
        said = ANSWERERS[plan.answerer].answer(asked)
        told |= {"answer": said.text, "support": said.support, "abstained": said.abstained}
    except WorkbenchError as failure:
        told |= {"error": str(failure)}
    told["seconds"] = round(told["seconds"] + time.perf_counter() - began, 6)
    return Trace(**told)


def _told(job: _Job, sources: tuple[str, ...], shared: float) -> dict[str, Any]:
    """What a trace says of a question before it is answered."""
    rewriting = job.rewriting
    return {
        "question": job.question,
        "queries": () if job.query is None else (job.query.text,),
        "hits": found(job.hits),
        "sources": sources,
        "rewriting": rewriting.failure if rewriting else None,
        "tokens_in": rewriting.tokens_in if rewriting else 0,
        "tokens_out": rewriting.tokens_out if rewriting else 0,
        "seconds": round(shared, 6),
    }


def _failed(kind: str | None, detail: str) -> dict[str, Any]:
    return {"error": f"{kind}: {detail}" if detail else str(kind), "failure": kind}


def _is_pending(job: _Job) -> bool:
    """Whether its rewriting did not get through: an answer now would depend on the weather."""
    return job.rewriting is not None and job.rewriting.pending
