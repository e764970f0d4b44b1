"""How good memories are: coverage, support, duplicates and junk, counted by hand beforehand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rooms import memory
from shell import write_rows
from workbench.construct import construct_banks
from workbench.datasets import import_file
from workbench.extraction_quality import junk_of, quality, stems_of
from workbench.library import open_banks
from workbench.llm import Request, Scripted
from workbench.workspace import Workspace

TALK = (
    ("Ana", "I play the cello in a quartet."),
    ("Bo", "I work as a baker in Lima."),
    ("Ana", "My aunt Ines lives in Ghent."),
    ("Bo", "Nice weather today, isn't it?"),
    ("Ana", "I still play the cello in a quartet, on Mondays."),
)
QUESTIONS = (("Who plays and who bakes?", ["t0", "t1"]), ("Who lives in Ghent?", ["t2", "t3"]))
SAID = (
    (1, "Ana", "Ana plays the cello in a quartet"),
    (5, "Ana", "ana plays the  cello in a quartet"),  # the same from another turn
    (2, "Bo", "Bo works as a baker in Lima"),
    (2, "Bo", "Bo sold a Lima submarine to Japanese investors"),  # 1 of 5 words is Bo's
    (2, "Bo", "Bo works"),  # one content word
    (2, "Bo", "He works as a baker"),
)


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The reports on turns, rules' facts and a model's memories of one talk."""
    folder = tmp_path_factory.mktemp("quality")
    turns = [
        {"id": f"t{number}", "session": "D1", "speaker": who, "text": text}
        for number, (who, text) in enumerate(TALK)
    ]
    questions = [
        {"kind": "question", "id": f"q{number}", "text": text, "answer": "?", "evidence": evidence}
        for number, (text, evidence) in enumerate(QUESTIONS)
    ]
    workspace = Workspace(folder / "home")
    import_file(workspace, write_rows(folder / "talk.jsonl", [*turns, *questions]))

    def answer(request: Request) -> str:
        said = [{"turns": [n], "who": who, "statement": text} for n, who, text in SAID]
        if "<turns>" in request.user:
            return json.dumps({"memories": said})
        return json.dumps({"facts": [], "statement": "Ana plays the cello"})

    construct_banks(workspace, "talk", Scripted(answer))
    kinds = ("turns", "facts", "llm")
    return {kind: quality(open_banks(workspace, "talk", kind)) for kind in kinds}


def test_coverage_is_of_the_evidence_that_some_memory_names(reports: dict[str, Any]) -> None:
    told = reports["llm"]["coverage"]
    episodic = told["layers"]["episodic"]
    # Both pieces of the first question, none of the second.
    assert (told["n"], episodic["pieces"], episodic["covered"], episodic["mean"]) == (2, 4, 2, 0.5)
    assert told["layers"]["semantic"]["covered"] == 1  # t0, with t4
    assert reports["turns"]["coverage"]["layers"]["episodic"]["mean"] == 1


def test_a_fact_that_its_sources_do_not_bear_is_named(reports: dict[str, Any]) -> None:
    told = reports["llm"]
    assert told["counts"] == {"episodic": 6, "semantic": 1, "profile": 0}
    assert [one["text"] for one in told["unsupported"]["examples"]] == [SAID[3][2]]
    assert told["unsupported"]["share"] == pytest.approx(1 / 6, abs=1e-4)
    assert told["unsupported"]["examples"][0]["sources"] == ["t1"]
    for kind in ("turns", "facts"):  # what is repeated is supported
        assert reports[kind]["unsupported"]["n"] == 0
    # A check that any turn passed would prove nothing.
    assert all(one["by_chance"]["n"] < one["counts"]["episodic"] for one in reports.values())


def test_duplicates_and_junk_are_counted_with_their_reasons(reports: dict[str, Any]) -> None:
    told = reports["llm"]
    assert told["duplicates"] == {"n": 1, "share": pytest.approx(1 / 6, abs=1e-4)}
    assert sorted((one["text"], one["why"]) for one in told["junk"]["examples"]) == [
        ("Bo works", "fewer than 2 content words"),
        ("He works as a baker", "begins with a pronoun"),
    ]
    assert told["junk"]["n"] == 2
    assert told["thresholds"] == {"words": 0.5, "cosine": 0.5, "alike": 0.95, "content_words": 2}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Ana: Hey!", "fewer than 2 content words"),
        ("Ana: What does Bo bake today?", "a question"),
        ("Ana: I bake bread in Lima", "begins with a pronoun"),
        ("Ana bakes bread in Lima", ""),
        ("Iris bakes bread in Lima", ""),  # no pronoun, though it begins with one's letters
        ("Ana:", "fewer than 2 content words"),
    ],
)
def test_junk(text: str, why: str) -> None:
    assert junk_of(memory("m", text=text, owner="Ana")) == why


def test_content_words_are_compared_by_their_beginnings() -> None:
    assert stems_of("She moved to Lima’s 2 bakeries") == {"move", "lima", "2", "bake"}
    assert stems_of("moving, MOVES") == {"movi", "move"}


def test_a_set_without_memories_has_no_shares(tmp_path: Path, workspace: Workspace) -> None:
    turns = [{"id": "t0", "speaker": "Ana", "text": "Hm."}]
    import_file(workspace, write_rows(tmp_path / "talk.jsonl", turns))
    told = quality(open_banks(workspace, "talk", "facts"))
    assert told["counts"]["episodic"] == 0 and told["coverage"]["n"] == 0
    nothing = {"n": 0, "share": None}
    assert told["by_chance"] == told["duplicates"] == nothing
    assert told["junk"] == told["unsupported"] == {**nothing, "examples": []}
