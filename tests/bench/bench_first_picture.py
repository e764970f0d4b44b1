"""How long each notebook, opened as an app, takes to its first figure, and the explorer to its
rankings: the sample, memories built before, in Chromium.

    python tests/bench/bench_first_picture.py [ROUNDS]

The first round also pays for what a server loads once (torch, the embedder); the time is from the
address being entered to the figure being drawn. A blank page of the same server is the rival: what
no page can be faster than.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common import row

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / part) for part in ("", "e2e")]

from app import chromium, explorer, free_port, opened, warmed  # noqa: E402
from served import served, visited  # noqa: E402

from notebooks import NOTEBOOKS, warm  # noqa: E402

SHIPPED = sorted(path.stem for path in NOTEBOOKS.glob("[a-z]*.py"))
FIGURE = ".js-plotly-plot .main-svg"


def timed(act: Callable[[], Any]) -> float:
    began = time.perf_counter()
    visit = act()
    spent = time.perf_counter() - began
    visit.page.context.close()
    return spent


def figure(browser: Any, address: str) -> Any:
    seen = visited(browser, address)
    seen.page.locator(FIGURE).first.wait_for(timeout=120_000)
    return seen


def blank(browser: Any, address: str) -> Any:
    seen = visited(browser, address)
    seen.page.locator("a[href*='file=']").first.wait_for(timeout=120_000)
    return seen


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        home = warm(Path(folder))
        port = free_port()
        options = ["notebooks", "--headless", "--port", str(port)]
        row("seconds", *[f"round {at + 1}" for at in range(rounds)])
        with served("workbench", options, f"http://127.0.0.1:{port}/", home) as address:
            taken = [timed(lambda: blank(browser, address)) for _ in range(rounds)]
            row("gallery", *[f"{one:.1f}" for one in taken])
            for name in SHIPPED:
                page = f"{address}?file={name}.py"
                taken = [timed(lambda page=page: figure(browser, page)) for _ in range(rounds)]  # type: ignore[misc]
                row(name, *[f"{one:.1f}" for one in taken])
        with explorer(warmed(Path(folder) / "app" / "workspace")) as address:
            taken = [timed(lambda: opened(browser, address)) for _ in range(rounds)]
            row("explorer", *[f"{one:.1f}" for one in taken])


if __name__ == "__main__":
    main()
