"""Sources: hostile, damaged and oddly encoded files, and the zip limits."""

from __future__ import annotations

import codecs
import os
import stat
import time
import zipfile
from pathlib import Path

import pytest

from workbench.datasets import archive, source
from workbench.datasets.report import ImportLog
from workbench.datasets.source import open_source, scrub
from workbench.errors import DataError


@pytest.fixture
def log() -> ImportLog:
    return ImportLog()


def zip_of(path: Path, members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as made:
        for name, data in members.items():
            made.writestr(name, data)
    return path


def file_of(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def only_json(path: Path, log: ImportLog) -> object:
    (document,) = open_source(path, log).documents
    return document.json()


@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
def test_utf8_is_read_with_and_without_a_mark(tmp_path: Path, log: ImportLog, mark: bytes) -> None:
    path = file_of(tmp_path / "a.json", mark + '{"k": "שלום \u202e123 nai\u0308ve"}'.encode())
    assert only_json(path, log) == {"k": "שלום \u202e123 nai\u0308ve"}
    assert log.problems == []


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_is_read_by_its_mark(tmp_path: Path, log: ImportLog, encoding: str) -> None:
    path = file_of(tmp_path / "a.json", '\ufeff{"k": "naïve"}\n'.encode(encoding))
    assert only_json(path, log) == {"k": "naïve"}
    (document,) = open_source(path, log).documents
    assert list(document.lines()) == [(1, '{"k": "naïve"}'.encode())]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "a.json: empty"),
        (b" \n ", "a.json: empty"),
        (b"[1,\n 2 3]", "a.json, line 2, column 4: not JSON"),
        (b'{"a":\xff}', "a.json: byte 5 is not UTF-8"),
        (codecs.BOM_UTF8 + b'{"a":\xff}', "a.json: byte 8 is not UTF-8"),
        (b"[" * 100_000, "a.json: nested too deeply"),
        (b"[" + b"1" * 5_000 + b"]", "a.json: not usable JSON"),
    ],
    ids=["empty", "blank", "syntax", "latin1", "latin1 after mark", "deep", "huge number"],
)
def test_what_is_no_json_is_located(tmp_path: Path, log: ImportLog, data: bytes, said: str) -> None:
    (document,) = open_source(file_of(tmp_path / "a.json", data), log).documents
    with pytest.raises(DataError, match=said):
        document.json()
    assert document.peek() is None


def test_nan_and_repeated_keys_are_accepted(tmp_path: Path, log: ImportLog) -> None:
    value = only_json(file_of(tmp_path / "a.json", b'{"a": 1, "b": NaN, "a": 2}'), log)
    assert isinstance(value, dict) and value["a"] == 2 and value["b"] != value["b"]


def test_unstorable_characters_are_replaced_once_and_counted(
    tmp_path: Path, log: ImportLog
) -> None:
    text = r'{"k\ud83d": ["a\u0000b", {"x": "ok \ud83d"}], "pair": "\ud83d\ude00"}'
    (document,) = open_source(file_of(tmp_path / "a.json", text.encode()), log).documents
    clean = {"k\ufffd": ["a\ufffdb", {"x": "ok \ufffd"}], "pair": "😀"}
    assert document.json() == clean and document.json() is document.json()
    assert [(p.kind, p.where, p.why) for p in log.problems] == [
        ("repaired", "a.json", "3 lone surrogates or NULs replaced by U+FFFD")
    ]


def test_scrub_takes_any_value(log: ImportLog) -> None:
    assert scrub("a\udc00", log, "here") == "a\ufffd"
    assert scrub(None, log, "here") is None
    assert log.counts["repaired"] == 1


def test_lines_are_numbered_with_blank_ones(tmp_path: Path, log: ImportLog) -> None:
    path = file_of(tmp_path / "a.jsonl", codecs.BOM_UTF8 + b'{"a":1}\r\n\nnot json')
    (document,) = open_source(path, log).documents
    assert list(document.lines()) == [(1, b'{"a":1}'), (2, b""), (3, b"not json")]


