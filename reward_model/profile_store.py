"""Drafts on disk: one file a participant, replaced whole, so that deleted text is gone from it.

ROOT/profiles/DIGEST/draft.json, where DIGEST is made from the participant's id (ids are data, and
name no file). An edit leaves nothing of the text before it: what is logged is what was done, to
which entry and when. Every change takes back the participant's confirmation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, date, datetime
from pathlib import Path

import msgspec

from reward_model.profile_draft import Draft, entries_of, events_of
from reward_model.profile_json import ImportedProfile, read_profile
from workbench.errors import UsageError, WorkspaceError
from workbench.schema import digest_of
from workbench.workspace import Workspace, remove_folder, write_atomically

__all__ = [
    "add_events",
    "confirm",
    "delete_entries",
    "discard_draft",
    "drafts",
    "edit_entry",
    "import_profile",
    "open_draft",
]

KIND = "profiles"
FILE = "draft.json"

Change = Callable[[Draft], Draft]


def import_profile(
    workspace: Workspace, participant: str, text: str, replace: bool = False
) -> tuple[Draft, ImportedProfile]:
    """Read a pasted profile into a draft. Typed events stay.

    Raises UsageError where a draft with a profile exists and `replace` was not asked for, DataError
    where the text holds no profile.
    """
    profile = read_profile(text)

    def taken(draft: Draft) -> Draft:
        old = [entry.id for entry in draft.entries if entry.kind != "event"]
        if old and not replace:
            raise UsageError(
                f"{participant!r} already has a profile of {len(old)} entries, which may have been "
                "edited; ask for it to be replaced"
            )
        return draft.without(old).with_entries(entries_of(profile))

    return _change(workspace, participant, "profile imported", taken, new=True), profile


def add_events(workspace: Workspace, participant: str, text: str, said: date) -> Draft:
    """Add typed events, one a line, to a draft (a new one where there is none)."""
    events = events_of(text, said)
    what = f"{len(events)} events added"
    return _change(workspace, participant, what, lambda d: d.with_entries(events), new=True)


def edit_entry(workspace: Workspace, participant: str, id: str, text: str) -> Draft:
    """Give an entry another text; nothing of the one before is kept."""
    return _change(workspace, participant, f"{id} edited", lambda draft: draft.edited(id, text))


def delete_entries(workspace: Workspace, participant: str, ids: Sequence[str]) -> Draft:
    """Delete entries for good."""
    what = f"{', '.join(ids)} deleted"
    return _change(workspace, participant, what, lambda draft: draft.without(ids))


def confirm(workspace: Workspace, participant: str, shown: str) -> Draft:
    """Record that the participant has looked through the draft and agrees to its use.

    `shown` is the `content` of the draft that they looked through. Raises UsageError where the
    draft has no memories, or is another one by now: nobody agrees to what they did not see.
    """

    def confirmed(draft: Draft) -> Draft:
        if draft.content != shown:
            raise UsageError(
                f"the draft of {participant!r} was changed since it was shown; "
                "look through it as it is now, then confirm"
            )
        if not draft.memories:
            raise UsageError(f"the draft of {participant!r} has no memories left to confirm")
        return msgspec.structs.replace(draft, confirmed=datetime.now(UTC))

    return _change(workspace, participant, "confirmed", confirmed)


def open_draft(workspace: Workspace, participant: str) -> Draft:
    """A participant's draft.

    Raises UsageError where there is none, WorkspaceError where its file is damaged.
    """
    draft = _read(_folder(workspace, participant) / FILE)
    if draft is None:
        raise UsageError(f"{participant!r} has no profile yet: import one, or type in events")
    return draft


def drafts(workspace: Workspace) -> dict[str, dict[str, object]]:
    """Participants with a draft: how many entries, how many flagged, whether confirmed."""
    paths = sorted(workspace.folder(KIND).glob(f"*/{FILE}"))
    found = [draft for path in paths if (draft := _read(path)) is not None]
    return {
        draft.participant: {
            "memories": len(draft.memories),
            "queries": len(draft.queries),
            "flagged": sum(bool(entry.flags) for entry in draft.entries),
            "confirmed": draft.confirmed,
        }
        for draft in sorted(found, key=lambda one: one.participant)
    }


def discard_draft(workspace: Workspace, participant: str) -> None:
    """Remove everything that is kept of a participant's profile."""
    with workspace.lock(_lock(participant)):
        remove_folder(_folder(workspace, participant))


def _change(
    workspace: Workspace, participant: str, what: str, change: Change, new: bool = False
) -> Draft:
    """Apply a change under the participant's lock; others see the draft before or after it."""
    if not participant.strip():
        raise UsageError("a draft needs a participant")
    with workspace.lock(_lock(participant)):
        folder = _folder(workspace, participant)
        _sweep(folder)
        draft = _read(folder / FILE)
        if draft is None and not new:
            raise UsageError(f"{participant!r} has no profile yet: import one, or type in events")
        draft = draft or Draft(participant=participant)
        changed = change(msgspec.structs.replace(draft, confirmed=None))
        line = f"{datetime.now(UTC).isoformat(timespec='seconds')} {what}"
        changed = msgspec.structs.replace(changed, log=(*draft.log, line))
        write_atomically(folder / FILE, msgspec.json.encode(changed))
    return changed


def _sweep(folder: Path) -> None:
    """Remove what a killed process left half written: it may hold text that is deleted now."""
    for leftover in folder.glob(f".{FILE}.*.tmp"):
        leftover.unlink(missing_ok=True)


def _read(path: Path) -> Draft | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Draft)
    except FileNotFoundError:
        return None
    except msgspec.DecodeError as error:
        raise WorkspaceError(
            f"{path} is damaged ({error}); discard the draft and import the profile again"
        ) from error


def _folder(workspace: Workspace, participant: str) -> Path:
    return workspace.folder(KIND, digest_of(participant))


def _lock(participant: str) -> str:
    return f"profile-{digest_of(participant)}"
