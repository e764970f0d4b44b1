"""What the chat exports share: one bank, unique turn ids, and every message accounted for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from math import inf
from typing import Any, NamedTuple, TypeGuard

import msgspec

from workbench.datasets.report import Dataset, ImportLog
from workbench.datasets.source import Document, Source
from workbench.datasets.tree import Path
from workbench.errors import DataError
from workbench.schema import Dialogue, Turn

__all__ = [
    "LICENCE",
    "SCOPE",
    "Chat",
    "Export",
    "Place",
    "chats_in",
    "instant",
    "is_unix_time",
    "iso_time",
    "load_export",
    "recognises_export",
    "split",
    "unix_time",
]

LICENCE = "yours (a personal export; not for redistribution)"
SCOPE = "me"  # all chats of an export are one user's history

LAST_SECOND = 4_102_444_800  # 2100-01-01: what lies beyond is no time of a chat


class Chat(NamedTuple):
    """One chat as read. Turn ids are unique within it; `created` and `updated` are seconds."""

    id: str
    title: str
    where: str
    turns: tuple[Turn, ...]
    aside: tuple[Turn, ...]
    created: float = -inf
    updated: float = -inf


class Place(NamedTuple):
    """Where the loader is: the report, the locator, and unknown types met in this document."""

    log: ImportLog
    where: str
    unknown: Counter[str]

    def chat(self, chat_id: str) -> Place:
        return self._replace(where=f"{self.where}: chat {chat_id}")

    def message(self, message_id: str) -> Place:
        return self._replace(where=f"{self.where}, message {message_id}")

    def fail(self, why: str, raw: object = "", messages: int = 1) -> None:
        """Count a message, or all `messages` of a chat at once, as read and failed."""
        self.log.read(max(messages, 1))
        self.log.fail(self.where, why, raw if isinstance(raw, str) else type(raw).__name__)
        self.log.counts["failed"] += max(messages, 1) - 1

    def usable(self, path: Path, messages: int) -> bool:
        """Report what is wrong with a branch; False where the whole chat cannot be used."""
        if path.looped:
            self.fail(f"parents form a loop; {messages} messages left out", messages=messages)
        elif path.missing is not None:
            first = path.ids[0] if path.ids else "none"
            why = f"the branch starts at {first}, whose parent is not in the export"
            self.log.warn(self.where, why, path.missing)
        return not path.looped


class Export(NamedTuple):
    """One kind of export. `chats_in` lists the raw chats of a document's JSON, None where it is of
    another kind. `read` makes a chat of one of them, None where it has reported why not."""

    format: str
    product: str
    chats_in: Callable[[Any], list[Any] | None]
    read: Callable[[dict[str, Any], Place], Chat | None]


def recognises_export(export: Export, source: Source) -> bool:
    """Whether any document holds at least one chat of this kind."""
    return any(export.chats_in(document.peek()) for document in source.documents)


def chats_in(value: Any, is_chat: Callable[[dict[str, Any]], bool]) -> list[Any] | None:
    """The conversations of a document (a list, one alone, or under "conversations"); None where
    there are some and none is of this format."""
    chats = value.get("conversations", [value]) if isinstance(value, dict) else value
    if not isinstance(chats, list):
        return None
    alike = any(isinstance(chat, dict) and is_chat(chat) for chat in chats)
    return chats if alike or not chats else None


def load_export(export: Export, source: Source, name: str, log: ImportLog) -> Dataset:
    """Read all chats of a source, oldest first.

    Raises DataError where no document is of this kind. No chat at all is a warning.
    """
    chats: list[Chat] = []
    found = False
    for document, value in source.decoded():
        raw_chats = export.chats_in(value)
        if raw_chats is None:
            log.warn(document.name, f"holds no {export.product} chats; left out")
        else:
            found = True
            chats += _read_document(export, document, raw_chats, log)
    if not found:
        raise DataError(f"{source.path}: holds no {export.product} chats; name another format")
    if not chats:
        log.warn(source.path.name, f"the {export.product} export holds no chat that can be used")
    return Dataset(
        name=name,
        format=export.format,
        licence=LICENCE,
        dialogues=tuple(_dialogues(_latest(chats, log), log)),
    )


def unix_time(value: object, place: Place) -> datetime | None:
    """Seconds since 1970 as a UTC time; None, with a warning, where that is no time of a chat."""
    if value is None:
        return None
    if not is_unix_time(value):
        place.log.warn(place.where, "time is not a plausible unix time; left empty", value)
        return None
    return datetime.fromtimestamp(value, UTC)


def is_unix_time(value: object) -> TypeGuard[float]:
    """Whether a value is a number of seconds after 1970 and before 2100."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 0 < value < LAST_SECOND  # type: ignore[operator]


