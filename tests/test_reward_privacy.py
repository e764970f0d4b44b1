"""De-identification: consistent placeholders, nothing left of overlaps, limits that are said."""

from __future__ import annotations

import importlib.util
import re
import socket
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reward_model import recognisers
from reward_model.collect import (
    PlanOptions,
    export_deidentified,
    open_collection,
    start,
)
from reward_model.exact_dates import addresses, exact_dates
from reward_model.known_names import Known, Span, read_known
from reward_model.left_over import MISSES, capitals_left
from reward_model.masked_spans import merged
from reward_model.placeholders import Masker
from reward_model.privacy import EVERYBODY, WithholdingRules, deidentify
from reward_model.recognisers import recognised
from reward_model.schema import Comparison
from workbench.errors import DataError, ModelError, UsageError
from workbench.workspace import Workspace

KNOWN = Known(
    people=(("Ana Silva", "Annie"), ("Will Grace",), ("王芳",), ("Zoë O'Hara",)),
    places={"Lisbon": "a city in Portugal", "Nice": "", "Faro": ""},
    organisations=("Acme Robotics",),
)
FILLER = "and so on with many more words about nothing in particular " * 3


def masked(*texts: str, known: Known = KNOWN) -> list[str]:
    masker = Masker(texts, known)
    return [masker.mask(text).text for text in texts]


def comparison(id: str = "c1", participant: str = "ana", **given: object) -> Comparison:
    texts = {
        "query": "What shall I cook?",
        "memories": ("The user likes rice.",),
        "with_memory": f"Cook rice. {FILLER}",
        "without_memory": f"Cook beans. {FILLER}",
    }
    return Comparison(id=id, participant=participant, **{**texts, **given})  # type: ignore[arg-type]


# ---------------------------------------------------------------- what is found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ana Silva met ANNIE.", "[PERSON_1] met [PERSON_1]."),
        ("ana's, Ana’s and Silva's", "[PERSON_1]'s, [PERSON_1]’s and [PERSON_1]'s"),
        ("Ana\n  Silva", "[PERSON_1]"),
        ("Anastasia and Silvana stay, so does banana.", None),
        ("I will say grace.", None),
        ("Will said grace.", "[PERSON_1] said grace."),
        ("我认识王芳。", "我认识[PERSON_1]。"),
        ("Zoe\u0308 O’Hara", "[PERSON_1]"),
        ("A\u200bna", "[PERSON_1]"),
        ("_Ana_ and Ana_2, not Anae\u0301", "_[PERSON_1]_ and [PERSON_1]_2, not Ana\u00e9"),
        ("It is nice in Nice.", "It is nice in [PLACE_1]."),
        ("Lisbon-based", "[PLACE_1: a city in Portugal]-based"),
        ("at acme robotics", "at [ORGANISATION_1]"),
        ("my sister Inês", "my sister [PERSON_1]"),
        ("mail ana.silva@acme.intern", "mail [EMAIL_1]"),
        ("call +351 912 345 678 now", "call [PHONE_1] now"),
        ("card 4111 1111 1111 1111.", "card [NUMBER_1]."),
        ("IBAN GB33BUKB20201555555555", "IBAN [NUMBER_1]"),
        ("host 192.168.10.20 is up", "host [NUMBER_1] is up"),
        ("on 12 March 2026", "on [DATE: March 2026]"),
        ("lives at 221B Baker Street", "lives at [PLACE_1]"),
        ("see https://ana.example/me", "see [LINK_1]"),
        ("Run 10 20 30 40 50 in 2024 2025 2026, 1,200,000 times.", None),
    ],
)
def test_what_is_masked_and_what_stays(text: str, expected: str | None) -> None:
    assert masked(text) == [text if expected is None else expected]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2026-03-04T10:00Z", {"2026-03-04T10:00Z": "March 2026"}),
        ("March 3rd, 2026 or march 3rd", {"March 3rd, 2026": "March 2026", "march 3rd": "March"}),
        ("the 3rd of May", {"3rd of May": "May"}),
        ("Out on 2 June.", {"2 June": "June"}),
        (
            "12 till 26 October, 3-5 Sept. 2026",
            {"12 till 26 October": "October"} | {"3-5 Sept. 2026": "September 2026"},
        ),
        ("03/04/2026", {"03/04/2026": "2026"}),  # March or April: only the year is sure
        ("3.4.26", {"3.4.26": ""}),
        ("12-Sep-2026", {"12-Sep-2026": "September 2026"}),
        ("2026-13-04", {"2026-13-04": "2026"}),
        ("may 12 of us, ratio 3/4, version 1.2.3, March 2026, 2026, 10.0.0.1, August 2024", {}),
    ],
)
def test_days_become_months_and_nothing_more_than_is_sure(text: str, found: dict[str, str]) -> None:
    assert {text[one.start : one.end]: one.instead for one in exact_dates(text)} == found


