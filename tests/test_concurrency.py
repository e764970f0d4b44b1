"""Several processes in one workspace, and processes that are killed in the middle of something."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from shell import (
    Outcome,
    bytes_under,
    cached_vectors,
    ended,
    environment,
    report,
    started,
    wait_for_vectors,
    workbench,
    write_rows,
)
from workbench.build import Build
from workbench.datasets import import_file, store
from workbench.errors import WorkspaceError
from workbench.library import open_banks
from workbench.workspace import Workspace

TURNS = 600
BATCH = 256  # texts that are embedded between two commits to the cache


class Interrupted(NamedTuple):
    """A build that met Ctrl-C in its second batch, then kill -9 in its third, then ended."""

    workspace: Path
    ctrl_c: Outcome
    vectors_at_ctrl_c: int
    listed_at_kill: list[Any]
    vectors_at_kill: int
    built: Any


def entry(n: int) -> str:
    return f"entry {n}: rain"


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory: pytest.TempPathFactory) -> Interrupted:
    folder = tmp_path_factory.mktemp("interrupted")
    rows = [{"id": f"t{n}", "text": entry(n)} for n in range(TURNS)]
    workspace = folder / "workspace"
    report(workspace, "import", str(write_rows(folder / "diary.jsonl", rows)))
    first = started(workspace, "build", "diary", "--json")
    wait_for_vectors(workspace, BATCH, first)
    first.send_signal(signal.SIGINT)
    ctrl_c = ended(first)
    at_ctrl_c = cached_vectors(workspace)
    second = started(workspace, "build", "diary")
    wait_for_vectors(workspace, 2 * BATCH, second)
    second.kill()
    ended(second)
    at_kill = cached_vectors(workspace)
    listed = report(workspace, "runs")["runs"]
    built = report(workspace, "build", "diary")
    return Interrupted(workspace, ctrl_c, at_ctrl_c, listed, at_kill, built)


def test_ctrl_c_ends_a_build_with_130_and_one_line(interrupted: Interrupted) -> None:
    assert interrupted.ctrl_c.code == 130
    assert interrupted.ctrl_c.err == "workbench: interrupted\n"
    assert interrupted.ctrl_c.json["error"]["exit_code"] == 130


def test_a_build_that_was_interrupted_or_killed_embeds_nothing_twice(
    interrupted: Interrupted,
) -> None:
    assert BATCH <= interrupted.vectors_at_ctrl_c < TURNS
    assert 2 * BATCH <= interrupted.vectors_at_kill < TURNS
    assert interrupted.built["counts"]["memories"] == TURNS
    # No statement of the diary is a fact about anyone, so the turns are all there is to embed.
    assert interrupted.built["counts"]["profile_facts"] == 0
    assert interrupted.built["embedded"] == TURNS - interrupted.vectors_at_kill
    assert cached_vectors(interrupted.workspace) == TURNS


def test_a_killed_build_is_not_listed(interrupted: Interrupted) -> None:
    assert interrupted.listed_at_kill == []
    assert [one["run"] for one in report(interrupted.workspace, "runs")["runs"]] == [
        interrupted.built["run"]
    ]
    assert report(interrupted.workspace, "verify")["problems"] == []


def test_imports_and_builds_side_by_side_end_as_one_after_the_other(
    interrupted: Interrupted, tmp_path: Path
) -> None:
    files = {
        who: write_rows(
            tmp_path / f"{who}.jsonl",
            [{"scope": who, "id": f"{who}{n}", "text": entry(n)} for n in range(40)],
        )
        for who in ("ana", "bo")
    }
    together, apart = tmp_path / "together", tmp_path / "apart"
    # The vectors are there already, so that two builds are at work at once without two models.
    shutil.copytree(interrupted.workspace / "cache", together / "cache")
    for path in files.values():
        report(apart, "import", str(path), "--name", "talk")
    imports = [started(together, "import", str(p), "--name", "talk") for p in files.values()]
    assert [ended(process).code for process in imports] == [0, 0]
    builds = [ended(started_build) for started_build in (_build(together), _build(together))]
    assert [one.code for one in builds] == [0, 0], builds
    assert builds[0].json["run"] == builds[1].json["run"]
    assert builds[0].json["counts"]["memories"] == 80
    [listed] = report(together, "runs")["runs"]
    assert listed["run"] == builds[0].json["run"]

    def content(workspace: Path) -> set[Any]:
        dialogues = store.load(Workspace(workspace), "talk").dialogues
        return {(one.scope, turn.id, turn.text) for one in dialogues for turn in one.turns}

    assert content(together) == content(apart) and len(content(together)) == 80


def _build(workspace: Path) -> subprocess.Popen[bytes]:
    return started(workspace, "build", "talk", "--json")


READER = """
import sys, time
from workbench.datasets import load_dataset
from workbench.workspace import Workspace
end = time.monotonic() + 3
seen = set()
while time.monotonic() < end:
    seen.add(sum(len(d.turns) for d in load_dataset(Workspace(sys.argv[1]), "growing").dialogues))
