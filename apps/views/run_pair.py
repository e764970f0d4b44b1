"""Two runs over the same questions: in all, by category, and question by question."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import polars as pl
import streamlit as st

from parts import data, exports, show, state
from parts.show import literal
from reward_model.rubric import RUBRIC
from views import run_questions, run_said, run_table
from views.run_questions import page_of
from workbench.contrasts import by_category, by_question, comparable, won_by
from workbench.datasets.store import SAMPLE
from workbench.figures.differences import category_differences
from workbench.report import Findings, csv_text, main_measure
from workbench.report.tables import Table, probability
from workbench.run_list import apart
from workbench.runs import Run

__all__ = ["compared", "totals"]

WHAT = """
Both runs answered **the same questions**, so they are compared question by question: **a − b**
is above zero where run a did better. The *interval* (95 %, over conversations) says how far the
mean difference could be another one with other conversations like these; **p** is how often a
difference as large would come about if a and b were interchangeable, by flipping its sign at
random. Many looks make small p cheap, so p is *corrected* (Holm) for the number of categories.
"""
ROWS = 12
MEASURE, SIDE, PAGE = "pair-measure", "pair-side", "pair-page"
SIDES = {"": "all that differ", "a": "a is better", "b": "b is better", "same": "the same"}


def compared(known: Mapping[str, Any]) -> None:
    """Choose the other run, and see the difference from every side."""
    st.subheader("Compare two runs")
    st.markdown(WHAT)
    a = run_table.loaded(state.current().run)
    others = _others(a, known)
    if not others:
        show.empty(
            "No other run here was measured on the same data, against the same gold. "
            "Make one with other settings, such as:",
            _another(known[a.id]),
        )
        return
    show.settled("against", others)
    st.selectbox(
        "Compare with",
        others,
        format_func=run_table.labels(known).__getitem__,
        help="Only runs of the same data, measured alike, can be compared.",
        **state.bound("against"),
    )
    b = run_table.loaded(state.current().against)
    found = run_table.findings_of(a.id, b.id)
    shared = found.tables[0].frame["metric"].to_list()
    names = apart(a.manifest, b.manifest)
    show.text(f"a: {names[0]}. b: {names[1]}.")
    _by_category((a, b), _measure(shared), names, found)


def _another(row: Mapping[str, Any]) -> str:
    """A command that makes a run to compare this one with."""
    if row["kind"].startswith("reward-"):
        fewer = ",".join(name for name in RUBRIC if name not in ("HEAD", "LEN"))
        return f"workbench reward evaluate {row['dataset']} --features {fewer}"
    return f"workbench recall {row['dataset'] or SAMPLE} --prior facts --lam 0.8"


def _others(a: Run, known: Mapping[str, Any]) -> list[str]:
    """Runs that can be compared with a, those of its kind first."""
    manifests = data.workspace().manifests("runs")
    fits = [run for run in known if run != a.id and comparable(a.manifest, manifests[run])]
    return sorted(fits, key=lambda run: known[run]["kind"] != a.manifest["kind"])


def _measure(shared: list[str]) -> str:
    if state.kept(MEASURE) not in shared:
        state.keep(MEASURE, main_measure(shared))
    st.selectbox("Measure", shared, **state.kept_as(MEASURE))
    return str(state.kept(MEASURE))


def _by_category(
    pair: tuple[Run, Run], measure: str, names: tuple[str, str], found: Findings
) -> None:
    frame = by_category(*pair, measure, found.passport.seed)
    whole = frame.row(0, named=True)
    pairs = by_question(*pair, measure)
    show.text(
        f"{measure}: a {whole['a']:.3f}, b {whole['b']:.3f}, over the {whole['n']:,} questions of "
        f"both; p {_p(whole['p'])}. {totals(pairs)}"
    )
    show.figure(category_differences(frame, found.passport, measure, names), "differences", 760)
    run_table.of(Table("categories", f"{measure} by category, a − b", frame.drop("basis")))
    if "difference" in found.figures:
        show.figure(found.figures["difference"], "curve")
    run_table.of(found.tables[0])
    _by_question(pair, pairs, measure)
    st.subheader("Take it along")
    _files(pair, frame, pairs, measure)
    exports.downloads(found, f"compare-{pair[0].id[:8]}-{pair[1].id[:8]}", found.tables[0].frame)


def _p(p: float) -> str:
    said = probability(p)
    return said if said.startswith("below") else f"= {said}"


def totals(pairs: pl.DataFrame) -> str:
    """How many questions each side wins, in a sentence."""
    won = {side: len(won_by(pairs, side)) for side in ("a", "b", "same")}
    return (
        f"a is better on {won['a']:,} questions, b on {won['b']:,}; on {won['same']:,} they do "
        "equally well."
    )


def _by_question(pair: tuple[Run, Run], pairs: pl.DataFrame, measure: str) -> None:
    """The single questions, the largest differences first, each a way to the Retrieval page."""
    a = pair[0]
    st.subheader("Question by question")
    st.segmented_control(
        "Questions",
        list(SIDES),
        format_func=lambda side: f"{SIDES[side]} {len(won_by(pairs, side)):,}",
        **state.kept_as(SIDE),
    )
    kept = won_by(pairs, state.kept(SIDE) or "")
    if not len(kept):
        st.info("No question of this kind.")
        return
    rows = kept.slice(page_of(PAGE, len(kept), ROWS) * ROWS, ROWS)
    questions = rows["question"].to_list()
    asked = {q: one for q, one in run_questions.asked(a).items() if q in set(questions)}
    said = run_said.both(pair, asked)
    body = "".join(
        f"<tr><td>{literal(asked[row['question']].text if row['question'] in asked else '', 240)}"
        f'<div class="quiet">{literal(row["question"])} · {literal(row["category"])}</div></td>'
        f"{said.cells(row['question'])}"
        f'<td class="number">{row["a"]:.3f}</td><td class="number">{row["b"]:.3f}</td>'
        f'<td class="number">{row["difference"]:+.3f}</td></tr>'
        for row in rows.iter_rows(named=True)
    )
    numeric = ("a", "b", "a − b")
    heads = ("question", *said.heads, *numeric)
    run_table.drawn(heads, body, f"{measure} of single questions", numeric)
    said.tell()
    if asked:
        texts = {q: one.text for q, one in asked.items()}
        run_questions.opening("pair", a, questions, texts)


def _files(pair: tuple[Run, Run], frame: pl.DataFrame, pairs: pl.DataFrame, measure: str) -> None:
    """The tables of the measure that is looked at; `exports` has the whole comparison."""
    st.caption(
        "The first two hold the measure chosen above; the others all measures, with the figures of "
        "the main one. The HTML page opens offline, and `workbench reproduce FILE` makes its "
        "figures again."
    )
    row = st.container(horizontal=True)
    stem = f"compare-{pair[0].id[:8]}-{pair[1].id[:8]}-{measure.replace('@', '-')}"
    for label, table in (("categories", frame), ("questions", pairs)):
        row.download_button(
            f"CSV: {label}",
            partial(csv_text, table),
            file_name=f"{stem}-{label}.csv",
            mime="text/csv",
            key=f"_pair_csv_{label}",
            on_click="ignore",
        )
