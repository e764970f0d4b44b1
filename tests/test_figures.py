"""Figures: traces and axes against frames by hand, captions, and text that must stay text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import msgspec
import plotly.graph_objects as go
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from small_runs import HOSTILE, PASSPORT
from workbench import figures
from workbench.figures.lines import LABEL_GAP, spread
from workbench.passport import passport_of_question
from workbench.theme import CAPTION_WIDTH, MODES, SERIES, in_mode, plain


def surface(names: tuple[str, ...] = ("",)) -> pl.DataFrame:
    """λ = 0, 0.5, 1 with K = 1, 25; means by hand. With `series` where there are names."""
    means = {(0.0, 1): 0.1, (0.5, 1): 0.3, (1.0, 1): 0.2, (0.0, 25): 0.4, (0.5, 25): 0.8}
    means[1.0, 25] = 0.7
    rows = [
        {"series": name, "lam": lam, "k": k, "mean": m, "lo": m - 0.05, "hi": m + 0.05}
        for name in names
        for (lam, k), m in means.items()
    ]
    frame = pl.DataFrame(rows)
    return frame if any(names) else frame.drop("series")


def curve(names: tuple[str, ...]) -> pl.DataFrame:
    return surface(names).filter(pl.col("lam") == 0.5).drop("lam")


def settings(*names: str) -> pl.DataFrame:
    tested = {"difference": None, "difference_lo": None, "difference_hi": None}
    rows = [
        {"setting": name, "mean": 0.8 - 0.1 * at, "lo": 0.7 - 0.1 * at, "hi": 0.9 - 0.1 * at}
        | (tested if not at else {"difference": -0.1, "difference_lo": -0.2, "difference_hi": 0.05})
        for at, name in enumerate(names)
    ]
    return pl.DataFrame(rows, infer_schema_length=None)


def categories(series: tuple[str, ...], *names: str) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"series": one, "category": name, "n": 10 + at, "mean": 0.5, "lo": 0.4, "hi": 0.7}
            for one in series
            for at, name in enumerate(names)
        ]
    )


def hit(rank: int, id: str, was: int | None, text: str = "tea") -> dict[str, Any]:
    hit = {"rank": rank, "memory_id": id, "text": text, "owner": text, "sources": [id]}
    return hit | {"rank_without": was}


def asked(text: str = "What do I drink?") -> dict[str, Any]:
    """Three memories each way: b rises, a falls, c leaves, d comes from rank 9."""
    return {
        "question": text,
        "user": text,
        "evidence": ["d"],
        "recipe": {"prior": "facts", "lam": 0.5},
        "rankings": {
            "without": [hit(1, "a", 1, text), hit(2, "b", 2, text), hit(3, "c", 3, text)],
            "with": [hit(1, "b", 2, text), hit(2, "a", 1, text), hit(3, "d", 9, text)],
        },
    }


def layers() -> pl.DataFrame:
    cells = [(5, 0, 0.1), (10, 0, 0.2), (5, 7, 0.3), (10, 7, 0.4)]
    rows = [
        {"k_episodic": e, "k_semantic": s, "mean": m, "lo": m - 0.05, "hi": m + 0.05}
        for e, s, m in cells
    ]
    return pl.DataFrame(rows)


def gap() -> pl.DataFrame:
    return pl.DataFrame(
        {"k": [1, 10], "difference": [-0.1, 0.2], "lo": [-0.2, 0.1], "hi": [0.0, 0.3]}
    )


# Every figure, with `text` wherever a frame may carry anybody's words.
FIGURES: dict[str, Callable[[str], go.Figure]] = {
    "lambda_sensitivity": lambda text: figures.lambda_sensitivity(
        surface((text, "other")), PASSPORT, 25, (0.5, 1.0)
    ),
    "recall_curves": lambda text: figures.recall_curves(curve((text, "other")), PASSPORT),
    "difference_curve": lambda text: figures.difference_curve(gap(), PASSPORT, (text, "b")),
    "recall_surface": lambda text: figures.recall_surface(surface(), PASSPORT),
    "layer_heatmap": lambda text: figures.layer_heatmap(layers(), PASSPORT),
    "ablation_bars": lambda text: figures.ablation_bars(settings(text, text), PASSPORT, text, text),
    "category_dots": lambda text: figures.category_dots(
        categories((text, "b"), text, "c"), PASSPORT, text
    ),
    "rank_movement": lambda text: figures.rank_movement(asked(text), PASSPORT),
}


def strings(value: Any) -> Iterator[str]:
    """Every string anywhere in a figure, its template apart."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            if key != "template":
                yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


