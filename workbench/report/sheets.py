"""Tables for other programs: CSV that a spreadsheet cannot run, LaTeX that compiles, JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

import msgspec
import plotly.graph_objects as go
import polars as pl

from workbench.report.findings import Findings, Table
from workbench.theme import visible

__all__ = ["cell", "csv_text", "header", "json_text", "latex_text", "printed", "spec"]

# What makes a spreadsheet read a cell as a formula; the wide forms are East Asian keyboards'.
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
BOM = "\ufeff"

LATEX = {
    "\\": r"\textbackslash{}",
    **{char: f"\\{char}" for char in "{}$&#_%"},
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "λ": r"\ensuremath{\lambda}",
    "α": r"\ensuremath{\alpha}",
    "×": r"\ensuremath{\times}",
    "−": r"\ensuremath{-}",
    "±": r"\ensuremath{\pm}",
}
HEADERS = {
    "lam": "λ",
    "alpha": "α",
    "f1": "F1",
    "f1_asked": "F1 asked",
    "best_lam": "best λ",
    "tested_lam": "tested λ",
    "k": "K",
    "k_episodic": "K_E",
    "k_semantic": "K_S",
    "p_holm": "p (Holm)",
    "p_bonferroni": "p (Bonferroni)",
}


def csv_text(frame: pl.DataFrame) -> str:
    """A frame as CSV (UTF-8 with a byte order mark, so that spreadsheets read λ).

    Numbers stay numbers, at full precision. A text that a spreadsheet would run as a formula gets
    an apostrophe in front, which spreadsheets take for "this is text".
    """
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow([_inert(name) for name in frame.columns])
    writer.writerows([_inert(value) for value in row] for row in frame.iter_rows())
    return BOM + stream.getvalue()


def latex_text(found: Findings) -> str:
    """All tables as LaTeX for `\\usepackage{booktabs}`, the passport in each caption."""
    return "\n".join(_latex(table, found) for table in found.tables)


def json_text(found: Findings) -> str:
    """Tables, figures (as plotly JSON) and passport as one ASCII JSON document."""
    document = {
        "title": found.title,
        "passport": msgspec.to_builtins(found.passport),
        "lead": found.lead,
        "tables": {
            t.name: {"title": t.title, "rows": t.frame.to_dicts()}
            | ({"provenance": t.provenance} if t.provenance else {})
            for t in found.tables
        },
        "figures": {name: spec(figure) for name, figure in found.figures.items()},
    }
    return json.dumps(document, ensure_ascii=True, indent=1, allow_nan=False) + "\n"


def spec(figure: go.Figure) -> dict[str, Any]:
    """A figure as the plain JSON values that every export of it holds."""
    made: dict[str, Any] = json.loads(figure.to_json())
    return made


def printed(frame: pl.DataFrame) -> Iterator[tuple[str, list[str], bool]]:
    """The columns of a table for a reader: name, cells, whether they are numbers.

    `lo` and `hi` go into the column before them, `x_lo` and `x_hi` into `x`:
    "0.579 [0.541, 0.618]".
    """
    names = frame.columns
    ends = {name: (f"{name}_lo", f"{name}_hi") for name in names if f"{name}_lo" in names}
    if "lo" in names:
        ends[names[names.index("lo") - 1]] = ("lo", "hi")
    taken = {end for pair in ends.values() for end in pair}
    for name in names:
        if name in ends:
            rows = frame.select(name, *ends[name]).iter_rows()
            yield header(name), [_estimate(*row, signed=name == "difference") for row in rows], True
        elif name not in taken:
            numeric = frame[name].dtype.is_numeric()
            yield header(name), [cell(value, name) for value in frame[name]], numeric


def cell(value: Any, name: str = "") -> str:
    """One value for a reader: numbers at a readable precision, text on one line."""
    if value is None:
        return "–"
    if isinstance(value, float):
        if name.startswith("p") and value < 0.001:  # p values: a zero would claim too much
            return "<0.001"
        return f"{value:g}" if name.endswith("lam") else f"{value:.3f}"
    return f"{value:,}" if isinstance(value, int) else visible(value)


def header(name: str) -> str:
    return HEADERS.get(name, name.replace("_", " "))


def _estimate(mean: float | None, lo: float | None, hi: float | None, *, signed: bool) -> str:
    form = "+.3f" if signed else ".3f"
    if mean is None:
        return "–"
    return (
        f"{mean:{form}}"
        if lo is None or hi is None
        else f"{mean:{form}} [{lo:{form}}, {hi:{form}}]"
    )


def _inert(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    # Some programs trim before they look.
    return f"'{value}" if value.lstrip(" \u00a0\ufeff").startswith(FORMULA) else value


def _latex(table: Table, found: Findings) -> str:
    columns = list(printed(table.frame))
    brackets = f"Brackets: {found.passport.intervals}"
    own = f"{found.passport.counts}. {brackets}. {found.passport.origin}"
    caption = f"{table.title}. {table.provenance or own}."
    rows = zip(*(cells for _, cells, _ in columns), strict=True)
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{_tex(caption)}}}",
            rf"\begin{{tabular}}{{{''.join('r' if numeric else 'l' for *_, numeric in columns)}}}",
            r"\toprule",
            " & ".join(_tex(name) for name, *_ in columns) + r" \\",
            r"\midrule",
            *(" & ".join(map(_tex, row)) + r" \\" for row in rows),
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def _tex(text: str) -> str:
    # A row that begins with "[" would be read as the optional argument of the "\\" before it.
    made = "".join(LATEX.get(char, char) for char in visible(text))
    return f"{{{made}}}" if made.startswith(("[", "*")) else made
