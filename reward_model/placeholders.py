"""Typed placeholders in one participant's texts: the same thing is the same placeholder everywhere.

All texts of a participant are read first. Names that a rule finds in one of them ("my sister Ana")
are then masked in all, and numbers follow the order of appearance. Pieces that overlap are masked
as one, so that nothing of either is left. Masking what is masked already changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple, get_args

import msgspec

from reward_model.exact_dates import addresses, exact_dates
from reward_model.known_names import Form, Known, Span, SpanType, find_forms, forms, normal
from reward_model.masked_spans import cue_spans, merged, outside, overlap
from reward_model.recognisers import recognised
from workbench.errors import UsageError

__all__ = ["PLACEHOLDER", "Masked", "Masker"]

TYPES: tuple[SpanType, ...] = get_args(SpanType)
# What masking leaves behind, and must leave alone when it meets it again.
PLACEHOLDER = re.compile(
    rf"\[(?P<type>{'|'.join(TYPES)})(?:_(?P<number>\d+))?(?:: (?P<instead>[^\[\]\n]{{1,80}}))?\]"
)
PASSES = 4
DATED = re.compile(r"(?:[A-Z][a-z]+ )?\d{4}|[A-Z][a-z]+")


class Masked(NamedTuple):
    """A text with placeholders; what was masked, by (type, key), and how many of its words."""

    text: str
    things: tuple[tuple[SpanType, str], ...]
    sources: tuple[str, ...]
    words: int


class Masker:
    """Masks the texts of one participant.

    `texts` are all of them, in a fixed order: numbering follows it. `known` is what the participant
    lists. Raises UsageError where something to be said instead of a place names a known one.
    """

    def __init__(self, texts: Sequence[str], known: Known) -> None:
        self.known = known
        self.forms = _with_found(known, [normal(text) for text in texts])
        self.instead = frozenset(filter(None, known.places.values()))
        for said in self.instead:
            if any(find_forms(said, self.forms)) or not PLACEHOLDER.fullmatch(f"[PLACE_1: {said}]"):
                raise UsageError(
                    f"known places: {said!r} is to be said instead of a place; it must not name a "
                    "known name itself, nor hold brackets or more than 80 characters"
                )
        self.numbers: dict[tuple[SpanType, str], int] = {}
        self.taken: dict[str, int] = {}
        for text in texts:
            for found in PLACEHOLDER.finditer(text):
                number = int(found["number"] or 0) if len(found["number"] or "") < 7 else 0
                self.taken[found["type"]] = max(self.taken.get(found["type"], 0), number)
        self.done: dict[str, Masked] = {}
        for text in texts:  # numbers are given in the order of the texts, whatever is masked first
            self.mask(text)

    def mask(self, text: str) -> Masked:
        """A text with placeholders for what was found in it, until nothing more is found."""
        if text not in self.done:
            self.done[text] = self._masked(normal(text))
        return self.done[text]

    def _masked(self, text: str) -> Masked:
        things: list[tuple[SpanType, str]] = []
        sources: list[str] = []
        words = 0
        for _ in range(PASSES):
            spans = merged(text, self._spans(text))
            if not spans:
                break
            things += [(span.type, span.key) for span in spans]
            sources += [span.source for span in spans]
            words += sum(len(text[span.start : span.end].split()) for span in spans)
            for span in reversed(spans):
                text = text[: span.start] + self._placeholder(span, spans) + text[span.end :]
        return Masked(text, tuple(things), tuple(sources), words)

    def _spans(self, text: str) -> list[Span]:
        """Everything found in a text, outside what is masked already."""
        found = [*find_forms(text, self.forms), *exact_dates(text), *addresses(text)]
        found += [*cue_spans(text), *recognised(text)]
        days = [span for span in found if span.type == "DATE"]
        found = [
            span
            for span in found
            # The digits of a date beside other digits look like a telephone number.
            if span.type not in ("PHONE", "NUMBER") or not any(overlap(span, day) for day in days)
        ]
        masked = [match.span() for match in PLACEHOLDER.finditer(text) if self._ours(match)]
        return [piece for span in found for piece in outside(span, masked)]

    def _ours(self, match: re.Match[str]) -> bool:
        """Whether this is what masking wrote, and not a person's text in its clothes."""
        said = match["instead"]
        if match["type"] == "DATE":
            return match["number"] is None and (said is None or bool(DATED.fullmatch(said)))
        return match["number"] is not None and (said is None or said in self.instead)

    def _placeholder(self, span: Span, spans: Sequence[Span]) -> str:
        if span.type == "DATE":
            return f"[DATE: {span.instead}]" if span.instead else "[DATE]"
        for one in spans:  # in reading order, though they are replaced from the end
            if one.type != "DATE" and (one.type, one.key) not in self.numbers:
                self.taken[one.type] = self.taken.get(one.type, 0) + 1
                self.numbers[one.type, one.key] = self.taken[one.type]
        name = f"{span.type}_{self.numbers[span.type, span.key]}"
        return f"[{name}: {span.instead}]" if span.instead else f"[{name}]"


def _with_found(known: Known, texts: Iterable[str]) -> list[Form]:
    """The forms of what is known, and of the names that rules find in any of the texts."""
    given = forms(known)
    people: dict[str, str] = {}
    organisations: dict[str, str] = {}
    for text in texts:
        for span in cue_spans(text):
            name = text[span.start : span.end]
            into = {"PERSON": people, "ORGANISATION": organisations}.get(span.type)
            if into is not None and not any(find_forms(name, given)):
                into.setdefault(name.casefold(), name)
    whole = msgspec.structs.replace(
        known,
        people=(*known.people, *((name,) for name in people.values())),
        organisations=(*known.organisations, *organisations.values()),
    )
    listed = {form.text.casefold() for form in given}
    return [
        form if form.text.casefold() in listed else form._replace(source="name rules")
        for form in forms(whole)
    ]
