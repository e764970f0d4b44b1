"""The runs that a view names, for a notebook that starts from them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from workbench.embedders import open_embedder
from workbench.errors import UsageError, WorkbenchError
from workbench.memory_kinds import set_named
from workbench.notebook import FIELDS, Start, started
from workbench.run_answers import judged_run
from workbench.run_list import KINDS, settings
from workbench.runs import Run, load_run
from workbench.usable import dataset_names
from workbench.view import View
from workbench.workspace import Workspace

__all__ = ["Linked", "linked_runs", "named_runs", "started_at"]

SETTINGS = ("memories", "embedder", "retriever", "prior", "lam", "k", "boost")
# A depth, or a place of a grid, and no setting that somebody chose.
NO_SETTING = {"recall": {"k"}, "sweep-lambda": {"k", "lam"}}


class Linked(NamedTuple):
    """Where a notebook starts: at the data and the settings of the view's run, if it names one that
    the notebook can show; and that run and the one to compare it with, None where there is none.
    `judge` is the run of verdicts by which `run` was named."""

    start: Start
    run: Run | None = None
    against: Run | None = None
    judge: Run | None = None


def started_at(kinds: Collection[str], *own: str, reads: Iterable[str] = FIELDS) -> Linked:
    """`notebook.started` for a notebook that shows runs of some kinds: `run` and `against` of the
    view are opened, and settings are those of the run."""
    return linked_runs(started(*own, reads=reads), kinds)


def linked_runs(start: Start, kinds: Collection[str]) -> Linked:
    """The runs of some kinds that a start's view names, with a remark on each that can't be shown.

    A run of kind "judge" stands for the one whose answers were judged.
    """
    remarks = list(start.remarks)
    run, judge = _opened(start.workspace, start.view.run, kinds, remarks)
    against, _ = _opened(start.workspace, start.view.against, kinds, remarks)
    if run is None:
        if against is not None:
            remarks.append(f"against = {against.id[:8]} is compared with no run; it is left out")
        return Linked(start._replace(remarks=remarks))
    dataset, other = _dataset(run), None if against is None else _dataset(against)
    if dataset not in dataset_names(start.workspace):
        remarks.append(f"run {run.id[:8]} is of {dataset}, which is not here any more")
        return Linked(start._replace(remarks=remarks))
    if other not in (None, dataset):
        remarks.append(f"against = {start.view.against[:8]} is of {other}, not of {dataset}")
        against = None
    view = _at(start.view, run.manifest)
    embedder = start.embedder
    if view.embedder != embedder.name:
        try:
            embedder = open_embedder(view.embedder)
        except WorkbenchError as absent:
            remarks.append(f"{absent}; {embedder.name} is used")
            view = view.but(embedder=embedder.name)
    return Linked(Start(start.workspace, view, embedder, remarks), run, against, judge)


def named_runs(workspace: Workspace, kinds: Collection[str], dataset: str) -> dict[str, str]:
    """The runs of some kinds on a dataset, the newest first: ids by what people read of them."""
    return {
        f"{KINDS.get(manifest['kind'], manifest['kind'])}: {settings(manifest)} · {name[:8]}": name
        for name, manifest in reversed(workspace.manifests("runs").items())
        if manifest["kind"] in kinds and manifest["identity"].get("dataset") == dataset
    }


def _opened(
    workspace: Workspace, name: str, kinds: Collection[str], remarks: list[str]
) -> tuple[Run | None, Run | None]:
    """A run that can be shown, and the verdicts that it was named by."""
    if not name:
        return None, None
    try:
        run, judge = load_run(workspace, name), None
        if run.manifest["kind"] == "judge" and (base := judged_run(run)):
            run, judge = load_run(workspace, base), run
    except WorkbenchError as lost:
        remarks.append(f"{lost}; it is not shown" if isinstance(lost, UsageError) else str(lost))
        return None, None
    kind = run.manifest["kind"]
    if kind in kinds:
        return run, judge
    shown = ", ".join(KINDS.get(one, one) for one in kinds)
    remarks.append(f"run {run.id[:8]} is one of {KINDS.get(kind, kind)}; here are shown: {shown}")
    return None, None


def _dataset(run: Run) -> str:
    return str(run.manifest["identity"].get("dataset", ""))


def _at(view: View, manifest: Mapping[str, Any]) -> View:
    """The view with the dataset and the settings of a run."""
    identity = manifest["identity"]
    recipe = identity.get("recipe") or {}
    left = NO_SETTING.get(manifest["kind"], set())
    kept = {name: recipe[name] for name in SETTINGS if name in recipe and name not in left}
    if "memories" in kept and "banks" in identity:
        kept["memories"] = set_named(kept["memories"], identity["banks"][:8])
    if kept.get("prior") == "none":  # the notebooks always compare with that
        del kept["prior"]
    return view.but(dataset=str(identity["dataset"]), **kept)
