"""Import and build of all of LoCoMo from nothing (turns, cold cache): where the time goes.

python tests/bench/bench_build.py
"""

from __future__ import annotations

import time

from common import locomo_workspace, row

from workbench.library import open_banks


def main() -> None:
    import workbench.encoder  # noqa: F401 - loading torch is start-up, not work

    began = time.perf_counter()
    with locomo_workspace() as workspace:
        imported = time.perf_counter() - began
        banks = open_banks(workspace, "locomo")
        whole = time.perf_counter() - began
        encoding = banks.manifest["seconds"]["encoding"]
        row("import", f"{imported:.2f} s")
        for what, spent in banks.manifest["seconds"].items():
            row(what, f"{spent:.2f} s")
        row("whole", f"{whole:.2f} s")
        row("all but encoding", f"{100 * (whole - encoding) / whole:.1f} %")
        began = time.perf_counter()
        open_banks(workspace, "locomo")
        row("opened again", f"{time.perf_counter() - began:.2f} s")


if __name__ == "__main__":
    main()
