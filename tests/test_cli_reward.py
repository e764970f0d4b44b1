"""`workbench reward …` as its users meet it: commands, exit codes, documents, files."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from shell import report, workbench

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
    assert report(home, "reward", "import", str(file), *column)["unchanged"] == 24
    scored = report(home, "reward", "features", "my-judgments")
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
