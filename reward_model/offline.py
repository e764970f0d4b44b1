"""The eight features that need a reader, scored without one: by text rules and embeddings.

REL, PROP and ASSUMP compare texts by an embedder's cosines, and are here; CLOSURE, COMMIT, BREADTH,
COST and REGISTER are rules over the visible prose (`prose_rules`). These are
stand-ins that run anywhere in seconds. Each function states what it cannot see; a language model
as judge (`judge_scorer`) reads what they only count. In other languages PROP, ASSUMP, CLOSURE,
COMMIT and REGISTER find no words of theirs and are 0, which is no finding.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from reward_model.claims import claims_of, content_stems, predicate
from reward_model.markup import Markup, read, words_of
from reward_model.phrases import rules_version
from reward_model.prose_rules import breadth, closure, commitment, cost, register
from reward_model.rubric import SCORED
from reward_model.schema import Pair
from workbench.embed import Embedder, Progress, Vectors, embed, is_blank
from workbench.errors import UsageError
from workbench.memory.words import word_list
from workbench.schema import digest_of
from workbench.vector_cache import VectorCache

__all__ = ["OfflineScorer"]

RULES = ("markup", "phrases", "text_features", "claims", "prose_rules", "offline")
NEAREST = 3  # memories that REL averages over
UNRELATED, SAME = 0.25, 0.65  # cosines at which a claim is not supported at all, and fully


class Asked(NamedTuple):
    """What a response answers: the query, the memories, and how to compare texts with them."""

    query: str
    memories: tuple[str, ...]
    vectors: dict[str, Vectors]


class OfflineScorer:
    """Scores the eight features by rules and an embedder. `cache` keeps vectors on disk.

    `failed` counts, since the scorer was made, pairs that could not be scored, by reason.
    """

    def __init__(
        self,
        embedder: Embedder,
        cache: VectorCache | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.embedder = embedder
        self.cache = cache
        self.progress = progress
        self.failed: dict[str, int] = {}

    @property
    def identity(self) -> dict[str, Any]:
        """Name, digest of the rules and word lists, and the embedder with its fingerprint."""
        return {
            "name": "offline",
            "version": digest_of([rules_version(*RULES), sorted(word_list("function_words"))]),
            "embedder": self.embedder.name,
            "fingerprint": self.embedder.fingerprint,
        }

    def scores(
        self, pairs: Sequence[Pair], features: Sequence[str] = SCORED
    ) -> dict[str, list[float | None]]:
        """For each feature a value for each pair; None where a pair gives nothing to score.

        Each different response is read once and each different text embedded once. Raises
        UsageError for a feature that is not the scorer's, ModelError from the embedder.
        """
        if strangers := set(features) - set(SCORED):
            raise UsageError(
                f"the offline scorer has no feature {', '.join(sorted(strangers))}; "
                f"it scores {', '.join(SCORED)}"
            )
        read_once = {
            text: read(text)
            for text in dict.fromkeys(t for p in pairs for t in (p.with_memory, p.without_memory))
        }
        vectors = self._vectors(pairs, read_once) if {*features} & {"REL", "PROP", "ASSUMP"} else {}
        found: dict[str, list[float | None]] = {name: [] for name in features}
        for pair in pairs:
            asked = Asked(pair.query, known(pair.memories), vectors)
            sides = read_once[pair.with_memory], read_once[pair.without_memory]
            for name in features:
                missing = self._missing(name, asked)
                if missing:
                    self.failed[missing] = self.failed.get(missing, 0) + 1
                    found[name].append(None)
                else:
                    found[name].append(_value(name, asked, sides))
        return found

    def _missing(self, feature: str, asked: Asked) -> str:
        """Why a feature cannot be scored; "" where it can."""
        if feature in ("REL", "ASSUMP", "REGISTER") and is_blank(asked.query):
            return f"{feature}: the query is blank"
        if feature in ("REL", "PROP") and not asked.memories:
            return f"{feature}: there are no memories"
        return ""

    def _vectors(self, pairs: Sequence[Pair], responses: dict[str, Markup]) -> dict[str, Vectors]:
        """Unit rows by text: queries, memories and claims, in their own side of the embedder."""
        claims = {predicate(claim) for one in responses.values() for claim in claims_of(one)}
        asking = [*{pair.query for pair in pairs}, *claims]
        asking = sorted({text for text in asking if not is_blank(text)})
        told = sorted({text for pair in pairs for text in known(pair.memories)})
        found: dict[str, Vectors] = {}
        for side, texts in (("query", asking), ("passage", told)):
            rows = embed(texts, side, self.embedder, self.cache, self.progress)  # type: ignore[arg-type]
            found |= {f"{side} {text}": row for text, row in zip(texts, rows, strict=True)}
        return found


def known(memories: tuple[str, ...]) -> tuple[str, ...]:
    """Memories without the person that they are about, blank ones left out."""
    return tuple(predicate(memory) for memory in memories if not is_blank(memory))


def relevance(asked: Asked) -> float:
    """REL: mean cosine of the query and the three memories nearest to it, in [-1, 1].

    Limits: nearness of topic is not usefulness, and a need that no word of the query names ("what
    shall I cook?" and an allergy) shows only as far as the embedder knows of it.
    """
    query = asked.vectors[f"query {asked.query}"]
    cosines = sorted(float(query @ asked.vectors[f"passage {m}"]) for m in asked.memories)
    return float(np.mean(cosines[-NEAREST:]))


def justification(asked: Asked, response: Markup) -> float:
    """PROP: are the personal claims in a response supported by the memories, in (-1, 1).

    The sum over claims that the query does not establish of (2 support - 1), divided by one plus
    their number: 0 where nothing is claimed, towards 1 with supported claims, towards -1 with
    invented ones. Limits: support is likeness of words and topic, so "you hate fish" is supported
    by "loves fish"; claims are found by `claims` with the limits stated there.
    """
    total = weights = 0.0
    for claim in claims_of(response):
        weight = 1 - _support_by_query(asked, claim)
        support = max(_support(asked, claim, f"passage {memory}") for memory in asked.memories)
        total += weight * (2 * support - 1)
        weights += weight
    return total / (1 + weights)


def assumption(asked: Asked, response: Markup) -> float:
    """ASSUMP: log(1 + personal claims that the query does not establish), memories unseen.

    Limits: as for PROP; what is assumed without "you" or "your" is missed.
    """
    return math.log1p(sum(1 - _support_by_query(asked, claim) for claim in claims_of(response)))


RESPONSES: dict[str, Callable[[Asked, Markup], float]] = {
    "PROP": justification,
    "ASSUMP": assumption,
    "CLOSURE": lambda asked, response: closure(response),
    "COMMIT": lambda asked, response: commitment(response),
    "BREADTH": lambda asked, response: breadth(response),
    "COST": lambda asked, response: cost(response),
    "REGISTER": lambda asked, response: register(asked.query, response),
}


def _value(feature: str, asked: Asked, sides: tuple[Markup, Markup]) -> float:
    if feature == "REL":
        return relevance(asked)
    function = RESPONSES[feature]
    return function(asked, sides[0]) - function(asked, sides[1])


def _support_by_query(asked: Asked, claim: str) -> float:
    return _support(asked, claim, f"query {asked.query}") if not is_blank(asked.query) else 0.0


def _support(asked: Asked, claim: str, ground: str) -> float:
    """How far a text grounds a claim, in [0, 1]: by cosine, or by its content words if more."""
    claim = predicate(claim)
    cosine = float(asked.vectors[f"query {claim}"] @ asked.vectors[ground])
    alike = min(max((cosine - UNRELATED) / (SAME - UNRELATED), 0.0), 1.0)
    wanted, given = _stems(claim), _stems(ground.partition(" ")[2])
    return max(alike, len(wanted & given) / len(wanted)) if wanted else alike


@lru_cache(maxsize=16384)
def _stems(text: str) -> frozenset[str]:
    return content_stems(words_of(text))
