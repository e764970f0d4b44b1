"""One question ranked without and with the profile prior: what `workbench ask` shows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from workbench.datasets.report import Dataset
from workbench.errors import UsageError
from workbench.library import BankSet
from workbench.memory.dimensions import of_question
from workbench.prepare import effective, query_of
from workbench.retrieve import retrieve, score
from workbench.schema import Hit, Question, Recipe
from workbench.shelf import Query, Shelf

__all__ = ["Asking", "ask", "asking", "find_asker", "find_person", "find_question", "told"]


@dataclass(frozen=True)
class Asking:
    """A question made ready: whose it is, the shelf as it stood when it was asked, and the recipe
    with the embedder's threshold. `question` is the dataset's own, if it is one of them."""

    banks: BankSet
    text: str
    question: Question | None
    scope: str
    people: tuple[str, ...]
    query: Query
    shelf: Shelf
    recipe: Recipe
    notes: tuple[str, ...]

    @property
    def alone(self) -> Recipe:
        """The recipe without its prior."""
        return msgspec.structs.replace(self.recipe, prior="none", lam=1.0)

    def hits(self) -> tuple[tuple[Hit, ...], tuple[Hit, ...]]:
        """The rankings without and with the prior."""
        ranked = (retrieve(self.shelf, self.query, one) for one in (self.alone, self.recipe))
        without, having = ranked
        return without, having

    def ranks(self, recipe: Recipe) -> dict[str, int]:
        """The rank of every memory of the bank that may be returned, by id."""
        if self.query.vector is None or not len(self.shelf.bank):
            return {}
        rows = score(self.shelf, self.query, recipe).best(len(self.shelf.bank))
        memories = self.shelf.bank.memories
        return {memories[row].id: rank for rank, row in enumerate(rows, start=1)}


def ask(
    banks: BankSet,
    asked: str,
    recipe: Recipe,
    user: str | None = None,
    sources: dict[str, BankSet] | None = None,
) -> dict[str, Any]:
    """Both rankings of a question, which may be free text or the id of one of the dataset's.

    `user` is "PERSON", or "SCOPE/PERSON" where several scopes have one of that name; only the
    dataset's own questions can do without. `places` has, for each turn of evidence, the best rank
    of a memory that holds it, without and with the prior, in full depth. Raises UsageError where
    `user` names nobody.
    """
    return told(asking(banks, asked, recipe, user, sources))


def asking(
    banks: BankSet,
    asked: str,
    recipe: Recipe,
    user: str | None = None,
    sources: dict[str, BankSet] | None = None,
    searched: str | None = None,
) -> Asking:
    """The same question, ready to be ranked; `searched` are the words that are searched with
    instead of its own. Raises UsageError as `ask` does."""
    question = find_question(banks.dataset, asked)
    scope, people = find_asker(banks.dataset, asked, user)
    text = question.text if question else asked
    words = text if searched is None else searched
    vector = banks.queries([words])[0]
    query = (
        query_of(msgspec.structs.replace(question, people=people, text=words), vector)
        if question
        else Query(words, vector, people, of_question(words))
    )
    recipe, notes = effective(banks, recipe)
    shelf = banks.shelf(scope, sources).as_of(query.until)
    if vector is None:
        notes.append("the question is blank: nothing is retrieved")
    elif not len(shelf.bank):
        notes.append(f"there are no {recipe.memories} of {scope} to retrieve")
    else:
        notes += score(shelf, query, recipe).notes
    return Asking(banks, text, question, scope, people, query, shelf, recipe, tuple(notes))


def told(one: Asking) -> dict[str, Any]:
    """What `ask` returns of a question: plain values, ready for JSON."""
    without, having = one.hits()
    ranks = one.ranks(one.alone)
    evidence = list(one.question.gold.evidence) if one.question else None
    return {
        "question": one.text,
        "id": one.question.id if one.question else None,
        "user": f"{one.scope}/{' & '.join(one.people)}",
        "evidence": evidence,
        "banks": one.banks.id,
        "recipe": msgspec.to_builtins(one.recipe),
        "rankings": {
            "without": list(_rows(without, ranks)),
            "with": list(_rows(having, ranks)),
        },
        "places": _places(one, evidence or [], ranks),
        "notes": list(one.notes),
    }


def find_asker(dataset: Dataset, asked: str, user: str | None) -> tuple[str, tuple[str, ...]]:
    """Scope and people of a question: those of the dataset's own question, unless `user` names
    somebody else of its scope; for free text those that `user` names. Needs no banks."""
    question = find_question(dataset, asked)
    if question is None:
        return find_person(dataset, user)
    if user is None:
        return question.scope, question.people
    return find_person(dataset, user, within=question.scope)


def find_question(dataset: Dataset, asked: str) -> Question | None:
    """The dataset's question with that id, if it has one."""
    return next((q for q in dataset.questions if q.id == asked.strip()), None)


def find_person(
    dataset: Dataset, user: str | None, within: str | None = None
) -> tuple[str, tuple[str, ...]]:
    """Scope and people that "PERSON" or "SCOPE/PERSON" names.

    A dataset with one person in all needs no name. Raises UsageError with the names to choose
    from where the name is missing, unknown or ambiguous.
    """
    everyone = dict.fromkeys(
        (dialogue.scope, person)
        for dialogue in dataset.dialogues
        for person in dialogue.people
        if within in (None, dialogue.scope)
    )
    wanted = None if user is None else user.strip()
    found = [
        (scope, person)
        for scope, person in everyone
        if wanted in (None, f"{scope}/{person}")
        or (wanted is not None and wanted.casefold() == person.casefold())
    ]
    if len(found) == 1:
        return found[0][0], (found[0][1],)
    choices = [f"{scope}/{person}" for scope, person in (found or everyone)]
    listed = ", ".join(choices[:12]) or "nobody: the dataset has no people"
    more = f" and {len(choices) - 12} more" if len(choices) > 12 else ""
    problem = (
        "say whose memories are searched with --user"
        if not wanted
        else f"{wanted!r} is {'several people' if found else 'nobody here'}"
    )
    raise UsageError(f"{problem}; choose from: {listed}{more}")


def _places(one: Asking, evidence: list[str], ranks: dict[str, int]) -> list[dict[str, Any]]:
    """The best rank of each turn of evidence in both rankings; None where no memory holds it."""
    if not evidence:
        return []
    wanted = set(evidence)
    holding = [m for m in one.shelf.bank.memories if not wanted.isdisjoint(m.sources)]
    both = {"without": ranks, "with": one.ranks(one.recipe)}

    def best(turn: str, found: dict[str, int]) -> int | None:
        held = (found.get(m.id) for m in holding if turn in m.sources)
        return min((rank for rank in held if rank is not None), default=None)

    return [
        {"turn": turn, **{name: best(turn, found) for name, found in both.items()}}
        for turn in evidence
    ]


def _rows(hits: tuple[Hit, ...], ranks: dict[str, int]) -> Iterator[dict[str, Any]]:
    for hit in hits:
        memory = hit.memory
        yield {
            "rank": hit.rank,
            "memory_id": memory.id,
            "text": memory.text,
            "kind": memory.kind,
            "owner": memory.owner,
            "time": memory.time.isoformat() if memory.time else None,
            "sources": list(memory.sources),
            "score": hit.score,
            "parts": hit.parts,
            "raw": hit.raw,
            "rank_without": ranks.get(memory.id),
        }
