"""Where things live: named folders of immutable files, atomic writes, manifests and locks.

    ROOT/datasets/NAME/current            the digest of the version in force
    ROOT/datasets/NAME/DIGEST/            *.jsonl + manifest.json
    ROOT/banks/DIGEST/                    one folder per built set of banks
    ROOT/runs/DIGEST/                     results
    ROOT/cache/                           vectors, keyed by content
    ROOT/locks/                           what is being written, and by whom

A folder is written under a temporary name beside its destination, flushed, given its manifest last,
and renamed. So a folder without a manifest is unfinished: it is never listed, and is rebuilt.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from workbench import locks
from workbench.errors import UsageError, WorkspaceError

__all__ = ["Workspace", "file_sha256", "read_manifest", "verify_folder", "write_atomically"]

MANIFEST = "manifest.json"
NAME_PATTERN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")

Content = bytes | Iterable[bytes] | Callable[[Path], None]


class Workspace:
    """A root folder. Opening one creates nothing; the first write does.

    A `read_only` one is never written: its `publish` and `lock`, which every writer goes through,
    raise WorkspaceError, and its caches keep nothing.
    """

    def __init__(self, root: Path | str | None = None, read_only: bool = False) -> None:
        """`root`, else `$WORKBENCH_HOME`, else the platform's folder for user data."""
        self.read_only = read_only
        self.root = Path(root or os.environ.get("WORKBENCH_HOME") or _default_root()).expanduser()
        if self.root.exists() and not self.root.is_dir():
            raise WorkspaceError(f"workspace {self.root} is a file; name a folder")

    def folder(self, kind: str, name: str = "") -> Path:
        """`ROOT/kind/name`, refusing names that could leave the workspace."""
        return self.root / kind / check_name(name) if name else self.root / kind

    def publish(
        self, kind: str, name: str, files: dict[str, Content], manifest: dict[str, Any]
    ) -> Path:
        """Write an immutable folder `kind/name`, or return it where it already is complete.

        The manifest gains the sha256 and size of every file, the code version and the time.
        `name` may hold one "/" (a dataset and its version).
        """
        self._writes(f"{kind}/{name}")
        parent = self.folder(kind)
        for piece in name.split("/")[:-1]:
            parent = parent / check_name(piece)
        target = parent / check_name(name.rsplit("/", maxsplit=1)[-1])
        if read_manifest(target) is not None and not verify_folder(target):
            return target
        parent.mkdir(parents=True, exist_ok=True)
        temporary = parent / f".{target.name}.{os.getpid()}.tmp"
        remove_folder(temporary)
        temporary.mkdir()
        try:
            _fill(temporary, files, manifest)
            remove_folder(target)
            temporary.rename(target)
        finally:
            remove_folder(temporary)
        _flush_folder(parent)
        return target

    def manifests(self, kind: str) -> dict[str, dict[str, Any]]:
        """Complete folders of a kind, oldest first: name -> manifest."""
        parent = self.folder(kind)
        folders = parent.iterdir() if parent.is_dir() else ()
        read = {f.name: read_manifest(f) for f in folders if not f.name.startswith(".")}
        found = {name: manifest for name, manifest in read.items() if manifest is not None}
        return dict(sorted(found.items(), key=lambda item: (item[1].get("made", 0), item[0])))

    @contextlib.contextmanager
    def lock(self, name: str, seconds: float | None = None) -> Iterator[None]:
        """Hold the workspace-wide lock `KIND-NAME`: writers end as if one after the other.

        Waits at most `seconds` (default `$WORKBENCH_LOCK_SECONDS`, else 300), then raises a
        WorkspaceError that names the holder. Locks are the operating system's: a killed process
        lets go of its own. On network drives they hold only where the drive supports them.
        """
        from filelock import FileLock, Timeout

        self._writes(name)
        kind, _, rest = name.partition("-")
        check_name(rest if kind in ("dataset", "bank", "run", "traces") else name)
        patience = locks.patience() if seconds is None else seconds
        folder = self.folder("locks")
        folder.mkdir(parents=True, exist_ok=True)
        holder = folder / f"{name}.holder"
        lock = FileLock(folder / f"{name}.lock")
        try:
            locks.acquire(lock, holder, patience)
        except Timeout:
            raise WorkspaceError(
                f"{name} is being written by {locks.holder_of(holder)}; waited {patience:g} s. "
                "Try again when it has finished"
            ) from None
        try:
            holder.write_text(f"process {os.getpid()} ({Path(sys.argv[0]).name})", encoding="utf-8")
            yield
        finally:
            lock.release()

    def _writes(self, what: str) -> None:
        """Refuse to write where nothing may be."""
        if self.read_only:
            raise WorkspaceError(f"{self.root} is open for reading only: {what} is not written")


def check_name(name: str) -> str:
    """The name itself, where it is safe as one path component on every system."""
    if not NAME_PATTERN.fullmatch(name) or name.endswith("."):
        raise UsageError(
            f"{name!r} cannot name anything here: use 1-64 letters, digits, '.', '_' or '-', "
            "beginning with a letter or digit"
        )
    return name


def write_atomically(path: Path, content: Content) -> None:
    """Write a file so that no reader ever sees part of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        _write(temporary, content)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    _flush_folder(path.parent)


def read_manifest(folder: Path) -> dict[str, Any] | None:
    """A folder's manifest; None where the folder is absent, unfinished or damaged."""
    try:
        manifest = msgspec.json.decode((folder / MANIFEST).read_bytes())
    except (OSError, msgspec.DecodeError):
        return None
    whole = isinstance(manifest, dict) and isinstance(manifest.get("files"), dict)
    return manifest if whole else None


def verify_folder(folder: Path) -> list[str]:
    """Names of files that are missing or differ from the manifest's sha256."""
    manifest = read_manifest(folder)
    if manifest is None:
        return [MANIFEST]
    return [
        name
        for name, stamp in manifest["files"].items()
        if not _agrees(folder / name, stamp["sha256"])
    ]


def file_sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _agrees(path: Path, sha256: str) -> bool:
    """Whether a file is there, even while others remove files, and has that checksum."""
    try:
        return file_sha256(path) == sha256
    except FileNotFoundError:
        return False


def remove_folder(folder: Path) -> None:
    """Remove a folder if it is there, its manifest first, so that half of it is never listed."""
    (folder / MANIFEST).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def _default_root() -> Path:
    from platformdirs import user_data_path

    return user_data_path("recall-workbench", appauthor=False)


def _fill(folder: Path, files: dict[str, Content], manifest: dict[str, Any]) -> None:
    from workbench import __version__

    stamps = {}
    for name, content in files.items():
        path = folder / name
        _write(path, content)
        stamps[name] = {"sha256": file_sha256(path), "bytes": path.stat().st_size}
    whole = {**manifest, "files": stamps, "code": __version__, "made": time.time()}
    _write(folder / MANIFEST, msgspec.json.format(msgspec.json.encode(whole), indent=1))


def _write(path: Path, content: Content) -> None:
    if callable(content):
        content(path)
        with path.open("rb+") as stream:
            os.fsync(stream.fileno())
        return
    with path.open("wb") as stream:
        for chunk in [content] if isinstance(content, bytes) else content:
            stream.write(chunk)
        stream.flush()
        os.fsync(stream.fileno())


def _flush_folder(folder: Path) -> None:
    """Make a rename durable; Windows cannot open folders and needs no such flush."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
