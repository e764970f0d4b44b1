"""User: what is remembered of a person, and what their profile does to the answers they get."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl
import streamlit as st

from parts import data, exports, picking, show, state
from views import dialogue
from views import memory_cards as memories
from workbench import inspection
from workbench.bank_set import BankSet
from workbench.memory_map import memory_map, neighbours
from workbench.report.users import findings_of_users
from workbench.scenes.memories import map_of, sessions_of
from workbench.view import View

WHAT = """
What the workbench remembers of one person: every sentence as it was said (*episodic* memories),
statements that several sentences share (*semantic* memories), and a **profile** of lasting facts,
each with the sentences that it rests on. The profile is what the prior mixes into a search, so this
is also the place to see **whom it helps and whom it harms**.
"""
MAP = "map"
TOUCHING = 1e-12  # what the browser sends back is the mark's own place


def page() -> None:
    st.title("User")
    st.markdown(WHAT)
    first, second = st.columns([1, 1], gap="medium")
    with first:
        picking.choose_dataset()
    with second:
        picking.choose_user()
    view = state.current()
    if not view.user:
        st.info("This data set has no people: nobody speaks in it.")
        return
    sections = list(SECTIONS)
    show.settled("section", sections)
    st.segmented_control(
        "Show", sections, format_func=str.capitalize, **state.bound("section", turn="")
    )
    view = state.current()
    if view.section != "dialogue" and picking.unbuilt():
        st.caption("The dialogue can be read without them: choose it above.")
        return
    SECTIONS[view.section](view)


def _profile(view: View) -> None:
    """The facts of the profile, each with its sources, opened where they were said."""
    banks = data.banks(view)
    person = banks.people.get(view.scope, {}).get(view.user)
    facts = person.profile.facts if person else ()
    _counts(banks, view)
    st.subheader("Profile")
    if not facts:
        show.empty(
            f"Nothing lasting was found out about {view.user} by the rules that make profiles.",
            f"workbench ask {view.dataset} QUESTION --prior speaker",
        )
        return
    st.caption(
        f"{len(facts):,} facts, found by rules in what was said: attributes, preferences, "
        "relationships. Their text together is what the prior “profile text” turns into a vector."
    )
    memories.cards("profile", inspection.memory_rows("profile", facts))


def _counts(banks: BankSet, view: View) -> None:
    """How much there is."""
    rows = _table(view)
    own = rows.filter(pl.col("owner") == view.user)
    columns = st.columns(4)
    for column, (label, frame) in zip(
        columns,
        (
            ("Sessions", inspection.timeline(banks.dataset, view.scope)),
            ("Episodic memories", own.filter(pl.col("layer") == "episodic")),
            ("Semantic memories", own.filter(pl.col("layer") == "semantic")),
            ("Profile facts", own.filter(pl.col("layer") == "profile")),
        ),
        strict=True,
    ):
        column.metric(label, f"{len(frame):,}")
    st.caption(
        show.plain(f"Memories are {view.user}’s own; the sessions are those of {view.scope}.")
    )


def _memories(view: View) -> None:
    """All memories of the scope, filtered and paged."""
    banks = data.banks(view)
    sessions = inspection.timeline(banks.dataset, view.scope)
    if len(sessions) > 1:
        show.figure(sessions_of(banks, view.scope), "timeline")
    memories.browse(_table(view), view.user)


def _map(view: View) -> None:
    """The memories in two dimensions, and what lies nearest to one of them."""
    banks = data.banks(view)
    everybody = st.toggle("Everybody in this conversation", **state.kept_as("map-everybody", True))
    made = memory_map(banks, view.scope, None if everybody else view.user)
    if not len(made.points):
        st.info("A map needs three memories at least.")
        return
    texts = made.points.filter(pl.col("layer") == "episodic")
    named = dict(zip(texts["memory"], texts["text"], strict=True))
    hide = show.hiding()
    chosen = st.selectbox(
        "Nearest to",
        list(named),
        format_func=lambda one: hide(f"{named[one][:120]} · {one}"),
        index=None,
        placeholder="choose a memory to see its neighbours",
        **state.kept_among(f"near {view.dataset} {view.scope}", [None, *named], None),
    )
    near = neighbours(banks, view.scope, chosen) if chosen else None
    drawn = map_of(banks, made, view.scope, None if everybody else view.user, chosen or "")
    # The rest stays as visible as it was when one is clicked: the ring is what marks it.
    drawn.update_traces(unselected_marker_opacity=0.55, selector={"mode": "markers"})
    show.figure(
        drawn,
        MAP,
        on_select=lambda: _clicked(texts, f"near {view.dataset} {view.scope}"),
        selection_mode="points",
    )
    st.caption("Click a round mark to see its neighbours, or choose one in the list above.")
    if near is not None:
        st.subheader("Its nearest memories")
        memories.listing(near, lambda row: f"cosine {row['cosine']:.3f}")


def _clicked(points: pl.DataFrame, kept: str) -> None:
    """The episodic memory whose mark on the map was clicked is the one chosen; a click beside all
    of them chooses none."""
    for one in st.session_state[MAP]["selection"]["points"][:1]:
        gap = (pl.col("x") - one["x"]) ** 2 + (pl.col("y") - one["y"]) ** 2
        nearest = points.select("memory", gap=gap).sort("gap").row(0, named=True)
        if nearest["gap"] < TOUCHING:
            state.keep(kept, nearest["memory"])


def _prior(view: View) -> None:
    """Whom the prior helps and harms, and this person's own questions."""
    if not data.measurable(view):
        st.info(
            "This data set marks no evidence, so nobody can say which memories are the right ones. "
            "The bundled sample and LoCoMo have it."
        )
        return
    if view.prior == "none":
        st.info("The prior is switched off. Choose one on the Retrieval page.")
    frame = data.effects_of(view)
    chosen = (view.scope, view.user)
    found = findings_of_users(data.study(view), frame, view.recipe(), chosen)
    own = frame.filter(pl.col("scope") == view.scope, pl.col("user") == view.user)
    st.caption(
        show.plain(
            f"With prior {view.prior}, retriever {view.retriever}, λ = {view.lam:g}, "
            f"K = {view.k}: as set on the Retrieval page."
        )
    )
    _own(own, view)
    show.figure(found.figures["users"], "users")
    exports.downloads(found, f"{view.dataset}-users", found.tables[0].frame)


