"""GRPO for real: a small model trained on LoCoMo's conv-26, chosen on conv-30, and what its
rewrites find on the eight test conversations.

    python tests/bench/bench_grpo.py --model FOLDER [--steps 100] [--warm 4] [--questions 304]

A model in a folder is trained with an adapter (`--preset cpu`: 8 samples a step, answers by the
extractive answerer), after a warm start with the best of `--warm` own rewrites where that is not 0.
Then `--questions` of the test (0: all 1,307), the same number of each conversation, drawn by seed
0, are asked as they are, in the untrained model's words, in the warm-started one's and in those of
the best weights by validation recall and by validation F1: evidence recall@25, dense and with the
best hybrid, and F1, with intervals over conversations and paired tests against the questions as
they are. With `WORKBENCH_HOME` set everything is kept there, and a bench that was stopped goes on
where it was.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Sequence

from common import data_folder, row

from workbench.datasets import import_file
from workbench.library import open_banks
from workbench.metrics import exclusion
from workbench.prepare import in_split, sources_for
from workbench.presets import preset
from workbench.rewards import RewriteRewards, Terms
from workbench.rewrite import open_rewriter
from workbench.rewritten import wanted_of
from workbench.run_plan import Plan
from workbench.schema import Question
from workbench.stats import holm, mean_interval, paired_difference
from workbench.training.learn import Options, train
from workbench.training.options import settings_of
from workbench.workspace import Workspace

BEGAN = time.perf_counter()
RECIPES = ("query-only", "locomo-turns")


def told(what: str, done: int, total: int) -> None:
    print(f"{time.perf_counter() - BEGAN:6.0f} s  {what}: {done} of {total}", file=sys.stderr)


def drawn(questions: Sequence[Question], number: int) -> list[Question]:
    """As many of each conversation, in the dataset's order; all for 0."""
    usable = [q for q in questions if exclusion(q) is None]
    scopes = list(dict.fromkeys(q.scope for q in usable))
    chosen = set()
    for scope in scopes:
        own = [q.id for q in usable if q.scope == scope]
        share = number // len(scopes) if number else len(own)
        chosen.update(random.Random(0).sample(own, min(share, len(own))))
    return [q for q in usable if q.id in chosen]


def trained(workspace: Workspace, given: argparse.Namespace) -> dict[str, str]:
    """Train, print how it went, and name the rewriters that came of it."""
    options = {
        **{"dataset": "locomo", "model": given.model, "steps": given.steps, "warm": given.warm},
        **{"validate_every": given.validate_every, "save_every": 5, "alpha": given.alpha},
        **{"with_question": given.with_question, "retrieval": given.retrieval, "seed": given.seed},
    }
    report = train(
        workspace,
        settings_of("cpu", options, None, given.trl),
        Options(resume=True, progress=told),
    )
    row("training", report["status"], f"{report['steps']} steps", str(report["why"] or ""))
    row("seconds", f"{report['seconds']:.0f}", json.dumps(report["time"]))
    for one in report["validations"]:
        row(f"validation, step {one['step']}", f"recall {one['recall']:.3f}", f"F1 {one['f1']:.3f}")
    row("guards", json.dumps(report["guards"]))
    best = {name: one["rewriter"] for name, one in report["best"].items()}
    found = {"identity": "identity", "untrained": best["f1"].replace("trained:", "untrained:", 1)}
    if report["warm"]:
        found["warm-started"] = report["warm"]["rewriter"]
    return {**found, "trained, by recall": best["recall"], "trained, by F1": best["f1"]}


def statements(
    workspace: Workspace, plan: Plan, name: str, questions: Sequence[Question]
) -> list[str]:
    """What each question is searched with; the replies are kept in the workspace."""
    rewrite, wanted = open_rewriter(name, None, workspace), wanted_of(plan.banks, questions)
    made = []
    for start in range(0, len(wanted), 16):
        made += [one.text for one in rewrite(wanted[start : start + 16])]
        told(f"rewriting ({name.partition(':')[0]})", len(made), len(wanted))
    return made


def compared(workspace: Workspace, rewriters: dict[str, str], number: int) -> None:
    banks = open_banks(workspace, "locomo")
    questions = drawn(in_split(banks, "test"), number)
    scopes = [q.scope for q in questions]
    texts = {}
    for recipe in map(preset, RECIPES):
        plan = Plan(workspace, banks, recipe, sources=sources_for(workspace, banks, recipe))
        rewards = RewriteRewards(plan, Terms())
        for name, rewriter in rewriters.items():
            if name not in texts:
                texts[name] = statements(workspace, plan, rewriter, questions)
        ids = [q.id for q in questions]
        scored = {name: rewards.score(ids, texts[name]) for name in rewriters}
        for measure in ("recall", "f1"):
            values = {n: [getattr(o, measure) or 0.0 for o in s] for n, s in scored.items()}
            others = [name for name in values if name != "identity"]
            tests = {n: paired_difference(values[n], values["identity"], scopes) for n in others}
            corrected = dict(zip(others, holm([tests[n].p for n in others]), strict=True))
            row(
                f"{recipe.retriever}, {measure}",
                f"n = {len(ids)}",
                "95 % interval",
                "less identity",
            )
            for name, of in values.items():
                mean = mean_interval(of, scopes)
                cells = [f"{mean.mean:.4f}", f"[{mean.lo:.3f}, {mean.hi:.3f}]"]
                if name in tests:
                    test = tests[name]
                    cells.append(f"{test.difference:+.4f} [{test.lo:+.3f}, {test.hi:+.3f}]")
                    cells.append(f"  p = {test.p:.3g}, Holm {corrected[name]:.3g}")
                row(f"  {name}", *cells)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--model")
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--warm", type=int, default=4)
    parser.add_argument("--alpha", type=float, default=0.2)
    parser.add_argument("--retrieval", default="recall")
    parser.add_argument("--with-question", action="store_true")
    parser.add_argument("--validate-every", type=int, default=25)
    parser.add_argument("--questions", type=int, default=304)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--trl", action="append", default=[])
    given = parser.parse_args()
    if given.model is None:
        print("left out: name a model's folder with --model")
        return
    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace(os.environ.get("WORKBENCH_HOME") or folder)
        if "locomo" not in {path.name for path in workspace.folder("datasets").glob("*")}:
            import_file(workspace, data_folder() / "locomo" / "locomo10.json")
        rewriters = trained(workspace, given)
        for name, rewriter in rewriters.items():
            row(name, rewriter)
        compared(workspace, rewriters, given.questions)


if __name__ == "__main__":
    main()
