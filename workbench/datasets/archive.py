"""Zip archives that may be hostile: members are picked by base name and read within limits.

Nothing is ever extracted, so no member's path can reach the disk. Sizes are measured while reading,
because an archive's own headers may lie.
"""

from __future__ import annotations

import lzma
import re
import stat
import zipfile
import zlib
from pathlib import Path
from typing import IO

from workbench.datasets.report import ImportLog
from workbench.errors import DataError

__all__ = ["Archive", "is_archive", "is_wanted", "printable"]

MAX_ENTRIES = 10_000
MAX_MEMBER_BYTES = 512 * 2**20
MAX_TOTAL_BYTES = 2 * 2**30
MAX_RATIO = 200
RATIO_FREE_BYTES = 2**20  # small members may compress better than MAX_RATIO
CHUNK_BYTES = 2**16

# What the exports hold beside the chats: accounts, votes, settings, links.
ACCOUNT_FILES = frozenset(
    {
        "account.json",
        "export_manifest.json",
        "group_chats.json",
        "memories.json",
        "message_feedback.json",
        "model_comparisons.json",
        "projects.json",
        "shared_conversations.json",
        "shopping.json",
        "sora.json",
        "user.json",
        "user_settings.json",
        "users.json",
    }
)

ENCRYPTED = 0x1
DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    NotImplementedError,
    RuntimeError,
    ValueError,
)


class Archive:
    """The wanted members of one zip file. Raises DataError where it is damaged or too large."""

    def __init__(self, path: Path, log: ImportLog) -> None:
        self.path = path
        self._sizes: dict[int, int] = {}
        try:
            with zipfile.ZipFile(path) as archive:
                entries = archive.infolist()
        except DAMAGE as error:
            raise DataError(f"{path}: damaged or incomplete zip ({error})") from error
        if len(entries) > MAX_ENTRIES:
            raise DataError(
                f"{path}: {len(entries)} entries, more than the limit of {MAX_ENTRIES}; "
                "unpack it and name the folder"
            )
        self.members = tuple(self._admitted(entries, log))

    def read(self, member: zipfile.ZipInfo) -> bytes:
        """A member's bytes, measured against the limits while they are unpacked."""
        chunks: list[bytes] = []
        size = 0
        try:
            with zipfile.ZipFile(self.path) as archive, archive.open(member) as stream:
                while chunk := stream.read(CHUNK_BYTES):
                    size += len(chunk)
                    self._measure(member, size)
                    chunks.append(chunk)
        except DAMAGE as error:
            raise DataError(f"{self.name_of(member)}: damaged in the zip ({error})") from error
        return b"".join(chunks)

    def name_of(self, member: zipfile.ZipInfo) -> str:
        """How locators name a member: "export.zip: conversations.json"."""
        return f"{printable(self.path.name)}: {printable(member.orig_filename)}"

    def _admitted(self, entries: list[zipfile.ZipInfo], log: ImportLog) -> list[zipfile.ZipInfo]:
        admitted = []
        for entry in entries:
            if not is_wanted(_pieces(entry)[-1]):
                log.counts["ignored_members"] += not entry.is_dir()
            elif reason := _refusal(entry):
                log.counts["refused_members"] += 1
                log.warn(self.name_of(entry), f"refused: {reason}")
            else:
                admitted.append(entry)
        return sorted(admitted, key=lambda entry: entry.filename)

    def _measure(self, member: zipfile.ZipInfo, size: int) -> None:
        self._sizes[member.header_offset] = size
        if size > MAX_MEMBER_BYTES:
            limit = f"{MAX_MEMBER_BYTES} bytes for one member"
        elif sum(self._sizes.values()) > MAX_TOTAL_BYTES:
            limit = f"{MAX_TOTAL_BYTES} bytes for all members"
        elif size > RATIO_FREE_BYTES and size > MAX_RATIO * max(member.compress_size, 1):
            limit = f"{MAX_RATIO}:1 for compression"
        else:
            return
        raise DataError(f"{self.name_of(member)}: unpacks beyond the limit of {limit}")


def is_archive(path: Path) -> bool:
    """Whether a file claims to be a zip, by its first bytes or its name."""
    with path.open("rb") as stream:
        return _starts_as_zip(stream) or path.suffix.lower() == ".zip"


def is_wanted(base_name: str) -> bool:
    """Whether a file of an export may hold records: JSON or JSONL, not hidden, not an account's."""
    name = base_name.lower()
    return (
        name.endswith((".json", ".jsonl"))
        and not name.startswith(".")
        and name not in ACCOUNT_FILES
    )


def printable(name: str) -> str:
    """A file name that is safe to show: control characters and lone surrogates become U+FFFD."""
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in name)


def _starts_as_zip(stream: IO[bytes]) -> bool:
    return stream.read(4) in (b"PK\x03\x04", b"PK\x05\x06", b"PK\x07\x08")


def _pieces(entry: zipfile.ZipInfo) -> list[str]:
    # The name as stored: `filename` is already shortened at NUL by the standard library.
    return re.split(r"[\\/]", entry.orig_filename)


def _refusal(entry: zipfile.ZipInfo) -> str | None:
    """Why a member must not be read, or None."""
    pieces = _pieces(entry)
    if ".." in pieces or pieces[0] == "" or re.match(r"[A-Za-z]:", pieces[0]):
        return "its path leaves the archive"
    if "\0" in entry.orig_filename:
        return "its name holds a NUL"
    if stat.S_ISLNK(entry.external_attr >> 16):
        return "it is a symbolic link"
    if entry.flag_bits & ENCRYPTED:
        return "it is encrypted; unpack it with its password and name the folder"
    return None
