"""What the sweeps found: λ × K, the layers of the dual path, ablations, control priors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from workbench import figures
from workbench.passport import Passport
from workbench.report.tables import Found, Table, kept_table, probability
from workbench.runs import Run
from workbench.workspace import Workspace

__all__ = ["SWEEPS"]


def _lambda(workspace: Workspace, run: Run, passport: Passport) -> Found:
    """The λ sweep: best, plateau, test against the query alone, who is harmed; by K."""
    told = run.manifest["report"]
    surface, difference = (
        kept_table(workspace, run.id, name) for name in ("surface", "difference")
    )
    ks = told["ks"]
    k = 25 if 25 in ks else max(ks)
    choices = pl.DataFrame([_choice(told, str(k)) for k in ks])
    tables = [
        Table("lambda", "The best λ at each K, its plateau, and its test", choices),
        Table("harmed", "Shares harmed and helped by the tested λ", _harmed(told)),
        Table("surface", "Evidence recall by λ and K", surface.filter(pl.col("k").is_in(ks))),
    ]
    low, high = told["plateau"][str(k)]
    drawn = {
        f"lambda_{k}": figures.lambda_sensitivity(surface, passport, k, (low, high)),
        "surface": figures.recall_surface(surface, passport),
    }
    rival = told["frame_lam"]
    drawn["difference"] = figures.difference_curve(
        difference, passport, (f"λ = {rival:g}", "query only")
    )
    ends = surface.filter(pl.col("lam").is_in([rival, 1.0]))
    named = ends.with_columns(
        series=pl.when(pl.col("lam") == 1)
        .then(pl.lit("query only"))
        .otherwise(pl.lit(f"{told['recipe']['prior']} prior, λ = {rival:g}"))
    )
    drawn["recall"] = figures.recall_curves(named, passport)
    return Found(_lambda_lead(told, str(k)), tables, drawn)


def _layers(workspace: Workspace, run: Run, passport: Passport) -> Found:
    """The K_E × K_S grid of the dual path."""
    cells = kept_table(workspace, run.id, "layers")
    best = cells.sort("mean", "k_episodic", "k_semantic", descending=[True, False, False])
    row = best.row(0, named=True)
    lead = [
        f"Of this grid, K_E = {row['k_episodic']} with K_S = {row['k_semantic']} finds most "
        f"({row['mean']:.3f}).",
        *run.manifest["report"]["notes"],
    ]
    tables = [Table("layers", "Evidence recall by K_E and K_S", cells)]
    return Found(lead, tables, {"layers": figures.layer_heatmap(cells, passport)})


def _settings(workspace: Workspace, run: Run, passport: Passport) -> Found:
    """Ablations or control priors: each setting against the whole recipe."""
    told = run.manifest["report"]
    rows = kept_table(workspace, run.id, "settings")
    k = 25 if 25 in told["ks"] else max(told["ks"])
    title = "Control priors" if run.manifest["kind"] == "sweep-controls" else "Ablations"
    bars = figures.ablation_bars(
        rows.filter(pl.col("k") == k), passport, f"evidence recall@{k}", title
    )
    lead = [line for line in (told.get("verdict"), *told["notes"]) if line]
    tables = [
        Table(
            "settings",
            f"{title}, each against the first row of its K",
            rows.sort("k", maintain_order=True),
        )
    ]
    return Found(lead, tables, {"settings": bars})


def _alpha(workspace: Workspace, run: Run, passport: Passport) -> Found:
    """The α landscape: what each α chooses by gold, beside the questions as asked."""
    told = run.manifest["report"]
    lines = kept_table(workspace, run.id, "landscape")
    fixed = [
        {"what": what, "recall": told[name]["recall"], "f1": told[name]["f1"]}
        for name, what in (
            ("identity", "as asked"),
            ("mean", "mean candidate"),
            ("oracle", "best of each pool"),
        )
    ]
    lead = [
        f"Best of each question and {told['made_by']}. This is {told['is']}.",
        "Compared with other runs, it stands for the questions as they were asked.",
        *told["notes"],
    ]
    tables = [
        Table("landscape", "Recall and F1 of what every α chooses by gold", lines),
        Table(
            "pool",
            "The questions as asked, a mean candidate, the best of each",
            pl.DataFrame(fixed),
        ),
    ]
    return Found(lead, tables, {"landscape": figures.alpha_landscape(lines, passport)})


def _lambda_lead(told: dict[str, Any], k: str) -> list[str]:
    best, test, harmed = (told[name][k] for name in ("best", "test_vs_query_only", "harmed"))
    low, high = told["plateau"][k]
    plateau = (
        f"Every setting from λ = {low:g} to {high:g} is shown to be less than a point below it."
        if low < high
        else "No other setting is shown to be less than a point below it."
    )
    return [
        f"Evidence recall@{k} is highest at λ = {best['lam']:g} ({best['recall']:.3f}). {plateau}",
        f"The best λ that uses the prior, {test['lam']:g}, differs from the query alone by "
        f"{_interval(test['difference'], test['interval'])}; p = {probability(test['p'])}, and "
        f"{probability(test['p_bonferroni'])} with the choice of λ paid for.",
        f"There, {harmed['questions']:.0%} of questions and {harmed['users']:.0%} of "
        f"{harmed['n_users']} users find less than with the query alone; "
        f"{harmed['helped_questions']:.0%} and {harmed['helped_users']:.0%} find more.",
        *told["notes"],
    ]


def _choice(told: dict[str, Any], k: str) -> dict[str, Any]:
    test = told["test_vs_query_only"][k]
    low, high = told["plateau"][k]
    return {
        "k": int(k),
        "best_lam": told["best"][k]["lam"],
        "recall": told["best"][k]["recall"],
        "plateau": f"{low:g}–{high:g}" if low < high else "none",
        "tested_lam": test["lam"],
        "difference": test["difference"],
        "lo": test["interval"][0],
        "hi": test["interval"][1],
        "p": test["p"],
        "p_bonferroni": test["p_bonferroni"],
    }


def _harmed(told: dict[str, Any]) -> pl.DataFrame:
    shares = ("questions", "users", "helped_questions", "helped_users")
    return pl.DataFrame(
        [
            {"k": int(k), "tested_lam": one["lam"]} | {name: one[name] for name in shares}
            for k, one in told["harmed"].items()
        ]
    )


def _interval(value: float, ends: list[float | None]) -> str:
    if None in ends:
        return f"{value:+.3f}"
    return f"{value:+.3f} [{ends[0]:+.3f}, {ends[1]:+.3f}]"


SWEEPS: dict[str, Callable[[Workspace, Run, Passport], Found]] = {
    "sweep-lambda": _lambda,
    "sweep-layers": _layers,
    "sweep-ablation": _settings,
    "sweep-controls": _settings,
    "sweep-alpha": _alpha,
}
