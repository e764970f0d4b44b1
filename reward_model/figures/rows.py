"""A row for each feature, model or group, its value as a mark with its interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from reward_model.figures.marks import HOLLOW, Rows, dots, hollow, remark, rows_axis, whiskers
from reward_model.figures.origin import ComparisonPassport, opened
from reward_model.rubric import RUBRIC
from workbench.figures.drawing import NAME_WIDTH, bands, estimate, signed
from workbench.figures.lines import marked
from workbench.theme import NEUTRAL, SERIES, faded, plain

__all__ = ["accuracy_bars", "coefficient_dots", "preference_dots"]

ROW, TOP = 34, 150  # pixels of a row, and of what stands above and below all rows
ABOUT = {  # memory dependence: name, colour, shape
    True: ("depends on memories", SERIES[0], "circle"),
    False: ("about the responses alone", SERIES[1], "square"),
    None: ("not labelled", NEUTRAL, "diamond"),
}
CHOICES = {  # of a preference table: name, colour, shape
    "memory": ("memory preferred", SERIES[0], "circle"),
    "none": ("no memory preferred", SERIES[1], "square"),
    "tie": ("tie", NEUTRAL, "diamond"),
}


def coefficient_dots(
    rows: Rows, passport: ComparisonPassport, cost: float | None = None, notes: Sequence[str] = ()
) -> go.Figure:
    """Standardised coefficients with intervals, by memory dependence, beside the paper's.

    `rows` have `feature, beta, lo, hi, memory`, as `coefficients.Coefficients` does; `cost` is the
    fit's C (None: no penalty) and `notes` are what it says of itself. A beta that is None is not
    drawn, and its row says that the data do not determine it.
    """
    kind = "descriptive fit, no penalty" if cost is None else f"shrunken fit, C = {cost:g}"
    figure = opened(
        passport,
        "Coefficients of the rubric’s features",
        f"{kind}; right of zero favours the memory response",
        ("change of the log odds per standard deviation", ""),
        TOP + ROW * len(rows) + 40,
    )
    figure.add_vline(x=0, line={"color": NEUTRAL, "width": 1.5})
    drawn = [{"at": at, "mean": one["beta"], **one} for at, one in enumerate(rows)]
    for memory, (name, colour, shape) in ABOUT.items():
        group = [one for one in drawn if one["memory"] is memory]
        dots(figure, group, (name, colour, shape), [_named(one["feature"]) for one in group])
    known = [one for one in drawn if one["feature"] in RUBRIC]
    hollow(figure, [(RUBRIC[o["feature"]].paper, o["at"], o["memory"]) for o in known], ABOUT)
    for one in drawn:
        if one["beta"] is None:
            remark(figure, one["at"], "not determined by these data")
    rows_axis(figure, [_named(one["feature"]) for one in drawn])
    figure.update_xaxes(tickformat=".2f")
    said = " ".join(f"{note.rstrip('.')}." for note in notes)
    shrunken = "" if cost is None else " The penalty draws all of them towards 0."
    return signed(
        figure,
        "coefficient_dots",
        f"{bands(passport, 'Whiskers')}{shrunken} Hollow: the paper’s coefficients, a reference "
        f"from other data.{' ' + said if said else ''}",
        passport,
    )


def accuracy_bars(
    rows: Rows, passport: ComparisonPassport, ceiling: Mapping[str, Any] | None = None
) -> go.Figure:
    """Accuracy of each model or baseline, in the order of the rows (`references.accuracy_rows`).

    `rows` have `variant, mean, lo, hi, n`, `paper` where the paper gives one, and `not_run`, the
    reason, where there is no accuracy. `ceiling` is how far people agree with themselves:
    `agreement, lo, hi, n`, as `agreement.retest_agreement` tells `overall`.
    """
    figure = opened(
        passport,
        "Accuracy on held-out participants",
        "which response is preferred; dotted: chance",
        ("accuracy", ""),
        TOP + ROW * len(rows) + 40,
    )
    drawn = [{"at": at, **one} for at, one in enumerate(rows)]
    _bars(figure, [one for one in drawn if one["mean"] is not None])
    for one in drawn:
        remark(figure, one["at"], estimate(one) if one["mean"] is not None else _not_run(one))
    papers = [
        (one["paper"], one["at"], True)
        for one in drawn
        if one["mean"] is not None and one.get("paper") is not None
    ]
    hollow(figure, papers, {True: ("", NEUTRAL, "circle")})
    said = "" if ceiling is None or ceiling.get("agreement") is None else _ceiling(figure, ceiling)
    figure.add_vline(x=0.5, line={"color": NEUTRAL, "width": 1.5, "dash": "dot"})
    rows_axis(figure, [plain(one["variant"], NAME_WIDTH) for one in drawn])
    figure.update_xaxes(range=[0, 1], tickformat=".0%")
    figure.update_layout(margin_r=175)
    said = f"{bands(passport, 'Whiskers, brackets')}{said} Hollow: the paper’s, on its own data."
    return signed(figure, "accuracy_bars", said, passport)


def preference_dots(
    rows: Rows,
    passport: ComparisonPassport,
    paper: Mapping[str, Mapping[str, float]] | None = None,
) -> go.Figure:
    """What is preferred, in each group of comparisons: memory, no memory, or neither.

    `rows` are those of `agreement.preference_table` (by regime, generator, or both): the group's
    fields, `n`, and `memory, none, tie` with `share, lo, hi` each. `paper` maps names of groups
    ("ordinary", "ordinary, GPT-5.2") to the paper's shares.
    """
    shown = [one for one in rows if one["n"]]
    names = [_group(one) for one in shown]
    figure = opened(
        passport,
        "Preferences by regime and generator",
        "shares of all judgments of a group; the three of a row add up to 1",
        ("share of judgments", ""),
        TOP + (ROW + 14) * len(shown) + 40,
    )
    for step, (choice, mark) in enumerate(CHOICES.items()):
        group = [
            {"at": at + 0.22 * (step - 1), "mean": one[choice]["share"], **one[choice]}
            for at, one in enumerate(shown)
        ]
        dots(figure, group, mark, [plain(name) for name in names])
        shares = [(paper or {}).get(name, {}).get(choice) for name in names]
        hollow(
            figure,
            [(s, g["at"], choice) for s, g in zip(shares, group, strict=True) if s is not None],
            CHOICES,
        )
    labels = [f"{plain(_group(one), NAME_WIDTH)} (n = {one['n']:,})" for one in shown]
    rows_axis(figure, labels)
    figure.update_xaxes(range=[0, 1], tickformat=".0%")
    hollow_ones = any(trace.name == HOLLOW for trace in figure.data)
    said = " Hollow: the paper’s, on its own data." if hollow_ones else ""
    if empty := [_group(one) for one in rows if not one["n"]]:
        said += f" Left out, without judgments: {', '.join(empty)}."
    return signed(figure, "preference_dots", f"{bands(passport, 'Whiskers')}{said}", passport)


def _bars(figure: go.Figure, whole: Rows) -> None:
    """A bar with its whiskers for each accuracy, the first in another colour."""
    colours = [SERIES[0] if one["at"] == 0 else SERIES[5] for one in whole]
    figure.add_bar(
        x=[one["mean"] for one in whole],
        y=[one["at"] for one in whole],
        orientation="h",
        width=0.6,
        showlegend=False,
        marker={
            "color": [faded(colour, 0.45) for colour in colours],
            "line": {"color": colours, "width": 1.5},
        },
        error_x=whiskers(whole),
        hovertext=[f"{plain(one['variant'])}<br>{estimate(one)} (n = {one['n']})" for one in whole],
        hoverinfo="text",
    )


def _not_run(one: Mapping[str, Any]) -> str:
    """ "not run: why (paper: 0.529)"."""
    paper = f" (paper: {one['paper']:.3f})" if one.get("paper") is not None else ""
    return f"not run: {plain(one.get('not_run') or 'no reason given', 90)}{paper}"


def _ceiling(figure: go.Figure, ceiling: Mapping[str, Any]) -> str:
    """Shade how far people agree with themselves; what the caption says of it."""
    if ceiling["lo"] is not None and ceiling["hi"] is not None:
        span = {"x0": ceiling["lo"], "x1": ceiling["hi"], "line_width": 0, "layer": "below"}
        figure.add_vrect(fillcolor=faded(NEUTRAL, 0.16), **span)
    marked(figure, ceiling["agreement"], "people repeat their choice")
    told = estimate({"mean": ceiling["agreement"], "lo": ceiling["lo"], "hi": ceiling["hi"]})
    return (
        f" Dashed, shaded: how often people repeat their own choice, {told} of {ceiling['n']} "
        "repeats of all strengths, ties among the answers."
    )


def _group(one: Mapping[str, Any]) -> str:
    """ "ordinary, GPT"; "all" where the table has one row for everything."""
    return ", ".join(str(one[key]) for key in ("regime", "generator") if key in one) or "all"


def _named(feature: str) -> str:
    """ "HEAD  Headings"; a feature that the rubric lacks by its name."""
    known = RUBRIC.get(feature)
    return plain(f"{feature}  {known.title}" if known else feature, NAME_WIDTH)
