"""Versions of a dataset on disk: immutable folders named by their content, one of them in force."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from workbench.datasets.report import Dataset
from workbench.errors import UsageError, WorkspaceError
from workbench.schema import Dialogue, Memory, Question, encode_jsonl
from workbench.workspace import (
    Workspace,
    check_name,
    read_manifest,
    remove_folder,
    write_atomically,
)

__all__ = ["KIND", "current", "manifest_in_force", "put", "read_in_force", "sizes"]

KIND = "datasets"
FILES: dict[str, type[Any]] = {
    "dialogues.jsonl": Dialogue,
    "questions.jsonl": Question,
    "observations.jsonl": Memory,
}
READ_ATTEMPTS = 20
PAUSE_SECONDS = 0.02

R = TypeVar("R")


def sizes(dataset: Dataset) -> dict[str, int]:
    """How many dialogues, sessions, turns, questions and observations a dataset holds."""
    return {
        "dialogues": len(dataset.dialogues),
        "sessions": sum(len(dialogue.sessions) for dialogue in dataset.dialogues),
        "turns": sum(len(dialogue.turns) for dialogue in dataset.dialogues),
        "questions": len(dataset.questions),
        "observations": len(dataset.observations),
    }


def put(workspace: Workspace, dataset: Dataset, history: dict[str, Any]) -> None:
    """Make `dataset` the version in force, and remove every other. The caller holds the lock."""
    records = (dataset.dialogues, dataset.questions, dataset.observations)
    files = {name: b"".join(encode_jsonl(part)) for name, part in zip(FILES, records, strict=True)}
    about = {
        "name": dataset.name,
        "format": dataset.format,
        "licence": dataset.licence,
        "splits": dataset.splits,
    }
    stamp = hashlib.sha256(msgspec.json.encode(about, order="sorted"))
    for content in files.values():
        stamp.update(hashlib.sha256(content).digest())
    digest = stamp.hexdigest()[:16]
    manifest = about | {"counts": sizes(dataset)} | history
    workspace.publish(KIND, f"{dataset.name}/{digest}", dict(files), manifest)
    folder = workspace.folder(KIND, dataset.name)
    if current(workspace, dataset.name) != digest:
        write_atomically(folder / "current", digest.encode())
    for other in folder.iterdir():
        if other.is_dir() and other.name != digest:
            remove_folder(other)


def read_in_force(workspace: Workspace, name: str) -> Dataset | None:
    """The version in force, each file checked against its sha256; None where there is none.

    Raises WorkspaceError where it is damaged.
    """
    for digest in _digests(workspace, name):
        try:
            return _read_version(workspace.folder(KIND, name) / digest)
        except FileNotFoundError:
            continue
    if current(workspace, name) is None:
        return None
    raise _damaged(name, "files are missing")


def manifest_in_force(workspace: Workspace, name: str) -> dict[str, Any] | None:
    """The manifest of the version in force; None where there is none, or it is damaged."""
    for digest in _digests(workspace, name):
        manifest = read_manifest(workspace.folder(KIND, name) / digest)
        if manifest is not None:
            return manifest
    return None


def current(workspace: Workspace, name: str) -> str | None:
    """The digest in force; None where there is none, or the file that names it is damaged."""
    try:
        return check_name((workspace.folder(KIND, name) / "current").read_text("ascii"))
    except (OSError, UnicodeDecodeError, UsageError):
        return None


def _digests(workspace: Workspace, name: str) -> Iterator[str]:
    """The digest in force, again and again: a writer may replace it while it is being read."""
    for attempt in range(READ_ATTEMPTS):
        digest = current(workspace, name)
        if digest is None:
            return
        time.sleep(PAUSE_SECONDS if attempt else 0)
        yield digest


def _read_version(folder: Path) -> Dataset:
    """Raises FileNotFoundError where the folder is being replaced, WorkspaceError on damage."""
    manifest = read_manifest(folder)
    if manifest is None:
        raise FileNotFoundError(folder)
    parts = [
        _read_part(folder / file, record_type, manifest["files"][file]["sha256"])
        for file, record_type in FILES.items()
    ]
    dialogues, questions, observations = parts
    return Dataset(
        name=manifest["name"],
        format=manifest["format"],
        licence=manifest["licence"],
        splits=manifest["splits"],
        dialogues=tuple(dialogues),
        questions=tuple(questions),
        observations=tuple(observations),
    )


def _read_part(path: Path, record_type: type[R], sha256: str) -> list[R]:
    data = path.read_bytes()
    if hashlib.sha256(data).hexdigest() != sha256:
        raise _damaged(path.parent.parent.name, f"{path.name} differs from its checksum")
    decoder = msgspec.json.Decoder(record_type)
    return decoder.decode_lines(data)


def _damaged(name: str, how: str) -> WorkspaceError:
    return WorkspaceError(f"dataset {name} is damaged ({how}); import its source again")
