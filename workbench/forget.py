"""Forgetting: turns, and everything that was remembered from them, gone from every store at once.

The dataset is the source of truth and is changed first: from then on no bank made before is used
(their content digest differs), whatever happens to this process. `workbench verify` removes what a
crash in between has left on disk.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from workbench.bank import load_banks
from workbench.datasets import store
from workbench.errors import DataError, UsageError
from workbench.library import drop_stale
from workbench.schema import Memory, Profile, decode_jsonl
from workbench.vector_cache import VectorCache
from workbench.workspace import Workspace

__all__ = ["forget"]


def forget(
    workspace: Workspace, name: str, scope: str | None, ids: Iterable[str]
) -> dict[str, Any]:
    """Forget turns by their ids, or memories by theirs: a memory goes with its source turns.

    `scope` may be None where the dataset has just one. Raises DataError for an id that is neither
    a turn nor a memory of the scope; nothing is changed then.
    """
    dataset = store.load(workspace, name)
    scopes = dataset.scopes
    if scope is None and len(scopes) != 1:
        raise UsageError(f"{name} has {len(scopes)} scopes; say which with --scope")
    where = scope if scope is not None else scopes[0]
    turns = {turn.id for d in dataset.dialogues if d.scope == where for turn in d.turns}
    memories = {memory.id: memory for memory in _remembered(workspace, name, where)}
    wanted: set[str] = set()
    for given in ids:
        if given in turns:
            wanted.add(given)
        elif given in memories:
            wanted.update(memories[given].sources)
        else:
            raise DataError(f"{name}/{where} has no turn or memory {given!r}; nothing forgotten")
    texts = set(_texts_from(workspace, name, where, wanted))
    store.forget(workspace, name, where, sorted(wanted))
    dropped = drop_stale(workspace, name)
    VectorCache(workspace.folder("cache")).forget(texts)
    return {
        "dataset": name,
        "scope": where,
        "turns": sorted(wanted),
        "banks": dropped,
        "texts": len(texts),
    }


def _folders(workspace: Workspace, name: str) -> Iterator[tuple[Path, str]]:
    for key, manifest in workspace.manifests("banks").items():
        if manifest["dataset"] == name:
            yield workspace.folder("banks", key), manifest["fingerprint"]


def _remembered(workspace: Workspace, name: str, scope: str) -> Iterator[Memory]:
    """Every memory of a scope in any bank set of the dataset."""
    for folder, fingerprint in _folders(workspace, name):
        for stem in ("episodic", "semantic"):
            bank = load_banks(folder, stem, fingerprint).get(scope)
            yield from bank.memories if bank else ()


def _texts_from(workspace: Workspace, name: str, scope: str, turns: set[str]) -> Iterator[str]:
    """Texts that were embedded and rest on one of the turns: memories, facts, whole profiles."""
    for memory in _remembered(workspace, name, scope):
        if turns.intersection(memory.sources):
            yield memory.text
    for folder, _ in _folders(workspace, name):
        for profile in decode_jsonl(folder / "profiles.jsonl", Profile):
            touched = [f for f in profile.facts if turns.intersection(f.sources)]
            if profile.scope == scope and touched:
                yield profile.text
                yield from (fact.text for fact in touched)
