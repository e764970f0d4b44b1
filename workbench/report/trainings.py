"""What training the rewriter came to: its curves, its validations, its checkpoints by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from workbench import figures
from workbench.figures.drawing import estimate
from workbench.passport import Passport
from workbench.report.estimates import estimates
from workbench.report.tables import Found, Table, kept_table
from workbench.runs import Run
from workbench.workspace import Workspace

__all__ = ["TRAININGS", "checkpoint"]

FLATTERS = "Weights are chosen on the very questions of the validation, so their figures flatter."
NAMES = {"f1": "F1", "recall": "recall"}


def _training(workspace: Workspace, run: Run, passport: Passport) -> Found:
    """One training: how it went, what the best weights reached, and what they are called."""
    told = run.manifest["report"]
    curves = kept_table(workspace, run.id, "training")
    guards = pl.DataFrame(
        list(told["guards"].items()),
        schema={"guard": pl.String, "rewrites": pl.Int64},
        orient="row",
    )
    tables = [
        Table("validations", "Recall and F1 of the validation questions", _validations(told)),
        Table("checkpoints", "What was kept, and its name for --rewriter", _checkpoints(told)),
        Table("guards", "Guards that rewrites set off, in training and validation", guards),
        Table(
            "measures",
            "The best weights by F1, over the validation questions",
            estimates(run.frame, ["metric"], passport),
        ),
    ]
    return Found(_lead(told), tables, {"training": figures.training_curves(curves, passport)})


def _by_alpha(workspace: Workspace, run: Run, passport: Passport) -> Found:
    """A training for every α: what each reached, and where it is kept."""
    told = run.manifest["report"]
    lines = kept_table(workspace, run.id, "landscape")
    cells = pl.DataFrame(
        [
            {
                **{name: cell[name] for name in ("alpha", "run", "steps", "status")},
                "rewriter": checkpoint(cell["rewriter"]["f1"]),
            }
            for cell in told["trainings"]
        ]
    )
    kind = f"{told['answerer']} answers, pays {told['pays']['retrieval']} and "
    lead = [
        f"Trained once for every α, measured on {told['n']} questions ({told['split']}): {kind}"
        f"{told['pays']['answer']}.",
        f"Beware: {told['is']}.",
        "Compared with other runs, it stands for the questions as they were asked.",
    ]
    tables = [
        Table("landscape", "Recall and F1 of what was trained with every α", lines),
        Table("trainings", "The trainings, each with its best weights by F1", cells),
    ]
    return Found(lead, tables, {"landscape": figures.alpha_trainings(lines, passport)})


def checkpoint(rewriter: str) -> str:
    """A checkpoint's name in its workspace, `trained:RUN-f1`: no path of a machine is in it.

    >>> checkpoint("trained:/home/ana/ws/rewriters/c0ffee-f1")
    'trained:c0ffee-f1'
    """
    kind, _, folder = rewriter.partition(":")
    return f"{kind}:{Path(folder).name}"


def _lead(told: Mapping[str, Any]) -> list[str]:
    sizes = told["split"]
    left = [f"{n} {why}" for why, n in told["left_out"].items()]
    left += [f"{len(ids)} too long ({part})" for part, ids in told["too_long"].items() if ids]
    share = told["time"]["rewards_share"]
    return [
        f"{told['status'].capitalize()} after {told['steps']:,} steps ({told['seconds']:,.0f} s); "
        f"trained on {sizes['train']:,} questions, chosen on {sizes['validation']:,}.",
        *([f"It was stopped: {told['why']}."] if told["why"] else []),
        _gain(told),
        FLATTERS,
        f"Left out: {', '.join(left) or 'none'}; without evidence: {told['without_evidence']}.",
        *([] if share is None else [f"The rewards took {share:.1%} of a step’s time."]),
        *told["notes"],
    ]


def _gain(told: Mapping[str, Any]) -> str:
    """Before training and after it, by both measures."""
    first = told["validations"][0]
    pairs = (
        f"{shown} {_with(first, name)} before training, {_with(told['best'][name], name)} at its "
        f"best (step {told['best'][name]['step']})"
        for name, shown in NAMES.items()
    )
    return f"Validation: {'; '.join(pairs)}."


def _with(one: Mapping[str, Any], name: str) -> str:
    lo, hi = one[f"{name}_interval"]
    return estimate({"mean": one[name], "lo": lo, "hi": hi})


def _validations(told: Mapping[str, Any]) -> pl.DataFrame:
    """A row a validation: `step, recall, recall_lo, recall_hi, f1, f1_lo, f1_hi, not_answered`."""
    rows = [
        {"step": one["step"]}
        | {
            key: value
            for name in ("recall", "f1")
            for key, value in zip(
                (name, f"{name}_lo", f"{name}_hi"),
                (one[name], *one[f"{name}_interval"]),
                strict=True,
            )
        }
        | {"not_answered": one["missing"]}
        for one in told["validations"]
    ]
    kinds = {f"{name}_{end}": pl.Float64 for name in ("recall", "f1") for end in ("lo", "hi")}
    return pl.DataFrame(rows, schema_overrides=kinds, infer_schema_length=None)


def _checkpoints(told: Mapping[str, Any]) -> pl.DataFrame:
    """A row a checkpoint: `chosen_by, step, rewriter`."""
    rows = [
        {
            "chosen_by": f"validation {NAMES[name]}",
            "step": one["step"],
            "rewriter": checkpoint(one["rewriter"]),
        }
        for name, one in told["best"].items()
    ]
    if told["warm"] is not None:
        name = checkpoint(told["warm"]["rewriter"])
        rows.append({"chosen_by": "the warm start alone", "step": 0, "rewriter": name})
    return pl.DataFrame(rows)


TRAININGS: dict[str, Callable[[Workspace, Run, Passport], Found]] = {
    "train": _training,
    "sweep-alpha-train": _by_alpha,
}