def test_addresses_and_postcodes_are_found() -> None:
    for text in ("221B Baker Street", "12 Rua Augusta", "Hauptstraße 5", "NW1 6XE"):
        assert [text[one.start : one.end] for one in addresses(f"{text}")] == [text]
    assert not list(addresses("In 5 Steps to the Drive, 3 Big ideas"))


def test_presidio_agrees_on_checksums_and_sees_no_number_where_there_is_none() -> None:
    good, bad = "4111 1111 1111 1111", "4111 1111 1111 1112"
    assert [one.type for one in recognised(f"card {good}")] == ["NUMBER"]
    assert not [one for one in recognised(f"card {bad}") if one.type == "NUMBER"]
    assert not list(recognised("Boil 8-15 eggs for 9 minutes, then 10 more; see 3 of 4 (2026)."))
    found = list(recognised("first line\nwrite to x@y.intern\nlast"))
    assert [(one.type, one.start, one.end) for one in found] == [("EMAIL", 20, 30)]


# ---------------------------------------------------------------- consistency


def test_one_thing_has_one_placeholder_in_all_texts_of_a_participant() -> None:
    texts = masked(
        "My sister Inês Costa lives in Faro.",
        "Inês likes tea; so does Annie.",
        "Bake a cake for INÊS, in Faro, and mail B@x.org and b@X.org.",
    )
    assert texts == [
        "My sister [PERSON_1] lives in [PLACE_1].",
        "[PERSON_1] likes tea; so does [PERSON_2].",
        "Bake a cake for [PERSON_1], in [PLACE_1], and mail [EMAIL_1] and [EMAIL_1].",
    ]


def test_numbers_follow_the_order_of_the_texts_whatever_is_masked_first() -> None:
    texts = ["Faro and Nice", "Nice and Faro"]
    masker = Masker(texts, KNOWN)
    assert masker.mask(texts[1]).text == "[PLACE_2] and [PLACE_1]"
    more = Masker([*texts, "Lisbon"], KNOWN)  # further texts change no number given before
    assert more.mask(texts[0]).text == masker.mask(texts[0]).text == "[PLACE_1] and [PLACE_2]"


def test_a_part_of_two_peoples_names_is_nobody_of_them() -> None:
    known = Known(people=(("Ana Silva",), ("Bo Silva",)))
    [text] = masked("Ana, Bo, Ana Silva, Bo Silva and Silva", known=known)
    assert text == "[PERSON_1], [PERSON_2], [PERSON_1], [PERSON_2] and [PERSON_3]"


def test_masking_what_is_masked_changes_nothing_and_new_numbers_begin_after_it() -> None:
    once = masked("Annie met my sister Inês in Lisbon on 12 March.")
    assert masked(*once) == once
    assert masked(*once, known=Known()) == once
    assert masked("[PERSON_4] met Annie") == ["[PERSON_4] met [PERSON_5]"]


def test_a_text_in_the_clothes_of_a_placeholder_hides_nothing() -> None:
    assert masked("[PLACE_1: home of Annie]") == ["[PLACE_1: home of [PERSON_1]]"]
    assert "Silva" not in masked("[DATE: Ana Silva]")[0]
    assert "912" not in masked("[PERSON: +351 912 345 678]")[0]


PIECES = st.sampled_from(
    [
        *("Ana", "Silva", "Annie", "Will", "Lisbon", "Nice", "Acme Robotics", "works at", "Dr"),
        *("my sister", "Inês", "12", "March", "2026", "2026-03-04", "a@b.org", "+351 912 345 678"),
        *("[PERSON_1]", "[DATE: March 2026]", "[", "]", ":", ",", ".", "'s", "\n", "_", "@", "St"),
        *("Baker Street", "University of", "College", "4111 1111 1111 1111", "x", "of", "the"),
    ]
)


