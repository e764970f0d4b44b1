"""Commands `reward list | tables | features`: what judgments say, and features of the pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

import typer

from workbench.cli.command import PARTIAL, Llm, command
from workbench.cli.output import Output, shown, table
from workbench.cli.reward.judgments import Name, interval, synthetic
from workbench.errors import ModelError, UsageError

__all__ = ["register"]

SIDES = ("n", "memory", "none", "tie")
RETEST = ["strength of the first judgment", "agreement", "n"]


def register(app: typer.Typer) -> None:
    command(app, "list")(list_)
    command(app, "tables")(tables)
    command(app, "features")(features)


def list_(out: Output) -> None:
    """The sets of comparisons in the workspace, and the scores and models made from them."""
    from reward_model.models import saved_models
    from reward_model.scores import saved_scores
    from reward_model.store import comparison_sets

    told = {
        "comparisons": comparison_sets(out.workspace),
        "scores": saved_scores(out.workspace),
        "models": saved_models(out.workspace),
    }
    out.data(told, _listed)


def tables(name: Name, out: Output) -> None:
    """Preference for the memory response by regime and generator, and test-retest agreement.

    The paper's figures stand beside them as references.
    """
    from reward_model.agreement import PAPER, preference_table, retest_agreement
    from reward_model.quality import quality_filter
    from reward_model.store import open_comparisons

    chosen = open_comparisons(out.workspace, name)
    filtered = quality_filter(chosen.comparisons)
    groups: dict[str, Sequence[str]] = {
        "all": (),
        "regime": ("regime",),
        "generator": ("generator",),
        "regime and generator": ("regime", "generator"),
    }
    told = {
        "name": name,
        "synthetic": chosen.synthetic,
        "dropped": filtered.counts,
        "preference": {key: preference_table(filtered.kept, by) for key, by in groups.items()},
        "retest": retest_agreement(filtered.kept),
        "paper": PAPER,
    }
    out.data(told, _tabled)


def features(
    name: Name,
    out: Output,
    scorer: Annotated[
        str,
        typer.Option(help="Who scores: offline (rules and an embedder), judge (a language model)."),
    ] = "offline",
    embedder: Annotated[str, typer.Option(help="The offline scorer's embedder.")] = "minilm",
    llm: Llm = None,
) -> None:
    """Score the twelve features of every comparison, and keep them with the scorer's identity.

    The judge is asked each feature in both orders. Exit code 3 where some replies cannot be used
    (they are counted), 5 where none can.
    """
    from reward_model.scores import save_scores, score_comparisons
    from reward_model.store import open_comparisons

    if scorer not in SCORERS:
        raise UsageError(f"there is no scorer {scorer!r}; there is: {', '.join(SCORERS)}")
    if llm is not None and scorer != "judge":
        raise UsageError("--llm names the model of --scorer judge; no other scorer asks one")
    with out.progress() as progress:
        made = SCORERS[scorer](out, embedder if scorer == "offline" else llm, progress)
        chosen = open_comparisons(out.workspace, name)
        scores = score_comparisons(chosen, made)
    if scorer == "judge":
        _refuse_unread(scores)
        out.exit_code = PARTIAL if scores.failed else out.exit_code
    told = {
        "name": name,
        "synthetic": chosen.synthetic,
        "scores": save_scores(out.workspace, scores),
        "scorer": scores.scorer,
        "usage": made.llm.usage.record if scorer == "judge" else None,
        **_described(scores),
    }
    out.data(told, _scored)


def _offline(out: Output, embedder: str, progress: Any) -> Any:
    from reward_model.offline import OfflineScorer
    from workbench.embedders import open_embedder
    from workbench.vector_cache import VectorCache

    cache = VectorCache(out.workspace.folder("cache"), out.workspace.read_only)
    return OfflineScorer(open_embedder(embedder), cache, lambda d, n: progress("reading", d, n))


def _judge(out: Output, llm: str | None, progress: Any) -> Any:
    from reward_model.judge_scorer import JudgeScorer
    from workbench.chat_models import open_llm

    model = open_llm(llm, out.workspace)
    return JudgeScorer(model, lambda done, n: progress("features", done, n))


SCORERS: dict[str, Any] = {"offline": _offline, "judge": _judge}


def _refuse_unread(scores: Any) -> None:
    """Scores without one grade of the model are none, whatever the counted features say."""
    from reward_model.rubric import SCORED

    if all(scores.frame[key].null_count() == scores.frame.height for key in SCORED):
        told = ", ".join(f"{n} × {reason}" for reason, n in scores.failed.items())
        raise ModelError(f"the model graded nothing: {told}")


def _described(scores: Any) -> dict[str, Any]:
    """Every feature's mean, deviation and missing values, and why they are missing."""
    frame, keys = scores.frame, scores.frame.columns[1:]
    return {
        "n": frame.height,
        "missing": {key: frame[key].null_count() for key in keys},
        "failed": dict(scores.failed),
        "mean": {key: frame[key].mean() for key in keys},
        "deviation": {key: frame[key].std() for key in keys},
    }


