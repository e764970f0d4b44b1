"""`workbench reward …` as its users meet it: commands, exit codes, documents, files."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from reward_model.demo import reward_demo
from reward_model.simulate import SimulationOptions, simulate
from reward_model.store import save_comparisons
from shell import report, workbench
from workbench.cli.demo import demo
from workbench.cli.output import Output
from workbench.errors import UsageError
from workbench.workspace import Workspace

FEATURES = [
    "HEAD",
    "LEN",
    "REL",
    "PROP",
    "ASSUMP",
    "CLOSURE",
    "AXIS",
    "COMMIT",
    "OPT",
    "BREADTH",
    "COST",
    "REGISTER",
]
MADE_UP = "SYNTHETIC: no person gave these judgments"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a small simulated set."""
    folder = tmp_path_factory.mktemp("reward") / "workspace"
    made = report(folder, "reward", "simulate", "--participants", "30", "--comparisons", "240")
    assert made["name"] == "simulated"
    return folder


@pytest.fixture(scope="module")
def evaluated(home: Path) -> Any:
    return report(home, "reward", "evaluate", "simulated", "--repeats", "2")


def own_rows(n: int = 24) -> list[dict[str, str]]:
    """Judgments as a researcher may have written them down: two people, the longer text liked."""
    rows = []
    for number in range(n):
        longer, shorter = "Take the early train, then walk. " * 4, "Take the train."
        liked = number % 3 != 0
        rows.append(
            {
                "Prolific ID": f"p{number % 4}",
                "query": f"How do I get to work on day {number}?",
                "memory_1": "The user commutes by train.",
                "memory_2": "The user likes walking.",
                "with_memory": longer if liked else shorter,
                "without_memory": shorter if liked else longer,
                "order": "memory first" if number % 2 else "memory second",
                "judgment": "A much better" if liked == bool(number % 2) else "B much better",
            }
        )
    return rows


def write_csv(path: Path, rows: list[dict[str, str]]) -> Path:
    with path.open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_the_evaluation_reports_what_others_rely_on(evaluated: Any) -> None:
    assert {"full", "memory_only", "response_only", "majority", "length_only"} <= set(
        evaluated["accuracy"]
    )
    assert set(evaluated["interval"]) == set(evaluated["accuracy"])
    for name, (lo, hi) in evaluated["interval"].items():
        assert 0 <= lo <= evaluated["accuracy"][name] <= hi <= 1
    assert set(evaluated["selective"]) == {"25", "50", "75", "100"}
    assert [row["feature"] for row in evaluated["coefficients"]] == FEATURES
    memory = {row["feature"] for row in evaluated["coefficients"] if row["memory"]}
    assert memory == {"REL", "PROP", "ASSUMP"}
    assert all({"beta", "lo", "hi"} <= set(row) for row in evaluated["coefficients"])
    assert set(evaluated["by_generator"]) <= {f"simulated-{n}" for n in ("GPT", "Gemini", "Claude")}
    assert {"C_chosen", "calibration", "run"} <= set(evaluated)
    assert evaluated["synthetic"] is True
    assert 0 < evaluated["participants"] <= 30 and 0 < evaluated["n"] < 240


def test_baselines_that_were_not_run_say_why(evaluated: Any) -> None:
    rows = {row["baseline"]: row for row in evaluated["baselines"]}
    assert "no language model" in rows["direct judge"]["not_run"]
    assert rows["direct judge"]["accuracy"] is None
    assert rows["random"]["accuracy"] is not None


def test_synthetic_data_are_called_so_wherever_they_are_shown(home: Path) -> None:
    [model] = report(home, "reward", "list")["models"] or [
        report(home, "reward", "fit", "simulated")["model"]
    ]
    for arguments in (
        ("tables", "simulated"),
        ("fit", "simulated"),
        ("evaluate", "simulated", "--repeats", "1"),
        ("explain", model, "synthetic-001/01"),
    ):
        outcome = workbench(home, "reward", *arguments)
        assert outcome.code == 0, outcome.err
        assert outcome.out.startswith(MADE_UP), arguments


def test_an_explanation_adds_up(home: Path) -> None:
    model = report(home, "reward", "fit", "simulated")["model"]
    told = report(home, "reward", "explain", model, "synthetic-002/01")
    total = told["intercept"] + sum(part["contribution"] for part in told["parts"])
    assert total == pytest.approx(told["logit"], abs=1e-12)


