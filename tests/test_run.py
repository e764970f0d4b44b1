"""Runs over a small conversation: traces, resuming, scores, and what never reaches an answerer."""

from __future__ import annotations

import json
import math
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import msgspec
import polars as pl
import pytest

from shell import environment, report, write_rows
from workbench import run
from workbench.answer import ANSWERERS, Answer, Answerer, Asked
from workbench.answer_metrics import f1_squad
from workbench.datasets import import_file
from workbench.errors import DataError, ModelError, UsageError, WorkspaceError
from workbench.library import BankSet, open_banks
from workbench.llm import Reply, Request, Scripted
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
    with pytest.raises(UsageError, match="known: extractive, top-memory, last-phrase, llm"):
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


# ---------------------------------------------------------------- a language model answers


PEOPLE = re.compile(r"<question>\n(.*)\n")


def replies(request: Request) -> Reply:
    """A small reader: the last line of what it is given that shares a long word with the question,
    or a query for a rewriter."""
    asked = PEOPLE.search(request.user)
    assert asked is not None
    if request.json_object:
        return Reply(text=json.dumps({"query": asked[1].rstrip("?"), "tense": "past"}), tokens_in=7)
    words = {word for word in asked[1].lower().strip("?").split() if len(word) > 3}
    lines = [line for line in request.user.splitlines() if line.startswith("- ")]
    fitting = [line for line in lines if words.intersection(line.lower().split())]
    said = fitting[-1].rpartition(": ")[2] if fitting else "No information available"
    return Reply(text=said, tokens_in=len(request.user.split()), tokens_out=len(said.split()))


@pytest.fixture
def reader(plan: Plan) -> Plan:
    return replace(plan, answerer="llm", llm=Scripted(replies, name="reader"))


def test_a_models_answers_come_with_what_it_read_and_their_tokens(reader: Plan) -> None:
    told = evaluate(reader)
    kept = read_traces(reader.workspace.folder("runs", told["run"]) / "traces.jsonl")
    by_id = {trace.question: trace for trace in kept}
    assert by_id["q4"].answer == "My cat is called Mister Pepper"
    assert by_id["q6"].answer == "No information available" and by_id["q6"].abstained
    assert {f"t{i}" for i in range(8)} >= set(by_id["q4"].sources) >= {"t3"}
    assert told["n"] == 11 and told["context"] == "ppro" and told["llm"]["model"] == "reader"
    assert told["tokens"]["in"] == sum(trace.tokens_in for trace in kept) > 12 * 20
    counted = told["attribution"]["classes"]
    assert sum(counted.values()) == told["attribution"]["n"] == 11
    frame = pl.read_parquet(reader.workspace.folder("runs", told["run"]) / "attribution.parquet")
    assert frame.columns == ["question", "scope", "category", "class"] and len(frame) == 11


@pytest.mark.parametrize(
    ("context", "read"), [("empty", 0), ("oracle", 1), ("full", 8), ("retrieved", 5)]
)
def test_contexts_decide_what_is_read(reader: Plan, context: str, read: int) -> None:
    traces = answer_questions(replace(reader, context=context))
    assert {len(trace.sources) for trace in traces if trace.question != "q6"} == {read}
    searched = context == "retrieved"
    assert {bool(t.hits) for t in traces} == {bool(t.queries) for t in traces} == {searched}


def test_gold_never_reaches_the_model_but_the_oracles_evidence(
    reader: Plan, banks: BankSet
) -> None:
    marked = tuple(
        msgspec.structs.replace(q, gold=Gold(answer="GOLD", evidence=("t6",)), category="GOLD")
        for q in reader.questions
    )
    other = replace(reader, banks=with_dataset(banks, questions=marked), rewriter="prompted")
    told = [answer_questions(p) for p in (other, replace(reader, rewriter="prompted"))]
    assert timeless(told[0]) == timeless(told[1])
    assert other.identity() == replace(reader, rewriter="prompted").identity()
    shown = replace(other, rewriter="identity", context="oracle")
    assert {t.sources for t in answer_questions(shown)} == {("t6",)}
    assert shown.identity() != replace(reader, context="oracle").identity()
    model = reader.llm
    assert isinstance(model, Scripted)
    assert not any("GOLD" in request.user for request in model.asked)


