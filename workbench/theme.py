"""One look for every figure: colours, type, light and dark, and text that stays text.

Series colours are Okabe and Ito's (jfly.uni-koeln.de/color), which people with any common colour
blindness can tell apart; the order here puts those first that stand out (3:1) on both papers.
Whatever must change with the mode lives in the plotly template, so that a page can swap it.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Mapping
from typing import Any

import plotly.graph_objects as go

from workbench.schema import Record

__all__ = [
    "CAPTION",
    "MODES",
    "MUTED",
    "NEUTRAL",
    "RIGHT",
    "SERIES",
    "axes",
    "captioned",
    "faded",
    "in_mode",
    "plain",
    "template",
    "visible",
]

OKABE_ITO = {
    "blue": "#0072B2",
    "vermillion": "#D55E00",
    "green": "#009E73",
    "purple": "#CC79A7",
    "orange": "#E69F00",
    "sky": "#56B4E9",
}
SERIES = tuple(OKABE_ITO.values())
NEUTRAL = "#808080"

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif"
LEFT, RIGHT, TOP, FOOT, LINE = 86, 24, 84, 58, 15
CAPTION = "caption"
CAPTION_WIDTH = 128  # characters to a line of a caption, at a figure's usual width
JOINER = "\u200d"  # what holds a family of emoji together
MUTED = 0.78  # opacity of remarks


class Mode(Record, frozen=True, kw_only=True):
    """The colours that depend on the paper."""

    paper: str
    ink: str
    muted: str
    grid: str


MODES = {
    "light": Mode(paper="#ffffff", ink="#1b1f24", muted="#57606a", grid="#e4e7eb"),
    "dark": Mode(paper="#14171c", ink="#e8eaed", muted="#a3abb5", grid="#2d333b"),
}


def visible(text: str) -> str:
    """Text on one line; half characters dropped, controls (directional overrides too) as dots."""
    return "".join(
        "·" if unicodedata.category(char) in ("Cc", "Cf") and char != JOINER else char
        for char in " ".join(str(text).split())
        if unicodedata.category(char) != "Cs"
    )


def plain(text: str, width: int | None = None) -> str:
    """Data as text for plotly, which reads a little HTML (`<a href>`, `<b>`, entities) in titles,
    labels and hovers: escaped, on one line, cut at `width` characters."""
    shown = visible(text)
    if width is not None and len(shown) > width:
        shown = shown[: width - 1] + "…"
    return shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def faded(colour: str, alpha: float) -> str:
    """A "#rrggbb" colour at an opacity of 0..1, as plotly writes it."""
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{alpha:g})"


def template(mode: str = "light") -> go.layout.Template:
    """The plotly template of a mode, "light" or "dark"."""
    colours = MODES[mode]
    axis = {
        "gridcolor": colours.grid,
        "linecolor": colours.muted,
        "zerolinecolor": colours.muted,
        "tickcolor": colours.muted,
        "tickfont": {"color": colours.muted},
        "zeroline": False,
        "automargin": False,
    }
    return go.layout.Template(
        layout={
            "font": {"family": FONT, "size": 13, "color": colours.ink},
            "paper_bgcolor": colours.paper,
            "plot_bgcolor": colours.paper,
            "colorway": list(SERIES),
            "xaxis": axis,
            "yaxis": axis,
            "hoverlabel": {
                "bgcolor": colours.paper,
                "bordercolor": colours.muted,
                "font": {"color": colours.ink, "family": FONT},
            },
            "title": {"font": {"size": 17}, "subtitle": {"font": {"color": colours.muted}}},
        }
    )


def axes(title: str, subtitle: str, x: str, y: str, height: int = 440) -> go.Figure:
    """An empty figure in the light mode, with its titles. Texts from data come through `plain`."""
    return go.Figure(
        layout={
            "template": template(),
            "title": {
                "text": title,
                "subtitle": {"text": subtitle, "font": {"size": 13}},
                "x": 0,
                "xref": "container",
                "xanchor": "left",
                "y": 1,
                "yref": "container",
                "yanchor": "top",
                "pad": {"l": 16, "t": 18},
            },
            "xaxis": {"title": {"text": x, "standoff": 8}},
            "yaxis": {"title": {"text": y, "standoff": 6}},
            "margin": {"l": LEFT, "r": RIGHT, "t": TOP, "b": FOOT},
            "height": height,
            "showlegend": False,
            "hovermode": "closest",
        }
    )


def captioned(figure: go.Figure, caption: str, meta: Mapping[str, Any]) -> go.Figure:
    """The figure with its caption below it and its metadata in `layout.meta`.

    The caption is plain text. Pages that set it themselves find it in `meta`, with `foot`, the
    pixels that its drawing takes.
    """
    lines = textwrap.wrap(caption, CAPTION_WIDTH)
    figure.add_annotation(
        name=CAPTION,
        text="<br>".join(map(plain, lines)),
        x=0,
        xref="paper",
        xshift=16 - figure.layout.margin.l,
        y=0,
        yref="paper",
        yshift=-figure.layout.margin.b,
        xanchor="left",
        yanchor="top",
        showarrow=False,
        align="left",
        font={"size": 11},
        opacity=MUTED,
    )
    foot = LINE * len(lines) + 14
    figure.update_layout(
        meta={**meta, "caption": caption, "foot": foot},
        height=figure.layout.height + foot,
        margin_b=figure.layout.margin.b + foot,
    )
    return figure


def in_mode(figure: go.Figure, mode: str) -> go.Figure:
    """A copy in the light or dark mode."""
    return go.Figure(figure).update_layout(template=template(mode))