print(sorted(seen))
"""


def test_a_reader_sees_whole_versions_while_another_process_imports(tmp_path: Path) -> None:
    workspace = tmp_path / "workspace"
    rows = [{"id": f"t{n}", "text": f"turn {n}"} for n in range(1200)]
    sizes = [400, 800, 1200]
    paths = [write_rows(tmp_path / f"{size}.jsonl", rows[:size]) for size in sizes]
    report(workspace, "import", str(paths[0]), "--name", "growing")
    command = [sys.executable, "-c", READER, str(workspace)]
    reader = subprocess.Popen(
        command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    for path in paths[1:]:
        report(workspace, "import", str(path), "--name", "growing")
    outcome = ended(reader)
    assert outcome.code == 0, outcome.err
    assert {400, 1200} <= set(outcome.json) <= set(sizes)


ASKER = """
import sys, time
from workbench.ask import ask
from workbench.library import open_banks
from workbench.schema import Recipe
from workbench.workspace import Workspace
end = time.monotonic() + 5
seen = []
while time.monotonic() < end:
    banks = open_banks(Workspace(sys.argv[1]), "diary")
    answer = ask(banks, "user: entry 0: rain", Recipe(k=1, prior="none", lam=1.0))
    [hit] = answer["rankings"]["with"]
    assert hit["sources"] == ["t0"], hit
    seen.append(len(banks.episodic["diary"]))
print(seen)
"""


def test_questions_are_answered_while_imports_replace_what_is_asked(
    interrupted: Interrupted, tmp_path: Path
) -> None:
    workspace = Workspace(tmp_path / "workspace")
    shutil.copytree(interrupted.workspace / "cache", workspace.folder("cache"))
    rows = [{"id": f"t{n}", "text": entry(n)} for n in range(200)]
    path = write_rows(tmp_path / "diary.jsonl", rows[:20])
    import_file(workspace, path)
    command = [sys.executable, "-c", ASKER, str(workspace.root)]
    askers = [
        subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    for size in range(40, 220, 20):
        time.sleep(0.3)
        import_file(workspace, write_rows(path, rows[:size]))
    for outcome in map(ended, askers):
        assert outcome.code == 0, outcome.err
        assert outcome.json == sorted(outcome.json) and len(set(outcome.json)) > 2
        assert set(outcome.json) <= set(range(20, 220, 20))
    assert len(open_banks(workspace, "diary").episodic["diary"]) == 200
    assert len(workspace.manifests("banks")) == 1


def test_a_build_that_is_outdated_when_it_is_done_is_made_again(
    interrupted: Interrupted, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = Workspace(tmp_path / "workspace")
    shutil.copytree(interrupted.workspace / "cache", workspace.folder("cache"))
    rows = [{"id": f"t{n}", "text": entry(n)} for n in range(6)]
    import_file(workspace, write_rows(tmp_path / "diary.jsonl", rows))
    make, made = Build.make, []

    def forget_meanwhile(build: Build) -> Any:
        if not made:
            store.forget(workspace, "diary", "diary", ["t3"])
        made.append(len(build.dataset.dialogues[0].turns))
        return make(build)

    monkeypatch.setattr(Build, "make", forget_meanwhile)
    banks = open_banks(workspace, "diary")
    assert made == [6, 5]
    assert [memory.sources for memory in banks.episodic["diary"].memories] == [
        (f"t{n}",) for n in (0, 1, 2, 4, 5)
    ]
    assert b"entry 3" not in bytes_under(workspace.root)
    banks.cache.close()


WRITER = """
import sys, time
from workbench.workspace import Workspace

