"""Scoring a file of answers: where every question ends, means by hand, the real external file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from shell import report, workbench, write_rows
from workbench.answer_file import Answers, read_answers
from workbench.answer_metrics import MEASURES
from workbench.datasets import import_file, load_dataset
from workbench.datasets.report import Dataset
from workbench.errors import DataError, UsageError
from workbench.runs import COLUMNS, load_run
from workbench.schema import Gold, Question
from workbench.score import score, score_file
from workbench.workspace import Workspace

ANSWERS_FILE = "locomo/full_context_gpt-4o-mini.jsonl"


def asked(id: str, answer: str | None, category: str = "single-hop", **given: Any) -> Question:
    scope = id.partition("/")[0]
    gold = Gold(answer=answer)
    return Question(id=id, scope=scope, text="?", category=category, gold=gold, **given)


def asking(*questions: Question) -> Dataset:
    return Dataset(name="tiny", format="jsonl", questions=questions)


def answering(**said: str) -> Answers:
    return Answers(hypotheses={id.replace("_", "/"): text for id, text in said.items()})


TINY = asking(
    asked("a/0", "Paris"),
    asked("a/1", "two dogs"),
    asked("b/0", "tea, milk", "multi-hop"),
    asked("b/1", "???"),
    asked("b/2", "a wrong one", abstention=True),
    asked("b/3", None),
    asked("b/4", " "),
)


# ---------------------------------------------------------------- means


def test_means_by_hand() -> None:
    answers = answering(a_0="Paris.", a_1="two", b_0="milk", b_1="Paris", b_2="x", z_9="extra")
    frame, found = score(TINY, answers)
    # SQuAD F1: 1, 2 * 1 / 3, 2 * 1 / 3.
    squad = found["measures"]["f1_squad"]
    assert found["n"] == 3
    assert squad["micro"] == pytest.approx((1 + 2 / 3 + 2 / 3) / 3)
    assert squad["macro"] == pytest.approx(((1 + 2 / 3) / 2 + 2 / 3) / 2)
    single = squad["by_category"]["single-hop"]
    assert (single["n"], single["mean"]) == (2, pytest.approx(5 / 6))
    # Official, multi-hop: "tea" finds nothing, "milk" all.
    assert found["measures"]["f1_locomo"]["by_category"]["multi-hop"]["mean"] == 0.5
    assert found["measures"]["exact"]["micro"] == pytest.approx(1 / 3)
    assert found["measures"].keys() == MEASURES.keys() == found["methods"].keys()
    assert found["answer_length"] == {
        "words": 1.0,
        "median": 1.0,
        "gold_words": pytest.approx(5 / 3),
        "empty": 0,
    }
    assert dict(frame.schema) == COLUMNS
    values = frame.filter(pl.col("metric") == "f1_squad").sort("question")
    assert values["question"].to_list() == ["a/0", "a/1", "b/0"]
    assert values["scope"].to_list() == ["a", "a", "b"]
    assert values["value"].to_list() == pytest.approx([1, 2 / 3, 2 / 3])
    assert frame["metric"].n_unique() == len(MEASURES) + 1  # and answer_words


def test_intervals_hold_their_mean_and_repeat() -> None:
    rng = np.random.default_rng(5)
    questions = [
        asked(f"c{i % 6}/{i}", "red green", ("temporal", "multi-hop")[i % 5 == 0])
        for i in range(90)
    ]
    said = {q.id: str(rng.choice(["red", "green blue", "red green", "no"])) for q in questions}
    first = score(asking(*questions), Answers(hypotheses=said)).report
    for one in first["measures"].values():
        for mean, (lo, hi) in (
            (one["micro"], one["interval"]),
            (one["macro"], one["macro_interval"]),
            *((c["mean"], c["interval"]) for c in one["by_category"].values()),
        ):
            assert lo < mean < hi
    assert score(asking(*questions), Answers(hypotheses=said)).report == first


def test_the_macro_interval_follows_the_spread_of_the_category_means() -> None:
    # One rare category swings, the common one stands still: the micro mean hardly moves, while
    # half of the macro mean is the rare category's.
    questions = [asked(f"c{i}/0", "yes", "rare" if i < 20 else "common") for i in range(200)]
    said = {q.id: "yes" if i % 2 or i >= 20 else "no" for i, q in enumerate(questions)}
    one = score(asking(*questions), Answers(hypotheses=said)).report["measures"]["exact"]
    # Standard errors: sqrt(.25 / 20) / 2 = .056 of the macro mean, sqrt(.95 * .05 / 200) = .015.
    macro, micro = (hi - lo for lo, hi in (one["macro_interval"], one["interval"]))
    assert one["macro"] == pytest.approx((0.5 + 1) / 2)
    assert 3.92 * 0.056 * 0.75 < macro < 3.92 * 0.056 * 1.35
    assert 3.92 * 0.015 * 0.75 < micro < 3.92 * 0.015 * 1.35


# ---------------------------------------------------------------- where every question ends


def test_every_question_ends_in_one_place(tmp_path: Path) -> None:
    path = write_rows(
        tmp_path / "answers.jsonl",
        [
            {"question_id": "a/0", "hypothesis": "Paris", "judgments": [True]},
            {"question_id": "a/1", "hypothesis": None},
            {"question_id": "b/2", "hypothesis": 7},  # abstention: excluded, whatever it says
            {"question_id": "z/9", "hypothesis": None},  # no question of ours: extra
            {"question_id": "y/9", "hypothesis": "x"},
            {"question_id": 4, "hypothesis": "x"},
        ],
    )
    found = score(TINY, read_answers(path)).report
    assert found["n"] == 1
    assert found["missing"] == ["b/0"]
    assert found["extra"] == ["y/9", "z/9"]
    assert found["excluded"] == {"abstention": 1, "bad gold": 1, "without gold answer": 2}
    assert found["failed"] == [
        {
            "where": "answers.jsonl, line 2",
            "why": "hypothesis is null, not a string",
            "question": "a/1",
        },
        {
            "where": "answers.jsonl, line 6",
            "why": "question_id is of type int, not a string",
            "question": None,
        },
    ]
    failed = {one["question"] for one in found["failed"]} - {None}
    placed = found["n"] + len(found["missing"]) + len(failed) + sum(found["excluded"].values())
    assert placed == len(TINY.questions)


def test_missing_and_failed_answers_move_no_mean() -> None:
    whole = score(TINY, answering(a_0="Paris")).report
    assert whole["measures"]["exact"]["micro"] == 1
    assert whole["missing"] == ["a/1", "b/0"]


def test_an_empty_answer_counts_as_wrong() -> None:
    found = score(TINY, answering(a_0="", a_1="two dogs", b_0="...")).report
    assert found["n"] == 3
    assert found["measures"]["f1_squad"]["micro"] == pytest.approx(1 / 3)
    assert found["measures"]["bleu1"]["micro"] == pytest.approx(1 / 3)
    assert found["answer_length"]["empty"] == 1


@pytest.mark.parametrize(
    ("rows", "hypotheses", "repeated", "failed"),
    [
        ([("q", "x"), ("q", "x"), ("q", "x")], {"q": "x"}, 2, 0),
        ([("q", "x"), ("q", "y"), ("q", "z"), ("r", "x")], {"r": "x"}, 0, 1),
        ([("q", None), ("q", "x")], {"q": "x"}, 1, 0),  # tried again
        ([("q", "x"), ("q", None)], {"q": "x"}, 1, 0),
        ([("q", None), ("r", "x")], {"r": "x"}, 0, 1),
    ],
)
def test_duplicates(
    tmp_path: Path, rows: list[Any], hypotheses: dict[str, str], repeated: int, failed: int
) -> None:
    listed = [{"question_id": id, "hypothesis": said} for id, said in rows]
    found = read_answers(write_rows(tmp_path / "a.jsonl", listed))
    assert (found.hypotheses, found.repeated) == (hypotheses, repeated)
    assert [one.question for one in found.failed] == ["q"] * failed


def test_odd_files_are_read_and_broken_lines_named(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    row = '{"question_id": "a/0", "hypothesis": "Zürich\\u2014é"}'
    path.write_bytes(f"\ufeff{row}\r\n\r\n[1]\r\n{{oops\r\n{{}}\r\n".encode())
    found = read_answers(path)
    assert found.hypotheses == {"a/0": "Zürich—é"}
    assert [one.where.rpartition(" ")[2] for one in found.failed] == ["3", "4", "5"]
    assert [one.why.partition(" (")[0] for one in found.failed] == [
        "a JSON list, not an object",
        "not JSON",
        "question_id is absent, not a string; hypothesis is absent, not a string",
    ]
    path.write_text(row, encoding="utf-16")
    assert read_answers(path).hypotheses == found.hypotheses


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\n \n", "holds no rows"),
        ("not json", "no row can be used.*line 1"),
        ('{"question_id": "conv-1/0", "hypothesis": "x"}', "'conv-1/0', its like 'a/0'"),
        ('{"question_id": "b/2", "hypothesis": "x"}', "none of the answers"),
    ],
)
def test_nothing_to_score_is_an_error(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        score(TINY, read_answers(path))


def test_an_absent_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"absent\.jsonl"):
        read_answers(tmp_path / "absent.jsonl")


# ---------------------------------------------------------------- audited gold and the ceiling

AUDITED = asking(
    asked("a/0", "Paris"),
    asked("a/1", "2022", audited=Gold(answer="May 2022"), audit="TEMPORAL_ERROR"),
    asked("b/0", "a cup", audited=Gold(answer="a cup (right)"), audit="WRONG_CITATION"),
    asked("b/1", "tea", "multi-hop", audited=Gold(answer="beer"), audit="HALLUCINATION"),
)


def test_the_ceiling_is_what_the_truth_scores_against_the_gold() -> None:
    found = score(AUDITED, answering(a_0="x", a_1="x", b_0="x", b_1="x")).report["ceiling"]
    assert (found["share"], found["disputed"], found["n"]) == (0.5, 2, 4)
    # 1, 2 * 1 / 3, 1 and 0, whatever the answers were.
    squad = found["measures"]["f1_squad"]
    assert squad["micro"] == pytest.approx((1 + 2 / 3 + 1 + 0) / 4)
    assert squad["macro"] == pytest.approx(((1 + 2 / 3 + 1) / 3 + 0) / 2)
    assert found["measures"]["exact"]["micro"] == 0.5


def test_the_ceiling_counts_only_what_was_scored() -> None:
    found = score(AUDITED, answering(a_0="x", a_1="x")).report["ceiling"]
    assert (found["share"], found["disputed"], found["n"]) == (0.5, 1, 2)


def test_audited_gold_replaces_disputed_answers_alone() -> None:
    answers = answering(a_0="Paris", a_1="May 2022", b_0="a cup", b_1="beer")
    original, audited = (score(AUDITED, answers, gold).report for gold in ("original", "audited"))
    assert original["measures"]["exact"]["micro"] == 0.5
    assert audited["measures"]["exact"]["micro"] == 1
    assert audited["ceiling"]["share"] == audited["ceiling"]["measures"]["bleu1"]["micro"] == 1


def test_without_an_audit_there_is_no_ceiling_and_no_audited_gold() -> None:
    assert score(TINY, answering(a_0="x")).report["ceiling"] is None
    with pytest.raises(UsageError, match="--audit"):
        score(TINY, answering(a_0="x"), "audited")


# ---------------------------------------------------------------- real files and the command


def test_the_external_answers_score_as_computed_independently(
    test_data: Path, tmp_path: Path
) -> None:
    workspace = Workspace(tmp_path / "home")
    audit = test_data / "locomo" / "audit_errors.json"
    import_file(workspace, str(test_data / "locomo" / "locomo10.json"), name="locomo", audit=audit)
    found = score_file(workspace, "locomo", test_data / ANSWERS_FILE)
    # data/README.md: micro and macro.
    for name, micro, macro in (
        ("f1_whitespace", 0.2905, 0.2286),
        ("f1_lower", 0.3443, 0.2735),
        ("f1_squad", 0.5158, 0.4403),
        ("f1_locomo", 0.5224, 0.4441),
        ("bleu1", 0.3925, 0.3294),
    ):
        assert found["measures"][name]["micro"] == pytest.approx(micro, abs=1e-3)
        assert found["measures"][name]["macro"] == pytest.approx(macro, abs=1e-3)
    assert (found["n"], found["missing"], found["extra"]) == (1540, [], [])
    assert found["excluded"] == {"abstention": 446}
    counts = {c: one["n"] for c, one in found["measures"]["exact"]["by_category"].items()}
    assert counts == {"multi-hop": 282, "temporal": 321, "open-domain": 96, "single-hop": 841}
    # 99 rows of the audit corrupt a score; none of those answers equals its gold exactly.
    assert found["ceiling"]["disputed"] == 99
    assert found["ceiling"]["share"] == pytest.approx(1 - 99 / 1540)
    assert found["ceiling"]["measures"]["exact"]["micro"] == found["ceiling"]["share"]

    run = load_run(workspace, found["run"])
    assert run.frame.height == 1540 * (len(MEASURES) + 1)
    squad = run.frame.filter(pl.col("metric") == "f1_squad")["value"].mean()
    assert squad == pytest.approx(found["measures"]["f1_squad"]["micro"])
    assert run.manifest["excluded"] == found["excluded"]


def test_longmemeval_answers_are_scored(test_data: Path, workspace: Workspace) -> None:
    source = test_data / "longmemeval" / "two_exact.json"
    import_file(workspace, str(source), name="lme")
    records = json.loads(source.read_text(encoding="utf-8"))
    rows = [{"question_id": r["question_id"], "hypothesis": str(r["answer"])} for r in records]
    path = write_rows(workspace.root / "a.jsonl", rows)
    found = score_file(workspace, "lme", path)
    assert (found["n"], found["excluded"]) == (1, {"abstention": 1})
    assert {one["micro"] for one in found["measures"].values()} == {1.0}


def test_runs_are_named_by_what_they_depend_on(workspace: Workspace, tmp_path: Path) -> None:
    questions = load_dataset(workspace, "sample").questions
    rows = [{"question_id": q.id, "hypothesis": "tea"} for q in questions]
    path = write_rows(tmp_path / "a.jsonl", rows)
    first = score_file(workspace, "sample", path)
    assert score_file(workspace, "sample", path) == first
    write_rows(path, rows[:-1])
    assert score_file(workspace, "sample", path)["run"] != first["run"]


def test_the_command(tmp_path: Path) -> None:
    home = tmp_path / "home"
    questions = load_dataset(Workspace(home), "sample").questions
    right = [{"question_id": q.id, "hypothesis": q.gold.answer or "-"} for q in questions]
    path = write_rows(tmp_path / "a.jsonl", right)
    found = report(home, "score", str(path), "--dataset", "sample")
    answerable = [q for q in questions if q.gold.answer and not q.abstention]
    assert found["n"] == len(answerable) > 100
    assert (found["missing"], found["extra"], found["ceiling"]) == ([], [], None)
    for name in ("f1_whitespace", "f1_lower", "f1_squad", "f1_set", "exact", "bleu1"):
        one = found["measures"][name]
        assert (one["micro"], one["macro"], one["interval"][1]) == (1, 1, 1)
        assert 0.9 < one["interval"][0] <= 1
    assert load_run(Workspace(home), found["run"]).frame.height > 0

    # Without the first answer, with one of nobody's, and a name that could obey a terminal.
    write_rows(path, [*right[1:], {"question_id": "\x1b[31mnobody", "hypothesis": "x"}])
    partial = workbench(home, "score", str(path), "--dataset", "sample")
    assert partial.code == 3
    assert f"missing: 1 ({questions[0].id})" in partial.out
    assert "extra: 1" in partial.out and "\x1b" not in partial.out
    wrong = workbench(home, "score", str(path), "--dataset", "sample", "--gold", "silver", "--json")
    assert (wrong.code, wrong.json["error"]["kind"]) == (2, "UsageError")
