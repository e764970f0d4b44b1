"""Priors: the unit vector e_p that a user's profile lends to the ranking.

A prior is a function (query vector, shelf, people, seed) -> unit vector (d,), or None where it has
nothing to say (no profile, say); the ranking is then the query's alone and the result says so.
Priors are named `NAME` or `NAME:SOURCE`. To add one: a function and a line in `PRIORS`.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from workbench.bank import Bank
from workbench.errors import UsageError
from workbench.shelf import ProfileVectors, Shelf

__all__ = ["PRIORS", "REPEATED", "Occasion", "prior_vector"]

Vector = npt.NDArray[np.float32]

# How sharply `facts` prefers the facts nearest to the query: a softmax of cosine / 0.02.
TEMPERATURE = 0.02
# The same for `contrast`, chosen on LoCoMo's conv-26 and conv-30.
CONTRAST_TEMPERATURE = 0.03


@dataclass(frozen=True)
class Occasion:
    """What a prior may look at: the query's vector, the shelf, whose profile enters, the source
    or the inner prior that the name gave behind its colon ("" for none), and the seed."""

    query: Vector
    shelf: Shelf
    people: tuple[str, ...]
    source: str = ""
    seed: int = 0

    @property
    def profiles(self) -> list[ProfileVectors]:
        return [self.shelf.people[name] for name in self.people]


Prior = Callable[[Occasion], Vector | None]


def prior_vector(name: str, occasion: Occasion) -> Vector | None:
    """The prior called `NAME[:SOURCE]` on an occasion.

    Raises UsageError for an unknown name or source, or a person who is not of the shelf.
    """
    base, _, source = name.partition(":")
    if base not in PRIORS:
        raise UsageError(f"unknown prior {name!r}; known: {', '.join(PRIORS)}")
    for person in occasion.people:
        occasion.shelf.person(person)
    return PRIORS[base](
        Occasion(occasion.query, occasion.shelf, occasion.people, source, occasion.seed)
    )


def nothing(occasion: Occasion) -> Vector | None:
    """No prior: query-only retrieval."""
    return None


def profile(occasion: Occasion) -> Vector | None:
    """Embedding of the profile's text (Paper A); the mean of several people's."""
    return _mean(p.text for p in occasion.profiles if p.text is not None)


def facts(occasion: Occasion) -> Vector | None:
    """Profile facts, weighted by softmax(cosine with the query / 0.02)."""
    return _weighted(occasion.query, occasion.profiles)


def centroid(occasion: Occasion) -> Vector | None:
    """Mean of the whole scope's vectors of one source (`centroid:observations`), whoever asks."""
    source = occasion.source or "turns"
    vectors = _lender(occasion, source).vectors
    return occasion.shelf.once(("centroid", source), lambda: _mean(vectors))


def speaker(occasion: Occasion) -> Vector | None:
    """Mean vector of what the people themselves said."""
    bank, people = occasion.shelf.bank, occasion.people

    def own() -> Vector | None:
        rows = [row for row, memory in enumerate(bank.memories) if memory.owner in people]
        return _mean(bank.vectors[rows])

    return occasion.shelf.once(("speaker", people), own)


def contrast(occasion: Occasion) -> Vector | None:
    """What the people's own memories of a kind (`contrast:observations`) say near the query, less
    what everybody else's say near it: where the person asked about differs."""
    return _contrast(occasion, occasion.source, _own_rows(occasion, occasion.source))


def other_user(occasion: Occasion) -> Vector | None:
    """Control: the inner prior (default `profile`) with somebody else's profile.

    The somebody is drawn, once per scope and people, from the other scopes' people; where there
    is only one scope, from its own other people. `contrast` takes the scope's other people.
    """
    inner, _, source = occasion.source.partition(":")
    if inner == "contrast":
        return _contrast(occasion, source, ~_own_rows(occasion, source))
    others = [p for p in occasion.shelf.strangers if p.text is not None] or [
        found
        for name, found in occasion.shelf.people.items()
        if name not in occasion.people and found.text is not None
    ]
    if not others:
        return None
    drawn = others[int(_generator(occasion).integers(len(others)))]
    return _inner(occasion, [drawn])


def everyone(occasion: Occasion) -> Vector | None:
    """Control: the inner prior with the profiles of all people of the scope at once."""
    inner, _, source = occasion.source.partition(":")
    if inner == "contrast":
        return _contrast(occasion, source, np.ones(len(_lender(occasion, source)), bool))
    return _inner(occasion, list(occasion.shelf.people.values()))


