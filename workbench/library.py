"""The bank sets of a workspace: found, or built where missing, and opened.

One *bank set* is everything made from one version of a dataset with one kind of memory and one
embedder. Its id is the digest of all that it depends on, the rules' own code included. The set in
force replaces older ones of the same (dataset, kind, embedder), so that nothing outdated, or
forgotten, stays behind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from workbench.bank import Bank, load_banks
from workbench.build import KINDS, TAU_CLUSTER, Build, by_scope
from workbench.datasets import store
from workbench.datasets.report import Dataset
from workbench.embed import Embedder, embed, is_blank
from workbench.embedders import SentenceEmbedder, open_embedder
from workbench.errors import UsageError, WorkspaceError
from workbench.parallel import ALONE, Workers
from workbench.provenance import code_digest
from workbench.schema import Dialogue, Profile, decode_jsonl, digest_of
from workbench.shelf import ProfileVectors, Shelf
from workbench.vector_cache import VectorCache
from workbench.workspace import Workspace, read_manifest, remove_folder, verify_folder

__all__ = ["BankSet", "Progress", "drop_stale", "open_banks", "stale"]

Progress = Callable[[str, int, int], None]

# How often a set that is replaced while it is being opened is looked for again.
ATTEMPTS = 5


@dataclass(frozen=True)
class BankSet:
    """A loaded bank set: banks by scope, people by scope, and the dataset they were made from."""

    id: str
    manifest: dict[str, Any]
    dataset: Dataset
    embedder: Embedder
    cache: VectorCache
    episodic: dict[str, Bank]
    semantic: dict[str, Bank]
    people: dict[str, dict[str, ProfileVectors]]

    def shelf(self, scope: str, sources: dict[str, BankSet] | None = None) -> Shelf:
        """What `scope` offers to a question; `sources` are further sets, for centroids.

        Raises UsageError for a scope that the dataset doesn't have: nothing is ever searched
        without one.
        """
        if scope not in self._dialogues:
            known = ", ".join(list(self._dialogues)[:12]) or "none"
            raise UsageError(f"{self.dataset.name} has no scope {scope!r}; it has: {known}")
        turns = [turn for dialogue in self._dialogues[scope] for turn in dialogue.turns]
        banks = {self.manifest["memories"]: self, **(sources or {})}
        return Shelf(
            scope=scope,
            bank=self._bank(self.episodic, scope),
            semantic=self._bank(self.semantic, scope),
            sources={kind: s._bank(s.episodic, scope) for kind, s in banks.items()},
            people=self.people.get(scope, {}),
            strangers=tuple(
                person
                for other, people in self.people.items()
                if other != scope
                for person in people.values()
            ),
            positions={turn.id: position for position, turn in enumerate(turns)},
            sessions={turn.id: turn.session for turn in turns},
        )

    def queries(self, texts: Iterable[str]) -> list[Any]:
        """The vector (d,) of each text as a query; None for a blank one."""
        asked = list(texts)
        real = [text for text in asked if not is_blank(text)]
        vectors = dict(zip(real, embed(real, "query", self.embedder, self.cache), strict=True))
        return [vectors.get(text) for text in asked]

    @cached_property
    def _dialogues(self) -> dict[str, list[Dialogue]]:
        return by_scope(self.dataset)

    def _bank(self, banks: dict[str, Bank], scope: str) -> Bank:
        empty = np.empty((0, self.embedder.dim), np.float32)
        return banks.get(scope) or Bank(scope, (), empty, self.embedder.fingerprint)


def open_banks(
    workspace: Workspace,
    name: str,
    memories: str = "turns",
    embedder: str = "minilm",
    progress: Progress | None = None,
    workers: Workers = ALONE,
) -> BankSet:
    """The bank set of a dataset, built first where it is missing, outdated or damaged.

    A second process that wants the same set waits for the first one's. Raises UsageError for an
    unknown kind of memory or one that the dataset doesn't bring.
    """
    if memories not in KINDS:
        raise UsageError(f"unknown memories {memories!r}; choose from {', '.join(KINDS)}")
    opened = open_embedder(embedder)
    for _ in range(ATTEMPTS):
        try:
            return _open(workspace, name, memories, opened, (progress, workers))
        except FileNotFoundError:
            continue  # an import or another build replaced the set while it was being read
    raise WorkspaceError(f"the banks of {name} are being replaced all the time; try again later")


def _open(
    workspace: Workspace,
    name: str,
    memories: str,
    opened: SentenceEmbedder,
    how: tuple[Progress | None, Workers],
) -> BankSet:
    """Raises FileNotFoundError where the set is removed meanwhile, or was outdated when done."""
    dataset, content = _dataset(workspace, name)
    if memories == "observations" and not dataset.observations:
        raise UsageError(f"{name} brings no observations; use --memories turns or facts")
    identity = {
        "dataset": name,
        "content": content,
        "memories": memories,
        "embedder": opened.name,
        "fingerprint": opened.fingerprint,
        "rules": code_digest("memory"),
        "tau": TAU_CLUSTER,
    }
    key = digest_of(identity)
    folder = workspace.folder("banks", key)
    cached = VectorCache(workspace.folder("cache"))
    if not _complete(folder, opened):
        with workspace.lock(f"bank-{key}"):
            if not _complete(folder, opened):
                maker = Build(dataset, memories, opened, cached, *how)
                files, facts = maker.make()
                workspace.publish("banks", key, files, {**identity, **facts, "id": key})
                _retire_others(workspace, key, identity)
    return _load(folder, dataset, opened, cached)


def stale(workspace: Workspace, name: str) -> list[str]:
    """Ids of the bank sets that were made from other content of a dataset than is in force."""
    content = _content(store.info(workspace, name))
    return [
        key
        for key, manifest in workspace.manifests("banks").items()
        if manifest["dataset"] == name and manifest["content"] != content
    ]


def drop_stale(workspace: Workspace, name: str) -> list[str]:
    """Remove a dataset's stale bank sets; returns their ids."""
    dropped = stale(workspace, name)
    for key in dropped:
        remove_folder(workspace.folder("banks", key))
    return dropped


