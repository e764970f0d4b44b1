"""Screening of candidate pairs without a language model: an embedder, words, and text rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from reward_model.claims import claims_of, content_stems, predicate
from reward_model.markup import read, words_of
from reward_model.schema import Pair
from reward_model.screening import Screening
from workbench.embed import Embedder, Vectors, embed, is_blank
from workbench.vector_cache import VectorCache

__all__ = ["OfflineScreener"]

SAME_SENTENCE = 0.8  # cosine from which a sentence of one response is in the other as well
UNRELATED, EXPLAINED = 0.25, 0.65  # cosines at which a memory explains nothing, and all


class _Texts(NamedTuple):
    """A pair taken apart: sentences of both responses, memories, and the new claims."""

    pair: Pair
    new: tuple[str, ...]
    old: tuple[str, ...]
    memories: tuple[str, ...]
    claims: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        whole = (self.pair.query, self.pair.with_memory, self.pair.without_memory)
        return (*whole, *self.new, *self.old, *self.memories, *self.claims)


class OfflineScreener:
    """Scores pairs by an embedder and by words; no language model.

    difference: mean of (1 - cosine of the responses) and (1 - shared share of content words).
    support: over the sentences of the memory response that the other does not have (cosine below
    0.8), the mean of the nearest memory's cosine, from 0 at 0.25 to 1 at 0.65; averaged with the
    share of the memory response's new content words (in neither the query nor the other response)
    that a memory has. unsupported: its new personal claims ("since you're vegetarian"), each
    counted as far as neither a memory nor the query is near it on the same scale.

    Limits: cosines of MiniLM measure topic, not truth ("likes fish" supports "avoids fish"); claims
    are found in English and with "you"; what the memory response left out counts only in the
    difference.
    """

    def __init__(self, embedder: Embedder, cache: VectorCache | None = None) -> None:
        self.embedder = embedder
        self.cache = cache

    @property
    def identity(self) -> dict[str, Any]:
        return {
            "name": "offline screening 1",
            "embedder": self.embedder.name,
            "fingerprint": self.embedder.fingerprint,
        }

    def screen(self, pairs: Sequence[Pair]) -> list[Screening | str]:
        taken = [_taken_apart(pair) for pair in pairs]
        texts = list(dict.fromkeys(text for one in taken for text in one.all))
        vectors = embed(texts, "passage", self.embedder, self.cache)
        rows = dict(zip(texts, vectors, strict=True))
        return [_screening(one, rows) for one in taken]


def _taken_apart(pair: Pair) -> _Texts:
    new, old = read(pair.with_memory), read(pair.without_memory)
    before = set(claims_of(old))
    claims = [predicate(claim) for claim in claims_of(new) if claim not in before]
    return _Texts(
        pair,
        tuple(one.text for one in new.sentences if not is_blank(one.text)),
        tuple(one.text for one in old.sentences if not is_blank(one.text)),
        tuple(memory for memory in pair.memories if not is_blank(memory)),
        tuple(claim for claim in claims if not is_blank(claim)),
    )


def _screening(one: _Texts, rows: dict[str, Vectors]) -> Screening:
    memories = _stacked(one.memories, rows)
    cosines = _stacked(one.new, rows) @ _stacked(one.old, rows).T if one.new and one.old else None
    nearest = np.zeros(len(one.new)) if cosines is None else cosines.max(axis=1)
    changed = [text for text, near in zip(one.new, nearest, strict=True) if near < SAME_SENTENCE]
    near_memory = [float((memories @ rows[text]).max()) for text in changed]
    ground = np.vstack([memories, rows[one.pair.query]])
    free = sum(1 - _scaled(float((ground @ rows[claim]).max())) for claim in one.claims)
    stems = [_stems(text) for text in (one.pair.with_memory, one.pair.without_memory)]
    words = stems[0] - stems[1] - _stems(one.pair.query)
    remembered = frozenset().union(*map(_stems, one.memories))
    by_words = len(words & remembered) / len(words) if words else 0.0
    by_cosine = float(np.mean([_scaled(near) for near in near_memory])) if near_memory else 0.0
    apart = 1 - float(rows[one.pair.with_memory] @ rows[one.pair.without_memory])
    shared = 2 * len(stems[0] & stems[1]) / max(1, len(stems[0]) + len(stems[1]))
    return Screening(
        difference=(min(max(apart, 0.0), 1.0) + 1 - shared) / 2,
        support=(by_cosine + by_words) / 2,
        unsupported=free,
        reasons=_reasons(one, len(changed), (len(words & remembered), len(words)), free),
    )


def _reasons(one: _Texts, changed: int, words: tuple[int, int], free: float) -> tuple[str, ...]:
    return (
        f"{changed} of {len(one.new)} sentences are not in the other response",
        f"{words[0]} of {words[1]} new words are in the memories",
        f"{len(one.claims)} new personal claims, {free:.1f} without ground",
    )


def _scaled(cosine: float) -> float:
    return min(max((cosine - UNRELATED) / (EXPLAINED - UNRELATED), 0.0), 1.0)


def _stems(text: str) -> frozenset[str]:
    return content_stems(words_of(text))


def _stacked(texts: Sequence[str], rows: dict[str, Vectors]) -> Vectors:
    return np.stack([rows[text] for text in texts])