def spec(figure: go.Figure) -> dict[str, Any]:
    return json.loads(figure.to_json())


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_carries_counts_interval_and_passport(name: str) -> None:
    figure = FIGURES[name]("text")
    caption = figure.layout.meta["caption"]
    assert "n = 1,536 questions in 10 conversations" in caption
    assert "excluded: 3 unresolved evidence, 1 without evidence" in caption
    assert (
        "Data toy 79fa87e9aa · recipe 1234567890 · code 9.9.9 · seed 7 · run ab12cd34ef" in caption
    )
    assert ("95% intervals over conversations" in caption) != (name == "rank_movement")
    [drawn] = [a for a in figure.layout.annotations if a.name == "caption"]
    assert drawn.text.replace("<br>", " ") == caption
    assert max(map(len, drawn.text.split("<br>"))) <= CAPTION_WIDTH
    assert figure.layout.meta["figure"] == name
    assert figure.layout.meta["passport"] == msgspec.to_builtins(PASSPORT)


@pytest.mark.parametrize("name", FIGURES)
def test_text_from_data_is_no_markup(name: str) -> None:
    found = list(strings(spec(FIGURES[name](HOSTILE))))
    assert not [text for text in found if re.search(r"<\s*(img|a|script)|</script", text, re.I)]
    shown = "".join(found)
    if name not in ("recall_surface", "layer_heatmap"):
        assert "&lt;img src=x onerror" in shown
    # The figures' own markup is this and no more.
    own = set(re.findall(r"<[^>]*>", shown))
    assert all(re.fullmatch(r'</?(br|b|sub)>|<span style="color:#\w{6}">|</span>', o) for o in own)


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_the_same_whenever_it_is_made(name: str) -> None:
    assert spec(FIGURES[name]("text")) == spec(FIGURES[name]("text"))


@pytest.mark.parametrize("name", FIGURES)
def test_modes_differ_in_their_template_alone(name: str) -> None:
    figure = FIGURES[name]("text")
    light, dark = spec(figure), spec(in_mode(figure, "dark"))
    assert light["layout"].pop("template") != dark["layout"].pop("template")
    assert light == dark
    paper = in_mode(figure, "dark").layout.template.layout.paper_bgcolor
    assert paper == MODES["dark"].paper


# ---------------------------------------------------------------- traces and axes


def marks(figure: go.Figure, axis: str) -> list[float]:
    """Where lines are drawn across the figure: of "x" the upright ones, of "y" the level ones."""
    other = "y" if axis == "x" else "x"
    return [
        getattr(shape, f"{axis}0")
        for shape in figure.layout.shapes
        if shape.type == "line" and getattr(shape, f"{other}ref").endswith("domain")
    ]


def test_lambda_sensitivity_shows_line_band_plateau_and_references() -> None:
    figure = figures.lambda_sensitivity(surface(), PASSPORT, 25, (0.5, 1.0))
    band, line = figure.data
    assert (list(line.x), list(line.y)) == ([0, 0.5, 1], [0.4, 0.8, 0.7])
    assert band.fill == "toself"
    assert list(band.x) == [0, 0.5, 1, 1, 0.5, 0]
    assert list(band.y) == pytest.approx([0.45, 0.85, 0.75, 0.65, 0.75, 0.35])
    assert marks(figure, "x") == [0.8]  # the paper's
    assert marks(figure, "y") == [0.7]  # recall at λ = 1
    [shade] = [shape for shape in figure.layout.shapes if shape.type == "rect"]
    assert (shade.x0, shade.x1) == pytest.approx((0.49, 1.01))
    assert line.hovertext[1] == "λ = 0.5<br>0.800 [0.750, 0.850]"
    low, high = figure.layout.yaxis.range
    assert low < 0.35 and high > 0.85
    assert "plateau, λ = 0.5 to 1" in figure.layout.meta["caption"]


def test_without_a_plateau_none_is_shaded() -> None:
    figure = figures.lambda_sensitivity(surface(), PASSPORT)
    assert {shape.type for shape in figure.layout.shapes} == {"line"}
    assert "plateau" not in figure.layout.meta["caption"]


def test_a_plateau_of_one_setting_is_none() -> None:
    figure = figures.lambda_sensitivity(surface(), PASSPORT, 25, (0.5, 0.5))
    assert {shape.type for shape in figure.layout.shapes} == {"line"}
    assert "there is no plateau" in figure.layout.meta["caption"]
    assert " to 0.5" not in figure.layout.meta["caption"]


