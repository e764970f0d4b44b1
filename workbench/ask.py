"""One question ranked without and with the profile prior: what `workbench ask` shows."""

from __future__ import annotations

from collections.abc import Iterator
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

__all__ = ["ask", "find_asker", "find_person", "find_question"]


def ask(
    banks: BankSet,
    asked: str,
    recipe: Recipe,
    user: str | None = None,
    sources: dict[str, BankSet] | None = None,
) -> dict[str, Any]:
    """Both rankings of a question, which may be free text or the id of one of the dataset's.

    `user` is "PERSON", or "SCOPE/PERSON" where several scopes have one of that name; only the
    dataset's own questions can do without. Raises UsageError where it names nobody.
    """
    question = find_question(banks.dataset, asked)
    scope, people = find_asker(banks.dataset, asked, user)
    text = question.text if question else asked
    vector = banks.queries([text])[0]
    query = (
        query_of(msgspec.structs.replace(question, people=people), vector)
        if question
        else Query(text, vector, people, of_question(text))
    )
    recipe, notes = effective(banks, recipe)
    shelf = banks.shelf(scope, sources).as_of(query.until)
    without, having = _both(shelf, query, recipe)
    if vector is None:
        notes.append("the question is blank: nothing is retrieved")
    elif not len(shelf.bank):
        notes.append(f"there are no {recipe.memories} of {scope} to retrieve")
    else:
        notes += score(shelf, query, recipe).notes
    return {
        "question": text,
        "user": f"{scope}/{' & '.join(people)}",
        "evidence": list(question.gold.evidence) if question else None,
        "banks": banks.id,
        "recipe": msgspec.to_builtins(recipe),
        "rankings": {"without": without, "with": having},
        "notes": notes,
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


def _both(shelf: Shelf, query: Query, recipe: Recipe) -> tuple[list[Any], list[Any]]:
    """The hits without and with the prior; both know their rank without it, in full depth."""
    whole = max(len(shelf.bank), 1)
    alone = msgspec.structs.replace(recipe, prior="none", lam=1.0)
    deep = retrieve(shelf, query, msgspec.structs.replace(alone, k=whole))
    ranks = {hit.memory.id: hit.rank for hit in deep if hit.memory.kind != "semantic"}
    without = retrieve(shelf, query, alone)
    having = retrieve(shelf, query, recipe)
    return list(_rows(without, ranks)), list(_rows(having, ranks))


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