def test_a_folder_gives_its_json_files_in_order(tmp_path: Path, log: ImportLog) -> None:
    (tmp_path / "in" / "sub" / "deeper").mkdir(parents=True)
    home = tmp_path / "in"
    names = ["b.json", "a.jsonl", "user.json", ".hidden.json", "picture.png"]
    for name in [*names, "sub/c.json", "sub/deeper/d.json"]:
        (home / name).write_bytes(b"{}")
    assert [d.name for d in open_source(home, log).documents] == ["a.jsonl", "b.json", "sub/c.json"]


def test_links_that_leave_the_folder_are_refused(tmp_path: Path, log: ImportLog) -> None:
    home = tmp_path / "in"
    home.mkdir()
    (tmp_path / "secret.json").write_text('"secret"', encoding="utf-8")
    (home / "a.json").write_text("1", encoding="utf-8")
    (home / "inside.json").symlink_to(home / "a.json")
    (home / "outside.json").symlink_to(tmp_path / "secret.json")
    (home / "broken.json").symlink_to(tmp_path / "nothing.json")
    documents = open_source(home, log).documents
    assert [d.name for d in documents] == ["a.json", "inside.json"]
    assert log.counts["refused_members"] == log.counts["warning"] == 2
    assert {p.where for p in log.problems} == {"in: outside.json", "in: broken.json"}


def test_what_is_neither_file_nor_folder_is_refused(tmp_path: Path, log: ImportLog) -> None:
    with pytest.raises(DataError, match="No such file"):
        open_source(tmp_path / "none.json", log)
    with pytest.raises(DataError, match=r"holds no \.json"):
        open_source(tmp_path, log)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe.json")
        with pytest.raises(DataError, match="neither a file nor a folder"):
            open_source(tmp_path / "pipe.json", log)


def test_a_file_over_the_limit_is_refused(
    tmp_path: Path, log: ImportLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "MAX_FILE_BYTES", 10)
    with pytest.raises(DataError, match="11 bytes, over the limit of 10"):
        open_source(file_of(tmp_path / "a.json", b"[1,2,3,4,5]"), log)


def test_unreadable_documents_fail_unless_none_can_be_read(tmp_path: Path, log: ImportLog) -> None:
    (tmp_path / "a.json").write_bytes(b"{bad")
    (tmp_path / "b.json").write_bytes(b"[1]")
    opened = open_source(tmp_path, log)
    assert [(d.name, value) for d, value in opened.decoded()] == [("b.json", [1])]
    assert (log.counts["read"], log.counts["failed"]) == (1, 1)
    (tmp_path / "b.json").write_bytes(b"")
    with pytest.raises(DataError, match=r"a\.json, line 1, column 2"):
        list(open_source(tmp_path, log).decoded())


def test_zip_members_are_chosen_by_base_name(tmp_path: Path, log: ImportLog) -> None:
    members = {
        "export/conversations-001.json": b"[2]",
        "export/conversations-000.json": b"[1]",
        "export/user.json": b"{}",
        "export/message_feedback.json": b"[]",
        "__MACOSX/._conversations-000.json": b"\x00",
        "image.png": b"\x89PNG",
    }
    opened = open_source(zip_of(tmp_path / "e.zip", members), log)
    assert [(d.name, d.json()) for d in opened.documents] == [
        ("e.zip: export/conversations-000.json", [1]),
        ("e.zip: export/conversations-001.json", [2]),
    ]
    assert log.counts["ignored_members"] == 4
    assert log.problems == []


def test_a_zip_is_known_by_its_content(tmp_path: Path, log: ImportLog) -> None:
    path = zip_of(tmp_path / "upload", {"conversations.json": b"[1]"})
    assert only_json(path, log) == [1]


@pytest.mark.parametrize(
    "name",
    ["../../evil.json", "/abs.json", "a/../../evil.json", "..\\evil.json", "C:\\evil.json",
     "\\\\host\\evil.json"],
)  # fmt: skip
def test_members_whose_path_leaves_the_archive_are_refused(
    tmp_path: Path, log: ImportLog, name: str
) -> None:
    path = zip_of(tmp_path / "e.zip", {"conversations.json": b"[1]", name: b'"evil"'})
    assert only_json(path, log) == [1]
    assert log.counts["refused_members"] == 1
    assert [(p.kind, p.why) for p in log.problems] == [
        ("warning", "refused: its path leaves the archive")
    ]
    assert not list(tmp_path.parent.rglob("evil.json"))


