"""What a notebook takes from its address, from its command line, and from a saved view."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import marimo
import pytest

from notebooks import NOTEBOOKS, ran, warm
from workbench.errors import DataError
from workbench.notebook import FIELDS, opened, options, started
from workbench.view import View, encode_view

# A workspace with the sample, on a busy machine.
pytestmark = pytest.mark.timeout(150)

SHIPPED = sorted(NOTEBOOKS.glob("[a-z]*.py"))


class Given:
    """An app's address and command line, as marimo tells them."""

    def __init__(self, held: dict[str, str]) -> None:
        self.held = held

    def to_dict(self) -> dict[str, str]:
        return self.held


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> pytest.MonkeyPatch:
    """A notebook that runs as an app, with a workspace of its own, and nothing given."""
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(marimo, "app_meta", lambda: SimpleNamespace(mode="run"))
    given(monkeypatch, {})
    return monkeypatch


def given(
    app: pytest.MonkeyPatch, address: dict[str, str], command: dict[str, str] | None = None
) -> None:
    app.setattr(marimo, "query_params", lambda: Given(address))
    app.setattr(marimo, "cli_args", lambda: Given(command or {}))


@pytest.mark.parametrize("name", ["path", "workspace", "view"])
def test_a_link_names_no_place_of_the_machine(
    app: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    place = tmp_path / "place"
    given(app, {name: str(place), "file": "notebook.py", "k": "7"})
    assert options() == {"k": "7"}
    workspace, view, remarks = opened("path")
    assert (workspace.root, view) == (tmp_path / "home", View(k=7))
    assert remarks == [f"{name} is no matter for a link: only the command line may name it"]


def test_the_command_line_names_them(app: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """And goes before the address."""
    (tmp_path / "saved.json").write_bytes(encode_view(View(k=3, lam=0.5)))
    command = {
        "path": "mine.csv",
        "workspace": str(tmp_path / "other"),
        "view": str(tmp_path / "saved.json"),
    }
    given(app, {"path": "theirs.csv", "lam": "0.1"}, command)
    assert options()["path"] == "mine.csv"
    workspace, view, _ = opened("path")
    assert (workspace.root, view) == (tmp_path / "other", View(k=3, lam=0.1))
    given(app, {}, {"view": str(tmp_path / "absent.json")})
    with pytest.raises(DataError, match="no view can be read"):
        opened()


def test_an_address_that_was_mistyped_opens_with_a_word(app: pytest.MonkeyPatch) -> None:
    given(app, {"lambda": "0.5", "session_id": "s"})
    assert opened()[1:] == (View(), ["lambda is nothing that a view has; it is ignored"])


def test_what_a_notebook_does_not_show_of_a_view_is_said(app: pytest.MonkeyPatch) -> None:
    given(app, {"page": "runs", "run": "r1", "against": "r2", "k": "7", "dataset": "sample"})
    assert opened(reads=("k",))[2] == ["not carried over from the view: run, against"]
    assert opened(reads=("k", "run", "against"))[2] == []


def test_a_link_names_no_model_of_its_own(app: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The command line does; what is not there falls back with a word."""
    folder = tmp_path / "attacker"
    folder.mkdir()
    given(app, {"embedder": str(folder)})
    linked = started()
    assert linked.view.embedder == linked.embedder.name == "minilm"
    [said] = linked.remarks
    assert "is nothing that is here" in said
    given(app, {}, {"embedder": str(folder)})
    [said] = started().remarks
    assert "is no sentence-transformers folder" in said  # it was looked into
    (folder / "modules.json").write_text("[]")
    chosen = started()
    assert (chosen.embedder.folder, chosen.remarks) == (folder, [])


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_each_notebook_says_what_it_reads(path: Path) -> None:
    """Every field that it names is one, and it doesn't claim to read them all."""
    source = path.read_text(encoding="utf-8")
    stated = source.split("reads=(")[1].split(")")[0]
    named = {word.strip().strip('"') for word in stated.split(",") if word.strip()}
    assert named < FIELDS and named
    assert {"run", "against"} <= named or named.isdisjoint({"run", "against"})


def test_a_view_of_memories_opens_its_turn_and_its_search(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = warm(tmp_path_factory.getbasetemp())
    view = View(scope="c2", search="ukulele")
    held = ran(NOTEBOOKS / "memory_inspection.py", home, view=view, **kept(home))
    assert held["words"] == "ukulele" and 0 < len(held["listed"]) < 121
    turn = held["listed"]["sources"][-1][0]
    again = ran(
        NOTEBOOKS / "memory_inspection.py",
        home,
        view=View(scope="c2", search="ukulele", turn=turn),
        **kept(home),
    )
    assert held["memory_id"] != again["memory_id"]
    assert turn in again["listed"]["sources"][0]


def kept(home: Path) -> dict[str, object]:
    """The other values of the cell that opens the view."""
    from workbench.embedders import open_embedder
    from workbench.workspace import Workspace

    return {"workspace": Workspace(home), "embedder": open_embedder(), "remarks": []}


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_no_notebook_hands_dialogue_to_a_table_that_fetches(path: Path) -> None:
    """marimo's own tables make links of what looks like one, and load what looks like a picture."""
    source = path.read_text(encoding="utf-8")
    assert [one for one in ("ui.table", "ui.dataframe", "data_explorer") if one in source] == []
