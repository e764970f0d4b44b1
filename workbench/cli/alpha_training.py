"""What `sweep alpha --mode train` does and prints: a training for every α."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from workbench.cli.command import PARTIAL
from workbench.cli.output import Output, estimate, shown, table
from workbench.errors import UsageError

__all__ = ["GRID", "trained_by_alpha"]

# A training each costs minutes or hours: few of them, the paper's 0.2 among them.
GRID = "0,0.2,0.5,1"


def trained_by_alpha(
    out: Output, asked: dict[str, Any], alphas: Sequence[float], how: dict[str, Any]
) -> None:
    """Train with every α, and print the sweep. `asked` are options of `train`, `how` has
    `training` (a preset's name), `config`, `fresh` and `llm`."""
    from workbench.chat_models import open_llm
    from workbench.run_plan import asks_llm
    from workbench.training.alphas import alpha_trainings
    from workbench.training.learn import Options
    from workbench.training.options import settings_of

    if asked["model"] is None:
        raise UsageError("--mode train needs --model: a folder, a fetched model or a hub id")
    of = settings_of(how["training"] or "cpu", {**asked, "seed": out.seed}, how["config"])
    llm = open_llm(how["llm"], out.workspace) if asks_llm(of.answerer) else None
    with out.progress() as progress:
        options = Options(fresh=bool(how["fresh"]), progress=progress)
        report = alpha_trainings(out.workspace, of, alphas, options, llm)
    if any(cell["status"] != "done" for cell in report["trainings"]):
        out.exit_code = PARTIAL
    out.data(report, _report)


def _report(report: dict[str, Any]) -> Iterator[Any]:
    pays, k = report["pays"], report["recipe"]["k"]
    yield (
        f"{report['dataset']}: trained once for every α, measured on the {report['split']} "
        f"questions (n = {report['n']}); {report['answerer']} answers, pays {pays['retrieval']} "
        f"and {pays['answer']}"
    )
    yield shown(report["is"])
    rows = [
        [
            f"{alpha:g}",
            *(estimate(report[m][row], report["interval"][m][row]) for m in ("recall", "f1")),
            str(report["trainings"][row]["steps"]),
            report["trainings"][row]["status"],
        ]
        for row, alpha in enumerate(report["alphas"])
    ]
    asked = report["identity"]
    cells = (estimate(asked[m], asked["interval"][m]) for m in ("recall", "f1"))
    rows.append(["as asked", *cells, "", ""])
    yield table("", ["α", f"recall@{k}", "F1", "steps", "training"], rows)
    for cell in report["trainings"]:
        if cell["why"]:
            yield shown(f"α = {cell['alpha']:g}: {cell['why']}")
        yield f"α = {cell['alpha']:g}: --rewriter {cell['rewriter']['f1']}"
    yield f"run {report['run']}, {report['seconds']:.1f} s"