def test_a_report_is_written_and_its_figures_can_be_made_again(
    home: Path, evaluated: Any, tmp_path: Path
) -> None:
    page = tmp_path / "report.html"
    report(home, "reward", "export", evaluated["run"], "--to", str(page))
    text = page.read_text(encoding="utf-8")
    assert "SYNTHETIC DATA" in text and "participants" in text
    again = report(home, "reproduce", str(page))
    assert len(again["figures"]) >= 5
    assert all(one["identical"] for one in again["figures"])
    refused = workbench(home, "reward", "export", evaluated["run"], "--to", str(page))
    assert refused.code == 2 and "--force" in refused.err


def test_two_evaluations_are_compared_on_the_same_comparisons(home: Path, evaluated: Any) -> None:
    options = ("--repeats", "2", "--features", "LEN")
    other = report(home, "reward", "evaluate", "simulated", *options)
    told = report(home, "reward", "compare", evaluated["run"], other["run"])
    row = told["measures"]["correct_full"]
    assert row["n"] == evaluated["n"]
    assert row["a"] == pytest.approx(evaluated["accuracy"]["full"])
    assert row["b"] == pytest.approx(other["accuracy"]["full"])
    assert 0 <= row["p"] <= row["p_holm"] <= 1


def test_one_brings_a_spreadsheet_of_ones_own(tmp_path: Path) -> None:
    home = tmp_path / "workspace"
    file = write_csv(tmp_path / "my judgments.csv", own_rows())
    column = ("--column", "participant=Prolific ID")
    told = report(home, "reward", "import", str(file), *column)
    assert (told["name"], told["added"], told["participants"]) == ("my-judgments", 24, 4)
    assert told["synthetic"] is False
    unscored = workbench(home, "reward", "evaluate", "my-judgments")
    assert unscored.code == 2 and "workbench reward features my-judgments" in unscored.err
    scored = report(home, "reward", "features", "my-judgments")
    again = report(home, "reward", "import", str(file), *column)
    # Nothing is new, so the content is what it was, and the scores still belong to it.
    assert (again["unchanged"], again["content"]) == (24, told["content"])
    assert scored["n"] == 24 and not any(scored["missing"].values())
    found = report(home, "reward", "evaluate", "my-judgments", "--folds", "4", "--repeats", "2")
    # The longer text was always preferred, and a third of those had no memories.
    assert found["accuracy"]["length_only"] == 1.0
    assert found["accuracy"]["majority"] == pytest.approx(16 / 24)


def test_refused_rows_are_told_and_the_rest_is_imported(tmp_path: Path) -> None:
    home = tmp_path / "workspace"
    rows = own_rows(6)
    rows[2]["judgment"] = "hm"
    rows[4]["Prolific ID"] = ""
    file = write_csv(tmp_path / "j.csv", rows)
    column = ("--column", "participant=Prolific ID")
    outcome = workbench(home, "reward", "import", str(file), *column, "--json")
    assert outcome.code == 3
    told = outcome.json["report"]
    assert (told["rows"], told["imported"]) == (6, 4)
    assert {(one["line"], one["field"]) for one in told["refused"]} == {
        (4, "judgment"),
        (6, "participant"),
    }


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("evaluate", "nothing"), 2, "nothing"),
        (("evaluate", "simulated", "--features", "HEADY"), 2, "--features takes"),
        (("evaluate", "simulated", "--strengths", "tie"), 2, "--strengths takes"),
        (("evaluate", "simulated", "--scorer", "offline"), 2, "workbench reward features"),
        (("features", "simulated", "--scorer", "oracle"), 2, "there is no scorer 'oracle'"),
        (("fit", "simulated", "--C", "0"), 4, "above 0"),
        (("explain", "zzz", "x"), 2, "workbench reward fit"),
        (("simulate", "--participants", "0"), 2, "participants"),
        (("simulate", "--tie-share", "2"), 2, "tie_share"),
        (("export", "simulated", "--to", "x.docx"), 2, ".jsonl, .csv, .parquet"),
        (("import", "absent.csv"), 4, "absent.csv"),
        (("deidentify", "nothing", "--into", "x"), 2, "nothing"),
    ],
)
def test_what_cannot_be_meant_is_said(
    home: Path, arguments: tuple[str, ...], code: int, said: str
) -> None:
    outcome = workbench(home, "reward", *arguments, "--json")
    assert outcome.code == code, outcome.err
    assert said in outcome.json["error"]["message"]


