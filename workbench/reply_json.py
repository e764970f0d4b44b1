"""JSON objects in a model's reply: past thoughts, prose and fences, with small bounded repairs.

One pass over the text, which knows strings: a value may hold back-ticks, braces or tags, and keeps
them. Repaired is what has one reading: commas before a closing bracket, Python's True, False and
None, line breaks inside strings, halves of surrogate pairs. Nothing is ever closed that was left
open, because a list that was cut off would pass for a shorter list.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

__all__ = ["Found", "objects_in"]

# A thought, as reasoning models write it (DeepSeek, Qwen, gpt-oss). A template may have opened it
# already, so that the reply holds the closing tag alone.
TAGS = r"(?:think|thinking|thought|reasoning|reflection)"
CLOSING = re.compile(rf"</{TAGS}\s*>|<\|channel\|>\s*final\s*<\|message\|>", re.IGNORECASE)
MARK = re.compile(rf"[{{\[]|<{TAGS}\s*>|{CLOSING.pattern}", re.IGNORECASE)
# A bracket of prose ("see [1]", "the set {a, b}") is told from the beginning of JSON by this.
JSON_START = re.compile(r'\{\s*(?:["}]|$)|\[\s*(?:[\[{"\]]|$)')
# A string (to the end of the text where it is not closed), or a bracket.
STRING = r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\Z)'
PIECE = re.compile(rf"{STRING}|[{{}}\[\]]", re.DOTALL)
SLIP = re.compile(rf"({STRING})|,(?=\s*[}}\]])|\b(True|False|None)\b", re.DOTALL)
WORDS = {"True": "true", "False": "false", "None": "null"}
# Every bracket outside of a value may cost a pass over the rest of the text. A reply that has more
# characters read than this, over all passes, is no answer.
MOST_READ = 5_000_000


class Found(NamedTuple):
    """What a reply holds, outside its thoughts.

    `objects` are the JSON objects in order, `sources` their texts, `begin` where the thoughts end.
    `cut`: the last thing was left open. `broken`: the last thing looks like JSON and is none.
    `other`: there is JSON that is no object.
    """

    objects: tuple[dict[str, Any], ...]
    sources: tuple[str, ...]
    begin: int
    cut: bool = False
    broken: bool = False
    other: bool = False


class _Piece(NamedTuple):
    """Something of a reply that ends at `end`: a thought, or what looks like JSON."""

    kind: Literal["thought", "value", "broken", "cut"]
    end: int
    value: Any = None
    source: str = ""


def objects_in(text: str) -> Found:
    """The JSON objects of a reply. A list of one object counts as that object."""
    values: list[_Piece] = []
    begin, last = 0, ""
    for piece in _pieces(text):
        last = piece.kind
        if piece.kind == "thought":
            begin = piece.end
            values.clear()
        elif piece.kind == "value":
            values.append(piece)
    objects = [piece for piece in values if isinstance(piece.value, dict)]
    return Found(
        tuple(piece.value for piece in objects),
        tuple(piece.source for piece in objects),
        begin,
        cut=last == "cut",
        broken=last == "broken",
        other=len(objects) < len(values),
    )


def _pieces(text: str) -> Iterator[_Piece]:
    place = read = 0
    while mark := MARK.search(text, place):
        start, place = mark.span()
        if read > MOST_READ:
            yield _Piece("broken", len(text))
            return
        if mark.group() not in ("{", "["):
            closed = mark if CLOSING.fullmatch(mark.group()) else CLOSING.search(text, place)
            place = closed.end() if closed else len(text)
            yield _Piece("thought" if closed else "cut", place)
            continue
        likely = JSON_START.match(text, start) is not None
        end = _end(text, start)
        read += (end or len(text)) - start
        value = None if end is None else _value(text[start:end])
        if value is not None and end is not None:
            place = end
            yield _Piece("value", place, _unwrapped(value), text[start:end])
        elif likely:
            # What lies inside of an unfinished or unreadable value is no answer of its own.
            place = end or _next_thought(text, place)
            yield _Piece("broken" if end else "cut", place)


def _unwrapped(value: Any) -> Any:
    only = value[0] if isinstance(value, list) and len(value) == 1 else value
    return only if isinstance(only, dict) else value


def _next_thought(text: str, place: int) -> int:
    """Where a thought is closed after `place`, if one is: what came before belonged to it."""
    closing = CLOSING.search(text, place)
    return closing.start() if closing else len(text)


def _end(text: str, start: int) -> int | None:
    """Where the bracket at `start` is closed; None where it is not."""
    depth = 0
    for piece in PIECE.finditer(text, start):
        if piece.group() in "{[":
            depth += 1
        elif piece.group() in "}]":
            depth -= 1
            if depth == 0:
                return piece.end()
    return None


def _value(text: str) -> Any:
    """The JSON value, else that of the text with its slips repaired, else None."""
    for candidate in (text, SLIP.sub(_repaired, text)):
        try:
            return _sound(DECODER.decode(candidate))
        except (ValueError, RecursionError):
            continue
    return None


def _repaired(slip: re.Match[str]) -> str:
    string, word = slip.groups()
    return string or WORDS.get(word or "", "")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Two values under one key are two answers; taking the last would be a guess."""
    built = dict(pairs)
    if len(built) != len(pairs):
        raise ValueError("a key stands twice")
    return built


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_object, parse_constant=_no_number)


def _sound(value: Any) -> Any:
    """Halves of surrogate pairs, which nothing can store, become U+FFFD."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, list):
        return [_sound(one) for one in value]
    if isinstance(value, dict):
        return {_sound(key): _sound(one) for key, one in value.items()}
    return value
