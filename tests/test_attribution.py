"""Where answers were lost: each class by hand, and runs of every kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from shell import report, write_rows
from workbench.attribution import CLASSES, Known, attribute, attribution_of
from workbench.datasets import import_file
from workbench.errors import UsageError
from workbench.runs import save_run, tidy
from workbench.schema import Gold, Question
from workbench.workspace import Workspace


def question(name: str, *evidence: str, **more: Any) -> Question:
    gold = Gold(answer="tea", evidence=evidence)
    return Question(id=name, scope="c", text="?", category="odd", gold=gold, **more)


QUESTIONS = [
    question("right", "t1"),
    question("disputed", "t1", audited=Gold(answer="milk"), audit="WRONG_ANSWER"),
    question("right and disputed", "t1", audited=Gold(answer="milk"), audit="WRONG_ANSWER"),
    question("cited", "t1", audited=Gold(answer="tea"), audit="WRONG_CITATION"),
    question("half remembered", "t1", "t7"),
    question("half read", "t1", "t2"),
    question("unused", "t1", "t2"),
    question("read past memory", "t7"),
    question("abstaining", "t1", abstention=True),
    question("bare"),
    question("failed", "t1"),
]
RIGHT = {q.id: q.id.startswith("right") for q in QUESTIONS if q.id != "failed"}
GIVEN = {
    "cited": ("t2",),
    "half remembered": ("t1",),
    "half read": ("t1", "t9"),
    "unused": ("t2", "t1"),
    "read past memory": ("t7",),
}
REMEMBERED = {"c": {"t1", "t2"}, "other": {"t7"}}
EXPECTED = {
    "right": "answered",
    "disputed": "gold disputed",
    "right and disputed": "answered",
    "cited": "in memory, not retrieved",
    "half remembered": "not in memory",
    "half read": "in memory, not retrieved",
    "unused": "retrieved, not used",
    "read past memory": "retrieved, not used",
}


def classes(known: Known, gold: Any = "original") -> dict[str, str]:
    return dict(attribute(QUESTIONS, known, gold).frame.select("question", "class").iter_rows())


def test_every_class_by_hand() -> None:
    assert classes(Known(RIGHT, GIVEN, REMEMBERED)) == EXPECTED
    assert set(EXPECTED.values()) <= set(CLASSES)


def test_the_report_counts_what_has_a_class_and_what_has_none() -> None:
    told = attribute(QUESTIONS, Known(RIGHT, GIVEN, REMEMBERED)).report
    assert told["n"] == 8 and sum(told["classes"].values()) == 8
    assert told["classes"]["answered"] == 2 and told["by_category"] == {"odd": told["classes"]}
    assert told["excluded"] == {"abstention": 1, "without an answer": 1, "without evidence": 1}


def test_the_audited_gold_is_not_disputed() -> None:
    found = classes(Known(RIGHT, GIVEN, REMEMBERED), "audited")
    assert "gold disputed" not in found.values()
    assert "disputed" not in found  # the audit's answer has no evidence of its own here


def test_of_another_systems_answers_only_right_and_disputed_are_known() -> None:
    found = classes(Known(RIGHT))
    assert found == {
        name: known if known in ("answered", "gold disputed") else "not answered"
        for name, known in EXPECTED.items()
    }


def test_where_nothing_was_answered_what_was_found_is_retrieved() -> None:
    found = classes(Known(None, GIVEN, REMEMBERED))
    assert found["unused"] == "retrieved" and found["half read"] == "in memory, not retrieved"
    assert found["failed"] == "in memory, not retrieved"  # GIVEN has nothing for it


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A talk of three turns and two questions; the evidence of the second is a blank turn, which
    nothing remembers."""
    folder = tmp_path_factory.mktemp("lost")
    said = [("t0", "Ana", "I adopted a grey cat."), ("t1", "Bo", "Nice."), ("t2", "Ana", " ")]
    turns = [{"id": i, "speaker": who, "text": text} for i, who, text in said]
    asked = [
        {"kind": "question", "id": f"q{i}", "text": text, "answer": "a cat", "people": ["Ana"]}
        | {"evidence": [turn]}
        for i, (text, turn) in enumerate((("What did Ana adopt?", "t0"), ("What was it?", "t2")))
    ]
    import_file(Workspace(folder / "home"), write_rows(folder / "lost.jsonl", [*turns, *asked]))
    return Workspace(folder / "home")


def test_a_recall_run_tells_what_was_retrieved_and_the_command_prints_it(home: Workspace) -> None:
    made = report(home.root, "recall", "lost", "--k", "1,2", "--prior", "none")
    told = report(home.root, "attribution", made["run"])
    assert told["questions"] == {"q0": "retrieved", "q1": "not in memory"}
    assert told["n"] == 2 and told["kind"] == "recall" and told["right"] is None


def test_an_answers_file_tells_what_was_right(home: Workspace, tmp_path: Path) -> None:
    rows = [{"question_id": "q0", "hypothesis": "Cat"}, {"question_id": "q1", "hypothesis": "dog"}]
    path = write_rows(tmp_path / "answers.jsonl", rows)
    made = report(home.root, "score", str(path), "--dataset", "lost")
    told = attribution_of(home, made["run"])
    assert told["questions"] == {"q0": "answered", "q1": "not answered"}


def test_runs_that_say_nothing_of_single_questions_are_refused(home: Workspace) -> None:
    name = save_run(home, "sweep", {"dataset": "lost"}, tidy([]), {})
    with pytest.raises(UsageError, match="sweep"):
        attribution_of(home, name)
