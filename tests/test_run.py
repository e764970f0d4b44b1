"""Runs over a small conversation: traces, resuming, scores, and what never reaches an answerer."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from shell import environment, report, write_rows
from workbench import run
from workbench.answer import ANSWERERS, Answer, Answerer, Asked
from workbench.answer_metrics import f1_squad
from workbench.datasets import import_file
from workbench.errors import DataError, ModelError, UsageError, WorkspaceError
from workbench.library import BankSet, open_banks
from workbench.run import Plan, answer_questions, evaluate
from workbench.runs import load_run
from workbench.schema import Gold, Recipe
from workbench.traces import Found, Trace, read_traces, repair, write_traces
from workbench.workspace import Workspace, remove_folder

RECIPE = Recipe(retriever="hybrid", prior="none", lam=1.0, neighbours=0.3, k=5)


TURNS = (
    ("Ana", "I moved to Oslo last year, near the Viking Museum."),
    ("Bo", "My summer holiday was in Slovenia, I came back yesterday."),
    ("Ana", "My summer holiday was in Lofoten, we slept in a red cabin."),
    ("Bo", "My cat is called Mister Pepper."),
    ("Ana", "I have three cats, and I feed them twice a day."),
    ("Bo", 'I am reading a book, "The Lean Startup".'),
    ("Ana", "I signed up for a pottery class last Friday."),
    ("Bo", "I never eat meat."),
)
QUESTIONS = (
    ("When did Ana move to Oslo?", "temporal", "2022", ("Ana",)),
    ("When did Bo get back from Slovenia?", "temporal", "14 July 2023", ("Bo",)),
    ("Where was my summer holiday?", "single-hop", "Lofoten", ("Ana",)),
    ("Where was my summer holiday?", "single-hop", "Slovenia", ("Bo",)),
    ("What is Bo's cat called?", "single-hop", "Mister Pepper", ("Bo",)),
    ("How many cats does Ana have?", "multi-hop", "three", ("Ana",)),
    ("Which boat did Ana sell?", "abstention", None, ("Ana",)),
    ("What book is Bo reading?", "single-hop", "The Lean Startup", ("Bo",)),
    ("When did Ana sign up for a class?", "temporal", "the Friday before", ("Ana",)),
    ("Does Bo eat meat?", "multi-hop", "No", ("Bo",)),
    ("Would Ana enjoy pottery?", "multi-hop", "Likely yes", ("Ana",)),
    ("How often does Ana feed her cats?", "single-hop", "twice a day", ("Ana",)),
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A workspace with a conversation of 15 July 2023 and twelve questions, ids q0 .. q11."""
    folder = tmp_path_factory.mktemp("talk")
    turns = [
        {"id": f"t{i}", "time": "2023-07-15T10:00:00", "speaker": who, "text": text}
        for i, (who, text) in enumerate(TURNS)
    ]
    questions = [
        {"kind": "question", "id": f"q{i}", "text": text, "category": category, "answer": gold}
        | {"people": people, "evidence": ["t0"] if gold else []}
        for i, (text, category, gold, people) in enumerate(QUESTIONS)
    ]
    rows = write_rows(folder / "talk.jsonl", [*turns, *questions])
    import_file(Workspace(folder / "home"), rows)
    return Workspace(folder / "home")


@pytest.fixture(scope="module")
def banks(home: Workspace) -> BankSet:
    return open_banks(home, "talk")


