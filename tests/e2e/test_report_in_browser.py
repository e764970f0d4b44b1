"""The report as a reader opens it: from disk, in Chromium, with the network off."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from small_runs import HOSTILE, IMG, recall_run
from workbench import report
from workbench.doctor import find_browser
from workbench.report import pictures
from workbench.theme import MODES
from workbench.workspace import Workspace

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]

# A browser's start, and plotly's, on a busy machine.
pytestmark = pytest.mark.timeout(120)


class Visit(NamedTuple):
    """A page under the eyes of Chromium, what it asked for, and what it complained of or ran."""

    page: Any
    asked: list[str]
    said: list[str]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs pip install playwright")
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), find_browser())
    if path is None:
        pytest.skip("needs Chromium: install it with your system's package manager")
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def hostile_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    workspace = Workspace(folder / "workspace")
    path = folder / "report.html"
    found = report.findings(workspace, recall_run(workspace, HOSTILE))
    path.write_text(report.page(found), encoding="utf-8")
    return path


def visit(browser: Any, path: Path, mode: str) -> Visit:
    """Open a file as a reader whose system prefers a mode; wait until the figures are drawn."""
    context = browser.new_context(color_scheme=mode, offline=True)
    page = context.new_page()
    seen = Visit(page, [], [])
    page.on("request", lambda request: seen.asked.append(request.url))
    page.on("console", lambda message: seen.said.append(message.text))
    page.on("pageerror", lambda error: seen.said.append(str(error)))
    page.on(
        "dialog", lambda dialog: (seen.said.append(f"dialog {dialog.message}"), dialog.dismiss())
    )
    page.goto(path.as_uri())
    page.wait_for_function("document.documentElement.dataset.drawn")
    return seen


def colours(page: Any) -> tuple[str, str]:
    """The paper of the page and of its first figure."""
    script = """() => [getComputedStyle(document.body).backgroundColor,
        getComputedStyle(document.querySelector('.plot .main-svg')).backgroundColor]"""
    body, figure = page.evaluate(script)
    return body, figure


def rgb(colour: str) -> str:
    return f"rgb({', '.join(str(int(colour[at : at + 2], 16)) for at in (1, 3, 5))})"


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_the_report_opens_offline_in_both_modes(
    browser: Any, hostile_report: Path, mode: str
) -> None:
    seen = visit(browser, hostile_report, mode)
    page = seen.page
    other = "dark" if mode == "light" else "light"
    assert page.locator(".plot .main-svg").count() >= 2
    assert colours(page) == (rgb(MODES[mode].paper), rgb(MODES[mode].paper))
    page.get_by_role("button", name=f"{other.capitalize()} mode").click()
    page.wait_for_function(f"document.documentElement.dataset.drawn === '{other}'")
    assert colours(page) == (rgb(MODES[other].paper), rgb(MODES[other].paper))
    assert seen.asked == [hostile_report.as_uri()]
    assert seen.said == []


def test_text_that_would_run_is_shown(browser: Any, hostile_report: Path) -> None:
    seen = visit(browser, hostile_report, "light")
    page = seen.page
    assert page.locator("td", has_text=IMG).count() > 0
    assert page.locator("svg text", has_text="<img src=x").count() > 0
    assert page.locator("img, svg image, svg a[href], a[href^=javascript]").count() == 0
    # The label under the pointer is drawn from data too.
    box = page.locator("#figure-categories .plot-container").bounding_box()
    for step in range(8, 40):
        page.mouse.move(box["x"] + box["width"] * step / 40, box["y"] + box["height"] * 0.6)
    assert page.locator("img, svg a[href]").count() == 0
    assert seen.said == []


def test_the_pages_policy_stops_a_script_that_got_in(
    browser: Any, hostile_report: Path, tmp_path: Path
) -> None:
    path = tmp_path / "planted.html"
    planted = f"<body>{IMG}<script>document.title = 'ran'</script>"
    path.write_text(hostile_report.read_text(encoding="utf-8").replace("<body>", planted), "utf-8")
    seen = visit(browser, path, "light")
    assert seen.page.title() != "ran"
    assert not [said for said in seen.said if said.startswith("dialog")]
    assert any("Content Security Policy" in said for said in seen.said)


def test_a_narrow_window_scrolls_figures_not_the_page(browser: Any, hostile_report: Path) -> None:
    page = visit(browser, hostile_report, "light").page
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_figures_are_drawn_by_their_own_data(browser: Any, hostile_report: Path) -> None:
    """The curve's line runs through as many points as it has, and the caption stands once."""
    page = visit(browser, hostile_report, "light").page
    held = json.loads(page.locator("#figures").text_content())
    points = len(held["figures"]["recall"]["data"][1]["x"])
    path = page.locator("#figure-recall .scatterlayer .js-line").nth(1).get_attribute("d")
    assert path.count("L") + path.count("M") == points
    assert page.get_by_text("recipe", exact=False).locator("visible=true").count() >= 2
    assert page.locator("#figure-recall svg text", has_text="Data toy").count() == 0
    assert page.locator("figcaption", has_text="Data toy").count() == len(held["figures"])


def test_a_picture_is_drawn_and_reproduced(
    browser: Any, tmp_path: Path, workspace: Workspace
) -> None:
    found = report.findings(workspace, recall_run(workspace, HOSTILE))
    path = tmp_path / "recall.png"
    path.write_bytes(report.png(found.figures["recall"], "dark"))
    header = next(body for kind, body in pictures.chunks(path.read_bytes()) if kind == b"IHDR")
    assert int.from_bytes(header[:4], "big") == 2000  # 1000 at double density
    assert [one.identical for one in report.reproduce(workspace, path)] == [True]
    page = browser.new_page()
    page.goto(path.as_uri())
    assert page.evaluate("document.images[0].naturalWidth") == 2000
