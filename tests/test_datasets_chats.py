"""Chat exports: which branch is the conversation, what is set aside, and that every message counts.

Expected values come from the formats' rules and, for the public exports, from reading the files.
"""

from __future__ import annotations

import json
import time
import zipfile
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from workbench.datasets import chatgpt, claude, librechat, tree
from workbench.datasets.chats import LICENCE
from workbench.datasets.report import Dataset, ImportLog
from workbench.datasets.source import open_source
from workbench.errors import DataError
from workbench.schema import Dialogue, Turn

DATA = Path(__file__).parent / "data"
Importer = Callable[..., tuple[Dataset, ImportLog]]


def load(loader: Any, path: Path) -> tuple[Dataset, ImportLog]:
    """Import a path, and prove that its records add up."""
    log = ImportLog()
    dataset = loader.load(open_source(path, log), "mine", log)
    log.check()
    ids = [turn.id for dialogue in dataset.dialogues for turn in dialogue.turns + dialogue.aside]
    assert len(ids) == len(set(ids)) and all(ids)
    return dataset, log


@pytest.fixture
def imported(tmp_path: Path) -> Importer:
    """Write JSON values as files of one folder, and import them."""

    def run(loader: Any, *values: Any) -> tuple[Dataset, ImportLog]:
        folder = tmp_path / "in"
        folder.mkdir(exist_ok=True)
        for number, value in enumerate(values):
            text = value if isinstance(value, str) else json.dumps(value)
            (folder / f"part-{number}.json").write_text(text, encoding="utf-8")
        return load(loader, folder)

    return run


def only(dataset: Dataset) -> Dialogue:
    (dialogue,) = dataset.dialogues
    return dialogue


def said(dialogue: Dialogue) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in dialogue.turns]


def reasons(dialogue: Dialogue) -> dict[str, str | None]:
    return {turn.id: turn.aside for turn in dialogue.aside}


def remarks(log: ImportLog, kind: str) -> list[str]:
    return [f"{problem.where}: {problem.why}" for problem in log.problems if problem.kind == kind]


def node(parent: str | None, text: Any = "hello", role: str = "user", **fields: Any) -> Any:
    content = {"content_type": "text", "parts": [text]}
    return {"parent": parent, "message": {"author": {"role": role}, "content": content, **fields}}


def chat(mapping: Any, current: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"conversation_id": "c", "current_node": current, "mapping": mapping, **fields}


# ChatGPT


def test_chatgpt_follows_the_active_branch_only() -> None:
    dataset, log = load(chatgpt, DATA / "chatgpt_tree.json")
    dialogue = only(dataset)
    assert said(dialogue) == [
        ("user", "Best tea?"),
        ("assistant", "Sencha"),
        ("user", "[image] And this tin?"),
    ]
    assert reasons(dialogue) == {"h": "hidden", "b1": "other branch", "s": "system", "t": "tool"}
    raw = {turn.id: turn.text for turn in dialogue.aside}
    assert raw["h"] == "I am Ana, born 1980" and raw["t"] == '{"q":1}'
    assert (dialogue.id, dialogue.scope, dialogue.title) == ("tea", "me", "t")
    assert dialogue.sessions == ("tea",) and dialogue.people == ("user",)
    assert (dataset.name, dataset.format, dataset.licence) == ("mine", "chatgpt", LICENCE)
    assert log.counts == Counter(read=7, written=3, skipped=4)
    assert remarks(log, "skipped")[0] == "chatgpt_tree.json: chat tea, message h: hidden"


def test_chatgpt_times_are_utc_and_default_to_the_chats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Pacific/Auckland")
    if hasattr(time, "tzset"):
        time.tzset()
    try:
        dialogue = only(load(chatgpt, DATA / "chatgpt_tree.json")[0])
    finally:
        monkeypatch.undo()
        if hasattr(time, "tzset"):
            time.tzset()
    # 1704096000 is 1 January 2024, 8:00 UTC.
    assert [turn.time for turn in dialogue.turns] == [
        datetime(2024, 1, 1, 8, 0, 1, 500_000, tzinfo=UTC),
        datetime(2024, 1, 1, 8, tzinfo=UTC),
        datetime(2024, 1, 1, 8, tzinfo=UTC),
    ]


