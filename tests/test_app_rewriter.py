"""GRPO in the explorer: a trained rewriter as a choice, its run, and the α landscape."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
import pytest

from app_page import fine, html, widget
from small_runs import RECIPE as SHOWN
from tiny_policy import planted, tiny
from workbench import report
from workbench.alpha_report import CEILING, lines_of
from workbench.alpha_table import COLUMNS
from workbench.ask import asking, told
from workbench.datasets import import_file
from workbench.library import open_banks
from workbench.llm import Reply
from workbench.report.asked import findings_of_question
from workbench.runs import save_run, tidy, write_parquet
from workbench.schema import Recipe
from workbench.trained_model import TrainedModel
from workbench.training.learn import train
from workbench.training.options import settings_of
from workbench.view import View, encode_view
from workbench.workspace import Workspace

testing = pytest.importorskip("streamlit.testing.v1")

APPS = Path(__file__).resolve().parent.parent / "apps"
# In five updates it has learnt to say what every evidence holds.
TRL = (
    *("learning_rate=0.02", "lr_scheduler_type=constant", "max_completion_length=3"),
    "per_device_train_batch_size=16",
)
ASK = "Put it into the rewriter"

pytestmark = [
    pytest.mark.timeout(120),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


class Home(NamedTuple):
    workspace: Workspace
    run: str

    @property
    def rewriter(self) -> str:
        return f"trained:{self.run}-f1"


@pytest.fixture(scope="module", autouse=True)
def apps_importable() -> Iterator[None]:
    """As `streamlit run` does it: the script's folder comes first."""
    sys.path.insert(0, str(APPS))
    yield
    sys.path.remove(str(APPS))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """A workspace with the planted rule, and a rewriter that has learnt it."""
    folder = tmp_path_factory.mktemp("rewriter")
    workspace = Workspace(folder / "ws")
    import_file(workspace, planted(folder / "planted.jsonl"))
    given = {"dataset": "planted", "model": str(tiny(folder / "tiny")), "steps": 5, "lora": 0}
    given |= {"recipe": Recipe(prior="none", lam=1.0, k=1), "prompts": 2, "dtype": "float32"}
    one = settings_of("cpu", {**given, "validate_every": 5, "save_every": 5}, None, TRL)
    return Home(workspace, train(workspace, one)["run"])


