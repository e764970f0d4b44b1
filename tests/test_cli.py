"""The command line as a user or a script meets it: exit codes, streams, JSON, hostile text."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from shell import Outcome, bytes_under, ended, forked, report, started, workbench, write_rows
from workbench.cli import app

TEA = "which tea do I drink"
HOSTILE = "\x1b[31mred\x1b[0m \u202ereversed\u2066 [bold red]loud[/] :smile: \x07 <b>x</b>"
FOREIGN = "שלום Ana 👩‍👩‍👧 naïve"

# Scope a: 200 notes of A on tea; scope b: one of B; scope c: text that tries to be something else.
ROWS: list[dict[str, Any]] = [
    *(
        {"scope": "a", "id": f"a{n}", "speaker": "A", "text": f"I drink green tea, cup {n}"}
        for n in range(200)
    ),
    {"scope": "b", "id": "b0", "speaker": "B", "text": "I switched to white tea"},
    {"scope": "c", "id": "c0", "speaker": "C", "text": HOSTILE},
    {"scope": "c", "id": "c1\x1b[2J", "speaker": "C", "text": FOREIGN},
    {
        "kind": "question",
        "id": "q1",
        "scope": "b",
        "text": TEA,
        "category": "multi-hop",
        "evidence": ["b0"],
    },
    {
        "kind": "question",
        "id": "q2",
        "scope": "c",
        "text": "Who is Ana?",
        "category": "odd\x1b[31m",
        "evidence": ["c0", "c1\x1b[2J"],
    },
    {"kind": "question", "id": "q3", "scope": "a", "text": "And coffee?", "category": "multi-hop"},
    {"kind": "question", "id": "q4", "scope": "a", "text": "?", "category": "abstention"},
]
PLAIN = ("--memories", "turns", "--retriever", "dense", "--prior", "none", "--lam", "1")
RECALL = ("recall", "notes", *PLAIN, "--k", "1,5,10")


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `notes.jsonl`, and a workspace in which it is built and its questions known."""
    folder = tmp_path_factory.mktemp("house")
    path = write_rows(folder / "notes.jsonl", ROWS)
    workspace = folder / "workspace"
    report(workspace, "import", str(path))
    report(workspace, *RECALL)  # builds what it needs, and embeds the questions while it is at it
    built = report(workspace, "build", "notes")
    (folder / "built.json").write_text(json.dumps(built), encoding="utf-8")
    return workspace


@pytest.fixture
def own(house: Path, tmp_path: Path) -> Iterator[Path]:
    """A copy of the house that a test may change."""
    shutil.copytree(house, tmp_path / "own")
    yield tmp_path / "own"


# ---------------------------------------------------------------- failures

FAILURES = [
    ("import nowhere.json", 4, "nowhere.json: no such file or folder"),
    ("import {notes} --format word", 2, "unknown format 'word'"),
    ("import {notes} --name ../x", 2, "cannot name anything"),
    ("import {notes} --audit nowhere.json", 4, "nowhere.json"),
    ("build lost", 4, "no dataset 'lost'"),
    ("build notes --turbo", 2, "--turbo"),
    ("build notes --memories dreams", 2, "unknown memories 'dreams'"),
    ("build notes --memories observations", 2, "brings no observations"),
    ("build notes --embedder mpnet", 5, "embedder 'mpnet' is not on this machine"),
    ("build notes --embedder no!such!name", 2, "no folder, known name or model id"),
    ("build notes --embedder minilm+turbo", 2, "NAME[+bf16]"),
    ("recall", 2, "Missing argument"),
    ("recall lost", 4, "no dataset 'lost'"),
    ("recall notes --lam nan", 2, "lambda must lie in 0..1, not nan"),
    ("recall notes --lam 1.01", 2, "lambda must lie in 0..1"),
    ("recall notes --lam much", 2, "'--lam'"),
    ("recall notes --boost inf", 2, "finite"),
    ("recall notes --k 0", 2, "whole numbers from 1"),
    ("recall notes --k 5,few", 2, "--k takes whole numbers from 1 with commas"),
    ("recall notes --split half", 2, "no split 'half'"),
    ("recall notes --prior mood", 2, "unknown prior 'mood'"),
    ("recall notes --retriever lexical --prior mood", 2, "unknown prior 'mood'"),
    ("recall notes --retriever magic", 2, "unknown retriever 'magic'"),
    ("ask notes tea", 2, "--user; choose from: a/A, b/B, c/C"),
    ("ask notes tea --user Z", 2, "'Z' is nobody here"),
    ("ask notes tea --user a/B", 2, "'a/B' is nobody here"),
    ("ask notes tea --user b/B --k 0", 2, "--k must be at least 1"),
    ("ask notes tea --user b/B --k-semantic -1", 2, "--k-semantic"),
    ("forget notes a0", 2, "notes has 3 scopes"),
    ("forget notes a0 --scope b", 4, "notes/b has no turn or memory 'a0'"),
    ("forget notes a0 --scope z", 2, "no scope 'z'"),
    ("data export notes {folder}", 2, "{folder}"),
    ("data export lost out.jsonl", 4, "no dataset 'lost'"),
    ("data get squad", 2, "squad"),
    ("runs --workspace {notes}", 4, "is a file"),
    ("nonsense", 2, "nonsense"),
]


