"""Datasets in a workspace: one version in force, which every import merges into.

    datasets/NAME/DIGEST/       dialogues.jsonl, questions.jsonl, observations.jsonl, manifest.json
    datasets/NAME/current       the digest of the version in force
    datasets/NAME/forgotten.jsonl   what no import may bring back

Writers take turns; readers take no lock and start again where a version is replaced under them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from workbench.datasets import jsonl
from workbench.datasets.forgetting import without_turns
from workbench.datasets.merge import MergeCounts, merge
from workbench.datasets.report import Dataset, ImportLog
from workbench.datasets.source import open_source
from workbench.datasets.versions import (
    KIND,
    current,
    manifest_in_force,
    put,
    read_in_force,
    sizes,
)
from workbench.errors import DataError, UsageError, WorkspaceError
from workbench.schema import Record, decode_jsonl, encode_jsonl
from workbench.workspace import Workspace, write_atomically

__all__ = [
    "SAMPLE",
    "SAMPLE_FILE",
    "MergeCounts",
    "forget",
    "info",
    "load",
    "load_sample",
    "names",
    "save",
    "sizes",
]

SAMPLE = "sample"
SAMPLE_FILE = Path(__file__).parent / "sample" / "sample.jsonl"
SAMPLE_LICENCE = "CC0 1.0"


class _Forgotten(Record, frozen=True, kw_only=True):
    scope: str
    id: str


def save(
    workspace: Workspace,
    dataset: Dataset,
    log: ImportLog | None = None,
    sources: Mapping[str, str] | None = None,
) -> MergeCounts:
    """Merge a dataset into the version in force of its name, and say what became of its records.

    Nothing is written where nothing is new. Forgotten turns stay out, and count as skipped in
    `log`. `sources` maps the files that the dataset was read from to their sha256.
    Raises UsageError where the name holds a dataset of another format.
    """
    log = ImportLog() if log is None else log
    with workspace.lock(f"dataset-{dataset.name}"):
        manifest = manifest_in_force(workspace, dataset.name) or {}
        if manifest.get("format", dataset.format) != dataset.format:
            raise UsageError(
                f"{dataset.name} holds {manifest['format']} data; "
                f"import the {dataset.format} file under another --name"
            )
        forgotten = _forgotten(workspace, dataset.name)
        old = _whole_or_empty(workspace, dataset, log)
        merged, counts = merge(
            without_turns(old, forgotten, ImportLog()), without_turns(dataset, forgotten, log)
        )
        history = {
            "sources": {**manifest.get("sources", {}), **(sources or {})},
            "report": dict(log.counts),
        }
        put(workspace, merged, history)
    return counts


def load(workspace: Workspace, name: str) -> Dataset:
    """The version in force of a dataset; the bundled "sample" is imported where it is absent
    (and only read, where nothing may be written).

    Raises DataError naming the datasets that exist where there is none of this name, and
    WorkspaceError where its files are missing or differ from their checksums.
    """
    if name == SAMPLE and current(workspace, name) is None:
        log = ImportLog()
        sample = load_sample(log)
        if workspace.read_only:
            return sample
        save(workspace, sample, log)
    dataset = read_in_force(workspace, name)
    if dataset is None:
        raise _unknown(workspace, name)
    return dataset


def load_sample(log: ImportLog) -> Dataset:
    """The bundled sample, read from its file."""
    dataset = jsonl.load(open_source(SAMPLE_FILE, log), SAMPLE, log)
    return msgspec.structs.replace(dataset, licence=SAMPLE_LICENCE)


def names(workspace: Workspace) -> list[str]:
    """Names of the datasets in the workspace, sorted."""
    parent = workspace.folder(KIND)
    folders = sorted(parent.iterdir()) if parent.is_dir() else []
    return [
        folder.name for folder in folders if manifest_in_force(workspace, folder.name) is not None
    ]


def info(workspace: Workspace, name: str) -> dict[str, Any]:
    """The manifest of a dataset's version in force: format, licence, splits, counts, sources."""
    manifest = manifest_in_force(workspace, name)
    if manifest is None:
        read_in_force(workspace, name)  # says so where it is there, but damaged
        raise _unknown(workspace, name)
    return manifest


def forget(workspace: Workspace, name: str, scope: str, turn_ids: Iterable[str]) -> None:
    """Remove turns of a scope for good, from every version, and keep imports from restoring them.

    Evidence that named one becomes unresolved, and observations that rest on one are dropped.
    Raises DataError, before anything is changed, where a turn never was in the dataset.
    """
    load(workspace, name)  # outside the lock: it may have to import the sample first
    with workspace.lock(f"dataset-{name}"):
        dataset = load(workspace, name)
        already = _forgotten(workspace, name)
        wanted = {(scope, turn) for turn in turn_ids}
        held = {
            (dialogue.scope, turn.id)
            for dialogue in dataset.dialogues
            for turn in (*dialogue.turns, *dialogue.aside)
        }
        strangers = sorted(turn for _, turn in wanted - held - already)
        if strangers:
            raise DataError(f"{name}, {scope}: no turn {', '.join(strangers)}")
        # The list is written first: whatever happens next, no import brings the text back.
        lines = (_Forgotten(scope=scope, id=turn) for scope, turn in sorted(already | wanted))
        folder = workspace.folder(KIND, name)
        write_atomically(folder / "forgotten.jsonl", encode_jsonl(lines))
        manifest = info(workspace, name)
        history = {key: manifest[key] for key in ("sources", "report")}
        put(workspace, without_turns(dataset, already | wanted, ImportLog()), history)


def _whole_or_empty(workspace: Workspace, dataset: Dataset, log: ImportLog) -> Dataset:
    """The version in force; an empty one where there is none, or where it is damaged."""
    try:
        old = read_in_force(workspace, dataset.name)
    except WorkspaceError as error:
        log.warn(dataset.name, f"replaced by this import, with nothing taken over: {error}")
        old = None
    return old or Dataset(name=dataset.name, format=dataset.format)


def _forgotten(workspace: Workspace, name: str) -> frozenset[tuple[str, str]]:
    path = workspace.folder(KIND, name) / "forgotten.jsonl"
    if not path.exists():
        return frozenset()
    return frozenset((record.scope, record.id) for record in decode_jsonl(path, _Forgotten))


def _unknown(workspace: Workspace, name: str) -> DataError:
    known = ", ".join(names(workspace)) or "none yet"
    return DataError(
        f"there is no dataset {name!r} in {workspace.root} (there: {known}); "
        f"import it: workbench import PATH --name {name}"
    )
