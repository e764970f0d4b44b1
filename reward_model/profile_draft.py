"""A participant's memories before they are used: what was read or typed in, each piece on its own.

Every text of a profile becomes an entry that says where in the JSON it stood, and so does every
typed recent event. The participant edits and deletes entries; only then do they become memories.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import Literal

import msgspec

from reward_model.profile_json import ImportedProfile, content_findings, leaves, marks
from workbench.embed import is_blank
from workbench.errors import DataError, UsageError
from workbench.memory import dates
from workbench.memory.periods import MONTHS
from workbench.schema import Memory, Record, digest_of

__all__ = ["Draft", "Entry", "EntryKind", "entries_of", "events_of", "memories_of"]

EntryKind = Literal["fact", "activity", "tag", "event", "query"]
KINDS: dict[str, EntryKind] = {
    "part_1": "fact",
    "part_2": "activity",
    "part_3": "tag",
    "recent_queries": "query",
}
EVENT_LINES = 300
EVENT_CHARACTERS = 1000
BULLET = re.compile(r"^\s*(?:[-*•–]|\d{1,3}[.)](?!\d))\s*")
ISO_DAY = re.compile(r"^(\d{4})-(\d{1,2})-(\d{1,2})\b[\s:,–-]*")
NAMED_DAY = re.compile(
    rf"^(?:(?P<d>\d{{1,2}})(?:st|nd|rd|th)? (?P<m>{'|'.join(MONTHS)})"
    rf"|(?P<m2>{'|'.join(MONTHS)}) (?P<d2>\d{{1,2}})(?:st|nd|rd|th)?),? (?P<y>\d{{4}})\b[\s:,–-]*",
    re.IGNORECASE,
)


class Entry(Record, frozen=True, kw_only=True):
    """One text about a participant, or one query of theirs.

    `where` is its path in the JSON, or the line of the events that were typed in; `inferred`
    marks what the assistant concluded. `time` is the day of an event. `flags` say what to look at
    again. Ids ("fact-3") are numbered as entries come, and never given twice.
    """

    id: str
    kind: EntryKind
    text: str
    where: str
    inferred: bool = False
    custom: bool = False
    time: date | None = None
    flags: tuple[str, ...] = ()
    edited: bool = False


class Draft(Record, frozen=True, kw_only=True):
    """All entries of one participant. `numbered` counts the ids given so far by kind; `log` says
    what was done when, without any text; `confirmed` is when the participant agreed to its use."""

    participant: str
    entries: tuple[Entry, ...] = ()
    numbered: dict[str, int] = msgspec.field(default_factory=dict)
    log: tuple[str, ...] = ()
    confirmed: datetime | None = None

    @property
    def memories(self) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.entries if entry.kind != "query")

    @property
    def queries(self) -> tuple[Entry, ...]:
        return tuple(entry for entry in self.entries if entry.kind == "query")

    @property
    def content(self) -> str:
        """The digest of what there is to read: whose it is, and every entry as it stands."""
        return digest_of((self.participant, self.entries))

    def with_entries(self, entries: Sequence[Entry]) -> Draft:
        """The draft with new entries after the old ones, each with an id of its own."""
        numbered, added = dict(self.numbered), []
        for entry in entries:
            numbered[entry.kind] = numbered.get(entry.kind, 0) + 1
            id = f"{entry.kind}-{numbered[entry.kind]}"
            added.append(msgspec.structs.replace(entry, id=id))
        return msgspec.structs.replace(self, entries=(*self.entries, *added), numbered=numbered)

    def edited(self, id: str, text: str) -> Draft:
        """The draft with another text in an entry. Raises UsageError for a blank text (delete the
        entry instead) or an id that is not there."""
        self.entry(id)
        if is_blank(text):
            raise UsageError(f"{id}: a blank text says nothing; delete the entry instead")
        changed = [
            _checked(msgspec.structs.replace(entry, text=text.strip(), edited=True))
            if entry.id == id
            else entry
            for entry in self.entries
        ]
        return msgspec.structs.replace(self, entries=tuple(changed))

    def without(self, ids: Sequence[str]) -> Draft:
        """The draft without some entries; UsageError, and nothing deleted, where one is absent."""
        gone = {self.entry(id).id for id in ids}
        kept = tuple(entry for entry in self.entries if entry.id not in gone)
        return msgspec.structs.replace(self, entries=kept)

    def entry(self, id: str) -> Entry:
        """The entry of this id; UsageError where there is none."""
        for entry in self.entries:
            if entry.id == id:
                return entry
        raise UsageError(f"the draft of {self.participant!r} has no entry {id!r}; list its entries")


def entries_of(profile: ImportedProfile) -> list[Entry]:
    """A profile's texts as entries, in order, still without ids."""
    return [
        _checked(_entry(path, text, KINDS[re.split(r"[.\[]", path)[0]]))
        for path, text in leaves(profile)
    ]