@settings(max_examples=150, deadline=None)
@given(st.lists(PIECES, max_size=14), st.booleans())
def test_masking_is_idempotent_and_leaves_nothing_that_was_listed(
    pieces: list[str], spaced: bool
) -> None:
    text = (" " if spaced else "").join(pieces)
    [once] = masked(text)
    assert masked(once) == [once]
    outside = re.sub(r"\[[A-Z]+(?:_\d+)?(?:: [^\[\]]*)?\]", "\0", once)
    assert not re.search(r"(?<!\w)(?:ana|silva|annie|lisbon|acme robotics)(?!\w)", outside, re.I)


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9)), max_size=8),
    st.lists(st.sampled_from(["PERSON", "PLACE", "EMAIL"]), min_size=8, max_size=8),
)
def test_united_spans_do_not_overlap_and_cover_every_piece(
    places: list[tuple[int, int]], types: list[str]
) -> None:
    text = "x" * 50
    spans = [
        Span(start, start + length, kind, f"{start}", "name rules")  # type: ignore[arg-type]
        for (start, length), kind in zip(places, types, strict=False)
    ]
    united = merged(text, spans)
    assert all(one.end <= other.start for one, other in pairwise(united))
    covered = {at for one in united for at in range(one.start, one.end)}
    assert covered == {at for one in spans for at in range(one.start, one.end)}


# ---------------------------------------------------------------- what may be passed on


def test_a_comparison_is_renamed_masked_everywhere_and_its_times_moved() -> None:
    shown = datetime(2026, 3, 1, 10, tzinfo=UTC)
    given = {"judgment": "same", "shown": shown, "judged": shown + timedelta(seconds=40)}
    first = comparison("ana-secret-1", "ana@x.org", note="ask Annie", **given)
    later = {"shown": shown + timedelta(days=1), "judged": shown + timedelta(days=1, seconds=9)}
    again = msgspec.structs.replace(first, id="x", repeat_of="ana-secret-1", **later)
    other = comparison("b", "bo", note="ask Annie", **given)
    done = deidentify([first, other, again], {"ana@x.org": KNOWN})
    one, two, three = done.comparisons
    assert [c.id for c in done.comparisons] == ["P01-001", "P01-002", "P02-001"]
    assert (one.participant, one.note, three.note) == ("P01", "ask [PERSON_1]", "ask Annie")
    assert two.repeat_of == "P01-001"
    assert one.shown == datetime(2000, 1, 1) and one.seconds == 40
    assert two.shown == datetime(2000, 1, 2) and two.seconds == 9
    passed_on = msgspec.json.encode(done.comparisons).decode()
    assert "x.org" not in passed_on and "secret" not in passed_on and "2026" not in passed_on
    assert done.report["participants_without_listed_names"] == 1


def test_memories_that_are_passed_on_beside_them_share_their_placeholders() -> None:
    one = comparison(memories=("Faro is where the user lives.",))
    done = deidentify([one], {"ana": KNOWN}, texts={"ana": ["The user left Nice for Faro."]})
    assert done.texts == {"P01": ("The user left [PLACE_1] for [PLACE_2].",)}
    assert done.comparisons[0].memories == ("[PLACE_2] is where the user lives.",)


def test_names_for_everybody_are_masked_for_all() -> None:
    both = [comparison("a", note="Annie"), comparison("b", "bo", note="Annie")]
    done = deidentify(both, {EVERYBODY: KNOWN})
    assert [one.note for one in done.comparisons] == ["[PERSON_1]", "[PERSON_1]"]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({}, None),
        ({"with_memory": "Annie, Ana and Ana Silva too."}, "more than 15%"),
        ({"without_memory": "Annie " * 2 + "word " * 12}, None),  # 2 of 14 words: 14.3 %
        ({"without_memory": "Annie " * 2 + "word " * 11}, "more than 15%"),  # 2 of 13: 15.4 %
        (
            {
                "with_memory": f"Go on 12 March. {FILLER}",
                "without_memory": f"Go on 14 March. {FILLER}",
            },
            "masked away",
        ),
        (
            {"memories": ("Annie is a friend.",), "with_memory": f"Ask Annie. {FILLER}"},
            "in one response only",
        ),
        (
            {"query": "What would Annie eat?", "without_memory": f"Ask Annie. {FILLER}"},
            "in one response only",
        ),
        (
            {
                "memories": ("Annie is a friend.",),
                "with_memory": f"Ask Annie. {FILLER}",
                "without_memory": f"Annie may know. {FILLER}",
            },
            None,
        ),
        ({"with_memory": f"Ask Annie. {FILLER}"}, None),  # the name is not from the memories
        ({"memories": ("Annie is a friend.",)}, None),
    ],
)
def test_a_comparison_is_withheld_where_the_preference_may_rest_on_what_is_masked(
    given: dict[str, object], reason: str | None
) -> None:
    done = deidentify([comparison(**given)], {"ana": KNOWN})
    assert len(done.comparisons) == (reason is None)
    assert [ids for why, ids in done.withheld.items() if reason and reason in why] == (
        [("c1",)] if reason else []
    )
    assert done.report["kept"] == (reason is None)


