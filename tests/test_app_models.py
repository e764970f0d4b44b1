"""Language models in the explorer: answers, classes of error, verdicts, a model as scorer."""

from __future__ import annotations

import json
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from app_page import fine, html, widget
from reward_model import ready
from reward_model.evaluate import EvaluationPlan
from reward_model.judge_scorer import JudgeScorer
from reward_model.scores import make_scores, save_scores
from reward_model.simulate import SimulationOptions, simulate
from reward_model.store import save_comparisons
from small_runs import IMG, RECIPE, recall_run
from workbench import attribution, run_answers
from workbench.answer_sources import answers_of_run
from workbench.chat_models import open_llm
from workbench.datasets import store
from workbench.datasets.report import Dataset
from workbench.judge import Judging, judge_answers
from workbench.library import open_banks
from workbench.llm import Reply, Request, Scripted
from workbench.run_list import named_scorer
from workbench.runs import load_run, save_run, tidy, write_parquet
from workbench.schema import Dialogue, Gold, Question, Turn, encode_jsonl
from workbench.traces import Trace
from workbench.view import View
from workbench.workspace import Workspace

testing = pytest.importorskip("streamlit.testing.v1")

APPS = Path(__file__).resolve().parent.parent / "apps"
RIGHT, WRONG = ('{"reason": "so", "verdict": "CORRECT"}', '{"reason": "no", "verdict": "WRONG"}')
BAD = f"judge {IMG}"  # a model's name that tries to be something else

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

# Five questions on four turns: (gold, evidence, what is said, turns that were read).
ASKED = {
    "q1": ("tea", "t1", "tea", ("t1",)),
    "q2": ("milk", "t2", "cow's milk of course", ("t2",)),
    "q3": ("a kite", "t3", "a boat", ("t3",)),
    "q4": ("an owl", "t4", "a cat", ("t1",)),
    "q5": ("jazz", "t9", "I like it", ("t1",)),  # nobody said turn t9 to any memory
}
F1 = {"q1": 1.0, "q2": 0.4, "q3": 0.0, "q4": 0.0, "q5": 0.0}
LOST = {
    "q1": "answered",
    "q2": "retrieved, not used",
    "q3": "retrieved, not used",
    "q4": "in memory, not retrieved",
    "q5": "not in memory",
}


@pytest.fixture(scope="module", autouse=True)
def apps_importable() -> Iterator[None]:
    """As `streamlit run` does it: the script's folder comes first."""
    sys.path.insert(0, str(APPS))
    yield
    sys.path.remove(str(APPS))


def toy() -> Dataset:
    turns = tuple(
        Turn(id=f"t{n}", session="1", speaker="Ana", text=text)
        for n, text in enumerate(
            ("I drink tea.", "Bo likes milk.", "I flew a kite.", "An owl called."), start=1
        )
    )
    said = Dialogue(
        id="d", scope="s", turns=(*turns, Turn(id="t9", session="2", speaker="Bo", text=" "))
    )
    questions = tuple(
        Question(
            id=name,
            scope="s",
            text=f"What about {name}?",
            category="odd" if name in ("q1", "q4") else "multi-hop",
            people=("Ana",),
            gold=Gold(answer=gold, evidence=(turn,)),
        )
        for name, (gold, turn, *_) in ASKED.items()
    )
    return Dataset(name="toy", format="jsonl", dialogues=(said,), questions=questions)


