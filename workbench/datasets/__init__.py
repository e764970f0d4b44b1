"""Datasets: one module per source format, imported into the workspace and loaded from it.

`LOADERS` names the formats. Adding one takes a module with `load` and `recognises`, and a line.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from workbench.datasets import audit as audits
from workbench.datasets import (
    chatgpt,
    chats,
    claude,
    jsonl,
    librechat,
    locomo,
    longmemeval,
    personamem,
)
from workbench.datasets.report import Dataset, ImportLog, Problem
from workbench.datasets.source import Document, Source, open_source
from workbench.datasets.store import SAMPLE, SAMPLE_FILE, load, load_sample, save, sizes
from workbench.errors import DataError, UsageError
from workbench.schema import Record
from workbench.workspace import Workspace

__all__ = ["LOADERS", "Format", "ImportReport", "import_file", "load_dataset"]

AUTO = "auto"
LONGEST_NAME = 40
QUOTED_PROBLEMS = 3
ALWAYS_COUNTED = ("read", "written", "skipped", "repaired", "unresolved", "failed")


class Format(NamedTuple):
    """A source format: how to read and recognise it, its usual licence, and one line about it."""

    load: Callable[[Source, str, ImportLog], Dataset]
    recognises: Callable[[Source], bool]
    licence: str
    about: str


# In the order in which they are tried: the workbench's own, loosest format is the last.
LOADERS: dict[str, Format] = {
    "locomo": Format(locomo.load, locomo.recognises, locomo.LICENCE, "LoCoMo, locomo10.json"),
    "longmemeval": Format(
        longmemeval.load, longmemeval.recognises, longmemeval.LICENCE, "LongMemEval, any size"
    ),
    "personamem": Format(
        personamem.load, personamem.recognises, personamem.LICENCE, "PersonaMem with its contexts"
    ),
    "chatgpt": Format(chatgpt.load, chatgpt.recognises, chats.LICENCE, "ChatGPT data export"),
    "claude": Format(claude.load, claude.recognises, chats.LICENCE, "Claude data export"),
    "librechat": Format(
        librechat.load, librechat.recognises, chats.LICENCE, "LibreChat conversation export"
    ),
    "jsonl": Format(jsonl.load, jsonl.recognises, jsonl.LICENCE, "the workbench's own JSONL"),
}


class ImportReport(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What an import did. `counts` holds dialogues, sessions, turns, questions and observations of
    the import; read, written, skipped, repaired, unresolved and failed records; imported, updated
    and unchanged ones as against what the workspace held before; and what the format adds."""

    dataset: str
    format: str
    licence: str
    counts: dict[str, int]
    problems: tuple[Problem, ...] = ()


def import_file(
    workspace: Workspace,
    path: Path | str,
    *,
    name: str | None = None,
    format: str = AUTO,
    audit: Path | str | None = None,
) -> ImportReport:
    """Read a file, folder or zip and merge it into the dataset `name` of the workspace.

    `format` is a key of `LOADERS`, recognised from the content by default. `name` defaults to the
    format's, and for the workbench's own format to the file's. `path` "sample", where there is no
    such file, is the bundled sample. `audit` is LoCoMo's audit file, laid over the questions.
    Raises DataError where nothing can be imported, and UsageError for an unknown format.
    """
    log = ImportLog()
    found = _find(path)
    bundled = found == SAMPLE_FILE
    source = open_source(found, log)
    key = _format_of(source) if format == AUTO else _known_format(format)
    if bundled and name in (None, SAMPLE):
        dataset = load_sample(log)
    else:
        dataset = LOADERS[key].load(source, name or _default_name(source, key), log)
    if audit is not None:
        dataset = audits.overlay(dataset, Path(audit), log)
    if dataset.name == SAMPLE and not bundled and _default_name(source, key) != SAMPLE:
        raise UsageError(f"{SAMPLE!r} is the bundled sample; import {path} under another --name")
    log.check()
    _refuse_empty_handed(source, log)
    merged = save(workspace, dataset, log, _checksums(source))
    counts = dict.fromkeys(ALWAYS_COUNTED, 0) | log.counts
    return ImportReport(
        dataset=dataset.name,
        format=dataset.format,
        licence=dataset.licence,
        counts=sizes(dataset) | counts | merged._asdict(),
        problems=tuple(log.problems),
    )


def load_dataset(workspace: Workspace, name: str) -> Dataset:
    """A dataset of the workspace; the bundled "sample" needs no import."""
    return load(workspace, name)


def _find(path: Path | str) -> Path:
    """Where a path leads; the bundled sample's file for "sample", where there is no such file."""
    if not str(path).strip():
        raise UsageError("name the file, folder or zip to import: the path is empty")
    if Path(path).exists():
        return Path(path)
    if str(path) == SAMPLE:
        return SAMPLE_FILE
    raise DataError(f"{path}: no such file or folder; check the path, or import {SAMPLE!r}")


def _known_format(key: str) -> str:
    if key not in LOADERS:
        raise UsageError(f"unknown format {key!r}; known are {', '.join(LOADERS)} and {AUTO}")
    return key


def _format_of(source: Source) -> str:
    """The first format that recognises the source. Raises DataError saying what was found."""
    for key, candidate in LOADERS.items():
        if candidate.recognises(source):
            return key
    found = f"{source.documents[0].name} holds {_content(source.documents[0])}"
    raise DataError(
        f"{source.path}: none of {', '.join(LOADERS)}. {found}. Name the --format if it is one of "
        "these, or convert it to the workbench's own JSONL"
    )


def _content(document: Document) -> str:
    """What a document holds, in words; where it is broken rather than strange, its own error."""
    if document.name.endswith(".jsonl") and (row := jsonl.first_object(document)):
        return f"lines, the first of them {_shape(row)}"
    return _shape(document.json())


def _shape(data: Any) -> str:
    """The type and keys at the top of a JSON document, in words."""
    if isinstance(data, dict):
        keys = ", ".join(list(data)[:8])
        return f"an object with the keys {keys}" if keys else "an empty object"
    if isinstance(data, list):
        return f"a list of {len(data)}, the first of them {_shape(data[0])}" if data else "[]"
    return f"a single {type(data).__name__}"


def _default_name(source: Source, key: str) -> str:
    if LOADERS[key].load is not jsonl.load:
        return key
    given = jsonl.default_name(source) or source.path.resolve().stem
    safe = re.sub(r"[^A-Za-z0-9._-]+", "-", given).strip("-._")[:LONGEST_NAME].rstrip(".")
    if safe and not any(char.isalnum() and not char.isascii() for char in given):
        return safe
    # Two names that look alike without their other letters must not become one dataset.
    return f"{safe or key}-{hashlib.sha256(given.encode('utf-8', 'replace')).hexdigest()[:6]}"


def _refuse_empty_handed(source: Source, log: ImportLog) -> None:
    """Raise where records were there and none could be used; a source of no records is legal."""
    counts = log.counts
    if not counts["read"]:
        log.warn(str(source.path), "holds no records; the dataset gains none")
    elif not counts["written"] and counts["failed"]:
        failed = [problem for problem in log.problems if problem.kind == "failed"]
        quoted = "; ".join(f"{one.where}: {one.why}" for one in failed[:QUOTED_PROBLEMS])
        raise DataError(
            f"{source.path}: none of its {counts['read']} records could be used ({quoted})"
        )


def _checksums(source: Source) -> dict[str, str]:
    return {
        document.name: hashlib.sha256(document.data()).hexdigest() for document in source.documents
    }
