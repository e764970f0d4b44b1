"""The tables of a case's card, as HTML: everything in them is escaped text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from workbench.ask import Asking
from workbench.components import ladder, split
from workbench.escaped import literal
from workbench.figures.components import NAMES

__all__ = ["ladder_table", "said_table", "split_table"]

CUT, LONG = 60, 420  # characters of a cell, and of one with an answer


def ladder_table(one: Asking) -> Iterator[str]:
    """The rank of each turn of evidence, a row a component."""
    frame = ladder(one)
    if frame.is_empty():
        yield "<p>No evidence is known.</p>"
        return
    turns = frame["turn"].unique(maintain_order=True).to_list()
    rows = [
        [part["component"][0], *(_rank(row) for row in part.iter_rows(named=True))]
        for part in frame.partition_by("stage", maintain_order=True)
    ]
    yield "<p>The rank of each turn of evidence. Each row adds one component to those above it.</p>"
    yield _table(["component", *turns], rows)


def split_table(one: Asking) -> Iterator[str]:
    """How many places each part of the score moves the evidence."""
    frame = split(one)
    if frame.is_empty():
        yield "<p>No memory holds the evidence.</p>"
        return
    yield (
        "<p>λ · question alone ranks as the question does. Then each part is added to all "
        "memories: one place is one memory overtaken.</p>"
    )
    rows = []
    for row in frame.iter_rows(named=True):
        before, after = row["before"], row["after"]
        known = before is not None and after is not None
        rows.append(
            [
                row["turn"],
                NAMES.get(row["part"], row["part"]),
                f"{before - after:+d}".replace("-", "−") if known else "",
                "none" if after is None else str(after),
            ]
        )
    yield _table(["evidence", "part", "places", "rank"], rows)


def said_table(said: pl.DataFrame | None) -> Iterator[str]:
    """What kept runs answered (`case_answers.told_of`), and how it was judged."""
    if said is None or said.is_empty():
        return
    yield "<h2>What was answered</h2>"
    heads = ["run", "answer", "class", "F1", "judged", "by"]
    cells = [
        ["" if one is None else f"{one:.3f}" if isinstance(one, float) else str(one) for one in row]
        for row in said.iter_rows()
    ]
    yield _table(heads, cells, LONG)


def _table(heads: list[str], rows: list[list[str]], cut: int = CUT) -> str:
    head = "".join(f'<th scope="col">{literal(name, CUT)}</th>' for name in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{literal(cell, cut)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
        "</div>"
    )


def _rank(row: Mapping[str, Any]) -> str:
    if row["rank"] is None:
        return "none"
    return f"{row['rank']} (semantic)" if row["layer"] == "semantic" else str(row["rank"])
