"""Every page of the explorer under axe, light and dark: no violation of WCAG A or AA of ours.

Streamlit's own are listed in `FRAMEWORK` by rule and place; a new one fails. On the way: no page
asks another machine for anything, and none throws.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from app import browser, explorer, opened, settled

from notebooks import warm
from small_runs import recall_run
from workbench.workspace import Workspace

__all__ = ["browser"]

axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe-playwright")

# A server, a browser and the first page of each kind, on a busy machine.
pytestmark = pytest.mark.timeout(180)

TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
# (rule, piece of the element's HTML): what Streamlit 1.67 draws that way, and we cannot change.
FRAMEWORK: list[tuple[str, str]] = []
PAGES = {
    "retrieval": {"user": "Nadia", "question": "c1/0"},
    "user": {"user": "Nadia"},
    "reward": {},
    "memories": {},
    "annotate": {},
    "study": {},
    "runs": {"section": "compare two"},
    "about": {},
}
NARROW = 390
IS_DARK = """() => {
    const paper = getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor;
    return paper.match(/\\d+/g).slice(0, 3).map(Number).every(part => part < 80);
}"""
SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The explorer over the sample with its memories built, and two runs that can be compared."""
    home = tmp_path_factory.mktemp("axe") / "workspace"
    shutil.copytree(warm(tmp_path_factory.getbasetemp()), home)
    recall_run(Workspace(home))
    recall_run(Workspace(home), shift=0.25, prior="none")
    with explorer(home) as served:
        yield served


def violations(page: Any) -> list[str]:
    """What axe has against a page, but for what is known of the framework."""
    options = {"runOnly": {"type": "tag", "values": TAGS}}
    told = axe.Axe().run(page, options=options).response
    return [
        f"{rule['id']}: {node['html'][:200]}"
        for rule in told["violations"]
        for node in rule["nodes"]
        if not any(rule["id"] == known and piece in node["html"] for known, piece in FRAMEWORK)
    ]


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_can_be_used_by_everybody(browser: Any, address: str, name: str, mode: str) -> None:
    seen = opened(browser, address, name, mode, **PAGES[name])
    assert seen.page.evaluate(IS_DARK) == (mode == "dark")
    found = violations(seen.page)
    seen.page.set_viewport_size({"width": NARROW, "height": 844})
    settled(seen.page)
    assert found == []
    assert seen.page.evaluate(SIDEWAYS) <= 0, "the page itself moves sideways on a telephone"
    assert (seen.outside, seen.said) == ([], [])
    seen.page.context.close()


def test_axe_sees_a_violation(browser: Any, address: str) -> None:
    """The check itself: a planted picture without words, and pale text."""
    seen = opened(browser, address, "about")
    seen.page.evaluate(
        """() => document.querySelector('[data-testid=stMain] h1').insertAdjacentHTML('afterend',
            '<img src="data:,"><p style="color:#ccc;background:#fff">pale</p>')"""
    )
    rules = {one.split(":")[0] for one in violations(seen.page)}
    assert {"image-alt", "color-contrast"} <= rules
    seen.page.context.close()


def test_names_are_hidden_wherever_they_are_shown(browser: Any, address: str) -> None:
    seen = opened(browser, address, "about", user="Nadia", question="c1/0")
    page = seen.page
    assert "Nadia" in _shown(opened_on(page, "Retrieval"))
    opened_on(page, "About the data")
    page.get_by_text("Hide the names of people").click()
    page.get_by_text("6 names are hidden").wait_for()
    for link in ("Retrieval", "User"):
        shown = _shown(opened_on(page, link))
        assert "Person 1" in shown
        # "Tomaszzz" is no spelling that anybody could have listed, and the page says so.
        for name in ("Nadia", "Tomasz ", "Kwame", "Efua", "Yuki", "Marisol"):
            assert name not in shown
    assert seen.outside == []
    page.context.close()


def opened_on(page: Any, link: str) -> Any:
    """The same session on another page."""
    page.get_by_test_id("stSidebarNav").get_by_role("link", name=link, exact=True).click()
    page.wait_for_selector(f"[data-testid=stMain] h1:has-text('{link}')")
    settled(page)
    return page


def _shown(page: Any) -> str:
    """All words on the page, those of figures and of chosen options too."""
    said: str = page.evaluate(
        """() => [document.querySelector('[data-testid=stMain]').innerText,
            ...[...document.querySelectorAll('[data-testid=stMain] svg text')]
                .map(o => o.textContent),
            ...[...document.querySelectorAll('[data-testid=stMain] input')].map(o => o.value),
            ...[...document.querySelectorAll('[data-testid=stMain] [aria-label]')]
                .map(o => o.getAttribute('aria-label'))].join(' ')"""
    )
    return said
