"""The notebooks on λ and α and on evidence recall, in every way that they are run."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from notebooks import NOTEBOOKS, drawn, ran, warm
from shell import write_rows
from small_runs import HOSTILE
from test_figures import strings
from workbench import Recipe, Workspace, open_banks
from workbench.cells import Study
from workbench.datasets import import_file
from workbench.effects import effects, flipped
from workbench.recall import recall
from workbench.runs import save_run, tidy
from workbench.workspace import Content

SWEEPS, RECALL = NOTEBOOKS / "lambda_alpha.py", NOTEBOOKS / "evidence_recall.py"
# The first test may have to build the sample, on a busy machine.
pytestmark = pytest.mark.timeout(150)

BOTH = pytest.mark.parametrize("path", [SWEEPS, RECALL], ids=lambda path: path.stem)

FIGURES = {
    SWEEPS: {
        *("surface_figure", "flips_figure", "lambda_figure", "effect_figure"),
        *("control_lines_figure", "controls_figure"),
    },
    RECALL: {
        *("curve_figure", "difference_figure", "retriever_figure", "prior_figure"),
        *("category_figure", "by_category_figure", "found_figure", "level_figure"),
        *("audit_figure", "layers_figure"),
    },
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with the sample, built and asked once, which this module writes into."""
    copy = tmp_path_factory.mktemp("sweeps") / "home"
    # By another process: one that reads an SQLite file itself gives up its own locks on it.
    subprocess.run(["cp", "-r", warm(tmp_path_factory.getbasetemp()), copy], check=True)
    recall(open_banks(Workspace(copy), "sample"), Recipe(), [5])
    return copy


def test_a_chosen_cell_of_the_map_shows_the_questions_that_flip_there(home: Path) -> None:
    held = ran(SWEEPS, home, lam=0.5, k=5)
    shown = drawn(held)
    assert shown.keys() == FIGURES[SWEEPS]
    banks = open_banks(Workspace(home), "sample")
    expected = flipped(effects(Study(Workspace(home), banks), Recipe(lam=0.5), 5))
    assert len(expected) > 5
    assert held["flips"].drop("text").equals(expected.drop("text"))
    assert sum(len(trace.x) for trace in shown["flips_figure"].data[1:]) == len(expected)
    assert "recall@5" in shown["lambda_figure"].layout.title.text
    # The bars test at the λ chosen; the lines show every λ.
    single = recall(banks, Recipe(lam=0.5), [5])["recall"]["5"]
    assert shown["controls_figure"].data[0].x[0] == pytest.approx(single)
    profile = shown["control_lines_figure"].data[1]
    assert profile.y[list(profile.x).index(0.5)] == pytest.approx(single)


def test_at_lambda_1_nothing_flips_and_the_controls_take_a_lambda_with_a_prior(home: Path) -> None:
    held = ran(SWEEPS, home, lam=1.0, k=10)
    assert not len(held["flips"])
    assert drawn(held).keys() == FIGURES[SWEEPS]
    assert [len(trace.x) for trace in held["flips_figure"].data[1:]] == [0, 0]
    assert 0 <= held["control_lam"] < 1


def test_a_prior_without_controls_says_so_and_shows_the_rest(home: Path) -> None:
    held = ran(SWEEPS, home, prior="centroid:turns")
    assert drawn(held).keys() == FIGURES[SWEEPS] - {"controls_figure", "control_lines_figure"}


@pytest.fixture
def landscape(home: Path) -> Iterator[None]:
    """A run of an α landscape, by hand, for as long as a test takes."""
    bounds = {"lo": [0.2, 0.4], "hi": [0.4, 0.6]}
    told = pl.DataFrame({"series": "recall", "mean": [0.3, 0.5], **bounds})
    frame = tidy([{"question": "q", "scope": "s", "category": "c", "metric": "m", "value": 0.5}])
    workspace = Workspace(home)
    table = told.with_columns(alpha=pl.Series([0.0, 1.0]))
    files: dict[str, Content] = {"landscape.parquet": table.write_parquet}
    identity = {"dataset": "sample", "seed": 0}
    run = save_run(workspace, "sweep-alpha", identity, frame, {}, files)
    yield
    shutil.rmtree(workspace.folder("runs", run))


@pytest.mark.usefixtures("landscape")
def test_a_landscape_has_its_place(home: Path) -> None:
    shown = drawn(ran(SWEEPS, home, alpha=0.4))
    assert list(shown["alpha_figure"].data[1].y) == [0.3, 0.5]
    marks = [shape.x0 for shape in shown["alpha_figure"].layout.shapes if shape.x0 == shape.x1]
    assert marks == [0.2, 0.4]
    assert "training_figure" not in shown


