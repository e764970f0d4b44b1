"""Study: for whoever runs one: plans for participants, how far they are, their judgments out."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import streamlit as st

from parts import data, notes, redaction, show, state
from reward_model import collect
from reward_model.agreement import retest_agreement
from reward_model.collection_plan import PlanOptions
from reward_model.quality import attention_checks, quality_filter
from reward_model.ready import practice_pairs
from reward_model.schema import Comparison
from reward_model.screening import ScreeningRules, screen
from reward_model.screening_offline import OfflineScreener
from reward_model.store import comparison_sets, open_comparisons
from workbench.embedders import open_embedder
from workbench.errors import WorkbenchError
from workbench.vector_cache import VectorCache

__all__ = ["page", "practise"]

WHAT = """
For whoever runs a study, and not for participants while they judge: setting up collections,
attention checks, agreement, export. Participants judge on the page *Annotate*.
"""
PRACTICE, ME = "practice", "me"
MASKED = "collection, de-identified"  # as `collect.export_deidentified` names the source


def practise() -> None:
    """Start the practice collection, and open it."""
    home = data.workspace()
    try:
        collect.start(home, PRACTICE, ME, practice_pairs(ME), PlanOptions(repeats=0.1))
    except WorkbenchError as error:
        state.keep("study-said", str(error))
        return
    state.change(collection=PRACTICE, participant=ME)


def page() -> None:
    st.title("Study")
    st.markdown(WHAT)
    if said := state.kept("study-said"):
        st.info(show.plain(said))
        state.keep("study-said", "")
    home = data.workspace()
    if home.read_only:
        st.caption("Read-only: collections can be looked at, not started, exported or deleted.")
    else:
        _start()
    known = list(collect.collections(home))
    if known:
        name = _choose(known)
        _state(name)
    if known and not home.read_only:
        _export(name)
        _withdraw(name)


def _choose(known: list[str]) -> str:
    """The collection that is looked at; the first where the address names none that is here."""
    named = state.current().collection
    if named not in known:
        if named:
            st.warning(show.plain(f"There is no collection named {named!r} here."))
        state.change(collection=known[0], participant="")
    st.selectbox("Collection", known, **state.bound("collection", participant=""))
    return state.current().collection


def _start() -> None:
    """Draw plans for everybody who has pairs without a judgment in a set."""
    st.subheader("Start a collection")
    sets = comparison_sets(data.workspace())
    open_ones = [name for name, one in sets.items() if one["judged"] < one["comparisons"]]
    st.markdown(
        "Each participant judges their own pairs once, in a random order, the sides drawn by lot; "
        "attention checks (a sensible answer beside a useless one) and repeats of earlier pairs "
        "are mixed in, and look like all others."
    )
    if not open_ones:
        show.empty(
            "No set has pairs that wait for a judgment.",
            "workbench reward import PAIRS.csv --name study",
        )
        st.button("Start a practice collection of made-up pairs", on_click=practise)
        return
    left, right = st.columns(2, gap="medium")
    if state.kept("study-set") not in open_ones:
        state.keep("study-set", open_ones[0])
    left.selectbox("Pairs from", open_ones, **state.kept_as("study-set"))
    right.text_input("Name of the collection", **state.kept_as("study-name", "study"))
    first, second, third = st.columns(3, gap="medium")
    first.number_input("Attention checks each", 0, 5, **state.kept_as("study-checks", 2))
    second.slider(
        "Share that comes again", 0.0, 0.5, step=0.01, **state.kept_as("study-repeats", 0.08)
    )
    third.number_input(
        "Best pairs of each participant (0: all)",
        0,
        200,
        help="Screening by offline rules: pairs that differ, because of the memories, and without "
        "unsupported changes come first. The paper shows 15.",
        **state.kept_as("study-best", 0),
    )
    if st.button("Start", type="primary"):
        _started()


def _started() -> None:
    home, name = data.workspace(), str(state.kept("study-name", "study")).strip()
    options = PlanOptions(
        attention=int(state.kept("study-checks", 2)),
        repeats=float(state.kept("study-repeats", 0.08)),
    )
    try:
        waiting = _waiting(open_comparisons(home, state.kept("study-set")).comparisons)
        people = list(dict.fromkeys(one.participant for one in waiting))
        for person in people:
            own = [one for one in waiting if one.participant == person]
            collect.start(home, name, person, own, options)
    except WorkbenchError as error:
        show.trouble(error)
        return
    state.keep("study-said", f"{name}: {len(people)} participants, {len(waiting)} pairs.")
    state.change(collection=name, participant="")
    st.rerun()


def _waiting(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Pairs without a judgment, the best of each participant where so many are asked for."""
    waiting = [
        one
        for one in comparisons
        if one.judgment is None and one.attention is None and one.repeat_of is None
    ]
    best = int(state.kept("study-best", 0))
    if not best:
        return waiting
    home = data.workspace()
    cache = VectorCache(home.folder("cache"), home.read_only)
    with st.spinner("Screening the pairs …"):
        screener = OfflineScreener(open_embedder("minilm"), cache)
        chosen = screen(waiting, screener, ScreeningRules(best=best)).chosen
    ids = {one.id for one in chosen}
    return [one for one in waiting if one.id in ids]


