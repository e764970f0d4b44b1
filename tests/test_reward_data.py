"""Comparisons in and out of files and workspaces, their quality, and people's agreement."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from reward_model.agreement import PAPER, preference_table, retest_agreement
from reward_model.loading import export_comparisons, load_comparisons
from reward_model.quality import (
    REASONS,
    QualityRules,
    attention_checks,
    clear_preferences,
    quality_filter,
)
from reward_model.schema import JUDGMENTS, REGIMES, Comparison
from reward_model.store import (
    add_comparisons,
    comparison_sets,
    open_comparisons,
    save_comparisons,
)
from reward_model.wordings import judgment_reader, read_memories, read_order, read_side, read_time
from shell import write_rows
from workbench.errors import DataError, UsageError, WorkspaceError
from workbench.workspace import Workspace

FIXTURES = Path(__file__).parent / "data" / "reward"
NOON = datetime(2026, 5, 8, 12)
ROW = {
    "id": "c1",
    "participant": "p1",
    "query": "A gift?",
    "memories": ["Has a dog."],
    "with_memory": "A lead.",
    "without_memory": "A book.",
    "order": "memory first",
    "judgment": "A much better",
}


def comparison(id: str = "c1", participant: str = "p1", **given: Any) -> Comparison:
    texts = {
        "query": "A gift?",
        "memories": ("Has a dog.",),
        "with_memory": "A lead.",
        "without_memory": "A book.",
    }
    return Comparison(id=id, participant=participant, **{**texts, **given})


def rows_of(path: Path, *rows: dict[str, Any]) -> Path:
    return write_rows(path, [{**ROW, **row} for row in rows])


# ---------------------------------------------------------------- wordings


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("A much better", "A much better"),
        ("a MUCH  better ", "A much better"),
        ("much better: A", "A much better"),
        ("Response B is slightly better than Response A", "B slightly better"),
        ("I slightly prefer B", "B slightly better"),
        ("A is much worse than B", "B much better"),
        ("1 - A much better", "A much better"),
        ("B >> A", "B much better"),
        ("A>B", "A slightly better"),
        ("A<<B", "B much better"),
        ("memory much better", "B much better"),  # shown second
        ("no memory slightly better", "A slightly better"),
        ("About the same", "same"),
        ("tie", "same"),
        ("A = B", "same"),
        ("", None),
        ("NaN", None),
    ],
)
def test_judgments_in_words(written: str, meant: str | None) -> None:
    assert judgment_reader([written])(written, "memory second") == meant


@pytest.mark.parametrize(
    "written",
    [
        *("A", "A better", "not much better: A", "A much better than A", "much better", "4.5"),
        *("A much better? no", "both", "B much better, I mean A", "yes", "C much better"),
    ],
)
def test_judgments_that_could_mean_anything_are_refused(written: str) -> None:
    with pytest.raises(DataError):
        judgment_reader([written, "1", "5"])(written, "memory first")


@pytest.mark.parametrize(
    ("column", "meant"),
    [
        (["1", "2", "3", "4", "5"], JUDGMENTS),
        ([1.0, 2, "3.0", 4, 5], JUDGMENTS),
        (["-2", "-1", "0", "+1", "2"], JUDGMENTS),
        (["−2", "1"], ("A much better", "B slightly better")),
    ],
)
def test_scales_are_told_by_the_whole_column(column: list[Any], meant: Sequence[str]) -> None:
    read = judgment_reader(column)
    assert [read(cell, "memory first") for cell in column] == list(meant)


@pytest.mark.parametrize(
    "column",
    [
        ["1", "2"],  # of either scale
        ["1", "2", "3"],  # A, tie, B?
        ["-1", "0", "1"],  # the same
        ["0", "1", "2"],
        ["1", "2", "3", "4"],  # four points, no tie
        ["0", "1", "2", "3", "4"],
        ["1", "5", "7"],
        ["-2", "5"],
    ],
)
def test_numbers_of_another_scale_are_refused_as_a_whole(column: list[str]) -> None:
    read = judgment_reader(column)
    for cell in column:
        with pytest.raises(DataError, match="scale"):
            read(cell, "memory first")


def test_what_is_written_can_be_told() -> None:
    told = {"1": "B much better", "-1": "A slightly better", "links": "A much better"}
    read = judgment_reader(["1", "-1", "Links"], told)
    assert [read(cell, "memory first") for cell in (1, "-1", " Links")] == list(told.values())
    with pytest.raises(UsageError, match="'left' is none of A much better"):
        judgment_reader([], {"1": "left"})


@pytest.mark.parametrize(
    ("written", "first"),
    [
        *(("memory first", True), ("Memory_Second", False), ("no memory first", False)),
        *(("A=memory", True), ("B = memory", False), ("A is no memory", False), ("A", True)),
        *(("memory on B", False), ("with memory last", False), ("without memory second", True)),
    ],
)
def test_orders(written: str, first: bool) -> None:
    assert read_order(written) == ("memory first" if first else "memory second")


@pytest.mark.parametrize("written", ["", None, "first", "AB", "left", "1", "memory"])
def test_an_order_that_does_not_say_is_refused(written: str | None) -> None:
    with pytest.raises(DataError, match="which response was shown as A"):
        read_order(written)


def test_memories_in_a_cell() -> None:
    assert read_memories('["a", "b\\nc"]') == ("a", "b\nc")
    assert read_memories("['it\\'s', \"b\"]") == ("it's", "b")  # a Python list in a CSV
    assert read_memories("- a\n\n• b\n[Inferred] likes tea") == ("a", "b", "[Inferred] likes tea")
    assert read_memories("[Inferred] likes tea, [] and more") == (
        "[Inferred] likes tea, [] and more",
    )
    assert read_memories(["a", " "]) == ("a",)
    assert read_memories("[]") == read_memories(None) == read_memories(" ") == ()
    for wrong in ('["a", 1]', '["a"', "['a', open('x')]", {"a": 1}, 7):
        with pytest.raises(DataError):
            read_memories(wrong)


def test_times_and_sides() -> None:
    assert read_time("2026-05-08T12:00:00") == NOON
    assert read_time("2026-05-08 12:00Z") == NOON.replace(tzinfo=UTC)
    assert read_time(NOON) is NOON and read_time("") is read_time("nan") is None
    for wrong in ("2026-05-08", "08/05/2026 12:00", "noon", 1778241600, NOON.date()):
        with pytest.raises(DataError, match="ISO 8601"):
            read_time(wrong)
    assert (read_side("a"), read_side("B"), read_side(""), read_side(False)) == (
        "A",
        "B",
        None,
        None,
    )
    with pytest.raises(DataError, match="the side that must be chosen"):
        read_side("true")


# ---------------------------------------------------------------- files


def test_a_spreadsheet_of_ones_own() -> None:
    """cp1252, semicolons, a sep= line, cells of two lines, A and B instead of memory and none."""
    kept, report = load_comparisons(
        FIXTURES / "sheet_cp1252.csv", {"participant": "Participant ID"}
    )
    dinner, olives, week, unjudged = kept
    assert dinner.query == "Où dîner à Lyon ?" and dinner.memories[1] == "Lives near Lyon."
    assert dinner.with_memory == "Try the bouchons;\r\nor a café."
    assert dinner.judgment == "B much better" and dinner.prefers_memory is False
    assert olives.order == "memory second" and olives.with_memory == "Pasta without them."
    assert olives.prefers_memory is False and olives.note == '=too "salty"'
    assert week.strength == "tie" and unjudged.judgment is None
    assert (report.format, report.encoding, report.rows, report.blank) == ("CSV", "cp1252", 10, 1)
    assert (report.imported, report.duplicates) == (4, 1)
    assert [(one.line, one.field) for one in report.refused] == [
        *((9, "id"), (10, "participant"), (11, "order"), (12, "memories"), (14, "row"))
    ]
    assert "line 7" in report.refused[0].reason
    assert report.unknown_columns == ("Coffee",) and report.absent["regime"] == "ordinary"
    assert report.readings["judgment"]["5"] == "B much better"
    assert report.readings["order"]["B"] == "memory second"
    assert report.reasons == {"id": 1, "participant": 1, "order": 1, "memories": 1, "row": 1}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_encodings_and_separators(tmp_path: Path, encoding: str, separator: str) -> None:
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(ROW), delimiter=separator)
    writer.writeheader()
    writer.writerow({**ROW, "memories": '["Läuft; gern, oft"]', "query": "Ein\nGeschenk?"})
    path = tmp_path / "mine.csv"
    path.write_bytes(stream.getvalue().encode(encoding))
    [one], report = load_comparisons(path)
    assert (one.query, one.memories) == ("Ein\nGeschenk?", ("Läuft; gern, oft",))
    assert report.unknown_columns == () and report.refused == ()


def test_json_in_its_shapes(tmp_path: Path) -> None:
    lines = rows_of(tmp_path / "a.jsonl", {}, {"id": 2, "note": "x"})
    listed, wrapped, single = (tmp_path / f"{name}.json" for name in "bcd")
    rows = [json.loads(line) for line in lines.read_text().splitlines()]
    listed.write_text(json.dumps(rows))
    wrapped.write_text(json.dumps({"comparisons": rows}, indent=1))
    single.write_text(json.dumps(rows[0], indent=1))
    unnamed = tmp_path / "data.txt"
    unnamed.write_bytes(lines.read_bytes())
    expected = [comparison("c1", judgment="A much better")]
    expected.append(comparison("2", judgment="A much better", note="x"))
    for path in (lines, listed, wrapped, unnamed):
        assert load_comparisons(path)[0] == expected
    assert load_comparisons(single)[0] == expected[:1]


def test_every_row_is_accounted_for(tmp_path: Path) -> None:
    path = rows_of(
        tmp_path / "a.jsonl",
        {},
        {},  # the same again
        {"judgment": "same"},  # the same id, another judgment
        {"id": "c2", "participant": " "},
        {"id": "c3", "shown": "2026-05-08T12:00:00", "judged": "2026-05-08T11:59:00"},
        {"id": "c4", "shown": "2026-05-08T12:00:00", "judged": "2026-05-08T12:00:09Z"},
        {"id": "c5", "query": ["a"]},
        {"id": "c6", "attention": "A", "memories": []},
        {"id": "c7", "query": "lone \ud800 and \u0000", "regime": "Aggressive"},
        {"id": "c8", "response_a": "A book."},  # memory first would show the lead
    )
    with path.open("a") as stream:
        stream.write('\n{"id": \n[1]\n' + "[" * 100_000 + "\n")
    kept, report = load_comparisons(path)
    assert [one.id for one in kept] == ["c1", "c6", "c7"]
    assert kept[2].query == "lone \ufffd and \ufffd" and kept[2].regime == "aggressive"
    assert [(one.line, one.field, one.id) for one in report.refused] == [
        *((3, "id", "c1"), (4, "participant", "c2"), (5, "judged", "c3"), (6, "judged", "c4")),
        *((7, "query", "c5"), (10, "response_a", "c8")),
        *((12, "row", ""), (13, "row", ""), (14, "row", "")),
    ]
    assert report.rows == 13 == report.imported + report.duplicates + len(report.refused)
    assert report.blank == 1 and report.duplicates == 1
    assert [text.split(":")[0] for text in report.repaired] == ["line 9"]


@pytest.mark.parametrize(
    ("name", "content", "what"),
    [
        ("a.csv", b"", "empty"),
        ("a.csv", b" \n", "empty"),
        ("a.csv", b"PK\x03\x04 sheet", "save the sheet as CSV"),
        ("a.csv", b"id,query\0", "binary"),
        ("a.csv", b"id,participant\n1,2\n", "no column for query, memories, order, judgment, with"),
        ("a.csv", ",".join(ROW).encode(), "holds no rows"),
        ("a.csv", b'id,query\n1,"open\n2,x\n', "begins on line 2"),
        ("a.csv", b"id,Query,query\n1,2,3\n", "could all be query"),
        ("a.csv", b"note,note\n1,2\n", "two columns are called 'note'"),
        ("a.csv", b"memories,memory_1\n1,2\n", "hold memories"),
        ("a.csv", b"id\x81", "cp1252"),
        ("a.json", b'{"a": ', "not JSON"),
        ("a.json", b'"text"', "no list of comparisons"),
        ("a.json", b"[]", "holds no rows"),
        ("a.json", '{"id": "é"}'.encode("cp1252"), "save the file as UTF-8"),
        ("a.json", b"[" * 100_000, "nested too deeply"),
        ("a.parquet", b"PAR1 broken PAR1", "not a readable Parquet"),
        ("a.parquet", b"id,query\n", "not a readable Parquet"),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, name: str, content: bytes, what: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=what):
        load_comparisons(tmp_path / name)


def test_paths_and_mappings_that_cannot_be_meant(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "absent.csv"):
        with pytest.raises(DataError):
            load_comparisons(path)
    path = rows_of(tmp_path / "a.jsonl", {})
    with pytest.raises(UsageError, match="no field is called 'who'"):
        load_comparisons(path, {"who": "participant"})
    with pytest.raises(UsageError, match="no column is called 'Who'"):
        load_comparisons(path, {"participant": "Who"})


def test_rows_without_ids_get_stable_ones(tmp_path: Path) -> None:
    """From what was shown to whom, so that two judgments of one display are seen to differ."""
    rows = [{key: ROW[key] for key in ROW if key != "id"} for _ in range(3)]
    rows[1]["judgment"] = "same"
    rows[2]["participant"] = "p2"
    kept, report = load_comparisons(write_rows(tmp_path / "a.jsonl", rows))
    again, _ = load_comparisons(write_rows(tmp_path / "b.jsonl", rows[::-1]))
    assert len({one.id for one in kept}) == 2 and [one.field for one in report.refused] == ["id"]
    assert {one.id for one in again} == {one.id for one in kept}


TEXTS = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=12)
FULL = TEXTS.filter(str.strip)
NAMES = FULL.map(str.strip).map(lambda text: f"n{text}n")
TRICKY = st.sampled_from(["=1+1", "'=x", "''-2", "+a", "@b", "-", "\tx", '"q",;', "a\r\nb", "＝1"])


@st.composite
def comparisons(draw: st.DrawFn) -> Comparison:
    shown = draw(st.none() | st.datetimes(timezones=st.sampled_from([None, UTC])))
    later = timedelta(seconds=draw(st.integers(0, 900)))
    return Comparison(
        id=draw(NAMES),
        participant=draw(NAMES),
        query=draw(FULL | TRICKY),
        memories=tuple(draw(st.lists(FULL | TRICKY, min_size=1, max_size=3))),
        with_memory=draw(FULL | TRICKY),
        without_memory=draw(FULL | TRICKY),
        generator=draw(NAMES),
        regime=draw(st.sampled_from(REGIMES)),
        order=draw(st.sampled_from(["memory first", "memory second"])),
        judgment=draw(st.none() | st.sampled_from(JUDGMENTS)),
        note=draw(TEXTS | TRICKY),
        attention=draw(st.sampled_from([None, "A", "B"])),
        repeat_of=draw(st.none() | NAMES),
        shown=shown,
        judged=None if shown is None or shown.year > 9998 else shown + later,
        synthetic=draw(st.booleans()),
    )


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
@given(made=st.lists(comparisons(), min_size=1, max_size=4, unique_by=lambda one: one.id))
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_an_export_comes_back_unchanged(
    tmp_path_factory: pytest.TempPathFactory, suffix: str, made: list[Comparison]
) -> None:
    path = tmp_path_factory.mktemp("export") / f"out.{suffix}"
    kept, report = load_comparisons(export_comparisons(made, path))
    assert kept == made
    assert (report.refused, report.unknown_columns, report.absent) == ((), (), {})


def test_an_exported_spreadsheet_runs_nothing(tmp_path: Path) -> None:
    hostile = ("=HYPERLINK(1)", "+1", "-1", "@x", "\t=1", "<img src=x onerror=alert(1)>")
    made = [comparison(f"c{n}", note=text, query=text) for n, text in enumerate(hostile)]
    path = export_comparisons(made, tmp_path / "out.csv")
    assert path.read_bytes().startswith(b"\xef\xbb\xbf")
    with path.open(encoding="utf-8-sig", newline="") as stream:
        cells = [cell for row in csv.reader(stream) for cell in row]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "-", "@", "\t"))]
    assert load_comparisons(path)[0] == made
    for wrong in ("out.xlsx", "out"):
        with pytest.raises(UsageError, match=r"\.jsonl, \.csv or \.parquet"):
            export_comparisons(made, tmp_path / wrong)
    with pytest.raises(UsageError, match="no comparisons"):
        export_comparisons([], tmp_path / "none.csv")


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_damaged_files_are_refused_or_accounted_for(tmp_path: Path, suffix: str) -> None:
    """Nothing but a DataError comes out of a file, whatever happened to its bytes."""
    whole = [comparison(f"c{n}", judgment="same", query='q, "é"\nx') for n in range(5)]
    sound = export_comparisons(whole, tmp_path / f"sound.{suffix}").read_bytes()
    rng = random.Random(7)
    path = tmp_path / f"damaged.{suffix}"
    refused = 0
    for _ in range(150):
        start = rng.randrange(len(sound))
        noise = bytes(rng.choice(b'",;\n[]{}\x00\xff=') for _ in range(rng.randint(0, 5)))
        path.write_bytes(sound[:start] + noise + sound[start + rng.randint(0, 9) :])
        try:
            kept, report = load_comparisons(path)
        except DataError:
            refused += 1
        else:
            assert report.rows == len(kept) + report.duplicates + len(report.refused)
    assert refused > 10


def test_parquet_of_other_programs(tmp_path: Path) -> None:
    """Numbers for people and judgments, lists, real times."""
    row = {**ROW, "participant": 7, "shown": NOON, "judgment": 2, "id": "a"}
    pl.DataFrame([row, {**row, "judgment": -2, "id": "b"}]).write_parquet(tmp_path / "a.parquet")
    first, second = load_comparisons(tmp_path / "a.parquet")[0]
    assert (first.participant, first.shown, first.judgment) == ("7", NOON, "B much better")
    assert second.judgment == "A much better"


# ---------------------------------------------------------------- workspace


def test_sets_are_kept_and_replaced(workspace: Workspace) -> None:
    one, two = comparison("c1", judgment="same"), comparison("c2", "p2", note="secret")
    saved = save_comparisons(workspace, "mine", [one, two], "mine.csv")
    assert open_comparisons(workspace, "mine") == saved and saved.participants == ("p1", "p2")
    assert save_comparisons(workspace, "other", [one, two]).content == saved.content
    facts = comparison_sets(workspace)["mine"]
    assert list(comparison_sets(workspace)) == ["mine", "other"]
    assert (facts["comparisons"], facts["participants"], facts["judged"]) == (2, 2, 1)
    assert (facts["source"], facts["synthetic"]) == ("mine.csv", False)
    smaller = save_comparisons(workspace, "mine", [one])
    save_comparisons(workspace, "other", [one])
    assert smaller.content != saved.content
    assert open_comparisons(workspace, "mine").comparisons == (one,)
    files = [path for path in workspace.root.rglob("*") if path.is_file()]
    assert not [path for path in files if b"secret" in path.read_bytes()]


def test_the_same_file_twice_adds_nothing(workspace: Workspace) -> None:
    waiting, judged = comparison("c1"), comparison("c2", judgment="same")
    first = add_comparisons(workspace, "mine", [waiting, judged], "a.csv")
    assert (first.added, first.updated, first.unchanged, first.conflicts) == (2, 0, 0, ())
    again = add_comparisons(workspace, "mine", [waiting, judged], "a.csv")
    assert (again.added, again.unchanged, again.held) == (0, 2, first.held)
    done = comparison("c1", judgment="B much better", judged=NOON)
    changed = comparison("c2", judgment="A much better")
    last = add_comparisons(workspace, "mine", [done, changed, comparison("c3")], "b.csv")
    assert (last.added, last.updated, last.unchanged, last.conflicts) == (1, 1, 0, ("c2",))
    assert last.held.comparisons == (done, judged, comparison("c3"))
    assert last.held.source == "a.csv, b.csv"
    with pytest.raises(UsageError, match="holds people's comparisons"):
        add_comparisons(workspace, "mine", [comparison("c9", synthetic=True)])


def test_sets_that_cannot_be(workspace: Workspace) -> None:
    with pytest.raises(UsageError, match="there: none yet"):
        open_comparisons(workspace, "mine")
    save_comparisons(workspace, "mine", [comparison()])
    with pytest.raises(UsageError, match="there: mine"):
        open_comparisons(workspace, "simulated")
    for wrong in ("../mine", "", "a/b"):
        with pytest.raises(UsageError):
            save_comparisons(workspace, wrong, [comparison()])
    with pytest.raises(DataError, match="'c1' occurs twice"):
        save_comparisons(workspace, "mine", [comparison(), comparison()])
    with pytest.raises(DataError, match="no comparisons"):
        save_comparisons(workspace, "mine", [])
    save_comparisons(workspace, "n" * 64, [comparison()])


def test_damage_is_seen_and_mended(workspace: Workspace) -> None:
    saved = save_comparisons(workspace, "mine", [comparison()])
    path = workspace.folder("comparisons") / "mine" / saved.content / "comparisons.jsonl"
    path.write_bytes(path.read_bytes().replace(b"lead", b"bone"))
    with pytest.raises(WorkspaceError, match="differs from its checksum"):
        open_comparisons(workspace, "mine")
    added = add_comparisons(workspace, "mine", [comparison("c2")])
    assert "differs from its checksum" in added.lost
    assert [one.id for one in open_comparisons(workspace, "mine").comparisons] == ["c2"]


def test_writers_take_turns(workspace: Workspace) -> None:
    def add(n: int) -> None:
        add_comparisons(workspace, "mine", [comparison(f"c{n}")])

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(add, range(8)))
    held = open_comparisons(workspace, "mine").comparisons
    assert {one.id for one in held} == {f"c{n}" for n in range(8)}


# ---------------------------------------------------------------- quality


def judged(n: int, judgments: Sequence[str], participant: str = "p", **given: Any) -> Any:
    """Judgments of one participant, the order of display alternating."""
    orders = ("memory first", "memory second")
    return [
        comparison(
            f"{participant}{n + place}",
            participant,
            **{"order": orders[place % 2], "judgment": judgment, **given},
        )
        for place, judgment in enumerate(judgments)
    ]


def test_attention_checks_are_counted_as_the_filter_counts_them() -> None:
    records = [
        comparison("passed", judgment="A much better", attention="A"),
        comparison("failed", judgment="B slightly better", attention="A"),
        comparison("tie", judgment="same", attention="B"),
        comparison("open", attention="A"),
        comparison("no check", judgment="A much better"),
    ]
    assert attention_checks(records) == (1, 3)


def test_incomplete_and_inattentive_ones_are_dropped() -> None:
    records = [
        comparison("open"),
        comparison("empty", judgment="same", with_memory=" "),
        comparison("bare", judgment="same", memories=()),
        comparison("fine", judgment="same"),
        comparison("passed", judgment="A much better", attention="A"),
        comparison("q1", "q", judgment="B slightly better", attention="A"),
        comparison("q2", "q", judgment="B slightly better"),
        comparison("q3", "q"),
        comparison("r1", "r", judgment="same", attention="B"),
        comparison("r2", "r", judgment="A much better", repeat_of="r1"),
    ]
    strict = quality_filter(records)
    assert [one.id for one in strict.kept] == ["fine", "passed"]
    assert strict.dropped == {
        "incomplete": ("open", "empty", "bare", "q3"),
        "failed attention check": ("q1", "q2", "r1", "r2"),
        "straight-lining": (),
        "too fast": (),
    }
    for lenient in (1, None):
        found = quality_filter(records, QualityRules(failed_checks_allowed=lenient))
        assert [one.id for one in found.kept] == ["fine", "passed", "q2", "r2"]
    assert strict.counts == {"kept": 2, **{why: len(strict.dropped[why]) for why in REASONS}}


def test_straight_lining() -> None:
    mixed = [*("A much better", "B slightly better") * 3, "same", "A slightly better"] * 2
    ties = judged(0, ["same"] * 10, "ties")
    left = judged(0, ["A much better", "A slightly better"] * 5, "left")
    nine = judged(0, ["A much better"] * 9 + ["B much better"] * 2, "nine")
    honest = judged(0, mixed, "honest")
    # Who always prefers the memory response chooses A and B in turn: that is no straight line.
    fan = judged(0, ["A much better", "B much better"] * 8, "fan")
    # And where memory was always first, choosing A is liking memory, as far as anyone can tell.
    fixed = judged(0, ["A much better"] * 12, "fixed", order="memory first")
    found = quality_filter([*ties, *left, *nine, *honest, *fan, *fixed])
    assert {one.participant for one in found.kept} == {"nine", "honest", "fan", "fixed"}
    assert set(found.dropped["straight-lining"]) == {one.id for one in (*ties, *left)}
    assert found.unchecked["participants whose order of display hardly varied"] == 1
    ten = judged(0, ["A much better"] * 10, "ten")
    assert not quality_filter(ten).kept
    off = QualityRules(identical_run=None, one_side=None)
    assert len(quality_filter([*ties, *left, *ten], off).kept) == 30


def test_runs_are_counted_in_order_of_time() -> None:
    """Ten ties that others interrupt in the file, but not in time."""
    given = [
        (judgment, NOON + timedelta(minutes=minute))
        for minute, judgment in enumerate(["same"] * 10 + ["A much better"] * 4)
    ]
    shuffled = [given[place] for place in (0, 10, 1, 2, 11, 3, 4, 12, 5, 6, 13, 7, 8, 9)]
    records = [
        comparison(f"c{n}", judgment=judgment, judged=time)
        for n, (judgment, time) in enumerate(shuffled)
    ]
    assert not quality_filter(records).kept
    untimed = [msgspec.structs.replace(one, judged=None) for one in records]
    assert len(quality_filter(untimed).kept) == 14


def test_the_speed_limit_follows_the_length_of_the_texts() -> None:
    """2 + 299 + 299 words at 1,200 a minute: 30 s."""

    def took(id: str, seconds: float, **given: Any) -> Comparison:
        times = {"shown": NOON, "judged": NOON + timedelta(seconds=seconds)}
        words = {"with_memory": "word " * 299, "without_memory": "word " * 299}
        whole = {"participant": id, "judgment": "same", **words, **times, **given}
        return comparison(id, **whole)

    records = [
        *(took("slow", 30.0), took("fast", 29.9), took("again", 3.0, repeat_of="slow")),
        *(took("check", 3.0, attention="A", judgment="A much better"), took("x", 3, shown=None)),
        took("short", 2.0, with_memory="Yes.", without_memory="No."),
        took("shorter", 1.9, with_memory="Yes.", without_memory="No."),
        # 600 characters of a script without spaces are 300 words: 15 s.
        took("han", 15.2, with_memory="好" * 300, without_memory="好" * 300),
        took("hasty", 14.9, with_memory="好" * 300, without_memory="好" * 300),
    ]
    found = quality_filter(records)
    assert found.dropped["too fast"] == ("fast", "shorter", "hasty")
    assert found.unchecked["comparisons without times"] == 1
    hurried = [took(f"h{n}", 60 if n < 2 else 20, participant="h") for n in range(5)]
    assert quality_filter([*records, *hurried]).dropped["too fast"][3:] == (
        *("h0", "h1", "h2", "h3", "h4"),
    )
    assert len(quality_filter(hurried[:4]).kept) == 2
    assert len(quality_filter(hurried, QualityRules(words_per_minute=None)).kept) == 5


def test_thresholds_that_cannot_be() -> None:
    for wrong in ({"one_side": 0.5}, {"identical_run": 1}, {"words_per_minute": 0}):
        with pytest.raises(UsageError, match=next(iter(wrong))):
            quality_filter([], QualityRules(**wrong))


def test_ties_slight_and_much_are_kept_apart() -> None:
    """CASES 44: nothing forces a tie to a side or drops it unasked."""
    records = [
        *judged(0, ["A much better", "A slightly better", "same", "B much better"]),
        comparison("none"),
        comparison("check", judgment="A much better", attention="A"),
        comparison("again", judgment="A much better", repeat_of="p0"),
    ]
    assert [one.id for one in clear_preferences(records)] == ["p0", "p3"]
    assert [one.prefers_memory for one in clear_preferences(records)] == [True, True]
    assert [one.id for one in clear_preferences(records, ("much", "slightly"))] == [
        *("p0", "p1", "p3")
    ]
    [tie] = clear_preferences(records, ("tie",))
    assert tie.id == "p2" and tie.prefers_memory is None
    for wrong in ("much", (), ("clear",)):
        with pytest.raises(UsageError, match="strengths are some of"):
            clear_preferences(records, wrong)  # type: ignore[arg-type]


# ---------------------------------------------------------------- agreement


def retests(pairs: Sequence[tuple[str, str, str, bool]]) -> list[Comparison]:
    """(participant, first, second judgment, whether the repeat is shown in the other order)."""
    made = []
    for n, (participant, first, second, other) in enumerate(pairs):
        order = "memory second" if other else "memory first"
        made.append(comparison(f"c{n}", participant, judgment=first))
        made.append(
            comparison(f"r{n}", participant, judgment=second, order=order, repeat_of=f"c{n}")
        )
    return made


# Two pairs for each of three participants: 1/2, 2/2 and 1/2 agree.
PAIRS = [
    ("p1", "A much better", "B slightly better", True),  # memory, memory
    ("p1", "A much better", "A much better", True),  # memory, none
    ("p2", "same", "same", True),
    ("p2", "B slightly better", "B much better", False),  # none, none
    ("p3", "B slightly better", "same", False),
    ("p3", "A much better", "A slightly better", False),
]
FIRST = ["memory", "memory", "tie", "none", "none", "memory"]
SECOND = ["memory", "none", "tie", "none", "tie", "memory"]


def test_retest_agreement_is_in_memory_orientation() -> None:
    found = retest_agreement(retests(PAIRS))
    overall = found["overall"]
    # Clusters of one size: Student's t of their means.
    lo, hi = stats.t.interval(0.95, 2, 2 / 3, stats.sem([0.5, 1, 0.5]))
    assert overall["agreement"] == pytest.approx(4 / 6)
    assert overall["lo"] == pytest.approx(max(0, lo)) and overall["hi"] == pytest.approx(min(1, hi))
    assert (overall["n"], overall["participants"], overall["basis"]) == (6, 3, "participants")
    shares = {name: (one["agreement"], one["n"]) for name, one in found["by_strength"].items()}
    assert shares == {"much": (pytest.approx(2 / 3), 3), "slightly": (0.5, 2), "tie": (1.0, 1)}
    assert found["by_order"]["other order"]["n"] == 3 and found["repeats"] == 6


def test_kappa_is_cohens_with_a_jackknife_over_participants() -> None:
    kappa = retest_agreement(retests(PAIRS))["kappa"]
    assert kappa["kappa"] == pytest.approx(cohen_kappa_score(FIRST, SECOND))
    without = []
    for start in (0, 2, 4):
        left = [place for place in range(6) if place not in (start, start + 1)]
        without.append(cohen_kappa_score(*([side[i] for i in left] for side in (FIRST, SECOND))))
    error = (2 / 3 * sum((one - sum(without) / 3) ** 2 for one in without)) ** 0.5
    half = stats.t.ppf(0.975, 2) * error
    assert kappa["lo"] == pytest.approx(max(-1, kappa["kappa"] - half))
    assert kappa["hi"] == pytest.approx(min(1, kappa["kappa"] + half))


def test_kappa_of_raters_who_always_say_the_same_is_undefined() -> None:
    """CASES 42: said so, with the raw agreement beside it."""
    pairs = [(f"p{n}", "A much better", "A much better", False) for n in range(4)]
    found = retest_agreement(retests(pairs))
    assert found["overall"]["agreement"] == 1.0 and found["overall"]["lo"] < 0.5
    assert found["kappa"]["kappa"] is None and "undefined" in found["kappa"]["why"]
    nothing = retest_agreement([comparison(judgment="same")])
    assert nothing["overall"]["agreement"] is None and nothing["overall"]["n"] == 0
    assert "no repeats" in nothing["kappa"]["why"]
    perfect = retest_agreement(retests([("p1", "same", "same", False), *pairs]))["kappa"]
    assert perfect["kappa"] == 1.0 and perfect["lo"] is None and "too few" in perfect["why"]


def test_repeats_that_are_no_retest_are_counted() -> None:
    same = {"judgment": "same"}
    records = [
        comparison("c", **same),
        comparison("open"),
        comparison("good", repeat_of="c", **same),
        comparison("orphan", repeat_of="gone", **same),
        comparison("self", repeat_of="self", **same),
        comparison("chain", repeat_of="good", **same),
        comparison("other", "p2", repeat_of="c", **same),
        comparison("texts", repeat_of="c", query="Else?", **same),
        comparison("blank", repeat_of="c"),
        comparison("early", repeat_of="open", **same),
        comparison("check", repeat_of="c", attention="A", **same),
    ]
    found = retest_agreement(records)
    assert found["overall"]["n"] == 1 and found["repeats"] == 9
    assert found["excluded"] == {
        "attention items": 1,
        "not judged": 2,
        "orphans: what they repeat is absent": 1,
        "repeats by another participant": 1,
        "repeats of a repeat": 1,
        "repeats of themselves": 1,
        "repeats with other texts": 1,
    }


def test_the_preference_table() -> None:
    records = [
        *judged(0, ["A much better", "B slightly better", "same"], "p1", regime="aggressive"),
        *judged(9, ["B much better", "A much better", "same"], "p2", regime="aggressive"),
        *judged(3, ["A much better", "A slightly better", "same"], "p4", regime="aggressive"),
        *judged(20, ["A much better"] * 2, "p3", generator="m2"),
        comparison("x", regime="ordinary", generator="m2"),
        comparison("y", generator="m2", judgment="same", repeat_of="x"),
        comparison("z", regime="conservative", judgment="A much better", attention="A"),
    ]
    table = preference_table(records)
    assert [row["regime"] for row in table] == ["conservative", "ordinary", "aggressive"]
    nothing, ordinary, aggressive = table
    assert (nothing["n"], nothing["memory"]["share"]) == (0, None)
    assert nothing["excluded"] == {"attention items": 1}
    assert ordinary["excluded"] == {"not judged": 1, "repeats": 1} and ordinary["n"] == 2
    shares = {name: aggressive[name]["share"] for name in ("memory", "none", "tie")}
    assert shares == {name: pytest.approx(1 / 3) for name in shares}
    # p1 prefers memory in 2 of 3, p2 in none, p4 in 1: Student's t of the three.
    lo, hi = stats.t.interval(0.95, 2, 1 / 3, stats.sem([2 / 3, 0, 1 / 3]))
    assert aggressive["memory"]["lo"] == pytest.approx(max(0, lo))
    assert aggressive["memory"]["hi"] == pytest.approx(min(1, hi))
    by_both = preference_table(records, ("regime", "generator"))
    assert [(row["regime"], row["generator"], row["n"]) for row in by_both] == [
        *(("conservative", "unknown", 0), ("ordinary", "m2", 2), ("aggressive", "unknown", 9))
    ]
    [whole] = preference_table(records, ())
    assert whole["n"] == 11 and whole["synthetic"] is False
    for wrong in (("query",), "regime"):
        with pytest.raises(UsageError, match="preferences go by"):
            preference_table(records, wrong)


def test_the_papers_shares_are_whole() -> None:
    for table in ("preference by regime", "ordinary preference by generator"):
        for shares in PAPER[table].values():
            assert sum(shares.values()) == pytest.approx(1, abs=0.0011)


def test_synthetic_judgments_say_so_everywhere() -> None:
    records = [msgspec.structs.replace(one, synthetic=True) for one in retests(PAIRS)]
    assert retest_agreement(records)["synthetic"] is True
    assert all(row["synthetic"] for row in preference_table(records))
