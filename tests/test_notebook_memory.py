"""The notebook on memories: what it shows follows from what is chosen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from notebooks import NOTEBOOKS, drawn, ran, warm

PATH = NOTEBOOKS / "memory_inspection.py"
FIGURES = {f"{name}_figure" for name in ("timeline", "dimension", "map", "coverage", "added")}

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return warm(tmp_path_factory.getbasetemp())


@pytest.fixture(scope="module")
def held(home: Path) -> dict[str, Any]:
    return ran(PATH, home)


def test_all_figures_are_there_with_their_counts(held: dict[str, Any]) -> None:
    found = drawn(held)
    assert set(found) == FIGURES
    captions = {name: figure.layout.meta["caption"] for name, figure in found.items()}
    assert "n = 121 turns in 7 sessions" in captions["timeline_figure"]
    assert "n = 121 of 121 episodic memories" in captions["map_figure"]
    assert "n = 115 questions in 3 conversations" in captions["coverage_figure"]
    assert "excluded: 12 abstention" in captions["coverage_figure"]


def test_controls_can_be_given_and_everything_follows(home: Path) -> None:
    held = ran(
        PATH, home, scope="c2", user="Efua", layer="profile", words="UKULELE", chosen_session=3
    )
    assert held["listed"]["text"].to_list() == [
        "Efua cycles to work with the ukulele in the front."
    ]
    assert held["memory_id"] == held["listed"]["memory"][0]
    assert set(held["drawn_map"].points["owner"]) == {"Efua"}
    assert len(held["nearest"]) == 5
    assert held["difference"].session == "3"
    assert set(drawn(held)) == FIGURES


def test_nothing_found_is_no_failure(home: Path) -> None:
    held = ran(PATH, home, words="no memory says this")
    assert held["memory_id"] == "" and len(held["listed"]) == 0
    assert {"timeline_figure", "coverage_figure", "added_figure"} <= set(drawn(held))
