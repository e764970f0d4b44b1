"""The main table: its rows, what they need, resuming, tests against PPRO, and what is published."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import msgspec
import polars as pl
import pytest

from shell import workbench as shell
from shell import write_rows
from workbench import report
from workbench.answer_metrics import f1_squad
from workbench.datasets import import_file
from workbench.errors import DataError, UsageError
from workbench.library import open_banks
from workbench.llm import Reply, Request, Scripted
from workbench.main_table import main_table
from workbench.published import NOT_AVAILABLE, PUBLISHED
from workbench.report.sheets import csv_text
from workbench.run import Plan, evaluate
from workbench.run_list import run_rows
from workbench.schema import Dialogue, Recipe
from workbench.system_run import evaluate_system
from workbench.systems import OpenedSystem, Posed, open_system
from workbench.table_plan import TablePlan
from workbench.table_rows import NEEDS_MODEL, PPRO, paper_recipe
from workbench.workspace import Workspace

TURNS = {
    "one": (
        ("Ana", "I moved to Oslo last year, near the Viking Museum."),
        ("Bo", "My cat is called Mister Pepper."),
        ("Ana", "I signed up for a pottery class at Kiln Street."),
        ("Bo", "I am reading The Lean Startup these days."),
    ),
    "two": (
        ("Cy", "My boat is called Grey Heron."),
        ("Di", "I work at the harbour bakery."),
        ("Cy", "I sold my drum kit to Ivo."),
    ),
}
# Question, its category, gold, who is asked about, the turn that says it.
QUESTIONS = {
    "one": (
        ("Where did Ana move?", "single-hop", "Oslo", "Ana", 0),
        ("What is Bo's cat called?", "single-hop", "Mister Pepper", "Bo", 1),
        ("Where is Ana's pottery class?", "multi-hop", "Kiln Street", "Ana", 2),
        ("What is Bo reading?", "multi-hop", "The Lean Startup", "Bo", 3),
        ("Which horse did Ana buy?", "abstention", None, "Ana", None),
    ),
    "two": (
        ("What is Cy's boat called?", "single-hop", "Grey Heron", "Cy", 0),
        ("Where does Di work?", "multi-hop", "harbour bakery", "Di", 1),
        ("Who bought Cy's drum kit?", "single-hop", "Ivo", "Cy", 2),
    ),
}
SAID = {
    text: (TURNS[scope][turn][1], gold)
    for scope, rows in QUESTIONS.items()
    for text, _, gold, _, turn in rows
    if turn is not None
}
N = len(SAID)
UNKNOWN = "nothing known"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """Two conversations of 15 July 2023 with their memories built: 7 questions with a gold."""
    folder = tmp_path_factory.mktemp("table")
    turns, questions = [], []
    for scope, said in TURNS.items():
        place = {"scope": scope, "dialogue": scope, "session": "1"}
        turns += [
            {"id": f"{scope}:{i}", "time": f"2023-07-15T10:0{i}:00", "speaker": who, "text": text}
            | place
            for i, (who, text) in enumerate(said)
        ]
        questions += [
            {"kind": "question", "id": f"{scope}/{i}", "text": text, "category": category}
            | {"answer": gold, "people": [who], "scope": scope}
            | {"evidence": [] if turn is None else [f"{scope}:{turn}"]}
            for i, (text, category, gold, who, turn) in enumerate(QUESTIONS[scope])
        ]
    rows = write_rows(folder / "talk.jsonl", [*turns, *questions])
    workspace = Workspace(folder / "home")
    import_file(workspace, rows)
    for memories in ("turns", "facts"):
        open_banks(workspace, "talk", memories)
    return workspace


def table(home: Workspace, **given: object) -> TablePlan:
    return TablePlan(home, "talk", paper_recipe(memories="turns"), **given)


def reader(request: Request) -> str:
    """A model that answers rightly exactly where what says it is given to read."""
    question = re.search(r"<question>\n(.*)\n</question>", request.user)
    assert question is not None
    if request.json_object:
        return json.dumps({"query": question[1]})
    said, gold = SAID.get(question[1], ("-", ""))
    return gold if gold and said in request.user else UNKNOWN


def states(told: dict) -> dict[str, str]:
    return {one["row"]: one["state"] for one in told["rows"]}


def mean(told: dict, row: str, measure: str) -> float:
    [one] = [one for one in told["rows"] if one["row"] == row]
    return one["measures"][measure]["mean"]


# ---------------------------------------------------------------- without a model


def test_rows_that_need_a_model_say_so_and_all_others_are_measured(home: Workspace) -> None:
    told = main_table(table(home))
    needy = ("empty context", "full context", "oracle evidence", "without rewriting")
    found = states(told)
    assert {row for row, state in found.items() if state == NEEDS_MODEL} == set(needy)
    assert {state for row, state in found.items() if row not in needy} == {"measured"}
    assert told["run"] and told["pending"] == [] and told["n"] == N
    assert told["excluded"] == {"abstention": 1}
    # 25 memories are more than either conversation has: everything is retrieved, or, where no
    # cosine reaches the threshold, nothing.
    assert mean(told, PPRO, "recall@25") == mean(told, "naive RAG over turns", "recall@25") == 1
    assert mean(told, "without episodic", "recall@25") == 0
    for one in told["rows"]:
        for measure in one["measures"].values():
            assert sum(part["n"] for part in measure["by_category"].values()) == measure["n"] == N
    # For an answerer that reads no profile, both rows are plain retrieval.
    gaps = {(one["row"], one["measure"]): one for one in told["tests"]}
    assert gaps["without profile", "f1_squad"] == {**gaps["λ = 1", "f1_squad"]} | {
        "row": "without profile"
    }
    assert (gaps["without episodic", "recall@25"]["difference"]) == -1
    # Seven equal differences: of 2**7 sign flips two are as far from 0.
    assert gaps["without episodic", "recall@25"]["p"] == pytest.approx(2 / 2**7)


def test_the_same_table_is_found_again_and_nothing_is_answered(
    home: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = main_table(table(home))

    def refuse(*given: object) -> None:
        raise AssertionError("answered again")

    monkeypatch.setattr("workbench.run._answer", refuse)
    again = main_table(table(home))
    assert again == first
    assert list(run_rows(home).filter(pl.col("run") == first["run"])["what"]) == ["main table"]


def test_unknown_rows_and_models_that_lack_are_refused(home: Workspace) -> None:
    with pytest.raises(UsageError, match="no row 'mistake'; its rows are: empty context"):
        main_table(table(home, rows="PPRO, mistake"))
    with pytest.raises(UsageError, match="--llm"):
        main_table(table(home, answerer="llm"))
    told = main_table(table(home, rows="λ = 1"))
    assert list(states(told)) == ["λ = 1", PPRO]  # PPRO is what the others are tested against


# ---------------------------------------------------------------- with a model


def test_a_reading_model_makes_every_row_and_sees_no_gold(home: Workspace) -> None:
    model = Scripted(reader, "reader")
    told = main_table(table(home, answerer="llm", llm=model, rewriter="prompted"))
    assert set(states(told).values()) == {"measured"}
    assert {row: mean(told, row, "f1_squad") for row in states(told)} == {
        "empty context": 0,
        **dict.fromkeys(("full context", "naive RAG over turns", "oracle evidence"), 1),
        **dict.fromkeys(("λ = 0", "λ = 1", PPRO, "without semantic", "without profile"), 1),
        **dict.fromkeys(("without dimensions", "without rewriting"), 1),
        "without episodic": 0,  # facts of the profile rest on turns, and are not their words
    }
    assert 0 < mean(told, "without episodic", "evidence read") < 1
    assert mean(told, "empty context", "evidence read") == 0
    assert mean(told, "full context", "evidence read") == 1
    [empty] = [one for one in told["rows"] if one["row"] == "empty context"]
    assert "recall@25" not in empty["measures"]  # nothing is retrieved: no recall, and no zero
    # A gold enters a request inside a turn (or a fact made of one) that holds it, or not at all.
    turns = [text for said in TURNS.values() for _, text in said]
    for request in model.asked:
        rest = re.sub(r"<profile>.*?</profile>", "", request.user, flags=re.DOTALL)
        for text in turns:
            rest = rest.replace(text, "")
        assert not [gold for _, gold in SAID.values() if gold in rest], rest


def test_p_is_corrected_over_all_rows_and_measures(home: Workspace) -> None:
    tests = main_table(table(home))["tests"]
    assert {one["measure"] for one in tests} == {"recall@25", "f1_squad", "bleu1"}
    ps = sorted((one["p"], place) for place, one in enumerate(tests))
    least = 0.0
    for rank, (p, place) in enumerate(ps):  # Holm 1979, by hand
        least = max(least, min(1.0, (len(ps) - rank) * p))
        assert tests[place]["p_holm"] == pytest.approx(least)


class Faltering:
    """The reader, whose calls about one question fail while it is down."""

    def __init__(self) -> None:
        self.down, self.answered = True, 0

    def __call__(self, request: Request) -> str | Reply:
        if self.down and "What is Bo reading?" in request.user and not request.json_object:
            return Reply(failure="timeout")
        self.answered += not request.json_object
        return reader(request)


def test_a_row_with_failures_is_pending_and_only_those_are_asked_again(home: Workspace) -> None:
    falter = Faltering()
    # Rows of one context and rewriter, whose unfinished answers must not get in each other's way.
    plan = table(home, answerer="llm", llm=Scripted(falter, "falter"), rows="λ = 0,λ = 1")
    told = main_table(plan)
    assert told["run"] is None and told["pending"] == ["λ = 0", "λ = 1", PPRO]
    assert {one["state"] for one in told["rows"]} == {"pending: 1 timeout"}
    assert [one["failed"] for one in told["rows"]] == [1, 1, 1]
    assert told["tests"] == [] and all(one["measures"] == {} for one in told["rows"])
    falter.down, falter.answered = False, 0
    whole = main_table(plan)
    assert whole["pending"] == [] and whole["run"] and falter.answered == 3
    assert mean(whole, PPRO, "f1_squad") == 1


# ---------------------------------------------------------------- other systems


class Keeper:
    """A system that keeps what it was told and asked, and finds a turn by shared words."""

    made: list[Keeper]

    def __init__(self) -> None:
        self.turns, self.posed = [], []
        self.made.append(self)

    def remember(self, dialogue: Dialogue) -> None:
        self.turns += dialogue.turns

    def retrieve(self, question: Posed) -> list[str]:
        words = set(question.text.lower().rstrip("?").split())
        self.best = max(self.turns, key=lambda t: len(words & set(t.text.lower().split())))
        return [self.best.id]

    def answer(self, question: Posed) -> str:
        self.posed.append(question)
        return SAID.get(question.text, ("", UNKNOWN))[1]


def opened(make: Callable[[], object], name: str = "m:Keeper") -> OpenedSystem:
    return OpenedSystem(name=name, make=make, source="1")


def test_another_system_is_told_its_scope_and_nothing_of_the_gold(home: Workspace) -> None:
    Keeper.made = []
    told = evaluate_system(home, "talk", opened(Keeper))
    assert told["n"] == N and told["measures"]["f1_squad"]["micro"] == 1
    assert [[turn.id for turn in one.turns] for one in Keeper.made] == [
        [f"{scope}:{i}" for i in range(len(said))] for scope, said in TURNS.items()
    ]
    fields = {"text", "people", "today", "choices"}
    seen = [msgspec.structs.asdict(q) for one in Keeper.made for q in one.posed]
    assert len(seen) == N + 1 and all(set(one) == fields for one in seen)
    assert {one["today"] for one in seen} == {
        datetime(2023, 7, 15, 10, len(said) - 1) for said in TURNS.values()
    }
    assert evaluate_system(home, "talk", opened(Keeper))["run"] == told["run"]
    assert len(Keeper.made) == 2  # found again, not made again
    row = main_table(table(home, rows=PPRO, also={"keeper": told["run"]}))
    assert mean(row, "keeper", "f1_squad") == 1
    assert 0 < mean(row, "keeper", "evidence read") <= 1
    [gap] = [one for one in row["tests"] if one["measure"] == "f1_squad"]
    assert gap["row"] == "keeper"
    assert gap["difference"] == pytest.approx(1 - mean(row, PPRO, "f1_squad"))


def test_a_system_that_fails_is_counted_and_asked_again(home: Workspace) -> None:
    class Broken(Keeper):
        broken = True

        def answer(self, question: Posed) -> str:
            if self.broken and question.text == "Where did Ana move?":
                raise RuntimeError("no such index")
            return super().answer(question)

        def retrieve(self, question: Posed) -> list[str]:
            lost = self.broken and question.text == "Where does Di work?"
            return ["elsewhere:1"] if lost else super().retrieve(question)

    Keeper.made = []
    system = opened(Broken, "m:Broken")
    told = evaluate_system(home, "talk", system)
    assert told["run"] is None and told["n"] == N - 2
    assert told["failures"] == {"answer failed": 1, "retrieve failed": 1}
    assert "RuntimeError: no such index" in told["failed"]["one/0"]
    assert "'elsewhere:1' is none of this scope" in told["failed"]["two/1"]
    Broken.broken, Keeper.made = False, []
    whole = evaluate_system(home, "talk", system)
    assert whole["run"] and whole["n"] == N and whole["failed"] == {}
    assert sorted(q.text for one in Keeper.made for q in one.posed) == [
        "Where did Ana move?",
        "Where does Di work?",
    ]

    class Dead(Keeper):
        def remember(self, dialogue: Dialogue) -> None:
            raise OSError("disk")

    with pytest.raises(DataError, match="not one answer; the first: remember: OSError: disk"):
        evaluate_system(home, "talk", opened(Dead, "m:Dead"))


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        ("nocolon", "MODULE:NAME"),
        ("no_such_module:X", "No module named"),
        ("math:tau", "nothing of it"),
        ("json:JSONEncoder", "no remember, retrieve, answer"),
    ],
)
def test_what_is_no_system_is_refused(spec: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        open_system(spec)


def test_runs_of_other_data_are_no_rows(home: Workspace) -> None:
    made = main_table(table(home, rows=PPRO))["run"]
    with pytest.raises(UsageError, match="of kind table; a row is a run of score or evaluate"):
        main_table(table(home, rows=PPRO, also={"x": made}))


# ---------------------------------------------------------------- files, and the command


def test_the_published_stand_apart_and_hold_no_number(home: Workspace, tmp_path: Path) -> None:
    assert {one.value for one in PUBLISHED} == {NOT_AVAILABLE}
    named = {one.system for one in PUBLISHED}
    papers = {"Full-Context", "MemGPT", "A-Mem", "LightMem", "Mem0", "SimpleMem", "MEM1"}
    assert named >= papers | {"MemAgent", "PPRO"}
    # The only digits are those of SPEC A.10: names of models, and two margins.
    said = " ".join(one.said for one in PUBLISHED)
    rest = re.sub(r"GPT-4o|Qwen2\.5-[37]B|Qwen3-8B|7 to 19 points|more than 5 points", "", said)
    assert not re.search(r"\d", rest)

    run = main_table(table(home))["run"]
    found = report.findings(home, run)
    page = report.page(found)
    block = page.index('<section class="published">')
    rows = page.index("<caption>Systems and ablations</caption>")
    assert rows < block and "Published elsewhere, not measured here" in page[block:]
    assert "MemGPT" not in page[:block] and "needs --answerer llm" in page[rows:block]
    tex = report.latex_text(found)
    assert tex.count("Published elsewhere, not measured here") == 1
    assert csv_text(found.tables[0].frame).count("\r\n") == 13  # a header and twelve rows
    path = tmp_path / "table.html"
    path.write_text(page, encoding="utf-8")
    made = report.reproduce(home, path)
    assert [one.figure for one in made] == ["recall_25", "f1_squad", "bleu1"]
    assert all(one.identical for one in made)


def test_a_table_agrees_with_the_runs_that_it_is_made_of(home: Workspace) -> None:
    told = main_table(table(home))
    banks = open_banks(home, "talk", "turns")
    one = evaluate(Plan(home, banks, Recipe(prior="none", lam=1.0)))
    assert mean(told, "naive RAG over turns", "f1_squad") == pytest.approx(
        one["measures"]["f1_squad"]["micro"]
    )
    assert f1_squad("Oslo", "Oslo") == 1


def test_the_command(home: Workspace, tmp_path: Path) -> None:
    script = write_rows(
        tmp_path / "model.jsonl",
        [{"when": "What is Bo reading?", "failure": "timeout"}, {"reply": "Oslo"}],
    )
    made = shell(
        home.root,
        *("table", "talk", "--memories", "turns", "--rows", "empty context", "--answerer", "llm"),
        *("--llm", f"scripted:{script}", "--rewriter", "identity", "--json"),
        *("--to", str(tmp_path / "t.csv")),
    )
    assert made.code == 3, made.err
    assert made.json["run"] is None and made.json["pending"] == ["empty context", PPRO]
    assert made.json["file"] is None and not (tmp_path / "t.csv").exists()
    assert made.json["rows"][0]["failures"] == {"timeout": 1}
