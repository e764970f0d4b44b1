"""Datasets in the workspace: merging, versions, damage, forgetting, concurrency and downloads."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.datasets import fetch as fetching
from workbench.datasets import import_file, load_dataset, store
from workbench.datasets.fetch import fetch
from workbench.datasets.merge import merge
from workbench.datasets.report import Dataset, ImportLog
from workbench.errors import DataError, ModelError, UsageError, WorkspaceError
from workbench.schema import Dialogue, Gold, Memory, Question, Turn
from workbench.workspace import Workspace

ROOT = Path(__file__).parent.parent


def turn(name: str, text: str = "hello", session: str = "1", day: int | None = None) -> Turn:
    time = None if day is None else datetime(2024, 1, day)
    return Turn(id=name, session=session, speaker="user", role="user", text=text, time=time)


def chats(*dialogues: Dialogue, **fields: object) -> Dataset:
    return msgspec.structs.replace(
        Dataset(name="mine", format="chatgpt", dialogues=dialogues), **fields
    )


def chat(name: str, *turns: Turn, aside: tuple[Turn, ...] = ()) -> Dialogue:
    return Dialogue(id=name, scope="me", title=name, turns=turns, aside=aside)


def ids(workspace: Workspace, position: int = 0) -> list[str]:
    return [one.id for one in store.load(workspace, "mine").dialogues[position].turns]


def everything_under(workspace: Workspace) -> bytes:
    return b"".join(path.read_bytes() for path in workspace.root.rglob("*") if path.is_file())


# ---------------------------------------------------------------- merging


def test_importing_again_adds_nothing_and_writes_nothing(workspace: Workspace) -> None:
    first = chats(chat("x", turn("1"), turn("2")))
    assert store.save(workspace, first) == (2, 0, 0)
    written = {path: path.stat().st_mtime_ns for path in workspace.root.rglob("mine/**/*")}
    assert store.save(workspace, first) == (0, 0, 2)
    assert {path: path.stat().st_mtime_ns for path in workspace.root.rglob("mine/**/*")} == written


def test_a_grown_export_adds_exactly_what_is_new(workspace: Workspace) -> None:
    store.save(workspace, chats(chat("x", turn("1"), turn("2")), chat("gone", turn("9"))))
    assert store.save(workspace, chats(chat("x", turn("1"), turn("2"), turn("3")))) == (1, 0, 2)
    assert ids(workspace) == ["1", "2", "3"]
    assert ids(workspace, 1) == ["9"]
    assert len(list(workspace.folder("datasets", "mine").glob("*/manifest.json"))) == 1


def test_the_same_id_with_other_content_is_updated(workspace: Workspace) -> None:
    store.save(workspace, chats(chat("x", turn("1"), turn("2"))))
    assert store.save(workspace, chats(chat("x", turn("1", "edited"), turn("2")))) == (0, 1, 1)
    assert store.load(workspace, "mine").dialogues[0].turns[0].text == "edited"


def test_a_turn_that_is_now_aside_moves_there_and_back(workspace: Workspace) -> None:
    spoken = chats(chat("x", turn("1"), turn("2"), turn("3")))
    branch = msgspec.structs.replace(turn("2"), aside="other branch")
    store.save(workspace, spoken)
    store.save(workspace, chats(chat("x", turn("1"), turn("4"), aside=(branch,))))
    [dialogue] = store.load(workspace, "mine").dialogues
    assert [one.id for one in dialogue.turns] == ["1", "3", "4"]
    assert [(one.id, one.aside) for one in dialogue.aside] == [("2", "other branch")]
    store.save(workspace, spoken)
    [dialogue] = store.load(workspace, "mine").dialogues
    assert sorted(one.id for one in dialogue.turns) == ["1", "2", "3", "4"] and not dialogue.aside


def test_a_turn_set_aside_is_no_longer_evidence(workspace: Workspace) -> None:
    store.save(workspace, forgettable())
    hidden = msgspec.structs.replace(turn("2", session="s2"), aside="other branch")
    newer = chats(chat("x", turn("1"), turn("3", session="s3"), aside=(hidden,)))
    assert store.save(workspace, newer) == (0, 0, 2)
    dataset = store.load(workspace, "mine")
    assert dataset.questions[0].gold.evidence == ("1",)
    assert dataset.questions[0].gold.unresolved == ("2 (set aside)", "s2 (set aside)")
    assert dataset.questions[0].until == "1"
    assert [memory.id for memory in dataset.observations] == ["o0"]


def test_sessions_that_arrive_late_are_put_in_order_of_time(workspace: Workspace) -> None:
    later = chat("x", turn("b1", session="b", day=9), turn("b2", session="b", day=9))
    store.save(workspace, chats(later))
    store.save(workspace, chats(chat("x", turn("a1", session="a", day=2))))
    assert ids(workspace) == ["a1", "b1", "b2"]
    store.save(workspace, chats(chat("x", turn("c1", session="c"))))
    assert ids(workspace) == ["a1", "b1", "b2", "c1"]


def test_a_complete_newer_version_decides_the_order(workspace: Workspace) -> None:
    store.save(workspace, chats(chat("x", turn("1"), turn("2"))))
    store.save(workspace, chats(chat("x", turn("0"), turn("2"), turn("1"))))
    assert ids(workspace) == ["0", "2", "1"]


def test_a_turn_that_changes_its_dialogue_is_in_one_only(workspace: Workspace) -> None:
    store.save(workspace, chats(chat("x", turn("1"), turn("2"))))
    store.save(workspace, chats(chat("y", turn("2"))))
    assert ids(workspace, 0) == ["1"] and ids(workspace, 1) == ["2"]


def test_an_audit_survives_an_import_without_one(workspace: Workspace) -> None:
    plain = Question(id="q", scope="me", text="?", gold=Gold(answer="a"))
    audited = msgspec.structs.replace(plain, audited=Gold(answer="b"), audit="WRONG")
    store.save(workspace, chats(questions=(audited,)))
    assert store.save(workspace, chats(questions=(plain,))) == (0, 0, 1)
    assert store.load(workspace, "mine").questions == (audited,)


def test_another_format_needs_another_name(workspace: Workspace) -> None:
    store.save(workspace, chats(chat("x", turn("1"))))
    with pytest.raises(UsageError, match=r"holds chatgpt data.*--name"):
        store.save(workspace, chats(format="claude"))


def test_names_info_and_an_unknown_name(workspace: Workspace) -> None:
    assert store.names(workspace) == []
    store.save(workspace, chats(chat("x", turn("1"))), sources={"a.json": "00ff"})
    assert store.names(workspace) == ["mine"]
    about = store.info(workspace, "mine")
    assert about["format"] == "chatgpt" and about["counts"]["turns"] == 1
    assert about["sources"] == {"a.json": "00ff"}
    with pytest.raises(DataError, match=r"no dataset 'yours'.*mine.*workbench import"):
        store.load(workspace, "yours")
    with pytest.raises(DataError, match="no dataset"):
        store.load(workspace, "../mine")


# ---------------------------------------------------------------- damage


@pytest.mark.parametrize("file", ["dialogues.jsonl", "manifest.json"])
@pytest.mark.parametrize("harm", ["cut", "removed"])
def test_damage_is_said_and_repaired_by_importing_again(
    workspace: Workspace, file: str, harm: str
) -> None:
    first = chats(chat("x", turn("1"), turn("2")))
    store.save(workspace, first)
    [folder] = workspace.folder("datasets", "mine").glob("*/")
    path = folder / file
    path.write_bytes(path.read_bytes()[:-9]) if harm == "cut" else path.unlink()
    with pytest.raises(WorkspaceError, match=r"mine is damaged.*import its source again"):
        store.load(workspace, "mine")
    log = ImportLog()
    assert store.save(workspace, first, log) == (2, 0, 0)
    assert ["damaged" in one.why for one in log.problems] == [True]
    assert ids(workspace) == ["1", "2"]


def test_an_unfinished_version_is_neither_listed_nor_kept(workspace: Workspace) -> None:
    store.save(workspace, chats(chat("x", turn("1"))))
    orphan = workspace.folder("datasets", "mine") / ".0123.77.tmp"
    orphan.mkdir()
    (workspace.folder("datasets", "other") / "0123").mkdir(parents=True)
    assert store.names(workspace) == ["mine"] and ids(workspace) == ["1"]
    store.save(workspace, chats(chat("x", turn("1"), turn("2"))))
    assert not orphan.exists()


# ---------------------------------------------------------------- forgetting


def forgettable() -> Dataset:
    secret = turn("2", "PIN hint is the dog's name", session="s2")
    questions = (
        Question(
            id="q1",
            scope="me",
            text="Hint?",
            gold=Gold(evidence=("1", "2"), sessions=("1", "s2")),
            audited=Gold(evidence=("2",)),
            until="2",
        ),
        Question(id="q2", scope="other", text="?", gold=Gold(evidence=("2",))),
    )
    observed = tuple(
        Memory(id=f"o{n}", scope="me", kind="observation", text=f"fact {n}", sources=sources)
        for n, sources in enumerate([("1",), ("1", "2")])
    )
    other = Dialogue(id="o", scope="other", turns=(turn("2", "kept"),))
    return chats(
        chat("x", turn("1"), secret, turn("3", session="s3")),
        other,
        questions=questions,
        observations=observed,
    )


def test_forgetting_takes_the_text_out_of_everything(workspace: Workspace) -> None:
    store.save(workspace, forgettable())
    store.forget(workspace, "mine", "me", ["2"])
    assert b"PIN hint" not in everything_under(workspace)
    dataset = store.load(workspace, "mine")
    assert ids(workspace) == ["1", "3"] and ids(workspace, 1) == ["2"]
    mine, other = dataset.questions
    assert mine.gold == Gold(
        evidence=("1",), sessions=("1",), unresolved=("2 (forgotten)", "s2 (forgotten)")
    )
    assert mine.audited == Gold(unresolved=("2 (forgotten)",)) and mine.until == "1"
    assert other.gold.evidence == ("2",)
    assert [memory.id for memory in dataset.observations] == ["o0"]


def test_forgotten_turns_do_not_come_back(workspace: Workspace) -> None:
    store.save(workspace, forgettable())
    store.forget(workspace, "mine", "me", ["2"])
    log = ImportLog()
    log.read(8)
    log.keep(8)
    # 3 turns, 2 questions and 1 observation are as they were, the other two are forgotten.
    assert store.save(workspace, forgettable(), log) == (0, 0, 6)
    log.check()
    assert log.counts["skipped"] == 2
    assert log.problems[0].where == "me, turn 2" and log.problems[0].why == "forgotten"
    assert b"PIN hint" not in everything_under(workspace)
    store.forget(workspace, "mine", "me", ["2"])
    assert ids(workspace) == ["1", "3"]


def test_forgetting_an_unknown_turn_changes_nothing(workspace: Workspace) -> None:
    store.save(workspace, forgettable())
    with pytest.raises(DataError, match="mine, me: no turn 8"):
        store.forget(workspace, "mine", "me", ["1", "8"])
    assert ids(workspace) == ["1", "2", "3"]


def test_forgetting_what_a_question_saw_leaves_it_out(workspace: Workspace) -> None:
    store.save(workspace, forgettable())
    store.forget(workspace, "mine", "me", ["1", "2"])
    assert [question.id for question in store.load(workspace, "mine").questions] == ["q2"]


def test_forgetting_in_the_sample_imports_it_first(workspace: Workspace) -> None:
    store.forget(workspace, "sample", "c1", ["D1:1"])
    assert len(store.load(workspace, "sample").dialogues[0].turns) == 120


# ---------------------------------------------------------------- several processes


IMPORTER = """
import sys
from workbench.datasets import import_file
from workbench.workspace import Workspace
for path in sys.argv[2:]:
    import_file(Workspace(sys.argv[1]), path, name="shared")
