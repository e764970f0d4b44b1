"""The command line as its users meet it: a process of its own, its exit code and both streams."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

PROJECT = Path(__file__).resolve().parent.parent


class Outcome(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """The document on stdout; a ValueError where it is not exactly one."""
        return json.loads(self.out)


def environment(**given: str) -> dict[str, str]:
    """This process's, without settings of the developer's, with the network's models off."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("WORKBENCH_")}
    return {
        **kept,
        "PYTHONPATH": str(PROJECT),
        "PYTHONIOENCODING": "utf-8",
        "HF_HUB_OFFLINE": "1",
        "COLUMNS": "300",
        **given,
    }


def started(
    workspace: Path, *arguments: str, python: Iterable[str] = (), **given: str
) -> subprocess.Popen[bytes]:
    """`python -m workbench ARGUMENTS` under way; it hears Ctrl-C even where its parent does not."""
    return subprocess.Popen(
        [sys.executable, *python, "-m", "workbench", *arguments],
        env=environment(**{"WORKBENCH_HOME": str(workspace), **given}),
        cwd=workspace.parent,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    )


def ended(process: subprocess.Popen[bytes], encoding: str = "utf-8") -> Outcome:
    out, err = process.communicate(timeout=50)
    return Outcome(process.returncode, out.decode(encoding), err.decode(encoding))


def workbench(workspace: Path, *arguments: str, **given: str) -> Outcome:
    """A whole command; `given` are environment variables."""
    return ended(started(workspace, *arguments, **given))


# A process that has the libraries, and forks a command for each line that it is given.
FORKING = """
import json, os, sys
import workbench.library, workbench.recall
from workbench.cli import run
folder, lines = json.load(sys.stdin)
codes = []
for number, arguments in enumerate(lines):
    child = os.fork()
    if child == 0:
        for stream, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(f"{folder}/{number}.{name}", os.O_CREAT | os.O_WRONLY), stream)
        sys.argv[1:] = arguments
        run()
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(json.dumps(codes))
"""


def forked(workspace: Path, lines: list[list[str]], folder: Path) -> list[Outcome]:
    """Many commands, a process each, that don't import everything anew; streams in `folder`."""
    done = subprocess.run(
        [sys.executable, "-c", FORKING],
        env=environment(WORKBENCH_HOME=str(workspace)),
        cwd=workspace.parent,
        input=json.dumps([str(folder), lines]).encode(),
        capture_output=True,
        check=True,
    )

    def read(number: int, name: str) -> str:
        return (folder / f"{number}.{name}").read_text(encoding="utf-8")

    codes = json.loads(done.stdout)
    return [Outcome(code, read(n, "out"), read(n, "err")) for n, code in enumerate(codes)]


def report(workspace: Path, *arguments: str) -> Any:
    """The JSON document of a command that must succeed."""
    outcome = workbench(workspace, *arguments, "--json")
    assert outcome.code == 0, outcome.err
    return outcome.json


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    return path


def cached_vectors(workspace: Path) -> int:
    """Rows of the vector cache; 0 where there is none yet."""
    path = workspace / "cache" / "vectors.sqlite"
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5) as database:
            return int(database.execute("SELECT count(*) FROM vectors").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def wait_for_vectors(workspace: Path, least: int, process: subprocess.Popen[bytes]) -> None:
    """Until the cache holds `least` rows; an AssertionError where the process ends before."""
    while cached_vectors(workspace) < least:
        assert process.poll() is None, f"ended with fewer than {least} vectors"
        time.sleep(0.01)


def bytes_under(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