def answered(workspace: Workspace, banks: str, said: dict[str, str] | None = None) -> str:
    """A run of `evaluate` with results by hand; `said` are other answers than those of `ASKED`."""
    traces = [
        Trace(question=name, answer=(said or {}).get(name, answer), sources=read)
        for name, (_, _, answer, read) in ASKED.items()
    ]
    rows = [
        {"question": name, "scope": "s", "category": "odd", "metric": "f1_locomo", "value": value}
        for name, value in F1.items()
    ]
    classes = pl.DataFrame(
        [(name, "s", "odd", lost) for name, lost in LOST.items()],
        schema=attribution.COLUMNS,
        orient="row",
    )
    counts = {name: list(LOST.values()).count(name) for name in attribution.CLASSES}
    shown = {name: n for name, n in counts.items() if n}
    told = {"n": 5, "classes": shown, "by_category": {"odd": shown}, "excluded": {}, "right": "F1"}
    identity = {"dataset": "toy", "content": "c0ffee", "banks": banks, "recipe": RECIPE}
    identity |= {"gold": "original", "answerer": "llm" if said else "extractive"}
    measures = {
        "f1_locomo": {
            **{"micro": 0.28, "interval": [0.1, 0.5], "macro": 0.3, "macro_interval": [0.1, 0.5]},
            "by_category": {"odd": {"n": 5, "mean": 0.28, "interval": [0.1, 0.5]}},
        }
    }
    report = {"attribution": told, "n": 5, "measures": measures, "missing": [], "failed": {}}
    files: Any = {
        "traces.jsonl": encode_jsonl(traces),
        attribution.FILE: lambda path: write_parquet(classes, path),
    }
    return save_run(workspace, "evaluate", identity, tidy(rows), {"report": report}, files)


def judge(request: Request) -> str | Reply:
    """Holds q1 and q2 right and q3 wrong, refuses q4, and times out on q5."""
    verdicts = {"q1": RIGHT, "q2": RIGHT, "q3": WRONG, "q4": Reply(failure="refusal")}
    found = (verdict for name, verdict in verdicts.items() if f"What about {name}?" in request.user)
    return next(found, Reply(failure="timeout"))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A workspace with the toy, two runs of answers, one judge's verdicts on both."""
    workspace = Workspace(tmp_path_factory.mktemp("models") / "workspace")
    store.save(workspace, toy())
    banks = open_banks(workspace, "toy")
    runs = [answered(workspace, banks.id), answered(workspace, banks.id, {"q3": f"a kite {IMG}"})]
    for run in runs:
        model = Scripted(judge, name=BAD)
        told = judge_answers(Judging(workspace, answers_of_run(workspace, run), model))
        assert (told["judged"], told["not_judged"]) == (3, {"refusal": 1, "timeout": 1})
    return workspace


def runs(home: Workspace, kind: str) -> list[str]:
    """The runs of a kind, oldest first."""
    return [name for name, one in home.manifests("runs").items() if one["kind"] == kind]


