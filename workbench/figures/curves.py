"""Lines with bands: recall by λ, recall by K, the difference of two settings by K."""

from __future__ import annotations

from typing import Literal, NamedTuple

import plotly.graph_objects as go
import polars as pl

from workbench.figures.drawing import NAME_WIDTH, PAPER_LAMBDA, bands, k_axis, signed, span
from workbench.figures.lines import Label, labelled, lines, marked
from workbench.passport import Passport
from workbench.theme import NEUTRAL, axes, faded, plain

__all__ = ["difference_curve", "lambda_sensitivity", "recall_curves"]


def lambda_sensitivity(
    frame: pl.DataFrame,
    passport: Passport,
    k: int = 25,
    plateau: tuple[float, float] | None = None,
) -> go.Figure:
    """Evidence recall@k against the weight of the query (SPEC A.3, A.9.3).

    `frame` has `lam, k, mean, lo, hi`, and `series` where several priors are compared. The dotted
    line is query-only retrieval (λ = 1); `plateau`, its lowest and highest λ, is shaded
    where it has more than the best.
    """
    at_k = frame.filter(pl.col("k") == k).sort("lam", maintain_order=True)
    figure = axes(
        f"Evidence recall@{k} by the weight λ of the query",
        "λ = 1: the query alone; λ = 0: the prior alone",
        "λ",
        f"evidence recall@{k}",
    )
    shown = span(at_k)
    labels = list(lines(figure, at_k, ("lam", "λ")))
    alone = at_k.filter(pl.col("lam") == 1)["mean"]
    if len(alone):
        figure.add_hline(y=alone[0], line={"color": NEUTRAL, "width": 1.5, "dash": "dot"})
        labels.append(Label(alone[0], "query only", NEUTRAL))
    labelled(figure, labels, shown)
    marked(figure, PAPER_LAMBDA, f"the paper’s λ = {PAPER_LAMBDA}")
    said = f"{bands(passport)} Dotted: query only. Dashed: the best λ of the paper, a reference."
    if plateau is not None and plateau[0] == plateau[1]:
        said += " No other λ is shown to be less than a point below the best: there is no plateau."
    elif plateau is not None:
        _shade(figure, plateau)
        said += (
            f" Shaded: the plateau, λ = {plateau[0]:g} to {plateau[1]:g}, whose settings are "
            "shown to be less than a point below the best."
        )
    figure.update_xaxes(range=[-0.02, 1.02], dtick=0.1)
    figure.update_yaxes(range=shown, tickformat=".2f")
    return signed(figure, "lambda_sensitivity", said, passport)


Measure = Literal["recall", "any", "all"]
Level = Literal["turn", "session"]


class _Words(NamedTuple):
    """How a measure is called in a title, explained in a sentence, and written on an axis."""

    title: str
    means: str
    axis: str


WORDS: dict[Measure, _Words] = {
    "recall": _Words(
        "Evidence recall",
        "share of a question’s evidence {piece}s that the first K {unit} hold",
        "evidence recall@K",
    ),
    "any": _Words(
        "Any evidence found",
        "share of questions with at least one evidence {piece} in the first K {unit}",
        "share of questions, any@K",
    ),
    "all": _Words(
        "All evidence found",
        "share of questions whose every evidence {piece} is in the first K {unit}",
        "share of questions, all@K",
    ),
}


def recall_curves(
    frame: pl.DataFrame,
    passport: Passport,
    measure: Measure = "recall",
    level: Level = "turn",
    ceilings: pl.DataFrame | None = None,
    by: str = "",
) -> go.Figure:
    """A measure of evidence against K (SPEC A.9.4), a line for each of `series`.

    `frame` has `k, mean, lo, hi`, and `series` where there are several; `by` says in the title
    what these are ("retriever"). Each row of `ceilings`
    (`ceiling, mean`) is a dotted level with its name.
    """
    words, unit = WORDS[measure], "memories" if level == "turn" else "sessions"
    figure = axes(
        f"{words.title} by {f'{plain(by)} and ' if by else ''}the number K of {unit} retrieved",
        words.means.format(piece=level, unit=unit),
        "K (logarithmic)",
        words.axis,
    )
    levels = [] if ceilings is None else list(ceilings.select("ceiling", "mean").iter_rows())
    shown = span(frame, *(mean for _, mean in levels))
    labels = list(lines(figure, frame.sort("k", maintain_order=True), ("k", "K")))
    for name, mean in levels:
        figure.add_hline(y=mean, line={"color": NEUTRAL, "width": 1.5, "dash": "dot"})
        labels.append(Label(mean, plain(name, NAME_WIDTH), NEUTRAL))
    labelled(figure, labels, shown)
    figure.update_yaxes(range=shown, tickformat=".2f")
    k_axis(figure, frame["k"])
    said = bands(passport)
    if levels:
        said += " Dotted: ceilings, by their names."
    return signed(figure, "recall_curves", said, passport)


def difference_curve(
    frame: pl.DataFrame,
    passport: Passport,
    names: tuple[str, str] = ("a", "b"),
    measure: Measure = "recall",
) -> go.Figure:
    """How much more of the evidence one setting finds than another, at every K.

    `frame` has `k, difference, lo, hi`; `names` are the settings. Above zero the first finds more.
    """
    first, second = (plain(name, NAME_WIDTH) for name in names)
    title = WORDS[measure].title
    figure = axes(
        f"Difference in {title[0].lower()}{title[1:]}: {first} − {second}",
        f"above zero {first} finds more, below zero {second}",
        "K (logarithmic)",
        f"difference in {measure}@K",
    )
    renamed = frame.rename({"difference": "mean"}).sort("k")
    figure.add_hline(y=0, line={"color": NEUTRAL, "width": 1.5})
    list(lines(figure, renamed, ("k", "K"), "+.3f"))
    # No sign is asked for: some plotly.js (marimo's) then write every digit of a number.
    figure.update_yaxes(range=span(renamed, 0.0), tickformat=".2f")
    k_axis(figure, frame["k"])
    said = f"Paired over the same questions. {bands(passport, 'Band')}"
    return signed(figure, "difference_curve", said, passport)


def _shade(figure: go.Figure, plateau: tuple[float, float]) -> None:
    """Shade a range of λ; a single λ gets a strip that can be seen."""
    least = 0.01
    figure.add_vrect(
        x0=plateau[0] - least,
        x1=plateau[1] + least,
        fillcolor=faded(NEUTRAL, 0.16),
        line_width=0,
        layer="below",
    )
    figure.add_annotation(
        text="plateau",
        x=(plateau[0] + plateau[1]) / 2,
        y=0,
        yref="paper",
        yanchor="bottom",
        showarrow=False,
        font={"size": 12},
    )
