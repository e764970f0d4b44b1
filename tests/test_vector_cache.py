"""The vector cache: nothing wrong is returned, nothing forgotten stays, many may write at once."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from shell import bytes_under, environment
from workbench.errors import WorkspaceError
from workbench.vector_cache import VectorCache

TEA, CAT = np.array([0.6, 0.8], np.float32), np.array([1, 0], np.float32)


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[VectorCache]:
    cache = VectorCache(tmp_path / "cache")
    yield cache
    cache.close()


def test_a_vector_comes_back_bit_for_bit_and_as_float32(cache: VectorCache) -> None:
    vector = np.array([1 / 3, -0.0, 1e-30], np.float32)
    cache.write("e", "", {"tea": vector})
    [found] = cache.read("e", "", ["tea"]).values()
    assert found.dtype == np.float32 and found.tobytes() == vector.tobytes()
    assert found.flags.writeable


def test_another_embedder_or_prompt_is_another_vector(cache: VectorCache) -> None:
    cache.write("e", "", {"tea": TEA})
    cache.write("e", "query: ", {"tea": CAT})
    assert cache.read("other", "", ["tea"]) == {}
    assert np.array_equal(cache.read("e", "query: ", ["tea"])["tea"], CAT)
    assert np.array_equal(cache.read("e", "", ["tea"])["tea"], TEA)
    assert len(cache) == 2


def test_texts_that_differ_at_all_are_different(cache: VectorCache) -> None:
    texts = ["tea", "tea ", "Tea", "na\u00efve", "nai\u0308ve", "\ud83d", "", "a\x00b"]
    cache.write("e", "", {text: np.full(2, n, np.float32) for n, text in enumerate(texts)})
    found = cache.read("e", "", texts)
    assert [float(found[text][0]) for text in texts] == list(range(len(texts)))


def test_more_texts_than_one_statement_can_hold(cache: VectorCache) -> None:
    texts = [f"text {n}" for n in range(1203)]
    cache.write("e", "", dict.fromkeys(texts, TEA))
    assert list(cache.read("e", "", texts)) and len(cache.read("e", "", texts)) == 1203
    assert len(cache) == 1203


@pytest.mark.parametrize("blob", [b"", b"\0\0\0", b"\0\0\0\0\0\0\0\0"])
def test_a_damaged_row_is_a_miss_and_is_written_again(cache: VectorCache, blob: bytes) -> None:
    cache.write("e", "", {"tea": TEA, "cat": CAT})
    with sqlite3.connect(cache.path) as database:
        database.execute("UPDATE vectors SET vector = ? WHERE checksum = ?", (blob, _crc(TEA)))
    database.close()
    assert list(cache.read("e", "", ["tea", "cat"])) == ["cat"]
    cache.write("e", "", {"tea": TEA})
    assert np.array_equal(cache.read("e", "", ["tea"])["tea"], TEA)


def _crc(vector: np.ndarray) -> int:
    import zlib

    return zlib.crc32(vector.tobytes())


def test_texts_are_not_stored_and_forgotten_vectors_leave_no_bytes(cache: VectorCache) -> None:
    cache.write("e", "", {"my secret": TEA, "cat": CAT})
    cache.write("f", "query: ", {"my secret": TEA})
    assert b"secret" not in bytes_under(cache.path.parent)
    assert TEA.tobytes() in bytes_under(cache.path.parent)
    assert cache.keep(["cat", "never seen"]) == 2
    assert TEA.tobytes() not in bytes_under(cache.path.parent)
    assert len(cache) == 1 and list(cache.read("e", "", ["my secret", "cat"])) == ["cat"]


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "vectors.sqlite").write_bytes(b"not a database, however long it may be" * 9)
    with pytest.raises(WorkspaceError, match=r"vectors\.sqlite is unusable .*delete it"):
        VectorCache(tmp_path)


def test_a_database_that_is_damaged_inside_is_named(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path)
    texts = [f"text {n}" for n in range(400)]
    cache.write("e", "", {text: np.ones(100, np.float32) for text in texts})
    cache.close()
    data = bytearray(cache.path.read_bytes())
    data[4096:] = bytes(len(data) - 4096)
    cache.path.write_bytes(data)
    cache = VectorCache(tmp_path)
    with pytest.raises(WorkspaceError, match="delete it, nothing else is lost"):
        cache.read("e", "", texts)
    cache.close()


WRITER = """
import sys
from pathlib import Path
import numpy as np
from workbench.vector_cache import VectorCache
cache = VectorCache(Path(sys.argv[1]))
for n in range(40):
    cache.write("e", "", {f"{sys.argv[2]} {n}": np.full(8, n, np.float32), f"both {n}": np.ones(8)})
"""


def test_four_processes_may_create_and_fill_one_cache_at_once(tmp_path: Path) -> None:
    running = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path / "cache"), who], env=environment()
        )
        for who in "abcd"
    ]
    assert [process.wait(30) for process in running] == [0, 0, 0, 0]
    cache = VectorCache(tmp_path / "cache")
    assert len(cache) == 4 * 40 + 40
    assert float(cache.read("e", "", ["c 39"])["c 39"][0]) == 39
    cache.close()