def test_names_are_masked_alike_and_what_was_missed_is_told(tmp_path: Path) -> None:
    home = tmp_path / "workspace"
    rows = own_rows(8)
    for row in rows:
        row["memory_1"] = "The user's sister Zelda Quill lives nearby; mail zelda@example.org."
    file = write_csv(tmp_path / "named.csv", rows)
    report(home, "reward", "import", str(file), "--column", "participant=Prolific ID")
    known = tmp_path / "known.json"
    known.write_text(json.dumps({"people": [["Zelda Quill"]]}), encoding="utf-8")
    told = report(home, "reward", "deidentify", "named", "--into", "masked", "--known", str(known))
    assert told["comparisons"] == 8 and told["report"]["misses"]
    out = tmp_path / "masked.jsonl"
    report(home, "reward", "export", "masked", "--to", str(out))
    text = out.read_text(encoding="utf-8")
    assert "Zelda" not in text and "example.org" not in text
    assert text.count("[PERSON_1]") >= 8 and "[EMAIL_1]" in text


def test_made_up_judgments_never_replace_peoples(tmp_path: Path) -> None:
    home = tmp_path / "workspace"
    file = write_csv(tmp_path / "simulated.csv", own_rows())
    column = ("--column", "participant=Prolific ID")
    report(home, "reward", "import", str(file), *column, "--name", "simulated")
    outcome = workbench(home, "reward", "simulate", "--json")
    assert outcome.code == 2 and "people's judgments" in outcome.json["error"]["message"]
    with pytest.raises(UsageError, match="people's judgments"):
        reward_demo(Workspace(str(home)))
    held = report(home, "reward", "list")["comparisons"]["simulated"]
    assert (held["comparisons"], held["synthetic"]) == (24, False)


def test_the_demo_says_that_it_left_peoples_judgments_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the retrieval half, which takes long and is tested elsewhere, in a word."""
    people = [
        msgspec.structs.replace(one, synthetic=False)
        for one in simulate(
            SimulationOptions(participants=10, comparisons=40, retest=5)
        ).comparisons
    ]
    save_comparisons(Workspace(str(tmp_path)), "simulated", people)
    monkeypatch.setattr("workbench.demo.demo", lambda *given: {"ask": "told"})
    out = Output(True, Workspace(str(tmp_path)), 0)
    demo(out)
    told = json.loads(capsys.readouterr().out)
    assert told["ask"] == "told" and "people's judgments" in told["reward"]["skipped"]


# ---------------------------------------------------------------- a language model is asked

MODEL = [
    {"when": ["<proposals>"], "reply": {"dimensions": [
        {"name": "Fullness", "definition": "Does it say more?", "memory_dependent": False,
         "proposals": ["P01", "P02"]}]}},
    {"when": ["Example 1"], "reply": {"dimensions": [
        {"name": "Fullness", "definition": "Does it say more?"}]}},
    # `own_rows`' longer text is the one that says "then walk".
    {"pattern": r"(?s)<response_a>\s*Take the early", "reply": {
        "reason": "longer", "preferred": "A", "confidence": 90}},
    {"pattern": r"(?s)<response_b>\s*Take the early", "reply": {
        "reason": "longer", "preferred": "B", "confidence": 90}},
    {"pattern": r"(?s)<first_response>\s*Take the early", "reply": {
        "reason": "longer", "first": 4, "second": 1}},
    {"pattern": r"(?s)<second_response>\s*Take the early", "reply": {
        "reason": "longer", "first": 1, "second": 4}},
    {"reply": {"reason": "on its subject", "grade": 3}},
]  # fmt: skip


def asked_home(tmp_path: Path, rules: list[dict[str, Any]]) -> tuple[Path, str]:
    """A workspace with people's judgments, and the spec of a scripted model."""
    home = tmp_path / "workspace"
    file = write_csv(tmp_path / "own.csv", own_rows(40))
    report(home, "reward", "import", str(file), "--column", "participant=Prolific ID")
    script = tmp_path / "model.jsonl"
    script.write_text("".join(json.dumps(rule) + "\n" for rule in rules), encoding="utf-8")
    return home, f"scripted:{script}"


