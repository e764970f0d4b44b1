"""Taking along what is shown: CSV, LaTeX, an offline HTML page, PNG, SVG."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import polars as pl
import streamlit as st

from parts import show
from workbench import report
from workbench.doctor import find_browser
from workbench.report import Findings

__all__ = ["downloads"]

SVG = "image/svg+xml"


def downloads(found: Findings, stem: str, table: pl.DataFrame) -> None:
    """Buttons for findings; each file is made when it is asked for. `table` is what CSV holds,
    `stem` the beginning of every file's name."""
    mode = show.mode()
    makers: dict[str, tuple[str, str, Callable[[], str | bytes]]] = {
        "CSV": ("csv", "text/csv", lambda: report.csv_text(table)),
        "LaTeX": ("tex", "text/x-tex", lambda: report.latex_text(found)),
        "HTML page": ("html", "text/html", lambda: report.page(found)),
    }
    if find_browser() is not None:
        for name, figure in found.figures.items():
            own = "" if len(found.figures) == 1 else f": {name}"
            makers[f"PNG{own}"] = (f"{name}.png", "image/png", partial(report.png, figure, mode))
            makers[f"SVG{own}"] = (f"{name}.svg", SVG, partial(report.svg, figure, mode))
    row = st.container(horizontal=True)
    for label, (suffix, mime, make) in makers.items():
        row.download_button(
            label,
            make,
            file_name=f"{stem}.{suffix}",
            mime=mime,
            key=f"_export_{stem}_{label}",
            on_click="ignore",
        )
    if find_browser() is None:
        st.caption("PNG and SVG need Chromium or Chrome on this machine; the others need nothing.")