def test_every_curve_is_what_recall_measures(home: Path) -> None:
    held = ran(RECALL, home, lam=0.5, prior="facts", measure="all", category="multi-hop")
    shown = drawn(held)
    assert shown.keys() == FIGURES[RECALL]
    banks = open_banks(Workspace(home), "sample")
    told = recall(banks, Recipe(prior="facts", lam=0.5), [10])["by_category"]["multi-hop"]

    def at_10(figure: str, line: int) -> float:
        trace = shown[figure].data[2 * line + 1]
        return float(trace.y[list(trace.x).index(10)])

    assert at_10("curve_figure", 0) == pytest.approx(told["all"]["10"])
    assert [at_10("found_figure", line) for line in range(3)] == pytest.approx(
        [told[name]["10"] for name in ("recall", "any", "all")]
    )
    assert at_10("level_figure", 0) == pytest.approx(told["all"]["10"])
    assert at_10("prior_figure", 1) == pytest.approx(told["all"]["10"])
    assert at_10("retriever_figure", 0) == pytest.approx(told["all"]["10"])
    assert "n = 24 questions" in shown["curve_figure"].layout.meta["caption"]
    assert len(shown["category_figure"].data) == 2 * 4


def test_by_session_and_with_words_alone(home: Path) -> None:
    shown = drawn(ran(RECALL, home, level="session", retriever="lexical"))
    assert shown.keys() == FIGURES[RECALL]
    assert len({tuple(line.y) for line in shown["prior_figure"].data[1::2]}) == 1
    assert "sessions" in shown["curve_figure"].layout.title.text
    assert max(shown["curve_figure"].data[1].x) < 10


# ---------------------------------------------------------------- other data


def dialogue(text: str, evidence: bool = True) -> Iterator[dict[str, Any]]:
    for at in range(8):
        said = f"{text} I like tea number {at}."
        about = {"id": f"D1:{at}", "scope": "c", "dialogue": "c", "session": "1"}
        yield {"kind": "turn", **about, "speaker": ("Ana", "Bo")[at % 2], "text": said}
    for at in range(6):
        asked = {"id": f"q{at}", "scope": "c", "people": ["Ana"], "text": f"{text} Tea {at}?"}
        gold = {"evidence": [f"D1:{at}"]} if evidence else {}
        yield {"kind": "question", **asked, "category": text, "answer": text, **gold}


@pytest.fixture(scope="module")
def others(home: Path) -> Path:
    """The workspace, with data that is markup, and data without evidence."""
    for name, rows in (("markup", dialogue(HOSTILE)), ("bare", dialogue("Hm.", False))):
        import_file(Workspace(home), write_rows(home.parent / f"{name}.jsonl", rows))
    return home


@BOTH
def test_without_evidence_it_says_what_to_do(path: Path, others: Path) -> None:
    held = ran(path, others, dataset_name="bare")
    assert [name for name in held if name.endswith("_figure")] == []
    assert held["banks"].dataset.name == "bare"


@BOTH
def test_dialogue_that_is_html_is_text_in_every_figure(path: Path, others: Path) -> None:
    given = {"dataset_name": "markup", "prior": "speaker", "lam": 0.0, "k": 1}
    shown = drawn(ran(path, others, **given))
    found = [text for one in shown.values() for text in strings(one.to_plotly_json())]
    assert any("&lt;img" in text for text in found)
    assert not [text for text in found if re.search(r"<\s*(img|a|script)|</script", text, re.I)]


def test_an_audit_is_laid_over(tmp_path: Path) -> None:
    """Three questions in LoCoMo's form; the audit moves one piece of evidence of the first."""
    turns = [
        {"speaker": ("Ana", "Bo")[at % 2], "dia_id": f"D1:{at}", "text": f"I saw {what}."}
        for at, what in enumerate(("a heron", "the sea", "two boats", "a kite", "my aunt"), start=1)
    ]
    asked = [
        {"question": f"What did {who} see?", "answer": "x", "category": 1, "evidence": evidence}
        for who, evidence in (("Ana", ["D1:1", "D1:2"]), ("Bo", ["D1:2"]), ("Ana", ["D1:5"]))
    ]
    record = {
        "sample_id": "c",
        "conversation": {
            **{"speaker_a": "Ana", "speaker_b": "Bo", "session_1": turns},
            "session_1_date_time": "1:56 pm on 8 May, 2023",
        },
        "qa": asked,
    }
    row = {"question_id": "locomo_0_qa0", "question": asked[0]["question"]}
    row |= {"error_type": "WRONG_CITATION", "correct_answer": "x"}
    audit = tmp_path / "audit.json"
    audit.write_text(json.dumps([{**row, "correct_evidence": ["D1:1", "D1:3"]}]), encoding="utf-8")
    source = tmp_path / "locomo.json"
    source.write_text(json.dumps([record]), encoding="utf-8")
    home = tmp_path / "home"
    import_file(Workspace(home), source, name="small", audit=audit)
    held = ran(RECALL, home, dataset_name="small")
    figure = drawn(held)["audit_figure"]
    original, audited = figure.data[1], figure.data[3]
    assert list(original.y) != list(audited.y)
    assert held["limits"]["ceiling"].to_list() == ["held by a memory", "confirmed by the audit"]
    assert held["limits"]["mean"].to_list() == pytest.approx([1, (1 / 2 + 1 + 1) / 3])