@pytest.mark.parametrize(
    "absurd", [-5, 0, True, "1704096000", 1.7e12, [], pytest.param(float("nan"), id="nan")]
)
def test_chatgpt_absurd_times_are_left_empty(imported: Importer, absurd: Any) -> None:
    nodes = {"a": node(None, create_time=absurd)}
    dataset, log = imported(chatgpt, [chat(nodes, "a", create_time=1704096000)])
    assert only(dataset).turns[0].time is None
    (warning,) = remarks(log, "warning")
    assert "message a: time is not a plausible unix time" in warning


def test_chatgpt_public_tree_has_two_branch_points(test_data: Path) -> None:
    dataset, log = load(chatgpt, test_data / "chat_exports" / "chatgpt-tree.json")
    dialogue = only(dataset)
    assert [(turn.id[:8], turn.role) for turn in dialogue.turns] == [
        ("aaa297ba", "user"),
        ("bda8a275", "assistant"),
        ("aaa236a3", "user"),
        ("db88eddf", "assistant"),
        ("aaa20127", "user"),
        ("f63b8e17", "assistant"),
    ]
    assert [turn.text for turn in dialogue.turns[:5]] == [
        "hi there",
        "Hello! How can I assist you today?",
        "hi again",
        "Hey! Welcome back. What's on your mind?",
        "tell me a joke",
    ]
    assert {key[:8]: why for key, why in reasons(dialogue).items()} == {
        "d38605d2": "hidden",
        "aaa24023": "other branch",
        "23afbea9": "other branch",
        "aaa292cc": "other branch",
        "ada93f81": "other branch",
        "d0d2a7df": "other branch",
    }
    # 1714585031 is 1 May 2024, 17:37:11 UTC.
    assert dialogue.turns[0].time == datetime(2024, 5, 1, 17, 37, 11, 150_442, tzinfo=UTC)
    assert log.counts == Counter(read=12, written=6, skipped=6)


def test_chatgpt_public_tree_without_a_root(test_data: Path) -> None:
    dataset, log = load(chatgpt, test_data / "chat_exports" / "chatgpt-citations.json")
    dialogue = only(dataset)
    assert [(t.id[:8], t.role, t.text[:16]) for t in dialogue.turns] == [
        ("4b3aec6b", "assistant", "Signal Sciences ")
    ]
    assert list(reasons(dialogue).values()) == ["tool"]
    missing_current, dangling = remarks(log, "warning")
    assert "took the branch of the newest leaf, 4b3aec6b" in missing_current
    assert "starts at 9e874379" in dangling and "parent is not in the export" in dangling


def test_chatgpt_public_export_with_tools(test_data: Path) -> None:
    dataset, log = load(chatgpt, test_data / "chat_exports" / "chatgpt-export.json")
    assert [dialogue.title for dialogue in dataset.dialogues] == [
        "Conversation 2",  # October 2023
        "Conversation 1. Web Search",  # January 2024
    ]
    code, search = dataset.dialogues
    assert [turn.role for turn in code.turns] == ["user", "assistant"] * 2
    assert [turn.id[:8] for turn in search.turns] == [
        "bbb277e8", "5c57c3b5", "bbb2682f", "9e0f92f9", "bbb26113", "88a0cf9f",
    ]  # fmt: skip
    assert search.turns[2].text == "What about 10 year old model"
    assert Counter(reasons(search).values()) == {"hidden": 1, "tool": 9}
    assert log.counts == Counter(read=21, written=10, skipped=11)


