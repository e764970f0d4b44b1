"""The λ sweep, 21 values x 200 cut-offs over LoCoMo, against what one would write instead.

`loop` calls `sentence_transformers.util.semantic_search` for every λ and conversation and counts
hits; `NumPy` makes all scores from two matrix products a conversation and counts those ahead. All
three start from the same vectors and prior, and every question's recall must be the same at every
λ and K; where it is not, the evidence must be in a tie with another memory (nearer than 1e-6,
which float32 products cannot resolve). Then the whole command with its 1,000 resamples, once with
nothing but vectors cached. Times are processor and wall seconds, medians of several rounds.
    python tests/bench/bench_sweep.py
`$WORKBENCH_HOME` may name a workspace that holds LoCoMo already.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from common import locomo_workspace, row

from workbench.cells import Study
from workbench.library import open_banks
from workbench.priors import Occasion, prior_vector
from workbench.schema import Recipe
from workbench.surface import RankTable, Task, evidence_ranks_by_lambda
from workbench.workspace import Workspace

LAMS = tuple(round(0.05 * step, 2) for step in range(21))
DEPTH = 200
# Rounds in which all take turns, and how often the fast ones run in each; medians are reported.
ROUNDS, REPEATS = 5, 5
Values = np.ndarray[Any, np.dtype[np.float64]]


def ours(tasks: list[Task]) -> Values:
    """(q, λ, k) recall by the workbench's kernel, ranked scope by scope as a study does."""
    ranks = np.concatenate([evidence_ranks_by_lambda(task) for task in tasks])
    counts = np.array([len(evidence) for task in tasks for evidence in task.evidence])
    return RankTable(ranks, counts).recall(range(1, DEPTH + 1))


def loop(tasks: list[Task], priors: list[Values]) -> Values:
    """The same by the library's own search, one search a λ."""
    import torch
    from sentence_transformers import util

    found = []
    for task, prior in zip(tasks, priors, strict=True):
        bank = task.shelf.bank
        corpus = torch.from_numpy(bank.vectors)
        asked = torch.from_numpy(np.stack([query.vector for query in task.queries]))
        profile = torch.from_numpy(prior)
        recalls = np.zeros((len(asked), len(LAMS), DEPTH))
        for column, lam in enumerate(LAMS):
            mixed = lam * asked + (1 - lam) * profile
            results = util.semantic_search(mixed, corpus, top_k=DEPTH)
            for question, hits in enumerate(results):
                missing = set(task.evidence[question])
                hit = 0
                for place, one in enumerate(hits):
                    sources = bank.memories[one["corpus_id"]].sources
                    hit += sum(task.evidence[question].count(turn) for turn in missing & {*sources})
                    missing -= {*sources}
                    recalls[question, column, place] = hit / len(task.evidence[question])
                recalls[question, column, len(hits) :] = hit / len(task.evidence[question])
        found.append(recalls)
    return np.concatenate(found)


def plain(tasks: list[Task], priors: list[Values]) -> Values:
    """The same by two matrix products a conversation and a count for every λ."""
    found = []
    for task, prior in zip(tasks, priors, strict=True):
        bank = task.shelf.bank
        row_of = rows_by_turn(task)
        asked = np.stack([query.vector for query in task.queries])
        to_query, to_prior = asked @ bank.vectors.T, prior @ bank.vectors.T
        owner = np.repeat(np.arange(len(asked)), [len(e) for e in task.evidence])
        rows = np.array([row_of[turn] for evidence in task.evidence for turn in evidence])
        recalls = np.zeros((len(asked), len(LAMS), DEPTH + 1))
        for column, lam in enumerate(LAMS):
            scores = lam * to_query + (1 - lam) * to_prior
            own = scores[owner, rows]
            places = (scores[owner] > own[:, None]).sum(1)
            np.add.at(recalls, (owner, column, np.minimum(places, DEPTH)), 1)
        counts = np.array([len(e) for e in task.evidence])
        found.append(recalls[:, :, :DEPTH].cumsum(axis=2) / counts[:, None, None])
    return np.concatenate(found)


