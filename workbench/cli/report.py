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
    from workbench.report import Findings

__all__ = ["register"]

ENDINGS = (".html", ".csv", ".tex", ".json", ".png")


def register(app: typer.Typer) -> None:
    command(app, "export")(export)
    command(app, "reproduce")(reproduce)


def export(
    run: Annotated[str, typer.Argument(help="Id of a run, or its beginning (`workbench runs`).")],
    to: Annotated[
        Path, typer.Option(help="File to write: its ending (html, csv, tex, json, png) decides.")
    ],
    out: Output,
    against: Annotated[
        str | None, typer.Option(help="Another run over the same questions to compare with.")
    ] = None,
    figure: Annotated[
        str | None, typer.Option(help="Which figure a PNG shows. Default: the first.")
    ] = None,
    tables: Annotated[
        str | None,
        typer.Option("--table", help="Which table a CSV holds, or questions: every single value."),
    ] = None,
    dark: Annotated[bool, typer.Option("--dark", help="A PNG on dark paper.")] = False,
) -> None:
    """Write a run's tables and figures: an offline HTML page, CSV, LaTeX, JSON or a PNG."""
    ending = to.suffix.lower()
    if ending not in ENDINGS:
        raise UsageError(f"--to names a file that ends in {', '.join(ENDINGS)}, not {to.name!r}")
    from workbench.report import findings
    from workbench.workspace import write_atomically

    found = findings(out.workspace, run, against)
    content = _content(found, ending, figure, tables, dark)
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
    file: Annotated[Path, typer.Argument(help="An exported html, json or png file.")],
    out: Output,
) -> None:
    """Make a file's figures again from the runs that they name, and compare.

    Exit code 3 where one differs.
    """
    if not file.is_file():
        raise UsageError(f"{file}: no such file")
    from workbench.report import reproduce as make_again

    made = make_again(out.workspace, file)
    out.data({"file": str(file), "figures": made}, _reproduced)
    if not all(one.identical for one in made):
        out.exit_code = PARTIAL


def _content(
    found: Findings, ending: str, figure: str | None, table: str | None, dark: bool
) -> bytes:
    """What the file of an ending holds."""
    from workbench import report

    if ending == ".png":
        name = _chosen(figure, list(found.figures), "figure")
        return report.png(found.figures[name], "dark" if dark else "light")
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
            "identical" if one["identical"] else f"differs: {shown(', '.join(one['differences']))}",
        ]
        for one in told["figures"]
    ]
    yield table("", ["figure", "run", "made again"], rows)
