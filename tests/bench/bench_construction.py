"""Memories that a model builds of one conversation of LoCoMo, beside turns, facts and observations.

    WORKBENCH_HOME=DIR python tests/bench/bench_construction.py hf:FOLDER [--dataset-scope conv-30]

Printed: seconds, tokens and failures of the construction; the quality table of all kinds; and
evidence recall@25 (dense, MiniLM, no prior) on its questions, with 95 % intervals and
paired differences (permutation test; the intervals are over questions, there is one conversation).

It is resumable: replies are cached in the workspace, and units that failed are asked for again by
the next run. `WORKBENCH_LLM_BATCH=16` is faster on two cores. Run it niced, in the background.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from itertools import combinations
from pathlib import Path
from typing import Any

from common import data_folder, row

from workbench.chat_models import open_llm
from workbench.construct import construct_banks
from workbench.datasets import import_file
from workbench.datasets.store import names
from workbench.extraction_quality import quality
from workbench.library import BankSet, open_banks
from workbench.metrics import Plan, recall_at
from workbench.recall import measure
from workbench.schema import Recipe
from workbench.stats import paired_difference
from workbench.workspace import Workspace

KINDS = ("turns", "facts", "observations")
K = 25


def imported(workspace: Workspace, scope: str) -> str:
    """The name of a dataset that holds one conversation alone."""
    name = f"locomo-{scope}"
    if name not in names(workspace):
        everything = json.loads((data_folder() / "locomo" / "locomo10.json").read_text("utf-8"))
        only = [one for one in everything if one["sample_id"] == scope]
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "locomo10.json"
            path.write_text(json.dumps(only), encoding="utf-8")
            import_file(workspace, path, name=name)
    return name


def built(workspace: Workspace, name: str, spec: str) -> BankSet:
    """The model's bank set, with what it cost."""
    llm = open_llm(spec, workspace)
    began = time.perf_counter()

    def tell(what: str, done: int, total: int) -> None:
        print(f"  {time.perf_counter() - began:7.0f} s  {what} {done}/{total}", flush=True)

    banks = construct_banks(workspace, name, llm, progress=tell)
    manifest = banks.manifest
    print(json.dumps(manifest["model"]))
    for key in ("counts", "units", "failed", "pending", "left_out", "replies"):
        row(key, json.dumps(manifest[key]))
    row("this run", json.dumps(llm.usage.record), f"{time.perf_counter() - began:.0f} s")
    return banks


def show_quality(reports: dict[str, dict[str, Any]]) -> None:
    row("", *reports)

    def line(title: str, value: Any) -> None:
        row(title, *(value(report) for report in reports.values()))

    for layer in ("episodic", "semantic", "profile"):
        line(layer, lambda told, layer=layer: str(told["counts"][layer]))
    first = next(iter(reports.values()))["coverage"]
    for layer in first["layers"]:
        line(f"coverage, {layer}", lambda told, layer=layer: _covered(told, layer))
    for key in ("unsupported", "by_chance", "duplicates", "junk"):
        line(key, lambda told, key=key: f"{told[key]['n']} ({told[key]['share'] or 0:.1%})")
    line("near duplicates", lambda told: str(told["near_duplicates"]))
    print(f"coverage: n = {first['n']} questions, intervals over {first['basis']}")
    for name, told in reports.items():
        for example in told["unsupported"]["examples"]:
            print(f"  without support, {name}: {example['text']}")
        for example in told["junk"]["examples"][:3]:
            print(f"  junk, {name}: {example['text']} ({example['why']})")


def _covered(told: dict[str, Any], layer: str) -> str:
    return f"{told['coverage']['layers'][layer]['mean']:.3f}"


def show_recall(banks: dict[str, BankSet]) -> None:
    recipe = Recipe(prior="none", lam=1.0, k=K)
    values, scopes = {}, []
    print(f"\nevidence recall@{K}, dense, no prior")
    for name, one in banks.items():
        outcome = measure(one, recipe, Plan(ks=(K,)))
        values[name] = [recall_at(K, question.ranks) for question in outcome.measured]
        scopes = [question.scope for question in outcome.measured]
        lo, hi = outcome.report["interval"][str(K)]
        mean = outcome.report["recall"][str(K)]
        row(name, f"{mean:.3f}", f"{lo:.3f}-{hi:.3f}", f"n {outcome.report['n']}")
    for one, other in combinations(values, 2):
        found = paired_difference(values[one], values[other], scopes)
        span = f"{found.lo:+.3f} to {found.hi:+.3f}"
        row(f"{one} - {other}", f"{found.difference:+.3f}", span, f"     p {found.p:.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("llm", help="hf:FOLDER, openai:MODEL or scripted:FILE.jsonl")
    parser.add_argument("--dataset-scope", default="conv-30")
    given = parser.parse_args()
    workspace = Workspace()
    name = imported(workspace, given.dataset_scope)
    banks = {kind: open_banks(workspace, name, kind) for kind in KINDS}
    banks["llm"] = built(workspace, name, given.llm)
    print()
    show_quality({kind: quality(one) for kind, one in banks.items()})
    show_recall(banks)


if __name__ == "__main__":
    main()