@pytest.fixture
def plan(banks: BankSet, workspace: Workspace, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """All questions, in batches of three, answered in a workspace of the test's own."""
    monkeypatch.setattr(run, "BATCH", 3)
    return Plan(holding(banks, workspace), banks, RECIPE)


def holding(banks: BankSet, workspace: Workspace) -> Workspace:
    """The workspace, with the folder of the banks in it."""
    shutil.copytree(banks.cache.path.parent.parent / "banks", workspace.folder("banks"))
    return workspace


def with_dataset(banks: BankSet, **changed: object) -> BankSet:
    dataset = msgspec.structs.replace(banks.dataset, **changed)
    fields = ("id", "manifest", "embedder", "cache", "episodic", "semantic", "people")
    return BankSet(dataset=dataset, **{name: getattr(banks, name) for name in fields})


def timeless(traces: list[Trace]) -> list[Trace]:
    return [msgspec.structs.replace(trace, seconds=0.0) for trace in traces]


class Breaking:
    """The extractive answerer, which fails from its `after`th question on."""

    def __init__(self, after: int, how: BaseException) -> None:
        self.after, self.how, self.calls = after, how, 0

    def __call__(self, asked: Asked) -> Answer:
        self.calls += 1
        if self.calls > self.after:
            raise self.how
        return EXTRACTIVE.answer(asked)


EXTRACTIVE = ANSWERERS["extractive"]
Break = Callable[[int, BaseException], Breaking]


@pytest.fixture
def breaking(monkeypatch: pytest.MonkeyPatch) -> Break:
    def put(after: int, how: BaseException) -> Breaking:
        made = Breaking(after, how)
        monkeypatch.setitem(ANSWERERS, "extractive", Answerer(made, EXTRACTIVE.read))
        return made

    return put


# ---------------------------------------------------------------- answering


def test_every_question_has_a_trace_of_what_it_found_and_said(plan: Plan) -> None:
    traces = answer_questions(plan)
    questions = plan.questions
    assert [trace.question for trace in traces] == [question.id for question in questions]
    for trace, question in zip(traces, questions, strict=True):
        assert trace.queries == (question.text,)
        assert [hit.rank for hit in trace.hits] == [1, 2, 3, 4, 5]
        assert trace.error is None and trace.answer
        assert trace.abstained or trace.support in {hit.memory for hit in trace.hits}
        assert trace.seconds > 0


def test_gold_never_reaches_the_answerer(plan: Plan, banks: BankSet, tmp_path: Path) -> None:
    bare = tuple(
        msgspec.structs.replace(
            question, gold=Gold(), audited=None, audit=None, category="?", abstention=False
        )
        for question in plan.questions
    )
    elsewhere = holding(banks, Workspace(tmp_path / "blind"))
    blind = Plan(elsewhere, with_dataset(banks, questions=bare), RECIPE)
    assert timeless(answer_questions(blind)) == timeless(answer_questions(plan))
    assert blind.identity() == plan.identity()


def test_the_answers_are_right(plan: Plan) -> None:
    said = {trace.question: trace.answer for trace in answer_questions(plan)}
    gold = {question.id: question.gold.answer for question in plan.questions}
    right = [name for name in said if said[name] == gold[name]]
    assert {"q0", "q1", "q4", "q5", "q7", "q9", "q11"} <= set(right)
    assert said["q8"] == "the Friday before 15 July 2023"


def test_a_first_person_question_is_about_the_one_who_asks(plan: Plan) -> None:
    """q2 and q3 are the same words, asked by Ana (t2) and Bo (t1)."""
    support = {trace.question: trace.support for trace in answer_questions(plan)}
    assert support["q2"] == "t:t2" and support["q3"] == "t:t1"


# ---------------------------------------------------------------- resuming


@pytest.mark.parametrize("tail", [b"", b'{"question":"q6","ans', b"\0\0\0\n", b"\n"])
def test_a_stopped_run_goes_on_and_ends_like_an_undisturbed_one(
    plan: Plan, banks: BankSet, tmp_path: Path, breaking: Break, tail: bytes
) -> None:
    elsewhere = holding(banks, Workspace(tmp_path / "other"))
    whole = answer_questions(Plan(elsewhere, banks, RECIPE))
    breaking(7, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        answer_questions(plan)
    path = plan.folder / "traces.jsonl"
    assert len(path.read_bytes().splitlines()) == 6  # two whole batches of three
    with path.open("ab") as stream:
        stream.write(tail)
    again = breaking(99, KeyboardInterrupt())
    assert timeless(answer_questions(plan)) == timeless(whole)
    assert again.calls == 6


def test_another_recipe_is_refused_by_what_changed_and_fresh_drops_it(
    plan: Plan, breaking: Break
) -> None:
    breaking(4, KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        answer_questions(plan)
    other = Plan(plan.workspace, plan.banks, msgspec.structs.replace(RECIPE, k=7, boost=0.5))
    with pytest.raises(UsageError) as refused:
        answer_questions(other)
    assert "recipe.boost (0.05 → 0.5), recipe.k (5 → 7)." in str(refused.value)
    assert "recipe.lam" not in str(refused.value) and "--fresh" in str(refused.value)
    breaking(99, KeyboardInterrupt())
    assert {len(trace.hits) for trace in answer_questions(other, fresh=True)} == {7}


def test_what_failed_is_told_and_only_that_is_tried_again(plan: Plan, breaking: Break) -> None:
    breaking(10, ModelError("the model is away"))
    told = evaluate(plan)
    assert told["failed"] == {"q10": "the model is away", "q11": "the model is away"}
    assert told["n"] == 9 and told["run"] is None
    assert not plan.workspace.manifests("runs")
    again = breaking(99, KeyboardInterrupt())
    assert evaluate(plan)["n"] == 11
    assert again.calls == 2


# ---------------------------------------------------------------- scoring


def test_an_evaluation_is_kept_and_not_made_twice(plan: Plan, breaking: Break) -> None:
    told = evaluate(plan)
    kept = load_run(plan.workspace, told["run"])
    traces = read_traces(plan.workspace.folder("runs", told["run"]) / "traces.jsonl")
    gold = {question.id: question.gold.answer for question in plan.questions}
    scored = [trace for trace in traces if trace.question != "q6"]
    by_hand = [f1_squad(trace.answer or "", gold[trace.question] or "") for trace in scored]
    values = kept.frame.filter(kept.frame["metric"] == "f1_squad")["value"].to_list()
    assert values == pytest.approx(by_hand)
    assert told["measures"]["f1_squad"]["micro"] == pytest.approx(sum(by_hand) / 11)
    assert told["seconds"] == pytest.approx(sum(t.seconds for t in traces), abs=1e-3)
    assert not plan.folder.exists()
    breaking(0, KeyboardInterrupt())
    assert evaluate(plan) == told


def test_abstention_items_are_answered_but_not_scored(plan: Plan) -> None:
    told = evaluate(plan)
    assert [q.id for q in plan.questions if q.abstention] == ["q6"]
    assert told["n"] == 11 and told["excluded"] == {"abstention": 1}
    kept = read_traces(plan.workspace.folder("runs", told["run"]) / "traces.jsonl")
    assert kept[6].question == "q6" and kept[6].abstained and told["abstained"] == 1


def test_unknown_names_are_refused_at_once(banks: BankSet, workspace: Workspace) -> None:
    with pytest.raises(UsageError, match="known: extractive, top-memory, last-phrase"):
        evaluate(Plan(workspace, banks, RECIPE, "oracle"))
    with pytest.raises(UsageError, match="unknown retriever"):
        evaluate(Plan(workspace, banks, msgspec.structs.replace(RECIPE, retriever="magic")))


def test_the_command_prints_what_others_rely_on(banks: BankSet, home: Workspace) -> None:
    told = report(home.root, "evaluate", "talk", "--answerer", "extractive", "--prior", "none")
    assert told["n"] == 11 and told["failed"] == {} and told["seconds"] > 0
    assert load_run(home, told["run"]).manifest["kind"] == "evaluate"
    assert told["recipe"]["prior"] == "none" and told["answerer"] == "extractive"
    found = told["measures"]["f1_squad"]
    assert set(found["by_category"]) == {"temporal", "single-hop", "multi-hop"}
    assert 0 < found["micro"] <= 1


# ---------------------------------------------------------------- several at once

EVALUATOR = """
import json, sys
from workbench import run
from workbench.library import open_banks
from workbench.schema import Recipe
from workbench.workspace import Workspace

def scoring(*given):
    print("scoring", flush=True)
    sys.stdin.readline()
    return score(*given)

score, run.score = run.score, scoring
workspace = Workspace(sys.argv[1])
recipe = Recipe(prior="none", lam=1.0, k=int(sys.argv[2]))
print(json.dumps(run.evaluate(run.Plan(workspace, open_banks(workspace, "talk"), recipe))))
"""


def test_runs_at_once_over_the_same_questions_wait_and_end_well(
    plan: Plan, banks: BankSet, home: Workspace
) -> None:
    """One is held up where its traces are made and its run is not kept; another recipe's, and
    another process that wants the same run, come meanwhile."""
    answer_questions(plan)  # so that all vectors are cached, and no process loads the model

    def begin(k: int) -> subprocess.Popen[str]:
        command = [sys.executable, "-c", EVALUATOR, str(home.root), str(k)]
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        return subprocess.Popen(command, env=environment(), text=True, **pipes)

    with begin(5) as first:
        assert first.stdout is not None and first.stdout.readline() == "scoring\n"
        with begin(7) as second, begin(5) as third:
            for later in (second, third):
                assert later.stderr is not None
                assert later.stderr.readline() == f"waiting for process {first.pid} (-c) …\n"
            processes = (first, second, third)
            said = [process.communicate("go on\n", timeout=50) for process in processes]
    assert [process.returncode for process in processes] == [0, 0, 0], said
    mine, other, same = (json.loads(out.splitlines()[-1]) for out, _ in said)
    assert same == mine and said[2][0].splitlines()[0] != "scoring"  # found, not made again
    assert said[1][0].splitlines()[0] == "scoring"
    for told, k in ((mine, 5), (other, 7)):
        assert told["n"] == 11 and told["recipe"]["k"] == k
        kept = read_traces(home.folder("runs", told["run"]) / "traces.jsonl")
        assert [trace.question for trace in kept] == [question.id for question in plan.questions]
        assert {len(trace.hits) for trace in kept} == {k}
    assert list(home.folder("traces").iterdir()) == []


def test_banks_that_were_replaced_while_a_run_waited_are_not_asked(plan: Plan) -> None:
    remove_folder(plan.workspace.folder("banks", plan.banks.id))
    with pytest.raises(WorkspaceError, match="banks were replaced"):
        evaluate(plan)
    assert not plan.folder.exists() and not plan.workspace.manifests("runs")


# ---------------------------------------------------------------- traces


def traces() -> Iterator[Trace]:
    for name in ("a", "b"):
        hits = (Found(memory="t:1", rank=1, score=0.5),)
        yield Trace(question=name, queries=("Où?",), hits=hits, answer="là\n", seconds=0.25)


def test_traces_come_back_as_they_were_written(tmp_path: Path) -> None:
    write_traces(tmp_path / "t.jsonl", traces())
    assert read_traces(tmp_path / "t.jsonl") == list(traces())
    assert repair(tmp_path / "t.jsonl") == 0


def test_damage_before_the_tail_is_named_and_so_is_a_question_twice(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    write_traces(path, [*traces(), *traces()])
    with pytest.raises(DataError, match=r"t\.jsonl, line 3: question 'a' came before"):
        read_traces(path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0][:9] + b"\n" + lines[1])
    assert repair(path) == 0
    with pytest.raises(DataError, match="line 1"):
        read_traces(path)


def test_only_a_torn_tail_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    write_traces(path, traces())
    whole = path.read_bytes()
    for cut in range(1, len(whole.splitlines(keepends=True)[1])):
        path.write_bytes(whole[:-cut])
        repair(path)
        assert [trace.question for trace in read_traces(path)] == ["a"]
    assert repair(tmp_path / "absent.jsonl") == 0
