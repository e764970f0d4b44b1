"""The bank sets of a workspace: found, or built where missing, and opened.

One *bank set* is everything made from one version of a dataset with one kind of memory and one
embedder. Its id is the digest of all that it depends on, the rules' own code included. The set in
force replaces older ones of the same (dataset, kind, embedder), so that nothing outdated, or
forgotten, stays behind.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from workbench.bank_set import BankSet, load_bank_set
from workbench.build import KINDS, TAU_CLUSTER, Build
from workbench.datasets import store, versions
from workbench.datasets.report import Dataset
from workbench.embed import Embedder
from workbench.embedders import SentenceEmbedder, open_embedder
from workbench.errors import UsageError, WorkspaceError
from workbench.parallel import ALONE, Workers
from workbench.provenance import code_digest
from workbench.schema import digest_of
from workbench.vector_cache import VectorCache
from workbench.workspace import Workspace, read_manifest, remove_folder, verify_folder

__all__ = ["BankSet", "Progress", "drop_stale", "is_built", "open_banks", "stale"]

Progress = Callable[[str, int, int], None]

# How often a set that is replaced while it is being opened is looked for again.
ATTEMPTS = 5


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
    opened = open_embedder(embedder, fetch=not workspace.read_only)
    if workspace.read_only and not is_built(workspace, name, memories, opened):
        raise WorkspaceError(
            f"the memories of {name} are not built, and the workspace is open for reading only; "
            f"first: workbench build {name} --memories {memories} --embedder {embedder}"
        )
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
    identity = _identity(name, content, memories, opened)
    key = digest_of(identity)
    folder = workspace.folder("banks", key)
    cached = VectorCache(workspace.folder("cache"), workspace.read_only)
    if not _complete(folder, opened):
        with workspace.lock(f"bank-{key}"):
            if not _complete(folder, opened):
                maker = Build(dataset, memories, opened, cached, *how)
                files, facts = maker.make()
                workspace.publish("banks", key, files, {**identity, **facts, "id": key})
                _retire_others(workspace, key, identity)
    return load_bank_set(folder, dataset, opened, cached)


def is_built(workspace: Workspace, name: str, memories: str, opened: SentenceEmbedder) -> bool:
    """Whether `open_banks` would find the set there already; nothing is loaded or checked."""
    manifest = versions.manifest_in_force(workspace, name)
    if manifest is None:
        return False
    key = digest_of(_identity(name, _content(manifest), memories, opened))
    return read_manifest(workspace.folder("banks", key)) is not None


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


def _identity(name: str, content: str, memories: str, opened: SentenceEmbedder) -> dict[str, Any]:
    """Everything that a bank set depends on."""
    return {
        "dataset": name,
        "content": content,
        "memories": memories,
        "embedder": opened.name,
        "fingerprint": opened.fingerprint,
        "rules": code_digest("memory"),
        "tau": TAU_CLUSTER,
    }


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
