"""LibreChat exports: messages nested by `children`, or flat with `parentMessageId`.

The conversation is the branch that ends in the newest leaf by `createdAt`; a message without one
counts as old as the nearest above it, and among equals the last in the file is taken, as LibreChat
itself shows the last of several answers. Other branches are set aside.
"""

from __future__ import annotations

from typing import Any

from workbench.datasets.blocks import listed, read_blocks, spoken
from workbench.datasets.chats import (
    Chat,
    Export,
    Place,
    chats_in,
    instant,
    iso_time,
    load_export,
    recognises_export,
    split,
)
from workbench.datasets.report import Dataset, ImportLog
from workbench.datasets.source import Source
from workbench.datasets.thread import Thread
from workbench.datasets.tree import Path, path_to
from workbench.schema import Role, Turn, digest_of

__all__ = ["load", "recognises"]

Raw = dict[str, Any]


def load(source: Source, name: str, log: ImportLog) -> Dataset:
    """Read a LibreChat export as the dataset `name`."""
    return load_export(EXPORT, source, name, log)


def recognises(source: Source) -> bool:
    """Whether a document holds messages with `messageId` or `isCreatedByUser`."""
    return recognises_export(EXPORT, source)


def _chats_in(value: Any) -> list[Any] | None:
    chats = value.get("conversations", [value]) if isinstance(value, dict) else value
    if not isinstance(chats, list):
        return None
    if any(_is_message(item) for item in chats):
        return _grouped(chats)
    return chats_in(chats, _is_conversation)


def _is_conversation(chat: Raw) -> bool:
    messages = chat.get("messages")
    return isinstance(messages, list) and (
        "conversationId" in chat or any(map(_is_message, messages))
    )


def _is_message(item: Any) -> bool:
    return isinstance(item, dict) and ("messageId" in item or "isCreatedByUser" in item)


def _grouped(messages: list[Any]) -> list[Any]:
    """Bare messages as chats: those of one `conversationId` together."""
    chats: dict[str | None, Raw] = {}
    for message in messages:
        stated = message.get("conversationId") if isinstance(message, dict) else None
        chat_id = stated if isinstance(stated, str) else None
        chat = chats.setdefault(chat_id, {"conversationId": chat_id, "messages": []})
        chat["messages"].append(message)
    return list(chats.values())


def _read(raw: Raw, document: Place) -> Chat | None:
    chat_id = _chat_id(raw)
    place = document.chat(chat_id)
    if not isinstance(raw.get("messages"), list):
        place.fail("messages is not a list", raw.get("messages"))
        return None
    thread = Thread(chat_id, place)
    _file_all(raw["messages"], thread)
    leaf = thread.newest_leaf()
    path = path_to(leaf, thread.parents) if leaf else Path((), looped=bool(thread.parents))
    if not place.usable(path, len(thread.turns)):
        return None
    said, aside = split(thread.turns, path)
    times = [instant(turn.time) for turn in thread.turns.values() if turn.time]
    return Chat(
        id=chat_id,
        title=raw["title"] if isinstance(raw.get("title"), str) else "",
        where=place.where,
        turns=said,
        aside=aside,
        created=min(times, default=float("-inf")),
        updated=max(times, default=float("-inf")),
    )


def _chat_id(raw: Raw) -> str:
    """The chat's own id, else a digest of its title and first message's id."""
    if isinstance(raw.get("conversationId"), str) and raw["conversationId"]:
        return str(raw["conversationId"])
    messages = raw.get("messages")
    first = messages[0] if isinstance(messages, list) and messages else None
    stated = [raw.get("title"), first.get("messageId") if isinstance(first, dict) else None]
    return digest_of([item for item in stated if isinstance(item, str)])


def _file_all(messages: list[Any], thread: Thread) -> None:
    """File messages and the children nested in them, in reading order."""
    pending: list[tuple[Any, str | None]] = [(message, None) for message in reversed(messages)]
    position = 0
    while pending:
        message, enclosing = pending.pop()
        position += 1
        if not isinstance(message, dict):
            place = thread.place.message(f"number {position}")
            place.fail("message is not an object", message)
            continue
        key = thread.key(message.get("messageId"), position)
        parent = enclosing or message.get("parentMessageId")
        filed = thread.add(key, _turn(key, message, thread), parent)
        pending += [(child, filed) for child in reversed(listed(message.get("children")))]


def _turn(key: str, message: Raw, thread: Thread) -> Turn | None:
    place = thread.place.message(key)
    by_user = message.get("isCreatedByUser")
    if not isinstance(by_user, bool):
        place.fail("isCreatedByUser does not say who wrote it", by_user)
        return None
    blocks = read_blocks(message.get("content"), place.unknown)
    text = spoken(message.get("text"), blocks)
    role: Role = "user" if by_user else "assistant"
    if not text.strip():
        text = blocks.tools or blocks.unknown
        role = "tool" if blocks.tools else role
    reason = "error" if message.get("error") is True else None
    return Turn(
        id=key,
        session=thread.chat_id,
        speaker=role,
        role=role,
        text=text,
        time=iso_time(message.get("createdAt"), place),
        aside=reason or (None if text.strip() else "empty"),
    )


EXPORT = Export("librechat", "LibreChat", _chats_in, _read)
