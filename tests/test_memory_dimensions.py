"""Dimensions: agreement with hand labels, at the level that was measured when they were written."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from workbench.memory.dimensions import of_question, of_statement
from workbench.schema import Dimensions

LABELS = Path(__file__).parent / "data" / "dimensions.jsonl"
NAMES = ("tense", "subjectivity", "certainty")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ana moved to Porto.", ("past", "objective", "certain")),
        ("I work nights.", ("present", "objective", "certain")),
        ("I'll fly to Accra in May.", ("future", "objective", "certain")),
        ("Ana might sell the boat.", ("future", "objective", "speculative")),
        ("I love tea.", ("present", "subjective", "certain")),
        ("Good morning!", ("unknown", "unknown", "unknown")),
        ("", ("unknown", "unknown", "unknown")),
    ],
)
def test_statement(text: str, expected: tuple[str, str, str]) -> None:
    found = of_statement(text)
    assert (found.tense, found.subjectivity, found.certainty) == expected


def test_a_question_without_content_has_no_dimensions() -> None:
    assert of_question("What about Tom?") == Dimensions()


# Least share of right labels a part: below what was measured, above guessing the commonest label.
@pytest.mark.parametrize(("part", "least"), [("development", 0.9), ("held-out", 0.75)])
@pytest.mark.parametrize("name", NAMES)
def test_agreement_with_labels(part: str, least: float, name: str) -> None:
    rows = [json.loads(line) for line in LABELS.read_text(encoding="utf-8").splitlines()]
    rows = [row for row in rows if row["part"] == part]
    right = Counter(
        getattr((of_question if row["form"] == "query" else of_statement)(row["text"]), name)
        == row[name]
        for row in rows
    )
    commonest = Counter(row[name] for row in rows).most_common(1)[0][1]
    assert right[True] / len(rows) >= least
    assert right[True] > commonest