def _own(own: pl.DataFrame, view: View) -> None:
    """This person's questions that change, each a way to the Retrieval page."""
    changed = own.filter(pl.col("effect") != "unchanged").sort("change", "question")
    harmed = changed.filter(pl.col("change") < 0)
    show.text(
        f"Of {view.user}’s {len(own):,} questions with evidence, the prior helps "
        f"{len(changed) - len(harmed):,} and hurts {len(harmed):,}."
    )
    if not len(changed):
        return
    texts = {row["question"]: row for row in changed.iter_rows(named=True)}
    first, second = st.columns([4, 1], vertical_alignment="bottom")
    hide = show.hiding()
    picked = first.selectbox(
        "Questions that change, the most harmed first",
        list(texts),
        format_func=lambda one: hide(
            f"{texts[one]['effect']} {texts[one]['change']:+.0%}: {texts[one]['text']} · {one}"
        ),
        **state.kept_among(
            f"changed {view.dataset} {view.scope} {view.user}", texts, next(iter(texts))
        ),
    )
    if second.button("Open in Retrieval", width="stretch"):
        state.change(question=picked, turn="")
        state.go("retrieval")


def _dialogue(view: View) -> None:
    """The conversation from its beginning, or from a turn."""
    dialogue.read(view.scope, view.turn)


def _table(view: View) -> pl.DataFrame:
    banks = data.banks(view)
    return memories.table(banks.id, view.scope, banks)


SECTIONS: dict[str, Callable[[View], None]] = {
    "profile": _profile,
    "memories": _memories,
    "map": _map,
    "prior": _prior,
    "dialogue": _dialogue,
}
