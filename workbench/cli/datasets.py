"""Commands on datasets: import, forget, and data get | list | export."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.cli.command import PARTIAL, command
from workbench.cli.output import Output, shown, table
from workbench.errors import DataError, UsageError

__all__ = ["register"]

SHOWN_PROBLEMS = 20


def register(app: typer.Typer) -> None:
    command(app, "import")(import_)
    command(app, "forget")(forget)
    data = typer.Typer(help="Datasets: fetch a public one, list, export.", no_args_is_help=True)
    command(data, "get")(get)
    command(data, "list")(list_)
    command(data, "export")(export)
    app.add_typer(data, name="data")


def import_(
    path: Annotated[str, typer.Argument(help="File, folder or zip; or `sample`.")],
    out: Output,
    name: Annotated[str | None, typer.Option(help="Name of the dataset.")] = None,
    format: Annotated[
        str,
        typer.Option(
            help="auto, locomo, longmemeval, personamem, chatgpt, claude, librechat or jsonl."
        ),
    ] = "auto",
    audit: Annotated[
        Path | None, typer.Option(help="LoCoMo's audit, laid over the gold; both are kept.")
    ] = None,
) -> None:
    """Read dialogues and questions into the workspace; importing again adds only what is new.

    Exit code 3 where some records could not be used: the report lists them.
    """
    from workbench.datasets import import_file

    try:
        report = import_file(out.workspace, path, name=name, format=format, audit=audit)
    except DataError as error:
        if format == "auto" and path.lower().endswith((".csv", ".parquet")):
            raise DataError(
                f"{error}. A table of judgments is read by: workbench reward import {path}"
            ) from error
        raise
    out.data(report, _import_report)
    if report.counts["failed"]:
        out.exit_code = PARTIAL


def forget(
    name: Annotated[str, typer.Argument(help="Name of the dataset.")],
    ids: Annotated[list[str], typer.Argument(help="Ids of turns or memories.")],
    out: Output,
    scope: Annotated[
        str | None, typer.Option(help="Whose: needed where the dataset has several scopes.")
    ] = None,
) -> None:
    """Remove turns, and all that was remembered from them, for good.

    A memory is forgotten with its source turns. The text goes from the dataset, every bank and the
    vector cache, and importing the same file again does not bring it back.
    """
    from workbench.forget import forget as forget_turns

    report = forget_turns(out.workspace, name, scope, ids)
    out.data(report, _forgotten)


def get(
    name: Annotated[str, typer.Argument(help="locomo or sample.")],
    out: Output,
) -> None:
    """Download a public data set, check its sha256, and import it."""
    from workbench.datasets import import_file
    from workbench.datasets.fetch import fetch

    if name == "sample":
        report = import_file(out.workspace, name)
    else:
        download = fetch(name, out.workspace)
        report = import_file(out.workspace, download)
        download.unlink()  # the dataset holds it now, and what is forgotten must not stay here
    out.data(report, _import_report)
    if report.counts["failed"]:
        out.exit_code = PARTIAL


def list_(out: Output) -> None:
    """The workspace's datasets: format, licence and sizes."""
    from workbench.datasets import store

    known = {name: store.info(out.workspace, name) for name in store.names(out.workspace)}
    kept = ("format", "licence", "counts", "splits", "sources")
    listed = [{"name": n, **{key: m[key] for key in kept if key in m}} for n, m in known.items()]
    out.data({"datasets": listed}, _datasets)


def export(
    name: Annotated[str, typer.Argument(help="Name of the dataset.")],
    to: Annotated[str, typer.Argument(help="File to write; - is stdout.")],
    out: Output,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Write a dataset as the workbench's own JSONL, which imports again as unchanged."""
    from workbench.datasets import jsonl, load_dataset
    from workbench.workspace import write_atomically

    lines = jsonl.export(load_dataset(out.workspace, name))
    if to == "-":
        for line in lines:
            out.stdout.write(line.decode("utf-8"))
        return
    path = Path(to)
    if not path.parent.is_dir():
        raise UsageError(f"{path.parent} is no folder; make it first")
    if path.is_symlink() or (path.exists() and not (force and path.is_file())):
        raise UsageError(f"{path} is there already; name another file, or give --force")
    write_atomically(path, lines)
    out.data({"dataset": name, "path": to}, lambda report: iter([f"wrote {report['path']}"]))


def _import_report(report: dict[str, Any]) -> Iterator[Any]:
    counts = report["counts"]
    yield f"{report['dataset']} ({report['format']}; licence: {shown(report['licence'])})"
    yield table("", ["", "records"], [[key, value] for key, value in counts.items()])
    problems = report["problems"]
    if problems:
        yield f"\n{len(problems)} remarks" + (
            f", the first {SHOWN_PROBLEMS} (all with --json):"
            if len(problems) > SHOWN_PROBLEMS
            else ":"
        )
    for problem in problems[:SHOWN_PROBLEMS]:
        raw = f"  [{shown(problem['raw'], 60)}]" if problem.get("raw") else ""
        yield f"  {problem['kind']}: {shown(problem['where'])}: {shown(problem['why'])}{raw}"


def _forgotten(report: dict[str, Any]) -> Iterator[Any]:
    yield f"forgot {len(report['turns'])} turns of {report['dataset']}/{report['scope']}: " + (
        ", ".join(report["turns"])
    )
    yield f"removed {len(report['banks'])} bank sets and {report['texts']} texts' vectors"


def _datasets(report: dict[str, Any]) -> Iterator[Any]:
    rows = [
        [d["name"], d["format"], shown(d["licence"]), *(d["counts"].get(c, 0) for c in COUNTED)]
        for d in report["datasets"]
    ]
    if rows:
        yield table("", ["name", "format", "licence", *COUNTED], rows)
    else:
        yield "no datasets yet: workbench import sample"


COUNTED = ("dialogues", "sessions", "turns", "questions")