@pytest.fixture(scope="module")
def failed(house: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Outcome]:
    """How each command of `FAILURES` ended."""
    lines = [line for line, *_ in FAILURES]
    split = [[word.format(**places(house)) for word in line.split()] + ["--json"] for line in lines]
    ended_so = forked(house, split, tmp_path_factory.mktemp("streams"))
    return dict(zip(lines, ended_so, strict=True))


def places(house: Path) -> dict[str, str]:
    return {"notes": str(house.parent / "notes.jsonl"), "folder": str(house)}


@pytest.mark.parametrize(("line", "code", "why"), FAILURES, ids=[line for line, *_ in FAILURES])
def test_a_failure_has_its_exit_code_and_is_one_json_document(
    house: Path, failed: dict[str, Outcome], line: str, code: int, why: str
) -> None:
    outcome = failed[line]
    assert outcome.code == code, outcome
    error = outcome.json["error"]
    assert error["exit_code"] == code and why.format(**places(house)) in error["message"]
    assert outcome.err.startswith("workbench: ") and "Traceback" not in outcome.err


def test_an_empty_user_or_dataset_is_refused(house: Path) -> None:
    outcome = workbench(house, "ask", "notes", TEA, "--user", "")
    assert (outcome.code, outcome.out) == (2, "")
    assert "--user" in outcome.err
    assert workbench(house, "recall", "").code in (2, 4)


def test_without_json_a_failure_prints_nothing_on_stdout(house: Path) -> None:
    outcome = workbench(house, "recall", "lost")
    assert (outcome.code, outcome.out) == (4, "")
    assert re.fullmatch(r"workbench: there is no dataset 'lost'.*\n", outcome.err)


def test_an_import_that_lost_lines_is_partial_and_lists_them(tmp_path: Path) -> None:
    path = tmp_path / "mixed.jsonl"
    path.write_bytes(b'{"text": "fine"}\nno json \x1b[31m\n\n{"text": "fine too"}\n')
    outcome = workbench(tmp_path / "w", "import", str(path), "--json")
    assert outcome.code == 3
    counts = outcome.json["counts"]
    assert (counts["turns"], counts["failed"]) == (2, 1)
    [problem] = outcome.json["problems"]
    assert problem["kind"] == "failed" and "line 2" in problem["where"]
    assert "no json" in problem["raw"]
    human = workbench(tmp_path / "w", "import", str(path))
    assert human.code == 3 and "line 2" in human.out and "\x1b" not in human.out + human.err


# ---------------------------------------------------------------- streams


def commands_of(shown: str) -> list[str]:
    return re.findall(r"^  ([a-z][\w-]*)  ", shown.split("Commands:")[1], re.MULTILINE)


