"""The explorer's logic, by AppTest: state, addresses, lists, paging, read-only, speed."""

from __future__ import annotations

import os
import pickle
import re
import resource
import shutil
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from app_page import fine, html, widget
from workbench import effects, report
from workbench.ask import ask
from workbench.cells import Study
from workbench.datasets import store
from workbench.datasets.report import Dataset
from workbench.errors import WorkspaceError
from workbench.library import open_banks
from workbench.report.users import findings_of_users
from workbench.schema import Dialogue, Question, Turn
from workbench.usable import embedders_held, usable
from workbench.view import View, encode_view
from workbench.workspace import Workspace

PROJECT = Path(__file__).resolve().parent.parent
APPS = PROJECT / "apps"
IMG = "<img src=x onerror=alert(1)>"

testing = pytest.importorskip("streamlit.testing.v1")
SECOND = 1.1  # nobody goes back sooner

pytestmark = [
    pytest.mark.timeout(180),  # the first of them builds the memories, on a busy machine
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


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with the sample's memories built."""
    folder = tmp_path_factory.mktemp("explorer") / "workspace"
    open_banks(Workspace(folder), "sample")
    return folder


@pytest.fixture
def started(home: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Start the explorer on a workspace, with fields of a view in the address."""

    def start(
        page: str = "retrieval", folder: Path = home, options: tuple[str, ...] = (), **view: object
    ) -> Any:
        monkeypatch.setenv("WORKBENCH_HOME", str(folder))
        monkeypatch.setattr(sys, "argv", ["explorer", *options])
        app = testing.AppTest.from_file(str(APPS / "explorer.py"), default_timeout=50)
        for field, value in view.items():
            app.query_params[field] = str(value)
        app.run()
        return app if page == "retrieval" else turned(app, page)

    return start


def turned(app: Any, page: str) -> Any:
    """The same session on another page, as `state.go` opens it."""
    app.session_state["_page_wanted"] = page
    return app.run()


# ---------------------------------------------------------------- the first look


def test_the_sample_is_shown_ranked_both_ways_from_the_start(started: Any) -> None:
    app = fine(started())
    assert [title.value for title in app.title] == ["Retrieval"]
    shown = html(app)
    assert shown.count('class="hits"') == 2
    assert shown.count('<li class="hit') == 20  # K = 10, twice
    assert "profile" in shown and "question 0." in shown
    assert len(app.get("plotly_chart")) == 1


def test_the_effects_lead_to_questions_that_it_helps_and_hurts(started: Any) -> None:
    app = fine(started(effect="helped"))
    assert "The profile helps here" in html(app)
    app = fine(started(effect="hurt"))
    assert "The profile hurts here" in html(app)


# ---------------------------------------------------------------- state and addresses


def test_a_setting_survives_a_change_of_page(started: Any) -> None:
    app = fine(started())
    widget(app, "slider", "K").set_value(17).run()
    widget(app, "selectbox", "Person").set_value(("c1", "Tomasz")).run()
    widget(app, "radio", "Questions").set_value("c1/3").run()
    chosen = dict(app.query_params)
    assert chosen["k"] == "17"
    app = fine(turned(app, "user"))
    assert [title.value for title in app.title] == ["User"]
    widget(app, "segmented_control", "Show").set_value("prior").run()
    assert any("K \\= 17" in one.value or "K = 17" in one.value for one in app.caption)
    app = fine(turned(app, "retrieval"))
    assert widget(app, "slider", "K").value == 17
    assert app.query_params["question"] == chosen["question"]
    assert app.query_params["user"] == chosen["user"]


def test_an_address_opens_what_it_says(started: Any) -> None:
    app = fine(started(k=17, lam=0.35, user="Tomasz", question="c1/19"))
    assert widget(app, "slider", "K").value == 17
    assert widget(app, "slider", "λ").value == 0.35
    assert "When did I first run 10 km without stopping?" in html(app)
    assert app.query_params["scope"] == "c1"  # found by the name


@pytest.mark.parametrize(
    ("field", "value", "word"),
    [
        ("lam", "soon", "no number"),
        ("lam", "7", "not between"),
        ("k", "nan", "no number"),
        ("prior", "centroid:", "nothing that is here"),
        ("retriever", IMG, "nothing that is here"),
        ("memories", "observations", "brings no observations"),
        ("dataset", "../../etc", "nothing that is here"),
        ("user", "Nobody", "nothing that is here"),
        ("category", "x" * 5000, "too long"),
        ("nonsense", "1", "nothing that a view has"),
        ("turn", "nowhere", "nothing that is here"),
        ("answerer", "oracle", "nothing that is here"),
    ],
)
def test_a_bad_address_falls_back_with_a_word(
    started: Any, field: str, value: str, word: str
) -> None:
    app = fine(started(**{field: value}))
    said = " ".join(one.value.replace("\\", "") for one in app.warning)
    assert word in said
    assert len(app.warning) == 1
    assert len(said) < 400
    assert '<li class="hit' in html(app)


@pytest.mark.parametrize("options", [(), ("--read-only",)])
@pytest.mark.parametrize("named", ["attacker/model", "FOLDER", "bge"])
def test_no_address_fetches_a_model_or_opens_a_folder(
    started: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    options: tuple[str, ...],
    named: str,
) -> None:
    asked: list[str] = []

    def snapshot_download(hub: str, local_files_only: bool = False, **_: Any) -> str:
        asked.extend([] if local_files_only else [hub])
        raise OSError("no network here")

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot_download)
    (tmp_path / "config.json").write_text("{}")
    app = started(options=options, embedder=str(tmp_path) if named == "FOLDER" else named)
    assert asked == []
    assert not app.exception
    if named == "bge":  # a name, whose weights are not here: the page says what there is to do
        assert "not on this machine" in app.error[0].value.replace("\\", "")
        return
    assert "nothing that is here" in app.warning[0].value
    assert '<li class="hit' in html(fine(app))
    assert "embedder" not in app.query_params


def test_an_embedder_of_the_workspace_s_own_banks_is_usable(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    workspace.publish("banks", "one", {}, {"embedder": "ours/model"})
    view, said = usable(View(embedder="ours/model"), ["sample"], embedders_held(workspace))
    assert (view.embedder, said) == ("ours/model", [])
    view, said = usable(View(embedder="theirs/model"), ["sample"], embedders_held(workspace))
    assert view.embedder == "minilm" and len(said) == 1
    assert usable(View(embedder="minilm+bf16"), ["sample"])[1] == []
    assert usable(View(embedder="minilm+theirs"), ["sample"])[0].embedder == "minilm"


def test_a_bad_section_of_an_address_is_said_and_another_page_s_is_not(started: Any) -> None:
    app = fine(started("user", user="Nadia", section="nowhere"))
    assert not app.warning  # it was Retrieval's address
    app.query_params["section"] = "nowhere"
    app.run()
    said = [one.value.replace("\\", "") for one in fine(app).warning]
    assert said == ["In the address: section = 'nowhere' is nothing that is here; profile is used"]
    assert not app.run().warning


def test_filters_of_the_user_page_survive_a_change_of_page(started: Any) -> None:
    app = fine(started("user", user="Nadia", section="memories"))
    widget(app, "selectbox", "Layer").set_value("episodic").run()
    widget(app, "selectbox", "Whose").set_value("everybody").run()
    widget(app, "text_input", "Search the memories").set_value("a").run()
    widget(app, "number_input", "Page (of").set_value(2).run()
    app = fine(turned(turned(app, "about"), "user"))
    assert widget(app, "selectbox", "Layer").value == "episodic"
    assert widget(app, "selectbox", "Whose").value == "everybody"
    assert widget(app, "text_input", "Search the memories").value == "a"
    assert widget(app, "number_input", "Page (of").value == 2


@pytest.mark.parametrize("section", ["map", "prior"])
def test_choices_of_the_user_page_survive_a_change_of_page(started: Any, section: str) -> None:
    app = fine(started("user", user="Nadia", section=section, lam=0.3))
    label = {"map": "Nearest to", "prior": "Questions that change"}[section]
    if section == "map":  # her own memories
        app.toggle[0].set_value(False).run()
    box = widget(app, "selectbox", label)
    chosen = box.options[1]
    box.select_index(1).run()
    held = widget(app, "selectbox", label).value
    app = fine(turned(turned(app, "about"), "user"))
    assert chosen and widget(app, "selectbox", label).value == held
    assert held is not None
    assert [one.value for one in app.toggle] == ([False] if section == "map" else [])


def test_two_sessions_do_not_disturb_each_other(started: Any) -> None:
    one, other = started(), started()
    widget(one, "slider", "K").set_value(3).run()
    widget(other, "slider", "K").set_value(5).run()
    one.run()
    assert html(one).count('<li class="hit') == 6
    assert html(other).count('<li class="hit') == 10


def test_a_click_is_newer_than_the_address_that_the_browser_still_shows(started: Any) -> None:
    app = fine(started(k=5))
    before = dict(app.query_params)
    widget(app, "slider", "K").set_value(6).run()
    app.query_params = before  # the browser has not heard of k = 6
    widget(app, "slider", "K").set_value(7).run()
    assert app.query_params["k"] == "7"
    app.query_params = before  # it asks again at once, having heard of nothing yet
    app.run()
    assert widget(app, "slider", "K").value == 7
    time.sleep(SECOND)
    app.query_params = before  # its back button, with nothing clicked
    app.run()
    assert widget(app, "slider", "K").value == 5


def test_a_click_outlives_a_run_that_did_not_reach_its_end(
    started: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next request may interrupt the run that a click began, and bring the old address."""
    app = fine(started(k=5))
    before = dict(app.query_params)
    with monkeypatch.context() as patched:
        patched.setattr("parts.state.end", lambda page: None)
        widget(app, "slider", "K").set_value(6).run()
    app.query_params = {**before, "k": "9"}  # of some moment before
    app.run()
    assert widget(app, "slider", "K").value == 6
    assert app.query_params["k"] == "6"


def test_a_saved_view_opens_the_same_state(started: Any, tmp_path: Path) -> None:
    view = View(page="user", k=17, lam=0.4, scope="c1", user="Tomasz", section="dialogue")
    path = tmp_path / "view.json"
    path.write_bytes(encode_view(view))
    app = fine(started(options=("--view", str(path))))
    assert [title.value for title in app.title] == ["User"]
    assert widget(app, "selectbox", "Person").value == ("c1", "Tomasz")
    assert app.query_params["k"] == "17"


def test_an_uploaded_view_is_opened_and_a_broken_one_said(started: Any) -> None:
    app = fine(started(k=5))
    content = encode_view(View(page="user", k=17, scope="c1", user="Tomasz", section="dialogue"))
    app.file_uploader[0].set_value(("view.json", content, "application/json")).run()
    assert [title.value for title in fine(app).title] == ["User"]
    assert dict(app.query_params)["k"] == "17"
    app.file_uploader[0].set_value((f"{IMG}.json", b"[1", "application/json")).run()
    assert any("no view can be read" in one.value for one in fine(app).warning)
    assert dict(app.query_params)["k"] == "17"
    strange = b'{"k": "many", "prior": "profile", "lam": "0.4"}'
    app.file_uploader[0].set_value(("view.json", strange, "application/json")).run()
    assert any("no number" in one.value for one in fine(app).warning)
    assert dict(app.query_params)["lam"] == "0.4"


def test_free_text_is_asked_as_the_person_chosen(started: Any) -> None:
    app = fine(started())
    widget(app, "text_input", "Ask your own").set_value("Where is my spare key?").run()
    assert any("Choose a person" in one.value for one in app.info)
    widget(app, "selectbox", "Person").set_value(("c1", "Nadia")).run()
    widget(app, "text_input", "Ask your own").set_value("Where is my spare key?").run()
    assert "Where is my spare key?" in html(fine(app))
    assert '<li class="hit' in html(app)


def test_answers_stand_with_each_ranking_when_switched_on(started: Any) -> None:
    app = fine(started(question="c1/0", user="Nadia"))
    assert 'class="answer"' not in html(app)
    who = widget(app, "segmented_control", "Answer the question")
    who.set_value("extractive").run()
    assert html(fine(app)).count('class="answer"') == 2
    assert app.query_params["answerer"] == "extractive"


# ---------------------------------------------------------------- the list of questions


def test_filters_and_pages_of_the_list() -> None:
    from views import questions

    dataset = Dataset(
        name="d",
        format="jsonl",
        questions=tuple(
            Question(
                id=f"q{n}",
                scope="s" if n % 2 else "t",
                text=f"Is it 100% {'*this*' if n == 3 else 'that'}?",
                category="odd" if n % 2 else "even",
                people=("Ana",) if n % 4 else ("Ana", "Bo"),
            )
            for n in range(20)
        ),
    )
    frame = questions.table_of(dataset)
    assert len(questions.filtered(frame, View())) == 20
    assert len(questions.filtered(frame, View(scope="s", user="Ana"))) == 10
    assert questions.filtered(frame, View(search="*THIS*"))["question"].to_list() == ["q3"]
    assert len(questions.filtered(frame, View(search="(", category="odd"))) == 0
    assert len(questions.filtered(frame, View(scope="t", user="Bo"))) == 5
    rows, page, pages = questions.page_of(frame, 99)
    assert (page, pages, rows["question"].to_list()) == (2, 3, ["q16", "q17", "q18", "q19"])
    assert questions.page_of(frame.clear(), 4)[1:] == (0, 1)


def test_no_two_lines_of_the_list_are_alike() -> None:
    from views import questions

    asked = tuple(Question(id=f"q{n}", scope="s", text="Why?", people=("Ana",)) for n in range(3))
    frame = questions.table_of(Dataset(name="d", format="jsonl", questions=asked))
    assert sorted(set(questions.labels(frame).values())) == [
        "Ana: Why?",
        "Ana: Why? (q1)",
        "Ana: Why? (q2)",
    ]


# ---------------------------------------------------------------- hostile data, much data

# Elements whose words Streamlit shows as they are; html is looked at by itself.
AS_TEXT = ("Html", "Selectbox", "TextInput", "Code", "PlotlyChart", "Arrow", "TextArea")


def hostile(folder: Path) -> Workspace:
    """A dataset whose every text would run."""
    turns = tuple(
        Turn(
            id=f"D1:{n}", session="1", speaker=IMG, text=f"{IMG} **{n}** $x$ `rm` [a](javascript:b)"
        )
        for n in range(1, 4)
    )
    dialogue = Dialogue(id="d", scope="s", title=IMG, turns=turns)
    question = Question(id="q<b>", scope="s", text=f"# {IMG} [a](javascript:b)?", people=(IMG,))
    workspace = Workspace(folder)
    store.save(
        workspace,
        Dataset(name="hostile", format="jsonl", dialogues=(dialogue,), questions=(question,)),
    )
    return workspace


def test_text_that_would_run_is_shown(started: Any, tmp_path: Path) -> None:
    hostile(tmp_path / "w")
    for section in ("", "dialogue", "memories", "profile", "map"):
        app = started(
            "user" if section else "retrieval",
            tmp_path / "w",
            dataset="hostile",
            **({"section": section} if section else {}),
        )
        shown = html(fine(app))
        assert "<img" not in shown and "javascript:b)</a" not in shown
        read = [one.proto for one in app.main if hasattr(one, "proto")]
        assert len(read) > 10
        for one in (proto for proto in read if type(proto).__name__ not in AS_TEXT):
            assert not re.search(r"(?<!\\)<img", str(one).replace("\\\\", "\\")), one


def long_history(folder: Path, turns: int) -> Workspace:
    """One person's history of so many turns, one of them of five megabytes."""
    said = [
        Turn(id=f"{n}", session=f"{n // 500}", speaker="Ana" if n % 2 else "Bo", text=f"Turn {n}.")
        for n in range(turns)
    ]
    said[3] = Turn(id="3", session="0", speaker="Ana", text="long " * 1_000_000)
    workspace = Workspace(folder)
    dialogue = Dialogue(id="d", scope="s", turns=tuple(said))
    store.save(workspace, Dataset(name="long", format="jsonl", dialogues=(dialogue,)))
    return workspace


def test_300_000_turns_are_read_page_by_page(started: Any, tmp_path: Path) -> None:
    """On a busy two-core machine: the first page within 10 s, each further one within 2 s and in
    less than a gigabyte; what reaches the browser is small."""
    long_history(tmp_path / "w", 300_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.perf_counter()
    app = fine(started("user", tmp_path / "w", dataset="long", section="dialogue"))
    assert time.perf_counter() - begun < 10
    assert any("turns 1-12 of 300,000" in one.value for one in app.caption)
    begun = time.perf_counter()
    widget(app, "button", "Later turns").click().run()
    assert time.perf_counter() - begun < 2
    assert any("turns 13-24 of 300,000" in one.value for one in fine(app).caption)
    widget(app, "selectbox", "Session").set_value("599").run()
    assert "Turn 299500." in html(fine(app))
    assert len(html(app)) < 100_000
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1_000_000


def test_a_message_of_five_megabytes_is_cut_and_shown_in_parts(
    started: Any, tmp_path: Path
) -> None:
    long_history(tmp_path / "w", 40)
    app = fine(started("user", tmp_path / "w", dataset="long", section="dialogue"))
    assert len(html(app)) < 100_000
    widget(app, "button", "Show all").click().run()
    assert 20_000 < len(html(fine(app))) < 100_000
    assert widget(app, "number_input", "Part").max == 250


def test_much_that_is_not_remembered_yet_gets_the_command(started: Any, tmp_path: Path) -> None:
    long_history(tmp_path / "w", 5_000)
    app = fine(started(folder=tmp_path / "w", dataset="long"))
    assert any("workbench build long" in one.value for one in app.code)
    assert not list((tmp_path / "w").glob("banks/*"))


# ---------------------------------------------------------------- read-only


def snapshot(folder: Path) -> dict[str, tuple[int, int]]:
    """Size and time of change of everything below a folder."""
    return {
        str(path.relative_to(folder)): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in sorted(folder.rglob("*"))
    }


def test_a_read_only_session_leaves_the_workspace_as_it_was(
    started: Any, home: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(home, folder)  # other sessions of this process write into the original
    before = snapshot(folder)
    view = {"prior": "facts", "lam": 0.45, "question": "c2/3"}
    app = fine(started(folder=folder, options=("--read-only",), **view))
    assert any("Read-only" in one.value for one in app.caption)
    assert '<li class="hit' in html(app)
    widget(app, "slider", "λ").set_value(0.3).run()
    widget(app, "segmented_control", "Answer the question").set_value("extractive").run()
    app = fine(turned(app, "user"))
    widget(app, "segmented_control", "Show").set_value("prior").run()
    fine(app)
    assert snapshot(folder) == before


def test_a_read_only_session_without_memories_says_what_to_run(
    started: Any, tmp_path: Path
) -> None:
    app = started(folder=tmp_path / "nothing", options=("--read-only",))
    assert any("workbench build sample" in one.value for one in fine(app).code)
    assert not (tmp_path / "nothing").exists()


# ---------------------------------------------------------------- the library beneath


def test_a_read_only_workspace_refuses_every_writer(home: Path, tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "new", read_only=True)
    with pytest.raises(WorkspaceError, match="open for reading only"):
        workspace.publish("runs", "x", {}, {})
    with pytest.raises(WorkspaceError, match="open for reading only"), workspace.lock("run-x"):
        pass
    with pytest.raises(WorkspaceError, match="workbench build sample"):
        open_banks(workspace, "sample")
    assert store.load(workspace, "sample").questions
    assert not (tmp_path / "new").exists()
    assert len(open_banks(Workspace(home, read_only=True), "sample").episodic) == 3


def test_sessions_in_threads_share_one_bank_set(home: Path) -> None:
    banks = open_banks(Workspace(home), "sample")
    asked = [f"Where was I on day {n}?" for n in range(8)]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda text: banks.queries([text])[0], asked))
    assert [vector.shape for vector in found] == [(384,)] * 8
    assert banks.shelf("c1") is banks.shelf("c1")
    assert pickle.loads(pickle.dumps(banks)).shelf("c1").scope == "c1"


def test_the_grid_says_what_single_settings_say(home: Path) -> None:
    study = Study(Workspace(home), open_banks(Workspace(home), "sample"))
    recipe = View(lam=0.35).recipe()
    alone = effects.effects(study, recipe, 5)
    assert alone.equals(effects.ranked(study, recipe).at(0.35, 5))
    places = {one["question"]: one for one in alone.iter_rows(named=True)}
    for question in ("c1/0", "c1/28", "c2/3"):
        told = ask(study.banks, question, recipe)
        found = [place["with"] for place in told["places"]]
        assert places[question]["rank_having"] == min(found)
        assert places[question]["having"] == sum(rank <= 5 for rank in found) / len(found)


def test_people_are_summed_up_the_most_harmed_first() -> None:
    frame = pl.DataFrame(
        {
            "scope": ["s"] * 4,
            "user": ["Ana", "Ana", "Bo", "Bo"],
            "change": [0.5, 0.0, -1.0, -0.5],
            "effect": ["helped", "unchanged", "hurt", "hurt"],
        }
    )
    rows = effects.by_user(frame).to_dicts()
    assert [(row["user"], row["mean"], row["n"], row["hurt"]) for row in rows] == [
        ("Bo", -0.75, 2, 2),
        ("Ana", 0.25, 2, 0),
    ]
    assert rows[0]["lo"] <= -0.75 <= rows[0]["hi"]


def test_the_figure_of_people_draws_each_and_says_how_many(home: Path) -> None:
    study = Study(Workspace(home), open_banks(Workspace(home), "sample"))
    recipe = View().recipe()
    frame = effects.effects(study, recipe, 10)
    found = findings_of_users(study, frame, recipe, ("c1", "Nadia"))
    figure = found.figures["users"]
    people = effects.by_user(frame)
    assert list(figure.data[0].x) == people["mean"].to_list()
    assert f"{len(people)} people" in figure.layout.meta["caption"]
    assert "<b>Nadia (c1)</b>" in figure.layout.yaxis.ticktext
    assert report.latex_text(found).count(r"\begin{tabular}") == 2


# ---------------------------------------------------------------- speed


def test_moving_lambda_is_answered_at_once(started: Any) -> None:
    """The script's own seconds, of a busy machine: the median of ten below 0.3 s of its time."""
    app = fine(started(user="Nadia", question="c1/0"))
    taken = []
    for step in range(10):
        begun = time.process_time()
        widget(app, "slider", "λ").set_value(round(0.3 + 0.05 * step, 2)).run()
        taken.append(time.process_time() - begun)
    fine(app)
    assert sorted(taken)[len(taken) // 2] < 0.3, os.getloadavg()
