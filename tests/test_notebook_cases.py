"""The case studies notebook: what it shows of the cases that are chosen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from notebooks import NOTEBOOKS, drawn, ran, warm

PATH = NOTEBOOKS / "case_studies.py"
FIGURES = {"ladder_figure", "split_figure", "parts_figure", "movement_figure"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return warm(tmp_path_factory.getbasetemp())


@pytest.fixture(scope="module")
def held(home: Path) -> dict[str, Any]:
    return ran(PATH, home)


def test_every_figure_shows_the_case_with_the_largest_gain(held: dict[str, Any]) -> None:
    assert set(drawn(held)) == FIGURES
    cases = held["cases"]
    assert held["case"] == cases["question"][0]
    assert cases["places"][0] == cases["places"].max() > 0
    names = held["ladder_figure"].layout.xaxis.ticktext
    assert names == ("question<br>alone", "+ profile<br>prior", *names[2:])
    assert [name.split("<br>")[0] for name in names[2:]] == ["+ dimensions", "+ semantic"]
    assert held["one"].text in held["card_page"]


def test_without_a_checkpoint_no_rewriter_is_offered(held: dict[str, Any]) -> None:
    assert list(held["wordings"]) == [""] and held["words"] is None and held["sides"] == {}
    assert "searched with" not in held["card_page"].casefold()
    assert {one.layout.meta["passport"]["rewriter"] for one in drawn(held).values()} == {""}


def test_rule_case_and_controls_can_be_given(home: Path) -> None:
    given = ran(PATH, home, rule="temporal", case="c1/19", lam=0.5, retriever="dense", k=3)
    assert given["one"].recipe.lam == 0.5 and given["one"].recipe.retriever == "dense"
    assert given["one"].question.id == "c1/19"
    assert given["rival"] is not None and given["rival"].id in given["cases"]["rival"].to_list()
    assert "What is mistaken for it" in given["card_page"]
    assert set(drawn(given)) == FIGURES


def test_a_rule_without_cases_says_what_to_do(home: Path) -> None:
    given = ran(PATH, home, rule="disputed", dataset_name="sample")
    assert given["cases"].is_empty()
    assert given.get("one") is None
    assert "workbench import" in given["RULES"]["disputed"].missing
