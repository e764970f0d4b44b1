"""Runs: results as tidy frames in the workspace, named by the digest of all they depend on.

A tidy frame has one row per question and metric: `question, scope, category, metric, value`
("recall@25", "f1_squad"). Everything above it (statistics, figures, reports) reads only frames.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from workbench.errors import UsageError, WorkspaceError
from workbench.schema import digest_of
from workbench.workspace import Content, Workspace, read_manifest, verify_folder

__all__ = ["COLUMNS", "Run", "load_run", "run_id", "save_run", "tidy"]

COLUMNS = {
    "question": pl.String,
    "scope": pl.String,
    "category": pl.String,
    "metric": pl.String,
    "value": pl.Float64,
}


class Run(NamedTuple):
    """A finished run: its id, manifest (`kind`, `identity`, what the command reported), frame."""

    id: str
    manifest: dict[str, Any]
    frame: pl.DataFrame


def tidy(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Rows of one question and metric each as a tidy frame; columns in the order of `COLUMNS`."""
    return pl.DataFrame(rows, schema=COLUMNS)


def run_id(kind: str, identity: dict[str, Any]) -> str:
    """The id that a run of this kind and identity has, made or not."""
    return digest_of({"kind": kind, **identity})


def save_run(
    workspace: Workspace,
    kind: str,
    identity: dict[str, Any],
    frame: pl.DataFrame,
    facts: dict[str, Any],
    files: dict[str, Content] | None = None,
) -> str:
    """Keep a run, and return its id. `identity` is everything that the result depends on (content
    digest, recipe, split, seed, ..), `facts` what the manifest tells besides (n, excluded, ..)."""
    name = run_id(kind, identity)
    kept: dict[str, Content] = {"frame.parquet": lambda path: write_parquet(frame, path)}
    manifest = {"kind": kind, "identity": identity, **facts, "id": name}
    with workspace.lock(f"run-{name}"):
        workspace.publish("runs", name, kept | (files or {}), manifest)
    return name


def load_run(workspace: Workspace, name: str) -> Run:
    """A run by its id or by an unambiguous beginning of it.

    Raises UsageError where there is none or several, WorkspaceError where it is damaged.
    """
    known = [key for key in workspace.manifests("runs") if key.startswith(name)]
    if len(known) != 1 or not name:
        what = "no run" if not known or not name else "several runs"
        meant = f"; is one of these meant: {', '.join(known[:6])}" if known and name else ""
        raise UsageError(f"{what} {name!r} in {workspace.root}{meant}; see `workbench runs`")
    folder = workspace.folder("runs", known[0])
    manifest, damaged = read_manifest(folder), verify_folder(folder)
    if manifest is None or damaged:
        raise WorkspaceError(f"run {known[0]} is damaged ({', '.join(damaged)}); make it again")
    return Run(known[0], manifest, pl.read_parquet(folder / "frame.parquet"))


def write_parquet(frame: pl.DataFrame, path: Path) -> None:
    frame.write_parquet(path)
