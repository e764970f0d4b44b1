"""What an import reads: one file, a folder or a zip, as documents that decode to clean JSON."""

from __future__ import annotations

import codecs
import io
import json
import re
import stat
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from workbench.datasets.archive import Archive, is_archive, is_wanted, printable
from workbench.datasets.report import ImportLog
from workbench.errors import DataError

__all__ = ["Document", "Source", "open_source", "scrub"]

MAX_FILE_BYTES = 2 * 2**30

# JSON and Python can hold these; UTF-8, SQLite and Parquet cannot.
UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
# Only text that spells one of these out can decode to one, so most files need no walk.
UNSTORABLE_ESCAPE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")

UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Document:
    """One JSON or JSONL file of the source. `name` is how locators name it."""

    def __init__(self, name: str, opened: Callable[[], BinaryIO], log: ImportLog) -> None:
        self.name = name
        self._opened = opened
        self._log = log
        self._decoded: list[Any] = []

    def __repr__(self) -> str:
        return f"Document({self.name!r})"

    def data(self) -> bytes:
        """The raw bytes, read afresh."""
        try:
            with self._opened() as stream:
                return stream.read()
        except OSError as error:
            raise DataError(f"{self.name}: cannot be read ({error})") from error

    def json(self) -> Any:
        """The document as JSON, decoded once, every string scrubbed.

        Raises DataError naming file, line and column where it is no JSON in UTF-8 (or UTF-16 with
        a byte order mark), where it is empty, or where it nests too deeply.
        """
        if not self._decoded:
            text = _text_of(self.data(), self.name)
            value = _decode(text, self.name)
            if UNSTORABLE_ESCAPE.search(text):
                value = scrub(value, self._log, self.name)
            self._decoded.append(value)
        return self._decoded[0]

    def peek(self) -> Any:
        """The same, but None where it cannot be read: for telling formats apart."""
        try:
            return self.json()
        except DataError:
            return None

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Lines numbered from 1, UTF-8 without byte order mark or line end; blank ones too."""
        try:
            with self._opened() as stream:
                for number, line in enumerate(_as_utf8(stream, self.name), start=1):
                    yield number, line.rstrip(b"\r\n")
        except OSError as error:
            raise DataError(f"{self.name}: cannot be read ({error})") from error


class Source:
    """The documents of one import, in a stable order."""

    def __init__(self, path: Path, documents: tuple[Document, ...], log: ImportLog) -> None:
        self.path = path
        self.documents = documents
        self._log = log

    def __repr__(self) -> str:
        return f"Source({str(self.path)!r}, {len(self.documents)} documents)"

    def decoded(self) -> Iterator[tuple[Document, Any]]:
        """Documents with their JSON. One that cannot be read counts as one failed record.

        Raises the first document's DataError where none can be read.
        """
        errors: list[tuple[Document, DataError]] = []
        for document in self.documents:
            try:
                value = document.json()
            except DataError as error:
                errors.append((document, error))
            else:
                yield document, value
        if errors and len(errors) == len(self.documents):
            raise errors[0][1]
        for document, reason in errors:
            self._log.read()
            self._log.fail(document.name, str(reason))


def open_source(path: Path, log: ImportLog) -> Source:
    """Open a JSON or JSONL file, a zip of them, or a folder of them (and of its subfolders).

    Raises DataError where the path is missing, is neither file nor folder, is too large, or holds
    no JSON. Zip members and links that could lead elsewhere are refused with a warning.
    """
    try:
        kind = path.stat()
        if stat.S_ISDIR(kind.st_mode):
            documents = _folder_documents(path, log)
        elif not stat.S_ISREG(kind.st_mode):
            raise DataError(f"{path}: neither a file nor a folder; save it as a file first")
        elif kind.st_size > MAX_FILE_BYTES:
            raise DataError(f"{path}: {kind.st_size} bytes, over the limit of {MAX_FILE_BYTES}")
        elif is_archive(path):
            documents = _archive_documents(path, log)
        else:
            documents = [Document(printable(path.name), partial(_open_file, path), log)]
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error})") from error
    if not documents:
        raise DataError(f"{path}: holds no .json or .jsonl file that could be imported")
    return Source(path, tuple(documents), log)


def scrub(value: Any, log: ImportLog, where: str) -> Any:
    """Replace lone surrogates and NULs in every string by U+FFFD; one `repair` states how many.

    Lists and dicts are mended in place. Other text, also bidirectional controls and any Unicode
    normal form, is left exactly as it is.
    """
    holder = [value]
    pending: list[Any] = [holder]
    count = 0
    while pending:
        container = pending.pop()
        if isinstance(container, dict):
            count += _scrub_keys(container)
        for key, item in list(_items(container)):
            if isinstance(item, str):
                container[key], replaced = UNSTORABLE.subn("\ufffd", item)
                count += replaced
            elif isinstance(item, list | dict):
                pending.append(item)
    if count:
        log.repair(where, f"{count} lone surrogates or NULs replaced by U+FFFD")
    return holder[0]


def _items(container: Any) -> Any:
    return container.items() if isinstance(container, dict) else enumerate(container)


def _scrub_keys(mapping: dict[str, Any]) -> int:
    """Mend the keys of a dict in place, keeping their order; how many characters were replaced."""
    if not any(UNSTORABLE.search(key) for key in mapping):
        return 0
    mended = [(*UNSTORABLE.subn("\ufffd", key), item) for key, item in mapping.items()]
    mapping.clear()
    mapping.update((key, item) for key, _, item in mended)
    return sum(replaced for _, replaced, _ in mended)


def _open_file(path: Path) -> BinaryIO:
    return path.open("rb")


def _text_of(data: bytes, name: str) -> str:
    encoding = "utf-16" if data.startswith(UTF16_MARKS) else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        # The utf-8-sig codec counts from after the mark.
        mark = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0
        raise DataError(
            f"{name}: byte {error.start + mark} is not {encoding.removesuffix('-sig').upper()}; "
            "save the file as UTF-8"
        ) from error


def _decode(text: str, name: str) -> Any:
    if not text.strip():
        raise DataError(f"{name}: empty; export or download it again")
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise DataError(
            f"{name}, line {error.lineno}, column {error.colno}: not JSON ({error.msg})"
        ) from error
    except RecursionError as error:
        raise DataError(f"{name}: nested too deeply; export it in a flat form") from error
    except ValueError as error:  # numbers with thousands of digits
        raise DataError(f"{name}: not usable JSON ({error})") from error


def _as_utf8(stream: BinaryIO, name: str) -> BinaryIO:
    """The stream after its byte order mark; UTF-16 is converted as a whole."""
    start = stream.read(len(codecs.BOM_UTF8))
    if start == codecs.BOM_UTF8:
        return stream
    if start.startswith(UTF16_MARKS):
        return io.BytesIO(_text_of(start + stream.read(), name).encode("utf-8", "replace"))
    stream.seek(0)
    return stream


def _archive_documents(path: Path, log: ImportLog) -> list[Document]:
    archive = Archive(path, log)

    def opened(index: int) -> BinaryIO:
        return io.BytesIO(archive.read(archive.members[index]))

    return [
        Document(archive.name_of(member), partial(opened, index), log)
        for index, member in enumerate(archive.members)
    ]


def _folder_documents(folder: Path, log: ImportLog) -> list[Document]:
    home = folder.resolve()
    documents = []
    for path in sorted([*folder.glob("*"), *folder.glob("*/*")]):
        name = printable(path.relative_to(folder).as_posix())
        if not is_wanted(path.name) or name.startswith(".") or path.is_dir():
            continue
        if not path.is_file() or not path.resolve().is_relative_to(home):
            log.counts["refused_members"] += 1
            log.warn(f"{printable(folder.name)}: {name}", "refused: not a file of this folder")
        elif path.stat().st_size > MAX_FILE_BYTES:
            raise DataError(f"{path}: larger than the limit of {MAX_FILE_BYTES} bytes")
        else:
            documents.append(Document(name, partial(_open_file, path), log))
    return documents
