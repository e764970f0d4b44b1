"""What the benches share: LoCoMo in a workspace of its own, aligned rows."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench.datasets import import_file
from workbench.workspace import Workspace

PROJECT = Path(__file__).resolve().parents[2]


def data_folder() -> Path:
    """The folder of public data; ends the bench where it is absent."""
    folder = Path(os.environ.get("WORKBENCH_TEST_DATA") or PROJECT.parent / "shared" / "data")
    if not folder.is_dir():
        raise SystemExit(f"needs public data: {folder} is absent; set WORKBENCH_TEST_DATA")
    return folder


@contextmanager
def locomo_workspace() -> Iterator[Workspace]:
    """A new workspace that holds LoCoMo and nothing built."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace(folder)
        import_file(workspace, data_folder() / "locomo" / "locomo10.json")
        yield workspace


def row(*cells: str) -> None:
    print("".join(f"{cell:<{24 if not i else 15}}" for i, cell in enumerate(cells)), flush=True)