def _dataset(workspace: Workspace, name: str) -> tuple[Dataset, str]:
    """A dataset and the digest of what is remembered of it (its questions are not).

    An import may replace the version between the two looks; then both are taken again.
    """
    dataset, content = store.load(workspace, name), ""
    while content != (now := _content(store.info(workspace, name))):
        content, dataset = now, store.load(workspace, name)
    return dataset, content


def _content(manifest: dict[str, Any]) -> str:
    stamps = manifest["files"]
    return digest_of([stamps[f]["sha256"] for f in ("dialogues.jsonl", "observations.jsonl")])


def _load(folder: Path, dataset: Dataset, embedder: Embedder, cached: VectorCache) -> BankSet:
    manifest = read_manifest(folder)
    if manifest is None:
        raise FileNotFoundError(folder)
    facts = np.load(folder / "profile_facts.npy", allow_pickle=False)
    texts = np.load(folder / "profile_texts.npy", allow_pickle=False)
    people: dict[str, dict[str, ProfileVectors]] = {}
    fact, text = 0, 0
    for profile in decode_jsonl(folder / "profiles.jsonl", Profile):
        rows = facts[fact : fact + len(profile.facts)]
        whole = texts[text] if profile.facts else None
        people.setdefault(profile.scope, {})[profile.person] = ProfileVectors(profile, rows, whole)
        fact, text = fact + len(profile.facts), text + bool(profile.facts)
    return BankSet(
        manifest["id"],
        manifest,
        dataset,
        embedder,
        cached,
        load_banks(folder, "episodic", embedder.fingerprint),
        load_banks(folder, "semantic", embedder.fingerprint),
        people,
    )


def _complete(folder: Path, embedder: Embedder) -> bool:
    """Whether a set is there, undamaged and made by this embedder.

    The id already depends on the embedder; a manifest that names another one was tampered with.
    """
    manifest = read_manifest(folder)
    if manifest is None or verify_folder(folder):
        return False
    if manifest["fingerprint"] != embedder.fingerprint:
        raise WorkspaceError(
            f"{folder} holds vectors of embedder {manifest['fingerprint']}, not of "
            f"{embedder.name} ({embedder.fingerprint}); delete it to have it built again"
        )
    return True


def _retire_others(workspace: Workspace, key: str, identity: dict[str, Any]) -> None:
    """Remove what a finished build replaces; or the build itself, where it is outdated already."""
    if key in drop_stale(workspace, identity["dataset"]):
        return
    same = ("dataset", "memories", "embedder")
    for other, manifest in workspace.manifests("banks").items():
        if other != key and all(manifest[field] == identity[field] for field in same):
            remove_folder(workspace.folder("banks", other))
