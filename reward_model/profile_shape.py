"""The shape of a memory profile, and the bounded repair of what nearly has it.

Four parts (paper, section on data): two lists of sentences, twelve sections of nested values, and
a list of recent queries. Parts in the wrong place or of the wrong type are put right, and each
repair is noted; what has no place in a profile is noted as dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Literal

from workbench.embed import is_blank
from workbench.schema import Record

__all__ = [
    "INFERRED",
    "LISTS",
    "PARTS",
    "SECTIONS",
    "Finding",
    "Note",
    "arranged",
    "pruned",
    "texts",
    "unwrapped",
]

LISTS = ("part_1", "part_2", "recent_queries")
PARTS = ("part_1", "part_2", "part_3", "recent_queries")
SECTIONS = (
    *("basic_information", "personality_and_long_term_style", "daily_routine", "food_preference"),
    *("entertainment", "work_or_study", "social_exercise_lifestyle", "shopping_and_spending"),
    *("commuting_and_travel", "emotion_and_cognition", "assistant_proactive_service_preference"),
    "privacy_and_security_preference",
)
MISSING = frozenset(("unknown", "null", "none", "n/a", "na", "not known", "not available", "-"))
PLACES = frozenset((*PARTS, *SECTIONS))
DEPTH = 5
LEAF_CHARACTERS = 1000
BULLET = re.compile(r"^\s*(?:[-*•]|\d+[.)])\s+")
INFERRED = re.compile(r"^\s*[\[(]\s*inferred\s*[\])]\s*:?\s*", re.IGNORECASE)

FindingKind = Literal["repaired", "flagged", "dropped", "missing"]


class Finding(Record, frozen=True, kw_only=True):
    """What was noticed at a place of the JSON: `repaired` in form, `flagged` for the participant
    to look at, `dropped` because it has no place in a profile, or `missing` ("Unknown", null)."""

    path: str
    kind: FindingKind
    reason: str


Note = Callable[[str, FindingKind, str], None]


def unwrapped(whole: dict[str, Any], note: Note, depth: int = 0) -> Iterator[dict[str, Any]]:
    """The object itself with its keys in the paper's spelling, or those that it wraps."""
    keyed = {_key(key): value for key, value in whole.items()}
    if keyed.keys() & PLACES:
        if list(keyed) != list(whole):
            note("$", "repaired", "keys written in another way")
        yield keyed
    elif depth < 2:
        for value in whole.values():
            for inner in unwrapped(value, note, depth + 1) if isinstance(value, dict) else ():
                note("$", "repaired", "the profile was wrapped in another object")
                yield inner


def arranged(held: list[dict[str, Any]], note: Note) -> dict[str, Any]:
    """One object of the four parts, made of one or several objects that hold some of them.

    The fullest counts (the last of several such), and gets from the others the parts that it
    lacks. Sections outside part_3 are moved in, and lists inside it out.
    """
    best = max(range(len(held)), key=lambda i: (len(held[i].keys() & PLACES), i))
    whole = dict(held[best])
    for other in held:
        for key in sorted((other.keys() - whole.keys()) & PLACES):
            note(key, "repaired", "taken from another JSON object of the reply")
            whole[key] = other[key]
    inside = _part_3(whole.pop("part_3", None), note)
    for section in [key for key in SECTIONS if key in whole]:
        note(section, "repaired", "moved into part_3")
        inside.setdefault(section, whole.pop(section))
    for name in [name for name in LISTS if name in inside]:
        note(f"part_3.{name}", "repaired", "moved out of part_3")
        whole.setdefault(name, inside.pop(name))
    for key in sorted(whole.keys() - PLACES):
        note(key, "dropped", "not a part of a profile")
    for key in sorted(inside.keys() - set(SECTIONS)):
        note(f"part_3.{key}", "dropped", "none of the twelve sections; type it in if it matters")
    parts = {name: whole[name] for name in LISTS if name in whole}
    return {**parts, "part_3": {key: inside[key] for key in SECTIONS if key in inside}}