def timed(works: dict[str, Callable[[], Values]]) -> dict[str, tuple[Values, float, float]]:
    """What each returns, and its median processor and wall seconds.

    They take turns, so that whatever else the machine does slows them all.
    """
    values: dict[str, Values] = {}
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in works}
    for _ in range(ROUNDS):
        for name, work in works.items():
            for _ in range(1 if name == "loop" else REPEATS):
                wall, processor = time.perf_counter(), time.process_time()
                values[name] = work()
                seconds = time.process_time() - processor, time.perf_counter() - wall
                spent[name].append(seconds)
    medians = {name: np.median(taken, axis=0) for name, taken in spent.items()}
    return {name: (values[name], *map(float, medians[name])) for name in works}


def ready(workspace: Workspace) -> list[Task]:
    """LoCoMo's 1,536 questions by scope, with a prior that needs no other bank."""
    study = Study(workspace, open_banks(workspace, "locomo"))
    recipe = Recipe(retriever="dense", prior="centroid:turns")
    assert len(study.questions) == 1536
    return [study.task(scope, recipe, LAMS) for scope in study.scopes]


def centroid(task: Task) -> Values:
    query = task.queries[0]
    prior = prior_vector(task.recipe.prior, Occasion(query.vector, task.shelf, query.people))
    assert prior is not None
    return prior


def compare(name: str, tasks: list[Task], values: Values, rival: Values) -> None:
    """Equal recalls everywhere, but where a piece of evidence is nearer than 1e-6 to another
    memory: float32 products are no surer than that of which comes first."""
    differing = np.argwhere((values != rival).any(axis=2))
    questions = [(task, place) for task in tasks for place in range(len(task.queries))]
    for question, column in differing:
        task, place = questions[question]
        scores = exact_scores(task, place, LAMS[column])
        row_of = rows_by_turn(task)
        gaps = [
            np.partition(np.abs(scores - scores[row_of[turn]]), 1)[1]
            for turn in task.evidence[place]
        ]
        assert min(gaps) < 1e-6, f"{name}: question {question} differs at λ = {LAMS[column]}"
    means = np.abs(values.mean(axis=0) - rival.mean(axis=0)).max()
    row(name, f"{len(differing)} of {values.shape[0] * values.shape[1]:,}", f"{means:.6f}")
    assert len(differing) < 100 and means < 1e-3


def rows_by_turn(task: Task) -> dict[str, int]:
    return {memory.sources[0]: row for row, memory in enumerate(task.shelf.bank.memories)}


def exact_scores(task: Task, place: int, lam: float) -> Values:
    vectors = task.shelf.bank.vectors.astype(np.float64)
    mixed = lam * task.queries[place].vector.astype(np.float64) + (1 - lam) * centroid(task)
    return vectors @ (mixed / np.linalg.norm(mixed))


def whole_command(workspace: Workspace) -> None:
    # Another seed is another recipe: its cells are not in the cache yet.
    seed = str(time.time_ns())
    for again in ("nothing but vectors cached", "every cell cached"):
        command = [sys.executable, "-m", "workbench", "sweep", "lambda", "locomo", "--json"]
        command += ["--retriever", "dense", "--prior", "centroid:turns", "--seed", seed]
        began = time.perf_counter()
        environment = {**os.environ, "WORKBENCH_HOME": str(workspace.root)}
        subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
        row("the whole command", f"{time.perf_counter() - began:.2f} s", again)


@contextmanager
def opened() -> Iterator[Workspace]:
    if os.environ.get("WORKBENCH_HOME"):
        yield Workspace()
    else:
        with locomo_workspace() as workspace:
            yield workspace


def main() -> None:
    with opened() as workspace:
        tasks = ready(workspace)
        priors = [centroid(task) for task in tasks]
        found = timed(
            {
                "loop": lambda: loop(tasks, priors),
                "NumPy": lambda: plain(tasks, priors),
                "workbench": lambda: ours(tasks),
            }
        )
        row("", "processor s", "wall s", "loop / this")
        slow, slow_cpu, slow_wall = found["loop"]
        for name, (_, cpu, wall) in found.items():
            ratios = f"{slow_cpu / cpu:.0f}x, {slow_wall / wall:.0f}x"
            row(name, f"{cpu:.3f}", f"{wall:.3f}", ratios)
        row("near ties, against ours", "question x λ", "largest mean")
        fast = found["workbench"][0]
        compare("loop", tasks, fast, slow)
        compare("NumPy", tasks, fast, found["NumPy"][0])
        whole_command(workspace)


if __name__ == "__main__":
    main()
