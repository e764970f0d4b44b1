"""The bank sets of a workspace: found, or built where missing, and opened.

One *bank set* is everything made from one version of a dataset with one kind of memory and one
embedder. Its id is the digest of all that it depends on, the rules' own code included. The set in
force replaces older ones of the same (dataset, kind, embedder), so that nothing outdated, or
forgotten, stays behind.

Sets of the kind "llm" are made by `workbench.construct` alone, one for each model; here they are
found. Where there are several, "llm@NAME" says which: a model's name, or the beginning of an id.
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

__all__ = [
    "MADE",
    "BankSet",
    "Progress",
    "build_command",
    "by_model",
    "dataset_in_force",
    "drop_stale",
    "identity_of",
    "is_built",
    "open_banks",
    "retire_others",
    "sets_by_model",
    "stale",
]

# The kind of memory that a language model makes.
MADE = "llm"

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
    unknown kind of memory or one that the dataset doesn't bring, WorkspaceError for memories by a
    model that are not built: those are never built in passing.
    """
    if memories not in KINDS and not by_model(memories):
        raise UsageError(f"unknown memories {memories!r}; choose from {', '.join((*KINDS, MADE))}")
    opened = open_embedder(embedder, fetch=not workspace.read_only)
    if by_model(memories):
        return _open_made(workspace, name, memories, opened)
    if workspace.read_only and not is_built(workspace, name, memories, opened):
        raise WorkspaceError(
            f"the memories of {name} are not built, and the workspace is open for reading only; "
            f"first: {build_command(name, memories, embedder)}"
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
    dataset, content = dataset_in_force(workspace, name)
    if memories == "observations" and not dataset.observations:
        raise UsageError(f"{name} brings no observations; use --memories turns or facts")
    identity = identity_of(name, content, memories, opened)
    key = digest_of(identity)
    folder = workspace.folder("banks", key)
    cached = VectorCache(workspace.folder("cache"), workspace.read_only)
    if not _complete(folder, opened):
        with workspace.lock(f"bank-{key}"):
            if not _complete(folder, opened):
                maker = Build(dataset, memories, opened, cached, *how)
                files, facts = maker.make()
                workspace.publish("banks", key, files, {**identity, **facts, "id": key})
                retire_others(workspace, key, identity)
    return load_bank_set(folder, dataset, opened, cached)


def is_built(workspace: Workspace, name: str, memories: str, opened: SentenceEmbedder) -> bool:
    """Whether `open_banks` would find the set there already; nothing is loaded or checked."""
    manifest = versions.manifest_in_force(workspace, name)
    if manifest is None:
        return False
    if by_model(memories):
        return len(sets_by_model(workspace, name, memories, opened)) == 1
    key = digest_of(identity_of(name, _content(manifest), memories, opened))
    return read_manifest(workspace.folder("banks", key)) is not None


def by_model(memories: str) -> bool:
    """Whether a kind of memory is a model's: "llm", or "llm@" with which one's."""
    return memories.partition("@")[0] == MADE


def build_command(name: str, memories: str, embedder: str = "minilm") -> str:
    """The command that builds a bank set, for people to copy."""
    kind = f"{MADE} --llm MODEL" if by_model(memories) else memories
    return f"workbench build {name} --memories {kind} --embedder {embedder}"


def sets_by_model(
    workspace: Workspace, name: str, memories: str, opened: SentenceEmbedder
) -> list[dict[str, Any]]:
    """Manifests of the sets that models made of a dataset as it is in force, with the rules that
    are in force; of one model alone where `memories` is "llm@NAME". Oldest first."""
    kept = versions.manifest_in_force(workspace, name)
    if kept is None:  # the bundled sample, before anything is kept of it
        return []
    wanted = identity_of(name, _content(kept), MADE, opened)
    wanted["constructed"] = code_digest("constructed")
    which = memories.partition("@")[2]
    return [
        manifest
        for key, manifest in workspace.manifests("banks").items()
        if all(manifest.get(field) == value for field, value in wanted.items())
        and (not which or _model_name(manifest) == which or key.startswith(which))
    ]


def _model_name(manifest: dict[str, Any]) -> str:
    return str(manifest["model"].get("model", manifest["model"].get("kind")))


def _open_made(workspace: Workspace, name: str, memories: str, opened: SentenceEmbedder) -> BankSet:
    """The one set that "llm" or "llm@NAME" means. Raises WorkspaceError where it is not built, or
    damaged, UsageError where it could be one of several."""
    dataset, _ = dataset_in_force(workspace, name)
    found = sets_by_model(workspace, name, memories, opened)
    if len(found) > 1:
        several = ", ".join(f"{MADE}@{one['id'][:8]} ({_model_name(one)})" for one in found)
        raise UsageError(f"the memories of {name} were built by several models: name {several}")
    if not found or not _complete(workspace.folder("banks", found[0]["id"]), opened):
        raise WorkspaceError(
            f"the memories of {name} are not built by a language model ({memories}, as the data "
            f"set and the rules are now); first: {build_command(name, memories, opened.name)}"
        )
    cached = VectorCache(workspace.folder("cache"), workspace.read_only)
    return load_bank_set(workspace.folder("banks", found[0]["id"]), dataset, opened, cached)


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


def dataset_in_force(workspace: Workspace, name: str) -> tuple[Dataset, str]:
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


def identity_of(name: str, content: str, memories: str, opened: SentenceEmbedder) -> dict[str, Any]:
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


def retire_others(workspace: Workspace, key: str, identity: dict[str, Any]) -> None:
    """Remove what a finished build replaces; or the build itself, where it is outdated already."""
    if key in drop_stale(workspace, identity["dataset"]):
        return
    same = ("dataset", "memories", "embedder", "model")
    for other, manifest in workspace.manifests("banks").items():
        if other != key and all(manifest.get(field) == identity.get(field) for field in same):
            remove_folder(workspace.folder("banks", other))
