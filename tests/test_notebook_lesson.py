"""The lesson: its figures, its exercises answered right and wrong, and that it needs nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from notebooks import NOTEBOOKS, drawn, ran, warm
from workbench import lesson

PATH = NOTEBOOKS / "personalised_retrieval.py"
FIGURES = {
    *("words_figure", "plane_figure", "scatter_figure", "hurt_figure", "control_figure"),
    "toy_figure",
}
CHECKS = ("twins", "rank", "best", "alone", "effects", "control", "gain")


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return warm(tmp_path_factory.getbasetemp())


@pytest.fixture(scope="module")
def held(home: Path) -> dict[str, Any]:
    return ran(PATH, home)


def test_every_figure_is_there_and_nothing_is_answered(held: dict[str, Any]) -> None:
    assert set(drawn(held)) == FIGURES
    assert [held[f"{name}_check"].right for name in CHECKS] == [None] * len(CHECKS)
    assert len(held["words_figure"].data) == len(held["asked_here"]) == 6


def test_right_answers_computed_from_the_data_are_right(home: Path, held: dict[str, Any]) -> None:
    frame = held["effects"]
    moved = frame["rank_without"] - frame["rank_having"]
    place = [q.id for q in held["study"].questions].index(held["person"].id)
    ranks = held["everything"].first[place]
    control = held["control_rows"].filter(held["pl"].col("setting") == lesson.SOMEBODY)
    low, high = control["difference_lo"][0], control["difference_hi"][0]
    right = ran(
        PATH,
        home,
        twins_answer=lesson.SAME,
        rank_answer=held["chosen_row"]["rank_without"],
        best_answer=held["everything"].lams[int(ranks.argmin())],
        alone_answer=lesson.SAME,
        helped_answer=frame["question"][int(moved.arg_max())],
        hurt_answer=frame["question"][int(moved.arg_min())],
        control_answer=lesson.VERDICTS[1 if low <= 0 <= high else 0 if high < 0 else 2],
        gain_answer=held["group"].sort("advantage")["rewrite"][-1],
    )
    said = {name: right[f"{name}_check"] for name in CHECKS}
    assert all(check.right for check in said.values()), said


def test_wrong_answers_are_wrong_and_told_why(home: Path, held: dict[str, Any]) -> None:
    frame = held["effects"]
    moved = frame["rank_without"] - frame["rank_having"]
    same = frame["question"][int(moved.arg_max())]
    wrong = ran(
        PATH,
        home,
        twins_answer=lesson.DIFFERENT,
        rank_answer=499,
        best_answer=0.0,
        alone_answer=lesson.DIFFERENT,
        helped_answer=same,
        hurt_answer=same,
        control_answer=lesson.VERDICTS[2],
        gain_answer=held["group"].sort("advantage")["rewrite"][0],
    )
    for name in CHECKS:
        check = wrong[f"{name}_check"]
        assert check.right is False and len(check.said) > 20, name


@pytest.mark.parametrize("words", ["What am I reading at the moment?", "Where do I live now?"])
def test_other_words_and_weights_redraw_the_plane(home: Path, words: str) -> None:
    given = ran(PATH, home, words=words, lam=1.0)
    assert {q.text for q in given["askers"][words]} == {words}
    figure = given["plane_figure"]
    rank = given["chosen_row"]["rank_without"]
    assert f"has rank {rank}" in figure.layout.title.subtitle.text