"""


SIZES = range(10, 160, 10)


def test_an_import_waits_for_the_one_that_is_writing(workspace: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "hi"}', encoding="utf-8")
    command = [sys.executable, "-c", IMPORTER, str(workspace.root), str(path)]
    with workspace.lock("dataset-shared"):
        process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE)
        assert process.stderr is not None
        remark = process.stderr.readline()
        held_back = store.names(workspace)
    process.communicate(timeout=60)
    assert remark.startswith(b"waiting for process") and held_back == []
    assert process.returncode == 0 and store.names(workspace) == ["shared"]


def test_two_importing_processes_end_as_one_after_the_other(
    workspace: Workspace, tmp_path: Path
) -> None:
    growing: dict[str, list[str]] = {"a": [], "b": []}
    for who, paths in growing.items():
        for size in SIZES:
            rows = [
                {"scope": "s", "dialogue": who, "id": f"{who}{n}", "text": f"{who} {n}"}
                for n in range(size)
            ]
            path = tmp_path / f"{who}{size}.jsonl"
            path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
            paths.append(str(path))
    running = [
        subprocess.Popen([sys.executable, "-c", IMPORTER, str(workspace.root), *paths], cwd=ROOT)
        for paths in growing.values()
    ]
    while any(process.poll() is None for process in running):
        # A reader in the middle of it sees a whole version or none yet.
        if "shared" in store.names(workspace):
            for dialogue in store.load(workspace, "shared").dialogues:
                assert len(dialogue.turns) in SIZES
    assert [process.returncode for process in running] == [0, 0]
    dialogues = store.load(workspace, "shared").dialogues
    assert {one.id: [t.id for t in one.turns] for one in dialogues} == {
        who: [f"{who}{n}" for n in range(SIZES[-1])] for who in growing
    }


def test_a_killed_import_leaves_a_whole_version(workspace: Workspace, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    for size, delay in [(2000, 0.15), (4000, 0.2), (6000, 0.25), (8000, 0.3)]:
        rows = [{"id": f"{n}", "text": f"turn {n} of {size}"} for n in range(size)]
        path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        command = [sys.executable, "-c", IMPORTER, str(workspace.root), str(path)]
        with subprocess.Popen(command, cwd=ROOT) as process:
            try:
                process.wait(delay)
            except subprocess.TimeoutExpired:
                process.kill()
        if "shared" in store.names(workspace):
            [dialogue] = store.load(workspace, "shared").dialogues
            assert len({one.text.split()[-1] for one in dialogue.turns}) == 1
    import_file(workspace, path, name="shared")
    assert len(store.load(workspace, "shared").dialogues[0].turns) == 8000
    assert len(list(workspace.folder("datasets", "shared").glob("*/"))) == 1


turn_lists = st.lists(
    st.builds(
        lambda number, session, day, text: turn(f"{number}", text, session, day),
        number=st.integers(0, 6),
        session=st.sampled_from(["1", "2", "3"]),
        day=st.none() | st.integers(1, 9),
        text=st.sampled_from(["a", "b"]),
    ),
    max_size=6,
    unique_by=lambda one: one.id,
)


@given(old=turn_lists, new=turn_lists, aside=st.sets(st.sampled_from("0123456")))
def test_merging_is_a_union_and_merging_again_changes_nothing(
    old: list[Turn], new: list[Turn], aside: set[str]
) -> None:
    before = chats(chat("x", *old))
    spoken = [one for one in new if one.id not in aside]
    hidden = tuple(msgspec.structs.replace(one, aside="h") for one in new if one.id in aside)
    arrived = chats(chat("x", *spoken, aside=hidden))
    merged, counts = merge(before, arrived)
    [dialogue] = merged.dialogues
    names = [one.id for one in (*dialogue.turns, *dialogue.aside)]
    assert sorted(names) == sorted({one.id for one in (*old, *new)})
    assert set(spoken) <= set(dialogue.turns) and set(hidden) == set(dialogue.aside)
    assert sum(counts) == len(spoken)
    assert merge(merged, arrived) == (merged, (0, 0, len(spoken)))


def test_locomo_imported_twice(workspace: Workspace, test_data: Path) -> None:
    path = test_data / "locomo" / "locomo10.json"
    audit = test_data / "locomo" / "audit_errors.json"
    first = import_file(workspace, path, audit=audit)
    assert first.counts["imported"] == 5882 + 1986 + 2541
    again = import_file(workspace, path)
    assert (again.counts["imported"], again.counts["updated"]) == (0, 0)
    dataset = load_dataset(workspace, "locomo")
    assert sum(question.audited is not None for question in dataset.questions) == 156


# ---------------------------------------------------------------- downloads


BODY = b'[{"tiny": true}]'


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path != "/missing" else 404)
        self.end_headers()
        self.wfile.write(BODY * (1000 if self.path == "/large" else 1))
        self.server.seen.append(self.path)  # type: ignore[attr-defined]

    def log_message(self, format: str, *args: object) -> None:
        """Keep the test's output quiet."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ThreadingHTTPServer]:
    """A local server of the tiny file, which stands in for LoCoMo's."""
    found = fetching.REMOTES["locomo"]
    tiny = found._replace(sha256=hashlib.sha256(BODY).hexdigest(), limit=1000)
    monkeypatch.setitem(fetching.REMOTES, "locomo", tiny)
    serving = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    serving.seen = []  # type: ignore[attr-defined]
    threading.Thread(target=serving.serve_forever, daemon=True).start()
    yield serving
    serving.shutdown()
    serving.server_close()


