"""Checking a workspace: every complete folder against its checksums, and its leftovers."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from workbench.bank import load_banks
from workbench.datasets import store
from workbench.errors import WorkbenchError, WorkspaceError
from workbench.forget import forget_leftovers
from workbench.library import stale
from workbench.vector_cache import VectorCache
from workbench.workspace import Workspace, read_manifest, remove_folder, verify_folder

__all__ = ["verify"]


def verify(workspace: Workspace, repair: bool) -> dict[str, Any]:
    """Look at datasets, banks, runs and unfinished writes.

    With `repair`, damaged and outdated banks and runs and unfinished writes are removed (they are
    made again when needed); a damaged dataset is only reported, since it is the source of truth.
    What another process is writing at this moment is no problem, and is left alone.
    """
    problems: list[dict[str, str]] = []
    checked = 0
    for folder in _folders(workspace, "datasets"):
        checked += 1
        problems += _dataset_problems(workspace, folder, repair)
    problems += _cache_problems(workspace, repair)
    derived = [*_folders(workspace, "banks"), *_folders(workspace, "runs")]
    checked += len(derived)
    faulty = [(folder, why) for folder in derived if (why := _settled_fault(workspace, folder))]
    for folder, why in faulty:
        problems.append(_problem(f"{folder.parent.name}/{folder.name}", why, repair))
        if repair:
            _remove(workspace, folder)
    return {"checked": checked, "problems": problems}


def _folders(workspace: Workspace, kind: str) -> list[Path]:
    parent = workspace.folder(kind)
    return sorted(f for f in parent.iterdir() if f.is_dir()) if parent.is_dir() else []


def _dataset_problems(workspace: Workspace, folder: Path, repair: bool) -> Iterator[dict[str, str]]:
    """Damage, and what an import or forgetting that was killed has left in a dataset's folder."""
    name = folder.name
    if (folder / "current").exists():
        try:
            store.load(workspace, name)
        except WorkbenchError as error:
            yield {"where": f"datasets/{name}", "why": str(error), "done": "import it again"}
            return
    if not _leftovers(folder):
        return
    try:
        with workspace.lock(f"dataset-{name}", seconds=0):
            for path in _leftovers(folder):
                if repair:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
                yield _problem(f"datasets/{name}/{path.name}", "unfinished write", repair)
            if not any(folder.iterdir()):
                folder.rmdir()
    except WorkspaceError:
        return  # an import is at work


def _cache_problems(workspace: Workspace, repair: bool) -> Iterator[dict[str, str]]:
    """Whether the vector cache opens and is whole; all that is in it can be computed again."""
    folder = workspace.folder("cache")
    if not (folder / "vectors.sqlite").exists():
        return
    try:
        VectorCache(folder).check()
    except WorkspaceError as error:
        if repair:
            for path in folder.glob("vectors.sqlite*"):
                path.unlink()
        yield _problem("cache/vectors.sqlite", str(error), repair)


def _leftovers(folder: Path) -> list[Path]:
    """Everything in a dataset's folder but the version in force and the two files beside it."""
    current = folder / "current"
    kept = {"current", "forgotten.jsonl"}
    kept |= {current.read_text("utf-8", "replace")} if current.exists() else set()
    return sorted(path for path in folder.iterdir() if path.name not in kept)


def _settled_fault(workspace: Workspace, folder: Path) -> str | None:
    """What is wrong with a bank set or run that nobody is writing."""
    if _fault(workspace, folder) is None:
        return None
    try:
        with workspace.lock(_lock_name(folder), seconds=0):
            return _fault(workspace, folder)  # again: its writer may just have finished
    except WorkspaceError:
        return None


def _lock_name(folder: Path) -> str:
    """The lock that the writer of `banks/KEY` or `banks/.KEY.PROCESS.tmp` holds."""
    key = folder.name.strip(".").partition(".")[0]
    return f"{folder.parent.name.removesuffix('s')}-{key}"


def _fault(workspace: Workspace, folder: Path) -> str | None:
    """What is wrong with a bank set or run; None where nothing is, or it has gone meanwhile."""
    if not folder.exists():
        return None
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


def _remove(workspace: Workspace, folder: Path) -> None:
    """Remove a folder; with an outdated bank set go the vectors of what has been forgotten."""
    manifest = read_manifest(folder) or {}
    with contextlib.suppress(WorkbenchError):  # of a dataset that is damaged or gone
        forget_leftovers(workspace, manifest.get("dataset", ""))
    remove_folder(folder)


def _problem(where: str, why: str, repair: bool) -> dict[str, str]:
    return {"where": where, "why": why, "done": "removed" if repair else "--repair removes it"}
