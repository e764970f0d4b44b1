"""Figures of the reward model: marks and axes against rows by hand, captions, inert text."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import plotly.graph_objects as go
import pytest

from reward_model import figures
from reward_model.coefficients import Coefficient
from reward_model.explanation import Explanation, Part
from reward_model.figures import ComparisonPassport
from reward_model.model_file import FittedFeature, ModelFile, Origin
from reward_model.rubric import RUBRIC
from reward_model.schema import Comparison, ComparisonSet
from small_runs import HOSTILE
from workbench.runs import load_run, save_run, tidy
from workbench.theme import MODES, NEUTRAL, SERIES, in_mode
from workbench.workspace import Workspace

PASSPORT = ComparisonPassport(
    run="ab12cd34ef567890",
    kind="reward-evaluate",
    dataset="toy",
    data="79fa87e9aabbccdd",
    recipe="1234567890abcdef",
    code="9.9.9",
    seed=7,
    n=291,
    clusters=87,
    excluded={"too fast": 4, "attention check": 1},
    scorer="offline",
    synthetic=True,
)
REAL = msgspec.structs.replace(PASSPORT, synthetic=False)


def coefficients(text: str = "WARMTH") -> list[dict[str, Any]]:
    """HEAD and REL of the rubric, one that it lacks, and one that is not determined."""
    rows = [
        Coefficient(feature="HEAD", beta=0.5, lo=0.2, hi=0.9, memory=False),
        Coefficient(feature="REL", beta=-0.1, lo=-0.3, hi=0.1, memory=True),
        Coefficient(feature=text, beta=0.3, lo=None, hi=None, memory=None),
        Coefficient(feature="OPT", beta=None, lo=None, hi=None, memory=False),
    ]
    return [msgspec.to_builtins(row) for row in rows]


def accuracies(text: str = "judge") -> list[dict[str, Any]]:
    return [
        {"variant": "full", "mean": 0.7, "lo": 0.6, "hi": 0.8, "n": 291, "paper": 0.728},
        {"variant": text, "mean": 0.6, "lo": None, "hi": None, "n": 200, "paper": None},
        {
            "variant": text, "mean": None, "lo": None, "hi": None, "n": 0, "paper": 0.529,
            "not_run": text,
        },
    ]  # fmt: skip


CURVE = [
    {"coverage": 1.0, "accuracy": 0.7, "lo": 0.6, "hi": 0.8, "n": 291},
    {"coverage": 0.5, "accuracy": 0.9, "lo": 0.8, "hi": 1.0, "n": 146},
]
BINS = [
    {
        "bin_lo": 0.2, "bin_hi": 0.3, "mean_p": 0.25, "share": 0.4, "lo": 0.1, "hi": 0.6, "n": 100
    },
    {
        "bin_lo": 0.8, "bin_hi": 0.9, "mean_p": 0.85, "share": 0.9, "lo": None, "hi": None, "n": 25
    },
]  # fmt: skip
RETEST = {"agreement": 0.68, "lo": 0.55, "hi": 0.8, "n": 75}


def shares(memory: float, none: float, tie: float) -> dict[str, Any]:
    return {
        name: {"share": share, "lo": share - 0.1, "hi": share + 0.1, "basis": "participants"}
        for name, share in (("memory", memory), ("none", none), ("tie", tie))
    }


def preferences(text: str = "GPT") -> list[dict[str, Any]]:
    nothing = dict.fromkeys(("share", "lo", "hi", "basis"))
    return [
        {"regime": "ordinary", "generator": text, "n": 20, **shares(0.5, 0.3, 0.2)},
        {"regime": "aggressive", "generator": "b", "n": 10, **shares(0.2, 0.7, 0.1)},
        {"regime": text, "generator": "c", "n": 0}
        | dict.fromkeys(("memory", "none", "tie"), nothing),
    ]


def explained(text: str = "WARMTH") -> dict[str, Any]:
    """Base rate -0.5; the parts add 1, -0.25 and 0.75: the sum is 1."""
    parts = [
        ("LEN", -0.25, False), ("REL", 1.0, True), (text, 0.75, None),
    ]  # fmt: skip
    made = Explanation(
        parts=tuple(
            Part(
                feature=name, value=-0.0, standardised=2.0, coef=c / 2, contribution=c,
                memory=memory,
            )
            for name, c, memory in parts
        ),
        intercept=-0.5,
        logit=1.0,
        probability=0.7310585786300049,
        synthetic=True,
    )  # fmt: skip
    return msgspec.to_builtins(made) | {"comparison": text, "prefers_memory": True}


# Every figure, with `text` wherever its rows may carry anybody's words.
FIGURES: dict[str, Callable[[str], go.Figure]] = {
    "coefficient_dots": lambda text: figures.coefficient_dots(
        coefficients(text), PASSPORT, 0.1, [text]
    ),
    "accuracy_bars": lambda text: figures.accuracy_bars(accuracies(text), PASSPORT, RETEST),
    "selective_curve": lambda text: figures.selective_curve(CURVE, PASSPORT, 0.55),
    "reliability_diagram": lambda text: figures.reliability_diagram(BINS, PASSPORT),
    "preference_dots": lambda text: figures.preference_dots(preferences(text), PASSPORT),
    "contribution_waterfall": lambda text: figures.contribution_waterfall(
        explained(text), PASSPORT
    ),
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


def caption(figure: go.Figure) -> str:
    return figure.layout.meta["caption"]


def written(figure: go.Figure) -> list[str]:
    """What is written into the figure, its caption apart."""
    return [one.text for one in figure.layout.annotations if one.name is None]


def trace(figure: go.Figure, name: str) -> Any:
    [found] = [one for one in figure.data if one.name == name]
    return found


def uprights(figure: go.Figure) -> list[float]:
    lines = [one for one in figure.layout.shapes if one.type == "line"]
    return [one.x0 for one in lines if one.x0 == one.x1]


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_carries_counts_interval_and_passport(name: str) -> None:
    figure = FIGURES[name]("text")
    said = caption(figure)
    assert "n = 291 comparisons by 87 participants" in said
    assert "excluded: 1 attention check, 4 too fast" in said
    assert "Data toy 79fa87e9aa · recipe 1234567890 · code 9.9.9 · seed 7 · run ab12cd34ef" in said
    assert "features scored by offline" in said
    assert ("95% intervals over participants" in said) != (name == "contribution_waterfall")
    assert figure.layout.meta["figure"] == name
    assert figure.layout.meta["passport"] == msgspec.to_builtins(PASSPORT)


@pytest.mark.parametrize("name", FIGURES)
def test_synthetic_data_say_so_twice(name: str) -> None:
    figure = FIGURES[name]("text")
    assert figure.layout.title.subtitle.text.startswith("SYNTHETIC DATA")
    assert "SYNTHETIC DATA: made-up judgments" in caption(figure)


def test_real_data_do_not() -> None:
    figure = figures.selective_curve(CURVE, REAL)
    assert "SYNTHETIC" not in "".join(strings(spec(figure)))


@pytest.mark.parametrize("name", FIGURES)
def test_text_from_data_is_no_markup(name: str) -> None:
    drawn = spec(FIGURES[name](HOSTILE))
    # Caption and passport in `meta` are data for pages, which escape them; they are not drawn.
    drawn["layout"].pop("meta")
    shown = list(strings(drawn))
    assert not [text for text in shown if re.search(r"<\s*(img|a|script)|</script", text, re.I)]
    if name not in ("selective_curve", "reliability_diagram"):
        assert "&lt;img src=x onerror" in "".join(shown)
    assert "&amp;lt;" not in "".join(shown)  # escaped once
    own = set(re.findall(r"<[^>]*>", "".join(shown)))
    assert all(re.fullmatch(r'</?(br|b)>|<span style="color:#\w{6}">|</span>', one) for one in own)


@pytest.mark.parametrize("name", FIGURES)
def test_modes_differ_in_their_template_alone(name: str) -> None:
    figure = FIGURES[name]("text")
    light, dark = spec(figure), spec(in_mode(figure, "dark"))
    assert light["layout"].pop("template") != dark["layout"].pop("template")
    assert light == dark
    paper = in_mode(figure, "dark").layout.template.layout.paper_bgcolor
    assert paper == MODES["dark"].paper
    assert spec(FIGURES[name]("text")) == spec(figure)


# ---------------------------------------------------------------- marks and axes


def test_coefficients_are_told_apart_by_memory_and_stand_beside_the_papers() -> None:
    figure = figures.coefficient_dots(coefficients(), PASSPORT)
    mine, memory = trace(figure, "about the responses alone"), trace(figure, "depends on memories")
    assert (list(mine.x), list(mine.y)) == ([0.5], [0])
    assert (list(memory.x), list(memory.y)) == ([-0.1], [1])
    assert mine.marker.color != memory.marker.color and mine.marker.symbol != memory.marker.symbol
    assert list(mine.error_x.array) == pytest.approx([0.4])
    assert list(mine.error_x.arrayminus) == pytest.approx([0.3])
    assert list(trace(figure, "not labelled").error_x.array) == [None]
    hollow = trace(figure, "paper (its own data)")
    assert list(hollow.x) == [RUBRIC[name].paper for name in ("HEAD", "REL", "OPT")]
    assert (list(hollow.y), hollow.x[0]) == ([0, 1, 3], 0.646)
    assert list(hollow.marker.symbol) == ["square-open", "circle-open", "square-open"]
    assert [mine.marker.color, memory.marker.color] == list(hollow.marker.color)[:2]
    assert list(figure.layout.yaxis.ticktext) == [
        "HEAD Headings", "REL Relevance of the memories", "WARMTH", "OPT Options and trade-offs",
    ]  # fmt: skip
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]  # the first on top
    assert written(figure) == ["not determined by these data"]
    assert uprights(figure) == [0]
    assert mine.hovertext[0].endswith("0.500 [0.200, 0.900]")


def test_a_shrunken_fit_says_so_and_so_do_notes() -> None:
    free = figures.coefficient_dots(coefficients(), PASSPORT, None, ["HEAD: constant"])
    assert "no penalty" in free.layout.title.subtitle.text
    assert "draws all of them towards 0" not in caption(free)
    assert "HEAD: constant." in caption(free)
    tight = figures.coefficient_dots(coefficients(), PASSPORT, 0.03)
    assert "shrunken fit, C = 0.03" in tight.layout.title.subtitle.text
    assert "draws all of them towards 0" in caption(tight)


def test_accuracies_have_the_ceiling_and_say_what_was_not_run() -> None:
    figure = figures.accuracy_bars(accuracies("judge"), PASSPORT, RETEST)
    bars = figure.data[0]
    assert (list(bars.x), list(bars.y)) == ([0.7, 0.6], [0, 1])
    assert list(bars.error_x.array) == [pytest.approx(0.1), None]
    assert written(figure)[:3] == [
        "0.700 [0.600, 0.800]",
        "0.600",
        "not run: judge (paper: 0.529)",
    ]
    assert list(trace(figure, "paper (its own data)").x) == [0.728]
    assert sorted(uprights(figure)) == [0.5, 0.68]
    [shade] = [one for one in figure.layout.shapes if one.type == "rect"]
    assert (shade.x0, shade.x1) == (0.55, 0.8)
    assert "0.680 [0.550, 0.800] of 75 repeats" in caption(figure)
    # Nobody was asked twice: no ceiling, and no word of it.
    bare = figures.accuracy_bars(accuracies(), PASSPORT, {**RETEST, "agreement": None})
    assert uprights(bare) == [0.5] and "repeat" not in caption(bare)


def test_rows_of_accuracy_come_from_an_evaluation_and_its_baselines() -> None:
    evaluation = {
        "n": 291,
        "accuracy": {"full": 0.7, "length_only": 0.6},
        "interval": {"full": [0.6, 0.8], "length_only": [0.5, None]},
    }
    baselines = [
        {"baseline": "length-only", "accuracy": 0.6, "lo": 0.5, "hi": 0.7, "n": 291, "paper": None},
        {"baseline": "random", "accuracy": 0.5, "lo": 0.4, "hi": 0.6, "n": 290, "paper": None},
        {"baseline": "judge", "accuracy": None, "n": 0, "paper": 0.581, "not_run": "no model"},
    ]
    rows = figures.accuracy_rows(evaluation, baselines)
    assert [(one["variant"], one["mean"], one["lo"], one["n"], one["paper"]) for one in rows] == [
        ("full rubric", 0.7, 0.6, 291, 0.728),  # the paper: 72.8 %
        ("length only", 0.6, 0.5, 291, None),
        ("random", 0.5, 0.4, 290, None),
        ("judge", None, None, 0, 0.581),
    ]
    assert rows[-1]["not_run"] == "no model"


def test_the_selective_curve_runs_from_the_most_certain_to_all() -> None:
    figure = figures.selective_curve(CURVE, PASSPORT, 0.55)
    band, line, paper = figure.data
    assert (list(line.x), list(line.y)) == ([0.5, 1.0], [0.9, 0.7])
    assert list(band.y) == [1.0, 0.8, 0.6, 0.8]
    assert line.hovertext[0] == "full<br>coverage = 0.5<br>0.900 [0.800, 1.000] (n = 146)"
    # The paper's 88.8, 83.7, 76.2 and 72.8 %.
    assert dict(zip(paper.x, paper.y, strict=True)) == {
        0.25: 0.888, 0.5: 0.837, 0.75: 0.762, 1.0: 0.728
    }  # fmt: skip
    assert paper.marker.symbol == "circle-open"
    low, high = figure.layout.yaxis.range
    assert low < 0.55 and high <= 1.02
    [level] = [one.y0 for one in figure.layout.shapes]
    assert level == 0.55
    assert [one.split("</span> ")[1] for one in written(figure)] == ["majority", "full"]


def test_reliability_has_the_size_of_its_bins_and_its_scores() -> None:
    quality = {
        "brier": 0.2, "brier_interval": [0.18, 0.23], "ece": 0.05,
        "ece_if_calibrated": {"mean": 0.04, "lo": 0.02, "hi": 0.07},
    }  # fmt: skip
    figure = figures.reliability_diagram(BINS, PASSPORT, quality)
    diagonal, bins = figure.data
    assert (list(diagonal.x), list(diagonal.y)) == ([0, 1], [0, 1])
    assert (list(bins.x), list(bins.y)) == ([0.25, 0.85], [0.4, 0.9])
    assert bins.marker.size[0] == 2 * bins.marker.size[1]  # 100 and 25: areas of 4 and 1
    assert [one.strip() for one in bins.text] == ["100", "25"]
    assert list(bins.error_y.array) == [pytest.approx(0.2), None]
    assert list(bins.error_y.arrayminus) == [pytest.approx(0.3), None]
    assert figure.layout.title.subtitle.text == (
        "SYNTHETIC DATA · Brier score 0.200 [0.180, 0.230]; calibration error 0.050 "
        "(0.020–0.070 if calibrated)"
    )
    bare = figures.reliability_diagram(BINS, REAL)
    assert not bare.layout.title.subtitle.text


def test_preferences_are_three_shares_a_group() -> None:
    paper = {"ordinary, GPT": {"memory": 0.441, "none": 0.349, "tie": 0.211}}
    figure = figures.preference_dots(preferences(), PASSPORT, paper)
    for name, x in (
        ("memory preferred", [0.5, 0.2]),
        ("no memory preferred", [0.3, 0.7]),
        ("tie", [0.2, 0.1]),
    ):
        mark = trace(figure, name)
        assert list(mark.x) == x
        assert [round(y) for y in mark.y] == [0, 1]
        assert list(mark.error_x.array) == pytest.approx([0.1, 0.1])
    assert list(figure.layout.yaxis.ticktext) == [
        "ordinary, GPT (n = 20)",
        "aggressive, b (n = 10)",
    ]
    hollow = [one for one in figure.data if one.name == "paper (its own data)"]
    assert [list(one.x) for one in hollow] == [[0.441], [0.349], [0.211]]
    assert [one.showlegend for one in hollow] == [True, False, False]
    assert "Left out, without judgments: GPT, c." in caption(figure)
    assert "Hollow" in caption(figure)
    # Paper's groups that are none of ours are not announced.
    other = figures.preference_dots(preferences(), PASSPORT, {"elsewhere": {"memory": 0.4}})
    assert "Hollow" not in caption(other)
    everything = figures.preference_dots([{"n": 30, **shares(0.4, 0.4, 0.2)}], PASSPORT)
    assert list(everything.layout.yaxis.ticktext) == ["all (n = 30)"]


def test_no_legend_grows_into_the_titles_on_a_narrow_page() -> None:
    """A column of names breaks nowhere, and the margin above the plot has room for all of it."""
    paper = {"ordinary": {"memory": 0.4, "none": 0.4, "tie": 0.2}}
    for figure in (
        figures.preference_dots(preferences(), PASSPORT, paper),
        figures.contribution_waterfall(explained(), PASSPORT),
    ):
        named = [one.name for one in figure.data if one.name and one.showlegend is not False]
        assert len(named) > 1 and figure.layout.legend.orientation == "v"
        assert figure.layout.margin.t >= 84 + 20 * len(named)


def test_a_waterfall_goes_from_the_base_rate_to_the_sum() -> None:
    figure = figures.contribution_waterfall(explained(), PASSPORT)
    bars = [one for one in figure.data if one.type == "bar" and one.base is not None]
    ends = [(one.base[0], one.base[0] + one.x[0], one.y[0]) for one in bars]
    assert ends == [
        (0, -0.5, 0),  # the base rate
        (-0.5, 0.5, 1),  # the largest first
        (0.5, 1.25, 2),
        (1.25, 1.0, 3),
        (0, 1.0, 4),  # the sum
    ]
    colours = [one.marker.line.color for one in bars]
    assert colours == [NEUTRAL, SERIES[0], SERIES[3], SERIES[1], NEUTRAL]
    assert list(figure.layout.yaxis.ticktext) == [
        "base rate", "Relevance of the memories (+0)", "WARMTH (+0)", "Length (+0)", "sum",
    ]  # fmt: skip
    assert written(figure) == ["-0.50", "+1.00", "+0.75", "-0.25", "+1.00"]
    assert (
        bars[1]
        .hovertext[0]
        .endswith("+2.00 deviations from the mean × coefficient +0.500 = +1.000")
    )
    low, high = figure.layout.xaxis.range
    assert low < -0.5 and high > 1.25
    assert figure.layout.title.text == "Why the model says 73% for memory"
    assert figure.layout.title.subtitle.text.endswith("comparison WARMTH; preferred: memory")
    assert "One pair, so no interval." in caption(figure)


# ---------------------------------------------------------------- passports


def test_a_run_a_set_and_a_model_have_passports(tmp_path: Any) -> None:
    workspace = Workspace(tmp_path)
    row = {"question": "c1", "scope": "p1", "category": "GPT", "metric": "correct_full"}
    frame = tidy([row | {"value": 1.0}, row | {"question": "c2", "scope": "p2", "value": 0.0}])
    identity = {"dataset": "mine", "content": "c0ffee", "scorer": {"name": "offline"}, "seed": 3}
    facts = {"excluded": {"too fast": 2}, "synthetic": True}
    run = load_run(workspace, save_run(workspace, "reward-evaluate", identity, frame, facts))
    found = figures.evaluation_passport(run)
    assert found.counts == "n = 2 comparisons by 2 participants; excluded: 2 too fast"
    assert (found.scorer, found.synthetic, found.seed) == ("offline", True, 3)
    assert found.basis == "participants"
    alone = tidy([row | {"value": 1.0}, row | {"question": "c2", "value": 0.0}])
    of_one = save_run(workspace, "reward-evaluate", identity | {"seed": 4}, alone, facts)
    few = figures.evaluation_passport(load_run(workspace, of_one))
    assert few.basis == "comparisons"  # one participant says nothing of others
    assert found.origin.startswith("SYNTHETIC DATA: ")

    one = Comparison(
        id="c", participant="p", query="q", memories=(), with_memory="a", without_memory="b"
    )
    chosen = ComparisonSet(name="mine", content="c0ffee", comparisons=(one,))
    rows = [{"n": 3, "excluded": {"repeats": 1}}, {"n": 4, "excluded": {"repeats": 2}}]
    told = figures.comparisons_passport(chosen, rows)
    assert told.counts == "n = 7 comparisons by 1 participant; excluded: 3 repeats"
    assert not told.synthetic and "SYNTHETIC" not in told.origin

    feature = FittedFeature(name="HEAD", memory=False, mean=0.0, scale=1.0, coef=0.5)
    origin = Origin(dataset="mine", data="abc", scorer={"name": "offline"}, synthetic=True)
    file = ModelFile(
        features=(feature,), intercept=0.0, C=0.1, n=10, preferring_memory=5, origin=origin
    )
    fitted = figures.model_passport(file)
    assert (told.basis, fitted.basis) == ("participants", "participants")
    assert fitted.counts == "n = 10 comparisons; excluded: none"
    assert fitted.synthetic and fitted.origin.endswith("features scored by offline")


def test_few_participants_are_said() -> None:
    few = msgspec.structs.replace(PASSPORT, basis="comparisons", n=1, clusters=1, excluded={})
    assert few.intervals == (
        "95% intervals over comparisons (too few participants to speak of others)"
    )
    assert few.counts == "n = 1 comparison by 1 participant; excluded: none"
