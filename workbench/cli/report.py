"""Commands that write results into files, and make exported figures again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from workbench.cli.command import PARTIAL, command
from workbench.cli.output import Output, shown, table
from workbench.errors import UsageError

if TYPE_CHECKING:
    import plotly.graph_objects as go

    from workbench.report import Findings, Reproduction
    from workbench.report.reproduction import Maker
    from workbench.workspace import Workspace

__all__ = ["ENDINGS", "check_target", "content_of", "find", "makers", "register", "write_findings"]

ENDINGS = (".html", ".csv", ".tex", ".json", ".png", ".svg")
REMADE = (".html", ".json", ".png", ".svg")


def register(app: typer.Typer) -> None:
    command(app, "export")(export)
    command(app, "reproduce")(reproduce)


def export(
    run: Annotated[str, typer.Argument(help="Id of a run, or its beginning (`workbench runs`).")],
    to: Annotated[
        Path,
        typer.Option(help="File to write: its ending (html, csv, tex, json, png, svg) decides."),
    ],
    out: Output,
    against: Annotated[
        str | None, typer.Option(help="Another run over the same questions to compare with.")
    ] = None,
    figure: Annotated[
        str | None, typer.Option(help="Which figure a PNG or SVG shows. Default: the first.")
    ] = None,
    tables: Annotated[
        str | None,
        typer.Option("--table", help="Which table a CSV holds, or questions: every single value."),
    ] = None,
    dark: Annotated[bool, typer.Option("--dark", help="A PNG or SVG on dark paper.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write a run's tables and figures: an offline HTML page, CSV, LaTeX, JSON, PNG or SVG."""
    check_target(to, force)
    write_findings(out, find(out.workspace, run, against), to, figure, tables, dark)


def find(workspace: Workspace, run: str, against: str | None = None) -> Findings:
    """The findings of a run of any kind: retrieval, answers, or the reward model."""
    from workbench.runs import load_run

    if load_run(workspace, run).manifest["kind"].startswith("reward-"):
        from reward_model.report import reward_findings

        return reward_findings(workspace, run, against)
    from workbench.report import findings

    return findings(workspace, run, against)


def check_target(to: Path, force: bool, endings: tuple[str, ...] = ENDINGS) -> None:
    """Refuse, before anything is made, an ending that says nothing and a file that is there."""
    if to.suffix.lower() not in endings:
        raise UsageError(f"--to names a file that ends in {', '.join(endings)}, not {to.name!r}")
    if to.exists() and not force:
        raise UsageError(f"{to} is there already; give --force to replace it, or another name")


def write_findings(
    out: Output,
    found: Findings,
    to: Path,
    figure: str | None = None,
    tables: str | None = None,
    dark: bool = False,
) -> None:
    """Write findings in the form that the file's ending names, and say what was written."""
    from workbench.workspace import write_atomically

    content = content_of(found, to.suffix.lower(), figure, tables, dark)
    write_atomically(to, content)
    told = {
        "file": str(to),
        "bytes": len(content),
        "passport": msgspec.to_builtins(found.passport),
        "tables": [one.name for one in found.tables],
        "figures": list(found.figures),
    }
    out.data(told, _exported)


def reproduce(
    file: Annotated[
        Path,
        typer.Argument(
            help="An exported html, json, png or svg file, or an ipynb with its outputs."
        ),
    ],
    out: Output,
    to: Annotated[
        Path | None,
        typer.Option(help="Write what was made again: html or json; png, svg for one figure."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Make a file's figures again from the workspace, and compare.

    What is behind a figure (runs, data, code) and has changed is named. Exit code 3 where one
    differs or cannot be made.
    """
    if not file.is_file():
        raise UsageError(f"{file}: no such file")
    if to is not None:
        check_target(to, force, REMADE)
    from workbench.report import remade

    made = remade(out.workspace, file, find, makers())
    if to is not None:
        _write_remade(to, file, made)
    out.data({"file": str(file), "figures": [told for told, _ in made]}, _reproduced)
    if not all(told.identical for told, _ in made):
        out.exit_code = PARTIAL


def makers() -> dict[str, Maker]:
    """Every kind of figure that is not a run's alone, and what draws it again."""
    from reward_model import scenes as of_rewards
    from workbench import scenes
    from workbench.report.reproduction import MAKERS

    return {**MAKERS, **scenes.MAKERS, **of_rewards.MAKERS}


def _write_remade(to: Path, file: Path, made: list[tuple[Reproduction, go.Figure | None]]) -> None:
    """The figures that could be made, in the form that the ending names."""
    import polars as pl

    from workbench.report import Findings
    from workbench.workspace import write_atomically

    drawn = {f"figure_{n}": figure for n, (_, figure) in enumerate(made, 1) if figure is not None}
    lead = [f"{told.figure}: {_verdict(told.identical, told.differences)}" for told, _ in made]
    title = f"Made again of {file.name}"
    found = Findings(title, made[0][0].passport, lead, [], drawn, pl.DataFrame())
    if to.suffix.lower() in (".png", ".svg") and len(drawn) != 1:
        raise UsageError(f"{file} has {len(drawn)} figures; a {to.suffix} shows one: use html")
    write_atomically(to, content_of(found, to.suffix.lower()))


def content_of(
    found: Findings,
    ending: str,
    figure: str | None = None,
    table: str | None = None,
    dark: bool = False,
) -> bytes:
    """What the file of an ending holds."""
    from workbench import report

    if ending in (".png", ".svg"):
        name = _chosen(figure, list(found.figures), "figure")
        draw = report.png if ending == ".png" else report.svg
        return draw(found.figures[name], "dark" if dark else "light")
    if ending == ".csv":
        frames = {one.name: one.frame for one in found.tables} | {"questions": found.questions}
        return report.csv_text(frames[_chosen(table, list(frames), "table")]).encode()
    made = {".html": report.page, ".tex": report.latex_text, ".json": report.json_text}
    return made[ending](found).encode()


def _chosen(wanted: str | None, names: list[str], what: str) -> str:
    if not names:
        raise UsageError(f"this kind of run has no {what}; export it to html or csv")
    if wanted is not None and wanted not in names:
        raise UsageError(f"there is no {what} {wanted!r}; choose from: {', '.join(names)}")
    return wanted or names[0]


def _exported(told: dict[str, Any]) -> Iterator[Any]:
    yield f"{shown(told['file'])} ({told['bytes']:,} bytes)"
    yield f"tables: {', '.join(told['tables'])}"
    yield f"figures: {', '.join(told['figures']) or 'none'}"


def _reproduced(told: dict[str, Any]) -> Iterator[Any]:
    rows = [
        [
            shown(one["figure"]),
            shown(one["passport"]["run"]),
            shown(_verdict(one["identical"], one["differences"])),
        ]
        for one in told["figures"]
    ]
    yield table("", ["figure", "run", "made again"], rows)


def _verdict(identical: bool, differences: list[str]) -> str:
    return "identical" if identical else f"differs: {', '.join(differences)}"
