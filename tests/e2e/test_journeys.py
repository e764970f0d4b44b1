"""Two people at the explorer, from end to end: a reviewer who may only read, and a teacher."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from app import browser, explorer, opened, settled, warmed

from small_runs import HOSTILE, RECIPE, recall_run
from workbench.datasets import store
from workbench.datasets.report import Dataset
from workbench.library import open_banks
from workbench.runs import save_run, tidy
from workbench.schema import Dialogue, Question, Turn
from workbench.workspace import Workspace

__all__ = ["browser"]

pytestmark = pytest.mark.timeout(180)

REWRITTEN = (
    "https://evil.example/x",
    "www.evil.example",
    "me@evil.example",
    ":material/lock:",
    ":blue[x]",
    "a -> b -- c >= d",
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample with its memories, two runs, and a data set whose words Streamlit rewrites."""
    folder = warmed(tmp_path_factory.mktemp("journeys") / "workspace")
    workspace = Workspace(folder)
    turns = tuple(
        Turn(id=f"t{n}", session="1", speaker="Ana", text=f"{words} {'long ' * 200}")
        for n, words in enumerate(REWRITTEN)
    )
    asked = tuple(
        Question(id=f"q{n} {words}", scope="s", text=words, category=words, people=("Ana",))
        for n, words in enumerate(REWRITTEN)
    )
    # More categories than are drawn unfolded: an expander's title, and rows, hold such words too.
    asked += tuple(
        Question(id=f"more {n}", scope="s", text="?", category=f"{HOSTILE} {n}", people=("Ana",))
        for n in range(3)
    )
    title = f"{REWRITTEN[2]} {HOSTILE}"
    dialogue = Dialogue(id="d", scope="s", title=title, turns=turns)
    made = Dataset(name="rewritten", format="jsonl", dialogues=(dialogue,), questions=asked)
    store.save(workspace, made)
    open_banks(workspace, "rewritten")
    values = {"scope": "s", "metric": "recall@5", "value": 0.5}
    rows = [{"question": q.id, "category": q.category, **values} for q in asked]
    many = [{"question": f"f{n}", "category": f"{HOSTILE} {n}", **values} for n in range(20)]
    identity = {"dataset": "rewritten", "content": "c", "recipe": RECIPE | {"prior": HOSTILE}}
    save_run(workspace, "recall", identity, tidy(rows + many), {"source": HOSTILE})
    save_run(workspace, HOSTILE, {"dataset": HOSTILE, "content": "c"}, tidy(many), {})
    # The newest, which Runs shows at first.
    recall_run(workspace)
    recall_run(workspace, shift=0.25, prior="none")
    return folder


@pytest.fixture(scope="module")
def address(home: Path) -> Iterator[str]:
    with explorer(home) as served:
        yield served


def followed(page: Any, name: str) -> None:
    """To another page, by its link."""
    page.get_by_test_id("stSidebarNav").get_by_role("link", name=name, exact=True).click()
    page.wait_for_selector(f"[data-testid=stMain] h1:has-text('{name}')")
    settled(page)


def test_a_reviewer_opens_a_link_compares_and_exports(
    browser: Any, home: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "workspace"
    shutil.copytree(home, folder)
    with explorer(folder, "--read-only") as served:
        # The first page is found by its name, and shows what the link says.
        seen = opened(browser, f"{served}/retrieval?k=7&user=Nadia&question=c1/0#", "")
        page = seen.page
        page.get_by_text("Read-only: nothing can be written here.").wait_for()
        assert page.locator(".hit").count() == 14
        assert page.get_by_role("dialog").count() == 0  # "Page not found"
        followed(page, "Runs")
        page.get_by_role("radio", name="Compare two").click()
        page.get_by_role("heading", name="Compare two runs").wait_for()
        settled(page)
        with page.expect_download() as waiting:
            page.get_by_role("button", name="CSV: questions").click()
        rows = Path(waiting.value.path()).read_text("utf-8-sig").splitlines()
        assert rows[0].startswith("question,") and len(rows) > 2
        assert (seen.outside, seen.said) == ([], [])


def test_a_teacher_shows_what_lambda_does_to_two_people_with_names_hidden(
    browser: Any, address: str
) -> None:
    seen = opened(browser, address, "about", user="Nadia", scope="c1")
    page = seen.page
    page.get_by_text("Hide the names of people").click()
    page.get_by_text("names are hidden:").wait_for()
    followed(page, "Retrieval")
    own = page.get_by_role("textbox", name="Ask your own question")
    own.fill("What am I training for?")
    own.press("Enter")
    page.locator(".asked", has_text="What am I training for?").wait_for()
    settled(page)
    first = page.locator(".hits").nth(1).inner_text()
    thumb = page.get_by_role("slider", name="λ")
    thumb.focus()
    for _ in range(12):
        thumb.press("ArrowLeft")
    page.wait_for_function("() => location.search.includes('lam=0.2')")
    settled(page)
    moved = page.locator(".hits").nth(1).inner_text()
    assert moved != first  # the profile counts for more
    both = {"Nadia": moved}
    other = opened(
        browser, address, user="Tomasz", scope="c1", lam=0.2, question="What am I training for?"
    )
    both["Tomasz"] = other.page.locator(".hits").nth(1).inner_text()
    assert both["Nadia"] != both["Tomasz"]  # the same words, another profile
    assert "Person " in moved and "Nadia" not in moved
    assert (seen.outside, seen.said) == ([], [])


def test_what_streamlit_would_rewrite_is_shown_as_it_was_said(browser: Any, address: str) -> None:
    """Addresses, icons and arrows in every label of a page, from data."""
    seen = opened(browser, address, dataset="rewritten", effect=REWRITTEN[0], k=7)
    page = seen.page
    words = page.locator("[data-testid=stMain]").inner_text().replace("\N{WORD JOINER}", "")
    for one in REWRITTEN:
        assert f"Ana: {one}" in words  # the list of questions
    assert f"effect = '{REWRITTEN[0]}'" in words  # a warning
    # No link but those of headings to themselves; no icon that data asked for.
    assert page.locator("[data-testid=stMain] a[href*='evil']").count() == 0
    icons = page.locator("[data-testid=stMain] [data-testid=stIconMaterial]", has_text="lock")
    assert icons.count() == 0
    assert (seen.outside, seen.said) == ([], [])


@pytest.mark.parametrize(
    ("page", "view"),
    [
        ("user", {"dataset": "rewritten", "section": "dialogue", "user": "Ana", "scope": "s"}),
        ("retrieval", {"dataset": "rewritten", "question": "more 1"}),
        ("runs", {"run": HOSTILE}),  # of that kind; its table is folded
        ("about", {"dataset": "rewritten"}),
    ],
)
def test_titles_that_would_run_are_words(
    browser: Any, home: Path, address: str, page: str, view: dict[str, str]
) -> None:
    """Of dialogues, kinds of run, categories, expanders."""
    if "run" in view:
        known = Workspace(home).manifests("runs")
        view = {"run": next(name for name, one in known.items() if one["kind"] == view["run"])}
    seen = opened(browser, address, page, **view)
    for summary in seen.page.locator("[data-testid=stMain] summary").all():
        summary.click()
    settled(seen.page)
    assert seen.page.locator("[data-testid=stMain] img[src='x']").count() == 0
    assert seen.page.locator("a[href^='javascript:']").count() == 0
    if page in ("runs", "retrieval"):
        assert "<img src=x onerror=alert(1)>" in seen.page.content().replace("&lt;", "<").replace(
            "&gt;", ">"
        )
    assert (seen.outside, seen.said) == ([], [])  # no alert, no request
    seen.page.context.close()
