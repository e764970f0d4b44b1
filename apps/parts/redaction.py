"""Names of people hidden, for sharing a screen: the same person is the same “Person 3” everywhere.

What is shown changes, never what is kept, searched or exported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, partial
from typing import Any

import streamlit as st

from parts import data, state
from reward_model import collect, profile_store
from reward_model.known_names import Known, find_forms, forms, normal
from reward_model.store import comparison_sets, open_comparisons
from workbench.usable import people_of

__all__ = [
    "FURTHER",
    "MISSES",
    "ON",
    "hidden",
    "hidden_names",
    "hiding",
    "inside",
    "labels",
    "masked",
    "on",
]

ON, FURTHER = "hide-names", "hide-names-too"

MISSES = """
**What this does not hide.** People who are talked about but never speak, nicknames, and names
that are spelt differently, unless you list them here. Everything else that tells who somebody
is: places, employers, dates, what happened. The address of the page and saved views (a link
names the person whose memories you look at), what you type yourself, texts in boxes for editing,
and every file that you download: these hold the data as it is. To de-identify data for others to
have, use `workbench reward deidentify`, and read the result.
"""

# Where a figure's JSON holds words for people.
READ = frozenset(("text", "hovertext", "ticktext", "name", "labels", "x", "y", "caption", "title"))
# How chats call their two sides: nobody's name, and words of every other sentence.
ROLES = frozenset(("user", "assistant", "human", "system", "tool", "ai", "bot", "unknown"))


def on() -> bool:
    """Whether names are hidden in this session."""
    return bool(state.kept(ON, False))


def hidden(text: str) -> str:
    """A text as this session may see it: with names hidden where that was asked for."""
    return masked(text, hidden_names()) if on() else text


def hiding() -> Callable[[str], str]:
    """`hidden` as it is now, for labels that are made many times, or later."""
    return partial(masked, names=hidden_names()) if on() else lambda text: text


def labels(names: Iterable[str]) -> Callable[[str], str]:
    """`hiding` for the options of one choice, each with a label of its own: two people whose names
    are written alike ("Ana", "ana") would be one choice, and the wrong one is chosen."""
    hide, seen, told = hiding(), Counter[str](), {}
    for name in names:
        label = hide(name)
        seen[label] += 1
        told[name] = label if seen[label] == 1 else f"{label} ({seen[label]})"
    return lambda name: told.get(name, hide(name))


def hidden_names() -> tuple[str, ...]:
    """The names that are hidden: everybody who speaks in the data set that is looked at, every
    participant who judges or keeps memories here, and those that were listed besides."""
    view = state.current()
    further = [name.strip() for name in str(state.kept(FURTHER)).split(",")]
    names = (
        *_people(view.dataset, data.version(view.dataset)),
        *_participants(view.judgments),
        view.participant,
        *further,
    )
    return tuple(dict.fromkeys(name for name in names if name and name.casefold() not in ROLES))


def masked(text: str, names: tuple[str, ...]) -> str:
    """A text with “Person N” for the N-th of some names, and for its parts ("Ana" of "Ana Silva");
    a part that two people share is a person of its own."""
    wanted, numbers = _wanted(names)
    text = normal(text)
    end, pieces = 0, []
    spans = sorted(find_forms(text, wanted), key=lambda span: (span.start, -span.end))
    for span in spans:
        if span.start >= end:
            pieces += [text[end : span.start], f"Person {numbers[span.key]}"]
            end = span.end
    return "".join((*pieces, text[end:]))


def inside(figure: Any, names: tuple[str, ...], key: str = "") -> Any:
    """A figure's JSON with the same done to what is read in it: titles, labels, hovers."""
    if isinstance(figure, str):
        return masked(figure, names) if key in READ else figure
    if isinstance(figure, Mapping):
        return {name: inside(one, names, name) for name, one in figure.items()}
    if isinstance(figure, list | tuple):
        return [inside(one, names, key) for one in figure]
    kind = getattr(getattr(figure, "dtype", None), "kind", "")
    if kind in ("O", "U"):  # an array of words, as plotly keeps columns
        return [inside(one, names, key) for one in figure.tolist()]
    return figure


@lru_cache(maxsize=64)
def _wanted(names: tuple[str, ...]) -> tuple[tuple[Any, ...], dict[str, int]]:
    """The forms in which the names are written, and the number of each form's person."""
    found = forms(Known(people=tuple((name,) for name in names)))
    keys = [f"known {place}" for place in range(len(names))]
    keys += [form.key for form in found if form.key not in keys]
    return tuple(found), {key: place for place, key in enumerate(dict.fromkeys(keys), start=1)}


@st.cache_resource(max_entries=16, show_spinner=False)
def _people(dataset: str, version: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(person for _, person in people_of(data.dataset(dataset))))


def _participants(judgments: str) -> tuple[str, ...]:
    """Those with memories, those of all collections, and those of the set that is looked at."""
    home = data.workspace()
    known = comparison_sets(home)
    judges = _judges(judgments, known[judgments]["content"]) if judgments in known else ()
    return (*profile_store.drafts(home), *collect.everybody(home), *judges)


@st.cache_resource(max_entries=8, show_spinner=False)
def _judges(name: str, content: str) -> tuple[str, ...]:
    found = open_comparisons(data.workspace(), name).comparisons
    return tuple(dict.fromkeys(one.participant for one in found))
