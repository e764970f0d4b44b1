"""One question answered from each of its two rankings, without a language model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workbench.answer import ANSWERERS, Answer, Asked
from workbench.ask import Asking
from workbench.embed import Vectors, embed
from workbench.errors import UsageError
from workbench.schema import Hit

__all__ = ["answer_both"]


def answer_both(one: Asking, answerer: str = "extractive") -> dict[str, Answer]:
    """The answers "without" and "with" the prior, as `workbench evaluate` would give them.

    The gold is not looked at. Sentences that were never read are embedded first, which takes up to
    a second or two. Raises UsageError for an unknown answerer.
    """
    if answerer not in ANSWERERS:
        raise UsageError(f"unknown answerer {answerer!r}; known: {', '.join(ANSWERERS)}")
    without, having = one.hits()
    return {"without": _answer(one, answerer, without), "with": _answer(one, answerer, having)}


def _answer(one: Asking, answerer: str, hits: tuple[Hit, ...]) -> Answer:
    texts = list(dict.fromkeys(ANSWERERS[answerer].read(hits)))
    rows = embed(texts, "passage", one.banks.embedder, one.banks.cache)
    known = dict(zip(texts, rows, strict=True))

    def vectors(wanted: Sequence[str]) -> Vectors:
        return np.stack([known[text] for text in wanted])

    asked = Asked(one.query, tuple(one.shelf.people), hits, vectors)
    return ANSWERERS[answerer].answer(asked)
