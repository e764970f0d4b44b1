"""A memory profile: read out of an assistant's reply, repaired within bounds, edited before use."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import date, datetime
from typing import Any

import pytest

from reward_model.profile_cues import cues
from reward_model.profile_draft import Draft, entries_of, events_of, memories_of
from reward_model.profile_json import (
    ImportedProfile,
    content_findings,
    extraction_prompt,
    leaves,
    read_profile,
)
from reward_model.profile_shape import SECTIONS
from reward_model.profile_store import (
    add_events,
    confirm,
    delete_entries,
    discard_draft,
    drafts,
    edit_entry,
    import_profile,
    open_draft,
)
from shell import bytes_under, environment
from workbench.errors import DataError, UsageError, WorkspaceError
from workbench.workspace import Workspace

FACTS = [f"The user owns {n} plants." for n in range(2, 11)]
RECENT = [f"The user read {n} books." for n in range(2, 11)]
QUERIES = [f"How do I grow {n} tomatoes?" for n in range(20)]


def whole(**changes: Any) -> dict[str, Any]:
    part_3 = {section: {"tags": ["calm", "early riser"]} for section in SECTIONS}
    return {
        "part_1": FACTS,
        "part_2": RECENT,
        "part_3": part_3,
        "recent_queries": QUERIES,
    } | changes


def reasons(profile: ImportedProfile, kind: str) -> dict[str, str]:
    return {one.path: one.reason for one in profile.findings if one.kind == kind}


# ---------------------------------------------------------------- reading a reply


def test_a_faultless_reply_is_read_as_it_is_and_nothing_is_found() -> None:
    profile = read_profile(json.dumps(whole()))
    assert profile.part_1 == tuple(FACTS) and profile.recent_queries == tuple(QUERIES)
    assert profile.part_3 == whole()["part_3"]
    assert profile.findings == ()
    assert profile.counts["part_3"] == 24


@pytest.mark.parametrize(
    ("before", "after", "repaired"),
    [
        ("Here you go:\n```json\n", "\n```\nAnything else?", "taken out"),
        ('<think>{"part_1":["WRONG"]}</think>', "", "taken out"),
        ('Not this: {"memory": ["x"]}. But this:\n', "", "taken out"),
    ],
)
def test_fences_prose_and_thoughts_are_left_out(before: str, after: str, repaired: str) -> None:
    profile = read_profile(before + json.dumps(whole()) + after)
    assert profile.part_1 == tuple(FACTS)
    assert reasons(profile, "repaired")["$"].startswith(repaired)


def test_slips_in_the_json_are_mended_and_back_ticks_in_a_value_stay() -> None:
    facts = ['The user writes ```json in notes and "quotes".', *FACTS]
    text = json.dumps(whole(part_1=facts)).replace('"]', '",]').replace("}}", "},}")
    profile = read_profile(text)
    assert profile.part_1[0] == facts[0] and len(profile.part_1) == 10
    assert "slips" in reasons(profile, "repaired")["$"]
    assert read_profile(json.dumps(whole()).replace('"', "”")).part_1 == tuple(FACTS)


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ("", "no JSON object"),
        ("I can't help with that.", "no JSON object"),
        ('{"memory": ["likes tea"]}', "1 JSON objects with none of them"),
        (json.dumps(whole())[:-40], "cut off"),
        ('{"part_1": ["a" "b"]}', "cannot be read"),
        ("[" * 9000, "opening brackets"),
        ("x" * 600_000, "600,000 characters"),
        (extraction_prompt(), "no JSON object"),
    ],
)
def test_a_reply_without_a_profile_is_refused_and_says_why(reply: str, why: str) -> None:
    with pytest.raises(DataError, match=why):
        read_profile(reply)


def test_nesting_deeper_than_a_profile_goes_is_an_error_or_dropped_and_never_a_crash() -> None:
    with pytest.raises(DataError):
        read_profile('{"part_1":' + "[" * 2500 + "]" * 2500 + "}")
    deep: Any = "end"
    for _ in range(8):
        deep = {"more": deep}
    profile = read_profile(json.dumps(whole(part_3={"entertainment": deep})))
    assert profile.part_3 == {}
    assert any("nested deeper" in reason for reason in reasons(profile, "dropped").values())


# ---------------------------------------------------------------- bounded repair of the shape


def test_parts_in_the_wrong_place_are_put_right() -> None:
    given = whole()
    part_3 = given.pop("part_3") | {"recent_queries": given.pop("recent_queries")}
    moved = part_3.pop("food_preference")
    reply = {"profile": {**given, "Part 3": part_3, "Food preference": moved}}
    profile = read_profile(json.dumps(reply))
    assert profile.recent_queries == tuple(QUERIES)
    assert profile.part_3["food_preference"] == {"tags": ["calm", "early riser"]}
    said = reasons(profile, "repaired")
    assert said["part_3.recent_queries"] == "moved out of part_3"
    assert said["food_preference"] == "moved into part_3"


def test_a_text_an_object_or_objects_instead_of_a_list_are_read() -> None:
    profile = read_profile(
        json.dumps(
            whole(
                part_1="- The user has a cat.\n2. The user has a bike.\n",
                part_2={"first": "The user ran.", "second": "The user swam."},
                recent_queries=[{"query": "How?"}, ["Why?", "When?"], 7],
            )
        )
    )
    assert profile.part_1 == ("The user has a cat.", "The user has a bike.")
    assert profile.part_2 == ("The user ran.", "The user swam.")
    assert profile.recent_queries == ("How?", "Why?", "When?", "7")
    assert {"part_1", "part_2", "recent_queries"} <= set(reasons(profile, "repaired"))


def test_parts_in_several_objects_are_joined_and_the_last_of_equals_counts() -> None:
    first = {"part_1": ["old"], "part_2": RECENT}
    second = {"part_1": FACTS, "part_2": ["new"]}
    profile = read_profile(f'{json.dumps(first)}\n{json.dumps(second)}\n{{"part_3": {{}}}}')
    assert profile.part_1 == tuple(FACTS) and profile.part_2 == ("new",)


def test_missing_values_are_left_out_and_counted_never_guessed() -> None:
    part_3 = {
        "basic_information": {"age": "Unknown", "home": None, "x": "[Inferred] unknown", "y": ""},
        "daily_routine": {"rises": "early morning", "list": ["n/a", "calm"]},
    }
    profile = read_profile(json.dumps(whole(part_3=part_3)))
    assert profile.part_3 == {"daily_routine": {"rises": "early morning", "list": ["calm"]}}
    missing = reasons(profile, "missing")
    assert {f"part_3.basic_information.{key}" for key in ("age", "home", "x", "y")} <= set(missing)
    assert missing["part_3.entertainment"] == "the section is absent"
    assert "part_3.basic_information" not in missing


def test_nothing_is_dropped_without_a_finding() -> None:
    profile = read_profile(
        json.dumps(
            whole(
                part_1=[*FACTS, FACTS[0], "x" * 1001],
                part_3={"hobbies": {"a": "b"}},
                confidence=0.9,
            )
        )
    )
    said = reasons(profile, "dropped")
    assert set(said) == {"part_1[9]", "part_1[10]", "part_3.hobbies", "confidence"}
    assert read_profile(json.dumps(whole(part_3="calm"))).part_3 == {}


@pytest.mark.parametrize("number", [0, 7, 8, 15, 16])
def test_numbers_of_statements_are_flagged_not_refused(number: int) -> None:
    statements = [f"The user has {n} socks." for n in range(number)]
    flagged = reasons(read_profile(json.dumps(whole(part_2=statements))), "flagged")
    assert ("part_2" in flagged) == (number not in range(8, 16))


def test_few_queries_are_accepted_and_said() -> None:
    profile = read_profile(json.dumps(whole(recent_queries=QUERIES[:19])))
    assert len(profile.recent_queries) == 19
    assert reasons(profile, "flagged")["recent_queries"].startswith("19 queries")


@pytest.mark.parametrize(
    ("path", "text", "why"),
    [
        ("part_1[0]", "The user gets up at 7:30.", "'7:30' is a clock time"),
        ("part_1[0]", "The user sleeps at 11 pm.", "'11 pm' is a clock time"),
        ("part_3.daily_routine.sleep", "at night", "'night' is another word"),
        ("part_3.daily_routine.sleep", "late night", None),
        ("part_3.daily_routine.walk", "dusk", None),
        ("part_1[0]", "I like tea.", "not in the third person"),
        ("part_1[0]", "[Inferred] You like tea.", "not in the third person"),
        ("recent_queries[0]", "I want to rise at 7:30, how?", None),
        ("part_3.entertainment.x", "[Custom] puzzles", "two to six words"),
        ("part_3.entertainment.x", "[Custom] hard crossword puzzles", None),
        ("part_3.entertainment.x", "[Inferred] [Custom] one two three four five six", None),
        ("part_1[0]", "The user works at Acme Robotics.", "an employer: 'Acme Robotics'"),
        ("part_1[0]", "The user scored 3:1 and 4 points at 10% of 8-15.", None),
    ],
)
def test_what_a_participant_should_look_at_is_flagged(
    path: str, text: str, why: str | None
) -> None:
    said = [one.reason for one in content_findings(path, text)]
    assert said == [] if why is None else any(why in reason for reason in said)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The user's sister Inês lives abroad.", [("person", "Inês")]),
        ("Dr. Müller-Lüdenscheidt helped.", [("person", "Müller-Lüdenscheidt")]),
        ("His dog is called Biscuit's heir.", [("person", "Biscuit")]),
        ("She works as a nurse at the Royal Free Hospital.", [("employer", "Royal Free Hospital")]),
        ("The user is studying physics at the University of Porto.", [("school", "Porto")]),
        ("Went to King Edward College last year.", [("school", "King Edward College")]),
        ("Mail ana.silva+x@mail.example.org!", [("contact", "ana.silva+x@mail.example.org")]),
        ("See https://ana.example/me?x=1 now", [("contact", "https://ana.example/me?x=1")]),
        ("Call +351 912 345 678 or 020 7946 0958.", [("contact", "+351 912 345 678")]),
        ("Follows @ana_s on there.", [("account", "@ana_s")]),
        ("The user works at a large hospital in the city.", []),
        ("The user studies every evening at home.", []),
        ("His manager said so, and her friend agreed.", []),
        ("10 20 30 40 50 steps, 1,200,000 rupees, 2024 2025 2026, on 2026-03-04.", []),
    ],
)
def test_wording_that_names_somebody_is_found(text: str, found: list[tuple[str, str]]) -> None:
    said = [(cue.kind, text[cue.start : cue.end]) for cue in cues(text)]
    for kind, words in found:
        assert any(kind == k and words in w for k, w in said), said
    assert bool(said) == bool(found)


def test_the_prompt_asks_for_what_is_read() -> None:
    prompt = extraction_prompt()
    for section in SECTIONS:
        assert section in prompt
    for part in ("part_1", "part_2", "part_3", "recent_queries", "[Inferred] ", "[Custom] "):
        assert part in prompt
    for word in ("late night", "early morning", "noon", "dusk", "midnight", "Unknown", "third"):
        assert word in prompt


# ---------------------------------------------------------------- entries and events


def test_every_text_becomes_an_entry_that_says_where_it_stood() -> None:
    part_3 = {"food_preference": {"likes": ["[Custom] very spicy noodles"]}}
    profile = read_profile(
        json.dumps(whole(part_1=["[Inferred] The user likes tea."], part_3=part_3, part_2=[]))
    )
    entries = entries_of(profile)
    assert [entry.where for entry in entries] == [path for path, _ in leaves(profile)]
    fact, tag = entries[:2]
    assert (fact.kind, fact.text, fact.inferred) == ("fact", "The user likes tea.", True)
    assert (tag.kind, tag.where) == ("tag", "part_3.food_preference.likes[0]")
    assert tag.text == "Food preference, likes: very spicy noodles" and tag.custom
    assert entries[2].kind == "query" and entries[2].text == QUERIES[0]


def test_typed_events_take_their_day_from_the_line_or_from_the_day_of_typing() -> None:
    text = (
        "- 2026-03-04: bought a bike\n\n"
        "2) 5 March 2026, sold it\n"
        "March 6th 2026 - slept\n"
        "I met a friend yesterday\n"
        "It rained a lot"
    )
    events = events_of(text, date(2026, 3, 10))
    assert [event.time for event in events] == [
        date(2026, 3, 4),
        date(2026, 3, 5),
        date(2026, 3, 6),
        date(2026, 3, 9),
        None,
    ]
    assert events[0].text == "bought a bike" and events[1].text == "sold it"
    assert events[3].text == "I met a friend on 9 March 2026"
    assert [event.where for event in events][-1] == "events, line 6"
    assert all(event.kind == "event" for event in events)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("ok\n2026-02-30: never", "line 2: '2026-02-30:' is no day"),
        ("x" * 1001, "line 1: 1,001 characters"),
        ("x\n" * 301, "301 lines"),
    ],
)
def test_events_that_cannot_be_read_name_their_line(text: str, why: str) -> None:
    with pytest.raises(DataError, match=why):
        events_of(text, date(2026, 3, 10))


# ---------------------------------------------------------------- the draft


def test_nothing_is_used_before_the_participant_confirms(workspace: Workspace) -> None:
    draft, profile = import_profile(workspace, "ana", json.dumps(whole()))
    assert len(draft.memories) == 9 + 9 + 24 and len(draft.queries) == 20
    assert profile.findings == ()
    with pytest.raises(UsageError, match="still a draft"):
        memories_of(draft, "ana")
    confirmed = confirm(workspace, "ana", draft.content)
    memories = memories_of(confirmed, "ana")
    assert len(memories) == 42
    assert memories[0].text == FACTS[0] and memories[0].sources == ("fact-1",)
    edited = edit_entry(workspace, "ana", "fact-1", "The user owns a cactus.")
    assert edited.confirmed is None  # what was agreed to has changed
    assert open_draft(workspace, "ana") == edited


def test_nobody_agrees_to_a_draft_that_they_did_not_see(workspace: Workspace) -> None:
    shown = add_events(workspace, "ana", "Bought a bike.", date(2026, 3, 10))
    other = add_events(workspace, "bo", "Bought a bike.", date(2026, 3, 10))
    assert other.content != shown.content
    add_events(workspace, "ana", "Sold the bike.", date(2026, 3, 10))
    with pytest.raises(UsageError, match="changed since it was shown"):
        confirm(workspace, "ana", shown.content)
    assert open_draft(workspace, "ana").confirmed is None


def test_an_inferred_memory_is_speculative_and_an_event_has_its_day(workspace: Workspace) -> None:
    reply = json.dumps(whole(part_1=["[Inferred] The user likes tea."]))
    import_profile(workspace, "ana", reply)
    draft = add_events(workspace, "ana", "2026-03-04: bought a bike", date(2026, 3, 10))
    memories = memories_of(confirm(workspace, "ana", draft.content), "ana")
    assert memories[0].dimensions.certainty == "speculative"
    assert memories[-1].time == datetime(2026, 3, 4) and memories[-1].id == "event-1"


def test_deleted_and_replaced_texts_are_gone_from_disk(workspace: Workspace) -> None:
    facts = ["The user hides a zebra.", "The user keeps a giraffe.", *FACTS]
    import_profile(workspace, "ana", json.dumps(whole(part_1=facts)))
    folder = next(workspace.folder("profiles").iterdir())
    (folder / ".draft.json.4711.tmp").write_text("zebra giraffe")  # a writer that was killed
    delete_entries(workspace, "ana", ["fact-1"])
    draft = edit_entry(workspace, "ana", "fact-2", "The user keeps a plant.")
    everything = bytes_under(workspace.root)
    assert b"zebra" not in everything and b"giraffe" not in everything
    assert b"keeps a plant" in everything
    assert [line.split(" ", 1)[1] for line in draft.log] == [
        "profile imported",
        "fact-1 deleted",
        "fact-2 edited",
    ]
    again = import_profile(workspace, "ana", json.dumps(whole()), replace=True)[0]
    assert again.memories[0].id == "fact-12"  # ids are never given twice
    discard_draft(workspace, "ana")
    assert b"plants" not in bytes_under(workspace.root) and drafts(workspace) == {}


def test_an_edit_is_looked_at_again(workspace: Workspace) -> None:
    import_profile(workspace, "ana", json.dumps(whole(part_1=["The user works at Acme Co."])))
    assert open_draft(workspace, "ana").entry("fact-1").flags
    draft = edit_entry(workspace, "ana", "fact-1", "  The user works at a large firm. ")
    entry = draft.entry("fact-1")
    assert (entry.flags, entry.edited) == ((), True)
    assert entry.text == "The user works at a large firm."


def test_what_cannot_be_changed_is_refused_and_changes_nothing(workspace: Workspace) -> None:
    with pytest.raises(UsageError, match="no profile yet"):
        delete_entries(workspace, "ana", ["fact-1"])
    before = import_profile(workspace, "ana", json.dumps(whole()))[0]
    for attempt in (
        lambda: delete_entries(workspace, "ana", ["fact-1", "fact-99"]),
        lambda: edit_entry(workspace, "ana", "fact-1", " \u200b"),
        lambda: import_profile(workspace, "ana", json.dumps(whole())),
        lambda: open_draft(workspace, "bo"),
    ):
        with pytest.raises(UsageError):
            attempt()
    with pytest.raises(DataError):
        import_profile(workspace, "ana", "no", replace=True)
    assert open_draft(workspace, "ana") == before


def test_a_participants_id_is_data_and_a_damaged_draft_is_an_error(workspace: Workspace) -> None:
    person = "../../<img src=x onerror=alert(1)>"
    import_profile(workspace, person, json.dumps(whole()))
    [folder] = workspace.folder("profiles").iterdir()
    assert folder.name.isalnum()
    assert drafts(workspace)[person]["memories"] == 42
    (folder / "draft.json").write_text("{")
    with pytest.raises(WorkspaceError, match="damaged"):
        open_draft(workspace, person)


def test_two_processes_that_add_events_lose_none(workspace: Workspace) -> None:
    script = (
        "import sys\nfrom datetime import date\nfrom reward_model.profile_store import add_events\n"
        "from workbench.workspace import Workspace\n"
        "for n in range(15): add_events(Workspace(sys.argv[1]), 'ana', f'{sys.argv[2]} {n}', "
        "date(2026, 3, 1))\n"
    )
    command = [sys.executable, "-c", script, str(workspace.root)]
    both = [subprocess.Popen([*command, name], env=environment()) for name in ("tea", "cup")]
    assert [process.wait(timeout=50) for process in both] == [0, 0]
    draft: Draft = open_draft(workspace, "ana")
    assert {entry.text for entry in draft.entries} == {
        f"{name} {n}" for name in ("tea", "cup") for n in range(15)
    }
    assert len({entry.id for entry in draft.entries}) == 30