@pytest.fixture
def started(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Start the explorer on a page of its own, with fields of a view."""

    def start(page: str, *options: str, root: Path = home.workspace.root, **fields: Any) -> Any:
        path = tmp_path / "view.json"
        path.write_bytes(encode_view(View(page=page, **fields)))
        monkeypatch.setenv("WORKBENCH_HOME", str(root))
        monkeypatch.setattr(sys, "argv", ["explorer", "--view", str(path), *options])
        app = testing.AppTest.from_file(str(APPS / "explorer.py"), default_timeout=50)
        return fine(app.run())

    return start


def said(app: Any) -> str:
    """Everything that the page says, without the escapes of Markdown."""
    kinds = ("markdown", "caption", "info", "warning", "subheader", "code")
    words = [one.value for kind in kinds for one in getattr(app, kind)]
    return "\n".join([*words, html(app)]).replace("\\", "")


def firsts(app: Any) -> list[str]:
    """The first memory of each ranking."""
    lists = html(app).split('<ol class="hits">')[1:]
    return [part.partition('<div class="literal">')[2].partition("</div>")[0] for part in lists]


def buttons(app: Any) -> list[str]:
    return [one.label for one in app.button if one.label.startswith(ASK)]


def never(what: str) -> Callable[..., Any]:
    return lambda *_: pytest.fail(what)


def replying(reply: Reply) -> Callable[..., Any]:
    """A model that says one thing."""

    def complete(self: TrainedModel, requests: Any, done: Any) -> list[Reply]:
        done(0, reply)
        return [reply]

    return complete


# ---------------------------------------------------------------- searching with it


def test_without_a_checkpoint_there_is_a_word_and_no_control(started: Any, tmp_path: Path) -> None:
    import_file(Workspace(tmp_path / "new"), planted(tmp_path / "planted.jsonl"))
    app = started("retrieval", root=tmp_path / "new", dataset="planted")
    assert not [one for one in app.selectbox if one.label == "Searched with"]
    assert "workbench train NAME --model FOLDER" in said(app) and buttons(app) == []


def test_a_question_is_put_into_its_words_by_a_button(
    started: Any, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = {"dataset": "planted", "question": "testing/4", "k": 1, "retriever": "lexical"}
    plain = started("retrieval", **at)
    assert "violin" not in "".join(firsts(plain))  # no word of the question is in the evidence
    app = fine(widget(plain, "selectbox", "Searched with").set_value(home.rewriter).run())
    assert firsts(app) == firsts(plain) and "searched with:" not in said(app)
    assert "as asked is ranked" in said(app) and "without a rewriter" in said(app)
    assert app.query_params["rewriter"] == home.rewriter
    app = fine(app.button(key="_ask_rewriter").click().run())
    assert firsts(app) == ["violin in Vienna"] * 2
    assert "searched with:</span> violin violin violin<" in html(app) and buttons(app) == []
    assert "Both searched with “violin violin violin”" in html(app)
    # Whatever is moved now, nothing of the model is opened again.
    with monkeypatch.context() as closed:
        closed.setattr("views.wording.open_checkpoint", never("opened"))
        closed.setattr("views.wording._known", never("looked up"))
        closed.setattr(TrainedModel, "complete", never("asked"))
        app = fine(widget(app, "slider", "K").set_value(2).run())
    assert firsts(app) == ["violin in Vienna"] * 2
    # Another question is another matter.
    app = fine(widget(app, "radio", "Questions").set_value("learning/0").run())
    assert len(buttons(app)) == 1 and "searched with:" not in html(app)


def test_what_was_asked_before_is_used_at_once_and_read_only_asks_nothing(
    started: Any, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    at = {"dataset": "planted", "rewriter": home.rewriter, "k": 1}
    # What was cut by the length limit is used, and not kept: this is a whole one.
    monkeypatch.setattr(TrainedModel, "complete", replying(Reply(text="violin")))
    app = started("retrieval", question="choosing/1", **at)
    app = fine(app.button(key="_ask_rewriter").click().run())
    monkeypatch.setattr(TrainedModel, "complete", never("asked"))
    app = started("retrieval", question="choosing/1", **at)
    assert firsts(app) == ["violin in Vienna"] * 2 and buttons(app) == []
    app = started("retrieval", "--read-only", question="choosing/2", **at)
    assert "no rewriter is asked here" in said(app) and buttons(app) == []
    assert "searched with:" not in html(app)


def test_an_address_names_no_folder(started: Any, home: Home) -> None:
    folder = home.workspace.folder("rewriters", f"{home.run}-f1")
    app = started("retrieval", dataset="planted", rewriter=f"trained:{folder}")
    assert "the question as asked is used" in said(app)
    assert widget(app, "selectbox", "Searched with").value == ""
    assert "rewriter" not in app.query_params


@pytest.mark.parametrize(
    ("question", "reply", "word", "again"),
    [
        ("testing/0", Reply(text="…"), "empty", 0),
        ("testing/1", Reply(failure="timeout"), "timeout", 1),
    ],
)
def test_a_failure_is_named_and_the_question_ranked(
    started: Any,
    home: Home,
    monkeypatch: pytest.MonkeyPatch,
    question: str,
    reply: Reply,
    word: str,
    again: int,
) -> None:
    """One that may get through later can be asked again."""
    monkeypatch.setattr(TrainedModel, "complete", replying(reply))
    at = {"dataset": "planted", "question": question, "k": 1}
    plain = firsts(started("retrieval", **at))
    app = started("retrieval", rewriter=f"trained:{home.run}-recall", **at)
    app = fine(app.button(key="_ask_rewriter").click().run())
    assert f"gave no words: {word}. The question as asked is ranked." in html(app)
    assert firsts(app) == plain and "searched with:" not in html(app)
    assert len(buttons(fine(app.run()))) == again


def test_a_base_model_that_is_gone_is_said(
    started: Any, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_TRAINED_BASE", str(tiny(tmp_path / "none", None)))
    name = next(
        value
        for value in widget(
            started("retrieval", dataset="planted"), "selectbox", "Searched"
        ).options
        if value.startswith("untrained")
    )
    app = started("retrieval", dataset="planted", question="testing/0")
    app = fine(widget(app, "selectbox", "Searched with").select(name).run())
    assert "is not the model that" in said(app) and "as asked is ranked" in said(app)
    assert len(firsts(app)) == 2


def test_the_model_of_the_command_line_can_word_it_too(started: Any, tmp_path: Path) -> None:
    script = tmp_path / "said.jsonl"
    script.write_text('{"reply": {"query": "bread in Lima"}}\n', encoding="utf-8")
    at = {"dataset": "planted", "question": "testing/0", "k": 1, "rewriter": "prompted"}
    app = started("retrieval", "--llm", f"scripted:{script}", **at)
    assert "characters go to said.jsonl on this machine" in said(app)
    app = fine(app.button(key="_ask_rewriter").click().run())
    assert firsts(app) == ["bread in Lima"] * 2
    without = started("retrieval", **at)
    assert "rewriter = 'prompted' is nothing that is here" in said(without)


def test_a_figure_of_other_words_is_made_again_with_them(home: Home, tmp_path: Path) -> None:
    banks = open_banks(home.workspace, "planted")
    one = asking(banks, "testing/0", Recipe(prior="none", lam=1.0, k=1), searched="violin")
    found = findings_of_question(
        told(one) | {"searched_with": "violin", "rewriter": "trained"}, "planted"
    )
    assert "Searched with: violin" in found.lead and found.passport.rewriter == "trained"
    file = tmp_path / "asked.json"
    file.write_text(report.json_text(found), encoding="utf-8")
    [again] = report.reproduce(home.workspace, file)
    assert again.identical
    as_asked = findings_of_question(told(asking(banks, "testing/0", one.recipe)), "planted")
    assert as_asked.passport.recipe != found.passport.recipe


# ---------------------------------------------------------------- runs


def test_a_training_shows_its_curves_and_leads_to_searching_with_it(
    started: Any, home: Home
) -> None:
    app = started("runs", run=home.run)
    shown = said(app)
    assert "Done after 5 steps" in shown and "trained on 6 questions, chosen on 6" in shown
    # Before, no rewrite had the word; at step 5 all have it.
    assert "recall 0.000 [0.000, 0.459] before training, 1.000 [0.541, 1.000]" in shown
    assert "their figures flatter" in shown and len(app.get("plotly_chart")) == 1
    assert f"workbench recall planted --rewriter {home.rewriter}" in shown
    assert str(home.workspace.root) not in shown
    app = fine(app.button(key="_open_rewriter").click().run())
    assert [one.value for one in app.title] == ["Retrieval"]
    assert app.query_params["rewriter"] == home.rewriter and app.query_params["k"] == "1"


def test_a_training_s_report_holds_no_path(home: Home) -> None:
    found = report.findings(home.workspace, home.run)
    names = found.tables[1].frame["rewriter"].to_list()
    assert names == [home.rewriter, home.rewriter.replace("-f1", "-recall")]
    page = report.page(found)
    assert str(home.workspace.root) not in page and home.rewriter in page
    first, last = found.tables[0].frame.rows(named=True)
    assert (first["step"], first["recall"], first["f1"]) == (0, 0.0, 0.0)
    assert (last["step"], last["recall"], last["f1"], last["not_answered"]) == (5, 1.0, 1.0, 0)


def landscape(workspace: Workspace) -> str:
    """A landscape by hand: another wording of q1 finds its evidence and spoils the answer; one of
    q2 does the reverse."""
    rows = [
        ("q1", 0, "Where is it?", 0.0, 1.0),
        ("q1", 1, "It is in Oslo.", 1.0, 0.0),
        ("q2", 0, "Who came?", 1.0, 0.0),
        ("q2", 1, "Ana came.", 0.0, 1.0),
    ]
    pool = pl.DataFrame(
        [(q, "s", "c", n, text, found, f1, found, f1, "") for q, n, text, found, f1 in rows],
        schema=COLUMNS,
        orient="row",
    )
    ends = {"recall": [[None, None]] * 3, "f1": [[None, None]] * 3}
    both = {"recall": 0.5, "f1": 0.5, "interval": {"recall": [None, None], "f1": [None, None]}}
    told = {
        **{"is": CEILING, "made_by": "rewrites by hand", "notes": [], "level": 0.95},
        **{"alphas": [0.0, 0.5, 1.0], "recall": [1.0, 0.5, 0.0], "f1": [0.0, 0.5, 1.0]},
        **{"interval": ends, "identity": both, "mean": both, "oracle": both},
    }
    frame = tidy(
        [{"question": "q1", "scope": "s", "category": "c", "metric": "f1_squad", "value": 1.0}]
    )
    identity = {"dataset": "toy", "content": "c0ffee", "seed": 1, "recipe": SHOWN}
    files = {
        "pool.parquet": lambda path: write_parquet(pool, path),
        "landscape.parquet": lambda path: write_parquet(lines_of(told, 5), path),
    }
    return save_run(workspace, "sweep-alpha", identity, frame, {"n": 2, "report": told}, files)


def test_the_slider_of_a_landscape_says_what_each_alpha_would_choose(
    started: Any, workspace: Workspace
) -> None:
    run = landscape(workspace)
    app = started("runs", root=workspace.root, run=run)
    assert "selection by gold: a ceiling" in said(app)
    # Nearly all weight on retrieval: q1 takes the other wording, q2 stays.
    assert "α = 0.2: 50% of 2 questions take another wording; recall 1.000" in said(app)
    assert "It is in Oslo." in html(app) and "Ana came." not in html(app)
    app = fine(widget(app, "slider", "α").set_value(1.0).run())
    assert "α = 1: 50% of 2 questions take another wording; recall 0.000" in said(app)
    assert "Ana came." in html(app) and "It is in Oslo." not in html(app)
    # Both weigh alike: nothing is better than the question, which stays.
    app = fine(widget(app, "slider", "α").set_value(0.5).run())
    assert "α = 0.5: 0% of 2 questions" in said(app) and "Ana came." not in html(app)
    assert len(app.get("plotly_chart")) == 1
    assert "landscape" in report.findings(workspace, run).figures


def test_a_training_for_every_alpha_is_shown_with_its_own_caveat(
    started: Any, workspace: Workspace
) -> None:
    lines = pl.DataFrame(
        {"series": ["F1, trained"] * 2, "alpha": [0.0, 1.0], "mean": [0.25, 0.5], "lo": [0.1, 0.2]}
    ).with_columns(hi=pl.col("mean") + 0.2)
    cell = {"status": "done", "why": None, "steps": 5}
    cells = [
        {**cell, "alpha": alpha, "run": run, "rewriter": {"f1": f"trained:/home/ana/{run}-f1"}}
        for alpha, run in ((0.0, "c0ffee"), (1.0, "f00d"))
    ]
    pays = {"retrieval": "recall", "answer": "bleu1"}
    told = {"is": "all flatters", "n": 6, "split": "validation", "answerer": "extractive"}
    told |= {"pays": pays, "trainings": cells}
    frame = tidy([{"question": "q", "scope": "s", "category": "c", "metric": "m", "value": 0.5}])
    identity = {"dataset": "toy", "content": "c0ffee", "seed": 1, "recipe": SHOWN, "alpha": None}
    files = {"landscape.parquet": lambda path: write_parquet(lines, path)}
    facts = {"n": 6, "report": told}
    run = save_run(workspace, "sweep-alpha-train", identity, frame, facts, files)
    app = started("runs", root=workspace.root, run=run)
    assert "Beware: all flatters." in said(app) and "/home/ana" not in said(app)
    assert "trained:f00d-f1" in html(app) and len(app.get("plotly_chart")) == 1
    found = report.findings(workspace, run)
    assert found.tables[1].frame["rewriter"].to_list() == ["trained:c0ffee-f1", "trained:f00d-f1"]
