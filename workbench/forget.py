"""Forgetting: turns, and everything that was remembered from them, gone from every store at once.

The dataset is the source of truth and is changed first: from then on no bank made before is used
(their content digest differs), whatever happens to this process. `workbench verify --repair`
removes what a crash in between has left on disk.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any

from workbench.bank import load_banks
from workbench.datasets import store
from workbench.datasets.report import Dataset
from workbench.errors import DataError, UsageError, WorkspaceError
from workbench.library import drop_stale
from workbench.memory.episodic import EXTRACTORS
from workbench.schema import Memory, Profile, decode_jsonl
from workbench.vector_cache import VectorCache
from workbench.workspace import Workspace, read_manifest, remove_folder, verify_folder

__all__ = ["drop_unfinished", "forget", "forget_leftovers"]


def forget(
    workspace: Workspace, name: str, scope: str | None, ids: Iterable[str]
) -> dict[str, Any]:
    """Forget turns by their ids, or memories by theirs: a memory goes with its source turns.

    `scope` may be None where the dataset has just one. Raises DataError for an id that is neither
    a turn nor a memory of the scope; nothing is changed then.
    """
    dataset = store.load(workspace, name)
    where = _scope(dataset, scope)
    turns = {
        turn.id for d in dataset.dialogues if d.scope == where for turn in (*d.turns, *d.aside)
    }
    memories = {memory.id: memory for memory in _remembered(workspace, name, where)}
    memories |= {memory.id: memory for memory in _by_rule(dataset, where)}
    wanted: set[str] = set()
    for given in ids:
        if given in turns:
            wanted.add(given)
        elif given in memories:
            wanted.update(memories[given].sources)
        else:
            raise DataError(f"{name}/{where} has no turn or memory {given!r}; nothing forgotten")
    said = set(_texts_from_rules(dataset, where, wanted))
    store.forget(workspace, name, where, sorted(wanted))
    texts, dropped = forget_leftovers(workspace, name, said)
    drop_unfinished(workspace)
    _drop_answers(workspace, name)
    return {
        "dataset": name,
        "scope": where,
        "turns": sorted(wanted),
        "banks": dropped,
        "texts": texts,
    }


def forget_leftovers(
    workspace: Workspace, name: str, texts: Collection[str] = ()
) -> tuple[int, list[str]]:
    """Drop a dataset's outdated bank sets, and the vectors of what rests on turns that are gone.

    `texts` are further ones whose vectors go. Returns the number of texts, and the sets' ids. The
    vectors go first: after a crash the banks still tell which ones they are.
    """
    gone = set(texts) | set(_texts_without_source(workspace, store.load(workspace, name)))
    VectorCache(workspace.folder("cache")).forget(gone)
    return len(gone), drop_stale(workspace, name)


def drop_unfinished(workspace: Workspace) -> None:
    """Remove bank folders without a readable manifest, except where one is being written."""
    parent = workspace.folder("banks")
    for folder in list(parent.iterdir()) if parent.is_dir() else []:
        unfinished = folder.name.startswith(".") or read_manifest(folder) is None
        if folder.is_dir() and unfinished:
            try:
                with workspace.lock(f"bank-{folder.name.strip('.').partition('.')[0]}", seconds=0):
                    remove_folder(folder)
            except WorkspaceError:
                continue  # its writer sees for itself that it is outdated


def _drop_answers(workspace: Workspace, name: str) -> None:
    """Remove runs whose traces quote the dataset, and all traces that were never finished."""
    for key, manifest in workspace.manifests("runs").items():
        if (
            manifest.get("identity", {}).get("dataset") == name
            and "traces.jsonl" in (manifest["files"])
        ):
            remove_folder(workspace.folder("runs", key))
    unfinished = workspace.folder("traces")
    for folder in list(unfinished.iterdir()) if unfinished.is_dir() else []:
        remove_folder(folder)


def _scope(dataset: Dataset, scope: str | None) -> str:
    scopes = dataset.scopes
    if scope is None and len(scopes) != 1:
        raise UsageError(f"{dataset.name} has {len(scopes)} scopes; say which with --scope")
    if scope is not None and scope not in scopes:
        known = ", ".join(scopes[:12]) or "none"
        raise UsageError(f"{dataset.name} has no scope {scope!r}; it has: {known}")
    return scopes[0] if scope is None else scope


def _folders(workspace: Workspace, name: str) -> Iterator[tuple[Path, str]]:
    """The dataset's bank sets that can be read, with their embedders' fingerprints."""
    for key, manifest in workspace.manifests("banks").items():
        folder = workspace.folder("banks", key)
        if manifest["dataset"] == name and not verify_folder(folder):
            yield folder, manifest["fingerprint"]


def _remembered(workspace: Workspace, name: str, scope: str) -> Iterator[Memory]:
    """Every memory of a scope in any bank set of the dataset."""
    for folder, fingerprint in _folders(workspace, name):
        for stem in ("episodic", "semantic"):
            bank = load_banks(folder, stem, fingerprint).get(scope)
            yield from bank.memories if bank else ()


def _texts_from_rules(dataset: Dataset, scope: str, turns: set[str]) -> Iterator[str]:
    """What the rules remember from the turns: embedded, perhaps, by a build that was killed."""
    for memory in _by_rule(dataset, scope):
        if turns.intersection(memory.sources):
            yield memory.text


def _by_rule(dataset: Dataset, scope: str) -> Iterator[Memory]:
    """What the rules remember of a scope, whether a bank of it is there or not."""
    for dialogue in dataset.dialogues:
        for extract in EXTRACTORS.values() if dialogue.scope == scope else ():
            yield from extract(dialogue).memories
    yield from (memory for memory in dataset.observations if memory.scope == scope)


def _texts_without_source(workspace: Workspace, dataset: Dataset) -> Iterator[str]:
    """Texts in the dataset's bank sets that rest on a turn that it no longer has: memories,
    aggregated ones, profile facts and whole profiles."""
    held = {(d.scope, turn.id) for d in dataset.dialogues for turn in d.turns}

    def is_gone(memory: Memory) -> bool:
        return any((memory.scope, source) not in held for source in memory.sources)

    for folder, fingerprint in _folders(workspace, dataset.name):
        for stem in ("episodic", "semantic"):
            for bank in load_banks(folder, stem, fingerprint).values():
                yield from (memory.text for memory in bank.memories if is_gone(memory))
        for profile in decode_jsonl(folder / "profiles.jsonl", Profile):
            gone = [fact.text for fact in profile.facts if is_gone(fact)]
            yield from [*gone, profile.text] if gone else ()