def test_rewritten_words_are_searched_with_and_the_question_is_answered(reader: Plan) -> None:
    told = evaluate(replace(reader, rewriter="prompted"))
    kept = read_traces(reader.workspace.folder("runs", told["run"]) / "traces.jsonl")
    assert kept[4].queries == ("What is Bo's cat called",)
    assert told["not_rewritten"] == {} and told["rewriter"] == "prompted"
    assert kept[4].answer == "My cat is called Mister Pepper"


def test_rewritings_that_fail_are_counted_and_lost_calls_are_pending(reader: Plan) -> None:
    def away(request: Request) -> Reply:
        if request.json_object:
            return Reply(failure="network") if "cats" in request.user else Reply(text="hm")
        return replies(request)

    told = evaluate(replace(reader, rewriter="prompted", llm=Scripted(away, name="reader")))
    assert told["failed"] == {"q5": "network: rewriting", "q11": "network: rewriting"}
    assert told["failures"] == {"network": 2} and told["run"] is None
    assert told["not_rewritten"] == {"invalid": 10, "network": 2}
    assert told["attribution"]["excluded"]["without an answer"] == 2


def test_failures_have_their_class_and_only_they_are_asked_again(reader: Plan) -> None:
    def broken(request: Request) -> Reply:
        kind = {"Oslo?": "timeout", "boat": "rate-limited"}
        asked = request.user.rpartition("<question>")[2]
        failure = next((value for key, value in kind.items() if key in asked), None)
        return Reply(failure=failure, detail="away") if failure else replies(request)

    told = evaluate(replace(reader, llm=Scripted(broken, name="reader")))
    assert told["failed"] == {"q0": "timeout: away", "q6": "rate-limited: away"}
    assert told["failures"] == {"rate-limited": 1, "timeout": 1} and told["n"] == 10
    model = reader.llm
    assert isinstance(model, Scripted)
    assert evaluate(reader)["failed"] == {} and len(model.asked) == 2


def test_contexts_over_the_window_are_left_out_and_are_no_failures(reader: Plan) -> None:
    whole = evaluate(replace(reader, context="full", window=100_000))
    assert whole["over_window"] == 0 and whole["n"] == 11
    model = reader.llm
    assert isinstance(model, Scripted)
    asked = [math.ceil((len(r.system) + len(r.user)) / 3.5) for r in model.asked]
    window = sorted(asked)[5] + 2 * 64  # two replies of 64 tokens
    over = sum(tokens + 2 * 64 > window for tokens in asked)
    told = evaluate(replace(reader, context="full", window=window))
    assert told["over_window"] == over > 0 and told["failed"] == {}
    assert told["run"] and len(told["missing"]) in (over, over - 1)  # q6 is no question to miss
    with pytest.raises(DataError, match="not one of the 12 questions fits a window of 300 tokens"):
        evaluate(replace(reader, context="full", window=300))


def test_a_run_without_any_answer_says_why(reader: Plan) -> None:
    away = Scripted(lambda request: Reply(failure="network", detail="nobody there"), name="reader")
    with pytest.raises(ModelError, match=r"not one of 12 .* 12 network.*first: network: nobody"):
        evaluate(replace(reader, llm=away))
    assert evaluate(reader)["n"] == 11


def test_another_model_or_window_is_refused_by_name(reader: Plan) -> None:
    def stop(request: Request) -> Reply:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        answer_questions(replace(reader, llm=Scripted(stop, name="one")))
    with pytest.raises(UsageError, match=r"llm\.model \('one' → 'reader'\), window \(None → 9000"):
        answer_questions(replace(reader, window=9000))


def test_two_runs_of_a_model_give_the_same_traces(reader: Plan) -> None:
    first = timeless(answer_questions(reader))
    assert timeless(answer_questions(reader, fresh=True)) == first