def test_the_rules_can_be_changed_and_attention_checks_are_never_withheld() -> None:
    quoted = {"memories": ("Annie is a friend.",), "with_memory": f"Ask Annie. {FILLER}"}
    known, loose = {"ana": KNOWN}, WithholdingRules(one_sided=False)
    assert len(deidentify([comparison(**quoted)], known, rules=loose).comparisons) == 1
    short = {"with_memory": "Annie."}
    assert not deidentify([comparison(**short)], known).comparisons
    assert deidentify([comparison(**short, attention="A")], known).comparisons


def test_a_repeat_is_withheld_with_what_it_repeats() -> None:
    first = comparison("a", with_memory="Annie.")
    again = comparison("b", repeat_of="a")
    lost = comparison("c", repeat_of="elsewhere")
    done = deidentify([first, again, lost], {"ana": KNOWN})
    assert done.comparisons == ()
    assert {ids: why for why, ids in done.withheld.items()}[("b",)].startswith("repeats a")
    assert done.withheld["repeats a comparison that is not here"] == ("c",)


def test_the_report_counts_and_says_what_was_missed() -> None:
    one = comparison(
        note="Annie and Bert went to Sintra with Bert on 12 March; mail a@b.org",
        memories=("The user saw Bert again.",),
    )
    report = deidentify([one], {"ana": KNOWN}).report
    assert report["masked"] == {"DATE": 1, "EMAIL": 1, "PERSON": 1}
    assert report["look_again"][:2] == [
        {"words": "Bert", "times": 3},
        {"words": "Sintra", "times": 1},
    ]
    assert report["misses"] == list(MISSES) and len(MISSES) >= 6
    assert sum(report["found_by"].values()) == sum(report["masked"].values())
    assert report["comparisons"] == report["kept"] == 1 and report["withheld"] == {}


def test_capitals_inside_sentences_are_listed_and_beginnings_are_not() -> None:
    texts = ["Then Bert left. After that I saw New York's museum on Monday.", "Bert is kind."]
    assert capitals_left(texts) == [
        {"words": "Bert", "times": 1},
        {"words": "New York", "times": 1},
    ]


# ---------------------------------------------------------------- around it


def test_without_presidio_there_is_one_error_with_the_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(recognisers, "find_spec", lambda name: None)
    with pytest.raises(ModelError, match=r"pip install 'recall-workbench\[privacy\]'"):
        deidentify([comparison()])
    assert importlib.util.find_spec("presidio_analyzer") is not None


def test_nothing_asks_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*arguments: object, **options: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket.socket, "connect", refused)
    monkeypatch.setattr(socket, "getaddrinfo", refused)
    recognisers._recognisers.cache_clear()
    assert masked("ana@quite-new.example and b@firm.intern") == ["[EMAIL_1] and [EMAIL_2]"]


def test_known_names_are_read_from_a_file_or_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "known.json"
    path.write_bytes(msgspec.json.encode(KNOWN))
    assert read_known(path) == KNOWN
    path.write_text('{"people": ["Ana"]}')
    with pytest.raises(DataError, match=r"known\.json.*people"):
        read_known(path)
    with pytest.raises(DataError, match="not there"):
        read_known(tmp_path / "none.json")


@pytest.mark.parametrize("said", ["near Lisbon", "a [big] town", "x" * 81])
def test_what_is_said_instead_of_a_place_must_not_name_it(said: str) -> None:
    with pytest.raises(UsageError, match="said instead"):
        Masker(["x"], Known(places={"Lisbon": said}))


def test_a_collection_is_exported_without_names(workspace: Workspace) -> None:
    pairs = [comparison(f"ana-{i}", note="", query=f"Shall Annie eat {i} eggs?") for i in range(3)]
    collection = start(workspace, "study", "ana", pairs, PlanOptions(attention=1, repeats=0.0))
    while (card := open_collection(workspace, "study", "ana").draw()) is not None:
        collection.judge(card.item, card.token, "A much better", "as Annie would")
    held, done = export_deidentified(workspace, "study", "shared", {"ana": KNOWN})
    assert held is not None and len(held.comparisons) == 4 and done.withheld == {}
    everything = msgspec.json.encode(held).decode()
    assert "Annie" not in everything and "ana" not in everything
    assert "[PERSON_1] would" in everything