def test_a_language_model_scores_the_features_and_judges(tmp_path: Path) -> None:
    home, llm = asked_home(tmp_path, MODEL)
    scored = report(home, "reward", "features", "own", "--scorer", "judge", "--llm", llm)
    assert scored["scorer"]["name"] == "judge"
    assert scored["scorer"]["model"]["model"] == "model.jsonl"
    assert not any(scored["missing"].values()) and scored["failed"] == {}
    assert scored["mean"]["REL"] == 0.75 and scored["deviation"]["PROP"] == pytest.approx(
        scored["deviation"]["COST"]
    )
    assert scored["usage"]["calls"] > 0
    known = report(home, "reward", "features", "own", "--scorer", "judge", "--llm", llm)
    assert known["usage"]["calls"] == 0 and known["scores"] == scored["scores"]
    model = report(home, "reward", "fit", "own", "--scorer", "judge")["model"]
    pair = {"query": "How?", "memories": ["The user walks."], "without_memory": "Take the train."}
    file = tmp_path / "pair.json"
    file.write_text(json.dumps(pair | {"with_memory": "Take the early train."}), encoding="utf-8")
    explained = report(home, "reward", "explain", model, "--pair", str(file), "--llm", llm)
    values = {part["feature"]: part["value"] for part in explained["parts"]}
    assert values["PROP"] == 0.75 and explained["scorer"]["name"] == "judge"
    options = ("--folds", "4", "--repeats", "2", "--judge", "--induce", "--llm", llm)
    told = report(home, "reward", "evaluate", "own", *options)
    rows = {row["baseline"]: row for row in told["baselines"]}
    for name in ("direct judge", "rubric judge"):
        for order in ("", ", both orders"):
            row = rows[name + order]
            # The longer text was always preferred, and this model prefers it always.
            assert (row["accuracy"], row["n"], row["not_run"]) == (1.0, told["n"], "")
    induced = rows["induced rubric"]
    assert (induced["accuracy"], induced["n"]) == (1.0, told["n"])
    assert "1 shuffle" in induced["note"]
    rubrics = induced["facts"]["rubrics"]
    assert [one["fold"] for one in rubrics] == ["0.0", "0.1", "0.2", "0.3"]
    for one in rubrics:
        kept = json.loads((home / "rubrics" / one["rubric"] / "rubric.json").read_text("utf-8"))
        assert not set(kept["provenance"]["training"]) & set(kept["provenance"]["held_out"])
        assert (home / "rubrics" / one["rubric"] / "replies.jsonl").stat().st_size > 0
    spoken = workbench(home, "reward", "evaluate", "own", *options)
    assert spoken.code == 0 and "induced rubric − fixed rubric" in spoken.out


def test_what_a_language_model_failed_at_is_told(tmp_path: Path) -> None:
    home, llm = asked_home(tmp_path, [{"when": ["day 3?"], "reply": "I would rather not."}, *MODEL])
    outcome = workbench(
        home, "reward", "features", "own", "--scorer", "judge", "--llm", llm, "--json"
    )
    assert outcome.code == 3, outcome.err
    assert outcome.json["missing"]["PROP"] == 1 and outcome.json["missing"]["LEN"] == 0
    (tmp_path / "mute.jsonl").write_text('{"reply": "No."}\n', encoding="utf-8")
    mute = ("--scorer", "judge", "--llm", f"scripted:{tmp_path / 'mute.jsonl'}")
    outcome = workbench(home, "reward", "features", "own", *mute, "--json")
    assert outcome.code == 5 and "graded nothing" in outcome.json["error"]["message"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("features", "simulated", "--scorer", "judge"), "no language model: give --llm"),
        (("evaluate", "simulated", "--judge"), "no language model: give --llm"),
        (("evaluate", "simulated", "--induce"), "no language model: give --llm"),
        (("evaluate", "simulated", "--llm", "scripted:x.jsonl"), "--judge or --induce"),
        (("features", "simulated", "--llm", "scripted:x.jsonl"), "--scorer judge"),
    ],
)
def test_a_model_that_is_not_named_or_not_asked_is_refused(
    home: Path, arguments: tuple[str, ...], said: str
) -> None:
    outcome = workbench(home, "reward", *arguments, "--json")
    assert outcome.code == 2, outcome.err
    assert said in outcome.json["error"]["message"]
