"""Anybody's text as HTML that shows it literally: nothing in it is markup, and nothing runs.

What is returned is escaped first and then passed through nh3, which keeps nothing but the few tags
that this module itself adds. Interfaces show it with their HTML elements; they never build HTML.
"""

from __future__ import annotations

import html
from collections.abc import Iterable

import nh3

from workbench.theme import visible

__all__ = ["literal", "marked"]

TAGS = {"mark", "br"}


def literal(text: str, cut: int | None = None) -> str:
    """The text as inert HTML, its line breaks kept, cut at `cut` characters where one is given."""
    return marked(text, (), cut)


def marked(text: str, phrases: Iterable[str], cut: int | None = None) -> str:
    """The same, with every occurrence of some phrases in `<mark>`; letters' case does not matter.

    Overlapping phrases are marked together. Blank phrases mark nothing.
    """
    shown = text if cut is None or len(text) <= cut else text[: cut - 1] + "…"
    lines = ["".join(_pieces(visible(line), phrases)) for line in shown.splitlines()]
    return nh3.clean("<br>".join(lines), tags=TAGS, attributes={})


def _pieces(line: str, phrases: Iterable[str]) -> Iterable[str]:
    """Runs of a line, escaped, those inside a phrase within `<mark>`."""
    inside = [False] * len(line)
    folded = line.lower()
    # Some letters grow when they are lowered; then places differ, and only exact ones are marked.
    haystack = folded if len(folded) == len(line) else line
    for phrase in phrases:
        needle = visible(phrase).lower() if haystack is folded else visible(phrase)
        at = haystack.find(needle) if needle else -1
        while at >= 0:
            inside[at : at + len(needle)] = [True] * len(needle)
            at = haystack.find(needle, at + 1)
    start = 0
    for end in range(1, len(line) + 1):
        if end == len(line) or inside[end] != inside[start]:
            run = html.escape(line[start:end])
            yield f"<mark>{run}</mark>" if inside[start] else run
            start = end
