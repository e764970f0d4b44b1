"""The map of λ × K under the pointer and under the keyboard: which questions flip."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from app import browser, free_port
from served import served, visited

from notebooks import NOTEBOOKS, warm

__all__ = ["browser"]

# Starts of marimo, the notebook and Chromium on a busy machine.
pytestmark = pytest.mark.timeout(150)

PATIENCE = 60_000  # ms
TOLD = re.compile(r"At λ = ([\d.]+), K = (\d+) recall is")


def test_a_click_on_a_cell_and_the_lists_choose_what_flips(
    browser: Any, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path / "home"
    subprocess.run(["cp", "-r", warm(tmp_path_factory.getbasetemp()), home], check=True)
    port = free_port()
    options = ["run", str(NOTEBOOKS / "lambda_alpha.py"), "--headless"]
    options += ["--host", "127.0.0.1", "--port", str(port)]
    with served("marimo", options, f"http://127.0.0.1:{port}/", home) as address:
        seen = visited(browser, address)
        page = seen.page

        def told(lam: str, k: str) -> None:
            page.get_by_text(f"At λ = {lam}, K = {k} recall is").first.wait_for(timeout=PATIENCE)
            title = f"Questions that λ = {lam} flips at K = {k}"
            page.get_by_text(title).first.wait_for(timeout=PATIENCE)

        told("0.8", "10")  # as the view has it
        plot = page.locator(".js-plotly-plot").first
        plot.scroll_into_view_if_needed()
        page.wait_for_timeout(1_000)  # the page settles
        box = plot.locator(".nsewdrag").first.bounding_box()
        # The left map: λ from -0.025 at its foot to 1.025; K = 7 or 10 about its middle.
        page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] * 0.62)
        page.wait_for_function("!document.body.innerText.includes('At λ = 0.8, K = 10')")
        said = page.get_by_text(TOLD).first.text_content(timeout=PATIENCE)
        lam, k = TOLD.search(said).groups()
        assert float(lam) == pytest.approx(1.025 - 1.05 * 0.62, abs=0.03)
        assert 5 <= int(k) <= 15
        told(lam, k)
        # The lists stand where the click was, and do the same without a pointer.
        lists = {page.get_by_label("λ", exact=True): "0.9", page.get_by_label("K", exact=True): "5"}
        chosen = [one.locator("option:checked").text_content() for one in lists]
        assert chosen == [lam, k]
        for one, value in lists.items():
            one.select_option(value)
        told("0.9", "5")
        assert (seen.outside, seen.said) == ([], [])
