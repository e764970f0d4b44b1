"""Forgetting leaves nothing behind, whatever was built, damaged or killed before."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shell import bytes_under, cached_vectors, report, workbench, write_rows
from workbench.bank import load_banks
from workbench.datasets import store
from workbench.forget import forget
from workbench.memory.episodic import turn_memories
from workbench.runs import save_run, tidy
from workbench.traces import begin
from workbench.vector_cache import VectorCache
from workbench.workspace import Workspace, read_manifest

SECRET = "My PIN hint is the dog's name."
ROWS: list[dict[str, Any]] = [
    {"id": "m1", "speaker": "Ana", "text": SECRET},
    {"id": "m2", "speaker": "Ana", "text": "I keep the bike in the cellar."},
    {"id": "m3", "speaker": "Ana", "text": "I live in Lisbon."},
    {"id": "m4", "speaker": "Ana", "text": "I am a vegetarian."},
    {"kind": "observation", "id": "o1", "text": "Ana has a PIN hint: a dog.", "sources": ["m1"]},
    {"kind": "question", "id": "q1", "text": "PIN hint", "evidence": ["m1"]},
]
# Everything in lower case that would give the secret away.
TRACES = (b"pin hint is", b"a pin hint", b"dog")
ASK = ("ask", "notes", "PIN hint", "--k", "1", "--prior", "none", "--lam", "1")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with notes.jsonl and a workspace in which its turns and facts are built."""
    folder = tmp_path_factory.mktemp("notes")
    path = write_rows(folder / "notes.jsonl", ROWS)
    workspace = folder / "workspace"
    report(workspace, "import", str(path))
    # One process builds the turns and, for the centroid, the facts, and embeds the question.
    report(workspace, *ASK[:5], "--prior", "centroid:facts")
    assert top_hit(workspace) == f"Ana: {SECRET}"
    return folder


@pytest.fixture
def notes(built: Path, tmp_path: Path) -> Iterator[Path]:
    """A workspace of the test's own, with `notes.jsonl` beside it."""
    shutil.copytree(built, tmp_path / "copy")
    yield tmp_path / "copy" / "workspace"


def top_hit(workspace: Path) -> str:
    [hit] = report(workspace, *ASK)["rankings"]["with"]
    return str(hit["text"])


def traces(workspace: Path) -> list[bytes]:
    content = bytes_under(workspace).lower()
    return [trace for trace in TRACES if trace in content]


def bank_folder(workspace: Path, memories: str = "turns") -> Path:
    kinds = Workspace(workspace).manifests("banks")
    [key] = [key for key, manifest in kinds.items() if manifest["memories"] == memories]
    return workspace / "banks" / key


def test_a_forgotten_turn_is_gone_from_everything_and_stays_away(notes: Path) -> None:
    assert set(traces(notes)) == set(TRACES)
    before = cached_vectors(notes)
    told = report(notes, "forget", "notes", "m1")
    assert told["turns"] == ["m1"] and len(told["banks"]) == 2
    assert traces(notes) == []
    assert before - cached_vectors(notes) >= 2  # the turn, the fact made from it, whole profiles
    assert top_hit(notes) in [f"Ana: {row['text']}" for row in ROWS[1:4]]

    again = report(notes, "import", str(notes.parent / "notes.jsonl"))
    assert (again["counts"]["imported"], again["counts"]["skipped"]) == (0, 2)
    assert traces(notes) == []
    exported = notes.parent / "exported.jsonl"
    report(notes, "data", "export", "notes", str(exported))
    text = exported.read_bytes().lower()
    assert b"bike" in text and not any(trace in text for trace in TRACES)


def test_a_fact_of_the_profile_takes_the_whole_profile_s_text_with_it(notes: Path) -> None:
    assert b"Ana lives in Lisbon." in (bank_folder(notes) / "profiles.jsonl").read_bytes()
    before = cached_vectors(notes)
    report(notes, "forget", "notes", "m3")
    assert b"Lisbon" not in bytes_under(notes)
    # The turn, its fact, and the profile's text: "Ana lives in Lisbon.\nAna is a vegetarian."
    assert before - cached_vectors(notes) >= 3


@pytest.mark.parametrize("given", ["t:m1", "o1"])
def test_a_memory_is_forgotten_with_its_source(notes: Path, given: str) -> None:
    assert report(notes, "forget", "notes", given)["turns"] == ["m1"]
    assert traces(notes) == []


