"""Runs and About: lists, comparisons, hidden names, what is said of the data."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from app_page import fine, html, widget
from small_runs import HOSTILE, IMG, PASSPORT, recall_run
from workbench.contrasts import ALL, by_category, by_question, comparable, won_by
from workbench.datasets import store
from workbench.datasets.report import Dataset
from workbench.errors import UsageError
from workbench.figures.differences import category_differences
from workbench.holdings import holdings
from workbench.report import main_measure
from workbench.run_list import apart, run_rows, settings
from workbench.runs import load_run, save_run, tidy
from workbench.schema import Dialogue, Question, Turn
from workbench.view import View, encode_view
from workbench.workspace import Workspace

testing = pytest.importorskip("streamlit.testing.v1")

PROJECT = Path(__file__).resolve().parent.parent
APPS = PROJECT / "apps"

pytestmark = [
    pytest.mark.timeout(60),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


@pytest.fixture(scope="module", autouse=True)
def apps_importable() -> Iterator[None]:
    """As `streamlit run` does it: the script's folder comes first."""
    sys.path.insert(0, str(APPS))
    yield
    sys.path.remove(str(APPS))


@pytest.fixture
def started(workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Start the explorer on a page of its own, with fields of a view."""

    def start(page: str, *options: str, **fields: Any) -> Any:
        path = tmp_path / "view.json"
        path.write_bytes(encode_view(View(page=page, **fields)))
        monkeypatch.setenv("WORKBENCH_HOME", str(workspace.root))
        monkeypatch.setattr(sys, "argv", ["explorer", "--view", str(path), *options])
        app = testing.AppTest.from_file(str(APPS / "explorer.py"), default_timeout=50)
        return fine(app.run())

    return start


def said(app: Any) -> str:
    """Everything that the page says, without the escapes of Markdown."""
    kinds = ("markdown", "caption", "info", "warning", "success", "subheader", "code")
    words = [one.value for kind in kinds for one in getattr(app, kind)]
    return "\n".join([*words, html(app)]).replace("\\", "")


def toy(workspace: Workspace) -> None:
    """The dataset that `recall_run` speaks of, with two people who ask."""
    turns = tuple(
        Turn(id=f"D1:{n}", session="1", speaker=who, text=f"{who} says {n}.")
        for n, who in enumerate(("Ana Silva", "Bo"), start=1)
    )
    scopes = {"q1": "a", "q2": "a", "q3": "b", "q4": "b", "q5": "c", "q6": "c"}
    dataset = Dataset(
        name="toy",
        format="jsonl",
        licence="CC0 <b>1.0</b>",
        dialogues=tuple(Dialogue(id=f"d{s}", scope=s, turns=turns) for s in "abc"),
        questions=tuple(
            Question(id=name, scope=scope, text=f"What did Ana say in {name}?", people=("Bo",))
            for name, scope in scopes.items()
        ),
    )
    store.save(workspace, dataset, sources={"toy.jsonl": "ab" * 32})


# ---------------------------------------------------------------- two runs compared


def test_a_difference_by_category_is_paired_and_corrected(workspace: Workspace) -> None:
    a = load_run(workspace, recall_run(workspace))
    b = load_run(workspace, recall_run(workspace, shift=0.25, prior="none"))
    frame = by_category(a, b, "recall@5")
    assert frame["category"].to_list() == [ALL, "multi-hop", "odd"]
    assert frame["n"].to_list() == [6, 3, 3]
    assert frame["difference"].to_list() == pytest.approx([0.25] * 3)
    assert frame["a"].to_list() == pytest.approx([4.5 / 6, 2 / 3, 2.5 / 3])
    # Of 2**6 (2**3) flips of signs two are as far from 0; Holm doubles those of the two categories.
    assert frame["p"].to_list() == pytest.approx([1 / 32, 1 / 4, 1 / 4])
    assert frame["p_holm"].to_list()[0] is None
    assert frame["p_holm"].to_list()[1:] == pytest.approx([1 / 2, 1 / 2])


def test_all_questions_are_compared_as_the_command_does_it(workspace: Workspace) -> None:
    from workbench.compare import compare

    a = load_run(workspace, recall_run(workspace))
    b = load_run(workspace, uneven(workspace))
    told = compare(a, b, ["recall@5"])["measures"]["recall@5"]
    row = by_category(a, b, "recall@5").row(0, named=True)
    assert (row["n"], row["p"]) == (told["n"], told["p"])
    assert [row["lo"], row["hi"]] == told["interval"]


def test_single_questions_come_with_the_largest_differences_first(workspace: Workspace) -> None:
    from views import run_pair

    a = load_run(workspace, recall_run(workspace))
    b = load_run(workspace, uneven(workspace))
    frame = by_question(a, b, "recall@5")
    assert frame.select("question", "difference").rows() == [
        *(("q2", 1.0), ("q4", 1.0), ("q6", -0.5)),
        *(("q1", 0.0), ("q3", 0.0)),
    ]  # q5 has no value in b
    counts = [len(won_by(frame, side)) for side in ("", "a", "b", "same")]
    assert counts == [3, 2, 1, 2]
    assert "a is better on 2 questions, b on 1; on 2" in run_pair.totals(frame)


def uneven(workspace: Workspace) -> str:
    """A run that loses q2 and q4, wins q6, ties q1 and q3, and failed on q5."""
    values = {"q1": 0.5, "q2": 0.0, "q3": 0.5, "q4": 0.0, "q5": None, "q6": 1.0}
    scopes = dict(zip(values, "aabbcc", strict=True))
    rows = [
        {"question": q, "scope": scopes[q], "category": "x", "metric": "recall@5", "value": value}
        for q, value in values.items()
    ]
    identity = {"dataset": "toy", "content": "c0ffee", "seed": 1}
    return save_run(workspace, "recall", identity, tidy(rows), {})


def test_runs_of_other_data_are_not_offered_and_not_compared(workspace: Workspace) -> None:
    a = load_run(workspace, recall_run(workspace))
    identity = {"dataset": "toy", "content": "other", "seed": 1}
    b = load_run(workspace, save_run(workspace, "recall", identity, a.frame, {}))
    assert comparable(a.manifest, a.manifest)
    assert not comparable(a.manifest, b.manifest)
    with pytest.raises(UsageError, match="content"):
        by_category(a, b, "recall@5")
    with pytest.raises(UsageError, match="share no measure"):
        by_question(a, load_run(workspace, recall_run(workspace, prior="none")), "mrr")


def test_the_figure_shows_every_category_with_its_test(workspace: Workspace) -> None:
    a = load_run(workspace, recall_run(workspace, odd=HOSTILE))
    b = load_run(workspace, recall_run(workspace, odd=HOSTILE, shift=0.25, prior="none"))
    frame = by_category(a, b, "recall@5")
    figure = category_differences(frame, PASSPORT, "recall@5", (IMG, "b"))
    assert list(figure.data[0].x) == pytest.approx([0.25] * 3)
    beside = [one.text for one in figure.layout.annotations[:3]]
    assert "p = 0.031" in beside[0] and "corrected p = 0.500" in beside[2]
    assert "<img" not in figure.to_json() and "&lt;img" in figure.layout.yaxis.ticktext[1]
    assert figure.layout.meta["passport"]["run"] == PASSPORT.run
    unknown = frame.with_columns(pl.lit(None, pl.Float64).alias("lo"), pl.lit(None).alias("hi"))
    assert list(category_differences(unknown, PASSPORT, "x").data[0].error_x.array) == [0, 0, 0]


@pytest.mark.parametrize(
    ("measures", "main"),
    [
        (["mrr", "recall@5", "recall@25", "recall@50"], "recall@25"),
        (["recall@50", "recall@100"], "recall@50"),
        (["recall@25+7"], "recall@25+7"),
        (["exact", "f1_squad"], "f1_squad"),
        (["correct_full", "logloss"], "correct_full"),
    ],
)
def test_one_measure_speaks_for_a_comparison(measures: list[str], main: str) -> None:
    assert main_measure(measures) == main


# ---------------------------------------------------------------- runs in words


def test_runs_are_told_in_words(workspace: Workspace) -> None:
    one, other = recall_run(workspace), recall_run(workspace, prior="none", neighbours=0.3)
    first, second = (load_run(workspace, run).manifest for run in (one, other))
    assert settings(first) == "turns, dense, prior facts, λ = 0.5, minilm"
    assert settings(second) == "turns, dense, prior none, minilm, neighbours 0.3"
    assert apart(first, second) == ("prior facts, λ = 0.5", "prior none, neighbours 0.3")
    assert apart(first, first) == (f"run {one[:8]}",) * 2
    rows = run_rows(workspace)
    assert set(rows["run"]) == {one, other}
    assert rows["what"].unique().to_list() == ["evidence recall"]
    assert rows["made"].is_sorted(descending=True)
    assert len(run_rows(Workspace(workspace.root / "nothing"))) == 0


def test_a_sweep_does_not_name_what_it_varies() -> None:
    recipe = {"memories": "turns", "retriever": "dense", "prior": "facts", "lam": 1.0, "k": 200}
    manifest = {"kind": "sweep-lambda", "identity": {"recipe": {**recipe, "embedder": "minilm"}}}
    assert settings(manifest | {"split": "test"}) == "turns, dense, prior facts, minilm, test split"
    assert "k 200" in settings({**manifest, "kind": "recall"})


# ---------------------------------------------------------------- the page Runs


def test_without_runs_the_page_says_how_to_make_one(started: Any) -> None:
    app = started("runs")
    assert "workbench recall sample" in said(app)
    assert [one.label for one in app.button if one.label.startswith("Make two")]
    app = started("runs", "--read-only")
    assert not [one.label for one in app.button if one.label.startswith("Make two")]


def test_a_run_is_shown_in_full(started: Any, workspace: Workspace) -> None:
    run = recall_run(workspace)
    app = started("runs")
    words = said(app)
    assert "Evidence recall on toy" in words
    assert "recall@5 is 0.750" in words
    assert run[:8] in words and "excluded: 2 without evidence" in words
    assert len(app.get("plotly_chart")) == 2
    labels = {one.proto.label for one in app.get("download_button")}
    assert {"CSV", "LaTeX", "HTML page"} <= labels


def test_two_runs_are_compared(started: Any, workspace: Workspace) -> None:
    toy(workspace)
    worse, better = recall_run(workspace, shift=0.25, prior="none"), recall_run(workspace)
    app = started("runs", run=better, section="compare two")
    assert app.query_params["against"] == worse
    words = said(app)
    assert "a: prior facts, λ = 0.5. b: prior none." in words
    assert "recall@5: a 0.750, b 0.500, over the 6 questions of both; p = 0.031" in words
    assert "a is better on 6 questions, b on 0" in words
    assert "What did Ana say in q3?" in words
    widget(app, "selectbox", "Measure").set_value("recall@1").run()
    assert "recall@1: a 0.333, b 0.083" in said(fine(app))
    widget(app, "segmented_control", "Questions").set_value("b").run()
    assert "No question of this kind" in said(fine(app))


def test_a_question_is_opened_with_the_settings_of_the_run(
    started: Any, workspace: Workspace
) -> None:
    toy(workspace)
    recall_run(workspace, shift=0.25, prior="none")
    app = started("runs", run=recall_run(workspace), section="compare two", user="Bo", scope="a")
    widget(app, "selectbox", "Look at a question").set_value("q4").run()
    widget(app, "button", "Open in Retrieval").click().run()
    app = fine(app)
    assert [one.value for one in app.title] == ["Retrieval"]
    address = dict(app.query_params)
    assert {key: address[key] for key in ("dataset", "question", "prior", "lam")} == {
        **{"dataset": "toy", "question": "q4"},
        **{"prior": "facts", "lam": "0.5"},
    }


def test_a_run_alone_cannot_be_compared(started: Any, workspace: Workspace) -> None:
    app = started("runs", run=recall_run(workspace), section="compare two")
    assert "No other run here was measured on the same data" in said(app)
    assert "workbench recall toy" in said(app)


def test_a_run_that_is_not_there_falls_back_with_a_word(started: Any, workspace: Workspace) -> None:
    run = recall_run(workspace)
    app = started("runs", run=IMG, section="nonsense", against="nowhere")
    assert "There is no run" in said(app)
    assert app.query_params["run"] == run
    app = started("runs", run=run[:6])  # the beginning of an id is enough, as in the terminal
    assert not app.warning and app.query_params["run"] == run


def test_many_runs_are_paged_and_filtered(started: Any, workspace: Workspace) -> None:
    for n in range(12):
        recall_run(workspace, k=n + 1)
    score = save_run(workspace, "score", {"dataset": "other", "content": "c"}, tidy([]), {"n": 0})
    app = started("runs", run=recall_run(workspace))
    assert "14 of 14 runs" in said(app)
    assert html(app).count("<code>") == 8
    widget(app, "number_input", "Page (of 2)").set_value(2).run()
    assert html(fine(app)).count("<code>") == 6
    widget(app, "selectbox", "Of data set").set_value("other").run()
    assert "1 of 14 runs" in said(fine(app))
    assert score[:8] in html(app)


def test_errors_are_not_made_up(started: Any, workspace: Workspace) -> None:
    recall_run(workspace)
    app = started("runs", section="errors")
    assert "Not made yet" in said(app)
    assert "workbench evaluate toy" in said(app)
    assert not app.get("plotly_chart")


def test_names_that_would_run_are_shown(started: Any, workspace: Workspace) -> None:
    worse = recall_run(workspace, odd=HOSTILE, shift=0.25, prior=IMG)
    better = recall_run(workspace, odd=HOSTILE)
    for section in ("one run", "compare two"):
        app = started("runs", run=better, against=worse, section=section)
        assert "<img" not in html(app) and "&lt;img" in html(app)
        assert "<script" not in html(app)


# ---------------------------------------------------------------- About the data


def test_the_data_and_where_they_come_from_are_told(started: Any, workspace: Workspace) -> None:
    toy(workspace)
    words = said(started("about"))
    assert "CC0 &lt;b&gt;1.0&lt;/b&gt;" in words and "CC0 1.0" in words  # ours, and the sample's
    assert "ab" * 32 in words and "toy.jsonl" in words
    assert str(workspace.root) in words
    assert "No memories have been made yet" in words


def test_the_badge_tells_what_is_so(started: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    import streamlit as st

    settings = {"server.address": "127.0.0.1", "browser.gatherUsageStats": False}
    real = st.get_option
    monkeypatch.setattr(st, "get_option", lambda key: settings.get(key, real(key)))
    app = started("about")
    assert not app.warning and "other machines cannot reach it" in said(app)
    settings.update({"server.address": "0.0.0.0", "browser.gatherUsageStats": True})
    app = started("about")
    assert [one.value[:14] for one in app.warning] == ["It listens on ", "Streamlit’s us"]


def test_what_is_stored_is_counted(workspace: Workspace) -> None:
    assert holdings(workspace) == []
    toy(workspace)
    recall_run(workspace)
    (workspace.root / "mine").mkdir()
    (workspace.root / "mine" / "letter").write_text("abc", encoding="utf-8")
    found = {one.folder: one for one in holdings(workspace)}
    assert list(found) == ["datasets", "runs", "locks", "mine"]
    assert (found["mine"].files, found["mine"].bytes, found["mine"].words) == (1, 3, True)
    # Runs hold answers and verdicts; locks hold nothing of anybody.
    assert found["datasets"].words and found["runs"].words and not found["locks"].words


# ---------------------------------------------------------------- hidden names


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Ana Silva met Bo.", "Person 1 met Person 2."),
        ("ANA’s book; Silva, Ana", "Person 1’s book; Person 1, Person 1"),
        ("Bob and Banana", "Bob and Banana"),
        ("Will will go", "Person 3 will go"),
        ("**Bo** <b>Bo</b> Bo_", "**Person 2** <b>Person 2</b> Person 2_"),
        ("王芳很好", "Person 4很好"),
        ("", ""),
    ],
)
def test_names_are_hidden_the_same_everywhere(text: str, shown: str) -> None:
    from parts import redaction

    assert redaction.masked(text, ("Ana Silva", "Bo", "Will", "王芳")) == shown


def test_a_part_that_two_people_share_is_neither(started: Any) -> None:
    from parts import redaction

    names = ("Ana Silva", "Rui Silva")
    assert redaction.masked("Ana, Rui, Silva", names) == "Person 1, Person 2, Person 3"


def test_what_is_read_in_a_figure_is_hidden(workspace: Workspace) -> None:
    from parts import redaction

    drawn = {
        "data": [{"type": "scatter", "x": [1, 2], "hovertext": ["Bo: yes"], "name": "Bo"}],
        "layout": {"title": {"text": "Bo and Mode"}, "hovermode": "closest"},
    }
    found = redaction.inside(drawn, ("Bo", "Scatter", "Closest", "Mode"))
    assert found["data"][0] == {
        **drawn["data"][0],
        "hovertext": ["Person 1: yes"],
        "name": "Person 1",
    }
    assert found["layout"] == {"title": {"text": "Person 1 and Person 4"}, "hovermode": "closest"}


def test_the_toggle_hides_names_on_other_pages_too(started: Any, workspace: Workspace) -> None:
    toy(workspace)
    recall_run(workspace, shift=0.25, prior="none")
    run = recall_run(workspace)
    app = started("about", dataset="toy", run=run, section="compare two")
    app.toggle[0].set_value(True).run()
    widget(app, "text_input", "Hide these names too").set_value("q3, zzz").run()
    assert "4 names are hidden" in said(fine(app))
    app.session_state["_page_wanted"] = "runs"
    words = said(fine(app.run()))
    assert "What did Person 1 say in q1?" in words and "Ana" not in words
    assert "in Person 3?" in words
    app.session_state["_page_wanted"] = "user"
    app = fine(app.run())
    person = widget(app, "selectbox", "Person")
    assert not [one for one in person.options if "Ana" in one or "Bo" in one]


def test_roles_are_nobodys_names(started: Any, workspace: Workspace) -> None:
    turns = (
        Turn(id="1", session="1", speaker="user", text="The user asked."),
        Turn(id="2", session="1", speaker="assistant", text="The assistant answered."),
    )
    dialogue = Dialogue(id="d", scope="s", turns=turns)
    store.save(workspace, Dataset(name="chat", format="jsonl", dialogues=(dialogue,)))
    app = started("about", dataset="chat")
    app.toggle[0].set_value(True).run()
    assert "0 names are hidden" in said(fine(app))