def test_chatgpt_takes_the_newest_leaf_without_a_current_node(imported: Importer) -> None:
    nodes = {
        "q": node(None, "q", create_time=100),
        "old": node("q", "old", create_time=300),
        "new": node("q", "new", create_time=400),
        "timeless": node("old", "follows old"),
    }
    dataset, log = imported(chatgpt, [chat(nodes, "gone")])
    assert [turn.text for turn in only(dataset).turns] == ["q", "new"]
    (warning,) = remarks(log, "warning")
    assert "current_node is missing or unknown; took the branch of the newest leaf, new" in warning
    del nodes["q"]["message"]["create_time"], nodes["old"], nodes["timeless"]
    nodes["later id"] = node("q", "same time", create_time=400)
    assert [turn.text for turn in only(imported(chatgpt, [chat(nodes)])[0]).turns] == [
        "q",
        "same time",  # "later id" < "new"
    ]


@pytest.mark.parametrize("current", ["b", None])
def test_chatgpt_a_loop_fails_its_chat_only(imported: Importer, current: str | None) -> None:
    loop = chat({"a": node("b"), "b": node("a")}, current, conversation_id="loop")
    dataset, log = imported(chatgpt, [loop, chat({"a": node(None)}, "a")])
    assert only(dataset).id == "c"
    assert log.counts == Counter(read=3, written=1, failed=2)
    assert "chat loop: parents form a loop; 2 messages left out" in remarks(log, "failed")[0]


def test_chatgpt_a_loop_off_the_branch_is_another_branch(imported: Importer) -> None:
    nodes = {"a": node(None), "x": node("y"), "y": node("x")}
    dataset, _ = imported(chatgpt, [chat(nodes, "a")])
    assert reasons(only(dataset)) == {"x": "other branch", "y": "other branch"}


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ({"author": {"role": "assistant"}, "recipient": "browser"}, "tool"),
        ({"author": {"role": "assistant"}, "content": {"content_type": "code"}}, "tool"),
        ({"author": {"role": "assistant"}, "content": {"content_type": "thoughts"}}, "tool"),
        ({"author": {"role": "tool"}, "content": {"content_type": "tether_quote"}}, "tool"),
        ({"author": {"role": "system"}}, "system"),
        ({"author": {"role": "user"}, "content": {"content_type": "user_editable_context"}},
         "hidden"),
        ({"author": {"role": "user"}, "content": None}, "empty"),
        ({"author": {"role": "user"}, "content": {"parts": ["", " "]}}, "empty"),
        ({"author": {"role": "user"}, "content": {"parts": []}}, "empty"),
    ],
)  # fmt: skip
def test_chatgpt_sets_aside_with_a_reason(imported: Importer, message: Any, why: str) -> None:
    nodes = {"a": node(None), "m": {"parent": "a", "message": message}}
    dataset, log = imported(chatgpt, [chat(nodes, "m")])
    assert reasons(only(dataset)) == {"m": why}
    assert log.counts["written"] == log.counts["skipped"] == 1


@pytest.mark.parametrize(
    "bad",
    [
        5,
        [],
        {"message": "text"},
        {"message": {"content": {"parts": ["x"]}}},
        {"message": {"author": None}},
        {"message": {"author": {"role": None}}},
    ],
    ids=repr,
)
def test_chatgpt_unusable_nodes_fail_alone(imported: Importer, bad: Any) -> None:
    dataset, log = imported(chatgpt, [chat({"a": node(None), "bad": bad}, "a")])
    assert [turn.id for turn in only(dataset).turns] == ["a"]
    assert log.counts == Counter(read=2, written=1, failed=1)
    assert "chat c, message bad" in remarks(log, "failed")[0]


@pytest.mark.parametrize("mapping", [[], None, "x", 3])
def test_chatgpt_a_mapping_of_the_wrong_type_fails(imported: Importer, mapping: Any) -> None:
    dataset, log = imported(chatgpt, {"mapping": mapping})
    assert dataset.dialogues == ()
    assert log.counts == Counter(read=1, failed=1, warning=1)
    assert "mapping is not an object" in remarks(log, "failed")[0]


