"""The session's view, kept across pages and written into the address.

A widget's own memory is dropped when its page is left. So nothing is read from widgets: each is
given its value from the view, and writes what was chosen back into it (`bound`). The address always
shows the view, so that it can be shared; an address changed by hand, or by the browser's back
button, changes the view.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

import streamlit as st

from parts import given
from workbench.errors import WorkbenchError
from workbench.view import View, decode_view, read_view, view_of

__all__ = [
    "begin",
    "bound",
    "change",
    "current",
    "end",
    "forget",
    "go",
    "hold",
    "keep",
    "kept",
    "kept_among",
    "kept_as",
    "mine",
    "read_only",
    "remark",
    "remarks",
    "take_file",
    "taken",
    "where",
]

VIEW, WRITTEN, REMARKS = "_view", "_written", "_remarks"
KEPT = "_kept"
# Set while the view is newer than the address: a person's click came before the browser heard of
# the address that the click before it made. It stands until a run has reached its end: the next
# click may interrupt the run that this one began.
CHANGED, PAGE = "_changed", "_page_wanted"
# The address that the explorer last replaced, and when. A browser that has not heard of the new
# one may send it once more; nobody presses "back" that fast.
REPLACED, HEARING_SECONDS = "_replaced", 1.0
SOURCE = "_source"
TAKEN = "_taken"  # this run's view comes from an address or a file


def begin() -> str | None:
    """Take the view from the address (or, at first, the file of `--view`). Returns the page that
    a saved view asks for, once."""
    address = dict(st.query_params)
    changed = st.session_state.get(CHANGED, False)
    wanted: str | None = st.session_state.pop(PAGE, None)
    if wanted is None:
        st.session_state[REMARKS] = []
        st.session_state[SOURCE] = "address"
    elif wanted:  # the page is changed before anything is said
        st.session_state[PAGE] = ""
    if VIEW not in st.session_state:
        return _first(address)
    news = address and not changed and address != st.session_state.get(WRITTEN)
    if news and not _just_replaced(address):
        _take(address)
    return wanted


def end(page: str) -> None:
    """Write the view of this page into the address."""
    st.session_state[VIEW] = current().but(page=page)
    shown = {key: value for key, value in current().parameters().items() if key != "page"}
    st.session_state[WRITTEN] = shown
    st.session_state.pop(CHANGED, None)
    st.session_state.pop(PAGE, None)
    st.session_state.pop(TAKEN, None)
    before = dict(st.query_params)
    if before != shown:
        st.session_state[REPLACED] = (before, time.monotonic())
        st.query_params.from_dict(shown)


def current() -> View:
    """What this session looks at."""
    view: View = st.session_state[VIEW]
    return view


def change(**changes: Any) -> None:
    """Look at something else. Where a script calls this (not a callback), `st.rerun` follows."""
    st.session_state[VIEW] = current().but(**changes)
    st.session_state[CHANGED] = True


def remarks() -> list[str]:
    """What could not be used of this run's address or saved view."""
    found: list[str] = st.session_state.get(REMARKS, [])
    return found


def taken() -> bool:
    """Whether this run's view comes from an address or a file: what is wrong in it is a mistake,
    and not what the page before was about."""
    return bool(st.session_state.get(TAKEN))


def where() -> str:
    """What the remarks are on: "address" or "file"."""
    return str(st.session_state.get(SOURCE, "address"))


def remark(said: list[str]) -> None:
    """Add to them."""
    st.session_state[REMARKS] = [*remarks(), *said]


def bound(field: str, then: Callable[[], None] | None = None, **resets: Any) -> dict[str, Any]:
    """Arguments that bind a widget to a field of the view: `st.slider("λ", **bound("lam"))`.

    `resets` are fields that a change of this one sets: another dataset has other questions. A
    widget that is cleared sets the field's default. `then` is called when the view has changed.
    """
    key = f"_bound_{field}"
    hold(key, getattr(current(), field))

    def changed() -> None:
        chosen = st.session_state[key]
        if isinstance(chosen, float):  # a browser's 0.7 may be 0.7000000000000001
            chosen = round(chosen, 6)
        change(**{field: getattr(View(), field) if chosen is None else chosen}, **resets)
        if then is not None:
            then()

    return {"key": key, "on_change": changed}


