"""A run that is killed ten times at random moments and resumed ends like an undisturbed one.

    python tests/bench/bench_resume.py [KILLS] [SEED]

Each process answers the bundled sample with a scripted model that takes a tenth of a second a
question and is killed with SIGKILL after a random time since its first answer; the last one is left
alone. Traces (seconds aside) and table are then compared with those of one process alone.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import msgspec
from common import PROJECT, row

from workbench.runs import load_run
from workbench.traces import Trace, read_traces
from workbench.workspace import Workspace

PROCESS = """
import sys, time
from workbench import run
from workbench.datasets import import_file
from workbench.library import open_banks
from workbench.llm import Reply, Scripted
from workbench.schema import Recipe
from workbench.workspace import Workspace

def slowly(request):
    time.sleep(float(sys.argv[2]))
    lines = [line for line in request.user.splitlines() if line.startswith("- ")]
    return Reply(text=lines[-1].rpartition(": ")[2][:80] if lines else "nothing", tokens_in=9)

def told(what, done, all):
    if what == "answering":
        print(done, all, flush=True)

run.LLM_BATCH = 2
workspace = Workspace(sys.argv[1])
banks = open_banks(workspace, "sample")
model = Scripted(slowly, name="reader")
plan = run.Plan(workspace, banks, Recipe(retriever="ppro", k=5), "llm", llm=model)
print(run.evaluate(plan, progress=told)["run"], flush=True)
"""


def begin(folder: Path, pause: float) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PROCESS, str(folder), str(pause)]
    where = {**os.environ, "PYTHONPATH": str(PROJECT)}
    return subprocess.Popen(command, env=where, text=True, stdout=subprocess.PIPE)


def outcome(folder: Path, name: str) -> tuple[list[Trace], list[dict[str, object]]]:
    workspace = Workspace(folder)
    traces = read_traces(workspace.folder("runs", name) / "traces.jsonl")
    timeless = [msgspec.structs.replace(trace, seconds=0.0) for trace in traces]
    return timeless, load_run(workspace, name).frame.to_dicts()


def main(kills: int, seed: int) -> None:
    moments = random.Random(seed)
    with tempfile.TemporaryDirectory() as place:
        quiet, killed = Path(place) / "quiet", Path(place) / "killed"
        alone = begin(quiet, 0.0).communicate()[0].split()[-1]
        row("", "answered", "of", "then killed after")
        for number in range(kills):
            process = begin(killed, 0.1)
            assert process.stdout is not None
            first = process.stdout.readline().split()
            if len(first) != 2:
                raise SystemExit(f"finished before kill {number + 1}: ask for fewer kills")
            wait = moments.random()
            time.sleep(wait)
            process.kill()
            assert process.wait() == -signal.SIGKILL
            row(f"kill {number + 1}", *first, f"{wait:.2f} s")
        name = begin(killed, 0.0).communicate()[0].split()[-1]
        same = name == alone and outcome(killed, name) == outcome(quiet, alone)
        print("the same traces and table" if same else "DIFFERENT")
        raise SystemExit(0 if same else 1)


if __name__ == "__main__":
    main(*(int(given) for given in (*sys.argv[1:], *("10", "7")[len(sys.argv) - 1 :])))