@pytest.fixture
def started(home: Workspace, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Start the explorer on a page of the workspace, with fields of a view in the address."""
    monkeypatch.delenv("WORKBENCH_LLM_MODEL", raising=False)

    def start(page: str, *options: str, of: Workspace = home, **view: object) -> Any:
        monkeypatch.setenv("WORKBENCH_HOME", str(of.root))
        monkeypatch.setattr(sys, "argv", ["explorer", *options])
        app = testing.AppTest.from_file(str(APPS / "explorer.py"), default_timeout=50)
        for field, value in view.items():
            app.query_params[field] = str(value)
        app.session_state["_view"] = View()
        app.session_state["_page_wanted"] = page
        return fine(app.run())

    return start


def said(app: Any) -> str:
    kinds = ("markdown", "caption", "info", "warning", "code")
    words = [one.value for kind in kinds for one in getattr(app, kind)]
    return "\n".join([*words, html(app)]).replace("\\", "").replace("\N{WORD JOINER}", "")


def scripted(folder: Path, *rules: dict[str, Any]) -> str:
    """The spec of a model whose replies are these."""
    path = folder / "replies.jsonl"
    path.write_text("".join(json.dumps(rule) + "\n" for rule in rules), encoding="utf-8")
    return f"scripted:{path}"


def asked(home: Workspace) -> int:
    """How many replies the workspace keeps."""
    path = home.folder("cache") / "replies.sqlite"
    if not path.exists():
        return 0
    with sqlite3.connect(path) as database:
        return int(database.execute("SELECT count(*) FROM replies").fetchone()[0])


# ---------------------------------------------------------------- what runs say of questions


def test_all_that_is_known_of_each_question_stands_in_its_row(home: Workspace) -> None:
    run = load_run(home, runs(home, "evaluate")[0])
    [judged] = run_answers.judges_of(home, run)
    verdicts = run_answers.verdicts_of(home, load_run(home, judged))
    classes = run_answers.classes_of(home, run, toy())
    assert classes is not None
    questions = {q.id: q for q in toy().questions}
    frame = run_answers.by_question(run_answers.answers_of(home, run), classes, verdicts, questions)
    told = ("question", "gold", "answer", "f1", "class", "verdict", "why")
    assert frame.select(told).rows() == [
        ("q1", "tea", "tea", 1.0, LOST["q1"], "right", None),
        ("q2", "milk", "cow's milk of course", 0.4, LOST["q2"], "right", None),
        ("q3", "a kite", "a boat", 0.0, LOST["q3"], "wrong", None),
        ("q4", "an owl", "a cat", 0.0, LOST["q4"], "none", "refusal"),
        ("q5", "jazz", "I like it", 0.0, LOST["q5"], "none", "timeout"),
    ]
    bare = run_answers.by_question(run_answers.answers_of(home, run), classes, None, {})
    assert bare.select("verdict", "text").unique().rows() == [(None, None)]


def test_a_judge_may_say_what_is_right_and_f1_where_it_says_nothing(home: Workspace) -> None:
    banks = open_banks(home, "toy")
    run, verdicts = (load_run(home, runs(home, kind)[0]) for kind in ("evaluate", "judge"))
    found = run_answers.classes_by_judge(home, run, verdicts, banks)
    assert found is not None
    # q2 is right by the judge; t9 is blank, and so in no memory.
    assert dict(found.frame.select("question", "class").iter_rows()) == LOST | {"q2": "answered"}
    other = load_run(home, runs(home, "judge")[1])
    assert run_answers.classes_by_judge(home, run, other, banks) is None


def test_runs_without_single_answers_have_no_classes(workspace: Workspace) -> None:
    run = load_run(workspace, recall_run(workspace))  # says no level
    assert run_answers.classes_of(workspace, run, toy()) is None
    assert run_answers.runs_with_classes(workspace, "toy") == {}
    assert len(run_answers.answers_of(workspace, run)) == 0


# ---------------------------------------------------------------- the page Runs


def test_answers_stand_beside_gold_class_and_verdict(started: Any, home: Workspace) -> None:
    run = runs(home, "evaluate")[0]
    app = started("runs", run=run, section="errors")
    words = said(app)
    assert "Where 5 questions were lost" in words and "2<div class=quiet>40%" in words
    assert "Accuracy 0.667" in words and "judged 3 of 5 answers" in words
    assert "not judged: 1 refusal, 1 timeout" in words
    assert "judge &lt;img" in words and "<img" not in html(app)
    for piece in ("cow's milk of course", "✓ right", "✗ wrong", "not judged: refusal"):
        assert piece in html(app)
    app = started("runs", run=run, section="errors", lost="in memory, not retrieved")
    assert "1 of 5 questions" in html(app) and "a cat" in html(app) and "a boat" not in html(app)
    app = started("runs", run=run, section="errors")
    app = fine(widget(app, "segmented_control", "An answer is right by").set_value("judge").run())
    assert "2<div class=quiet>40%" in said(app)  # answered, now with q2
    widget(app, "segmented_control", "The judge says").set_value("none").run()
    assert "2 of 5 questions" in html(fine(app))


def test_verdicts_lead_to_the_errors_of_the_answers_they_are_on(
    started: Any, home: Workspace
) -> None:
    run, verdicts = runs(home, "evaluate")[1], runs(home, "judge")[1]
    app = started("runs", run=verdicts, section="errors")
    assert f"Verdicts on the answers of run {run[:8]}" in html(app)
    assert "a kite &lt;img" in html(app)
    app = started("runs", run=verdicts)
    assert "Answers judged on toy" in [one.value for one in app.subheader]
    assert "Accuracy 0.667" in said(app) and "1 refusal, 1 timeout" in said(app)
    assert "n = 3 questions in 1 conversation; excluded: 1 refusal, 1 timeout" in said(app)


def test_without_a_judge_the_command_is_named(started: Any, workspace: Workspace) -> None:
    store.save(workspace, toy())
    run = answered(workspace, "no banks")
    app = started("runs", of=workspace, run=run, section="errors")
    assert f"workbench judge {run[:8]} --llm MODEL" in said(app)
    assert "✓ right" not in html(app)
    app = started("runs", "--llm", "openai:tiny", of=workspace, run=run, section="errors")
    assert f"workbench judge {run[:8]} --llm openai:tiny" in said(app)


def test_two_runs_are_compared_with_both_answers_and_verdicts(
    started: Any, home: Workspace
) -> None:
    first, second = runs(home, "evaluate")
    app = started("runs", run=second, against=first, section="compare two")
    widget(app, "segmented_control", "Questions").set_value("same").run()
    shown = html(fine(app))
    assert "answer a</th>" in shown and "answer b</th>" in shown
    assert "a kite &lt;img" in shown and "a boat" in shown and "✗ wrong" in shown
    assert "verdicts of one judge" in said(app)


# ---------------------------------------------------------------- the page Retrieval


def test_the_list_is_filtered_by_where_a_run_lost_the_questions(
    started: Any, home: Workspace
) -> None:
    run = runs(home, "evaluate")[0]
    app = started("retrieval", dataset="toy", run=run, lost="retrieved, not used")
    listed = [one.replace("\\", "") for one in widget(app, "radio", "Questions").options]
    assert listed == [f"Ana: What about {name}?" for name in ("q2", "q3")]
    shown = html(app)
    assert "Retrieved, not used: all of the evidence was read" in shown
    assert "It answered “cow's milk of course”. F1 is 0.40." in shown
    app = fine(widget(app, "selectbox", "Where this run lost them").set_value("").run())
    assert "lost" not in app.query_params and "It answered" not in html(app)
    app = started("retrieval", dataset="toy", lost="nonsense")
    assert any("nonsense" in one.value for one in app.warning)


def test_a_model_is_asked_by_the_button_and_never_before(
    started: Any, home: Workspace, tmp_path: Path
) -> None:
    spec = scripted(tmp_path, {"when": ["What about q1?"], "reply": f"Green tea {IMG}"})
    view = {"dataset": "toy", "question": "q1", "answerer": "llm", "k": 2}
    before = asked(home)
    app = started("retrieval", "--llm", spec, **view)
    assert asked(home) == before and "Green tea" not in html(app)
    assert "replies.jsonl on this machine" in said(app)
    app = fine(widget(app, "button", "Ask ").click().run())
    assert html(app).count("Green tea &lt;img") == 2 and "<img" not in html(app)
    assert "tokens in" in said(app)
    kept = asked(home)
    assert before < kept <= before + 2
    app = fine(widget(app, "slider", "K").set_value(1).run())
    assert "Green tea" not in html(app)  # another ranking: nobody was asked about it
    app = fine(widget(app, "slider", "K").set_value(2).run())
    assert "Green tea" in html(app)
    # Another session asks the same: it costs nothing.
    other = started("retrieval", "--llm", spec, **view)
    other = fine(widget(other, "button", "Ask ").click().run())
    assert "all from the cache" in said(other) and asked(home) == kept
    blocked = started("retrieval", "--llm", spec, "--read-only", **view)
    assert widget(blocked, "button", "Ask ").disabled


def test_a_failure_is_shown_by_its_class_and_is_no_answer(
    started: Any, home: Workspace, tmp_path: Path
) -> None:
    spec = scripted(tmp_path, {"failure": "rate-limited"})
    app = started("retrieval", "--llm", spec, dataset="toy", question="q2", answerer="llm")
    app = fine(widget(app, "button", "Ask ").click().run())
    assert html(app).count("no answer: rate-limited") == 2


def test_without_a_model_the_way_to_one_is_told(started: Any, home: Workspace) -> None:
    app = started("retrieval", dataset="toy", question="q1", answerer="llm")
    assert "workbench explore --llm openai:MODEL" in said(app)
    assert "Nothing leaves this machine." in said(started("about"))
    app = started("about", "--llm", "openai:tiny")
    assert "is to read leaves this process for https://api.openai.com/v1" in said(app)


# ---------------------------------------------------------------- the page Reward model

GRADES: Sequence[dict[str, Any]] = (
    {"when": ["first_response"], "reply": {"reason": "so", "first": 3, "second": 1}},
    {"reply": {"reason": "so", "grade": 2}},
)


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Workspace, str]:
    """Simulated judgments, evaluated on features that are said to be a scripted model's."""
    folder = tmp_path_factory.mktemp("graded")
    workspace = Workspace(folder / "workspace")
    spec = scripted(folder, *GRADES)
    made = simulate(SimulationOptions(participants=30, comparisons=240, retest=10))
    kept = save_comparisons(workspace, "simulated", made.comparisons, "a test")
    planned = made.scores(kept.content)
    identity = JudgeScorer(open_llm(spec, workspace)).identity
    columns = {name: planned.frame[name].to_list() for name in planned.frame.columns[1:]}
    ids = planned.frame["comparison"].to_list()
    scores = make_scores(kept.content, identity, ids, columns, {})
    save_scores(workspace, scores)
    ready.ready_evaluation(workspace, kept, scores, EvaluationPlan(repeats=1))
    return workspace, spec


def test_a_model_that_scored_is_named_wherever_its_weights_are(
    started: Any, graded: tuple[Workspace, str]
) -> None:
    home, spec = graded
    name = named_scorer(JudgeScorer(open_llm(spec, home)).identity)
    assert name == "judge (replies.jsonl)"
    for section in ("coefficients", "one pair", "your own pair"):
        app = started("reward", of=home, section=section)
        assert name in said(app), section
    run = runs(home, "reward-evaluate")[0]
    assert f"scored by {name}" in said(started("runs", of=home, run=run))


def test_a_pair_typed_in_is_graded_by_the_model_that_graded_the_rest(
    started: Any, graded: tuple[Workspace, str]
) -> None:
    home, spec = graded
    app = started("reward", of=home, section="your own pair")
    assert "workbench explore --llm" in said(app)
    app = started("reward", "--llm", spec, of=home, section="your own pair")
    assert widget(app, "radio", "Features read by").value == "judge"
    assert asked(home) == 0
    app = fine(widget(app, "button", "Score it").click().run())
    assert "would be preferred" in said(app) and not app.warning[1:]
    assert "Your features were read by judge (replies.jsonl)" in said(app)
    assert asked(home) == 15  # REL once, seven features in two orders
    app = fine(widget(app, "button", "Score it").click().run())
    assert "15 replies, all from the cache" in said(app)
    app = fine(widget(app, "radio", "Features read by").set_value("offline").run())
    assert "would be preferred" not in said(app)
    app = fine(widget(app, "button", "Score it").click().run())
    assert any("rough answer" in one.value for one in app.warning)


def test_grades_that_cannot_be_read_are_a_failure_with_its_class(
    started: Any, graded: tuple[Workspace, str], tmp_path: Path
) -> None:
    home, _ = graded
    spec = scripted(tmp_path, {"failure": "timeout"})
    app = started("reward", "--llm", spec, of=home, section="your own pair")
    app = widget(app, "button", "Score it").click().run()
    assert not app.exception
    assert "timeout" in app.error[0].value and "would be preferred" not in said(app)