def shuffled(occasion: Occasion) -> Vector | None:
    """Control: as many facts as the profile has, drawn from all other people's profiles; for
    `contrast`, the memories' owners exchanged at random."""
    inner, _, source = occasion.source.partition(":")
    if inner == "contrast":
        mixed = _generator(occasion).permutation(_own_rows(occasion, source))
        return _contrast(occasion, source, mixed)
    own = sum(len(p.facts) for p in occasion.profiles)
    pool = [p.facts for p in occasion.shelf.strangers if len(p.facts)] or [
        found.facts
        for name, found in occasion.shelf.people.items()
        if name not in occasion.people and len(found.facts)
    ]
    if not own or not pool:
        return None
    rows = np.concatenate(pool)
    drawn = rows[_generator(occasion).permutation(len(rows))[:own]]
    return _softmax_mean(occasion.query, drawn) if occasion.source == "facts" else _mean(drawn)


def random(occasion: Occasion) -> Vector | None:
    """Control: a random direction, the same for every question of the same people."""
    return _unit(_generator(occasion).standard_normal(len(occasion.query)))


PRIORS: dict[str, Prior] = {
    "none": nothing,
    "profile": profile,
    "facts": facts,
    "centroid": centroid,
    "speaker": speaker,
    "contrast": contrast,
    "other-user": other_user,
    "everyone": everyone,
    "shuffled": shuffled,
    "random": random,
}


# The priors that a control can repeat with somebody else's facts.
REPEATED = ("profile", "facts", "contrast")


def _inner(occasion: Occasion, profiles: list[ProfileVectors]) -> Vector | None:
    """What `profile` or `facts` would make of these profiles instead of the people's own."""
    if occasion.source == "facts":
        return _weighted(occasion.query, profiles)
    if occasion.source in ("", "profile"):
        return _mean(p.text for p in profiles if p.text is not None)
    raise UsageError(
        f"a control repeats 'profile', 'facts' or 'contrast:KIND', not {occasion.source!r}"
    )


def _weighted(query: Vector, profiles: list[ProfileVectors]) -> Vector | None:
    return _softmax_mean(query, np.concatenate([p.facts for p in profiles])) if profiles else None


def _softmax_mean(query: Vector, rows: npt.NDArray[np.float32]) -> Vector | None:
    return _unit(_pull(query, rows, TEMPERATURE)) if len(rows) else None


def _pull(query: Vector, rows: npt.NDArray[np.float32], temperature: float) -> Vector:
    """Mean (d,) of rows weighted by softmax(cosine with the query / temperature)."""
    cosines = rows @ query
    weights = np.exp((cosines - cosines.max()) / temperature)
    return (weights / weights.sum()) @ rows


def _contrast(occasion: Occasion, source: str, own: npt.NDArray[np.bool_]) -> Vector | None:
    """Where some rows of a kind of memory pull the query, less where the others pull it."""
    vectors = _lender(occasion, source).vectors
    if not own.any():
        return None
    pull = _pull(occasion.query, vectors[own], CONTRAST_TEMPERATURE)
    if not own.all():
        pull = pull - _pull(occasion.query, vectors[~own], CONTRAST_TEMPERATURE)
    return _unit(pull)


def _own_rows(occasion: Occasion, source: str) -> npt.NDArray[np.bool_]:
    """Which rows of a kind of memory the people own."""
    bank, people = _lender(occasion, source), occasion.people
    return occasion.shelf.once(
        ("own", source, people),
        lambda: np.asarray([memory.owner in people for memory in bank.memories], bool),
    )


def _lender(occasion: Occasion, source: str) -> Bank:
    """The scope's memories of a kind. Raises UsageError naming the kinds that are there."""
    if source not in occasion.shelf.sources:
        known = ", ".join(occasion.shelf.sources) or "none"
        raise UsageError(f"no {source!r} in {occasion.shelf.scope!r}; there are: {known}")
    return occasion.shelf.sources[source]


def _mean(vectors: Iterable[Vector]) -> Vector | None:
    rows = list(vectors)
    if len(rows) == 1:  # already a unit vector: lambda = 0 must equal it to the last bit
        return rows[0]
    return _unit(np.mean(np.stack(rows), axis=0, dtype=np.float64)) if rows else None


def _unit(vector: npt.NDArray[np.floating]) -> Vector | None:
    """float32 unit vector; None where the vector has no direction."""
    norm = float(np.linalg.norm(vector))
    return (vector / norm).astype(np.float32) if norm > 1e-9 else None


def _generator(occasion: Occasion) -> np.random.Generator:
    """Seeded by scope, people and seed, so that a control is the same on every run and machine."""
    name = "\0".join((occasion.shelf.scope, *sorted(occasion.people)))
    return np.random.default_rng([occasion.seed, zlib.crc32(name.encode())])