def test_every_command_has_help(tmp_path: Path) -> None:
    top = workbench(tmp_path / "w", "--help")
    known = {"import", "forget", "build", "ask", "recall", "demo", "runs", "verify", "doctor"}
    waiting = [[one] for one in commands_of(top.out)]
    assert known | {"reward", "sweep", "data", "notebooks", "explore"} < {one for [one] in waiting}
    while waiting:
        command = waiting.pop()  # in this process: there are many
        shown = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": "300"})
        assert shown.exit_code == 0 and shown.stderr == "" and "Usage:" in shown.stdout
        if "Commands:" in shown.stdout:  # a group, such as `sweep`
            waiting += [[*command, one] for one in commands_of(shown.stdout)]
        else:
            assert "--json" in shown.stdout, command
    assert not (tmp_path / "w").exists()


def test_a_reader_that_has_left_is_no_failure(house: Path) -> None:
    for arguments in (RECALL, [*RECALL, "--json"], ["data", "list"], ["recall", "lost", "--json"]):
        with started(house, *arguments) as process:
            assert process.stdout is not None and process.stderr is not None
            process.stdout.close()
            err = process.stderr.read()
        assert b"Traceback" not in err and b"BrokenPipe" not in err
        assert process.returncode == (4 if "lost" in arguments else 0), err


def test_json_stays_whole_while_libraries_are_noisy(house: Path, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import atexit, sys, warnings\n"
        "import workbench.library as library\n"
        "real = library.open_banks\n"
        "def noisy(*given, **named):\n"
        "    print('a library prints')\n"
        "    warnings.warn('a library warns', stacklevel=1)\n"
        "    return real(*given, **named)\n"
        "library.open_banks = noisy\n"
    )
    project = Path(__file__).resolve().parent.parent
    outcome = workbench(house, *RECALL, "--json", PYTHONPATH=f"{tmp_path}:{project}")
    assert outcome.code == 0 and outcome.json["n"] == 2
    assert "a library prints" in outcome.err and "a library warns" in outcome.err


def test_nothing_but_data_is_printed_where_all_is_well(house: Path) -> None:
    for arguments in (RECALL, ["build", "notes"], ["runs"], ["data", "list"], ["verify"]):
        outcome = workbench(house, *arguments)
        assert outcome.code == 0 and outcome.err == "" and outcome.out


# ---------------------------------------------------------------- hostile and foreign text


def test_dialogue_text_is_shown_literally_and_styles_or_reorders_nothing(house: Path) -> None:
    outcome = workbench(house, "ask", "notes", "q2", "--k", "2")
    assert outcome.code == 0, outcome.err
    shown = "·[31mred·[0m ·reversed· [bold red]loud[/] :smile: · <b>x</b>"
    assert f"* C: {shown}" in outcome.out and FOREIGN in outcome.out
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", outcome.out)
    assert "(c0, c1·[2J)" in outcome.out
    told = workbench(house, *RECALL)
    assert "odd·[31m" in told.out and "\x1b" not in told.out
    told = workbench(house, "import", "\x1b[31m.json")
    assert told.err.startswith("workbench: ·[31m.json: no such file")


def test_sentences_are_not_broken_where_the_terminal_is_narrow(house: Path) -> None:
    told = ended(started(house, *RECALL, COLUMNS="30")).out
    assert "n = 2 questions; excluded: 1 abstention, 1 without evidence\n" in told


def test_json_keeps_dialogue_text_exactly(house: Path) -> None:
    hits = report(house, "ask", "notes", "q2", "--k", "2")["rankings"]["with"]
    assert {hit["text"] for hit in hits} == {f"C: {HOSTILE}", f"C: {FOREIGN}"}


@pytest.mark.parametrize("as_json", [True, False])
def test_a_terminal_without_those_characters_ends_nothing(house: Path, as_json: bool) -> None:
    arguments = ["ask", "notes", "q2", "--k", "2", *(["--json"] if as_json else [])]
    outcome = ended(started(house, *arguments, PYTHONIOENCODING="cp1252"), encoding="cp1252")
    assert outcome.code == 0, outcome.err
    if as_json:
        assert FOREIGN in outcome.json["rankings"]["with"][0]["text"] + str(
            outcome.json["rankings"]["with"][1]["text"]
        )
    else:
        assert "Ana" in outcome.out and "naïve" in outcome.out