def test_chatgpt_parts_become_text_and_placeholders(imported: Importer) -> None:
    def text(*parts: Any) -> Any:
        return {"content_type": "multimodal_text", "parts": list(parts)}

    picture = {"content_type": "image_asset_pointer"}
    recording = {"content_type": "audio_asset_pointer"}
    spoken = {"content_type": "audio_transcription", "text": "Hello there"}
    hologram = {"content_type": "hologram"}
    user = {"role": "user"}
    contents = [
        text("one", "", "two"),
        text(picture, picture, "both"),
        text(spoken, recording),
        text(recording),
        text("see", hologram, None),
        text(hologram),
    ]
    nodes: dict[str, Any] = {}
    for number, content in enumerate(contents):
        above = f"n{number - 1}" if number else None
        nodes[f"n{number}"] = {"parent": above, "message": {"author": user, "content": content}}
    dataset, log = imported(chatgpt, [chat(nodes, "n5")])
    assert [turn.text for turn in only(dataset).turns] == [
        "one\ntwo",
        "[image] [image] both",
        "Hello there",
        "[audio]",
        "see [hologram]",
        "[hologram]",
    ]
    assert remarks(log, "warning") == [
        "part-0.json: 2 pieces of the unknown type 'hologram' not read"
    ]


def test_chatgpt_one_conversation_and_split_files(imported: Importer) -> None:
    one = chat({"a": node(None, "one")}, "a", conversation_id="c1", create_time=2)
    two = chat({"b": node(None, "two")}, "b", conversation_id=None, id="c2", create_time=1)
    dataset, _ = imported(chatgpt, one, [two])
    assert [dialogue.id for dialogue in dataset.dialogues] == ["c2", "c1"]


def test_a_broken_split_file_fails_alone(imported: Importer) -> None:
    dataset, log = imported(chatgpt, "[{", [chat({"a": node(None)}, "a")])
    assert only(dataset).id == "c"
    assert log.counts == Counter(read=2, written=1, failed=1)
    assert "part-0.json: part-0.json, line 1, column 3: not JSON" in remarks(log, "failed")[0]
    with pytest.raises(DataError, match=r"part-0\.json, line 1"):
        imported(chatgpt, "[{", "")


def test_chats_without_an_id_keep_a_stable_one(imported: Importer) -> None:
    first = {"title": "t", "create_time": 5, "mapping": {"a": node(None)}, "current_node": "a"}
    grown = {**first, "mapping": {"a": node(None), "b": node("a")}, "current_node": "b"}
    other = {**first, "create_time": 6}
    before, after = only(imported(chatgpt, first)[0]), only(imported(chatgpt, grown)[0])
    assert before.id == after.id != only(imported(chatgpt, other)[0]).id


# All kinds


def test_a_message_without_a_time_is_no_older_than_what_it_answers() -> None:
    parents = {"a": None, "b": None, "x": "a", "y": "b", "z": "z"}
    assert tree.leaves(parents) == ["x", "y"]
    assert tree.newest(["x", "y", "z"], parents, {"a": 1.0, "b": 2.0}) == "y"
    assert tree.newest(["x", "y"], parents, {}) == "x"
    assert tree.path_to("y", parents) == tree.Path(("b", "y"))
    assert tree.path_to("z", parents).looped
    assert tree.path_to("x", {"x": "gone"}) == tree.Path(("x",), missing="gone")


def test_a_zip_of_split_files_is_one_export(tmp_path: Path) -> None:
    parts = [[chat({f"n{n}": node(None)}, f"n{n}", conversation_id=f"c{n}")] for n in range(2)]
    with zipfile.ZipFile(tmp_path / "export.zip", "w") as made:
        for number, part in enumerate(parts):
            made.writestr(f"export/conversations-00{number}.json", json.dumps(part))
        made.writestr("export/conversations-002.json", "[{")
        made.writestr("export/user.json", "{}")
    dataset, log = load(chatgpt, tmp_path / "export.zip")
    assert [dialogue.id for dialogue in dataset.dialogues] == ["c0", "c1"]
    assert log.counts == Counter(read=3, written=2, failed=1, ignored_members=1)
    assert remarks(log, "failed")[0].startswith("export.zip: export/conversations-002.json: ")