def events_of(text: str, said: date) -> list[Entry]:
    """Typed or pasted recent events, one a line, as entries without ids.

    A day at the beginning of a line ("2026-03-04: ...", "4 March 2026 ...") becomes the event's
    time; "last Friday" and its like are resolved against `said`, the day of typing, and written
    out. Raises DataError naming the line where one is too long, and for more than 300 lines.
    """
    lines = [(n, BULLET.sub("", line).strip()) for n, line in enumerate(text.splitlines(), start=1)]
    lines = [(n, line) for n, line in lines if not is_blank(line)]
    if len(lines) > EVENT_LINES:
        raise DataError(f"events: {len(lines)} lines; at most {EVENT_LINES} are taken at once")
    return [_event(n, line, said) for n, line in lines]


def memories_of(draft: Draft, scope: str) -> tuple[Memory, ...]:
    """A draft's memories as records of the workbench, for banks and retrieval.

    `sources` hold the entry's id: a memory goes when its entry goes. Inferred ones are marked as
    speculative. Raises UsageError where the participant has not confirmed the draft.
    """
    if draft.confirmed is None:
        raise UsageError(
            f"the memories of {draft.participant!r} are still a draft: the participant looks "
            "through them and confirms before anything is used"
        )
    return tuple(_memory(entry, draft, scope) for entry in draft.memories)


def _memory(entry: Entry, draft: Draft, scope: str) -> Memory:
    from workbench.schema import Dimensions

    day = datetime(entry.time.year, entry.time.month, entry.time.day) if entry.time else None
    return Memory(
        id=entry.id,
        scope=scope,
        kind="fact",
        text=entry.text,
        sources=(entry.id,),
        owner=draft.participant,
        subject=draft.participant,
        role="user",
        time=day,
        dimensions=Dimensions(certainty="speculative") if entry.inferred else Dimensions(),
    )


def _entry(path: str, text: str, kind: EntryKind) -> Entry:
    bare, inferred, custom = marks(text) if kind != "query" else (text, False, False)
    if kind == "tag":
        names = [re.sub(r"\[\d+\]$", "", name).replace("_", " ") for name in path.split(".")[1:]]
        bare = f"{', '.join(name for name in names if name)}: {bare}"
        bare = bare[:1].upper() + bare[1:]
    return Entry(id="", kind=kind, text=bare, where=path, inferred=inferred, custom=custom)


def _event(line_number: int, line: str, said: date) -> Entry:
    if len(line) > EVENT_CHARACTERS:
        raise DataError(
            f"events, line {line_number}: {len(line):,} characters; write one event a line, "
            f"of at most {EVENT_CHARACTERS:,}"
        )
    day, rest = _leading_day(line, line_number)
    mentions = list(_single_days(rest, day or said))
    written = dates.rewrite(rest, day or said)
    day = day or (mentions[0] if mentions else None)
    where = f"events, line {line_number}"
    return _checked(Entry(id="", kind="event", text=written, where=where, time=day))


def _leading_day(line: str, number: int) -> tuple[date | None, str]:
    """The day that a line begins with, and the rest of it; the line itself without a day."""
    iso, named = ISO_DAY.match(line), NAMED_DAY.match(line)
    if iso is None and named is None:
        return None, line
    if iso is not None:
        parts, end = [int(part) for part in iso.groups()], iso.end()
    else:
        assert named is not None
        month = MONTHS.index((named["m"] or named["m2"]).lower()) + 1
        parts, end = [int(named["y"]), month, int(named["d"] or named["d2"])], named.end()
    try:
        return date(*parts), line[end:].strip() or line
    except ValueError:
        raise DataError(f"events, line {number}: {line[:end].strip()!r} is no day") from None


def _single_days(text: str, said: date) -> Iterator[date]:
    yield from (m.start for m in dates.resolve(text, said) if m.start == m.end)


def _checked(entry: Entry) -> Entry:
    """The entry with what its author should look at again; typed texts may be in any person."""
    path = entry.where if entry.where.startswith(("part_", "recent_")) else "events"
    flags = tuple(finding.reason for finding in content_findings(path, entry.text))
    return msgspec.structs.replace(entry, flags=flags)
