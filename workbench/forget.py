"""Forgetting: turns, and everything that was remembered from them, gone from every store at once.

The dataset is the source of truth and is changed first: from then on no bank made before is used
(their content digest differs), whatever happens to this process. `workbench verify --repair`
removes what a crash in between has left on disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from workbench.bank import load_banks
from workbench.datasets import store
from workbench.datasets.report import Dataset
from workbench.errors import DataError, UsageError, WorkspaceError
from workbench.library import drop_stale
from workbench.memory.episodic import EXTRACTORS
from workbench.reply_cache import ReplyCache
from workbench.schema import Memory, Profile, decode_jsonl
from workbench.vector_cache import VectorCache
from workbench.workspace import Workspace, read_manifest, remove_folder, verify_folder

__all__ = ["drop_unfinished", "forget", "forget_leftovers"]

# Files of runs that quote what people said.
QUOTING = frozenset(("traces.jsonl", "verdicts.jsonl"))


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
    store.forget(workspace, name, where, sorted(wanted))
    texts, dropped = forget_leftovers(workspace, name)
    drop_unfinished(workspace)
    _drop_answers(workspace, name)
    _drop_replies(workspace)
    return {
        "dataset": name,
        "scope": where,
        "turns": sorted(wanted),
        "banks": dropped,
        "texts": texts,
    }


def forget_leftovers(workspace: Workspace, name: str) -> tuple[int, list[str]]:
    """Drop a dataset's outdated bank sets, and every vector whose text nothing can remember any
    more. Returns the number of vectors, and the sets' ids.

    What may stay is what the datasets, as they are now, can be remembered by: their turns and the
    rules' statements, what is in the bank sets left, and their questions. The rest, sentences of
    answers among it, costs only time to embed again.
    """
    dropped = drop_stale(workspace, name)
    return VectorCache(workspace.folder("cache")).keep(_rememberable(workspace)), dropped


def _rememberable(workspace: Workspace) -> Iterator[str]:
    for name in store.names(workspace):
        dataset = store.load(workspace, name)
        yield from (question.text for question in dataset.questions)
        for scope in dataset.scopes:
            yield from (memory.text for memory in _by_rule(dataset, scope))
        for folder, fingerprint in _folders(workspace, name):
            for stem in ("episodic", "semantic"):
                for bank in load_banks(folder, stem, fingerprint).values():
                    yield from (memory.text for memory in bank.memories)
            for profile in decode_jsonl(folder / "profiles.jsonl", Profile):
                yield profile.text
                yield from (fact.text for fact in profile.facts)


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
    """Remove unfinished traces and trainings, rewriters that learnt from the dataset (weights may
    hold words by heart), and runs that quote it; these last, for what is being answered is waited
    for, and may have become one."""
    for kind in ("traces", "training"):
        unfinished = workspace.folder(kind)
        for folder in list(unfinished.iterdir()) if unfinished.is_dir() else []:
            if _dataset_of(folder) in (name, None):
                with workspace.lock(f"{kind}-{folder.name}"):
                    remove_folder(folder)
    for key, manifest in workspace.manifests("rewriters").items():
        if manifest["dataset"] == name:
            remove_folder(workspace.folder("rewriters", key))
    for key, manifest in workspace.manifests("runs").items():
        quoting = not QUOTING.isdisjoint(manifest["files"])
        if quoting and manifest.get("identity", {}).get("dataset") == name:
            remove_folder(workspace.folder("runs", key))


def _drop_replies(workspace: Workspace) -> None:
    """Empty the reply cache: which texts a model's reply came from is kept nowhere, and asking
    again costs only time (or money)."""
    cache = ReplyCache(workspace.folder("cache"))
    cache.clear()
    cache.close()


def _dataset_of(folder: Path) -> str | None:
    """The dataset that unfinished traces are about; None where that can't be read."""
    try:
        plan = msgspec.json.decode((folder / "plan.json").read_bytes())
    except (OSError, msgspec.DecodeError):
        return None
    return plan.get("dataset") if isinstance(plan, dict) else None


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


def _by_rule(dataset: Dataset, scope: str) -> Iterator[Memory]:
    """What the rules remember of a scope, whether a bank of it is there or not."""
    for dialogue in dataset.dialogues:
        for extract in EXTRACTORS.values() if dialogue.scope == scope else ():
            yield from extract(dialogue).memories
    yield from (memory for memory in dataset.observations if memory.scope == scope)