def test_a_grown_export_keeps_turn_ids(imported: Importer) -> None:
    old = chat({"a": node(None, "first")}, "a", conversation_id="x", create_time=1)
    grown = chat(
        {"a": node(None, "first"), "b": node("a", "second")}, "b", conversation_id="x",
        create_time=1, update_time=9,
    )  # fmt: skip
    # Continued from a shared message: the same node id in a newer chat, listed first.
    newer = chat({"a": node(None, "first")}, "a", conversation_id="y", create_time=8)
    v1, _ = imported(chatgpt, [old])
    v2, log = imported(chatgpt, [newer, grown])
    ids = [[turn.id for turn in dialogue.turns] for dialogue in v2.dialogues]
    assert [turn.id for turn in only(v1).turns] == ["a"]
    assert ids == [["a", "b"], ["y:a"]]
    assert len(remarks(log, "repaired")) == 1


@pytest.mark.parametrize("order", [1, -1])
def test_the_newest_copy_of_a_chat_counts(imported: Importer, order: int) -> None:
    old = chat({"a": node(None), "z": node("a")}, "z", update_time=1)
    new = chat({"a": node(None), "b": node("a"), "s": node("b", "", "system")}, "b", update_time=2)
    dataset, log = imported(chatgpt, [old, new][::order])
    assert [turn.id for turn in only(dataset).turns] == ["a", "b"]
    assert log.counts == Counter(read=5, written=2, skipped=3)


@pytest.mark.parametrize("loader", [chatgpt, claude, librechat])
def test_an_export_without_chats_is_legal(imported: Importer, loader: Any) -> None:
    dataset, log = imported(loader, [])
    assert dataset.dialogues == () and log.counts == Counter(warning=1)


@pytest.mark.parametrize("loader", [chatgpt, claude, librechat])
@pytest.mark.parametrize("value", [{}, [1, "x", None], {"a": 1}, None, '"text"', 3, [[]]])
def test_other_json_is_refused_and_not_recognised(
    imported: Importer, tmp_path: Path, loader: Any, value: Any
) -> None:
    with pytest.raises(DataError, match=r"holds no .* chats; name another format"):
        imported(loader, value)
    assert not loader.recognises(open_source(tmp_path / "in", ImportLog()))


@pytest.mark.parametrize("loader", [chatgpt, claude, librechat])
def test_a_recogniser_knows_its_own_only(loader: Any) -> None:
    fixtures = {
        chatgpt: "chatgpt_tree.json",
        claude: "claude_blocks.json",
        librechat: "librechat_flat.json",
    }
    for owner, name in fixtures.items():
        assert loader.recognises(open_source(DATA / name, ImportLog())) == (owner is loader)


@pytest.mark.parametrize("loader", [chatgpt, claude, librechat])
def test_a_recogniser_survives_what_is_no_json(tmp_path: Path, loader: Any) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"a":1}\n{"b":2}\n')
    (tmp_path / "b.json").write_bytes(b"\xff\xfe\x00")
    assert not loader.recognises(open_source(tmp_path, ImportLog()))


def test_chats_that_are_no_objects_fail(imported: Importer) -> None:
    dataset, log = imported(chatgpt, ["x", chat({"a": node(None)}, "a"), None])
    assert only(dataset).id == "c"
    assert log.counts == Counter(read=3, written=1, failed=2)
    assert "part-0.json: chat number 3: chat is not an object" in remarks(log, "failed")[1]


def test_other_files_of_a_folder_are_named(imported: Importer) -> None:
    _, log = imported(chatgpt, [chat({"a": node(None)}, "a")], {"settings": 1})
    assert remarks(log, "warning") == ["part-1.json: holds no ChatGPT chats; left out"]


def test_text_and_titles_are_stored_exactly(imported: Importer) -> None:
    text = "  <img src=x onerror=alert(1)> **b** \u202e{{7*7}} nai\u0308ve\r\n"
    dataset, _ = imported(chatgpt, [chat({"a": node(None, text)}, "a", title="../../x")])
    assert only(dataset).turns[0].text == text and only(dataset).title == "../../x"