def test_forgetting_what_is_not_there_changes_nothing(notes: Path) -> None:
    before = bytes_under(notes / "datasets") + bytes_under(notes / "banks")
    refused = workbench(notes, "forget", "notes", "m1", "m9", "--json")
    assert refused.code == 4 and "m9" in refused.json["error"]["message"]
    assert workbench(notes, "forget", "notes", "m1", "--scope", "nobody").code == 2
    assert bytes_under(notes / "datasets") + bytes_under(notes / "banks") == before


def test_after_a_crash_between_dataset_and_banks_nothing_finds_it_and_verify_cleans_up(
    notes: Path,
) -> None:
    rows = cached_vectors(notes)
    store.forget(Workspace(notes), "notes", "notes", ["m1"])  # and then the process dies
    verified = workbench(notes, "verify", "--json")
    assert verified.code == 3 and len(verified.json["problems"]) == 2
    assert all("outdated" in one["why"] for one in verified.json["problems"])
    repaired = report(notes, "verify", "--repair")
    assert [one["done"] for one in repaired["problems"]] == ["removed", "removed"]
    assert traces(notes) == []
    assert rows - cached_vectors(notes) >= 2
    assert report(notes, "verify")["problems"] == []


def test_the_outdated_bank_of_a_crash_is_not_asked(notes: Path) -> None:
    store.forget(Workspace(notes), "notes", "notes", ["m1"])
    assert "dog" not in top_hit(notes)


def test_an_unfinished_and_a_damaged_bank_are_forgotten_as_well(notes: Path) -> None:
    folder = bank_folder(notes)
    shutil.copytree(folder, folder.with_name(f".{folder.name}.77.tmp"))
    headless = folder.with_name("0123456789abcdef")
    shutil.copytree(folder, headless)
    (headless / "manifest.json").write_bytes(b"{")
    with (folder / "episodic.npy").open("r+b") as stream:
        stream.truncate(100)
    report(notes, "forget", "notes", "m1")
    assert traces(notes) == []


def test_vectors_that_a_killed_build_left_are_forgotten(notes: Path) -> None:
    shutil.rmtree(notes / "banks")
    before = cached_vectors(notes)
    report(notes, "forget", "notes", "m1")
    assert before - cached_vectors(notes) >= 2  # the turn and the fact


def test_a_turn_that_stood_aside_can_be_forgotten(tmp_path: Path) -> None:
    rows = [{"text": "hi"}, {"id": "x", "text": "the dog", "aside": "other branch"}]
    workspace = tmp_path / "workspace"
    path = write_rows(tmp_path / "notes.jsonl", rows)
    report(workspace, "import", str(path))
    assert traces(workspace) == [b"dog"]
    assert report(workspace, "forget", "notes", "x")["turns"] == ["x"]
    assert traces(workspace) == []


def test_an_old_version_that_a_killed_write_left_is_removed_by_verify(notes: Path) -> None:
    [version] = [path for path in (notes / "datasets" / "notes").iterdir() if path.is_dir()]
    kept = notes.parent / "kept"
    shutil.copytree(version, kept)
    report(notes, "forget", "notes", "m1")
    shutil.copytree(kept, version)
    assert traces(notes) != []
    assert workbench(notes, "verify").code == 3
    report(notes, "verify", "--repair")
    assert traces(notes) == [] and report(notes, "verify")["problems"] == []
    assert "bike" in bytes_under(notes / "datasets").decode()


def test_a_flipped_byte_is_noticed_and_the_bank_built_again_with_the_same_ranking(
    notes: Path,
) -> None:
    before, path = report(notes, *ASK), bank_folder(notes) / "episodic.npy"
    data = bytearray(path.read_bytes())
    data[-3] ^= 0x40
    path.write_bytes(data)
    verified = workbench(notes, "verify", "--json")
    assert verified.code == 3
    assert [one["why"] for one in verified.json["problems"]] == [
        "differs from its checksum: episodic.npy"
    ]
    built = report(notes, "build", "notes")
    assert built["embedded"] == 0  # every vector is in the cache
    assert report(notes, *ASK) == before
    assert report(notes, "verify")["problems"] == []


