"""The explorer under load: people at once who move λ, wait for the answer, look at it, move again.

    python tests/bench/bench_explorer.py                         20 people, a minute, on 2 cores
    python tests/bench/bench_explorer.py --people 5 --seconds 20 --pause 2 --dataset locomo

The explorer is served as `workbench explore` serves it, on the first two cores of the machine; the
people are sessions of their own, which speak what the browser speaks (and draw nothing). The time
of an answer is that from the move to the end of the script's run, everything sent. `--pause` is how
long a person looks at it (each time between half and one and a half of it). LoCoMo comes from
`$WORKBENCH_TEST_DATA`; the sample is bundled. An error anywhere ends with exit code 1.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import numpy as np
from common import PROJECT, data_folder, row
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import ClientConnection, connect

from workbench.datasets import import_file, store
from workbench.library import open_banks
from workbench.workspace import Workspace

CORES = 2
PATIENCE = 120.0  # seconds for one answer
WIDEST = 2**26  # bytes of a message


class Answer(NamedTuple):
    """What a run of the page brought: the id of the λ slider, exceptions, bytes, seconds."""

    slider: str
    errors: list[str]
    size: int
    seconds: float


class Person(threading.Thread):
    """A session that moves λ until the time is over."""

    def __init__(self, address: str, view: dict[str, str], plan: argparse.Namespace) -> None:
        super().__init__(daemon=True)
        self.address, self.view, self.plan = address, view, plan
        self.begun = threading.Event()
        self.may_move, self.first = threading.Event(), 0.0
        self.answers: list[Answer] = []
        self.errors: list[str] = []

    def run(self) -> None:
        chance = random.Random(str(self.view))
        try:
            with _connected(self.address) as wire:
                opened = _ask(wire, self.view)
                self.first, self.errors = opened.seconds, opened.errors
                self.begun.set()
                self.may_move.wait()
                end = time.monotonic() + self.plan.seconds
                while time.monotonic() < end:
                    time.sleep(self.plan.pause * chance.uniform(0.5, 1.5))
                    lam = round(0.05 * chance.randrange(21), 2)
                    found = _ask(wire, self.view, opened.slider, lam)
                    self.answers.append(found)
                    self.errors += found.errors
        except Exception as error:  # noqa: BLE001 - whatever it is, it is what is counted here
            self.errors.append(f"{type(error).__name__}: {error}")
        finally:
            self.begun.set()


def main() -> None:
    plan = _plan()
    with _prepared(plan.dataset) as home, _served(home) as address:
        people = [Person(address, view, plan) for view in _views(home, plan)]
        for person in people:  # one after the other, as people come in
            person.start()
            person.begun.wait(PATIENCE)
        for person in people:
            person.may_move.set()
        for person in people:
            person.join(plan.seconds + PATIENCE)
        _report(people, plan)


def _report(people: list[Person], plan: argparse.Namespace) -> None:
    answers = [answer for person in people for answer in person.answers]
    errors = [error for person in people for error in person.errors]
    errors += ["a person is still waiting" for person in people if person.is_alive()]
    if not answers:
        raise SystemExit(f"nobody was answered: {errors[:3]}")
    seconds = np.array([answer.seconds for answer in answers])
    row("people", f"{len(people)}")
    row("looking at an answer", f"{plan.pause:g} s on average")
    row("the first page", f"{np.median([person.first for person in people]):.2f} s (median)")
    row("moves of λ", f"{len(answers):,}", f"{len(answers) / plan.seconds:.1f} a second")
    for name, share in (("median", 50), ("p95", 95), ("p99", 99), ("longest", 100)):
        row(f"answer, {name}", f"{np.percentile(seconds, share):.3f} s")
    row("sent an answer", f"{np.median([answer.size for answer in answers]) / 1024:.0f} KiB")
    row("load of the machine", f"{os.getloadavg()[0]:.1f}", f"{os.cpu_count()} cores")
    row("errors", f"{len(errors)}")
    if errors:
        raise SystemExit("\n".join(dict.fromkeys(errors)))


def _plan() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--people", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--pause", type=float, default=2.0)
    parser.add_argument("--dataset", choices=("sample", "locomo"), default="sample")
    return parser.parse_args()


@contextlib.contextmanager
def _prepared(dataset: str) -> Iterator[Path]:
    """A workspace whose memories are built; with `WORKBENCH_HOME` set, a copy of that one."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "workspace"
        if given := os.environ.get("WORKBENCH_HOME"):
            shutil.copytree(given, home)
        workspace = Workspace(home)
        if dataset == "locomo" and dataset not in store.names(workspace):
            import_file(workspace, data_folder() / "locomo" / "locomo10.json")
        open_banks(workspace, dataset)
        yield home


