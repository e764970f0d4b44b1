"""Faults that somebody found who used the workbench from the outside."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from workbench.ask import ask, find_person
from workbench.datasets import import_file
from workbench.datasets.report import Dataset
from workbench.embedders import open_embedder
from workbench.errors import ModelError, UsageError
from workbench.schema import Dialogue, Turn
from workbench.vector_cache import VectorCache
from workbench.verify import verify
from workbench.workspace import Workspace


def test_an_empty_path_is_no_folder_of_everything(workspace: Workspace) -> None:
    with pytest.raises(UsageError, match="path is empty"):
        import_file(workspace, "")


def test_files_whose_names_differ_in_other_scripts_stay_apart(
    workspace: Workspace, tmp_path: Path
) -> None:
    names = set()
    for stem in ("日記", "写真", "notes für mich", "notes f r mich"):
        path = tmp_path / f"{stem}.jsonl"
        path.write_text('{"text": "tea"}\n', encoding="utf-8")
        names.add(import_file(workspace, path).dataset)
    assert len(names) == 4


def test_the_bundled_sample_is_not_overwritten_by_another_file(
    workspace: Workspace, tmp_path: Path
) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_text('{"text": "tea"}\n', encoding="utf-8")
    with pytest.raises(UsageError, match="another --name"):
        import_file(workspace, path, name="sample")


def test_a_folder_that_is_no_model_is_refused_with_words(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "model.safetensors").write_bytes(b"junk")
    with pytest.raises(ModelError, match="no sentence-transformers folder"):
        open_embedder(str(tmp_path))
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ModelError, match="no sentence-transformers folder"):
        open_embedder(str(tmp_path)).encode(["tea"], "passage")


@pytest.mark.skipif(os.name != "posix", reason="needs permissions of POSIX")
def test_a_cache_that_cannot_be_written_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = np.eye(1, 4, dtype=np.float32)[0]
    written = VectorCache(tmp_path / "cache")
    written.write("fp", "", {"tea": row})
    written.close()
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everywhere
    frozen = VectorCache(tmp_path / "cache")
    frozen.write("fp", "", {"milk": row})
    assert list(frozen.read("fp", "", ["tea", "milk"])) == ["tea"]
    assert VectorCache(tmp_path / "none").read("fp", "", ["tea"]) == {}


def test_verify_sees_a_damaged_cache_and_repair_removes_it(workspace: Workspace) -> None:
    VectorCache(workspace.folder("cache")).close()
    path = workspace.folder("cache") / "vectors.sqlite"
    path.write_bytes(b"garbage" * 1000)
    problems = verify(workspace, repair=False)["problems"]
    assert [problem["where"] for problem in problems] == ["cache/vectors.sqlite"]
    verify(workspace, repair=True)
    assert not path.exists()
    assert verify(workspace, repair=False)["problems"] == []


def test_a_huge_message_is_read_to_a_bound_and_its_rest_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("workbench.encoder.MOST_CHUNKS", 3)
    minilm = open_embedder("minilm")
    text = "tea " * 250_000
    assert minilm.excess([text], "passage") == [250_000 - 254]
    row = minilm.encode([text], "passage")
    assert np.allclose(row, minilm.encode(["tea " * 254], "passage"), atol=1e-5)


def test_people_beyond_the_first_twelve_are_counted() -> None:
    turns = tuple(Turn(id=f"{n}", session="1", speaker=f"P{n}", text="hi") for n in range(20))
    dataset = Dataset(
        name="d", format="jsonl", dialogues=(Dialogue(id="d", scope="d", turns=turns),)
    )
    with pytest.raises(UsageError, match="and 8 more"):
        find_person(dataset, "nobody")


def test_ask_says_where_the_prior_has_nothing_to_say(workspace: Workspace, tmp_path: Path) -> None:
    from workbench.library import open_banks
    from workbench.schema import Recipe

    path = tmp_path / "notes.jsonl"
    path.write_text('{"text": "green tea", "speaker": "Ana"}\n', encoding="utf-8")
    import_file(workspace, path)
    found = ask(open_banks(workspace, "notes"), "tea?", Recipe(), "Ana")
    assert any("nothing to say" in note for note in found["notes"])
    facts = ask(open_banks(workspace, "notes", "facts"), "tea?", Recipe(memories="facts"), "Ana")
    assert any("no facts" in note for note in facts["notes"])
