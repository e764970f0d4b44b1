"""Command `reward deidentify`: names and contacts out of a set of comparisons, with a report."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from workbench.cli.command import command
from workbench.cli.output import Output, shown, table
from workbench.cli.reward.judgments import Name, synthetic
from workbench.errors import DataError

__all__ = ["register"]

SHOWN = 20


def register(app: typer.Typer) -> None:
    command(app, "deidentify")(deidentify)


def deidentify(
    name: Name,
    into: Annotated[str, typer.Option(help="Name of the set that is made.")],
    out: Output,
    known: Annotated[
        Path | None,
        typer.Option(help="File of names, places and organisations that are known."),
    ] = None,
) -> None:
    """Replace names, contacts, places and dates by typed placeholders, the same for one person.

    Automatic masking misses things: read what it left before anything is shared. A comparison whose
    preference may rest on what is masked is withheld.
    """
    from reward_model.known_names import read_known
    from reward_model.privacy import EVERYBODY
    from reward_model.privacy import deidentify as mask
    from reward_model.store import open_comparisons, save_comparisons

    chosen = open_comparisons(out.workspace, name)
    made = mask(chosen.comparisons, {EVERYBODY: read_known(known)} if known else None)
    if not made.comparisons:
        raise DataError(f"{name}: every comparison would be withheld; nothing was made")
    kept = save_comparisons(out.workspace, into, made.comparisons, f"de-identified {name}")
    told = {
        "name": kept.name,
        "content": kept.content,
        "synthetic": kept.synthetic,
        "comparisons": len(kept.comparisons),
        "withheld": made.withheld,
        "report": msgspec.to_builtins(made.report),
    }
    out.data(told, _masked)


def _masked(told: dict[str, Any]) -> Iterator[Any]:
    yield from synthetic(told)
    yield f"{shown(told['name'])}: {told['comparisons']} comparisons, masked"
    for key, value in told["report"].items():
        if isinstance(value, dict) and value:
            yield table(key.replace("_", " "), ["", "n"], [[shown(k), v] for k, v in value.items()])
        elif isinstance(value, list | tuple):
            yield f"{key.replace('_', ' ')}:"
            yield from (f"  {_line(line)}" for line in value[:SHOWN])
        elif value:
            yield f"{key.replace('_', ' ')}: {shown(str(value))}"


def _line(entry: Any) -> str:
    """A remark, or a word with how often it stands there."""
    if isinstance(entry, dict):
        return ", ".join(shown(str(value)) for value in entry.values())
    return shown(str(entry))
