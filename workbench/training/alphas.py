"""Training once for every α: what the balance of the two rewards does to what is learnt.

Every α is a training of its own (`learn.train`), kept as soon as it is finished, so a sweep that is
stopped goes on with the next one, and in the middle of one where its last checkpoint is.

A run of kind "sweep-alpha-train" holds
    frame.parquet      question, scope, category, metric, value of the validation questions *as
                       asked*
    landscape.parquet  series, alpha, mean, lo, hi: the best weights of every α on these questions
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import msgspec
import polars as pl

from workbench.alpha_report import lines_of
from workbench.datasets import load_dataset
from workbench.errors import UsageError
from workbench.llm import LLM
from workbench.rewards import RewriteRewards
from workbench.run_plan import Plan
from workbench.runs import run_id, save_run, write_parquet
from workbench.training.held_out import HeldOut, held_out, summary
from workbench.training.learn import Options, train
from workbench.training.paid import plan_of, terms_of
from workbench.training.plan import Settings
from workbench.training.questions import Parts, parts_of
from workbench.workspace import Content, Workspace

__all__ = ["CHOSEN", "alpha_trainings"]

KIND = "sweep-alpha-train"
CHOSEN = (
    "the weights of each α are those that did best on the very questions shown, so every figure "
    "here flatters; what an α is worth, the test tells"
)
MEASURES = ("recall", "f1")


def alpha_trainings(
    workspace: Workspace,
    of: Settings,
    alphas: Sequence[float],
    options: Options | None = None,
    llm: LLM | None = None,
) -> dict[str, Any]:
    """Train with every α, keep the sweep as a run, and return what the command reports.

    `of.alpha` plays no part. Finished trainings are found again, an unfinished one is gone on with.
    `recall` and `f1` are of the weights that validation chose by that measure. Raises what `train`
    raises; the trainings before that are kept.
    """
    began = time.perf_counter()
    grid = sorted(set(alphas))
    if not grid:
        raise UsageError("no α to train with")
    given = (options or Options())._replace(resume=True)
    cells = []
    for place, alpha in enumerate(grid, start=1):
        named = given._replace(progress=_naming(given.progress, f"α = {alpha:g}"))
        own = msgspec.structs.replace(of, alpha=alpha)
        cells.append({"alpha": alpha, **train(workspace, own, named, llm)})
        if given.progress:
            given.progress("training with each α", place, len(grid))
    parts = parts_of(load_dataset(workspace, of.dataset), of.train, of.validation)
    plan = plan_of(workspace, of, llm)
    frame = _as_asked(plan, of, parts)
    asked = summary(frame, 0, len(parts.validation))
    report = {**_told(grid, cells, asked), **_about(of, cells, asked)}
    run = _keep(workspace, of.identity(parts, plan.banks.id), report, frame)
    return {"run": run, **report, "seconds": round(time.perf_counter() - began, 3)}


def _naming(progress: Callable[[str, int, int], None] | None, alpha: str) -> Any:
    """The sign of life of one training, with its α."""
    return progress and (lambda what, done, total: progress(f"{alpha}: {what}", done, total))


def _as_asked(plan: Plan, of: Settings, parts: Parts) -> pl.DataFrame:
    """What the validation questions find without any rewriting, by the same measures."""
    own = msgspec.structs.replace(terms_of(of), with_question=False)
    texts = [question.text for question in parts.validation]
    return held_out(RewriteRewards(plan, own), parts.validation, texts)


def _told(grid: Sequence[float], cells: list[dict[str, Any]], asked: HeldOut) -> dict[str, Any]:
    """Recall and F1 of every α, of the untrained model, and of the questions as asked."""
    told: dict[str, Any] = {"alphas": list(grid), "interval": {}, "best": {"is": CHOSEN}}
    identity = msgspec.to_builtins(asked)
    told["identity"] = _value(identity)
    told["untrained"] = [_value(cell["validations"][0]) for cell in cells]
    for name in MEASURES:
        reached = [cell["best"][name] for cell in cells]
        told[name] = [one[name] for one in reached]
        told["interval"][name] = [list(one[f"{name}_interval"]) for one in reached]
        top = max(range(len(grid)), key=lambda place: (round(told[name][place], 9), -place))
        told["best"][name] = {"alpha": grid[top], "value": told[name][top]}
    return told


def _value(of: dict[str, Any]) -> dict[str, Any]:
    ends = {name: list(of[f"{name}_interval"]) for name in MEASURES}
    return {**{name: of[name] for name in MEASURES}, "interval": ends}


def _about(of: Settings, cells: list[dict[str, Any]], asked: HeldOut) -> dict[str, Any]:
    """What was trained on what, and how each training went."""
    return {
        "is": CHOSEN,
        "dataset": of.dataset,
        "split": of.validation,
        "n": max(asked.n_recall, asked.n_f1),
        "excluded": {},
        "recipe": msgspec.to_builtins(of.recipe),
        "answerer": of.answerer,
        "pays": {"retrieval": of.retrieval, "answer": of.answer},
        "seed": of.seed,
        "trainings": [
            {
                **{name: cell[name] for name in ("alpha", "run", "status", "why", "steps")},
                "rewriter": {name: cell["best"][name]["rewriter"] for name in MEASURES},
                "step": {name: cell["best"][name]["step"] for name in MEASURES},
            }
            for cell in cells
        ],
    }


def _keep(
    workspace: Workspace, of: dict[str, Any], report: dict[str, Any], frame: pl.DataFrame
) -> str:
    """Save the run; returns its id. `of` is what any of its trainings depends on, but its α."""
    runs = [cell["run"] for cell in report["trainings"]]
    trl = {name: value for name, value in of["trl"].items() if name != "reward_weights"}
    identity = {**of, "trl": trl, "alpha": None, "alphas": report["alphas"], "trainings": runs}
    name = run_id(KIND, identity)
    lines = lines_of(report, report["recipe"]["k"], "trained")
    files: dict[str, Content] = {"landscape.parquet": partial(write_parquet, lines)}
    facts = {key: report[key] for key in ("dataset", "split", "n", "excluded")}
    facts["report"] = {"run": name, **report}
    return save_run(workspace, KIND, identity, frame, facts, files)
