"""Half-written notes on pairs: of the process, so that a reloaded page still has them.

They are participants' words, so they stay no longer than needed: a saved judgment takes its note
along, a withdrawal drops all of a participant's, and beyond `MOST` the oldest go.
"""

from __future__ import annotations

from threading import Lock

import streamlit as st

__all__ = ["MOST", "drop", "note_of", "write"]

MOST = 500

Key = tuple[str, str, str]  # collection, participant, item

LOCK = Lock()  # sessions are threads of one process


def note_of(key: Key) -> str:
    """What is written so far; "" for nothing."""
    return _notes().get(key, "")


def write(key: Key, text: str) -> None:
    """Keep a note as it is now; "" drops it."""
    with LOCK:
        held = _notes()
        held.pop(key, None)
        if text:
            held[key] = text
        for oldest in list(held)[:-MOST]:
            del held[oldest]


def drop(collection: str, participant: str) -> None:
    """Drop the notes of somebody who withdraws from a collection."""
    with LOCK:
        held = _notes()
        for key in [key for key in held if key[:2] == (collection, participant)]:
            del held[key]


@st.cache_resource(show_spinner=False)
def _notes() -> dict[Key, str]:
    return {}
