"""A case as one HTML file: opens from disk with the network off, and runs no script.

Everything that comes from data is escaped text; besides, the page's own policy lets nothing run
and nothing be fetched.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from string import Template
from typing import Any

import polars as pl

from workbench.ask import Asking, told
from workbench.case_tables import ladder_table, said_table, split_table
from workbench.case_words import searched_with
from workbench.errors import UsageError
from workbench.escaped import literal
from workbench.excerpt import excerpt
from workbench.figures.components import COLOURS, NAMES
from workbench.inspection import context
from workbench.passport import passport_of_question
from workbench.schema import Gold, Question
from workbench.theme import MODES, NEUTRAL

__all__ = ["card", "card_name", "facts_of"]

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
CUT = 420  # characters of a memory
AROUND = 2  # turns before and after each piece of evidence


def card(
    one: Asking,
    why: str,
    rival: str | None = None,
    top: int = 5,
    said: pl.DataFrame | None = None,
    rewriter: str = "",
) -> str:
    """The card of a dataset's question: who asks it, `why` it was chosen, the first `top` memories
    without and with the prior and what their scores are made of, where its evidence stands as
    components are added and which part moves it, its evidence in the dialogue, the memory `rival`
    (an id) that is mistaken for it if there is one, what runs `said` (`case_answers.told_of`), and
    where all this comes from; `rewriter`, for people, is who worded what was searched with.

    Raises UsageError for free text, which has no evidence to speak of.
    """
    if one.question is None:
        raise UsageError("a case is a question of the dataset: free text has no evidence")
    asked, title = told(one) | searched_with(one) | {"rewriter": rewriter}, literal(one.text, 300)
    gold = set(one.question.gold.evidence)
    return "\n".join(
        [
            *_head(title),
            *_lead(one, title, why),
            "<h2>What is found first</h2>",
            *_rankings(asked, gold, top),
            "<h2>Components added one at a time</h2>",
            *ladder_table(one),
            "<h2>What moves the evidence</h2>",
            *split_table(one),
            "<h2>The evidence in the dialogue</h2>",
            excerpt(context(one.banks.dataset, one.scope, gold, AROUND)),
            *_rival(one, rival),
            *said_table(said),
            "<h2>Where this comes from</h2>",
            *_origin(one, asked),
            "</main></body></html>",
            "",
        ]
    )


def _lead(one: Asking, title: str, why: str) -> Iterator[str]:
    """The question, why it was chosen, what was searched with, and what is known of it."""
    yield f"<h1>{title}</h1>"
    yield f"<p>{literal(why)}</p>"
    yield from (f"<p>Searched with: {literal(said)}</p>" for said in searched_with(one).values())
    if one.question is not None:
        yield from _pairs(facts_of(one.question))


def _head(title: str) -> Iterator[str]:
    yield '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{html.escape(POLICY)}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{title}</title>\n<style>{_style()}</style>\n</head>\n<body><main>"


def card_name(question: str) -> str:
    """A file name for a question's card: made of its id, and never a path.

    >>> card_name("c1/../3")
    'case-c1-3.html'
    """
    plain = re.sub(r"[^A-Za-z0-9_-]+", "-", question).strip("-")[:80]
    return f"case-{plain or 'unnamed'}.html"


def facts_of(question: Question) -> dict[str, str]:
    """What is known of a question, by name: who asks, its kind, the answer expected and its
    evidence, and those of the audit where it disputes them. For people: plain text."""
    told = {
        "asked as": f"{' & '.join(question.people) or 'nobody'} ({question.scope})",
        "kind": question.category,
        "expected answer": question.gold.answer or "none",
        "evidence": ", ".join(question.gold.evidence) or "none",
    }
    if question.audited is None:
        return told
    return {
        **told,
        "the audit says": (question.audit or "it differs").replace("_", " ").lower(),
        "its answer": _differing(question.audited, question.gold),
        "its evidence": ", ".join(question.audited.evidence) or "none",
    }


def _differing(audited: Gold, gold: Gold) -> str:
    return "the same" if audited.answer == gold.answer else audited.answer or "none"


def _rankings(asked: Mapping[str, Any], gold: set[str], top: int) -> Iterator[str]:
    recipe = asked["recipe"]
    kept = {name: hits[:top] for name, hits in asked["rankings"].items()}
    hits = [hit for ranking in kept.values() for hit in ranking]
    names = dict.fromkeys(name for hit in hits for name in hit["parts"])
    yield '<div class="legend muted">'
    for name in names:
        key = f'<i class="key" style="background:{COLOURS.get(name, NEUTRAL)}"></i>'
        yield f"<span>{key}{literal(NAMES.get(name, name))}</span>"
    yield "<span>★ holds evidence</span></div>"
    widest = max((_size(hit) for hit in hits), default=0.0) or 1.0
    headings = {
        "without": "By the question alone",
        "with": f"With the prior {recipe['prior']}, λ = {recipe['lam']:g}",
    }
    yield '<div class="two">'
    for name, heading in headings.items():
        yield f"<section><h3>{literal(heading)}</h3><ol>"
        yield from (_hit(hit, gold, widest) for hit in kept[name])
        yield "</ol></section>" if kept[name] else "</ol><p>Nothing is found.</p></section>"
    yield "</div>"


def _hit(hit: Mapping[str, Any], gold: set[str], widest: float) -> str:
    evidence = bool(gold.intersection(hit["sources"]))
    was = hit["rank_without"]
    moved = f" (was {was})" if was not in (None, hit["rank"]) else ""
    bars = "".join(
        f'<span style="width:{100 * abs(value) / widest:.2f}%;opacity:{1 if value >= 0 else 0.35};'
        f'background:{COLOURS.get(name, NEUTRAL)}"></span>'
        for name, value in hit["parts"].items()
    )
    sums = " ".join(f"{value:+.3f}".replace("-", "−") for value in hit["parts"].values())
    return (
        f"<li{' class=evidence' if evidence else ''}><b>{hit['rank']}</b>{moved} "
        f"{'★ ' if evidence else ''}<small>{literal(', '.join(hit['sources'][:4]), 80)}</small>"
        f"<div>{literal(hit['text'], CUT)}</div>"
        f'<div class="bar">{bars}</div><small>{hit["score"]:.3f} = {sums}</small></li>'
    )


def _rival(one: Asking, rival: str | None) -> Iterator[str]:
    """The dialogue around the memory that is mistaken for the evidence."""
    for memory in one.shelf.bank.memories:
        if memory.id == rival:
            yield "<h2>What is mistaken for it</h2>"
            yield excerpt(context(one.banks.dataset, one.scope, memory.sources, 1))


def _origin(one: Asking, asked: Mapping[str, Any]) -> Iterator[str]:
    passport = passport_of_question(asked, one.banks.dataset.name)
    recipe = asked["recipe"]
    yield from _pairs(
        {
            "data": f"{passport.dataset}, question {one.question.id if one.question else ''}",
            "memories": f"{recipe['memories']}, embedder {recipe['embedder']}",
            "ranking": f"{recipe['retriever']}, prior {recipe['prior']}, λ = {recipe['lam']:g}",
            "passport": passport.origin,
            "licence": one.banks.dataset.licence or "not stated",
        }
    )
    yield from (f'<p class="muted">{literal(note)}</p>' for note in asked["notes"])


def _pairs(pairs: Mapping[str, str]) -> Iterator[str]:
    yield "<dl>"
    yield from (f"<dt>{literal(k)}</dt><dd>{literal(v, 1_000)}</dd>" for k, v in pairs.items())
    yield "</dl>"


def _size(hit: Mapping[str, Any]) -> float:
    return sum(map(abs, hit["parts"].values()))


def _style() -> str:
    colours = {
        f"{name}_{field}": getattr(mode, field)
        for name, mode in MODES.items()
        for field in mode.__struct_fields__
    }
    text = files("workbench").joinpath("case_card.css").read_text(encoding="utf-8")
    return Template(text).substitute(colours)
