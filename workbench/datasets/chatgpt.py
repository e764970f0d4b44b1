"""ChatGPT exports: `conversations.json`, whole, split in several files, or one conversation.

A conversation is a tree of nodes. What the user saw is the branch that ends in `current_node`;
everything else is set aside with its reason. Where `current_node` is missing or unknown, the newest
leaf by `create_time` (the smallest id among equals) takes its place, with a warning.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from typing import Any, NamedTuple

from workbench.datasets.chatgpt_text import text_of
from workbench.datasets.chats import (
    Chat,
    Export,
    Place,
    chats_in,
    instant,
    is_unix_time,
    load_export,
    recognises_export,
    split,
    unix_time,
)
from workbench.datasets.report import Dataset, ImportLog
from workbench.datasets.source import Source
from workbench.datasets.tree import Path, leaves, newest, path_to
from workbench.schema import Role, Turn, digest_of

__all__ = ["load", "recognises"]

SPEAKERS: dict[str, Role] = {"user": "user", "assistant": "assistant"}
HIDDEN_TYPES = frozenset({"user_editable_context", "model_editable_context"})
TOOL_TYPES = frozenset(
    {
        "citable_code_output",
        "code",
        "computer_output",
        "execution_output",
        "reasoning_recap",
        "sonic_webpage",
        "system_error",
        "tether_browsing_code",
        "tether_browsing_display",
        "tether_quote",
        "thoughts",
    }
)

Raw = dict[str, Any]


def load(source: Source, name: str, log: ImportLog) -> Dataset:
    """Read a ChatGPT export as the dataset `name`."""
    return load_export(EXPORT, source, name, log)


def recognises(source: Source) -> bool:
    """Whether a document lists conversations with a `mapping`."""
    return recognises_export(EXPORT, source)


def _chats_in(value: Any) -> list[Any] | None:
    return chats_in(value, lambda chat: "mapping" in chat)


def _read(raw: Raw, document: Place) -> Chat | None:
    chat_id = _chat_id(raw)
    place = document.chat(chat_id)
    nodes = raw.get("mapping")
    if not isinstance(nodes, dict):
        place.fail("mapping is not an object", nodes)
        return None
    messages = _messages(nodes)
    path = _active_path(raw, nodes, place)
    if not place.usable(path, len(messages)):
        return None
    started = unix_time(raw.get("create_time"), place)
    scene = _Scene(chat_id, started, place)
    turns = {key: turn for key in messages if (turn := _turn(key, messages[key], scene))}
    said, aside = split(turns, path)
    return Chat(
        id=chat_id,
        title=raw["title"] if isinstance(raw.get("title"), str) else "",
        where=place.where,
        turns=said,
        aside=aside,
        created=instant(started),
        updated=instant(unix_time(raw.get("update_time"), place)),
    )


class _Scene(NamedTuple):
    """What a message needs to know of its conversation."""

    chat_id: str
    started: datetime | None
    place: Place


def _chat_id(raw: Raw) -> str:
    """The chat's own id, else a digest of its title and time, which a grown export repeats."""
    for key in ("conversation_id", "id"):
        if isinstance(raw.get(key), str) and raw[key]:
            return str(raw[key])
    stated = [raw.get("title"), raw.get("create_time")]
    return digest_of([item for item in stated if isinstance(item, str | int | float)])


def _messages(nodes: Raw) -> dict[str, Any]:
    """The nodes' messages by node id, without the nodes that are only structure."""
    found = {
        key: node.get("message") if isinstance(node, dict) else node for key, node in nodes.items()
    }
    return {key: message for key, message in found.items() if message is not None}


def _active_path(raw: Raw, nodes: Raw, place: Place) -> Path:
    parents = {key: _parent(node) for key, node in nodes.items()}
    current = raw.get("current_node")
    if isinstance(current, str) and current in nodes:
        return path_to(current, parents)
    ends = sorted(leaves(parents))
    if not ends:
        return Path((), looped=bool(nodes))
    leaf = newest(ends, parents, _times(nodes))
    place.log.warn(
        place.where,
        f"current_node is missing or unknown; took the branch of the newest leaf, {leaf}",
        current,
    )
    return path_to(leaf, parents)


def _parent(node: Any) -> str | None:
    parent = node.get("parent") if isinstance(node, dict) else None
    return parent if isinstance(parent, str) else None


def _times(nodes: Raw) -> dict[str, float]:
    """Plausible times of messages; implausible ones are reported where the turns are made."""
    stated = {
        key: message.get("create_time")
        for key, message in _messages(nodes).items()
        if isinstance(message, dict)
    }
    return {key: float(time) for key, time in stated.items() if is_unix_time(time)}


def _turn(key: str, message: Any, scene: _Scene) -> Turn | None:
    """A message as a turn, set aside where it is not part of what was said; None where unusable."""
    place = scene.place.message(key)
    role = _role(message) if isinstance(message, dict) else None
    if role is None:
        place.fail("message without an author's role", message)
        return None
    reason = _reason(message, role)
    text = text_of(message.get("content"), Counter() if reason else place.unknown)
    time = unix_time(message.get("create_time"), place)
    return Turn(
        id=key,
        session=scene.chat_id,
        speaker=role,
        role=SPEAKERS.get(role, "tool"),
        text=text,
        time=time if message.get("create_time") is not None else scene.started,
        aside=reason or (None if text.strip() else "empty"),
    )


def _role(message: Raw) -> str | None:
    author = message.get("author")
    role = author.get("role") if isinstance(author, dict) else message.get("role")
    return role if isinstance(role, str) and role else None


def _reason(message: Raw, role: str) -> str | None:
    """Why a message is no part of the conversation on any branch, or None."""
    metadata, content = message.get("metadata"), message.get("content")
    kind = content.get("content_type") if isinstance(content, dict) else None
    hidden = isinstance(metadata, dict) and metadata.get("is_visually_hidden_from_conversation")
    if hidden or kind in HIDDEN_TYPES:
        return "hidden"
    if role == "user":
        return None
    if role != "assistant":
        return role
    addressee = message.get("recipient")
    return "tool" if addressee not in (None, "all") or kind in TOOL_TYPES else None


EXPORT = Export("chatgpt", "ChatGPT", _chats_in, _read)
