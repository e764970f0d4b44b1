"""What stays of a training: the run with its curves, and the best weights as checkpoints.

While it lasts, everything is in `ROOT/training/KEY`; `plan.json` there says what it depends on.
Afterwards `ROOT/runs/RUN` has `training.parquet` (series, step, mean, lo, hi), `steps.parquet`
(every step, by question) and the validation frame of the best weights by F1;
`ROOT/rewriters/RUN-f1` and `RUN-recall` are the checkpoints, each with its manifest, `RUN-warm` the
weights after a warm start alone.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import polars as pl

from workbench.errors import UsageError
from workbench.runs import run_id, save_run, write_parquet
from workbench.traces import changes
from workbench.trained_model import KIND
from workbench.training.monitor import SECONDS, Monitor
from workbench.workspace import Content, Workspace, remove_folder, write_atomically

__all__ = ["BESTS", "Kept", "begin", "keep"]

PLAN = "plan.json"
BESTS = ("f1", "recall")
WEIGHTS = (".safetensors", ".json", ".jinja", ".txt", ".model")


class Kept(NamedTuple):
    """What is kept of a run: its unfinished `folder`, `identity`, the `facts` of its checkpoints'
    manifests, and what the report tells already."""

    folder: Path
    identity: dict[str, Any]
    facts: dict[str, Any]
    told: dict[str, Any]


def begin(folder: Path, identity: dict[str, Any], resume: bool, fresh: bool) -> None:
    """Make the folder of a run, or find it as it was left.

    Raises UsageError where an unfinished run is there and neither `resume` nor `fresh` was given,
    and where it was begun with other settings, naming them.
    """
    try:
        begun = msgspec.json.decode((folder / PLAN).read_bytes())
    except (FileNotFoundError, msgspec.DecodeError):
        begun = None
    if begun is not None and not fresh:
        changed = changes(begun, identity)
        if changed:
            raise UsageError(
                f"an unfinished training was begun with other settings: {changed}. Ask for it as "
                "it was with --resume, or give --fresh to drop it"
            )
        if not resume:
            raise UsageError(
                "an unfinished training with these settings is there: --resume goes on with it, "
                "--fresh drops it"
            )
        return
    remove_folder(folder)
    write_atomically(folder / PLAN, msgspec.json.encode(identity))


def keep(workspace: Workspace, kept: Kept, monitor: Monitor) -> dict[str, Any]:
    """Publish checkpoints and run, remove the unfinished folder, and return the report."""
    name = run_id("train", kept.identity)
    best = {measure: _best(workspace, kept, monitor, measure) for measure in BESTS}
    warm = _warm(workspace, kept)
    curves, steps = monitor.curves(), monitor.steps
    report = {
        "run": name,
        **kept.told,
        "best": best,
        "warm": warm,
        "validations": msgspec.to_builtins(monitor.validations),
        "time": _shares(steps),
    }
    facts = {
        "dataset": kept.told["dataset"],
        "n": kept.told["split"]["train"],
        "excluded": kept.told["left_out"],
        "report": report,
    }
    files: dict[str, Content] = {
        "training.parquet": partial(write_parquet, curves),
        "steps.parquet": partial(write_parquet, steps),
    }
    frame = pl.read_parquet(kept.folder / "best-f1" / "frame.parquet")
    save_run(workspace, "train", kept.identity, frame, facts, files)
    remove_folder(kept.folder)
    told: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(report))
    return told  # as a later reader of the run gets it


def _best(workspace: Workspace, kept: Kept, monitor: Monitor, measure: str) -> dict[str, Any]:
    """Publish the best weights by a measure; where they are and what they reached."""
    top = max(monitor.validations, key=lambda one: (getattr(one, measure), -one.step))
    about = {"chosen_by": f"validation {measure}", "step": top.step}
    rewriter = _published(workspace, kept, (f"best-{measure}", measure), about)
    return {**msgspec.to_builtins(top), "rewriter": rewriter}


def _warm(workspace: Workspace, kept: Kept) -> dict[str, Any] | None:
    """Publish the weights that reinforcement began with after a warm start; what it learnt from."""
    told = kept.folder / "warm" / "warm.json"
    if not told.is_file():
        return None
    about = {"chosen_by": "the warm start alone", "step": 0}
    rewriter = _published(workspace, kept, ("warm", "warm"), about)
    return {**msgspec.json.decode(told.read_bytes()), "rewriter": rewriter}


def _published(
    workspace: Workspace, kept: Kept, names: tuple[str, str], about: dict[str, Any]
) -> str:
    """Publish a folder of weights under a name; how the rewriter is asked for."""
    folder, name = names
    files: dict[str, Content] = {
        path.name: path.read_bytes()
        for path in sorted((kept.folder / folder).iterdir())
        if path.suffix in WEIGHTS and path.name != "warm.json"
    }
    where = workspace.publish(
        "rewriters",
        f"{run_id('train', kept.identity)}-{name}",
        files,
        {"kind": KIND, **kept.facts, **about},
    )
    return f"trained:{where.resolve()}"


def _shares(steps: pl.DataFrame) -> dict[str, float | None]:
    """Median seconds of a step, and the shares of it that the rewards took: with the answers, and
    without them."""

    def median(series: str) -> float | None:
        value = steps.filter(pl.col("series") == series)["value"].median()
        return None if value is None else float(value)  # type: ignore[arg-type]

    step, rewards, answers = (
        median(name) for name in (SECONDS, "seconds of the rewards", "seconds of the answers")
    )
    if not step or rewards is None or answers is None:
        return {"step_seconds": step, "rewards_share": None, "rewards_share_without_answers": None}
    return {
        "step_seconds": round(step, 3),
        "rewards_share": round(rewards / step, 4),
        "rewards_share_without_answers": round((rewards - answers) / step, 4),
    }