def _tabled(told: dict[str, Any]) -> Iterator[Any]:
    yield from synthetic(told)
    left = {why: n for why, n in told["dropped"].items() if n and why != "kept"}
    dropped = ", ".join(f"{n} {why}" for why, n in left.items()) or "none"
    yield f"{shown(told['name'])}; dropped by the quality filter: {dropped}"
    for title, rows in told["preference"].items():
        fields = [key for key in ("regime", "generator") if key in title]
        body = [
            [
                *(shown(row[key]) for key in fields),
                row["n"],
                *(
                    interval(row[side]["share"], (row[side]["lo"], row[side]["hi"]))
                    for side in ("memory", "none", "tie")
                ),
            ]
            for row in rows
            if row["n"]
        ]
        yield table(f"preferred, by {title}" if fields else "preferred", [*fields, *SIDES], body)
    retest = told["retest"]
    rows = [
        [name, interval(one["agreement"], (one["lo"], one["hi"])), one["n"]]
        for name, one in {"all": retest["overall"], **retest["by_strength"]}.items()
    ]
    yield table(f"test-retest agreement ({retest['repeats']} repeats)", RETEST, rows)
    yield (
        "paper, its own participants (a reference): conservative 43.3/40.6/16.1, ordinary "
        "38.7/41.9/19.4, aggressive 34.6/49.3/16.2; agreement 68.0, much 73.9, slightly 58.6"
    )


def _scored(told: dict[str, Any]) -> Iterator[Any]:
    yield from synthetic(told)
    yield f"scores {told['scores']} of {told['n']} comparisons by {told['scorer']['name']}"
    rows = [
        [key, told["mean"][key], told["deviation"][key], told["missing"][key]]
        for key in told["mean"]
    ]
    yield table("", ["feature", "mean", "deviation", "not scored"], rows)
    for reason, n in told["failed"].items():
        yield f"{n} × {shown(reason)}"
    if (usage := told["usage"]) is not None:
        yield f"asked {usage['calls']} times, {usage['cached']} replies were known"


def _listed(told: dict[str, Any]) -> Iterator[Any]:
    rows = [
        [name, one["comparisons"], one["participants"], one["judged"], _mark(one), one["content"]]
        for name, one in told["comparisons"].items()
    ]
    if not rows:
        yield "no comparisons yet: workbench reward simulate, or workbench reward import FILE"
        return
    columns = ["comparisons", "n", "participants", "judged", "", "content"]
    yield table("", columns, rows)
    scores = [
        [name, one["scorer"]["name"], one["n"], one["content"]]
        for name, one in told["scores"].items()
    ]
    yield table("", ["scores", "scorer", "n", "of content"], scores)
    models = [
        [name, one["dataset"], one["scorer"].get("name", ""), one["n"], f"{one['C']:g}", _mark(one)]
        for name, one in told["models"].items()
    ]
    yield table("", ["model", "fitted to", "scorer", "n", "C", ""], models)


def _mark(one: dict[str, Any]) -> str:
    return "synthetic" if one["synthetic"] else ""
