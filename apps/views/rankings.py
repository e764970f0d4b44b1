"""Two rankings side by side: every hit with its text, how far it moved, and what its score is
made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import streamlit as st

from parts import show
from parts.show import literal
from workbench.effects import effect_on

__all__ = ["evidence_lines", "side_by_side", "summary"]

CUT = 420  # characters of a memory that are shown
# What a part of a score is called, and the class that colours it.
PARTS = {
    "query": "question",
    "prior": "profile",
    "lexical": "words",
    "boost": "dimensions",
    "neighbours": "neighbours",
    "speaker": "speaker",
    "lent": "lent",
}

# What an effect is called here, and the class that colours it.
VERDICTS = {"helped": "helps", "hurt": "hurts", "unchanged": "same"}


def side_by_side(asked: Mapping[str, Any]) -> None:
    """Draw both rankings of what `workbench.ask.ask` returns."""
    gold = set(asked["evidence"] or ())
    widest = max((_size(hit) for hits in asked["rankings"].values() for hit in hits), default=1.0)
    left, right = st.columns(2, gap="medium")
    first = "Rewritten question alone" if "searched_with" in asked else "Question alone"
    titles = (first, "With the profile prior")
    for column, title, name in zip((left, right), titles, ("without", "with"), strict=True):
        with column:
            st.subheader(title)
            rows = "".join(
                _hit(hit, gold, widest, moved=name == "with") for hit in asked["rankings"][name]
            )
            st.html(f'<ol class="hits">{rows}</ol>' if rows else "<p>Nothing is retrieved.</p>")
    _legend(asked)


def summary(asked: Mapping[str, Any], k: int) -> tuple[str, str]:
    """What the prior does to this question's evidence: "helps", "hurts" or "same", and that in a
    sentence; nothing where no evidence is marked."""
    places = asked["places"]
    if not places:
        return "", "No evidence is marked for this question: nothing tells a right memory."
    effect, had, has = effect_on(places, k)
    n = len(places)
    verdict = VERDICTS[effect]
    begins = {
        "same": "The profile makes no difference to what is found here",
        "helps": "The profile helps here",
        "hurts": "The profile hurts here",
    }[verdict]
    if n == 1:
        found = {True: "is", False: "is not"}
        said = (
            f"the evidence {found[bool(has)]} among the first {k}, with it or without it"
            if had == has
            else f"with it the evidence {found[bool(has)]} among the first {k}, without it, it "
            f"{found[bool(had)]}"
        )
    else:
        said = f"of {n} pieces of evidence, {has} are among the first {k} with it, {had} without it"
    return verdict, f"{begins}: {said}."


def evidence_lines(asked: Mapping[str, Any]) -> list[str]:
    """Where each piece of evidence stands, without and with the prior."""
    return [
        f"{place['turn']}: rank {_rank(place['without'])} without, {_rank(place['with'])} with"
        for place in asked["places"]
    ]


def _rank(rank: int | None) -> str:
    return "none (nothing retrievable holds it)" if rank is None else f"{rank:,}"


def _hit(hit: Mapping[str, Any], gold: set[str], widest: float, moved: bool) -> str:
    """One hit as HTML; everything from the data goes through `escaped`."""
    star = f'<b class="star">{show.MARK} evidence</b>' if gold.intersection(hit["sources"]) else ""
    when = datetime.fromisoformat(hit["time"]).strftime("%d %b %Y") if hit["time"] else ""
    about = " · ".join(
        filter(None, (literal(hit["owner"]), when, literal(", ".join(hit["sources"][:3]))))
    )
    kind = (
        f' <span class="quiet">{literal(hit["kind"])}</span>' if hit["kind"] == "semantic" else ""
    )
    return (
        f'<li class="hit{" evidence" if star else ""}"><div class="who">'
        f'<b class="rank">{hit["rank"]}</b>{_movement(hit) if moved else ""}{kind} {star}'
        f'<span class="quiet about">{about}</span></div>'
        f'<div class="literal">{literal(_body(hit), CUT)}</div>{_score(hit, widest)}</li>'
    )


def _body(hit: Mapping[str, Any]) -> str:
    """The text without its speaker's name, which stands beside it."""
    text: str = hit["text"]
    return text.removeprefix(f"{hit['owner']}: ")


def _movement(hit: Mapping[str, Any]) -> str:
    was, now = hit["rank_without"], hit["rank"]
    if was is None:
        return ""
    if was == now:
        return '<span class="moved same">= as before</span>'
    arrow, kind = ("▲", "up") if was > now else ("▼", "down")
    return f'<span class="moved {kind}">{arrow} from {was:,}</span>'


def _size(hit: Mapping[str, Any]) -> float:
    return sum(abs(part) for part in hit["parts"].values()) or 1.0


def _score(hit: Mapping[str, Any], widest: float) -> str:
    """The score as the sum of its parts: a bar for the eye, numbers beside it."""
    bars = "".join(
        f'<span class="part {_class(name)}{" minus" if part < 0 else ""}" '
        f'style="width:{100 * abs(part) / widest:.1f}%"></span>'
        for name, part in hit["parts"].items()
    )
    sums = " + ".join(f"{_called(name)} {part:.3f}" for name, part in hit["parts"].items())
    return (
        f'<div class="bar" aria-hidden="true">{bars}</div>'
        f'<div class="quiet sum">{hit["score"]:.3f} = {literal(sums)}</div>'
    )


def _called(name: str) -> str:
    return PARTS.get(name, name)


def _class(name: str) -> str:
    return f"part-{name}" if name in PARTS else "part-other"


def _legend(asked: Mapping[str, Any]) -> None:
    """What the colours of the bars are."""
    hits = [hit for ranking in asked["rankings"].values() for hit in ranking]
    seen: Iterable[str] = dict.fromkeys(name for hit in hits for name in hit["parts"])
    told = "".join(
        f'<span class="key"><span class="part {_class(name)}"></span>'
        f"{literal(_called(name))}</span>"
        for name in seen
    )
    st.html(
        f'<div class="legend quiet"><span>Score =</span>{told}'
        f"<span>{show.MARK} holds evidence; ▲▼ moved by the prior</span></div>"
    )
