"""A notebook of ours in JupyterLab, opened and run by hand in Chromium, the network off."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from app import browser, free_port
from served import served, visited

from notebooks import exported, warm
from shell import PROJECT

__all__ = ["browser"]

# Starts of JupyterLab, a kernel and Chromium on a busy machine.
pytestmark = pytest.mark.timeout(150)

NOTEBOOK = PROJECT / "tests" / "data" / "notebooks" / "small.py"
PATIENCE = 60_000  # ms
ERROR = '.jp-OutputArea [data-mime-type$=".error"]'


@pytest.fixture(scope="module")
def laboratory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """JupyterLab in a folder with the exported notebook, no setting of the developer's read."""
    folder = tmp_path_factory.mktemp("lab")
    exported(NOTEBOOK, folder)
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


def test_an_exported_notebook_shows_its_figures(
    browser: Any, laboratory: str, tmp_path: Path
) -> None:
    seen = visited(browser, f"{laboratory}/lab/tree/{NOTEBOOK.stem}.ipynb")
    page = seen.page
    page.wait_for_selector(".jp-Notebook .jp-Cell", timeout=PATIENCE)
    assert page.locator(".js-plotly-plot").count() == 0  # nothing is shown before it is run
    page.get_by_text("| Idle").wait_for(timeout=PATIENCE)  # the kernel listens
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    figure = page.locator(".jp-OutputArea .js-plotly-plot .main-svg").first
    figure.or_(page.locator(ERROR).first).first.wait_for(timeout=PATIENCE)
    assert page.locator(ERROR).all_text_contents() == []
    title = page.locator(".jp-OutputArea .js-plotly-plot .gtitle").first.text_content()
    assert "Evidence recall" in title
    path = page.locator(".scatterlayer .js-line").first.get_attribute("d")
    assert path.count("L") > 3  # a line through the values of K
    figure.scroll_into_view_if_needed()
    page.wait_for_timeout(500)
    page.screenshot(path=tmp_path / "jupyterlab.png")
    assert page.locator('.jp-OutputArea [data-mime-type$=".stderr"]').all_text_contents() == []
    assert seen.outside == []