@pytest.mark.parametrize("rows", [3, 5])
def test_rows_without_vectors_and_vectors_without_rows_are_found(notes: Path, rows: int) -> None:
    workspace, folder = Workspace(notes), bank_folder(notes)
    manifest = read_manifest(folder)
    assert manifest is not None
    matrix = np.load(folder / "episodic.npy")
    resized = np.resize(matrix, (rows, matrix.shape[1]))
    files: dict[str, Any] = {path.name: path.read_bytes() for path in folder.iterdir()}
    del files["manifest.json"]
    files["episodic.npy"] = lambda path: np.save(path, resized)
    shutil.rmtree(folder)
    workspace.publish("banks", folder.name, files, manifest)
    verified = workbench(notes, "verify", "--json")
    assert verified.code == 3
    [problem] = verified.json["problems"]
    assert problem["why"].endswith(f"4 memories but {rows} vectors")
    report(notes, "verify", "--repair")
    assert top_hit(notes) == f"Ana: {SECRET}"


def test_a_turn_whose_text_was_replaced_is_found_by_its_new_text_only(notes: Path) -> None:
    edited = [{**ROWS[0], "text": "My umbrella is green."}]
    path = write_rows(notes.parent / "edited.jsonl", edited)
    counts = report(notes, "import", str(path), "--name", "notes")["counts"]
    assert (counts["updated"], counts["imported"]) == (1, 0)
    hits = report(notes, "ask", "notes", "PIN hint", "--k", "4")["rankings"]["with"]
    by_source = {hit["sources"][0]: hit["text"] for hit in hits}
    assert by_source["m1"] == "Ana: My umbrella is green." and len(by_source) == 4
    [bank] = load_banks(bank_folder(notes), "episodic", "").values()
    row = bank.rows["t:m1"]
    cache = VectorCache(notes / "cache")
    manifest = read_manifest(bank_folder(notes))
    assert manifest is not None
    [own] = cache.read(manifest["fingerprint"], "", ["Ana: My umbrella is green."]).values()
    cache.close()
    assert np.array_equal(bank.vectors[row], own)


def test_memories_are_known_by_their_ids_whether_or_not_a_bank_is_there(tmp_path: Path) -> None:
    store.load(Workspace(tmp_path), "sample")
    for turn in ("D5:1", "D5:2"):  # the first drops whatever banks there are
        assert forget(Workspace(tmp_path), "sample", "c1", [f"t:{turn}"])["turns"] == [turn]


def test_runs_that_quote_the_dataset_go_with_what_is_forgotten(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    store.load(workspace, "sample")
    frame = tidy([])
    about = {"dataset": "sample"}
    quoting = save_run(workspace, "evaluate", about, frame, {}, {"traces.jsonl": b"PIN hint"})
    numbers = save_run(workspace, "recall", about, frame, {})
    other = save_run(workspace, "evaluate", {"dataset": "x"}, frame, {}, {"traces.jsonl": b"hi"})
    (workspace.folder("traces") / "0123").mkdir(parents=True)
    forget(workspace, "sample", "c1", ["D5:1"])
    assert set(workspace.manifests("runs")) == {numbers, other}
    assert quoting not in workspace.manifests("runs")
    assert not list(workspace.folder("traces").iterdir())


def test_a_run_that_was_under_way_goes_with_what_is_forgotten(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    store.load(workspace, "sample")
    unfinished = workspace.folder("traces") / "0123"
    begin(unfinished, {"dataset": "sample"})
    with workspace.lock("traces-0123"):  # held, as `evaluate` does, until the run is kept
        forgetting = threading.Thread(target=forget, args=(workspace, "sample", "c1", ["D5:1"]))
        forgetting.start()
        forgetting.join(2)
        assert forgetting.is_alive() and unfinished.exists()
        traces = {"traces.jsonl": b"PIN hint"}
        save_run(workspace, "evaluate", {"dataset": "sample"}, tidy([]), {}, traces)
    forgetting.join(20)
    assert not forgetting.is_alive()
    assert not unfinished.exists() and not workspace.manifests("runs")


def test_only_vectors_of_what_can_still_be_remembered_stay(tmp_path: Path) -> None:
    """A sentence of an answer, a retired profile: no list of them exists, and they go as well."""
    workspace = Workspace(tmp_path)
    dataset = store.load(workspace, "sample")
    cache = VectorCache(workspace.folder("cache"))
    row = np.eye(1, 4, dtype=np.float32)[0]
    [first] = turn_memories(dataset.dialogues[0]).memories[:1]
    gone = "a sentence that only an answer quoted"
    cache.write("fp", "", {first.text: row, gone: row, dataset.questions[0].text: row})
    forget(workspace, "sample", "c1", ["D5:1"])
    left = cache.read("fp", "", [first.text, gone, dataset.questions[0].text])
    assert set(left) == {first.text, dataset.questions[0].text}
