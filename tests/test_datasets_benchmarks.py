"""Benchmarks and the workbench's own format: what an import keeps, mends, refuses and reports."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.datasets import LOADERS, audit, import_file, jsonl, load_dataset, locomo_turns
from workbench.datasets.evidence import parse_references
from workbench.datasets.locomo import named_people
from workbench.datasets.longmemeval import parse_time
from workbench.datasets.personamem import read_options
from workbench.datasets.report import Dataset, ImportLog
from workbench.datasets.source import open_source
from workbench.errors import DataError, UsageError
from workbench.schema import Dialogue, Dimensions, Gold, Memory, Question, Turn
from workbench.workspace import Workspace

FIXTURES = Path(__file__).parent / "data" / "datasets"
PATHS = {
    "locomo": FIXTURES / "locomo.json",
    "longmemeval": FIXTURES / "longmemeval.json",
    "personamem": FIXTURES / "personamem",
    "jsonl": FIXTURES / "own.jsonl",
}


def read(path: Path, key: str, name: str = "x") -> tuple[Dataset, ImportLog]:
    log = ImportLog()
    dataset = LOADERS[key].load(open_source(path, log), name, log)
    log.check()
    return dataset, log


def said(log: ImportLog, kind: str) -> list[str]:
    return [f"{one.where}: {one.why}" for one in log.problems if one.kind == kind]


Write = Callable[[Any], Path]


@pytest.fixture
def written(tmp_path: Path) -> Write:
    """Writes a value as a JSON file."""

    def write(value: Any) -> Path:
        path = tmp_path / "data.json"
        path.write_text(json.dumps(value), encoding="utf-8")
        return path

    return write


def with_changed(path: Path, change: Callable[[Any], object]) -> Any:
    data = json.loads(path.read_text("utf-8"))
    change(data)
    return data


# ---------------------------------------------------------------- every format


@pytest.mark.parametrize("key", PATHS)
def test_conformance(key: str) -> None:
    """Ids are unique in their scope, gold resolves, and the source is recognised as itself."""
    log = ImportLog()
    source = open_source(PATHS[key], log)
    assert next(name for name, one in LOADERS.items() if one.recognises(source)) == key
    dataset, _ = read(PATHS[key], key)
    turns = Counter((d.scope, t.id) for d in dataset.dialogues for t in (*d.turns, *d.aside))
    sessions = {(d.scope, session) for d in dataset.dialogues for session in d.sessions}
    assert turns and max(turns.values()) == 1
    assert dataset.questions
    for question in dataset.questions:
        assert {(question.scope, turn) for turn in question.gold.evidence} <= turns.keys()
        assert {(question.scope, name) for name in question.gold.sessions} <= sessions
        assert question.scope in dataset.scopes
    assert len({question.id for question in dataset.questions}) == len(dataset.questions)


@pytest.mark.parametrize("key", PATHS)
def test_imports_through_the_workspace_and_exports_again(
    key: str, workspace: Workspace, tmp_path: Path
) -> None:
    first = import_file(workspace, PATHS[key], name="data")
    assert first.format == key
    stored = load_dataset(workspace, "data")
    exported = tmp_path / "exported.jsonl"
    exported.write_bytes(b"".join(jsonl.export(stored)))
    again = import_file(workspace, exported, name="data")
    assert (again.counts["imported"], again.counts["updated"]) == (0, 0)
    assert again.counts["unchanged"] == first.counts["imported"] > 0
    assert load_dataset(workspace, "data") == stored


@pytest.mark.parametrize("key", ["locomo", "longmemeval", "personamem"])
@pytest.mark.parametrize("value", [{}, [], [1], "text", 3, None, [[]], [{"mapping": []}]])
def test_odd_json_is_not_recognised(key: str, value: Any, written: Write) -> None:
    assert not LOADERS[key].recognises(open_source(written(value), ImportLog()))


# ---------------------------------------------------------------- LoCoMo


@pytest.mark.parametrize(
    ("raw", "resolved", "unresolved"),
    [
        (["D8:6; D9:17"], ["D8:6", "D9:17"], []),
        (["D9:1 D4:4 D4:6"], ["D9:1", "D4:4", "D4:6"], []),
        (["D1:14", "D:11:26"], ["D1:14", "D11:26"], []),
        (["D1:18", "D", "D1:20"], ["D1:18", "D1:20"], ["D"]),
        (["D30:05"], ["D30:5"], []),
        (["D10:19"], [], ["D10:19"]),
        (["D4:5", "D4:5", "D5:5"], ["D4:5", "D5:5"], []),
        ([], [], []),
        (None, [], []),
        (["D12:05"], [], ["D12:05"]),
        ([7, "D4:5"], ["D4:5"], ["7"]),
        (["D4:5, D5:5"], ["D4:5", "D5:5"], []),
    ],
)
def test_evidence_is_mended_only_towards_existing_turns(
    raw: Any, resolved: list[str], unresolved: list[str]
) -> None:
    known = {"D8:6", "D9:17", "D9:1", "D4:4", "D4:6", "D1:14", "D11:26", "D1:18", "D1:20"}
    known |= {"D30:5", "D10:16", "D4:5", "D5:5"}
    found = parse_references(raw, known)
    assert list(found.resolved) == resolved
    assert list(found.unresolved) == unresolved


def test_locomo_sessions_pictures_and_times() -> None:
    dataset, log = read(PATHS["locomo"], "locomo")
    [dialogue] = dataset.dialogues
    assert dialogue.sessions == ("session_2", "session_10")
    assert [turn.time for turn in dialogue.turns] == [
        datetime(2023, 5, 8, 13, 56),
        datetime(2023, 6, 1, 0, 5),
        datetime(2023, 6, 1, 0, 5),
    ]
    assert [turn.caption for turn in dialogue.turns] == [
        "a photo of a red kayak on a dock",
        "a photo of two loaves",
        None,
    ]
    assert said(log, "warning") == ["locomo.json: 1 date without dialogue"]
    assert dataset.splits == {"conv-26": "train"}
    # 3 turns, 3 questions and 3 observations, of which one rests on a turn that does not exist.
    assert (log.counts["read"], log.counts["written"], log.counts["skipped"]) == (9, 8, 1)


def test_locomo_questions_and_their_gold() -> None:
    dataset, log = read(PATHS["locomo"], "locomo")
    show, loaves, colour = dataset.questions
    assert show.id == "conv-26/0" and show.category == "single-hop" and show.people == ("Ana",)
    assert loaves.gold == Gold(
        answer="2", evidence=("D10:1", "D2:1"), sessions=("session_10", "session_2")
    )
    assert loaves.people == ("Bo",) and loaves.category == "multi-hop"
    assert colour.abstention and colour.gold.answer is None and colour.category == "adversarial"
    assert colour.gold.unresolved == ("D3:9",)
    assert "locomo.json: conv-26, question 2: names no turn of the conversation" in said(
        log, "unresolved"
    )
    assert log.counts["evidence_irregular"] == 2 and log.counts["evidence_empty"] == 0


def test_locomo_observations_keep_owner_and_sources() -> None:
    dataset, _ = read(PATHS["locomo"], "locomo")
    kayak, bread = dataset.observations
    assert (kayak.text, kayak.owner, kayak.subject) == ("Ana has seen a red kayak.", "Ana", "Ana")
    assert kayak.sources == ("D2:1",) and kayak.time == datetime(2023, 5, 8, 13, 56)
    assert bread.sources == ("D10:1", "D10:2") and bread.session == "session_10"
    assert kayak.id.startswith("o:") and kayak.id != bread.id


def test_locomo_misspelt_captions_are_not_lost_silently(written: Write) -> None:
    def misspell(data: Any) -> None:
        turn = data[0]["conversation"]["session_2"][0]
        turn["blip_captions"] = turn.pop("blip_caption")

    _, log = read(written(with_changed(PATHS["locomo"], misspell)), "locomo")
    assert "turns with img_url but no blip_caption: 1" in " ".join(said(log, "warning"))
    assert "unknown field 'blip_captions' of 1 turns" in " ".join(said(log, "warning"))


@pytest.mark.parametrize(
    ("path", "value", "why"),
    [
        (("conversation", "session_2", 0), {"dia_id": "D2:1", "text": "x"}, "field `speaker`"),
        (("conversation", "session_2", 0), "a text", "Expected `object`"),
        (("conversation", "session_2", 0, "text"), 5, "Expected `str`"),
        (("conversation", "session_2"), {"a": 1}, "not a list of turns"),
        (("conversation", "session_10", 1, "dia_id"), "D10:1", "a second turn has the id"),
        (("qa", 0, "category"), 6, "unknown category id 6"),
        (("qa", 0), [], "Expected `object`"),
        (("observation", "session_2_observation", "Ana", 0), ["text alone"], "not a pair"),
    ],
)
def test_locomo_malformed_records_fail_alone(
    path: tuple[str | int, ...], value: Any, why: str, written: Write
) -> None:
    def spoil(data: Any) -> None:
        target = data[0]
        for step in path[:-1]:
            target = target[step]
        target[path[-1]] = value

    dataset, log = read(written(with_changed(PATHS["locomo"], spoil)), "locomo")
    [failure] = said(log, "failed")
    assert failure.startswith("data.json: conv-26, ") and why in failure
    assert dataset.dialogues[0].turns and dataset.questions


@pytest.mark.parametrize("key", ["locomo", "longmemeval"])
def test_a_broken_first_record_does_not_hide_the_format(
    key: str, written: Write, workspace: Workspace
) -> None:
    records = json.loads(PATHS[key].read_text("utf-8"))
    report = import_file(workspace, written([{"broken": 1}, *records]))
    assert report.format == key and report.counts["failed"] == 1


def test_locomo_conversations_without_an_id_or_with_a_taken_one_fail(written: Write) -> None:
    [good] = json.loads(PATHS["locomo"].read_text("utf-8"))
    dataset, log = read(written([good, {"conversation": {}}, good, 3]), "locomo")
    assert len(dataset.dialogues) == 1 and log.counts["failed"] == 3


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("12:05 am on 1 June, 2023", datetime(2023, 6, 1, 0, 5)),
        ("12:30 pm on 29 February, 2024", datetime(2024, 2, 29, 12, 30)),
        ("11:59 PM on 31 December, 2023", datetime(2023, 12, 31, 23, 59)),
        ("1:00 pm on 29 February, 2023", None),
        ("13:00 pm on 1 June, 2023", None),
        ("1:00 pm on 1 juin, 2023", None),
        (None, None),
    ],
)
def test_locomo_times(text: str | None, time: datetime | None) -> None:
    assert locomo_turns.parse_time(text) == time


def test_locomo_times_do_not_depend_on_the_locale() -> None:
    code = (
        "import locale\n"
        "for name in ('de_DE.UTF-8', 'fr_FR.UTF-8', 'C'):\n"
        "    try: locale.setlocale(locale.LC_ALL, name); break\n"
        "    except locale.Error: pass\n"
        "from workbench.datasets.locomo_turns import parse_time\n"
        "print(parse_time('1:56 pm on 8 May, 2023').isoformat())"
    )
    root = Path(__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root
    )
    assert done.stdout.strip() == "2023-05-08T13:56:00"


@pytest.mark.parametrize(
    ("text", "people"),
    [
        ("When did Melanie run?", ("Melanie",)),
        ("Where is melanie's dog?", ("Melanie",)),
        ("Did Mel swim?", ("Melanie",)),
        ("What do Andrew and Melanie share?", ("Melanie", "Andrew")),
        ("What is shared, And why?", ("Melanie", "Andrew")),
        ("Who is Melanieson?", ("Melanie", "Andrew")),
        ("Did Me swim?", ("Melanie", "Andrew")),
        ("Who likes tea?", ("Melanie", "Andrew")),
    ],
)
def test_people_that_a_question_names(text: str, people: tuple[str, ...]) -> None:
    turns = (
        Turn(id="1", session="1", speaker="Melanie", text="Salt and pepper"),
        Turn(id="2", session="1", speaker="Andrew", text="Yes"),
    )
    assert named_people(text, Dialogue(id="c", scope="c", turns=turns)) == people


def test_locomo_the_real_file(test_data: Path) -> None:
    dataset, log = read(test_data / "locomo" / "locomo10.json", "locomo")
    turns = [turn for dialogue in dataset.dialogues for turn in dialogue.turns]
    assert len(dataset.dialogues) == 10 and len(turns) == 5882
    assert sum(len(dialogue.sessions) for dialogue in dataset.dialogues) == 272
    assert Counter(question.category for question in dataset.questions) == {
        "multi-hop": 282,
        "temporal": 321,
        "open-domain": 96,
        "single-hop": 841,
        "adversarial": 446,
    }
    counts = log.counts
    assert counts["failed"] == counts["skipped"] == 0
    assert counts["evidence_irregular"] == 9
    assert counts["evidence_empty"] == 4
    assert counts["evidence_duplicate"] == 1
    assert said(log, "warning") == ["locomo10.json: 16 dates without dialogue"]
    evidence = {question.id: question.gold for question in dataset.questions}
    assert "D11:26" in evidence["conv-43/18"].evidence
    assert evidence["conv-50/69"].evidence == ("D30:5",)
    assert evidence["conv-42/58"].unresolved == ("D10:19",)
    assert all(dialogue.turns[0].time for dialogue in dataset.dialogues)
    splits = Counter(
        dataset.splits[q.scope] for q in dataset.questions if q.category != "adversarial"
    )
    assert splits == {"train": 152, "validation": 81, "test": 1307}


def test_audit_of_the_real_file(test_data: Path) -> None:
    dataset, log = read(test_data / "locomo" / "locomo10.json", "locomo")
    overlaid = audit.overlay(dataset, test_data / "locomo" / "audit_errors.json", log)
    log.check()
    pairs = [(one, one.audited) for one in overlaid.questions if one.audited is not None]
    assert len(pairs) == log.counts["audited"] == 156
    assert sum(one.gold.answer != gold.answer for one, gold in pairs) == 120
    assert sum(one.audit != "WRONG_CITATION" for one, _ in pairs) == 99
    assert Counter(one.category for one, _ in pairs) == {
        "multi-hop": 53,
        "temporal": 36,
        "open-domain": 10,
        "single-hop": 57,
    }
    sunrise = next(one for one in overlaid.questions if one.id == "conv-26/1")
    assert sunrise.gold.evidence == ("D1:12",)
    assert sunrise.audited == Gold(answer="2022", evidence=("D1:14",), sessions=("session_1",))
    assert [one.gold for one in overlaid.questions] == [one.gold for one in dataset.questions]


def test_audit_rows_that_match_nothing_fail(written: Write) -> None:
    row = {
        "question": "What did Ana show?",
        "error_type": "HALLUCINATION",
        "correct_answer": "a red kayak",
        "correct_evidence": ["D2:01", "D7:7"],
    }
    rows = [
        row | {"question_id": "locomo_0_qa0"},
        row | {"question_id": "locomo_0_qa1"},
        row | {"question_id": "locomo_0_qa9"},
        row | {"question_id": "locomo_4_qa0"},
        row | {"question_id": "conv-26/0"},
        {"question_id": "locomo_0_qa0"},
    ]
    dataset, log = read(PATHS["locomo"], "locomo")
    failed_before = log.counts["failed"]
    overlaid = audit.overlay(dataset, written(rows), log)
    log.check()
    assert log.counts["failed"] - failed_before == 5 and log.counts["audited"] == 1
    assert "data.json: row 1: locomo_0_qa1 is conv-26/1, whose text differs" in said(log, "failed")
    assert overlaid.questions[0].audited == Gold(
        answer="a red kayak", evidence=("D2:1",), sessions=("session_2",), unresolved=("D7:7",)
    )
    assert overlaid.questions[0].gold.answer == "a kayak"
    assert overlaid.questions[1].audited is None


# ---------------------------------------------------------------- LongMemEval


def test_longmemeval_keeps_roles_date_and_both_levels_of_gold() -> None:
    dataset, log = read(PATHS["longmemeval"], "longmemeval")
    paint, hamster = dataset.questions
    assert paint.asked == datetime(2023, 5, 30, 21, 56) and paint.people == ("user",)
    assert paint.category == "single-session-assistant" and not paint.abstention
    assert paint.gold == Gold(answer="limewash", evidence=("s9:1",), sessions=("s9",))
    turns = dataset.dialogues[0].turns
    assert [(turn.id, turn.role, turn.speaker) for turn in turns] == [
        ("s3:0", "user", "user"),
        ("s9:0", "user", "user"),
        ("s9:1", "assistant", "assistant"),
    ]
    assert turns[2].time == datetime(2023, 5, 24, 3, 21)
    assert hamster.abstention and hamster.asked is None and hamster.gold.answer == "3"
    assert dataset.dialogues[1].sessions == ("s1", "s1#2")
    assert hamster.gold.sessions == ("s1",) and hamster.gold.unresolved == ("s7",)
    warnings = " ".join(said(log, "warning"))
    assert "q1: the haystack was not sorted" in warnings
    assert "q2_abs: the session id s1 is repeated" in warnings


def test_longmemeval_warns_of_a_question_older_than_its_haystack(written: Write) -> None:
    def age(data: Any) -> None:
        data[0]["question_date"] = "2023/05/22 (Mon) 10:00"

    _, log = read(written(with_changed(PATHS["longmemeval"], age)), "longmemeval")
    [warning] = [one for one in log.problems if "dated before" in one.why]
    assert warning.where == "data.json: q1" and warning.raw == "s9"


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        ("haystack_dates", ["2023/05/24 (Wed) 03:21"], "1 haystack_dates"),
        ("haystack_sessions", "text", "Expected `array`"),
        ("question", None, "Expected `str`"),
        ("question_id", "q2_abs", "a second record"),
    ],
)
def test_longmemeval_broken_records_fail_alone(
    field: str, value: Any, why: str, written: Write
) -> None:
    def spoil(data: Any) -> None:
        data.reverse()
        data[1][field] = value

    dataset, log = read(written(with_changed(PATHS["longmemeval"], spoil)), "longmemeval")
    assert [question.id for question in dataset.questions] == ["q2_abs"]
    [failure] = said(log, "failed")
    assert why in failure


def test_longmemeval_a_broken_message_keeps_the_ids_of_the_others(written: Write) -> None:
    def spoil(data: Any) -> None:
        data[0]["haystack_sessions"][0][0] = {"role": "narrator", "content": "x"}

    dataset, log = read(written(with_changed(PATHS["longmemeval"], spoil)), "longmemeval")
    assert [turn.id for turn in dataset.dialogues[0].turns] == ["s3:0", "s9:1"]
    assert log.counts["failed"] == 1 and dataset.questions[0].gold.evidence == ("s9:1",)


def test_longmemeval_times() -> None:
    assert parse_time("2023/05/24 (Wed) 03:21") == datetime(2023, 5, 24, 3, 21)
    assert parse_time("2023/05/24 (Mi) 03:21") == datetime(2023, 5, 24, 3, 21)
    assert parse_time("2023/02/30 (Thu) 03:21") is None
    assert parse_time(None) is None


def test_longmemeval_the_real_records(test_data: Path) -> None:
    dataset, log = read(test_data / "longmemeval" / "two_exact.json", "longmemeval")
    assert [q.abstention for q in dataset.questions] == [False, True]
    assert sum(len(q.gold.evidence) for q in dataset.questions) == 3
    assert len([w for w in said(log, "warning") if "dated before" in w]) == 1
    derived, log = read(test_data / "longmemeval" / "twenty_derived.json", "longmemeval")
    assert len(derived.questions) == 20 and all(q.asked is None for q in derived.questions)
    assert all(isinstance(q.gold.answer, str) for q in derived.questions)
    assert len([w for w in said(log, "warning") if "not sorted" in w]) == 2


# ---------------------------------------------------------------- PersonaMem


@pytest.mark.parametrize("path", ["personamem", "personamem/questions_tiny.json"])
def test_personamem_sessions_prefixes_and_visibility(path: str) -> None:
    dataset, log = read(FIXTURES / path, "personamem")
    [dialogue] = dataset.dialogues
    assert [(turn.id, turn.session, turn.text) for turn in dialogue.turns] == [
        ("s0:1", "s0", "I like sencha. User: really."),
        ("s0:2", "s0", "User: said to be fine."),
        ("s0:3", "s0", "Assistant: is not my name"),
        ("s1:5", "s1", "Oolong it is."),
    ]
    assert [turn.aside for turn in dialogue.aside] == ["system", "system"]
    tea, now = dataset.questions
    assert tea.until == "s0:2" and tea.gold.answer == "(b) Sencha, since you like it."
    assert now.until == "s1:5" and now.text == "And now?"
    assert now.choices == ('(a) It\'s "oolong" now.', "(b) Sencha.")
    # 6 messages and 3 questions; two system messages and the question without history are left out.
    assert (log.counts["read"], log.counts["written"], log.counts["skipped"]) == (9, 6, 3)


def test_personamem_histories_alone() -> None:
    path = FIXTURES / "personamem" / "shared_contexts_tiny.jsonl"
    dataset, _ = read(path, "personamem")
    assert len(dataset.dialogues[0].turns) == 4 and not dataset.questions


@pytest.mark.parametrize(
    ("field", "value", "why"),
    [
        ("all_options", "__import__('os').getcwd()", "neither a JSON list"),
        ("all_options", "[1, 2]", "not a list of texts"),
        ("correct_answer", "(z)", "0 options begin"),
        ("end_index_in_shared_context", 1, "no message to see"),
        ("end_index_in_shared_context", "3", "Expected `int`"),
    ],
)
def test_personamem_broken_questions_fail_alone(
    field: str, value: Any, why: str, tmp_path: Path
) -> None:
    rows = json.loads((FIXTURES / "personamem" / "questions_tiny.json").read_text("utf-8"))
    rows[0][field] = value
    (tmp_path / "questions_tiny.json").write_text(json.dumps(rows), encoding="utf-8")
    contexts = (FIXTURES / "personamem" / "shared_contexts_tiny.jsonl").read_bytes()
    (tmp_path / "shared_contexts_tiny.jsonl").write_bytes(contexts)
    dataset, log = read(tmp_path / "questions_tiny.json", "personamem")
    assert [question.id for question in dataset.questions] == ["p2"]
    [failure] = said(log, "failed")
    assert failure.startswith("questions_tiny.json: question 0: ") and why in failure


def test_personamem_options_in_both_spellings() -> None:
    assert read_options('["a", "b"]') == ("a", "b")
    assert read_options("['a', \"b's\"]") == ("a", "b's")
    with pytest.raises(DataError):
        read_options("[" * 2000)


def test_personamem_the_real_files(test_data: Path) -> None:
    dataset, log = read(test_data / "personamem" / "questions_32k.json", "personamem")
    assert len(dataset.questions) == 17 and len(dataset.dialogues) == 2
    assert len([one for one in said(log, "skipped") if "is not here" in one]) == 572
    assert log.counts["failed"] == 0
    assert all(one.gold.answer in one.choices for one in dataset.questions)
    # These three questions are themselves messages of their history: the message at `end`.
    texts = {d.scope: {t.id: t.text for t in d.turns} for d in dataset.dialogues}
    repeated = [q for q in dataset.questions if q.text in texts[q.scope].values()]
    assert repeated
    for question in repeated:
        ids = list(texts[question.scope])
        place = ids.index(question.until or "")
        assert question.text in (texts[question.scope][one] for one in ids[place : place + 2])


# ---------------------------------------------------------------- our own JSONL


def test_jsonl_defaults_and_gold() -> None:
    dataset, log = read(PATHS["jsonl"], "jsonl")
    assert (dataset.licence, dataset.splits) == ("CC0 1.0", {"ana": "test"})
    [dialogue] = dataset.dialogues[:1]
    assert (dialogue.id, dialogue.scope, dialogue.title) == ("d1", "ana", "Tea")
    assert dialogue.turns[0].time == datetime(2024, 1, 1, 8, tzinfo=UTC)
    assert dialogue.turns[1].id == "s1:2"
    tea, cheese = dataset.questions
    assert tea.gold == Gold(
        answer="white tea", evidence=("t1",), sessions=("s1",), unresolved=("t9",)
    )
    assert tea.people == ("Ana",)
    assert cheese.id == "q4" and cheese.abstention
    [fact] = dataset.observations
    assert (fact.subject, fact.session) == ("Ana", "s1")
    assert fact.time == datetime(2024, 1, 1, 8, tzinfo=UTC)
    assert log.counts["read"] == log.counts["written"] == 6


def test_jsonl_text_that_will_not_go_through_utf8(tmp_path: Path, workspace: Workspace) -> None:
    lines = [
        '{"text":"ok \\ud83d"}',
        '{"text":"a\\u0000b"}',
        '{"text":"שלום \\u202e123"}',
        '{"text":"👩‍👩‍👧 naïve / nai\\u0308ve"}',
        "",
        "this is no JSON",
        '{"text":"last"}',
    ]
    path = tmp_path / "my notes.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + "\n".join(lines).encode())
    report = import_file(workspace, path)
    assert report.dataset == "my-notes"
    turns = load_dataset(workspace, "my-notes").dialogues[0].turns
    assert [turn.text for turn in turns] == [
        "ok \ufffd",
        "a\ufffdb",
        "שלום \u202e123",
        "👩‍👩‍👧 naïve / nai\u0308ve",
        "last",
    ]
    assert [turn.id for turn in turns] == ["1:0", "1:1", "1:2", "1:3", "1:5"]
    assert (turns[0].speaker, turns[0].role, turns[0].session) == ("user", "person", "1")
    [failed] = [one for one in report.problems if one.kind == "failed"]
    assert failed.where == "my notes.jsonl, line 6"
    assert report.counts["repaired"] == 2 and report.counts["read"] == 6


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{}", "missing required field `text`"),
        ('{"text": 5}', "Expected `str`"),
        ('{"text": "x", "role": "robot"}', "Invalid enum value"),
        ('{"text": "x", "time": "yesterday"}', "not ISO 8601"),
        ('{"kind": "memo", "text": "x"}', "unknown kind 'memo'"),
        ('{"kind": ["turn"], "text": "x"}', "unknown kind"),
        ("[1]", "a row is a JSON object"),
        ('{"text": "x", "id": "1:0"}', "already has the id '1:0'"),
        ('{"kind": "question", "text": "x", "until": "t7"}', "is no turn"),
        ('{"kind": "observation", "text": "x", "sources": ["t7"]}', "none of its sources"),
        ("[" * 100_000, "not a row"),
        ('{"text": "caf\xe9"}', "not a row"),
    ],
)
def test_jsonl_bad_lines_fail_with_their_number(line: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"text": "first"}\n\n' + line.encode("latin-1") + b'\n{"text": "last"}')
    dataset, log = read(path, "jsonl")
    assert [turn.text for turn in dataset.dialogues[0].turns] == ["first", "last"]
    [failure] = said(log, "failed")
    assert failure.startswith("x.jsonl, line 3: ") and why in failure


def test_jsonl_remarks(tmp_path: Path) -> None:
    rows = [
        {"text": "a", "id": "t1", "mood": "good"},
        {"text": "a", "id": "t1", "mood": "bad"},
        {"text": "b", "aside": "hidden"},
        {"text": "c", "time": "2023-05-08"},
    ]
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    dataset, log = read(path, "jsonl")
    [warning] = said(log, "warning")
    assert "unknown field 'mood'" in warning
    assert said(log, "skipped") == [
        "x.jsonl, line 2: a duplicate",
        "x.jsonl, line 3: set aside: hidden",
    ]
    assert [turn.aside for turn in dataset.dialogues[0].aside] == ["hidden"]
    assert dataset.dialogues[0].turns[1].time == datetime(2023, 5, 8)


def test_jsonl_gold_names_only_what_is_part_of_the_conversation(tmp_path: Path) -> None:
    rows = [
        {"kind": "question", "text": "?", "evidence": ["t2", "t1"], "sessions": ["s1", "s2"]},
        {"id": "t1", "session": "s1", "text": "said"},
        {"id": "t2", "session": "s2", "text": "hidden", "aside": "hidden"},
    ]
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    dataset, _ = read(path, "jsonl")
    assert dataset.questions[0].gold == Gold(
        evidence=("t1",), sessions=("s1",), unresolved=("t2", "s2")
    )


def test_jsonl_files_of_a_folder_do_not_clash(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.jsonl").write_text(f'{{"text": "from {name}"}}\n', encoding="utf-8")
    dataset, log = read(tmp_path, "jsonl")
    assert [turn.id for turn in dataset.dialogues[0].turns] == ["1:a.jsonl:0", "1:b.jsonl:0"]
    assert log.counts["failed"] == 0


storable = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
named = storable.filter(bool)
zones = st.sampled_from([None, UTC, timezone(timedelta(hours=5, minutes=45))])
times = st.none() | st.datetimes(timezones=zones)


@st.composite
def datasets(draw: st.DrawFn) -> Dataset:
    scope_names = draw(st.lists(named, min_size=1, max_size=2, unique=True))
    dialogues: list[Dialogue] = []
    questions: list[Question] = []
    memories: list[Memory] = []
    for scope in scope_names:
        turn_names = iter(draw(st.lists(named, min_size=4, max_size=4, unique=True)))
        for number in range(draw(st.integers(1, 2))):
            spoken = tuple(
                draw(turns(next(turn_names), None)) for _ in range(draw(st.integers(0, 1)))
            )
            aside = (draw(turns(next(turn_names), draw(named))),) if draw(st.booleans()) else ()
            dialogues.append(
                Dialogue(
                    id=f"{number}", scope=scope, title=draw(storable), turns=spoken, aside=aside
                )
            )
        known = [turn for one in dialogues if one.scope == scope for turn in one.turns]
        questions.append(draw(asked_of(scope, known)))
        if known:
            memories.append(draw(observed_in(scope, known[0])))
    return Dataset(
        name="x",
        format=draw(st.sampled_from(["jsonl", "locomo"])),
        licence=draw(named),
        dialogues=tuple(dialogues),
        questions=tuple(questions),
        observations=tuple(memories),
        splits={scope_names[0]: draw(storable)},
    )


@st.composite
def turns(draw: st.DrawFn, name: str, aside: str | None) -> Turn:
    return Turn(
        id=name,
        session=draw(storable),
        speaker=draw(storable),
        text=draw(storable),
        role=draw(st.sampled_from(["person", "user", "assistant", "tool"])),
        time=draw(times),
        caption=draw(st.none() | storable),
        attachment=draw(st.none() | storable),
        aside=aside,
    )


@st.composite
def observed_in(draw: st.DrawFn, scope: str, source: Turn) -> Memory:
    return Memory(
        id=draw(named),
        scope=scope,
        kind="observation",
        text=draw(storable),
        sources=(source.id,),
        owner=draw(storable),
        subject=draw(storable),
        role=draw(st.sampled_from(["person", "assistant"])),
        session=draw(storable),
        time=draw(times),
        dimensions=Dimensions(tense=draw(st.sampled_from(["past", "unknown"]))),
    )


@st.composite
def asked_of(draw: st.DrawFn, scope: str, known: list[Turn]) -> Question:
    chosen = known[: draw(st.integers(0, len(known)))]
    gold = Gold(
        answer=draw(st.none() | storable),
        evidence=tuple(turn.id for turn in chosen),
        sessions=tuple(dict.fromkeys(turn.session for turn in known[len(chosen) :])),
        unresolved=tuple(draw(st.lists(storable, max_size=2))),
    )
    return Question(
        id=f"q of {scope}",
        scope=scope,
        text=draw(storable),
        category=draw(st.sampled_from(["uncategorised", "adversarial", "temporal"])),
        people=tuple(draw(st.lists(storable, max_size=2))),
        gold=gold,
        audited=gold if draw(st.booleans()) else None,
        audit=draw(st.none() | storable),
        asked=draw(times),
        until=known[-1].id if draw(st.booleans()) and known else None,
        abstention=draw(st.booleans()),
        choices=tuple(draw(st.lists(storable, max_size=2))),
    )


@given(dataset=datasets())
@settings(max_examples=60, deadline=None)
def test_jsonl_export_imports_as_the_same_dataset(
    dataset: Dataset, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("round") / "x.jsonl"
    path.write_bytes(b"".join(jsonl.export(dataset)))
    again, log = read(path, "jsonl")
    assert msgspec.to_builtins(again) == msgspec.to_builtins(dataset)
    assert again == dataset and not said(log, "failed")


# ---------------------------------------------------------------- the front door


def test_an_unknown_shape_says_what_was_found(written: Write, workspace: Workspace) -> None:
    with pytest.raises(DataError, match=r"locomo, longmemeval.*a list of 1.*keys colour, size"):
        import_file(workspace, written([{"colour": 1, "size": 2}]))


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda folder: folder / "absent.json", "no such file or folder"),
        (lambda folder: folder, "holds no .json"),
        (lambda folder: (folder / "e.json", (folder / "e.json").touch())[0], "empty"),
    ],
)
def test_nothing_to_read_is_a_data_error(
    make: Callable[[Path], Path], why: str, tmp_path: Path, workspace: Workspace
) -> None:
    with pytest.raises(DataError, match=why):
        import_file(workspace, make(tmp_path))
    assert not workspace.root.exists()


def test_a_file_of_failures_is_a_data_error(tmp_path: Path, workspace: Workspace) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": 1}\n{"text": 2}\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"none of its 2 records.*line 1"):
        import_file(workspace, path)
    with pytest.raises(UsageError, match="unknown format 'locmo'"):
        import_file(workspace, path, format="locmo")


def test_a_source_of_no_records_is_legal_and_said(written: Write, workspace: Workspace) -> None:
    report = import_file(workspace, written([]), format="longmemeval")
    assert report.counts["read"] == 0
    assert [one.why for one in report.problems] == ["holds no records; the dataset gains none"]


def test_the_sample(workspace: Workspace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    report = import_file(workspace, "sample")
    assert report.dataset == "sample" and report.licence == "CC0 1.0"
    assert report.counts["failed"] == report.counts["unresolved"] == 0
    assert report.counts["turns"] == 355 and report.counts["questions"] == 127
    dataset = load_dataset(workspace, "sample")
    assert sum(question.abstention for question in dataset.questions) == 12


def test_importing_the_package_stays_cheap() -> None:
    code = (
        "import sys, workbench.datasets\n"
        "print([m for m in ('torch', 'numpy', 'polars', 'http.client') if m in sys.modules])"
    )
    root = Path(__file__).parent.parent
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root
    )
    assert done.stdout.strip() == "[]"
