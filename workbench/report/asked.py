"""One question's two rankings as findings: what the reports of runs are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import plotly.graph_objects as go
import polars as pl

from workbench.ask import Asking, asking, find_question, told
from workbench.figures import rank_movement
from workbench.figures.drawing import again
from workbench.library import open_banks
from workbench.memory_kinds import set_named
from workbench.passport import passport_of_question
from workbench.prepare import sources_for
from workbench.report.findings import Findings, Table
from workbench.schema import Recipe
from workbench.workspace import Workspace

__all__ = ["asked_again", "asking_again", "findings_of_question", "hits_table"]


# What tells of a rewriter: its name among what was asked, and in a figure's `again`.
WORDS = {"searched_with": "searched", "rewriter": "rewriter"}


def findings_of_question(asked: Mapping[str, Any], dataset: str) -> Findings:
    """The findings of what `workbench.ask.ask` returns, for `page`, `latex_text` and `png`;
    `searched_with` in it are the words of a rewriter, `rewriter` who that is, for people.

    Tables: `hits` (both rankings) and, where the dataset marks evidence, `evidence`.
    """
    passport = passport_of_question(asked, dataset)
    figure = rank_movement(asked, passport)
    recipe = asked["recipe"]
    how = {"dataset": dataset, "asked": asked["id"] or asked["question"]}
    words = {here: asked[name] for name, here in WORDS.items() if name in asked}
    how |= {"user": asked["user"], "recipe": recipe, "banks": asked["banks"], **words}
    again(figure, "question", **how)
    figure.update_layout(meta={**figure.layout.meta, "name": "movement"})
    tables = [Table("hits", "Memories retrieved without and with the prior", hits_table(asked))]
    if asked["places"]:
        places = pl.DataFrame(asked["places"], infer_schema_length=None)
        tables.append(Table("evidence", "Ranks of the evidence, in full depth", places))
    lead = [
        f"Asked as {asked['user']}: {asked['question']}",
        *([f"Searched with: {words['searched']}"] if "searched" in words else []),
        f"{recipe['memories']}, {recipe['retriever']}, prior {recipe['prior']}, "
        f"λ = {recipe['lam']:g}, K = {recipe['k']}, {recipe['embedder']}.",
        *asked["notes"],
    ]
    title = f"One question of {dataset}"
    return Findings(title, passport, lead, tables, {"movement": figure}, hits_table(asked))


def asked_again(workspace: Workspace, how: Mapping[str, Any]) -> go.Figure:
    """The figure of a question asked once more, as its `again` says. Raises as `asking_again`."""
    words = {name: how[here] for name, here in WORDS.items() if here in how}
    asked = told(asking_again(workspace, how)) | words
    return findings_of_question(asked, how["dataset"]).figures["movement"]


def asking_again(workspace: Workspace, how: Mapping[str, Any]) -> Asking:
    """A question made ready once more: `how` has `dataset`, `asked` (id or text), `user` and
    `recipe`, as `told` gives them, `banks`, the id of the set, and `searched`, the words that were
    searched with where they are others than the question's.

    Raises UsageError where the dataset or the person is no longer there.
    """
    recipe = msgspec.convert(how["recipe"], Recipe)
    memories = set_named(recipe.memories, how.get("banks", ""))
    banks = open_banks(workspace, how["dataset"], memories, recipe.embedder)
    question = find_question(banks.dataset, how["asked"])
    own = f"{question.scope}/{' & '.join(question.people)}" if question else None
    user = None if how["user"] == own else how["user"]
    sources = sources_for(workspace, banks, recipe)
    return asking(banks, how["asked"], recipe, user, sources, how.get("searched"))


def hits_table(asked: Mapping[str, Any]) -> pl.DataFrame:
    """A row a hit of either ranking: `ranking, rank, rank_without, evidence, memory, owner, time,
    sources, text, score`, and `part_NAME` for each part of the scores."""
    gold = set(asked["evidence"] or ())
    both = [(name, hit) for name, hits in asked["rankings"].items() for hit in hits]
    parts = dict.fromkeys(part for _, hit in both for part in hit["parts"])
    rows = [
        {
            "ranking": name,
            "rank": hit["rank"],
            "rank_without": hit["rank_without"],
            "evidence": bool(gold.intersection(hit["sources"])),
            "memory": hit["memory_id"],
            "owner": hit["owner"],
            "time": hit["time"],
            "sources": " ".join(hit["sources"]),
            "text": hit["text"],
            "score": hit["score"],
            **{f"part_{part}": hit["parts"].get(part) for part in parts},
        }
        for name, hit in both
    ]
    return pl.DataFrame(rows, infer_schema_length=None)
