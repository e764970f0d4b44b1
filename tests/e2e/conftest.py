"""What all tests with a real browser share."""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A browser, a server and a test beside them on two busy cores miss a moment now and then: such
    a test is run once more, and pytest's last line counts it ("1 rerun")."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.flaky(reruns=1))