def test_series_are_labelled_at_their_ends_in_their_colours() -> None:
    frame = pl.concat([curve(("low",)), curve(("high",)).with_columns(mean=pl.col("mean") + 0.1)])
    figure = figures.recall_curves(frame, PASSPORT)
    assert [list(line.y) for line in figure.data[1::2]] == [[0.3, 0.8], pytest.approx([0.4, 0.9])]
    labels = {a.text.split("</span> ")[1]: a for a in figure.layout.annotations if a.name is None}
    assert labels["low"].y == 0.8 and SERIES[0] in labels["low"].text
    assert labels["high"].y == pytest.approx(0.9) and SERIES[1] in labels["high"].text
    assert figure.layout.xaxis.type == "log"
    assert list(figure.layout.xaxis.tickvals) == [1, 2, 5, 10, 25]
    assert not figure.layout.showlegend


def test_difference_is_drawn_around_zero() -> None:
    figure = figures.difference_curve(gap(), PASSPORT, ("facts", "none"))
    assert list(figure.data[1].y) == [-0.1, 0.2]
    assert marks(figure, "y") == [0]
    assert "facts − none" in figure.layout.title.text
    assert figure.data[1].hovertext[0] == "K = 1<br>-0.100 [-0.200, +0.000]"


def test_surface_shows_recall_and_its_gain_over_the_query_alone() -> None:
    recall, gain = figures.recall_surface(surface(), PASSPORT).data
    assert (list(recall.x), list(recall.y)) == ([1, 25], [0, 0.5, 1])
    assert [list(row) for row in recall.z] == [[0.1, 0.4], [0.3, 0.8], [0.2, 0.7]]
    by_hand = [[-0.1, -0.3], [0.1, 0.1], [0, 0]]
    assert [list(row) for row in gain.z] == [pytest.approx(row, abs=1e-12) for row in by_hand]
    assert (gain.zmin, gain.zmax) == pytest.approx((-0.3, 0.3))  # white is no gain
    assert gain.hovertext[1][1] == (
        "λ = 0.5, K = 25<br>0.800 [0.750, 0.850]<br>+0.100 against λ = 1"
    )


def test_layers_stand_on_their_axes() -> None:
    figure = figures.layer_heatmap(layers(), PASSPORT)
    [cells] = figure.data
    assert (list(cells.x), list(cells.y)) == (["5", "10"], ["0", "7"])
    assert [list(row) for row in cells.z] == [[0.1, 0.2], [0.3, 0.4]]
    written = {(a.x, a.y): a.text for a in figure.layout.annotations if a.name is None}
    assert written == {(0, 0): "0.100", (1, 0): "0.200", (0, 1): "0.300", (1, 1): "0.400"}


def test_ablations_show_the_difference_from_the_whole() -> None:
    figure = figures.ablation_bars(settings("whole", "less"), PASSPORT, "recall@25")
    [bars] = figure.data
    assert list(bars.x) == pytest.approx([0.8, 0.7])
    assert list(bars.error_x.array) == pytest.approx([0.1, 0.2 - 0.1])
    assert list(bars.error_x.arrayminus) == pytest.approx([0.1, 0.1])
    assert list(figure.layout.yaxis.ticktext) == ["whole", "less"]
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]  # the first on top
    assert figure.layout.xaxis.range[0] == 0
    assert marks(figure, "x") == [0.8]
    written = [a.text for a in figure.layout.annotations if a.name is None]
    assert written == [
        "0.800 [0.700, 0.900]",
        "0.700 [0.600, 0.800]<br>-0.100 [-0.200, +0.050]",
    ]


def test_categories_name_their_n() -> None:
    one, two = figures.category_dots(
        categories(("a", "b"), "multi-hop", "odd"), PASSPORT, "F1"
    ).data
    assert list(one.error_x.array) == pytest.approx([0.2, 0.2])
    assert list(one.error_x.arrayminus) == pytest.approx([0.1, 0.1])
    assert [y < 0.5 for y in one.y] == [True, False]
    assert all(a < b for a, b in zip(one.y, two.y, strict=True))
    assert one.marker.symbol != two.marker.symbol
    figure = figures.category_dots(categories(("",), "multi-hop", "odd"), PASSPORT, "F1")
    assert list(figure.layout.yaxis.ticktext) == ["multi-hop (n = 10)", "odd (n = 11)"]
    assert not figure.layout.showlegend