def test_a_blank_question_finds_nothing_and_says_so(house: Path) -> None:
    told = report(house, "ask", "notes", " \u200b ", "--user", "b/B")
    assert told["rankings"] == {"without": [], "with": []}
    assert told["notes"] == ["the question is blank: nothing is retrieved"]


# ---------------------------------------------------------------- contracts


def test_the_import_s_document(own: Path) -> None:
    again = report(own, "import", str(write_rows(own.parent / "notes.jsonl", ROWS)))
    assert again["dataset"] == "notes" and again["problems"] == []
    expected = {
        "dialogues": 3,
        "sessions": 3,
        "turns": 203,
        "questions": 4,
        "repaired": 0,
        "unresolved": 0,
        "skipped": 0,
        "failed": 0,
        "imported": 0,
        "updated": 0,
        "unchanged": 207,
    }
    assert {key: again["counts"][key] for key in expected} == expected


def test_a_grown_file_adds_exactly_what_is_new(own: Path) -> None:
    new = {"scope": "b", "id": "b1", "speaker": "B", "text": "No milk, please"}
    grown = write_rows(own.parent / "notes.jsonl", [*ROWS, new])
    counts = report(own, "import", str(grown))["counts"]
    assert (counts["imported"], counts["updated"], counts["unchanged"]) == (1, 0, 207)
    assert report(own, "data", "list")["datasets"][0]["counts"]["turns"] == 204


def test_the_recall_s_document(house: Path) -> None:
    told = report(house, *RECALL)
    # q1: the only memory of its scope; q2: both memories of its scope are its evidence.
    assert told["n"] == 2
    assert told["excluded"] == {"abstention": 1, "without evidence": 1}
    assert told["recall"] == {"1": 0.75, "5": 1.0, "10": 1.0}
    assert told["any"] == {"1": 1.0, "5": 1.0, "10": 1.0}
    assert told["all"] == {"1": 0.5, "5": 1.0, "10": 1.0}
    assert told["mrr"] == 1.0
    assert told["by_category"]["multi-hop"]["n"] == 1
    assert told["by_category"]["multi-hop"]["recall"] == {"1": 1.0, "5": 1.0, "10": 1.0}
    assert told["by_category"]["odd\x1b[31m"]["recall"]["1"] == 0.5


def test_the_ask_s_document(house: Path) -> None:
    arguments = ("--user", "a/A", "--k", "5", "--prior", "speaker", "--lam", "0.7")
    told = report(house, "ask", "notes", TEA, *arguments)
    assert told["question"] == TEA and told["user"] == "a/A"
    assert set(told["rankings"]) == {"without", "with"}
    for hits in told["rankings"].values():
        assert [hit["rank"] for hit in hits] == [1, 2, 3, 4, 5]
        assert len({hit["memory_id"] for hit in hits}) == 5
        scores = [hit["score"] for hit in hits]
        assert scores == sorted(scores, reverse=True)
        for hit in hits:
            assert sum(hit["parts"].values()) == pytest.approx(hit["score"], abs=1e-9)
            assert hit["text"].startswith("A: I drink green tea") and len(hit["sources"]) == 1
    assert [hit["rank_without"] for hit in told["rankings"]["without"]] == [1, 2, 3, 4, 5]
    for hit in told["rankings"]["with"]:
        assert set(hit["raw"]) == set(hit["parts"]) == {"query", "prior"}
        assert 1 <= hit["rank_without"] <= 200
        mixed = 0.7 * hit["raw"]["query"] + 0.3 * hit["raw"]["prior"]
        assert hit["score"] >= mixed  # the mixed vector is shorter than 1


def test_one_person_s_question_meets_nobody_else_s_memories(house: Path) -> None:
    outcome = workbench(house, "ask", "notes", TEA, "--user", "b/B", "--k", "5", "--json")
    for hits in outcome.json["rankings"].values():
        assert [hit["text"] for hit in hits] == ["B: I switched to white tea"]
    assert "green" not in outcome.out + outcome.err
    human = workbench(house, "ask", "notes", TEA, "--user", "B", "--k", "5")
    assert "white tea" in human.out and "green" not in human.out + human.err