def slow(path):
    path.write_bytes(b"half of it")
    print("writing", flush=True)
    time.sleep(60)

Workspace(sys.argv[1]).publish("banks", "0123456789abcdef", {"a.jsonl": b"{}", "b.npy": slow}, {})
"""


def test_a_write_that_was_killed_before_its_rename_is_not_listed_and_is_cleaned_up(
    tmp_path: Path,
) -> None:
    root = tmp_path / "workspace"
    command = [sys.executable, "-c", WRITER, str(root)]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"writing\n"
        process.kill()
    [left] = (root / "banks").iterdir()
    assert left.name.endswith(".tmp") and (left / "a.jsonl").exists()
    assert report(root, "runs")["runs"] == []
    verified = workbench(root, "verify", "--json")
    assert verified.code == 3
    assert [one["why"] for one in verified.json["problems"]] == ["unfinished write"]
    assert len(report(root, "verify", "--repair")["problems"]) == 1
    assert list((root / "banks").iterdir()) == []
    # The name is free again.
    Workspace(root).publish("banks", "0123456789abcdef", {"a.jsonl": b"{}"}, {})
    assert list(Workspace(root).manifests("banks")) == ["0123456789abcdef"]


def test_verify_leaves_alone_what_is_being_written(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "workspace")
    growing = workspace.folder("banks") / ".0123.77.tmp"
    growing.mkdir(parents=True)
    with workspace.lock("bank-0123"):
        assert report(workspace.root, "verify", "--repair")["problems"] == []
        assert growing.exists()
    assert len(report(workspace.root, "verify", "--repair")["problems"]) == 1
    assert not growing.exists()


HOLDER = """
import sys, time
from workbench.workspace import Workspace
with Workspace(sys.argv[1]).lock("dataset-talk"):
    print("holding", flush=True)
    time.sleep(60)
"""


def test_a_writer_that_waited_long_enough_names_the_holder(tmp_path: Path) -> None:
    root, path = tmp_path / "workspace", write_rows(tmp_path / "talk.jsonl", [{"text": "hi"}])
    command = [sys.executable, "-c", HOLDER, str(root)]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stdout.readline() == b"holding\n"
        began = time.monotonic()
        arguments = ("import", str(path), "--json")
        refused = workbench(root, *arguments, WORKBENCH_LOCK_SECONDS="1")
        assert 1 <= time.monotonic() - began < 10
        process.kill()
    assert refused.code == 4
    assert f"process {process.pid}" in refused.json["error"]["message"]
    # A killed process lets go of its locks.
    assert workbench(root, *arguments, WORKBENCH_LOCK_SECONDS="1").code == 0


def test_a_lock_that_nobody_may_wait_for_is_refused_at_once(workspace: Workspace) -> None:
    with workspace.lock("x"):
        began = time.monotonic()
        with pytest.raises(WorkspaceError, match="x is being written by process"):
            Workspace(workspace.root).lock("x", seconds=0).__enter__()
        assert time.monotonic() - began < 0.5