def _state(name: str) -> None:
    """How far everybody is, and how the judgments look so far."""
    st.subheader("How far it is")
    hide = show.hiding()
    rows = [
        {"participant": hide(who), "pairs": one.items, "judged": one.judged}
        | {"left": one.left, "taken back or changed": one.changed}
        for who, one in collect.participants(data.workspace(), name).items()
    ]
    st.dataframe(pl.DataFrame(rows), hide_index=True)
    found = collect.collected(data.workspace(), name).comparisons
    checks = attention_checks(found)
    counts = quality_filter(found).counts
    dropped = [f"{n} {why}" for why, n in counts.items() if n and why != "kept"]
    st.markdown(
        f"- Attention checks passed: **{checks.passed} of {checks.answered}** answered\n"
        f"- The quality rules would keep **{counts['kept']} of {len(found)}** judgments"
        f" ({', '.join(dropped) or 'nothing dropped'})\n"
        f"- {_retest(found)}"
    )


def _retest(found: Sequence[Comparison]) -> str:
    told = retest_agreement(found)["overall"]
    if told["agreement"] is None:
        return "Repeats: none answered yet"
    return f"Repeats answered alike: **{told['agreement']:.0%}** of {told['n']}"


def _export(name: str) -> None:
    """Judgments as a set of comparisons, which the Reward model page evaluates."""
    st.subheader("Keep the judgments as a set")
    left, right = st.columns(2, gap="medium")
    field = f"study-into-{name}"
    left.text_input("Name of the set", **state.kept_as(field, f"{name}-judged"))
    right.toggle(
        "De-identified",
        help="Names, employers, places and contact details become typed placeholders; pairs whose "
        "preference rests on them are withheld. It misses things: read the result. Needs: "
        "pip install 'recall-workbench[privacy]'",
        **state.kept_as("study-masked", False),
    )
    if not st.button("Keep the set"):
        return
    into = str(state.kept(field, f"{name}-judged")).strip()
    held = comparison_sets(data.workspace()).get(into)
    if held is not None and held["source"] not in (f"collection {name}", MASKED):
        st.error(
            show.plain(
                f"{into} holds other judgments, which this would replace; choose another name."
            )
        )
        return
    _kept(name, into)


def _kept(name: str, into: str) -> None:
    try:
        if state.kept("study-masked", False):
            kept, done = collect.export_deidentified(data.workspace(), name, into)
            withheld = sum(done.report["withheld"].values())
            said = f"{done.report['kept']} kept, {withheld} withheld"
        else:
            kept = collect.export(data.workspace(), name, into)
            said = f"{len(kept.comparisons)} kept, with every name in them"
    except WorkbenchError as error:
        show.trouble(error)
        return
    st.success(show.plain(f"{into}: {said}."))
    if kept is not None:
        st.button("Look at it on the Reward model page", on_click=_look, args=(into,))


def _look(name: str) -> None:
    state.change(judgments=name, run="", against="", comparison="")
    state.go("reward")


def _withdraw(name: str) -> None:
    """A participant withdraws: their plan and judgments go."""
    with st.expander("A participant withdraws"):
        people = list(collect.participants(data.workspace(), name))
        if state.kept("study-who") not in people:
            state.keep("study-who", people[0])
        sure = state.mine(who := state.kept("study-who"), f"withdraw {name}")
        named = redaction.labels(people)
        st.selectbox("Who", people, format_func=named, **state.kept_as("study-who"))
        st.checkbox(
            "Delete their plan and all their judgments in this collection, for good",
            **state.kept_as(sure, False),
        )
        if st.button("Delete", disabled=not state.kept(sure, False)):
            collect.discard(data.workspace(), name, who)
            notes.drop(name, who)
            state.forget(state.mine(who))
            state.change(participant="")
            st.rerun()