def kept(name: str, default: Any = "") -> Any:
    """A value of this session that is no part of the view: what is half typed, private, or not
    worth a link. It outlives the page that made it."""
    return st.session_state.get(KEPT, {}).get(name, default)


def keep(name: str, value: Any) -> None:
    """Set such a value."""
    st.session_state[KEPT] = {**st.session_state.get(KEPT, {}), name: value}


def kept_as(name: str, default: Any = "") -> dict[str, Any]:
    """Arguments that bind a widget to such a value."""
    key = f"_kept_{name}"
    st.session_state[key] = kept(name, default)
    return {"key": key, "on_change": lambda: keep(name, st.session_state[key])}


def mine(who: str, name: str = "") -> str:
    """The name of a kept value that is one participant's alone: whoever comes next to the same
    session finds another one, and `forget(mine(who))` drops them all."""
    return f"of {who!r}: {name}"


def forget(beginning: str) -> None:
    """Drop the kept values whose names begin so, and what their widgets hold of them."""
    held = st.session_state.get(KEPT, {})
    st.session_state[KEPT] = {
        name: value for name, value in held.items() if not name.startswith(beginning)
    }
    for key in [str(key) for key in st.session_state]:
        if key.startswith((f"_kept_{beginning}", beginning)):
            del st.session_state[key]


def kept_among(name: str, options: Collection[Any], default: Any) -> dict[str, Any]:
    """The same for a choice among options: one that is gone gives way to the default."""
    if kept(name, default) not in options:
        keep(name, default)
    return kept_as(name, default)


def hold(key: str, value: Any) -> None:
    """Give a widget its value. One that has it already is left alone: whatever is written goes to
    the browser, and would undo what a quick hand has done there meanwhile."""
    if key not in st.session_state or st.session_state[key] != value:
        st.session_state[key] = value


def take_file(content: bytes, name: str) -> None:
    """Open a saved view, and go to its page with the next run."""
    try:
        view, said = decode_view(content, name)
    except WorkbenchError as error:
        view, said = current(), [str(error)]
    st.session_state[VIEW], st.session_state[REMARKS] = view, said
    st.session_state[SOURCE] = "file"
    st.session_state[CHANGED], st.session_state[PAGE] = True, view.page
    st.session_state[TAKEN] = True


def go(page: str) -> None:
    """Leave for another page of the explorer, with the view as it is now."""
    st.session_state[PAGE], st.session_state[CHANGED] = page, True
    st.rerun()


def read_only() -> bool:
    """Whether the explorer was started with `--read-only`."""
    return given.read_only()


def _just_replaced(address: Mapping[str, str]) -> bool:
    replaced, when = st.session_state.get(REPLACED, ({}, 0.0))
    return address == replaced and time.monotonic() - when < HEARING_SECONDS


def _first(address: Mapping[str, str]) -> str | None:
    st.session_state[VIEW] = View()
    if address:
        _take(address)
        return None
    path = given.view()
    if path is None:
        return None
    st.session_state[SOURCE] = "file"
    try:
        st.session_state[VIEW], st.session_state[REMARKS] = read_view(path)
        st.session_state[TAKEN] = True
    except WorkbenchError as error:
        st.session_state[REMARKS] = [str(error)]
    if current().page:
        st.session_state[PAGE] = ""
    return current().page or None


def _take(address: Mapping[str, str]) -> None:
    page = current().page
    view, said = view_of(address)
    st.session_state[VIEW], st.session_state[REMARKS] = view.but(page=page), said
    st.session_state[TAKEN] = True