def test_runs_lists_what_build_made(house: Path) -> None:
    built = json.loads((house.parent / "built.json").read_text(encoding="utf-8"))
    [listed] = [run for run in report(house, "runs")["runs"] if run["kind"] == "banks"]
    assert listed["run"] == built["run"]
    assert listed["dataset"] == "notes" and listed["counts"]["memories"] == 203
    assert built["run"] in workbench(house, "runs").out


def test_a_second_build_is_the_first_one_and_imports_no_torch(house: Path) -> None:
    first = json.loads((house.parent / "built.json").read_text(encoding="utf-8"))
    assert first["embedded"] == 203
    process = started(house, "build", "notes", "--json", python=("-X", "importtime"))
    outcome = ended(process)
    assert outcome.json == first
    imported = set(re.findall(r"\| +([\w.]+)$", outcome.err, re.MULTILINE))
    assert "workbench.library" in imported
    assert not imported & {"torch", "sentence_transformers", "transformers", "workbench.encoder"}


@pytest.mark.parametrize("question", [["q1"], ["A question never asked before?", "--user", "B"]])
def test_a_question_imports_no_torch(house: Path, question: list[str]) -> None:
    process = started(house, "ask", "notes", *question, "--json", python=("-X", "importtime"))
    outcome = ended(process)
    assert outcome.json["user"] == "b/B"
    assert not re.search(r"\| +(torch|transformers)$", outcome.err, re.MULTILINE)


# ---------------------------------------------------------------- data


def test_data_list_shows_licences(house: Path, tmp_path: Path) -> None:
    shutil.copytree(house, tmp_path / "w")
    report(tmp_path / "w", "import", "sample")
    listed = report(tmp_path / "w", "data", "list")["datasets"]
    assert {one["name"]: one["licence"] for one in listed} == {
        "notes": "not stated by the source",
        "sample": "CC0 1.0",
    }
    assert "CC0 1.0" in workbench(tmp_path / "w", "data", "list").out


def test_an_export_imports_again_as_the_same_dataset(own: Path) -> None:
    path = own.parent / "export.jsonl"
    report(own, "data", "export", "notes", str(path))
    over = report(own, "import", str(path))
    assert over["dataset"] == "notes"
    assert (over["counts"]["imported"], over["counts"]["unchanged"]) == (0, 207)
    elsewhere = report(own.parent / "other", "import", str(path))
    sizes = ("dialogues", "sessions", "turns", "questions", "observations")
    assert [elsewhere["counts"][key] for key in sizes] == [3, 3, 203, 4, 0]
    assert elsewhere["counts"]["imported"] == 207
    copy = own.parent / "copy.jsonl"
    report(own.parent / "other", "data", "export", "notes", str(copy))
    assert copy.read_bytes() == path.read_bytes()


def test_a_locomo_file_survives_export_and_import(test_data: Path, tmp_path: Path) -> None:
    first = report(tmp_path / "w", "import", str(test_data / "locomo" / "locomo10.json"))
    assert [first["counts"][key] for key in ("dialogues", "sessions", "turns", "questions")] == [
        10,
        272,
        5882,
        1986,
    ]
    path = tmp_path / "export.jsonl"
    report(tmp_path / "w", "data", "export", "locomo", str(path))
    again = report(tmp_path / "w", "import", str(path))
    assert (again["counts"]["imported"], again["counts"]["updated"]) == (0, 0)
    other = report(tmp_path / "other", "import", str(path))
    assert other["dataset"] == "locomo" and other["counts"]["turns"] == 5882


def test_a_command_that_only_looks_writes_nothing(house: Path) -> None:
    before = bytes_under(house / "datasets") + bytes_under(house / "banks")
    for arguments in (["runs"], ["verify"], ["data", "list"], RECALL):
        workbench(house, *arguments)
    assert bytes_under(house / "datasets") + bytes_under(house / "banks") == before
