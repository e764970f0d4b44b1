"""Judging by hand and by keys in Chromium: blinded, saved once, never lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from app import browser, explorer, opened, settled

from reward_model import collect
from reward_model.collection_plan import PlanOptions
from reward_model.schema import Comparison
from workbench.workspace import Workspace

__all__ = ["browser"]

pytestmark = pytest.mark.timeout(120)

IMG = "<img src=x onerror=alert(1)>"
PEOPLE = ("ana", "bo", "cy", "di")


def pairs(who: str) -> list[Comparison]:
    return [
        Comparison(
            id=f"{who}-{n}",
            participant=who,
            query=f"query {n} {IMG}",
            memories=(f"a secret memory {n}",),
            with_memory=f"## tea {n}\n\n{IMG}",
            without_memory=f"milk {n}",
            generator="secret-generator",
            regime="aggressive",
        )
        for n in range(4)
    ]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("annotate") / "workspace"
    for who in PEOPLE:
        options = PlanOptions(attention=0, repeats=0.0)
        collect.start(Workspace(folder), "study", who, pairs(who), options)
    return folder


@pytest.fixture(scope="module")
def address(home: Path) -> Iterator[str]:
    with explorer(home) as one:
        yield one


def judged(home: Path, who: str) -> list[Any]:
    rows = collect.open_collection(Workspace(home), "study", who).log.rows()
    return [row for row in rows if row.act == "judged"]


def visit(browser: Any, address: str, who: str) -> Any:
    seen = opened(browser, address, "annotate", collection="study", participant=who)
    seen.page.wait_for_timeout(1_100)  # what comes sooner is no judgment
    return seen


def test_keys_judge_and_letters_in_the_note_do_not(browser: Any, address: str, home: Path) -> None:
    seen = visit(browser, address, "ana")
    page = seen.page
    note = page.locator("textarea")
    note.click()
    page.keyboard.type("1 2 3 and u")
    settled(page)
    assert judged(home, "ana") == []
    assert note.input_value() == "1 2 3 and u"
    # Out of the note by its own key, and judged by another.
    page.keyboard.press("Tab")
    settled(page)
    page.locator("h1").click()
    page.keyboard.press("5")
    page.get_by_text("1 of 4 pairs judged").wait_for()
    [row] = judged(home, "ana")
    assert (row.judgment, row.note) == ("B much better", "1 2 3 and u")
    settled(page)
    page.keyboard.press("u")
    page.get_by_text("0 of 4 pairs judged").wait_for()
    settled(page)
    assert page.locator("textarea").input_value() == "1 2 3 and u"
    assert seen.outside == []
    assert seen.said == []  # no script of the texts ran


def test_a_double_click_and_a_held_key_save_once(browser: Any, address: str, home: Path) -> None:
    page = visit(browser, address, "bo").page
    page.get_by_role("button", name="A slightly better").dblclick()
    page.get_by_text("1 of 4 pairs judged").wait_for()
    page.wait_for_timeout(1_500)
    assert len(judged(home, "bo")) == 1
    for _ in range(6):
        page.keyboard.down("4")
        page.wait_for_timeout(40)
    page.keyboard.up("4")
    page.wait_for_timeout(1_000)
    assert len(judged(home, "bo")) == 2


def test_a_half_written_note_survives_pages_and_a_reload(browser: Any, address: str) -> None:
    page = visit(browser, address, "cy").page
    page.locator("textarea").fill("half a tho")
    # As long as a hand takes: of a click in no time, Streamlit makes one event with the leaving of
    # the note, and stays.
    page.get_by_role("link", name="My memories").click(delay=80)
    page.get_by_role("heading", name="My memories").wait_for()
    settled(page)
    page.get_by_role("link", name="Annotate").click(delay=80)
    page.get_by_role("heading", name="Annotate").wait_for()
    settled(page)
    assert page.locator("textarea").input_value() == "half a tho"
    page.reload()
    settled(page)
    assert page.locator("textarea").input_value() == "half a tho"


def test_nothing_in_the_page_tells_which_answer_had_memories(
    browser: Any, address: str, home: Path
) -> None:
    page = visit(browser, address, "di").page
    plan = collect.open_collection(Workspace(home), "study", "di").plan
    seen = {}
    for item in plan.items:
        content = page.content()
        assert page.get_by_text(item.comparison.query).count() == 1
        for told in ("secret", "aggressive", "with_memory", "memory first", "memory second"):
            assert told not in content
        number = item.comparison.query.split()[1]
        texts = page.locator(".literal")
        with_it = [place for place in (0, 1) if f"tea {number}" in texts.nth(place).inner_text()]
        assert with_it == [0 if item.comparison.order == "memory first" else 1]
        # The two boxes differ in nothing but their texts.
        first, second = (texts.nth(place).evaluate(SHAPE) for place in (0, 1))
        assert first == second
        assert len(first) > 5
        seen[item.comparison.order] = True
        page.keyboard.press("3")
        page.get_by_text(f"{len(judged(home, 'di'))} of 4").wait_for()
        settled(page)
        page.wait_for_timeout(1_100)
    assert len(seen) == 2
    assert page.get_by_text("Thank you").is_visible()


# The elements of a box and their classes, those of its text left out.
SHAPE = """one => [...one.closest('[data-testid=stVerticalBlock]').querySelectorAll('*')]
    .filter(part => !part.parentElement.closest('.literal'))
    .map(part => `${part.tagName} ${part.getAttribute('class')}`)"""