def test_a_long_chat_is_read_without_recursion(imported: Importer) -> None:
    nodes = {f"n{n}": node(f"n{n - 1}" if n else None) for n in range(5_000)}
    assert len(only(imported(chatgpt, [chat(nodes, "n4999")])[0]).turns) == 5_000
    messages = [
        {"messageId": f"n{n}", "parentMessageId": f"n{n - 1}", "isCreatedByUser": True, "text": "x"}
        for n in range(5_000)
    ]
    flat = {"conversationId": "c", "messages": messages}
    assert len(only(imported(librechat, flat)[0]).turns) == 5_000


# Claude


def message(uuid: str | None, text: str = "hi", sender: str = "human", **fields: Any) -> Any:
    return {"uuid": uuid, "sender": sender, "text": text, **fields}


def claude_chat(*messages: Any, **fields: Any) -> dict[str, Any]:
    return {"uuid": "c", "name": "n", "chat_messages": list(messages), **fields}


def test_claude_reads_what_is_not_in_text() -> None:
    dataset, log = load(claude, DATA / "claude_blocks.json")
    eight = datetime(2024, 1, 1, 8, tzinfo=UTC)
    assert only(dataset).turns == (
        Turn(id="m1", session="c1", speaker="user", role="user", text="", time=eight,
             attachment="plan.txt: Budget is 900 euros"),
        Turn(id="m2", session="c1", speaker="tool", role="tool", text="[tool search]", time=eight),
        Turn(id="m3", session="c1", speaker="assistant", role="assistant", text="Noted.",
             time=datetime(2024, 1, 1, 8, 0, 1, tzinfo=UTC)),
    )  # fmt: skip
    assert only(dataset).aside == () and only(dataset).people == ("user",)
    assert dataset.licence == LICENCE
    assert log.counts == Counter(read=3, written=3, warning=1)
    assert "unknown type 'brand_new_block'" in remarks(log, "warning")[0]


def test_claude_text_is_not_doubled_by_its_blocks(imported: Importer) -> None:
    def block(text: str) -> dict[str, str]:
        return {"type": "text", "text": text}

    dataset, log = imported(
        claude,
        claude_chat(
            message("m1", "same", content=[block("same")]),
            message("m2", "", content=[block("one"), {"type": "thinking", "thinking": "secret"},
                                       block("two")]),
            message("m3", "", "assistant", content=[block("Found it."), {"type": "tool_use"}]),
        ),
    )  # fmt: skip
    assert said(only(dataset)) == [
        ("user", "same"),
        ("user", "one\ntwo"),
        ("assistant", "Found it."),
    ]
    assert remarks(log, "warning") == []


def test_claude_messages_without_words(imported: Importer) -> None:
    dataset, log = imported(
        claude,
        claude_chat(
            message("result", "", content=[{"type": "tool_result", "name": "search"}]),
            message("file", "", files=[{"file_name": "photo.png"}]),
            message("new", "", content=[{"type": "sculpture"}]),
            message("thought", "", "assistant", content=[{"type": "thinking", "thinking": "hm"}]),
            message("nothing", " ", content="text", attachments={"a": 1}, files=None),
        ),
    )
    dialogue = only(dataset)
    assert said(dialogue) == [
        ("tool", "[tool result search]"),
        ("user", "[file photo.png]"),
        ("user", "[sculpture]"),
    ]
    assert reasons(dialogue) == {"thought": "empty", "nothing": "empty"}
    assert (log.counts["read"], log.counts["written"], log.counts["skipped"]) == (5, 3, 2)


def test_claude_attachments_have_a_limit(imported: Importer) -> None:
    def file(text: str, name: str | None = "a") -> dict[str, Any]:
        return {"file_name": name, "extracted_content": text}

    long = [file("x" * 60_000), file("y" * 50_000)]
    dataset, log = imported(
        claude,
        claude_chat(
            message("m1", "see", attachments=long),
            message("m2", "two", attachments=[file("A"), 3, file("B", None), file(" ")]),
        ),
    )
    first, second = only(dataset).turns
    # "a: " + 60,000 + blank line + "a: " + 50,000 = 110,008 characters.
    assert first.attachment is not None and len(first.attachment) == 100_000
    assert first.text == "see"
    assert second.attachment == "a: A\n\nattachment: B"
    (warning,) = remarks(log, "warning")
    assert "message m1: attached text cut after 100000 characters; 10008 left out" in warning


