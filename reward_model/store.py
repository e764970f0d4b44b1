"""Sets of comparisons in a workspace: one version in force of each, named by its content.

    comparisons/NAME/DIGEST/    comparisons.jsonl, manifest.json
    comparisons/NAME/current    the digest of the version in force

Saving replaces what a name holds, and removes it: a participant's records that were taken out of a
set are then nowhere in this folder. Adding keeps what is held, and never changes a judgment.
Writers take turns; readers take no lock and start again where a version is replaced under them.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from reward_model.schema import Comparison, ComparisonSet
from workbench.errors import DataError, UsageError, WorkspaceError
from workbench.schema import Record, encode_jsonl
from workbench.workspace import (
    Workspace,
    check_name,
    read_manifest,
    remove_folder,
    write_atomically,
)

__all__ = ["Added", "add_comparisons", "comparison_sets", "open_comparisons", "save_comparisons"]

KIND = "comparisons"
FILE = "comparisons.jsonl"
FACTS = ("content", "comparisons", "participants", "judged", "synthetic", "source", "made")
READ_ATTEMPTS = 20
PAUSE_SECONDS = 0.02


class Added(Record, frozen=True, kw_only=True, omit_defaults=False):
    """What became of comparisons that were added to a set: the four numbers add up to them.

    `updated` were held without a judgment and now have one. `conflicts` are ids that are held with
    other content: what was held stays. `lost` says why nothing of what was held could be taken
    over; "" where it could.
    """

    held: ComparisonSet
    added: int
    updated: int
    unchanged: int
    conflicts: tuple[str, ...]
    lost: str = ""


def save_comparisons(
    workspace: Workspace, name: str, comparisons: Sequence[Comparison], source: str = ""
) -> ComparisonSet:
    """Make these the comparisons of `name`, in place of any that it holds, and return the set.

    `source` says where they are from. The same comparisons in the same order have the same
    `content`, under whatever name. Raises DataError for none at all or an id that occurs twice,
    UsageError where synthetic ones would replace people's.
    """
    with workspace.lock(_lock(name)):
        held = comparison_sets(workspace).get(name)
        if held and not held["synthetic"] and {one.synthetic for one in comparisons} == {True}:
            raise UsageError(f"{name} holds people's judgments; name another set for made-up ones")
        return _put(workspace, name, comparisons, source)


def add_comparisons(
    workspace: Workspace, name: str, comparisons: Sequence[Comparison], source: str = ""
) -> Added:
    """Add comparisons to the set of this name, which is made where there is none.

    The same file twice adds nothing. Raises UsageError where synthetic comparisons and people's
    would come into one set, and DataError as `save_comparisons`.
    """
    with workspace.lock(_lock(name)):
        held, lost = None, ""
        try:
            held = _read(workspace, name)
        except WorkspaceError as error:
            lost = str(error)
        before = held.comparisons if held is not None else ()
        _check_ids(name, comparisons)
        kinds = {one.synthetic for one in (*before, *comparisons)}
        if held is not None and len(kinds) > 1:
            kind = "synthetic" if held.synthetic else "people's"
            raise UsageError(f"{name} holds {kind} comparisons; name another set for the others")
        merged, fates, conflicts = _merged(before, comparisons)
        origin = ", ".join(dict.fromkeys(filter(None, (held.source if held else "", source))))
        saved = _put(workspace, name, merged, origin)
    return Added(
        held=saved,
        added=fates["added"],
        updated=fates["updated"],
        unchanged=fates["unchanged"],
        conflicts=conflicts,
        lost=lost,
    )


def open_comparisons(workspace: Workspace, name: str) -> ComparisonSet:
    """The set of this name.

    Raises UsageError naming the sets that exist where there is none of this name, and
    WorkspaceError where its files are missing or differ from their checksum.
    """
    found = _read(workspace, check_name(name))
    if found is None:
        known = ", ".join(comparison_sets(workspace)) or "none yet"
        raise UsageError(
            f"there are no comparisons named {name!r} in {workspace.root} (there: {known}); "
            f"make them: workbench reward import PATH --name {name}, or workbench reward simulate"
        )
    return found


def comparison_sets(workspace: Workspace) -> dict[str, dict[str, Any]]:
    """Facts of every set, by name in order: content, comparisons, participants, judged, synthetic,
    source, made (seconds since 1970)."""
    parent = workspace.folder(KIND)
    folders = sorted(parent.iterdir()) if parent.is_dir() else []
    found = {}
    for folder in folders:
        manifests = (read_manifest(folder / digest) for digest in _digests(folder))
        manifest = next(filter(None, manifests), None)
        if manifest is not None:
            found[folder.name] = {fact: manifest[fact] for fact in FACTS}
    return found


def _merged(
    held: Sequence[Comparison], arrived: Sequence[Comparison]
) -> tuple[list[Comparison], Counter[str], tuple[str, ...]]:
    """Held comparisons first, in their order; how many of `arrived` met which fate; conflicts."""
    merged = {one.id: one for one in held}
    fates: Counter[str] = Counter()
    conflicts = []
    for one in arrived:
        earlier = merged.get(one.id)
        if earlier is None or _only_judges(earlier, one):
            fates["added" if earlier is None else "updated"] += 1
            merged[one.id] = one
        elif earlier == one:
            fates["unchanged"] += 1
        else:
            conflicts.append(one.id)
    return list(merged.values()), fates, tuple(conflicts)


def _only_judges(earlier: Comparison, later: Comparison) -> bool:
    """Whether `later` is `earlier`, which had no judgment, after it was judged."""
    given = {field: getattr(later, field) for field in ("judgment", "note", "shown", "judged")}
    fresh = earlier.judgment is None and later.judgment is not None
    return fresh and msgspec.structs.replace(earlier, **given) == later


def _check_ids(name: str, comparisons: Sequence[Comparison]) -> None:
    if not comparisons:
        raise DataError(f"{name}: there are no comparisons to keep")
    twice = [one for one, n in Counter(one.id for one in comparisons).items() if n > 1]
    if twice:
        raise DataError(f"{name}: the id {twice[0]!r} occurs twice; give every comparison its own")


def _put(
    workspace: Workspace, name: str, comparisons: Sequence[Comparison], source: str
) -> ComparisonSet:
    """Make them the version in force, and remove every other. The caller holds the lock."""
    check_name(name)
    _check_ids(name, comparisons)
    data = b"".join(encode_jsonl(comparisons))
    content = hashlib.sha256(data).hexdigest()[:16]
    kept = ComparisonSet(name=name, content=content, comparisons=tuple(comparisons), source=source)
    manifest = {
        "name": name,
        "content": content,
        "comparisons": len(kept.comparisons),
        "participants": len(kept.participants),
        "judged": sum(one.judgment is not None for one in kept.comparisons),
        "synthetic": kept.synthetic,
        "source": source,
    }
    version = workspace.publish(KIND, f"{name}/{content}", {FILE: data}, manifest)
    folder = workspace.folder(KIND, name)
    if _current(folder) != content:
        write_atomically(folder / "current", content.encode())
    for other in folder.iterdir():
        if other.is_dir() and other.name != content:
            remove_folder(other)
    # The same content under the same name is the version that was there, whatever its new source.
    first = (read_manifest(version) or manifest)["source"]
    return msgspec.structs.replace(kept, source=first)


def _read(workspace: Workspace, name: str) -> ComparisonSet | None:
    """The version in force, checked; None where there is none. Raises WorkspaceError on damage."""
    folder = workspace.folder(KIND, name)
    for digest in _digests(folder):
        manifest = read_manifest(folder / digest)
        try:
            data = (folder / digest / FILE).read_bytes()
        except OSError:
            continue
        if manifest is None:
            continue
        if hashlib.sha256(data).hexdigest() != manifest["files"][FILE]["sha256"]:
            raise _damaged(name, f"{FILE} differs from its checksum")
        comparisons = msgspec.json.Decoder(Comparison).decode_lines(data)
        return ComparisonSet(
            name=name,
            content=manifest["content"],
            comparisons=tuple(comparisons),
            source=manifest["source"],
        )
    if _current(folder) is None:
        return None
    raise _damaged(name, "files are missing")


def _digests(folder: Path) -> Iterator[str]:
    """The digest in force, again and again: a writer may replace it while it is being read."""
    for attempt in range(READ_ATTEMPTS):
        digest = _current(folder)
        if digest is None:
            return
        time.sleep(PAUSE_SECONDS if attempt else 0)
        yield digest


def _current(folder: Path) -> str | None:
    """The digest in force; None where there is none, or the file that names it is damaged."""
    try:
        return check_name((folder / "current").read_text("ascii"))
    except (OSError, UnicodeDecodeError, UsageError):
        return None


def _lock(name: str) -> str:
    """A lock's name; two long names that share their beginning merely wait for each other."""
    return f"comparisons-{check_name(name)}"[:64].rstrip(".")


def _damaged(name: str, how: str) -> WorkspaceError:
    return WorkspaceError(f"comparisons {name} are damaged ({how}); import or simulate them again")
