"""The α landscape of a model's rewrites, over LoCoMo's test questions.

    WORKBENCH_HOME=DIR python tests/bench/bench_landscape.py --llm hf:FOLDER
    ... --questions 300 --candidates 8 --split test --answers-for 40 --preset query-only

Two landscapes: answers by the extractive answerer for all questions, and by the model itself for
`--answers-for` of them (0: none). Printed: recall@25 and F1 of the
questions as asked, of a mean candidate, of the best of each pool, and of what every α chooses, with
95 % intervals. What is chosen is chosen by gold: a ceiling, no training.

It is resumable: replies are cached in the workspace, so nothing is asked twice; what did not get
through is asked for again by the next run. Run it niced and in the background.
"""

from __future__ import annotations

import argparse
import statistics
from typing import Any

import polars as pl
from common import data_folder, row

from workbench.alpha_landscape import Landscape, alpha_landscape, table_of
from workbench.chat_models import open_llm
from workbench.datasets import import_file
from workbench.datasets.store import names
from workbench.library import open_banks
from workbench.prepare import sources_for
from workbench.presets import preset
from workbench.run_plan import LLM_ANSWERER, Plan
from workbench.workspace import Workspace

TOLD = (0.0, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0)


def tell(what: str, done: int, total: int) -> None:
    if done % 40 == 0 or done == total:
        print(f"  {what}: {done} of {total}", flush=True)


def plan_of(workspace: Workspace, given: argparse.Namespace, answerer: str, llm: Any) -> Plan:
    recipe = preset(given.preset)
    banks = open_banks(workspace, "locomo", recipe.memories, recipe.embedder)
    sources = sources_for(workspace, banks, recipe)
    asked = llm if answerer == LLM_ANSWERER else None
    return Plan(workspace, banks, recipe, answerer, given.split, sources, llm=asked)


def describe(workspace: Workspace, told: dict[str, Any]) -> None:
    left = ", ".join(f"{n} {why}" for why, n in told["excluded"].items()) or "none"
    print(f"\n{told['answerer']} answers, {told['made_by']}: {told['is']}")
    print(f"n = {told['n']} (excluded: {left}), run {told['run']}, {told['seconds']:.0f} s")
    print(f"guards {told['guards'] or 'none'}; failures {told['failures']}")
    row("", f"recall@{told['recipe']['k']}", "", "F1", "", "as asked")
    for name in ("identity", "mean", "oracle"):
        line(name, told[name], told[name]["interval"])
    for place, alpha in enumerate(told["alphas"]):
        if alpha in TOLD:
            ends = {name: told["interval"][name][place] for name in ("recall", "f1")}
            values = {name: told[name][place] for name in ("recall", "f1")}
            line(f"α = {alpha:g}", values, ends, f"{told['kept'][place]:.0%}")
    if told["run"] is not None:
        headroom(table_of(workspace, told["run"]).frame)


def line(name: str, values: dict[str, Any], ends: dict[str, Any], kept: str = "") -> None:
    cells = []
    for measure in ("recall", "f1"):
        lo, hi = ends[measure]
        cells += [f"{values[measure]:.3f}", "" if lo is None else f"{lo:.3f}-{hi:.3f}"]
    row(name, *cells, kept)


def headroom(frame: pl.DataFrame) -> None:
    """How many groups have spread, and how long and how like the question rewrites are."""
    groups = frame.group_by("question").agg(
        spread=pl.col("retrieval").max() - pl.col("retrieval").min(),
        answers=pl.col("answer").max() - pl.col("answer").min(),
    )
    for name in ("spread", "answers"):
        share = (groups[name] > 0).mean()
        print(f"groups with spread in {'recall' if name == 'spread' else 'answer'}: {share:.0%}")
    made = frame.filter(pl.col("candidate") > 0)
    words = [len(text.split()) for text in made["text"]]
    copied = made["guards"].str.contains("copied question").mean()
    print(f"words a rewrite: {statistics.fmean(words):.1f}; copies of the question: {copied:.1%}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--llm", help="rewrites, and answers a part; else $WORKBENCH_LLM_MODEL")
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--candidates", type=int, default=8)
    parser.add_argument("--split", default="test")
    parser.add_argument("--answers-for", type=int, default=40, help="questions it answers itself")
    parser.add_argument("--preset", default="query-only")
    given = parser.parse_args()
    workspace = Workspace()
    if "locomo" not in names(workspace):
        import_file(workspace, data_folder() / "locomo" / "locomo10.json", name="locomo")
    llm = open_llm(given.llm, workspace)
    for answerer, number in (("extractive", given.questions), (LLM_ANSWERER, given.answers_for)):
        if not number and answerer == LLM_ANSWERER:
            continue
        plan = plan_of(workspace, given, answerer, llm)
        wanted = Landscape(candidates=given.candidates, questions=number)
        told = alpha_landscape(plan, wanted, llm, tell)
        describe(workspace, told)
        if told["run"] is None:
            print("  not finished: run this again to ask for what did not get through")


if __name__ == "__main__":
    main()
