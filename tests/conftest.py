"""Fixtures that many test modules share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from workbench.workspace import Workspace

PROJECT = Path(__file__).resolve().parent.parent


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """An empty workspace of the test's own."""
    return Workspace(tmp_path / "workspace")


@pytest.fixture(scope="session")
def test_data() -> Path:
    """The folder of public data sets, which never enters the repository; skips by name without."""
    folder = Path(os.environ.get("WORKBENCH_TEST_DATA") or PROJECT.parent / "shared" / "data")
    if not (folder / "locomo" / "locomo10.json").is_file():
        pytest.skip(f"needs public data: {folder} is absent; set WORKBENCH_TEST_DATA")
    return folder


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A browser, a server and a test beside them on two busy cores miss a moment now and then: such
    a test is run once more, and pytest's last line counts it ("1 rerun")."""
    for item in items:
        if PROJECT / "tests" / "e2e" in item.path.parents:
            item.add_marker(pytest.mark.flaky(reruns=1))


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Where every test must run (CI), a skipped one is a failure of the session."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter else []
    if os.environ.get("WORKBENCH_NO_SKIPS") and skipped and exitstatus == pytest.ExitCode.OK:
        print(f"\n{len(skipped)} tests were skipped, and none may be here")
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
