"""Tables of runs as the page draws them, and the findings that they come from."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import streamlit as st

from parts import data, show
from parts.show import literal
from reward_model.report import reward_findings
from workbench import report
from workbench.report import Findings, Table
from workbench.report.sheets import printed
from workbench.runs import Run, load_run

__all__ = ["drawn", "findings_of", "labels", "loaded", "of"]

MANY = 16  # rows beyond which a table is folded
MOST = 200  # rows that are drawn; the files have all


def labels(known: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Runs in a line each, from rows of `workbench.run_list.run_rows` by id."""
    hide = show.hiding()
    return {run: hide(_named(row)) for run, row in known.items()}


def findings_of(run: str, against: str | None = None) -> Findings:
    """What a run found, or how it differs from another one, whatever package it is of."""
    return _findings(str(data.workspace().root), run, against)


def loaded(run: str) -> Run:
    """A run with its values by question."""
    return _run(str(data.workspace().root), run)


def of(table: Table) -> None:
    """A table of findings; one that was not measured here is set apart, and says where from."""
    if not table.provenance:
        _sheet(table)
        return
    with st.container(border=True):
        st.markdown(f"**{show.plain(table.provenance)}.**")
        _sheet(table)


def _sheet(table: Table) -> None:
    """Its rows; a long one is folded, and says where the rest is."""
    columns = list(printed(table.frame.head(MOST)))
    body = "".join(
        "<tr>"
        + "".join(
            f"<td{_kind(numeric)}>{literal(cell)}</td>"
            for cell, (_, _, numeric) in zip(cells, columns, strict=True)
        )
        + "</tr>"
        for cells in zip(*(cells for _, cells, _ in columns), strict=True)
    )
    heads = [name for name, _, _ in columns]
    numbers = [name for name, _, numeric in columns if numeric]
    if len(table.frame) <= MANY:
        drawn(heads, body, table.title, numbers)
        return
    with st.expander(show.plain(f"{table.title} ({len(table.frame):,} rows)")):
        if len(table.frame) > MOST:
            st.caption(f"The first {MOST:,} rows; the CSV has all of the first table.")
        drawn(heads, body, table.title, numbers)


def drawn(heads: Sequence[str], body: str, title: str, numbers: Collection[str] = ()) -> None:
    """A table of rows that are HTML already, everything in them from `literal`. `numbers` names
    the columns that hold some."""
    top = "".join(f'<th scope="col"{_kind(head in numbers)}>{literal(head)}</th>' for head in heads)
    st.html(
        f'<div class="sheet" role="region" tabindex="0" aria-label="{literal(title)}"><table>'
        f'<caption class="quiet">{literal(title)}</caption>'
        f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _named(row: Mapping[str, Any]) -> str:
    when = time.strftime("%d %b, %H:%M", time.localtime(row["made"]))
    pieces = (row["what"], row["dataset"], row["settings"], when, row["run"][:8])
    return " · ".join(filter(None, pieces))


def _kind(numeric: bool) -> str:
    return ' class="number"' if numeric else ""


@st.cache_resource(max_entries=32, show_spinner="Reading the run …")
def _findings(root: str, run: str, against: str | None) -> Findings:
    home = data.workspace()
    if load_run(home, run).manifest["kind"].startswith("reward-"):
        return reward_findings(home, run, against)
    return report.findings(home, run, against)


@st.cache_resource(max_entries=16, show_spinner=False)
def _run(root: str, run: str) -> Run:
    return load_run(data.workspace(), run)
