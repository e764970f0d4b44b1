"""Commands `sweep lambda | layers | ablation | controls | alpha`: one recipe, many settings."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.alpha import register_alpha
from workbench.cli.command import Jobs, Llm, Scheduler, command, numbers
from workbench.cli.grid import grid_of
from workbench.cli.output import Output, estimate, shown, table
from workbench.cli.rewriting import Rewriter, in_words, rewriter_of, worded
from workbench.schema import Recipe

if TYPE_CHECKING:
    from workbench.cells import Study

__all__ = ["lambda_report", "register"]

Name = Annotated[str, typer.Argument(help="Name of the dataset.")]
Split = Annotated[str, typer.Option(help="all, train, validation or test.")]
Ks = Annotated[str, typer.Option("--k", help="One or several K, with commas.")]


def register(app: typer.Typer) -> None:
    sweep = typer.Typer(
        help="One recipe under many settings: intervals, tests, a run.", no_args_is_help=True
    )
    command(sweep, "lambda")(lambda_)
    command(sweep, "layers")(layers)
    command(sweep, "ablation")(ablation)
    command(sweep, "controls")(controls)
    register_alpha(sweep)
    app.add_typer(sweep, name="sweep")


def lambda_(
    name: Name,
    recipe: Recipe,
    out: Output,
    lam: Annotated[
        str, typer.Option(help="λ grid: FIRST:LAST:STEP, or values with commas.")
    ] = "0:1:0.05",
    k: Ks = "1,5,10,25,50,100",
    split: Split = "all",
    jobs: Jobs = 1,
    scheduler: Scheduler = None,
    rewriter: Rewriter = "identity",
    llm: Llm = None,
) -> None:
    """Evidence recall at every weight λ of the query against the prior, and at every K to 200.

    λ = 1 is query-only retrieval; the best λ is tested against it, and the plateau names the
    settings that are shown to be less than a point below the best.
    """
    from workbench.sweep import lambda_sweep

    lams, ks = grid_of(lam, "--lam"), numbers(k, "--k", 1)
    how = split, jobs, scheduler, rewriter, llm
    report = _swept(out, name, recipe, how, lambda study: lambda_sweep(study, recipe, lams, ks))
    out.data(report, lambda_report)


def layers(
    name: Name,
    recipe: Recipe,
    out: Output,
    k_episodic: Annotated[
        str, typer.Option(help="K_E: how many episodic memories.")
    ] = "5,10,15,20,25,30,40,50",
    k_semantic: Annotated[
        str, typer.Option(help="K_S: how many semantic memories.")
    ] = "0,1,3,5,7,10,15,20",
    split: Split = "all",
    jobs: Jobs = 1,
    scheduler: Scheduler = None,
    rewriter: Rewriter = "identity",
    llm: Llm = None,
) -> None:
    """Recall of the union of K_E episodic and K_S semantic memories, for every pair."""
    from workbench.grids import layer_sweep

    episodic = numbers(k_episodic, "--k-episodic", 1)
    semantic = numbers(k_semantic, "--k-semantic", 0)
    how = split, jobs, scheduler, rewriter, llm
    report = _swept(
        out, name, recipe, how, lambda study: layer_sweep(study, recipe, episodic, semantic)
    )
    out.data(report, _layers_report)


def ablation(
    name: Name,
    recipe: Recipe,
    out: Output,
    k: Ks = "25",
    split: Split = "all",
    jobs: Jobs = 1,
    scheduler: Scheduler = None,
    rewriter: Rewriter = "identity",
    llm: Llm = None,
) -> None:
    """The recipe without each ingredient, the rewriter and its training too, tested (Holm)."""
    from workbench.grids import ablation_sweep

    ks = numbers(k, "--k", 1)
    how = split, jobs, scheduler, rewriter, llm
    others: dict[str, Study] = {}
    report = _swept(
        out, name, recipe, how, lambda study: ablation_sweep(study, recipe, ks, others), others
    )
    out.data(report, _settings_report)


def controls(
    name: Name,
    recipe: Recipe,
    out: Output,
    k: Ks = "25",
    split: Split = "all",
    jobs: Jobs = 1,
    scheduler: Scheduler = None,
    rewriter: Rewriter = "identity",
    llm: Llm = None,
) -> None:
    """The prior against none, another user's, everyone's, a shuffled and a random one (Holm): only
    where it beats them all is a gain personalisation."""
    from workbench.grids import control_sweep

    ks = numbers(k, "--k", 1)
    how = split, jobs, scheduler, rewriter, llm
    report = _swept(out, name, recipe, how, lambda study: control_sweep(study, recipe, ks))
    out.data(report, _settings_report)


def _swept(
    out: Output,
    name: str,
    recipe: Recipe,
    how: tuple[str, int, str | None, str, str | None],
    sweep: Callable[[Study], dict[str, Any]],
    others: dict[str, Study] | None = None,
) -> dict[str, Any]:
    """What a sweep reports; `how` are split, jobs, scheduler, rewriter and its model. `others` get
    the studies without the rewriter and without its training."""
    from workbench.cells import Study
    from workbench.library import open_banks
    from workbench.parallel import Workers
    from workbench.retrieve import check_recipe
    from workbench.rewrite import taken_away

    split, jobs, scheduler, rewriter, llm = how
    check_recipe(recipe)
    asked = {"": rewriter, **(taken_away(rewriter) if others is not None else {})}
    words = {key: rewriter_of(out, one, llm) for key, one in asked.items()}
    with out.progress() as progress:
        banks = open_banks(out.workspace, name, recipe.memories, recipe.embedder, progress)
        workers = Workers(jobs=jobs, scheduler=scheduler)

        def study(one: tuple[str, Any]) -> Study:
            changed, told = in_words(out, banks, one, split, progress)
            told |= {"seed": out.seed, "workers": workers, "progress": progress}
            return Study(out.workspace, changed, split, **told)

        whole = study(words.pop(""))
        if others is not None:
            others |= {key: study(one) for key, one in words.items()}
        return sweep(whole)


def _head(report: dict[str, Any]) -> Iterator[str]:
    recipe = report["recipe"]
    yield (
        f"{report['dataset']} ({report['split']}): {recipe['memories']}, {recipe['retriever']}, "
        f"prior {recipe['prior']}, {recipe['embedder']}"
    )
    left = ", ".join(f"{n} {why}" for why, n in report["excluded"].items()) or "none"
    yield (
        f"n = {report['n']} questions; excluded: {left}; "
        f"{100 * report['level']:g} % intervals in brackets"
    )
    yield from worded(report)
    yield from map(shown, report["notes"])


def lambda_report(report: dict[str, Any]) -> Iterator[Any]:
    yield from _head(report)
    ks = list(report["recall"])
    rows = [
        [
            f"{lam:g}",
            *(estimate(report["recall"][k][row], report["interval"][k][row]) for k in ks),
        ]
        for row, lam in enumerate(report["lams"])
    ]
    yield table("", ["λ", *(f"recall@{k}" for k in ks)], rows)
    for k in ks:
        best, (low, high) = report["best"][k], report["plateau"][k]
        test, harmed = report["test_vs_query_only"][k], report["harmed"][k]
        plateau = f"plateau {low:g} to {high:g}" if low < high else "no plateau"
        yield (
            f"@{k}: best λ = {best['lam']:g} ({best['recall']:.4f}), {plateau}; "
            f"λ = {test['lam']:g} against query only: {_signed(test)}, "
            f"p = {test['p']:.2g} (for all λ tried: {test['p_bonferroni']:.2g}); "
            f"worse for {harmed['questions']:.1%} of questions and {harmed['users']:.0%} of "
            f"{harmed['n_users']} users, better for {harmed['helped_questions']:.1%} and "
            f"{harmed['helped_users']:.0%}"
        )
    yield "λ was chosen on the questions that it is tested on; see --split"
    yield f"run {report['run']}, {report['seconds']:.1f} s"


def _layers_report(report: dict[str, Any]) -> Iterator[Any]:
    yield from _head(report)
    rows = [
        [k, *(estimate(mean, ends) for mean, ends in zip(means, intervals, strict=True))]
        for k, means, intervals in zip(
            report["k_semantic"], report["recall"], report["interval"], strict=True
        )
    ]
    yield table("", ["K_S", *(f"K_E = {k}" for k in report["k_episodic"])], rows)
    yield f"run {report['run']}, {report['seconds']:.1f} s"


def _settings_report(report: dict[str, Any]) -> Iterator[Any]:
    yield from _head(report)
    for k in map(str, report["ks"]):
        rows = []
        for row in report["rows"]:
            test = row["test"][k] if "test" in row else None
            found = estimate(row["recall"][k], row["interval"][k])
            tested = (
                [_signed(test), f"{test['p']:.2g}", f"{test['p_holm']:.2g}"] if test else [""] * 3
            )
            rows.append([row["setting"], found, *tested])
        yield table("", ["", f"recall@{k}", "difference", "p", "p (Holm)"], rows)
    if "verdict" in report:
        yield report["verdict"]
    yield f"run {report['run']}, {report['seconds']:.1f} s"


def _signed(test: dict[str, Any]) -> str:
    low, high = test["interval"]
    return f"{test['difference']:+.3f} [{low:+.3f}, {high:+.3f}]"
