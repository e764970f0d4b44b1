"""Checking a workspace: every complete folder against its checksums, and its leftovers."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workbench.bank import load_banks
from workbench.datasets import store
from workbench.errors import WorkbenchError
from workbench.library import stale
from workbench.workspace import Workspace, read_manifest, remove_folder, verify_folder

__all__ = ["verify"]


def verify(workspace: Workspace, repair: bool) -> dict[str, Any]:
    """Look at datasets, banks, runs and unfinished writes.

    With `repair`, damaged and outdated banks and runs and unfinished writes are removed (they are
    made again when needed); a damaged dataset is only reported, since it is the source of truth.
    """
    problems: list[dict[str, str]] = []
    checked = 0
    for name in _dataset_names(workspace):
        checked += 1
        try:
            store.load(workspace, name)
        except WorkbenchError as error:
            problems.append(_problem(f"datasets/{name}", str(error), "import it again"))
    for kind in ("banks", "runs"):
        for folder in _folders(workspace, kind):
            checked += 1
            why = _fault(workspace, folder)
            if why:
                problems.append(_problem(f"{kind}/{folder.name}", why, _remove(folder, repair)))
    return {"checked": checked, "problems": problems}


def _dataset_names(workspace: Workspace) -> Iterator[str]:
    parent = workspace.folder("datasets")
    if parent.is_dir():
        yield from (folder.name for folder in sorted(parent.iterdir()) if folder.is_dir())


def _folders(workspace: Workspace, kind: str) -> list[Path]:
    parent = workspace.folder(kind)
    return sorted(f for f in parent.iterdir() if f.is_dir()) if parent.is_dir() else []


def _fault(workspace: Workspace, folder: Path) -> str | None:
    """What is wrong with a bank set or run; None where nothing is."""
    manifest = read_manifest(folder)
    if folder.name.endswith(".tmp") or manifest is None:
        return "unfinished write"
    damaged = verify_folder(folder)
    if damaged:
        return f"differs from its checksum: {', '.join(damaged)}"
    if folder.parent.name == "banks":
        try:
            for stem in ("episodic", "semantic"):
                load_banks(folder, stem, manifest["fingerprint"])
            if folder.name in stale(workspace, manifest["dataset"]):
                return "made from an outdated version of its dataset"
        except WorkbenchError as error:
            return str(error)
    return None


def _remove(folder: Path, repair: bool) -> str:
    if not repair:
        return "--repair removes it"
    remove_folder(folder)
    shutil.rmtree(folder, ignore_errors=True)
    return "removed"


def _problem(where: str, why: str, done: str) -> dict[str, str]:
    return {"where": where, "why": why, "done": done}
