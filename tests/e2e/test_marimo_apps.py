"""Every notebook as an app, opened from the gallery in Chromium, the network off for all."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from app import browser, free_port
from served import served, visited

from notebooks import NOTEBOOKS, warm
from shell import report, write_rows
from small_runs import HOSTILE, IMG
from workbench import Workspace, open_banks

__all__ = ["browser"]

# Starts of the gallery and Chromium, and an app's own, on a busy machine.
pytestmark = pytest.mark.timeout(150)

SHIPPED = sorted(path.stem for path in NOTEBOOKS.glob("[a-z]*.py"))
# Those that show names or texts of any dataset; the others are about the sample or the simulation,
# or show numbers.
SHOWS_DATA = {"case_studies", "evidence_recall", "memory_inspection"}
PATIENCE = 60_000  # ms
FIGURE = ".js-plotly-plot .main-svg"
# The mark of a cell that runs or waits; it comes some time after the page.
BUSY = "[data-testid=loading-indicator]"
# What a browser, or a table that means well, would make pictures and links of.
ABROAD = "tracker.example"
ADDRESSES = (
    f"https://{ABROAD}/seen.png",
    f"https://{ABROAD}/page",
    f"ana@{ABROAD}",
)
MADE = f"img[src*='{ABROAD}'], a[href*='{ABROAD}'], video[src*='{ABROAD}']"


class Gallery(NamedTuple):
    """The gallery's address, and what its server said."""

    address: str
    log: Path


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gallery]:
    """`workbench notebooks` over a workspace with the sample, and a dataset that is all HTML."""
    folder = tmp_path_factory.mktemp("gallery")
    home = folder / "home"
    shutil.copytree(warm(tmp_path_factory.getbasetemp()), home)
    report(home, "import", str(write_rows(folder / "hostile.jsonl", hostile())))
    open_banks(Workspace(home), "hostile")
    port = free_port()
    options = ["notebooks", "--headless", "--port", str(port)]
    with served("workbench", options, f"http://127.0.0.1:{port}/", home) as address:
        yield Gallery(address.rstrip("/"), folder / "workbench.log")


def hostile() -> Iterator[dict[str, Any]]:
    """A conversation of two people in which every text, name and id is markup, or an address."""
    named = {"scope": HOSTILE[:40], "dialogue": "d", "time": "2024-01-14T19:05:00"}
    for at, address in enumerate(ADDRESSES, 1):  # these alone fill a text, as a table's cell
        yield {"kind": "turn", **named, "id": f"D0:{at}", "session": "0", "speaker": IMG} | {
            "text": address
        }
    for at in range(12):
        about = {"id": f"D{at // 4 + 1}:{at % 4 + 1}", "session": str(at // 4 + 1)}
        text = f"I like tea number {at}, my dog is {HOSTILE} and I live in {IMG}"
        yield {"kind": "turn", **named, **about, "speaker": f"Ana {IMG}" if at % 2 else IMG} | {
            "text": text
        }
    for at in range(4):
        yield {
            **{"kind": "question", "id": f"{IMG}{at}", "scope": named["scope"]},
            **{"text": f"Which tea, {HOSTILE}?", "people": [IMG], "category": IMG},
            **{"answer": HOSTILE, "evidence": [f"D1:{at + 1}"]},
        }


def complained(gallery: Gallery) -> int:
    """How many cells have raised so far: an app hides such cells, its server tells."""
    return gallery.log.read_text(errors="replace").count("Traceback (most recent call last)")


def idle(page: Any) -> None:
    """Until every cell has run: the mark of running ones came, and has been gone for a while."""
    page.locator(f"{BUSY}, {FIGURE}").first.wait_for(timeout=PATIENCE)
    quiet = 0
    for _ in range(PATIENCE // 400):
        quiet = 0 if page.locator(BUSY).count() else quiet + 1
        if quiet == 4:
            return
        page.wait_for_timeout(400)
    raise AssertionError("the notebook is still running")


def test_the_gallery_lists_every_notebook(browser: Any, gallery: Gallery) -> None:
    seen = visited(browser, gallery.address)
    links = seen.page.locator("a[href*='file=']")
    links.first.wait_for(timeout=PATIENCE)
    found = sorted(link.get_attribute("href").split("file=")[1] for link in links.all())
    assert found == [f"{name}.py" for name in SHIPPED]
    assert (seen.outside, seen.said) == ([], [])


@pytest.mark.slow  # the next test opens the same apps
@pytest.mark.parametrize("name", SHIPPED)
def test_an_app_shows_its_first_figure(
    browser: Any, gallery: Gallery, name: str, tmp_path: Path
) -> None:
    """And a link names no place of this machine to write to."""
    before = complained(gallery)
    elsewhere = tmp_path / "elsewhere"
    seen = visited(browser, f"{gallery.address}/?file={name}.py&workspace={elsewhere}")
    seen.page.locator(FIGURE).first.wait_for(timeout=PATIENCE)
    idle(seen.page)
    assert complained(gallery) == before
    assert seen.page.get_by_text("it is ignored").count() == 0  # marimo's own part of the address
    assert not elsewhere.exists()
    assert (seen.outside, seen.said) == ([], [])


@pytest.mark.parametrize("name", SHIPPED)
def test_text_that_is_markup_stays_text(browser: Any, gallery: Gallery, name: str) -> None:
    before = complained(gallery)
    seen = visited(browser, f"{gallery.address}/?file={name}.py&dataset=hostile&question={IMG}0")
    idle(seen.page)
    assert complained(gallery) == before
    if name == "memory_inspection":  # and what looks like an address is shown as a text
        assert all(seen.page.get_by_text(one).count() for one in ADDRESSES)
    if name in SHOWS_DATA:  # what was looked for could have been found
        assert seen.page.get_by_text("<img src=x").count() > 0
    assert seen.page.locator(f"img[src=x], a[href^=javascript], {MADE}").count() == 0
    assert (seen.outside, seen.said) == ([], [])


def test_a_link_imports_no_file_of_the_machine(
    browser: Any, gallery: Gallery, tmp_path: Path
) -> None:
    """Nor is what somebody types read before they press the button."""
    before = complained(gallery)
    place = tmp_path / "private.csv"
    place.write_text("id,participant\n1,secret\n", encoding="utf-8")
    seen = visited(browser, f"{gallery.address}/?file=reward_coefficients.py&path={place}")
    seen.page.locator(FIGURE).first.wait_for(timeout=PATIENCE)
    idle(seen.page)
    assert seen.page.get_by_text("path is no matter for a link").count() == 1
    field = seen.page.get_by_label("… or a file of your own")
    assert field.input_value() == ""
    assert complained(gallery) == before
    field.fill(str(place))
    field.blur()
    idle(seen.page)
    assert complained(gallery) == before
    seen.page.get_by_role("button", name="Import this file").click()
    for _ in range(PATIENCE // 400):
        if complained(gallery) > before:  # it was read: it is no file of judgments
            return
        seen.page.wait_for_timeout(400)
    raise AssertionError("the button does nothing")
