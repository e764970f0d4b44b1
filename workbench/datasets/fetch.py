"""Public datasets that a command may download: each from a known address, with a known sha256."""

from __future__ import annotations

import hashlib
import sys
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import NamedTuple

from workbench.datasets.store import SAMPLE, SAMPLE_FILE
from workbench.errors import DataError, ModelError, UsageError
from workbench.workspace import Workspace, file_sha256, write_atomically

__all__ = ["REMOTES", "Remote", "fetch"]

TIMEOUT_SECONDS = 30.0
CHUNK_BYTES = 1 << 16


class Remote(NamedTuple):
    """A file to download. `limit` is the largest size accepted, in bytes."""

    file: str
    url: str
    sha256: str
    limit: int
    licence: str


REMOTES = {
    "locomo": Remote(
        file="locomo10.json",
        url="https://raw.githubusercontent.com/snap-research/locomo/main/data/locomo10.json",
        sha256="79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4",
        limit=16 * 2**20,
        licence="CC BY-NC 4.0: not for commercial use, and not redistributed with this software",
    ),
}


def fetch(name: str, workspace: Workspace, url: str | None = None) -> Path:
    """Download a dataset's file into `ROOT/sources/` and return its path, ready to import.

    A file that is already there with the right sha256 is not downloaded again, and the bundled
    "sample" needs no network. `url` replaces the known address (a mirror). The licence is printed
    on stderr. Raises UsageError for an unknown name, ModelError on trouble with the network, and
    DataError where the file that came is another one.
    """
    if name == SAMPLE:
        return SAMPLE_FILE
    if name not in REMOTES:
        known = ", ".join((SAMPLE, *REMOTES))
        raise UsageError(f"no download is known for {name!r}; known are {known}")
    remote = REMOTES[name]
    remote = remote._replace(url=url or remote.url)
    print(f"{remote.file}: licence {remote.licence}", file=sys.stderr)
    target = workspace.folder("sources") / remote.file
    if target.is_file() and file_sha256(target) == remote.sha256:
        return target
    data = _download(name, remote)
    found = hashlib.sha256(data).hexdigest()
    if found != remote.sha256:
        raise DataError(
            f"{remote.url}: sha256 is {found}, expected {remote.sha256}; nothing was kept. "
            f"The file may have changed there. {_by_hand(name, remote)}"
        )
    write_atomically(target, data)
    return target


def _download(name: str, remote: Remote) -> bytes:
    scheme = urllib.parse.urlsplit(remote.url).scheme
    if scheme not in ("http", "https"):
        raise UsageError(f"{remote.url}: only http and https addresses can be fetched")
    try:
        with urllib.request.urlopen(remote.url, timeout=TIMEOUT_SECONDS) as response:  # noqa: S310
            data = bytearray()
            while chunk := response.read(CHUNK_BYTES):
                data += chunk
                if len(data) > remote.limit:
                    raise DataError(f"{remote.url}: larger than {remote.limit} bytes; not kept")
    except (OSError, urllib.error.URLError, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise ModelError(
            f"{remote.url}: cannot be downloaded ({reason}). {_by_hand(name, remote)}"
        ) from error
    return bytes(data)


def _by_hand(name: str, remote: Remote) -> str:
    return (
        f"Download {remote.file} in a browser from {REMOTES[name].url}, then: "
        f"workbench import PATH/TO/{remote.file} --format {name}"
    )