def test_claude_keeps_the_list_order_without_branches(imported: Importer) -> None:
    dataset, log = imported(
        claude,
        claude_chat(message("m1"), message("m2", parent_message_uuid="elsewhere"), message("m3")),
    )
    assert [turn.id for turn in only(dataset).turns] == ["m1", "m2", "m3"]
    assert log.problems == []


def claude_branches(root: str | None = None) -> list[Any]:
    stamps = {"q": "08:00", "r1": "08:03", "r2": "08:02"}
    return [
        message(key, key, parent_message_uuid=parent, created_at=f"2024-01-01T{stamps[key]}:00Z")
        for key, parent in (("q", root), ("r1", "q"), ("r2", "q"))
    ]


@pytest.mark.parametrize(
    ("leaf", "kept", "left"), [("r2", "r2", "r1"), (None, "r1", "r2"), ("gone", "r1", "r2")]
)
def test_claude_keeps_the_branch_of_its_leaf(
    imported: Importer, leaf: str | None, kept: str, left: str
) -> None:
    messages = claude_branches("00000000-0000-4000-8000-000000000000")
    dataset, log = imported(claude, claude_chat(*messages, current_leaf_message_uuid=leaf))
    assert [turn.id for turn in only(dataset).turns] == ["q", kept]
    assert reasons(only(dataset)) == {left: "other branch"}
    assert remarks(log, "warning") == []


def test_claude_an_edited_first_message_is_a_branch(imported: Importer) -> None:
    root = "00000000-0000-4000-8000-000000000000"
    first, second = (message(key, key, parent_message_uuid=root) for key in ("old", "new"))
    dataset, _ = imported(claude, claude_chat(first, second))
    assert [turn.id for turn in only(dataset).turns] == ["new"]


def test_claude_a_loop_fails_its_chat_only(imported: Importer) -> None:
    looped = [message(key, parent_message_uuid=parent) for key, parent in ("ab", "ba", "ca")]
    bad = claude_chat(*looped, uuid="loop", current_leaf_message_uuid="c")
    dataset, log = imported(claude, {"conversations": [bad, claude_chat(message("m1"))]})
    assert only(dataset).id == "c"
    assert log.counts == Counter(read=4, written=1, failed=3)


def test_claude_odd_messages_fail_alone(imported: Importer) -> None:
    dataset, log = imported(
        claude,
        [
            claude_chat("text", None, message("m3", sender="robot"), {"uuid": 7}, message(None)),
            {"uuid": "d", "chat_messages": {"a": 1}},
        ],
    )
    assert [turn.id for turn in only(dataset).turns] == ["c:5"]
    assert log.counts == Counter(read=6, written=1, failed=5)


def test_claude_repeated_ids(imported: Importer) -> None:
    dataset, log = imported(
        claude, claude_chat(message("m", "a"), message("m", "a"), message("m", "b"))
    )
    assert [(turn.id, turn.text) for turn in only(dataset).turns] == [("m", "a"), ("c:m:2", "b")]
    assert log.counts == Counter(read=3, written=2, skipped=1, repaired=1)


def test_claude_times_are_kept_as_stated(imported: Importer) -> None:
    stamps = ["2024-01-01T08:00:00Z", "2024-01-01T08:00:00", "yesterday", 5, None]
    messages = [message(f"m{n}", created_at=stamp) for n, stamp in enumerate(stamps)]
    dataset, log = imported(claude, claude_chat(*messages))
    assert [turn.time for turn in only(dataset).turns] == [
        datetime(2024, 1, 1, 8, tzinfo=UTC),
        datetime(2024, 1, 1, 8),  # the source names no zone
        None,
        None,
        None,
    ]
    assert len(remarks(log, "warning")) == 2


def test_a_chat_without_messages_is_named(imported: Importer) -> None:
    dataset, log = imported(claude, [claude_chat(), claude_chat(message("m"), uuid="d")])
    assert only(dataset).id == "d"
    assert remarks(log, "warning") == ["part-0.json: chat c: chat without messages; left out"]


