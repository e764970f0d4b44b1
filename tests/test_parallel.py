"""Work over processes and over a Dask cluster: same results, dead workers, clear failures."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from halls import Embedder, hall, study
from rooms import Vectors
from workbench.build import Remembered, remember
from workbench.errors import ModelError, UsageError
from workbench.grids import ablation_sweep
from workbench.library import open_banks
from workbench.parallel import ALONE, Workers, spread
from workbench.run import Plan, answer_questions, evaluate
from workbench.runs import load_run
from workbench.schema import Recipe
from workbench.surface import RankMatrix, Task, evidence_ranks_by_lambda
from workbench.sweep import lambda_sweep
from workbench.traces import read_traces
from workbench.workspace import Workspace

LAMS = (0.0, 0.5, 1.0)


def squared(number: int) -> tuple[int, int]:
    """The square, and who worked it out."""
    return number * number, os.getpid()


def refusing(number: int) -> int:
    raise UsageError(f"{number} cannot be meant")


def killed_once(marker: Path, task: Task) -> RankMatrix:
    """The ranks; but the first process that gets to scope s3 is killed over it."""
    if task.shelf.scope == "s3" and not marker.exists():
        marker.write_text(str(os.getpid()), encoding="utf-8")
        os.kill(os.getpid(), signal.SIGKILL)
    return evidence_ranks_by_lambda(task)


def always_killed(number: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return number


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two worker processes on this machine."""
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    ) as made:
        yield made


def test_results_keep_the_order_of_the_items_and_come_from_several_processes() -> None:
    alone = [value for value, _ in spread(squared, range(7))]
    found = list(spread(squared, range(7), Workers(jobs=2)))
    assert [value for value, _ in found] == alone == [0, 1, 4, 9, 16, 25, 36]
    assert os.getpid() not in {process for _, process in found}
    assert list(spread(squared, [], Workers(jobs=2))) == []


def test_a_sweep_over_two_processes_is_the_same_run(tmp_path: Path) -> None:
    reports = [
        lambda_sweep(study(tmp_path / str(jobs), workers=Workers(jobs=jobs)), Recipe(), LAMS, (5,))
        for jobs in (1, 2)
    ]
    for report in reports:
        del report["seconds"]
    assert reports[0] == reports[1]
    first, second = (
        (tmp_path / jobs / "runs" / reports[0]["run"] / "questions.parquet").read_bytes()
        for jobs in "12"
    )
    assert first == second


def test_a_process_killed_on_the_way_costs_time_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = study(tmp_path / "alone").ranks(Recipe(), LAMS)
    marker = tmp_path / "killed"
    monkeypatch.setattr("workbench.cells.evidence_ranks_by_lambda", partial(killed_once, marker))
    found = study(tmp_path / "two", workers=Workers(jobs=2)).ranks(Recipe(), LAMS)
    assert int(marker.read_text("utf-8")) != os.getpid()
    assert np.array_equal(found.ranks, alone.ranks)


def test_a_worker_of_a_cluster_killed_on_the_way_costs_time_only(
    tmp_path: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = Recipe(retriever="hybrid", prior="facts")
    alone = [lambda_sweep(study(tmp_path / "alone"), recipe, LAMS, (5,))]
    alone.append(ablation_sweep(study(tmp_path / "alone"), recipe, (5,)))
    before = {worker["pid"] for worker in _workers(cluster)}
    marker = tmp_path / "killed"
    monkeypatch.setattr("workbench.cells.evidence_ranks_by_lambda", partial(killed_once, marker))
    workers = Workers(scheduler=cluster.scheduler_address)
    found = [lambda_sweep(study(tmp_path / "dask", workers=workers), recipe, LAMS, (5,))]
    found.append(ablation_sweep(study(tmp_path / "dask", workers=workers), recipe, (5,)))
    assert int(marker.read_text("utf-8")) in before
    for report in (*alone, *found):
        del report["seconds"]
    assert found == alone


def test_what_the_work_raises_is_raised(cluster: Any) -> None:
    for workers in (Workers(), Workers(jobs=2), Workers(scheduler=cluster.scheduler_address)):
        with pytest.raises(UsageError, match="3 cannot be meant"):
            list(spread(refusing, [3, 3], workers))


def test_work_that_kills_every_process_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.parallel.ATTEMPTS", 2)
    with pytest.raises(ModelError, match=r"processes died .* item 1 of 2"):
        list(spread(always_killed, [1, 2], Workers(jobs=2)))


def test_a_cluster_without_workers_is_given_up_after_a_while() -> None:
    from distributed import LocalCluster

    with LocalCluster(n_workers=0, processes=True, dashboard_address=":0") as empty:
        workers = Workers(scheduler=empty.scheduler_address)
        with pytest.raises(ModelError, match="no worker"):
            list(spread(squared, [1], workers, patience=0.3))


def test_an_address_where_nobody_answers_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.parallel.CONNECT_SECONDS", 0.5)
    for address in ("tcp://127.0.0.1:9", "nonsense://x"):
        with pytest.raises(ModelError, match="no Dask scheduler answers"):
            list(spread(squared, [1], Workers(scheduler=address)))


def test_without_the_extra_one_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match=r"pip install 'recall-workbench\[cluster\]'"):
        list(spread(squared, [1], Workers(scheduler="tcp://127.0.0.1:9")))


