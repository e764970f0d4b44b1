"""Claude exports: a list of conversations with `chat_messages`, or one of them.

Messages are read in the order of the list. Only where several answer the same message is the branch
chosen that ends in `current_leaf_message_uuid`, else in the newest leaf; other branches are set
aside. A message's text is `text`, else its text blocks; files bring their extracted text along.
"""

from __future__ import annotations

from typing import Any

from workbench.datasets.blocks import Blocks, listed, read_blocks, spoken
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

MAX_ATTACHMENT = 100_000  # characters of files that one message may bring along
SPEAKERS: dict[Any, Role] = {"human": "user", "assistant": "assistant"}

Raw = dict[str, Any]


def load(source: Source, name: str, log: ImportLog) -> Dataset:
    """Read a Claude export as the dataset `name`."""
    return load_export(EXPORT, source, name, log)


def recognises(source: Source) -> bool:
    """Whether a document lists conversations with `chat_messages`."""
    return recognises_export(EXPORT, source)


def _chats_in(value: Any) -> list[Any] | None:
    return chats_in(value, lambda chat: "chat_messages" in chat)


def _read(raw: Raw, document: Place) -> Chat | None:
    chat_id = _chat_id(raw)
    place = document.chat(chat_id)
    messages = raw.get("chat_messages")
    if not isinstance(messages, list):
        place.fail("chat_messages is not a list", messages)
        return None
    thread = Thread(chat_id, place)
    for position, message in enumerate(messages, start=1):
        _file(message, position, thread)
    path = _path(raw, thread)
    if not place.usable(path, len(thread.turns)):
        return None
    said, aside = split(thread.turns, path)
    return Chat(
        id=chat_id,
        title=raw["name"] if isinstance(raw.get("name"), str) else "",
        where=place.where,
        turns=said,
        aside=aside,
        created=instant(iso_time(raw.get("created_at"), place)),
        updated=instant(iso_time(raw.get("updated_at"), place)),
    )


def _chat_id(raw: Raw) -> str:
    """The chat's own id, else a digest of its name and time, which a grown export repeats."""
    if isinstance(raw.get("uuid"), str) and raw["uuid"]:
        return str(raw["uuid"])
    stated = [raw.get("name"), raw.get("created_at")]
    return digest_of([item for item in stated if isinstance(item, str)])


def _path(raw: Raw, thread: Thread) -> Path:
    if not thread.branches:
        return Path(tuple(thread.parents))
    leaf = raw.get("current_leaf_message_uuid")
    if not isinstance(leaf, str) or leaf not in thread.parents:
        leaf = thread.newest_leaf()
    return Path((), looped=True) if leaf is None else path_to(leaf, thread.parents)


def _file(message: Any, position: int, thread: Thread) -> None:
    if not isinstance(message, dict):
        place = thread.place.message(f"number {position}")
        place.fail("message is not an object", message)
        return
    key = thread.key(message.get("uuid"), position)
    turn = _turn(key, message, thread)
    thread.add(key, turn, message.get("parent_message_uuid"))


def _turn(key: str, message: Raw, thread: Thread) -> Turn | None:
    place = thread.place.message(key)
    sender = message.get("sender")
    role = SPEAKERS.get(sender) if isinstance(sender, str) else None
    if role is None:
        place.fail("sender is neither human nor assistant", sender)
        return None
    blocks = read_blocks(message.get("content"), place.unknown)
    attachment = _attachment(message.get("attachments"), place)
    text = spoken(message.get("text"), blocks)
    if not text.strip() and not attachment:
        text = _placeholder(message, blocks)
        role = "tool" if text and text == blocks.tools else role
    return Turn(
        id=key,
        session=thread.chat_id,
        speaker=role,
        role=role,
        text=text,
        time=iso_time(message.get("created_at"), place),
        attachment=attachment or None,
        aside=None if text.strip() or attachment else "empty",
    )


def _placeholder(message: Raw, blocks: Blocks) -> str:
    """What stands for a message without words: its tools, else its files, else what is unknown."""
    names = [
        f"[file {name}]"
        for field in ("files", "attachments")
        for file in listed(message.get(field))
        if isinstance(file, dict) and isinstance(name := file.get("file_name"), str)
    ]
    return blocks.tools or " ".join(names) or blocks.unknown


def _attachment(attachments: Any, place: Place) -> str:
    """The extracted text of all attached files, each after its name, cut at `MAX_ATTACHMENT`."""
    texts = [
        f"{file.get('file_name') or 'attachment'}: {file['extracted_content']}"
        for file in listed(attachments)
        if isinstance(file, dict) and isinstance(file.get("extracted_content"), str)
        if file["extracted_content"].strip()
    ]
    whole = "\n\n".join(texts)
    surplus = len(whole) - MAX_ATTACHMENT
    if surplus > 0:
        why = f"attached text cut after {MAX_ATTACHMENT} characters; {surplus} left out"
        place.log.warn(place.where, why)
    return whole[:MAX_ATTACHMENT]


EXPORT = Export("claude", "Claude", _chats_in, _read)
