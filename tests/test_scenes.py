"""Figures that no single run keeps carry what draws them again, or say what has changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest
from typer.testing import CliRunner

from notebooks import made_again
from shell import write_rows
from workbench import Recipe, Workspace, open_banks, report
from workbench.ask import ask
from workbench.cells import Study
from workbench.cli import app
from workbench.cli.report import makers
from workbench.datasets import import_file
from workbench.effects import effects
from workbench.memory_map import memory_map
from workbench.report.asked import findings_of_question
from workbench.report.reproduction import carried
from workbench.report.sheets import spec
from workbench.report.users import findings_of_users
from workbench.scenes.memories import map_of, sessions_of

pytestmark = pytest.mark.timeout(120)


def rows(more: int = 0) -> list[dict[str, Any]]:
    """A conversation of two people, who said `more` in the second version of the data."""
    said = ("I moved to Turin.", "My dog is called Pippo.", "I play the cello.", "I love figs.")
    turns = [*said, *(f"And I have {n} kites." for n in range(2, 2 + more))]
    about = {"scope": "c", "dialogue": "c", "session": "1"}
    questions = [("q1", "Where do I live?", "D1:0"), ("q2", "What do I play?", "D1:2")]
    return [
        *(
            {"kind": "turn", **about, "id": f"D1:{n}", "speaker": ("Ana", "Bo")[n % 2], "text": one}
            for n, one in enumerate(turns)
        ),
        *(
            {"kind": "question", "scope": "c", "id": name, "people": ["Ana"], "text": text}
            | {"category": "single-hop", "answer": "x", "evidence": [turn]}
            for name, text, turn in questions
        ),
    ]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    folder = tmp_path_factory.mktemp("scenes")
    import_file(Workspace(folder / "home"), write_rows(folder / "data.jsonl", rows()))
    return Workspace(folder / "home")


@pytest.fixture(scope="module")
def shown(workspace: Workspace) -> dict[str, go.Figure]:
    """A figure of each of the explorer's pages that no run keeps."""
    banks = open_banks(workspace, "data")
    recipe = Recipe(k=2)
    study = Study(workspace, banks)
    asked = findings_of_question(ask(banks, "q1", recipe), "data")
    users = findings_of_users(study, effects(study, recipe, 2), recipe, ("c", "Ana"))
    memory = banks.episodic["c"].memories[0].id
    return {
        **asked.figures,
        **users.figures,
        "map": map_of(banks, memory_map(banks, "c"), "c", None, memory),
        "sessions": sessions_of(banks, "c"),
    }


def written(shown: dict[str, go.Figure], path: Path) -> Path:
    path.write_text(json.dumps({"figures": {name: spec(one) for name, one in shown.items()}}))
    return path


def test_each_is_drawn_again(
    workspace: Workspace, shown: dict[str, go.Figure], tmp_path: Path
) -> None:
    path = written(shown, tmp_path / "all.json")
    assert {one.again["kind"] for one in carried(path) if one.again} == {
        *("question", "users", "memory-map", "sessions")
    }
    assert made_again(path, workspace.root) == [[]] * 4


def test_what_was_changed_in_the_file_is_found(
    workspace: Workspace, shown: dict[str, go.Figure], tmp_path: Path
) -> None:
    path = written({"map": shown["map"]}, tmp_path / "map.json")
    path.write_text(path.read_text().replace("A map of what", "The map of what"))
    assert made_again(path, workspace.root) == [["layout.title.text"]]


@pytest.mark.parametrize(
    ("again", "said"),
    [
        ({"kind": "palmistry"}, "draws no figure of the kind 'palmistry'"),
        ({"kind": "sessions"}, "cannot be used: KeyError"),
        ({"dataset": "lost"}, "there is no dataset 'lost'"),
        ({"user": "c/Nobody"}, "is nobody here"),
    ],
)
def test_what_it_says_of_itself_is_not_believed(
    workspace: Workspace, shown: dict[str, go.Figure], again: dict[str, str], said: str
) -> None:
    """A file may say anything: nothing fails in another way than with a word."""
    held = spec(shown["movement"])
    meta = held["layout"]["meta"]
    meta["again"] = again if again.keys() == {"kind"} else meta["again"] | again
    path = workspace.root.parent / "odd.json"
    path.write_text(json.dumps(held))
    with pytest.raises(Exception, match=said) as raised:
        report.reproduce(workspace, path, makers=makers())
    assert type(raised.value).__name__ in ("UsageError", "DataError")


def test_changed_data_and_changed_code_are_named(
    shown: dict[str, go.Figure], tmp_path: Path
) -> None:
    """The same data set with more in it, and another digest of the code in the file."""
    home = Workspace(tmp_path / "home")
    import_file(home, write_rows(tmp_path / "data.jsonl", rows(more=3)))
    held = {name: go.Figure(shown[name]) for name in ("map", "movement")}
    meta = held["map"].layout.meta
    held["map"].update_layout(meta=meta | {"again": meta["again"] | {"code": "0" * 16}})
    found = made_again(written(held, tmp_path / "old.json"), home.root)
    then = {name: one.layout.meta["passport"]["data"][:10] for name, one in shown.items()}
    assert found[0][0].startswith(f"the data changed: {then['map']} then")
    assert found[0][1].startswith("the code changed: 0000000000 then")
    assert found[1][0].startswith(f"the data changed: {then['movement']} then")
    assert not any("code" in one for one in found[1])


def test_what_was_made_again_is_written_where_that_is_asked_for(
    workspace: Workspace, shown: dict[str, go.Figure], tmp_path: Path
) -> None:
    """And carries what it says, to be made again itself."""
    path = written({"users": shown["users"], "map": shown["map"]}, tmp_path / "two.json")
    target = tmp_path / "again.html"
    told = app_of(workspace, "reproduce", str(path), "--to", str(target))
    assert told.exit_code == 0, told.output
    assert made_again(target, workspace.root) == [[], []]
    assert "is there already" in said(
        app_of(workspace, "reproduce", str(path), "--to", f"{target}")
    )
    two = app_of(workspace, "reproduce", str(path), "--to", str(tmp_path / "again.png"))
    assert "has 2 figures" in said(two) and not (tmp_path / "again.png").exists()


def app_of(workspace: Workspace, *arguments: str) -> Any:
    """A command in this process."""
    given = {"WORKBENCH_HOME": str(workspace.root)}
    return CliRunner(env=given).invoke(app, list(arguments))


def test_a_table_of_judgments_is_pointed_to_its_own_command(
    workspace: Workspace, tmp_path: Path
) -> None:
    (tmp_path / "judged.csv").write_text("id,query,judgment\n1,What?,A much better\n")
    told = app_of(workspace, "import", str(tmp_path / "judged.csv"))
    assert told.exit_code != 0
    assert f"workbench reward import {tmp_path / 'judged.csv'}" in said(told)


def said(told: Any) -> str:
    """What a command printed, or the error that it ended with."""
    return f"{told.output} {told.exception}"