def test_symbolic_links_in_a_zip_are_refused(tmp_path: Path, log: ImportLog) -> None:
    link = zipfile.ZipInfo("conversations.json")
    link.create_system = 3
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "e.zip", "w") as made:
        made.writestr(link, "/etc/passwd")
    with pytest.raises(DataError, match=r"holds no \.json"):
        open_source(tmp_path / "e.zip", log)
    assert [p.why for p in log.problems] == ["refused: it is a symbolic link"]


def test_encrypted_members_are_refused(tmp_path: Path, log: ImportLog) -> None:
    data = bytearray(zip_of(tmp_path / "plain.zip", {"conversations.json": b"[1]"}).read_bytes())
    data[data.index(b"PK\x03\x04") + 6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1
    with pytest.raises(DataError, match=r"holds no \.json"):
        open_source(file_of(tmp_path / "e.zip", bytes(data)), log)
    assert "it is encrypted" in log.problems[0].why


def test_a_bomb_ends_at_the_ratio_limit(tmp_path: Path, log: ImportLog) -> None:
    path = zip_of(tmp_path / "e.zip", {"conversations.json": b" " * (8 * 2**20)})
    assert path.stat().st_size * archive.MAX_RATIO < 8 * 2**20
    (document,) = open_source(path, log).documents
    with pytest.raises(DataError, match=r"conversations\.json: .*limit of 200:1"):
        document.json()


def test_a_well_compressed_small_member_is_no_bomb(tmp_path: Path, log: ImportLog) -> None:
    path = zip_of(tmp_path / "e.zip", {"conversations.json": b"[" + b" " * 2**19 + b"1]"})
    assert path.stat().st_size * archive.MAX_RATIO < 2**19
    assert only_json(path, log) == [1]


def test_members_end_at_the_size_limits(
    tmp_path: Path, log: ImportLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = {"a.json": b"[" + b" " * 78 + b"]", "b.json": b"[" + b" " * 78 + b"]"}
    path = zip_of(tmp_path / "e.zip", members, zipfile.ZIP_STORED)
    monkeypatch.setattr(archive, "MAX_TOTAL_BYTES", 159)
    first, second = open_source(path, log).documents
    assert first.json() == [] and first.data() == members["a.json"]
    with pytest.raises(DataError, match=r"b\.json: .*limit of 159 bytes for all members"):
        second.json()
    monkeypatch.setattr(archive, "MAX_MEMBER_BYTES", 79)
    with pytest.raises(DataError, match=r"a\.json: .*limit of 79 bytes for one member"):
        open_source(path, log).documents[0].json()


def test_too_many_entries_are_refused(tmp_path: Path, log: ImportLog) -> None:
    whole = zip_of(tmp_path / "e.zip", {f"{n}.json": b"" for n in range(10_000)}, 0)
    assert len(open_source(whole, log).documents) == 10_000
    with zipfile.ZipFile(whole, "a") as made:
        made.writestr("one more.json", b"")
    with pytest.raises(DataError, match="10001 entries, more than the limit of 10000"):
        open_source(whole, log)


def test_damaged_zips_are_data_errors(tmp_path: Path, log: ImportLog) -> None:
    data = zip_of(tmp_path / "e.zip", {"a.json": b"[1234567]"}, zipfile.ZIP_STORED).read_bytes()
    with pytest.raises(DataError, match="damaged or incomplete zip"):
        open_source(file_of(tmp_path / "cut.zip", data[: len(data) // 2]), log)
    with pytest.raises(DataError, match="damaged or incomplete zip"):
        open_source(file_of(tmp_path / "empty.zip", b""), log)
    flipped = file_of(tmp_path / "flipped.zip", data.replace(b"1234567", b"1234568"))
    with pytest.raises(DataError, match=r"a\.json: damaged in the zip"):
        only_json(flipped, log)


def test_a_long_flat_file_is_scrubbed_quickly(log: ImportLog) -> None:
    value = [{"text": "x" * 20, "n": n} for n in range(100_000)]
    begun = time.perf_counter()
    scrub(value, log, "big")
    assert time.perf_counter() - begun < 5
    assert log.problems == []
