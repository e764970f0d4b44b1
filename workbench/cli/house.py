"""Commands that keep house: runs, verify, doctor."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Annotated, Any

import typer

from workbench.cli.command import PARTIAL, command
from workbench.cli.output import Output, shown, table

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    command(app, "runs")(runs)
    command(app, "verify")(verify)
    command(app, "doctor")(doctor)


def runs(out: Output) -> None:
    """List runs and banks with their ids, oldest first."""
    from workbench.run_list import settings

    listed = []
    for folder in ("banks", "runs"):
        for key, manifest in out.workspace.manifests(folder).items():
            known = {**manifest.get("identity", {}), **manifest}
            kept = {name: known.get(name) for name in ("dataset", "memories", "embedder", "made")}
            recipe = known.get("recipe") or {}
            listed.append(
                {
                    "run": key,
                    "kind": known.get("kind", "banks"),
                    **kept,
                    "memories": kept["memories"] or recipe.get("memories"),
                    "embedder": kept["embedder"] or recipe.get("embedder"),
                    "settings": settings(manifest) if folder == "runs" else "",
                    "counts": known.get("counts", {}),
                    "n": known.get("n", known.get("counts", {}).get("memories")),
                }
            )
    out.data({"runs": listed}, _runs)


def verify(
    out: Output,
    repair: Annotated[
        bool, typer.Option("--repair", help="Remove what is damaged or outdated.")
    ] = False,
) -> None:
    """Check every file against its checksum. Exit code 3 where something is wrong.

    Damaged banks are built again by the next command that needs them; a damaged dataset has to be
    imported again.
    """
    from workbench.verify import verify as verify_workspace

    report = verify_workspace(out.workspace, repair)
    out.data(report, _verified)
    left = [p for p in report["problems"] if not repair or p["done"] == "import it again"]
    if left:
        out.exit_code = PARTIAL


def doctor(out: Output) -> None:
    """Check model, cache, browser, disk and data, and say what to do. Exit code 3 on problems."""
    from workbench.doctor import examine

    findings = examine(out.workspace)
    out.data({"ok": all(f.ok for f in findings), "findings": findings}, _findings)
    if not all(finding.ok for finding in findings):
        out.exit_code = PARTIAL


def _runs(report: dict[str, Any]) -> Iterator[Any]:
    rows = [
        [
            r["run"],
            r["kind"],
            r["dataset"],
            r["settings"] or f"{r['memories']}, {r['embedder']}",
            r["n"] if r["n"] is not None else "",
            time.strftime("%Y-%m-%d %H:%M", time.localtime(r["made"])),
        ]
        for r in report["runs"]
    ]
    if rows:
        yield table("", ["id", "kind", "dataset", "settings", "n", "made"], rows)
    else:
        yield "nothing yet: workbench build sample"


def _verified(report: dict[str, Any]) -> Iterator[Any]:
    yield f"checked {report['checked']} folders: {len(report['problems'])} problems"
    for problem in report["problems"]:
        yield f"  {shown(problem['where'])}: {shown(problem['why'])} ({problem['done']})"


def _findings(report: dict[str, Any]) -> Iterator[Any]:
    for finding in report["findings"]:
        mark = "ok  " if finding["ok"] else "TODO"
        yield f"{mark} {finding['what']}: {shown(finding['found'])}"
        if finding.get("todo"):
            yield f"       {finding['todo']}"