def iso_time(value: object, place: Place) -> datetime | None:
    """An ISO 8601 time as stated ("Z" is UTC, no zone stays none); None, with a warning, if not."""
    if value is None:
        return None
    try:
        return datetime.fromisoformat(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        place.log.warn(place.where, "time is not ISO 8601; left empty", value)
        return None


def split(turns: dict[str, Turn], path: Path) -> tuple[tuple[Turn, ...], tuple[Turn, ...]]:
    """What was said along the path, and all other turns, each with the reason it is set aside."""
    said = [key for key in path.ids if key in turns and not turns[key].aside]
    heard = frozenset(said)
    others = [turn for key, turn in turns.items() if key not in heard]
    return tuple(turns[key] for key in said), tuple(
        turn if turn.aside else msgspec.structs.replace(turn, aside="other branch")
        for turn in others
    )


def instant(time: datetime | None) -> float:
    """Seconds, for comparing only: no time is oldest, and a time without a zone counts as UTC."""
    if time is None:
        return -inf
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()


def _read_document(
    export: Export, document: Document, raw_chats: list[Any], log: ImportLog
) -> list[Chat]:
    unknown: Counter[str] = Counter()
    chats = []
    for position, raw in enumerate(raw_chats, start=1):
        if isinstance(raw, dict):
            chat = export.read(raw, Place(log, document.name, unknown))
            chats += [chat] if chat else []
        else:
            place = Place(log, f"{document.name}: chat number {position}", unknown)
            place.fail("chat is not an object", raw)
    for kind, count in unknown.items():
        log.warn(document.name, f"{count} pieces of the unknown type {kind!r} not read")
    return chats


def _latest(chats: list[Chat], log: ImportLog) -> list[Chat]:
    """One chat an id, oldest first; older copies of a chat are skipped."""
    kept: dict[str, Chat] = {}
    for chat in chats:
        older = kept.get(chat.id)
        if older and older.updated > chat.updated:
            older, kept[chat.id] = chat, older
        else:
            kept[chat.id] = chat
        if older:
            _skip_copy(older, log)
    return sorted(kept.values(), key=lambda chat: (chat.created, chat.id))


def _skip_copy(chat: Chat, log: ImportLog) -> None:
    messages = max(len(chat.turns) + len(chat.aside), 1)
    log.read(messages)
    log.skip(chat.where, f"older copy of the same chat; {messages} messages left out")
    log.counts["skipped"] += messages - 1


def _dialogues(chats: list[Chat], log: ImportLog) -> Iterable[Dialogue]:
    """Dialogues whose turn ids are unique over all chats, their messages counted."""
    taken: set[str] = set()
    for chat in chats:
        if not chat.turns and not chat.aside:
            log.warn(chat.where, "chat without messages; left out")
            continue
        turns = tuple(_named(turn, chat, taken, log) for turn in chat.turns)
        aside = tuple(_named(turn, chat, taken, log) for turn in chat.aside)
        log.read(len(turns) + len(aside))
        log.keep(len(turns))
        for turn in aside:
            log.skip(f"{chat.where}, message {turn.id}", turn.aside or "")
        yield Dialogue(id=chat.id, scope=SCOPE, title=chat.title, turns=turns, aside=aside)


def _named(turn: Turn, chat: Chat, taken: set[str], log: ImportLog) -> Turn:
    """The turn under an id that no older chat uses, so that a newer chat never renames an older."""
    turn_id = turn.id
    while not turn_id or turn_id in taken:
        turn_id = f"{chat.id}:{turn_id}"
    taken.add(turn_id)
    if turn_id == turn.id:
        return turn
    log.repair(f"{chat.where}, message {turn.id}", f"its id is taken; now {turn_id}")
    return msgspec.structs.replace(turn, id=turn_id)
