"""An exported SVG as its readers open it: drawn by a real Chromium, and seen in one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from app import browser

from small_runs import HOSTILE, IMG, recall_run
from workbench import report
from workbench.workspace import Workspace

__all__ = ["browser"]

pytestmark = pytest.mark.timeout(120)


def test_an_svg_is_drawn_shown_and_made_again(
    browser: Any, tmp_path: Path, workspace: Workspace
) -> None:
    found = report.findings(workspace, recall_run(workspace, HOSTILE))
    path = tmp_path / "recall.svg"
    path.write_bytes(report.svg(found.figures["categories"]))
    context = browser.new_context(offline=True)
    page = context.new_page()
    said: list[str] = []
    page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(path.as_uri())
    assert page.title() == "Evidence recall@5 by category"
    assert page.locator("text", has_text=IMG[:9]).count() > 0  # the name of a category, as text
    assert page.locator("script, a, image, foreignObject").count() == 0
    assert said == []
    [again] = report.reproduce(workspace, path)
    assert again.identical
