"""Texts to unit vectors, from the cache where they are there already."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from workbench.errors import ModelError
from workbench.parallel import ALONE, Workers, spread
from workbench.vector_cache import VectorCache

__all__ = ["Embedder", "Vectors", "embed", "is_blank"]

Vectors = npt.NDArray[np.float32]
Side = Literal["query", "passage"]
Progress = Callable[[int, int], None]

COMMIT_EVERY = 256


class Embedder(Protocol):
    """What the rest of the workbench asks of an embedder."""

    name: str

    @property
    def threshold(self) -> float | None: ...

    @property
    def fingerprint(self) -> str: ...

    @property
    def dim(self) -> int: ...

    def prompt(self, side: str) -> str:
        """The text that this embedder wants before a text of that side ("" for none)."""
        ...

    def encode(self, texts: Sequence[str], side: str) -> Vectors:
        """(n, d) float32 unit rows, in the order of the texts."""
        ...

    def excess(self, texts: Sequence[str], side: str) -> list[int]:
        """Tokens of each text beyond what the model reads at once (such a text is chunked)."""
        ...


def embed(
    texts: Sequence[str],
    side: Side,
    embedder: Embedder,
    cache: VectorCache | None = None,
    progress: Progress | None = None,
    workers: Workers = ALONE,
) -> Vectors:
    """(n, d) unit rows of texts, each different text embedded once, ever, where a cache is given.

    Texts are encoded longest first in batches that are committed to the cache as they come, so a
    killed build loses at most one batch; they are the same whoever encodes them. Raises ModelError
    where the model returns NaN or inf.
    """
    wanted = list(dict.fromkeys(texts))
    prompt = embedder.prompt(side)
    known = cache.read(embedder.fingerprint, prompt, wanted) if cache is not None else {}
    missing = sorted((t for t in wanted if t not in known), key=lambda t: (-len(t), t))
    batches = [missing[i : i + COMMIT_EVERY] for i in range(0, len(missing), COMMIT_EVERY)]
    encoded = spread(partial(_encode, embedder, side), batches, workers)
    done = 0
    for batch, rows in zip(batches, encoded, strict=True):
        if not np.isfinite(rows).all():
            raise ModelError(f"{embedder.name} returned NaN or infinite values; nothing was kept")
        known.update(zip(batch, rows, strict=True))
        if cache is not None:
            cache.write(embedder.fingerprint, prompt, dict(zip(batch, rows, strict=True)))
        if progress is not None:
            done += len(batch)
            progress(done, len(missing))
    if not texts:
        return np.empty((0, embedder.dim), np.float32)
    return np.stack([known[text] for text in texts])


def _encode(embedder: Embedder, side: Side, batch: list[str]) -> Vectors:
    return embedder.encode(batch, side)


def is_blank(text: str) -> bool:
    """Whether nothing is left of a text but spaces, controls and invisible marks."""
    return all(unicodedata.category(char)[0] in "ZC" for char in text)
