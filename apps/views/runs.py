"""Runs: results that were kept. One in full, two compared, and each to take along."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import polars as pl
import streamlit as st

from parts import data, exports, show, state
from parts.show import literal
from views import run_errors, run_pair, run_table, run_training
from views.run_table import findings_of
from workbench.library import open_banks
from workbench.prepare import sources_for
from workbench.recall import measure, save_recall
from workbench.run_list import KINDS, run_rows
from workbench.schema import Recipe

WHAT = """
A **run** is a result that was kept: a way of retrieving (its *settings*), tried on every
question of a data set, with one value a question. Runs are made in a terminal or a notebook;
here they are read, compared and exported. **Evidence recall@K** is the share of the turns that
answer a question which are among the first K memories found, from 0 (none) to 1 (all), averaged
over the questions.
"""
ROWS = 8
PAGE, KIND, DATASET = "runs-page", "runs-kind", "runs-dataset"
EXAMPLES = (Recipe(prior="none", lam=1.0, k=25), Recipe(prior="profile", lam=0.9, k=25))


def page() -> None:
    st.title("Runs")
    st.markdown(WHAT)
    frame = run_rows(data.workspace())
    if not len(frame):
        _nothing()
        return
    known = {row["run"]: row for row in frame.iter_rows(named=True)}
    _find(frame, known)
    _list(frame)
    st.selectbox(
        "Run",
        list(known),
        format_func=run_table.labels(known).__getitem__,
        help="The newest comes first.",
        **state.bound("run", against=""),
    )
    names = list(SECTIONS)
    show.settled("section", names)
    st.segmented_control("Show", names, format_func=_title, **state.bound("section"))
    SECTIONS.get(state.current().section or names[0], _one)(known)


def _title(section: str) -> str:
    return {"errors": "Answers and errors"}.get(section, section.capitalize())


def _find(frame: pl.DataFrame, known: Mapping[str, Any]) -> None:
    """The run that the view names, by its id or the beginning of it; else the newest."""
    wanted = state.current().run
    if wanted in known:
        return
    found = [run for run in known if wanted and run.startswith(wanted)]
    if wanted and len(found) != 1:
        what = "no run" if not found else "several runs"
        st.warning(show.plain(f"There is {what} {wanted[:40]!r} here; the newest is shown."))
    state.change(run=found[0] if len(found) == 1 else frame["run"][0])


def _list(frame: pl.DataFrame) -> None:
    """All runs, filtered and paged; the one that is looked at is marked."""
    first, second, third = st.columns([1.4, 1.4, 1], vertical_alignment="bottom", gap="medium")
    kinds = ["", *sorted(frame["kind"].unique())]
    sets = ["", *sorted(frame["dataset"].unique())]
    for name, options in ((KIND, kinds), (DATASET, sets)):
        if state.kept(name) not in options:
            state.keep(name, "")
    first.selectbox(
        "Kind of run",
        kinds,
        format_func=lambda kind: KINDS.get(kind, kind) or "all kinds",
        **state.kept_as(KIND),
    )
    second.selectbox(
        "Of data set",
        sets,
        format_func=lambda name: name or "all data sets",
        **state.kept_as(DATASET),
    )
    kept = frame
    for name, column in ((KIND, "kind"), (DATASET, "dataset")):
        if state.kept(name):
            kept = kept.filter(pl.col(column) == state.kept(name))
    pages = max(1, -(-len(kept) // ROWS))
    page = min(int(state.kept(PAGE, 1)), pages)
    if pages > 1:
        state.keep(PAGE, page)
        third.number_input(f"Page (of {pages:,})", 1, pages, step=1, **state.kept_as(PAGE, 1))
        page = int(state.kept(PAGE, 1))
    st.caption(f"{len(kept):,} of {len(frame):,} runs, the newest first")
    _drawn(kept.slice((page - 1) * ROWS, ROWS))


def _drawn(rows: pl.DataFrame) -> None:
    chosen = state.current().run
    body = "".join(
        f"<tr{' class=chosen' if row['run'] == chosen else ''}>"
        f"<td class=whole>{literal(row['what'])}</td><td>{literal(row['dataset'])}</td>"
        f"<td>{literal(row['settings'])}</td>"
        f'<td class="number">{"–" if row["n"] is None else format(row["n"], ",")}</td>'
        f"<td class=whole>{time.strftime('%d %b %Y, %H:%M', time.localtime(row['made']))}</td>"
        f"<td><code>{literal(row['run'][:8])}</code></td></tr>"
        for row in rows.iter_rows(named=True)
    )
    heads = ("kind", "data set", "settings", "questions", "made", "id")
    run_table.drawn(heads, body, "Runs of this workspace", ("questions",))


def _one(known: Mapping[str, Any]) -> None:
    """A run in full: its findings, figures, tables, where it comes from, files of it."""
    run = state.current().run
    found = findings_of(run)
    st.subheader(show.plain(found.title))
    show.text(f"{known[run]['settings']}. {found.passport.counts}.")
    for line in found.lead:
        show.text(f"• {line}")
    own, draw = run_training.DRAWN.get(known[run]["kind"], (frozenset(), None))
    if draw is not None:
        draw(run_table.loaded(run))
    for name, figure in found.figures.items():
        if name not in own:
            show.figure(figure, f"run_{name}")
    for table in found.tables:
        run_table.of(table)
    st.subheader("Take it along")
    st.caption(
        "The HTML page opens offline in any browser and holds everything; its figures can be made "
        "again from the run, and compared: workbench reproduce FILE."
    )
    exports.downloads(found, f"run-{run[:8]}", found.tables[0].frame)
    st.caption(show.plain(found.passport.origin))


def _nothing() -> None:
    """No run yet: how to make some, and a button that makes two."""
    show.empty(
        "No run is kept in this workspace yet. Each of these makes one, of the bundled sample:",
        "workbench recall sample --prior none --lam 1\n"
        "workbench recall sample --prior profile --lam 0.9\n"
        "workbench sweep lambda sample --prior profile",
    )
    if state.read_only():
        return
    st.caption("Or here, the first two of them: some seconds, half a minute the first time.")
    if st.button("Make two runs of the sample", type="primary"):
        with st.spinner("Ranking every question of the sample, without and with the prior …"):
            _make()
        st.rerun()


def _make() -> None:
    home = data.workspace()
    banks = open_banks(home, "sample")
    for recipe in EXAMPLES:
        outcome = measure(banks, recipe, sources=sources_for(home, banks, recipe))
        save_recall(home, banks, outcome)


SECTIONS: dict[str, Callable[[Mapping[str, Any]], None]] = {
    "one run": _one,
    "compare two": run_pair.compared,
    "errors": run_errors.errors,
}