def address(server: ThreadingHTTPServer, path: str) -> str:
    return f"http://127.0.0.1:{server.server_address[1]}{path}"


def test_fetch_downloads_once_and_names_the_licence(
    workspace: Workspace, server: ThreadingHTTPServer, capsys: pytest.CaptureFixture[str]
) -> None:
    path = fetch("locomo", workspace, url=address(server, "/file"))
    assert path == workspace.root / "sources" / "locomo10.json" and path.read_bytes() == BODY
    assert fetch("locomo", workspace, url=address(server, "/file")) == path
    assert server.seen == ["/file"]  # type: ignore[attr-defined]
    out, err = capsys.readouterr()
    assert out == "" and "CC BY-NC 4.0" in err
    path.write_bytes(b"damaged")
    assert fetch("locomo", workspace, url=address(server, "/file")).read_bytes() == BODY


def test_fetch_keeps_nothing_that_is_another_file(
    workspace: Workspace, server: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DataError, match="larger than 1000 bytes"):
        fetch("locomo", workspace, url=address(server, "/large"))
    other = fetching.REMOTES["locomo"]._replace(sha256="00")
    monkeypatch.setitem(fetching.REMOTES, "locomo", other)
    with pytest.raises(DataError, match=r"sha256 is .*, expected 00"):
        fetch("locomo", workspace, url=address(server, "/file"))
    assert not (workspace.root / "sources").exists()


def test_fetch_explains_the_way_by_hand(workspace: Workspace, server: ThreadingHTTPServer) -> None:
    with pytest.raises(ModelError, match=r"Not Found.*in a browser.*workbench import PATH"):
        fetch("locomo", workspace, url=address(server, "/missing"))
    server.shutdown()
    server.server_close()
    with pytest.raises(ModelError, match="cannot be downloaded"):
        fetch("locomo", workspace, url=address(server, "/file"))
    with pytest.raises(UsageError, match="only http"):
        fetch("locomo", workspace, url="file:///etc/hostname")


def test_fetch_of_the_sample_and_of_unknown_names(workspace: Workspace) -> None:
    assert fetch("sample", workspace).is_file()
    with pytest.raises(UsageError, match="known are sample, locomo"):
        fetch("squad", workspace)


def test_the_known_hash_is_that_of_the_real_file(test_data: Path) -> None:
    data = (test_data / "locomo" / "locomo10.json").read_bytes()
    assert hashlib.sha256(data).hexdigest() == fetching.REMOTES["locomo"].sha256
    assert len(data) < fetching.REMOTES["locomo"].limit