def test_an_unknown_interval_is_left_out_and_breaks_nothing() -> None:
    frame = categories(("",), "a", "b").with_columns(
        lo=pl.Series([None, 0.4]), hi=pl.Series([None, 0.7])
    )
    [dots] = figures.category_dots(frame, PASSPORT, "F1").data
    assert list(dots.error_x.array) == [None, pytest.approx(0.2)]
    assert dots.hovertext[0].endswith("0.500")


def test_ranks_move_as_they_did() -> None:
    figure = figures.rank_movement(asked(), PASSPORT)
    moves = {tuple(line.y): (line.line.color, line.line.dash) for line in figure.data}
    assert moves == {
        (2, 1): (SERIES[0], "solid"),  # b rises
        (1, 2): (SERIES[1], "solid"),  # a falls
        (4, 3): (SERIES[0], "dash"),  # d comes from beyond
        (3, 4): ("#808080", "dot"),  # c leaves
    }
    texts = [a.text for a in figure.layout.annotations]
    assert "<b>3</b> (from 9)  ★ tea" not in texts  # the text is the question's here
    assert sum("★" in text for text in texts if "holds evidence" not in text) == 1
    assert any(text.startswith("<b>3</b> (from 9)  ★ ") for text in texts)


def test_one_question_has_a_passport_too() -> None:
    told = {**asked(), "banks": "ba2c5", "recipe": {"prior": "facts", "lam": 0.5, "seed": 3}}
    passport = passport_of_question(told, "toy")
    assert passport.counts == "n = 1 question; excluded: none"
    assert passport.origin.startswith("Data toy ba2c5 · recipe ")
    assert "seed 3" in figures.rank_movement(told, passport).layout.meta["caption"]


# ---------------------------------------------------------------- theme


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    bright, dim = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dim + 0.05)


@pytest.mark.parametrize("mode", MODES.values(), ids=MODES.keys())
def test_what_must_be_read_stands_out(mode: Any) -> None:
    assert contrast(mode.ink, mode.paper) >= 7
    assert contrast(mode.muted, mode.paper) >= 4.5
    # Graphics need 3:1 (WCAG 1.4.11); purple misses it on white by a hair.
    assert all(contrast(colour, mode.paper) >= 3 for colour in SERIES[:3])
    assert contrast(SERIES[3], mode.paper) >= 2.8


def test_series_are_okabe_and_itos() -> None:
    published = {  # Okabe and Ito 2008, in 8-bit RGB
        (0, 114, 178), (213, 94, 0), (0, 158, 115), (204, 121, 167), (230, 159, 0), (86, 180, 233),
    }  # fmt: skip
    assert {tuple(int(c[at : at + 2], 16) for at in (1, 3, 5)) for c in SERIES} == published


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("a < b & c > d", None, "a &lt; b &amp; c &gt; d"),
        ("two\nlines\tand  more", None, "two lines and more"),
        ("\u202eabc\x1b[31m", None, "·abc·[31m"),
        ("👩‍👩‍👧 naïve שלום", None, "👩‍👩‍👧 naïve שלום"),
        ("half \ud83d gone", None, "half  gone"),
        ("abcdef", 4, "abc…"),
        ("<<<<<<", 4, "&lt;&lt;&lt;…"),  # cut before it is escaped: no half entity
    ],
)
def test_plain_text(text: str, width: int | None, shown: str) -> None:
    assert plain(text, width) == shown


@pytest.mark.parametrize(
    ("places", "spread_out"),
    [
        ([], []),
        ([5.0], [5.0]),
        ([0.0, 40.0], [0.0, 40.0]),
        ([10.0, 10.0], [2.0, 18.0]),
        ([0.0, 10.0, 20.0], [-6.0, 10.0, 26.0]),
        ([0.0, 0.0, 100.0], [-8.0, 8.0, 100.0]),
    ],
)
def test_labels_are_pushed_apart_by_16_pixels(places: list[float], spread_out: list[float]) -> None:
    assert spread(places) == pytest.approx(spread_out)


@given(st.lists(st.floats(0, 500), max_size=12).map(sorted))
def test_labels_keep_their_order_and_distance(places: list[float]) -> None:
    found = spread(places)
    assert len(found) == len(places)
    assert all(b - a >= LABEL_GAP - 1e-6 for a, b in pairwise(found))
    # As a whole they stay where they were.
    assert sum(found) == pytest.approx(sum(places), abs=1e-6)