def _views(home: Path, plan: argparse.Namespace) -> list[dict[str, str]]:
    """Another question for each person, in the order of the data."""
    asked = [q for q in store.load(Workspace(home), plan.dataset).questions if q.people]
    return [
        {"dataset": plan.dataset, "question": asked[place % len(asked)].id}
        for place in range(plan.people)
    ]


@contextlib.contextmanager
def _served(home: Path) -> Iterator[str]:
    """`workbench explore`, kept to the first cores; its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "workbench", "explore", "--headless", "--json"],
        env={**os.environ, "WORKBENCH_HOME": str(home), "PYTHONPATH": str(PROJECT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        preexec_fn=_few_cores,  # noqa: PLW1509 - before any thread of the child's
    )
    try:
        printed = b""
        while not printed.endswith(b"}\n"):
            line = process.stdout.readline() if process.stdout else b""
            if not line:
                raise SystemExit("the explorer did not start: run `workbench explore` to see why")
            printed += line
        yield json.loads(printed)["address"]
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def _few_cores() -> None:
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])


def _connected(address: str) -> ClientConnection:
    place = f"{address.replace('http', 'ws', 1)}/_stcore/stream"
    return connect(place, origin=address, subprotocols=["streamlit"], max_size=WIDEST)  # type: ignore[arg-type, list-item]


def _ask(
    wire: ClientConnection, view: dict[str, str], slider: str = "", lam: float | None = None
) -> Answer:
    """Have the page run, with λ moved where a slider is named, and read all that it sends."""
    message = BackMsg()
    message.rerun_script.query_string = urlencode(view)
    message.rerun_script.context_info.timezone = "UTC"
    if lam is not None:
        moved = message.rerun_script.widget_states.widgets.add()
        moved.id = slider
        moved.double_array_value.data.append(lam)
    begun = time.perf_counter()
    wire.send(message.SerializeToString())
    errors: list[str] = []
    size, ranked = 0, False
    while True:
        data = wire.recv(timeout=PATIENCE)
        size += len(data)
        told = ForwardMsg.FromString(bytes(data))
        kind = told.WhichOneof("type")
        # A ranking that was sent before comes as its digest.
        ranked = ranked or kind == "ref_hash" or b'class="hits"' in data
        if kind == "delta":
            slider = _slider(told) or slider
            errors += _exception(told)
        elif kind == "script_finished":
            if told.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                continue  # the page runs once more by itself
            if not slider:
                errors.append("the page has no slider for λ")
            if not ranked:
                errors.append("the page has no rankings")
            return Answer(slider, errors, size, time.perf_counter() - begun)


def _slider(told: Any) -> str:
    element = told.delta.new_element
    is_lam = element.WhichOneof("type") == "slider" and element.slider.label.startswith("λ")
    return str(element.slider.id) if is_lam else ""


def _exception(told: Any) -> list[str]:
    element = told.delta.new_element
    kind = element.WhichOneof("type")
    if kind == "exception":
        return [f"{element.exception.type}: {element.exception.message}"]
    if kind == "alert" and element.alert.format == element.alert.ERROR:
        return [str(element.alert.body)]
    return []


if __name__ == "__main__":
    main()