def _part_3(value: Any, note: Note) -> dict[str, Any]:
    if value is None:
        return {}
    if isinstance(value, list) and all(isinstance(piece, dict) for piece in value):
        note("part_3", "repaired", "a list of objects where one object was asked for")
        value = {key: inner for piece in value for key, inner in piece.items()}
    if not isinstance(value, dict):
        note(
            "part_3", "dropped", f"{_kind(value)} where an object of twelve sections was asked for"
        )
        return {}
    keyed = {_key(key): inner for key, inner in value.items()}
    if list(keyed) != list(value):
        note("part_3", "repaired", "sections written in another way")
    return keyed


def texts(value: Any, path: str, note: Note) -> tuple[str, ...]:
    """A part that should be a list of texts, as one; repeated texts count once."""
    if value is None:
        return ()
    if isinstance(value, str):
        value = [BULLET.sub("", line) for line in value.splitlines()]
        note(path, "repaired", f"one text where a list was asked for; read as {len(value)} lines")
    elif isinstance(value, dict):
        value = list(value.values())
        note(path, "repaired", "an object where a list was asked for; its values were taken")
    elif not isinstance(value, list):
        value = [value]
        note(path, "repaired", "a single value where a list was asked for")
    kept: dict[str, None] = {}
    for index, item in enumerate(_flat(value, path, note)):
        text = pruned(item, f"{path}[{index}]", note)
        if isinstance(text, str):
            if text in kept:
                note(f"{path}[{index}]", "dropped", "says the same again, word for word")
            kept[text] = None
    return tuple(kept)


def _flat(values: list[Any], path: str, note: Note) -> Iterator[Any]:
    """The items of a list, with the texts of lists and objects among them in their place."""
    for value in values:
        if isinstance(value, list | dict):
            inner = list(value.values()) if isinstance(value, dict) else value
            scalars = [item for item in inner if not isinstance(item, list | dict)]
            lost = len(inner) - len(scalars)
            note(path, "repaired", "a list or object among the texts; its texts were taken")
            if lost:
                note(path, "dropped", f"{lost} values nested too deeply for a list of texts")
            yield from scalars
        else:
            yield value


def pruned(value: Any, path: str, note: Note, depth: int = 0) -> Any:
    """A nested value with texts for scalars and without missing ones; None where nothing is left.

    Values deeper than five levels and texts of more than 1,000 characters are dropped.
    """
    if not isinstance(value, list | dict):
        return _leaf(value, path, note)
    if depth >= DEPTH:
        note(path, "dropped", f"nested deeper than {DEPTH} levels")
        return None
    if isinstance(value, dict):
        inner = {key: pruned(v, f"{path}.{key}", note, depth + 1) for key, v in value.items()}
        return {key: kept for key, kept in inner.items() if kept is not None} or None
    items = [pruned(v, f"{path}[{i}]", note, depth + 1) for i, v in enumerate(value)]
    return [item for item in items if item is not None] or None


def _leaf(value: Any, path: str, note: Note) -> str | None:
    if isinstance(value, bool):
        note(path, "repaired", "true or false made a word")
        return "yes" if value else "no"
    text = "" if value is None else str(value).strip()
    if is_blank(text) or INFERRED.sub("", text).strip(" .").lower() in MISSING:
        note(path, "missing", "nothing known")
        return None
    if len(text) > LEAF_CHARACTERS:
        note(path, "dropped", f"{len(text):,} characters; a text has at most {LEAF_CHARACTERS:,}")
        return None
    return text


def _key(key: str) -> str:
    """ "Part 1", "part1" and "PART-1" are part_1; "Food preference" is food_preference."""
    plain = re.sub(r"[\W_]+", "_", key.strip().lower()).strip("_")
    return re.sub(r"^part_?(?=[123]$)", "part_", plain)


def _kind(value: Any) -> str:
    return {str: "a text", list: "a list", bool: "true or false"}.get(type(value), "a number")
