"""The judge pass over real answers, and how far a judge agrees with the verdicts given there.

    python tests/bench/bench_judge.py                what the pass itself costs: 1,540 answers, a
                                                     scripted judge that no time is spent in
    python tests/bench/bench_judge.py SPEC [N [R]]   N answers (100) drawn by seed 0, R repeats (1),
                                                     judged by a model (hf:FOLDER, hf:FILE.gguf,
                                                     openai:MODEL): accuracy beside the given one,
                                                     agreement and kappa with intervals, the classes
                                                     of what was not judged, tokens and seconds

The answers are those of `locomo/full_context_gpt-4o-mini.jsonl`, each with the three verdicts that
came with it. With `WORKBENCH_HOME` set, that workspace's dataset `locomo` is used and the replies
are kept there, so that a bench which is stopped goes on where it was.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from common import data_folder, locomo_workspace, row

from workbench.answer_sources import answers_of_file, given_verdicts
from workbench.chat_models import open_llm
from workbench.judge import Judging, judge_answers
from workbench.llm import Scripted
from workbench.workspace import Workspace

ANSWERS = data_folder() / "locomo" / "full_context_gpt-4o-mini.jsonl"
REPLY = '{"reason": "made up, for the time alone", "verdict": "CORRECT"}'


@contextmanager
def locomo() -> Iterator[Workspace]:
    if os.environ.get("WORKBENCH_HOME"):
        yield Workspace()
    else:
        with locomo_workspace() as workspace:
            yield workspace


def cost(workspace: Workspace) -> None:
    given = answers_of_file(workspace, "locomo", ANSWERS)
    judging = Judging(workspace, given, Scripted(lambda request: REPLY), repeats=3)
    for what in ("first run", "again"):
        began = time.perf_counter()
        found = judge_answers(judging)
        seconds = time.perf_counter() - began
        row(what, f"{found['judged']} judged", "3 repeats", f"{seconds:.1f} s")


def agree(workspace: Workspace, spec: str, sample: int, repeats: int) -> None:
    given = answers_of_file(workspace, "locomo", ANSWERS)
    llm = open_llm(spec, workspace)
    judging = Judging(workspace, given, llm, repeats=repeats, sample=sample)
    began = time.perf_counter()

    def progress(what: str, done: int, total: int) -> None:
        print(f"{what}: {done} of {total}, {time.perf_counter() - began:.0f} s", file=sys.stderr)

    found = judge_answers(judging, given_verdicts(ANSWERS, "judgments"), progress)
    against = found["against"]
    print(f"judge {llm.identity}")
    row("judged", f"{found['judged']} of {found['n']}", str(found["not_judged"]))
    row("accuracy", _told(found["accuracy"], found["interval"]))
    row("the given verdicts'", _told(against["their_accuracy"]), "on the same answers")
    row("agreement", _told(against["agreement"], against["interval"]))
    row("kappa", _told(against["kappa"], against["kappa_interval"]), against["kappa_why"])
    for pair, number in against["confusion"].items():
        row(f"  ours {pair}", str(number))
    for name, one in found["by_category"].items():
        row(f"  {name}", _told(one["accuracy"], one["interval"]), f"n = {one['judged']}")
    for name in ("same", "between_orders", "within_order"):
        if found["repeats"][name]["n"]:
            row(f"itself, {name}", _told(found["repeats"][name]["share"]))
    row("usage", str(found["usage"]))
    row("wall", f"{time.perf_counter() - began:.0f} s")


def _told(value: Any, interval: list[float | None] | None = None) -> str:
    bounds = [f"{one:.3f}" for one in interval or () if one is not None]
    told = "not known" if value is None else f"{value:.3f}"
    return f"{told} [{', '.join(bounds)}] " if bounds else f"{told} "


if __name__ == "__main__":
    with locomo() as home:
        if len(sys.argv) > 1:
            number, times = [int(one) for one in sys.argv[2:]] + [100, 1][len(sys.argv) - 2 :]
            agree(home, sys.argv[1], number, times)
        else:
            cost(home)
