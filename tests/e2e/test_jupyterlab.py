"""A notebook of ours in JupyterLab, opened and run by hand in Chromium, the network off."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from app import browser, free_port
from served import served, visited

from notebooks import NOTEBOOKS, exported, warm
from shell import PROJECT

__all__ = ["browser"]

# Starts of JupyterLab, a kernel and Chromium on a busy machine.
pytestmark = pytest.mark.timeout(150)

# A small one of the tests' own, and the one that is taught from.
OPENED = (
    PROJECT / "tests" / "data" / "notebooks" / "small.py",
    NOTEBOOKS / "personalised_retrieval.py",
)
PATIENCE = 60_000  # ms
ERROR = '.jp-OutputArea [data-mime-type$=".error"]'
STDERR = '.jp-OutputArea [data-mime-type$=".stderr"]'


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """JupyterLab in a folder with the exported notebooks, no setting of the developer's read."""
    folder = tmp_path_factory.mktemp("lab")
    for path in OPENED:
        exported(path, folder)
    home = warm(tmp_path_factory.getbasetemp())
    port = free_port()
    own = ("CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR")
    given = {f"JUPYTER_{name}": str(folder / f".{name.lower()}") for name in own}
    given["JUPYTERLAB_SETTINGS_DIR"] = str(folder / ".settings")
    given["JUPYTERLAB_WORKSPACES_DIR"] = str(folder / ".workspaces")
    options = [
        "lab",
        "--no-browser",
        "--allow-root",
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0",
        f"--ServerApp.root_dir={folder}",
        "--IdentityProvider.token=",
    ]
    address = f"http://127.0.0.1:{port}"
    with served("jupyter", options, f"{address}/api", home, **given):
        yield address


@pytest.mark.parametrize("path", OPENED, ids=lambda path: path.stem)
def test_an_exported_notebook_shows_its_figures(
    browser: Any, laboratory: str, path: Path, tmp_path: Path
) -> None:
    """Opened and run as a reader does it: `Run All Cells`."""
    # A workspace of JupyterLab's own each, or the second window asks which it may take.
    address = f"{laboratory}/lab/workspaces/{path.stem}/tree/{path.stem}.ipynb"
    seen = visited(browser, address)
    page = seen.page
    page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=PATIENCE)
    assert page.locator(".js-plotly-plot").count() == 0  # nothing is shown before it is run
    page.get_by_text("| Idle").wait_for(timeout=PATIENCE)  # the kernel listens
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    figure = page.locator(".jp-OutputArea .js-plotly-plot .main-svg").first
    figure.or_(page.locator(ERROR).first).first.wait_for(timeout=PATIENCE)
    page.get_by_text("| Idle").wait_for(timeout=PATIENCE)
    assert page.locator(ERROR).all_text_contents() == []
    assert page.locator(STDERR).all_text_contents() == []
    figure.scroll_into_view_if_needed()
    assert page.locator(".js-plotly-plot .gtitle").first.text_content()
    marks = page.locator(".js-plotly-plot .scatterlayer path[d]")
    assert marks.count() > 3  # lines, bands or points: data, not axes alone
    page.screenshot(path=tmp_path / "jupyterlab.png")
    assert seen.outside == []
