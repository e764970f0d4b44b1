"""Pieces of a text that are to be masked: what rules find, and how overlapping ones become one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from reward_model.known_names import Span, SpanType
from reward_model.profile_cues import cues

__all__ = ["cue_spans", "merged", "outside", "overlap"]

CUE_TYPES: dict[str, SpanType] = {
    "person": "PERSON",
    "employer": "ORGANISATION",
    "school": "ORGANISATION",
    "account": "ACCOUNT",
}
KNOWN = "known names"


def cue_spans(text: str) -> Iterator[Span]:
    """Names and contacts that wording gives away."""
    for cue in cues(text):
        piece = text[cue.start : cue.end]
        kind = CUE_TYPES.get(cue.kind) or _contact(piece)
        key = re.sub(r"[\W_]", "", piece) if kind == "PHONE" else piece.casefold()
        yield Span(cue.start, cue.end, kind, key, "name rules")


def _contact(piece: str) -> SpanType:
    if "@" in piece:
        return "EMAIL"
    return "LINK" if any(char.isalpha() for char in piece) else "PHONE"


def overlap(one: Span, other: Span) -> bool:
    return one.start < other.end and other.start < one.end


def outside(span: Span, masked: Sequence[tuple[int, int]]) -> Iterator[Span]:
    """The pieces of a span that lie outside what is masked already (in reading order)."""
    at = span.start
    for start, end in masked:
        if end <= at or start >= span.end:
            continue
        if start > at:
            yield span._replace(start=at, end=start)
        at = end
    if at < span.end:
        yield span._replace(start=at)


def merged(text: str, spans: Sequence[Span]) -> list[Span]:
    """Spans in reading order, those that overlap united, without any of mere white space."""
    groups: list[list[Span]] = []
    reach = -1
    for span in sorted(spans, key=lambda one: (one.start, -one.end)):
        if not text[span.start : span.end].strip():
            continue
        if span.start < reach:
            groups[-1].append(span)
        else:
            groups.append([span])
        reach = max(reach, span.end)
    return [_united(text, group) for group in groups]


def _strength(span: Span) -> tuple[int, bool, bool]:
    """Longer, then known, then anything rather than a telephone number, which much looks like."""
    return span.end - span.start, span.source == KNOWN, span.type != "PHONE"


def _united(text: str, group: Sequence[Span]) -> Span:
    """One span over all of a group, of the type of its longest member (a known one of equals).

    A name that a rule found, with one known person in it, is that person.
    """
    start, end = group[0].start, max(span.end for span in group)
    longest = max(group, key=_strength)
    if (longest.start, longest.end) != (start, end):
        longest = longest._replace(key=text[start:end].casefold(), instead="")
    people = {span.key for span in group if span.type == "PERSON" and span.source == KNOWN}
    if longest.type == "PERSON" and longest.source != KNOWN and len(people) == 1:
        longest = longest._replace(key=people.pop())
    return longest._replace(start=start, end=end)