@pytest.mark.parametrize("jobs", [0, -2])
def test_a_number_of_jobs_that_cannot_be_meant_is_refused(jobs: int) -> None:
    with pytest.raises(UsageError, match="--jobs"):
        spread(squared, [1, 2], Workers(jobs=jobs))


def remember_killed_once(marker: Path, task: Any) -> Remembered:
    """What the rules remember; but the first process that gets to scope c2 is killed over it."""
    if task.scope == "c2" and not marker.exists():
        marker.write_text(str(os.getpid()), encoding="utf-8")
        os.kill(os.getpid(), signal.SIGKILL)
    return remember(task)


def test_a_build_is_the_same_when_a_worker_of_the_cluster_is_killed(
    tmp_path: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workbench.library.open_embedder", lambda spec, fetch: Embedder())
    alone = open_banks(Workspace(tmp_path / "alone"), "sample")
    before = {worker["pid"] for worker in _workers(cluster)}
    marker = tmp_path / "killed"
    monkeypatch.setattr("workbench.build.remember", partial(remember_killed_once, marker))
    workers = Workers(scheduler=cluster.scheduler_address)
    found = open_banks(Workspace(tmp_path / "cluster"), "sample", workers=workers)
    assert int(marker.read_text("utf-8")) in before
    assert found.id == alone.id and len(alone.episodic) == 3
    for fact in ("files", "counts", "left_out", "embedded"):  # files: each with its sha256
        assert found.manifest[fact] == alone.manifest[fact]


@dataclass
class Mortal(Embedder):
    """Hand-made vectors; the first process that is to make some, with `marker` not there yet, is
    killed over it."""

    marker: Path

    def encode(self, texts: Sequence[str], side: str) -> Vectors:
        if not self.marker.exists():
            self.marker.write_text(str(os.getpid()), encoding="utf-8")
            os.kill(os.getpid(), signal.SIGKILL)
        return super().encode(texts, side)


def test_answers_are_the_same_when_a_worker_of_the_cluster_is_killed(
    tmp_path: Path, cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workbench.run.BATCH", 8)
    before = {worker["pid"] for worker in _workers(cluster)}
    marker, made = tmp_path / "killed", []
    for workers in (ALONE, Workers(scheduler=cluster.scheduler_address)):
        banks = hall()
        if workers.scheduler:
            banks = replace(banks, embedder=Mortal(marker))
        workspace = Workspace(tmp_path / str(len(made)))
        workspace.publish("banks", banks.id, {}, {})
        told = evaluate(Plan(workspace, banks, Recipe(retriever="hybrid"), workers=workers))
        traces = read_traces(workspace.folder("runs", told["run"]) / "traces.jsonl")
        frame = load_run(workspace, told["run"]).frame
        kept = [msgspec.structs.replace(trace, seconds=0.0) for trace in traces]
        made.append(({**told, "seconds": 0.0}, kept, frame.to_dicts()))
    assert int(marker.read_text("utf-8")) in before
    assert len(made[0][1]) == 38 and made[0][0]["n"] == 36
    assert made[0] == made[1]


def _workers(cluster: Any) -> list[dict[str, Any]]:
    """Process ids of the cluster's workers, asked of themselves."""
    from distributed import Client

    with Client(cluster.scheduler_address, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=15)
        return [{"pid": pid} for pid in client.run(os.getpid).values()]


def test_a_build_and_its_answers_are_the_same_whoever_does_the_work(tmp_path: Path) -> None:
    """The bundled sample, three scopes: two processes of this machine against none but this."""
    made, rows = {}, {}
    for jobs in (1, 2):
        workspace, workers = Workspace(tmp_path / str(jobs)), Workers(jobs=jobs)
        banks = open_banks(workspace, "sample", workers=workers)
        written = ("episodic.jsonl", "semantic.jsonl", "profiles.jsonl")
        stamps = [banks.manifest["files"][name]["sha256"] for name in written]
        told = {key: banks.manifest[key] for key in ("counts", "left_out", "embedded")}
        recipe = Recipe(retriever="hybrid", prior="none", lam=1.0)
        plan = Plan(workspace, banks, recipe, "top-memory", workers=workers)
        answers = [
            (trace.question, trace.answer, [hit.memory for hit in trace.hits])
            for trace in answer_questions(plan)
        ]
        made[jobs] = banks.id, stamps, told, answers
        rows[jobs] = np.concatenate([bank.vectors for bank in banks.episodic.values()])
    assert made[1] == made[2]
    assert np.allclose(rows[1], rows[2], atol=1e-6)
