"""The notebooks in the words of a trained rewriter: a tiny policy that has learnt a planted rule.

Every question's evidence is the turn with the violin. Asked as it is, a question finds another turn
first; in the trained words it finds that one, so K = 1 tells the two apart.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import plotly.graph_objects as go
import pytest

from notebooks import NOTEBOOKS, drawn, made_again, ran
from tiny_policy import QUESTIONS, RIGHT, SCOPES, planted, tiny
from workbench.datasets import import_file
from workbench.report.sheets import spec
from workbench.rewriters import rewriter_labels
from workbench.runs import load_run
from workbench.schema import Recipe
from workbench.training.learn import train
from workbench.training.options import settings_of
from workbench.workspace import Workspace

pytestmark = pytest.mark.timeout(150)

TRL = (
    *("learning_rate=0.05", "lr_scheduler_type=constant", "max_completion_length=3"),
    "per_device_train_batch_size=16",
)
N = QUESTIONS * len(SCOPES)


class Home(NamedTuple):
    folder: Path
    trained: str
    untrained: str
    report: dict[str, Any]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    folder = tmp_path_factory.mktemp("worded")
    workspace = Workspace(folder / "ws")
    import_file(workspace, planted(folder / "planted.jsonl"))
    whole = {
        **{"dataset": "planted", "model": str(tiny(folder / "tiny")), "steps": 6, "lora": 0},
        **{"recipe": Recipe(prior="none", lam=1.0, k=1), "prompts": 2, "dtype": "float32"},
        **{"validate_every": 6, "save_every": 6},
    }
    report = train(workspace, settings_of("cpu", whole, None, TRL))
    _, *names = rewriter_labels(workspace)
    trained = next(name for name in names if name.startswith("trained:") and name.endswith("-f1"))
    untrained = next(name for name in names if name.startswith("untrained:"))
    return Home(workspace.root, trained, untrained, report)


def reproduced(figures: dict[str, go.Figure], home: Path, tmp_path: Path) -> list[list[str]]:
    """What differs when figures in a file are made again in a workspace."""
    path = tmp_path / "figures.json"
    path.write_text(json.dumps({"figures": {name: spec(one) for name, one in figures.items()}}))
    return made_again(path, home)


def in_words(figure: go.Figure) -> bool:
    """Whether a figure's passport and caption name the trained rewriter."""
    meta = figure.layout.meta
    named = meta["passport"]["rewriter"]
    return named.startswith("trained tiny ") and f"in the words of {named}" in meta["caption"]


def test_the_sweep_is_made_of_the_rewritten_questions(home: Home, tmp_path: Path) -> None:
    given = {"dataset_name": "planted", "prior": "speaker", "lam": 0.5, "k": 1}
    held = ran(NOTEBOOKS / "lambda_alpha.py", home.folder, rewriter=home.trained, **given)
    assert all(RIGHT in q.text for q in held["study"].questions) and len(held["here"]) == N
    # At λ = 1 nothing but the words counts, and they name the evidence.
    assert held["here"]["without"].to_list() == [1.0] * N
    identity = held["sweep_run"].manifest["identity"]
    assert identity["rewriter"]["name"] == "trained"
    assert str(home.folder) not in json.dumps(identity)
    shown = drawn(held)
    training = shown.pop("training_figure")
    assert [name for name, one in shown.items() if not in_words(one)] == []
    assert reproduced(shown, home.folder, tmp_path) == [[]] * len(shown)
    # What training came to stands beside its curves, its checkpoints by their names here.
    assert training.layout.meta["passport"]["run"] == home.report["run"]
    assert home.trained in held["tables"]["checkpoints"].frame["rewriter"].to_list()
    assert held["tables"]["validations"].frame["step"].to_list() == [0, 6]
    assert held["training"] == home.report["run"]


def test_identity_and_trained_stand_side_by_side(home: Home, tmp_path: Path) -> None:
    given = {"dataset_name": "planted", "prior": "speaker", "lam": 1.0}
    held = ran(NOTEBOOKS / "evidence_recall.py", home.folder, rewriter=home.trained, **given)
    shown = drawn(held)
    trained, asked = (trace.y[0] for trace in shown["words_figure"].data[1::2])
    assert trained == 1.0 > asked
    row = held["word_rows"]
    assert len(row) == N and row["a"].to_list() == [1.0] * N
    gap = shown["words_difference_figure"].data[-1].y[0]
    assert gap == pytest.approx(trained - asked)
    assert all(in_words(one) for one in shown.values())
    assert reproduced(shown, home.folder, tmp_path) == [[]] * len(shown)
    # The second curve may be of a rewriter, too; and each run is the one of the command.
    runs = held["word_runs"]
    assert [one.manifest["identity"].get("rewriter", {}).get("name") for one in runs] == [
        *("trained", None),
    ]
    assert runs[0].manifest["identity"]["content"] == runs[1].manifest["identity"]["content"]


def test_the_words_of_a_case_are_shown_and_its_sides_counted(home: Home, tmp_path: Path) -> None:
    given = {"dataset_name": "planted", "prior": "speaker", "lam": 1.0, "k": 1}
    given |= {"rule": "helped", "retriever": "dense"}
    path = NOTEBOOKS / "case_studies.py"
    held = ran(path, home.folder, rewriter=home.trained, **given)
    plain = ran(path, home.folder, rewriter="", **{**given, "rule": "gain"})
    missed = plain["everything"].at(1.0, 1).filter(plain["pl"].col("having") == 0)
    assert len(missed) > 0 and plain["sides"] == {}
    assert sorted(held["sides"]["helped"]["question"]) == sorted(missed["question"])
    assert held["sides"]["hurt"].is_empty()
    one, case = held["one"], held["cases"].row(0, named=True)
    assert RIGHT in one.query.text and one.text.startswith("Where was number")
    assert (case["text"], case["searched"]) == (one.text, one.query.text)
    assert f"Searched with: {one.query.text}" in held["card_page"]
    shown = drawn(held)
    label = rewriter_labels(Workspace(home.folder))[home.trained]
    for figure in shown.values():
        assert f"in the words of {label}" in figure.layout.meta["caption"]
    # The words are in the figure: it is drawn again where the checkpoint is not.
    shutil.copytree(home.folder, tmp_path / "ws")
    shutil.rmtree(tmp_path / "ws" / "rewriters")
    assert reproduced(shown, tmp_path / "ws", tmp_path) == [[]] * len(shown)


def test_a_figure_whose_checkpoint_is_gone_says_so(home: Home, tmp_path: Path) -> None:
    given = {"dataset_name": "planted", "prior": "speaker", "lam": 0.5, "k": 1}
    held = ran(NOTEBOOKS / "lambda_alpha.py", home.folder, rewriter=home.untrained, **given)
    shutil.copytree(home.folder, tmp_path / "ws")
    shutil.rmtree(tmp_path / "ws" / "rewriters")
    kept, redone = "surface_figure", "effect_figure"
    told = reproduced({name: held[name] for name in (kept, redone)}, tmp_path / "ws", tmp_path)
    assert told == [[], [f"no rewriter '{home.untrained}' is in this workspace"]]
    assert load_run(Workspace(home.folder), held["sweep_run"].id).manifest["identity"]["rewriter"]