# LibreChat


def test_librechat_flat_form_keeps_the_newest_branch() -> None:
    dataset, log = load(librechat, DATA / "librechat_flat.json")
    dialogue = only(dataset)
    assert said(dialogue) == [
        ("user", "Which tin?"),
        ("assistant", "The red one."),
        ("user", "Where is it?"),
        ("tool", "[tool shelf]"),
    ]
    assert reasons(dialogue) == {"r0": "other branch", "x2": "error"}
    assert dialogue.turns[0].time == datetime(2024, 3, 1, 10, tzinfo=UTC)
    assert (dialogue.id, dialogue.title, dataset.licence) == ("L", "Tins", LICENCE)
    assert log.counts == Counter(read=6, written=4, skipped=2)


def nested(messages: list[Any]) -> list[Any]:
    """The flat fixture's messages in the recursive form."""
    by_id = {item["messageId"]: {**item, "children": []} for item in messages}
    roots: list[Any] = []
    for item in by_id.values():
        above = by_id.get(item.pop("parentMessageId"))
        (above["children"] if above else roots).append(item)
    return roots


def test_librechat_nested_and_flat_forms_agree(imported: Importer) -> None:
    flat = json.loads((DATA / "librechat_flat.json").read_text(encoding="utf-8"))
    recursive = {**flat, "messages": nested(flat["messages"])}
    assert len(recursive["messages"]) == 1
    bare = [{**item, "conversationId": "L"} for item in flat["messages"]]
    expected = only(load(librechat, DATA / "librechat_flat.json")[0])
    got = only(imported(librechat, recursive)[0])
    assert got.turns == expected.turns
    assert set(got.aside) == set(expected.aside)
    assert only(imported(librechat, bare)[0]).turns == expected.turns
    assert only(imported(librechat, [flat])[0]) == expected


def test_librechat_public_tree(test_data: Path) -> None:
    dataset, log = load(librechat, test_data / "chat_exports" / "librechat-tree.json")
    dialogue = only(dataset)
    # The leaves state no time, so the last of them in the file is taken.
    assert [(turn.id[:8], turn.role) for turn in dialogue.turns] == [
        ("9501f99d", "user"),
        ("4c395510", "assistant"),
        ("d3e12088", "user"),
        ("1f062c99", "assistant"),
    ]
    assert dialogue.turns[2].text == "lol" and dialogue.turns[2].time is None
    assert dialogue.turns[0].time == datetime(2024, 5, 1, 16, 35, 11, 530_000, tzinfo=UTC)
    assert {key[:8] for key in reasons(dialogue)} == {
        "6e4c95ca", "5da2cdce", "64ed7568", "f82cca6f", "ad7b6ec6",
    }  # fmt: skip
    assert set(reasons(dialogue).values()) == {"other branch"}
    assert log.counts == Counter(read=9, written=4, skipped=5)


def test_librechat_loops_and_odd_messages(imported: Importer) -> None:
    def item(key: Any, parent: Any, **fields: Any) -> dict[str, Any]:
        return {"messageId": key, "parentMessageId": parent, "text": "x", **fields}

    looped = [item("a", "b", isCreatedByUser=True), item("b", "a", isCreatedByUser=False)]
    odd = [
        "text",
        item("nobody", None),
        item(None, "nobody", isCreatedByUser=True),
        item("late", "deleted", isCreatedByUser=True, children="none", content={"a": 1}),
    ]
    chats = [
        {"conversationId": "loop", "messages": looped},
        {"conversationId": "odd", "messages": odd},
        {"conversationId": "wrong", "messages": 5},
    ]
    dataset, log = imported(librechat, chats)
    assert [turn.id for turn in only(dataset).turns] == ["late"]
    assert reasons(only(dataset)) == {"odd:3": "other branch"}
    assert log.counts == Counter(read=7, written=1, skipped=1, failed=5, warning=1)
    assert "starts at late, whose parent is not in the export" in remarks(log, "warning")[0]
