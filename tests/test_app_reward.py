"""The explorer's pages on the reward model, participants' memories and judging, by AppTest."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from app_page import fine, html, widget
from reward_model import collect, profile_store, ready
from reward_model.collection_plan import PlanOptions, draw_plan
from reward_model.evaluate import EvaluationPlan
from reward_model.fitting import explain_comparison
from reward_model.schema import Comparison
from reward_model.scores import load_scores, save_scores
from reward_model.simulate import SimulationOptions, simulate
from reward_model.store import comparison_sets, open_comparisons, save_comparisons
from shell import bytes_under
from workbench.view import View
from workbench.workspace import Workspace

PROJECT = Path(__file__).resolve().parent.parent
APPS = PROJECT / "apps"
IMG = "<img src=x onerror=alert(1)>"
PLAIN = PlanOptions(attention=0, repeats=0.0)

testing = pytest.importorskip("streamlit.testing.v1")

pytestmark = [
    pytest.mark.timeout(60),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

PROFILE = """Here you are:
```json
{"part_1": ["The user works at Acme Corp as an engineer.", "[Inferred] The user likes quiet.",
            "<img src=x onerror=alert(1)> likes *tea*."],
 "part_2": ["The user trained for a swim."],
 "part_3": {"food_preference": {"likes": ["fish"]}},
 "recent_queries": ["How do I plan a week?"]}
```
"""


@pytest.fixture(scope="module", autouse=True)
def apps_importable() -> Iterator[None]:
    """As `streamlit run` does it: the script's folder comes first."""
    sys.path.insert(0, str(APPS))
    yield
    sys.path.remove(str(APPS))


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a small simulated set, and one evaluation of it."""
    folder = tmp_path_factory.mktemp("judged") / "workspace"
    home = Workspace(folder)
    made = simulate(SimulationOptions(participants=30, comparisons=240, retest=10))
    kept = save_comparisons(home, "simulated", made.comparisons, "a test")
    save_scores(home, made.scores(kept.content))
    scores = load_scores(home, kept.content)
    ready.ready_evaluation(home, kept, scores, EvaluationPlan(repeats=1))
    return folder


@pytest.fixture
def own(judged: Path, tmp_path: Path) -> Path:
    """A copy of it to write into."""
    return shutil.copytree(judged, tmp_path / "workspace")


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Start the explorer on a page of a workspace, with fields of a view in the address."""

    def start(folder: Path, page: str, *options: str, **view: object) -> Any:
        monkeypatch.setenv("WORKBENCH_HOME", str(folder))
        monkeypatch.setattr(sys, "argv", ["explorer", *options])
        app = testing.AppTest.from_file(str(APPS / "explorer.py"), default_timeout=50)
        for field, value in view.items():
            app.query_params[field] = str(value)
        # As if another page had been open: the first one would build the sample's memories.
        app.session_state["_view"] = View()
        app.session_state["_page_wanted"] = page
        return fine(app.run())

    return start


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Judgments count at once: a test reads faster than a person."""
    monkeypatch.setattr("views.annotate.LEAST_SECONDS", 0.0)


def turned(app: Any, page: str) -> Any:
    app.session_state["_page_wanted"] = page
    return fine(app.run())


def press(app: Any, label: str) -> Any:
    return fine(widget(app, "button", label).click().run())


def written(app: Any) -> str:
    """Everything that the page says in Markdown, HTML, captions and boxes."""
    kinds = ("markdown", "caption", "warning", "info", "success")
    said = [one.value for kind in kinds for one in getattr(app, kind)]
    return "\n".join([*said, html(app)])


def charts(app: Any) -> int:
    return len(app.get("plotly_chart"))


# ---------------------------------------------------------------- reward model


def test_an_empty_workspace_gets_the_simulated_set_and_says_so(
    started: Any, tmp_path: Path
) -> None:
    app = started(tmp_path / "workspace", "reward")
    assert charts(app) >= 1
    assert "Synthetic data" in app.warning[0].value
    facts = comparison_sets(Workspace(tmp_path / "workspace"))["simulated"]
    assert (facts["comparisons"] > 821, facts["synthetic"]) == (True, True)


def test_read_only_and_empty_names_the_command_and_writes_nothing(
    started: Any, tmp_path: Path
) -> None:
    app = started(tmp_path / "workspace", "reward", "--read-only")
    assert app.code[0].value == "workbench reward simulate"
    assert not (tmp_path / "workspace").exists()


def test_an_unknown_set_and_run_fall_back_with_a_word(started: Any, judged: Path) -> None:
    app = started(judged, "reward", judgments="nothing", run="beef", section="lies")
    assert any("nothing" in one.value for one in app.warning)
    assert charts(app) >= 1
    assert app.query_params["judgments"] == "simulated"


@pytest.mark.parametrize(
    ("field", "section"),
    [
        ("run", "coefficients"),
        ("section", ""),
        ("comparison", "one pair"),
        ("against", "compare"),
    ],
)
def test_each_value_that_is_nothing_here_gets_one_word(
    started: Any, judged: Path, field: str, section: str
) -> None:
    app = started(judged, "reward", "--read-only", **{"section": section, field: "beef"})
    said = [one.value.replace("\\", "") for one in app.warning if "beef" in one.value]
    assert len(said) == 1
    assert said[0].startswith(f"In the address: {field} =")
    assert app.query_params.get(field) != ["beef"]
    assert not [one for one in fine(app.run()).warning if "beef" in one.value]


def test_what_whiskers_hold_is_said_of_the_value_and_not_of_people(
    started: Any, judged: Path
) -> None:
    said = " ".join(written(started(judged, "reward", "--read-only")).split())
    assert "95 of 100 such intervals hold the value" in said


@pytest.mark.parametrize("section", ["coefficients", "accuracy", "preferences"])
def test_each_section_shows_its_figures(started: Any, judged: Path, section: str) -> None:
    app = started(judged, "reward", "--read-only", section=section)
    assert charts(app) == {"coefficients": 2, "accuracy": 3, "preferences": 2}[section]


def test_a_pair_is_explained_as_the_library_does(started: Any, judged: Path) -> None:
    home = Workspace(judged)
    chosen = open_comparisons(home, "simulated")
    scores = load_scores(home, chosen.content)
    [manifest] = ready.evaluations_of(home, chosen).values()
    model = ready.ready_model(chosen, scores, manifest)
    one = next(c for c in chosen.comparisons if c.strength == "much" and c.attention is None)
    told = explain_comparison(model, chosen, scores, one.id)
    app = started(judged, "reward", section="one pair", comparison=one.id)
    assert f"**{told['probability']:.0%}**" in written(app)
    assert one.query.split()[0] in html(app)
    # Only pairs that the model got wrong, once that is asked for.
    held = widget(app, "button_group", "The model was")
    app = fine(held.set_value("wrong").run())
    labels = widget(app, "selectbox", "Pair").options
    assert 0 < len(labels) < 240
    for label in labels[:20]:
        share, preferred = re.search(r"(\d+)% for memories; preferred: (.*)", label).groups()  # type: ignore[union-attr]
        assert (preferred == "with memories") == (int(share) <= 50), label


def test_texts_of_pairs_are_shown_literally(started: Any, own: Path) -> None:
    home = Workspace(own)
    made = [
        Comparison(
            id=f"own-{n}",
            participant=IMG if n < 6 else f"p{n % 5}",
            query=IMG,
            memories=(IMG,),
            with_memory=f"# {IMG} [x](javascript:alert(1)) {n}",
            without_memory="plain " * (n + 1),
            judgment="A much better" if n % 3 else "B much better",
        )
        for n in range(30)
    ]
    chosen = save_comparisons(home, "own", made)
    scores = ready.ready_scores(home, chosen)
    run = ready.ready_evaluation(home, chosen, scores, EvaluationPlan(repeats=1, rules=None))
    app = started(own, "reward", judgments="own", run=run, section="one pair")
    assert "Synthetic" not in written(app)
    assert "&lt;img" in html(app)
    assert "<img" not in html(app)


def test_a_pair_typed_in_is_scored(started: Any, own: Path) -> None:
    app = started(own, "reward", section="your own pair")
    assert widget(app, "text_area", "Answer with memories").value  # begins with an example
    app = fine(widget(app, "text_input", "Question").set_value("What should I cook?").run())
    app = press(app, "Score it")
    assert "would be preferred" in written(app)
    assert any("rough answer" in one.value for one in app.warning)
    assert charts(app) == 1
    app = turned(turned(app, "annotate"), "reward")
    assert widget(app, "text_input", "Question").value == "What should I cook?"
    app = fine(widget(app, "text_input", "Question").set_value("Another one?").run())
    assert "would be preferred" not in written(app)  # of other texts than those in the boxes
    app = press(app, "Empty all boxes")
    assert widget(app, "text_area", "Answer with memories").value == ""


def test_two_models_are_compared(started: Any, own: Path) -> None:
    app = started(own, "reward", section="compare")
    assert "only one evaluation" in app.info[0].value
    app = press(app, "Evaluate")
    assert charts(app) == 2
    assert len(ready.evaluations_of(Workspace(own), open_comparisons(Workspace(own), "simulated")))
    frame = app.dataframe[0].value
    assert "correct_full" in set(frame["metric"])
    assert app.query_params["against"]


# ---------------------------------------------------------------- my memories


def test_a_participant_brings_edits_deletes_and_agrees(started: Any, tmp_path: Path) -> None:
    folder = tmp_path / "workspace"
    home = Workspace(folder)
    profile_store.add_events(home, "P08", "Bought a kite.", date(2026, 3, 1))
    app = started(folder, "memories", participant="P07")
    app = fine(widget(app, "text_area", "The assistant").set_value(PROFILE).run())
    app = press(app, "Read it")
    assert "may name an employer" in html(app)
    assert "&lt;img" in html(app)
    assert "<img" not in html(app)
    first = profile_store.open_draft(home, "P07").entries[0]
    app = fine(app.button(key=f"Edit-{first.id}").click().run())
    app = fine(widget(app, "text_area", "New text").set_value("The user is an engineer.").run())
    app = press(app, "Save the text")
    second = profile_store.open_draft(home, "P07").entries[1]
    app = fine(app.button(key=f"Delete-{second.id}").click().run())
    assert second in profile_store.open_draft(home, "P07").entries  # asked once more first
    app = press(app, "Delete it for good")
    app = fine(widget(app, "checkbox", "I have read").check().run())
    app = press(app, "Agree")
    draft = profile_store.open_draft(home, "P07")
    assert draft.confirmed is not None
    assert draft.entries[0].text == "The user is an engineer."
    assert second.id not in [entry.id for entry in draft.entries]
    everything = bytes_under(folder)
    assert b"Acme" not in everything
    assert b"likes quiet" not in everything
    # A further event takes the agreement back.
    app = fine(widget(app, "text_area", "Events").set_value("1 March 2026: swam.").run())
    app = press(app, "Add them")
    assert profile_store.open_draft(home, "P07").confirmed is None
    assert [e.text for e in profile_store.open_draft(home, "P08").entries] == ["Bought a kite."]
    app = fine(widget(app, "checkbox", "Delete my profile").check().run())
    press(app, "Delete all")
    assert list(profile_store.drafts(home)) == ["P08"]


def test_a_file_with_nothing_in_it_is_said_to_be_empty(started: Any, tmp_path: Path) -> None:
    app = started(tmp_path / "workspace", "memories", participant="P07")
    upload = app.file_uploader[0]
    app = upload.set_value(("mine.json", b"\xef\xbb\xbf  \n", "application/json")).run()
    assert [one.value.replace("\\", "") for one in app.error] == [
        "The file mine.json is empty: there is nothing in it that could be read."
    ]
    app = app.file_uploader[0].set_value(("mine.json", PROFILE.encode(), "application/json")).run()
    assert widget(fine(app), "text_area", "The assistant").value == PROFILE


def add(folder: Path, who: str, event: str) -> None:
    profile_store.add_events(Workspace(folder), who, event, date(2026, 3, 1))


def test_what_is_half_typed_survives_a_page_change(started: Any, tmp_path: Path) -> None:
    app = started(tmp_path / "workspace", "memories", participant="P07")
    app = fine(widget(app, "text_area", "Events").set_value("Yesterday: a walk").run())
    app = turned(turned(app, "annotate"), "memories")
    assert widget(app, "text_area", "Events").value == "Yesterday: a walk"


def test_nothing_private_passes_to_the_next_participant(started: Any, tmp_path: Path) -> None:
    folder = tmp_path / "workspace"
    for who in ("P07", "P08"):
        add(folder, who, "Bought a kite.")
    app = started(folder, "memories", participant="P07")
    app = fine(widget(app, "text_area", "Events").set_value("Yesterday: a zebra").run())
    app = fine(widget(app, "text_area", "The assistant").set_value("a zebra").run())
    for label in ("I have read", "Delete my profile"):
        app = fine(widget(app, "checkbox", label).check().run())
    app = fine(widget(app, "selectbox", "Your name").set_value("P08").run())
    assert [box.value for box in app.checkbox] == [False, False]
    assert [box.value for box in app.text_area] == ["", ""]
    app = fine(widget(app, "selectbox", "Your name").set_value("P07").run())
    assert [box.value for box in app.checkbox] == [True, True]
    add(folder, "P07", "Sold the kite.")  # whoever has not seen it, has not read them all
    assert [box.value for box in fine(app.run()).checkbox] == [False, False]


def test_nobody_agrees_to_what_came_meanwhile(started: Any, tmp_path: Path) -> None:
    folder = tmp_path / "workspace"
    add(folder, "P07", "Bought a kite.")
    app = started(folder, "memories", participant="P07")
    app = fine(widget(app, "checkbox", "I have read").check().run())
    add(folder, "P07", "Sold the kite.")
    app = press(app, "Agree")
    assert "changed since it was shown" in app.warning[0].value.replace("\\", "")
    assert profile_store.open_draft(Workspace(folder), "P07").confirmed is None
    assert not widget(app, "checkbox", "I have read").value


def test_deleting_everything_leaves_no_text_in_the_session(started: Any, tmp_path: Path) -> None:
    folder = tmp_path / "workspace"
    add(folder, "P07", "Fed a zebra.")
    app = started(folder, "memories", participant="P07")
    app = fine(widget(app, "text_area", "Events").set_value("Saw a zebra").run())
    app = fine(widget(app, "text_area", "The assistant").set_value("likes a zebra").run())
    app = fine(app.button(key="Edit-event-1").click().run())
    assert "zebra" in str(list(app.session_state.items()))
    app = fine(widget(app, "checkbox", "Delete my profile").check().run())
    app = press(app, "Delete all")
    assert "Everything was deleted" in app.success[0].value
    assert "zebra" not in str(list(app.session_state.items()))


def test_a_reply_without_a_profile_says_why(started: Any, tmp_path: Path) -> None:
    app = started(tmp_path / "workspace", "memories", participant="P07")
    app = fine(widget(app, "text_area", "The assistant").set_value("I cannot do that.").run())
    app = widget(app, "button", "Read it").click().run()
    assert "no JSON object" in app.error[0].value.replace("\\", "")
    assert profile_store.drafts(Workspace(tmp_path / "workspace")) == {}


def test_memories_are_only_counted_in_read_only_mode(started: Any, tmp_path: Path) -> None:
    folder = tmp_path / "workspace"
    profile_store.add_events(Workspace(folder), "P07", "Bought a kite.", date(2026, 3, 1))
    app = started(folder, "memories", "--read-only", participant="P07")
    assert [one.label for one in app.button] == []
    assert "Read-only" in written(app)
    assert widget(app, "metric", "Memories").value == "1"
    assert "Bought a kite" not in str(app)  # whose text it is, is not known here


# ---------------------------------------------------------------- annotate


def pairs(who: str = "ana", number: int = 3) -> list[Comparison]:
    return [
        Comparison(
            id=f"{who}-{n}",
            participant=who,
            query=f"query {n}",
            memories=(f"a secret memory {n}",),
            with_memory=f"tea {n}",
            without_memory=f"milk {n}",
            generator="secret-generator",
        )
        for n in range(number)
    ]


@pytest.fixture
def study(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    collect.start(Workspace(folder), "study", "ana", pairs(), PLAIN)
    return folder


def rows(folder: Path) -> list[Any]:
    return collect.open_collection(Workspace(folder), "study", "ana").log.rows()


def test_judging_a_note_and_taking_back(started: Any, study: Path, patient: None) -> None:
    app = started(study, "annotate", collection="study", participant="ana")
    app = fine(app.text_area[0].set_value("the shorter one").run())
    app = turned(turned(app, "memories"), "annotate")
    assert app.text_area[0].value == "the shorter one"
    assert sum(row.act == "shown" for row in rows(study)) == 1  # the same card all the time
    app = press(app, "B slightly better")
    last = rows(study)[-2]  # then the next card was shown
    assert (last.judgment, last.note) == ("B slightly better", "the shorter one")
    assert app.text_area[0].value == ""
    app = press(app, "Take back")
    assert app.text_area[0].value == "the shorter one"
    for _ in range(3):
        app = press(app, "About the same")
    assert "Thank you" in app.success[0].value
    assert collect.open_collection(Workspace(study), "study", "ana").progress().left == 0


def test_a_second_click_or_a_held_key_judges_nothing(started: Any, study: Path) -> None:
    app = started(study, "annotate", collection="study", participant="ana")
    app = press(app, "A much better")  # within a second of the pair
    assert "not counted" in app.info[0].value
    assert [row.act for row in rows(study)] == ["shown"]


def test_another_tab_that_was_first_is_told_of(started: Any, study: Path, patient: None) -> None:
    app = started(study, "annotate", collection="study", participant="ana")
    other = collect.open_collection(Workspace(study), "study", "ana")
    card = other.draw()
    assert card is not None
    other.judge(card.item, card.token, "A much better")
    app = press(app, "B much better")
    assert "another tab" in app.info[0].value
    judged = [row for row in rows(study) if row.act == "judged"]
    assert [row.judgment for row in judged] == ["A much better"]


def test_the_page_tells_nobody_which_answer_had_memories(started: Any, tmp_path: Path) -> None:
    options = [PlanOptions(attention=0, repeats=0.0, seed=seed) for seed in range(12)]
    drawn = {draw_plan("ana", pairs(number=1), o).items[0].comparison.order: o for o in options}
    seen = {}
    for order, one in drawn.items():
        folder = tmp_path / order
        collect.start(Workspace(folder), "study", "ana", pairs(number=1), one)
        app = started(folder, "annotate", collection="study", participant="ana")
        page = "\n".join(str(getattr(node, "proto", "")) for node in app.main)
        page = re.sub(r"[0-9a-f]{16,}", "TOKEN", page)
        assert "secret" not in page
        seen[order] = page
    first, second = seen["memory first"], seen["memory second"]
    swapped = second.replace("tea 0", "\0").replace("milk 0", "tea 0").replace("\0", "milk 0")
    assert first == swapped
    assert "tea 0" in first


def test_nobody_judges_in_another_ones_place(started: Any, study: Path) -> None:
    app = started(study, "annotate", collection="study", participant="zoe")
    assert "zoe" in app.warning[0].value
    assert rows(study) == []
    app = fine(app.run())
    assert rows(study) == []
    app = fine(widget(app, "selectbox", "You are").set_value("ana").run())
    assert [row.act for row in rows(study)] == ["shown"]
    assert app.query_params["participant"] == "ana"


def test_nothing_is_judged_while_names_are_hidden(started: Any, study: Path) -> None:
    app = started(study, "about", collection="study", participant="ana")
    app = fine(widget(app, "toggle", "Hide the names").set_value(True).run())
    app = turned(app, "annotate")
    assert "Names are hidden" in app.info[0].value
    assert "tea" not in html(app)
    assert rows(study) == []
    assert widget(app, "selectbox", "You are").options[1].startswith("Person ")
    app = turned(app, "study")
    assert app.dataframe[0].value["participant"].to_list()[0].startswith("Person ")
    assert widget(app, "selectbox", "Who").options[0].startswith("Person ")


def test_participants_of_judgments_are_hidden_too(started: Any, judged: Path) -> None:
    who = {one.participant for one in open_comparisons(Workspace(judged), "simulated").comparisons}
    app = started(judged, "about", "--read-only", judgments="simulated")
    app = fine(widget(app, "toggle", "Hide the names").set_value(True).run())
    app.query_params["section"] = "one pair"
    app = turned(app, "reward")
    words = set(re.findall(r"[\w-]+", html(app)))
    assert "Person" in words
    assert not words & who


def test_two_people_who_are_written_alike_stay_two_choices(started: Any, tmp_path: Path) -> None:
    folder = tmp_path / "workspace"
    for who in ("Ana", "ana"):
        add(folder, who, f"Bought a kite: {who}.")
    app = started(folder, "about")
    app = fine(widget(app, "toggle", "Hide the names").set_value(True).run())
    options = widget(turned(app, "memories"), "selectbox", "Your name").options
    assert len(set(options)) == 2
    assert not {"Ana", "ana"} & set(options)


def test_who_judges_is_shown_no_results(started: Any, study: Path, patient: None) -> None:
    app = started(study, "annotate", collection="study", participant="ana")
    app = press(app, "A much better")
    assert "Attention checks" not in written(app)
    assert list(app.toggle) == []
    assert "Attention checks passed" in written(turned(app, "study"))


def test_a_withdrawal_is_of_one_person_and_takes_their_notes(started: Any, study: Path) -> None:
    collect.start(Workspace(study), "study", "bo", pairs("bo"), PLAIN)
    app = started(study, "annotate", collection="study", participant="ana")
    app = fine(app.text_area[0].set_value("a zebra").run())
    app = turned(app, "study")
    app = fine(widget(app, "checkbox", "Delete their plan").check().run())
    app = fine(widget(app, "selectbox", "Who").set_value("bo").run())
    assert not widget(app, "checkbox", "Delete their plan").value
    app = fine(widget(app, "selectbox", "Who").set_value("ana").run())
    app = press(app, "Delete")
    assert list(collect.participants(Workspace(study), "study")) == ["bo"]
    collect.start(Workspace(study), "study", "ana", pairs(), PLAIN)
    app = fine(widget(turned(app, "annotate"), "selectbox", "You are").set_value("ana").run())
    assert app.text_area[0].value == ""


def test_half_written_notes_are_bounded(apps_importable: None) -> None:
    from parts import notes

    for n in range(notes.MOST + 3):
        notes.write(("bounded", "ana", f"item-{n}"), "a thought")
    held = [n for n in range(notes.MOST + 3) if notes.note_of(("bounded", "ana", f"item-{n}"))]
    notes.drop("bounded", "ana")
    assert held == list(range(3, notes.MOST + 3))
    assert notes.note_of(("bounded", "ana", "item-5")) == ""


def test_nothing_is_judged_in_read_only_mode(started: Any, study: Path) -> None:
    before = bytes_under(study)
    app = started(study, "annotate", "--read-only", collection="study", participant="ana")
    assert "Read-only" in written(app)
    assert "tea" not in html(app)
    assert bytes_under(study) == before


def test_without_pairs_there_is_practice(started: Any, tmp_path: Path, patient: None) -> None:
    folder = tmp_path / "workspace"
    app = started(folder, "annotate", collection="gone")
    assert app.code[0].value.startswith("workbench reward import")
    app = press(app, "Try it")
    assert "made up" in written(app)
    app = press(app, "A much better")
    made = collect.collected(Workspace(folder), "practice").comparisons
    assert [one.synthetic for one in made] == [True]


def test_a_study_is_started_watched_and_kept(started: Any, tmp_path: Path) -> None:
    folder = tmp_path / "workspace"
    home = Workspace(folder)
    save_comparisons(home, "pairs", [*pairs("ana", 6), *pairs("bo", 6)])
    app = started(folder, "study")
    app = press(app, "Start")
    assert list(collect.participants(home, "study")) == ["ana", "bo"]
    for who in ("ana", "bo"):
        opened = collect.open_collection(home, "study", who)
        while card := opened.draw():
            opened.judge(card.item, card.token, "A slightly better")
    app = fine(app.run())
    assert "Attention checks passed" in written(app)
    app = fine(widget(app, "text_input", "Name of the set").set_value("pairs").run())
    app = widget(app, "button", "Keep the set").click().run()
    assert "other judgments" in app.error[0].value  # never over another set
    app = fine(widget(app, "text_input", "Name of the set").set_value("done").run())
    app = press(app, "Keep the set")
    assert comparison_sets(home)["done"]["judged"] == 16
    app = fine(widget(app, "checkbox", "Delete their plan").check().run())
    press(app, "Delete")
    assert list(collect.participants(home, "study")) == ["bo"]