def test_what_cannot_be_meant_is_refused_before_anything_is_asked(reader: Plan) -> None:
    for changed, said in (
        ({"llm": None}, "--llm"),
        ({"context": "all"}, "known: empty, full"),
        ({"rewriter": "magic"}, "known: identity, prompted"),
        ({"context": "oracle", "rewriter": "prompted"}, "nothing is retrieved"),
        ({"answerer": "extractive", "context": "full"}, "extractive reads the hits"),
    ):
        with pytest.raises(UsageError, match=said):
            evaluate(replace(reader, **changed))  # type: ignore[arg-type]


KILLED = """
import os, sys, time
sys.path.insert(0, sys.argv[2])
import test_run
from workbench import run, run_plan
from workbench.library import open_banks
from workbench.llm import Scripted
from workbench.workspace import Workspace

def slowly(request):
    time.sleep(0.1)
    return test_run.replies(request)

def evaluated():
    print("process", os.getpid(), flush=True)
    workspace = Workspace(sys.argv[1])
    banks = open_banks(workspace, "talk")
    plan = run.Plan(workspace, banks, test_run.RECIPE, "llm", llm=Scripted(slowly, name="reader"))
    told = run.evaluate(plan, progress=lambda *progress: print(*progress, flush=True))
    print("run", told["run"], flush=True)

run.LLM_BATCH, run_plan.code_digest = 1, lambda: "code"
for _ in sys.stdin:
    if os.fork() == 0:  # a process of its own, without the second that the imports take
        evaluated()
        os._exit(0)
    print("ended", os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
"""


def test_a_run_that_is_killed_three_times_ends_like_an_undisturbed_one(
    reader: Plan, home: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Several processes look at the code one after the other, and somebody may be editing it.
    monkeypatch.setattr("workbench.run_plan.code_digest", lambda: "code")
    told = evaluate(reader)
    moments = random.Random(7)
    command = [sys.executable, "-c", KILLED, str(home.root), str(Path(__file__).parent)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env=environment(), text=True, **pipes) as starter:
        assert starter.stdin is not None and starter.stdout is not None
        for _ in range(3):
            print("go", file=starter.stdin, flush=True)
            name, process = starter.stdout.readline().split()
            assert name == "process"
            for _ in range(moments.randint(1, 3)):
                assert starter.stdout.readline().startswith("answering")
            time.sleep(moments.random() / 10)
            os.kill(int(process), signal.SIGKILL)
            after = iter(starter.stdout.readline, f"ended {-signal.SIGKILL}\n")
            assert all(line.startswith("answering") for line in after)
        out, _ = starter.communicate("go\n", timeout=50)
    said = out.splitlines()
    assert said[1].startswith("answering") and said[1] != "answering 1 12"  # something was there
    assert said[-1] == "ended 0" and said[-2] == f"run {told['run']}"
    kept = [place.folder("runs", told["run"]) for place in (home, reader.workspace)]
    first, second = (timeless(read_traces(folder / "traces.jsonl")) for folder in kept)
    assert first == second
    again = load_run(home, told["run"]).manifest["report"]
    assert {**again, "seconds": 0, "run": told["run"]} == {**told, "seconds": 0}


def test_the_commands_ask_a_model_by_its_name(home: Workspace, tmp_path: Path) -> None:
    rules = [
        {"when": ["search query", "cats"], "reply": "no JSON"},
        {"when": "search query", "reply": {"query": "the cat of Bo"}},
        {"pattern": r"cat is called ([\w ]+)\.", "reply": r"\1."},
        {"reply": "No information available."},
    ]
    model = f"scripted:{write_rows(tmp_path / 'rules.jsonl', rules)}"
    asked = report(home.root, "ask", "talk", "q4", "--answerer", "llm", "--llm", model)
    assert asked["answers"]["without"] == {"text": "Mister Pepper"}
    chosen = ("--answerer", "llm", "--llm", model, "--rewriter", "prompted", "--k", "3")
    told = report(home.root, "evaluate", "talk", *chosen)
    assert told["n"] == 11 and told["failed"] == {} and told["not_rewritten"] == {"invalid": 2}
    assert told["attribution"]["by_category"]["single-hop"]["answered"] == 1
    lost = report(home.root, "attribution", told["run"])
    assert lost["questions"]["q4"] == "answered" and lost["kind"] == "evaluate"
