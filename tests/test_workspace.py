"""Folders written whole or not at all, names that stay inside, manifests that are believed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from workbench.errors import UsageError, WorkspaceError
from workbench.workspace import (
    Workspace,
    read_manifest,
    remove_folder,
    verify_folder,
    write_atomically,
)


def test_opening_a_workspace_creates_nothing(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "new")
    assert workspace.manifests("banks") == {}
    assert list(tmp_path.iterdir()) == []


def test_the_root_is_the_argument_else_the_variable_else_the_user_s_data_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "home"))
    assert Workspace(tmp_path / "given").root == tmp_path / "given"
    assert Workspace().root == tmp_path / "home"
    monkeypatch.delenv("WORKBENCH_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "xdg"))
    assert Workspace().root.name == "recall-workbench"


def test_a_file_is_no_workspace(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(WorkspaceError, match="is a file; name a folder"):
        Workspace(tmp_path / "file")


@pytest.mark.parametrize(
    "name",
    ["../x", "a/../../b", "/etc", "..", ".hidden", "a\\b", "", "x" * 65, "a\n", "a.", "ünï", "-x"],
)
def test_a_name_cannot_leave_the_workspace(workspace: Workspace, name: str) -> None:
    with pytest.raises(UsageError, match="cannot name anything"):
        workspace.publish("runs", name, {}, {})
    with pytest.raises(UsageError, match="cannot name anything"):
        workspace.lock(name).__enter__()
    assert not workspace.root.exists() or not list(workspace.root.rglob("*.json"))


def test_a_published_folder_states_what_its_files_are(workspace: Workspace) -> None:
    chunks: Iterator[bytes] = iter([b"ab", b"c"])
    folder = workspace.publish(
        "runs",
        "one",
        {"bytes": b"abc", "chunks": chunks, "call": lambda path: path.write_bytes(b"abc")},
        {"seed": 7},
    )
    manifest = read_manifest(folder)
    assert manifest is not None and manifest["seed"] == 7
    stamp = {"sha256": hashlib.sha256(b"abc").hexdigest(), "bytes": 3}
    assert manifest["files"] == {"bytes": stamp, "chunks": stamp, "call": stamp}
    assert workspace.manifests("runs") == {"one": manifest}
    assert verify_folder(folder) == []
    assert [path.name for path in folder.parent.iterdir()] == ["one"]


def test_a_complete_folder_is_not_written_again(workspace: Workspace) -> None:
    folder = workspace.publish("runs", "one", {"a": b"first"}, {})
    assert workspace.publish("runs", "one", {"a": b"second"}, {}) == folder
    assert (folder / "a").read_bytes() == b"first"


@pytest.mark.parametrize("harm", ["changed", "removed", "no manifest", "odd manifest"])
def test_a_damaged_folder_is_noticed_and_written_again(workspace: Workspace, harm: str) -> None:
    folder = workspace.publish("runs", "one", {"a": b"first", "b": b"kept"}, {})
    if harm == "changed":
        (folder / "a").write_bytes(b"fir5t")
    elif harm == "removed":
        (folder / "a").unlink()
    elif harm == "no manifest":
        (folder / "manifest.json").unlink()
    else:
        (folder / "manifest.json").write_text('{"files": 3}')
    expected = ["a"] if harm in ("changed", "removed") else ["manifest.json"]
    assert verify_folder(folder) == expected
    assert ("one" in workspace.manifests("runs")) == (expected == ["a"])
    workspace.publish("runs", "one", {"a": b"second", "b": b"kept"}, {})
    assert verify_folder(folder) == [] and (folder / "a").read_bytes() == b"second"


def test_a_failed_write_leaves_the_old_content_and_no_temporary_files(
    workspace: Workspace, tmp_path: Path
) -> None:
    def broken() -> Iterator[bytes]:
        yield b"half"
        raise RuntimeError("disk on fire")

    path = tmp_path / "out" / "report.txt"
    write_atomically(path, b"old")
    with pytest.raises(RuntimeError, match="disk on fire"):
        write_atomically(path, broken())
    with pytest.raises(RuntimeError, match="disk on fire"):
        workspace.publish("runs", "one", {"a": broken()}, {})
    assert path.read_bytes() == b"old" and list(path.parent.iterdir()) == [path]
    assert list(workspace.folder("runs").iterdir()) == []


def test_manifests_are_listed_oldest_first(workspace: Workspace) -> None:
    for name in ("b", "c", "a"):
        workspace.publish("runs", name, {}, {})
    (workspace.folder("runs") / "stray.txt").write_text("x")
    assert list(workspace.manifests("runs")) == ["b", "c", "a"]


def test_removing_a_folder_twice_is_fine(workspace: Workspace) -> None:
    folder = workspace.publish("runs", "one", {"a": b"x"}, {})
    remove_folder(folder)
    remove_folder(folder)
    assert not folder.exists()


def test_a_lock_is_free_again_after_an_error(workspace: Workspace) -> None:
    with pytest.raises(RuntimeError), workspace.lock("x"):
        raise RuntimeError
    with workspace.lock("x", seconds=0):
        pass


def test_the_patience_of_a_lock_is_a_number(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_LOCK_SECONDS", "soon")
    with pytest.raises(UsageError, match="WORKBENCH_LOCK_SECONDS must be a number, not 'soon'"):
        workspace.lock("x").__enter__()
