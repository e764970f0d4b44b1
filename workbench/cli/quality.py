"""The command on how good memories are: every kind in one table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from workbench.cli.command import command
from workbench.cli.output import Output, shown, table
from workbench.cli.retrieval import span

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    command(app, "quality")(quality)


def quality(
    name: Annotated[str, typer.Argument(help="Name of the dataset.")],
    out: Output,
    memories: Annotated[
        str,
        typer.Option(
            help="Kinds of memory, with commas: turns, observations, facts, llm, llm@NAME. "
            "Default: every kind that is there; turns and facts are built where missing."
        ),
    ] = "",
    embedder: Annotated[str, typer.Option(help="See `workbench recall --help`.")] = "minilm",
) -> None:
    """Coverage of the evidence, facts without support, duplicates and junk of a dataset's memories,
    whoever made them: turns, observations, rules or a language model."""
    from workbench.datasets import load_dataset
    from workbench.embedders import open_embedder
    from workbench.extraction_quality import quality as of_banks
    from workbench.library import open_banks
    from workbench.usable import kinds_there

    asked = [one.strip() for one in memories.split(",") if one.strip()]
    if not asked:
        dataset = load_dataset(out.workspace, name)
        asked = kinds_there(out.workspace, dataset, open_embedder(embedder))
    with out.progress() as progress:
        reports = {}
        for done, kind in enumerate(asked, start=1):
            reports[kind] = of_banks(open_banks(out.workspace, name, kind, embedder, progress))
            progress("checking", done, len(asked))
    out.data({"dataset": name, "embedder": embedder, "memories": reports}, _report)


def _report(report: dict[str, Any]) -> Iterator[Any]:
    told: dict[str, Any] = report["memories"]
    first = next(iter(told.values()))
    coverage, limits = first["coverage"], first["thresholds"]
    rows = [[layer, *(one["counts"][layer] for one in told.values())] for layer in first["counts"]]
    for layer in coverage["layers"]:
        found = [one["coverage"]["layers"][layer] for one in told.values()]
        rows += [[f"coverage, {layer}", *(f"{one['mean']:.3f}" for one in found)]]
        rows += [["  95 % interval", *(span(one["interval"]) for one in found)]]
    counted = {
        "without support": "unsupported",
        "supported by chance": "by_chance",
        "said before": "duplicates",
        "junk": "junk",
    }
    rows += [
        [title, *(_share(one[key]) for one in told.values())] for title, key in counted.items()
    ]
    rows += [["near duplicates, pairs", *(one["near_duplicates"] for one in told.values())]]
    rows += [["pending units", *(len(one["pending"]) for one in told.values())]]
    yield f"{report['dataset']}: {report['embedder']}"
    yield table("", ["", *told], rows)
    yield f"coverage of n = {coverage['n']} questions, intervals over {coverage['basis']}"
    yield (
        f"without support: less than {limits['words']:.0%} of its content words in the sources and "
        f"cosine below {limits['cosine']:g}; by chance: against random turns instead. Near "
        f"duplicates: cosine {limits['alike']:g} or more. Junk: fewer than "
        f"{limits['content_words']} content words, a question, or begun by a pronoun"
    )
    for kind, one in told.items():
        if one["model"] is not None:
            yield f"{kind}: model {shown(str(one['model'].get('model', '')))}, banks {one['banks']}"
        for what in ("unsupported", "junk"):
            for example in one[what]["examples"][:3]:
                why = example.get("why", "without support")
                yield f"  {kind}, {why}: {shown(example['text'], 90)}"


def _share(told: dict[str, Any]) -> str:
    return "-" if told["share"] is None else f"{told['n']} ({told['share']:.1%})"
