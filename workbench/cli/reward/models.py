"""Commands `reward fit | explain`: one model, its coefficients, and why it says what it says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.cli.command import Llm, command
from workbench.cli.output import Output, shown, table
from workbench.cli.reward.judgments import Name, interval, synthetic
from workbench.errors import DataError, UsageError

__all__ = [
    "Features",
    "Scorer",
    "Strengths",
    "coefficient_table",
    "explained",
    "fit_report",
    "plan_of",
    "register",
]

Scorer = Annotated[
    str | None,
    typer.Option(help="Whose scores: simulator, offline, or an id. Needed if there are several."),
]
Strengths = Annotated[
    str, typer.Option(help="Which judgments are fitted: much, slightly, or both with a comma.")
]
Features = Annotated[
    str | None, typer.Option(help="Features with commas. Default: all twelve of the rubric.")
]


def register(app: typer.Typer) -> None:
    command(app, "fit")(fit)
    command(app, "explain")(explain)


def fit(
    name: Name,
    out: Output,
    scorer: Scorer = None,
    c: Annotated[float, typer.Option("--C", help="Inverse strength of the penalty.")] = 0.1,
    strengths: Strengths = "much",
    features: Features = None,
    to: Annotated[
        Path | None, typer.Option(help="Also write the model (plain JSON) to a file.")
    ] = None,
) -> None:
    """Fit the model to all clear preferences, and keep it (accuracy: `reward evaluate`)."""
    from reward_model.fitting import fit_comparisons, fitted
    from reward_model.models import save_model
    from reward_model.scores import load_scores
    from reward_model.store import open_comparisons

    chosen = open_comparisons(out.workspace, name)
    plan = plan_of(strengths, features, out.seed)
    scores = load_scores(out.workspace, chosen.content, scorer)
    model = fit_comparisons(chosen, scores, plan, c)
    if to is not None:
        model.save(to)
    told = {"model": save_model(out.workspace, model), **fitted(model)}
    out.data(told | {"file": None if to is None else str(to)}, fit_report)


def explain(
    model: Annotated[str, typer.Argument(help="A model's id (`reward list`), or its file.")],
    out: Output,
    comparison: Annotated[str | None, typer.Argument(help="Id of a comparison.")] = None,
    of: Annotated[
        str | None, typer.Option(help="The set that has it. Default: what the model was fitted to.")
    ] = None,
    scorer: Scorer = None,
    pair: Annotated[
        Path | None,
        typer.Option(
            help="A pair of your own instead: JSON with query, memories, with_memory, "
            "without_memory. Scored offline, or with --llm by that model."
        ),
    ] = None,
    other_scorer: Annotated[
        bool,
        typer.Option("--other-scorer", help="Score it although the model had another scorer."),
    ] = False,
    llm: Llm = None,
) -> None:
    """Why the model has the log odds that it has for one pair: the sum, part by part."""
    from reward_model.models import open_model

    fitted = open_model(out.workspace, model)
    if (comparison is None) == (pair is None):
        raise UsageError("name a comparison, or a file with --pair; one of them")
    if llm is not None and pair is None:
        raise UsageError("--llm scores a pair of --pair; a comparison has its scores already")
    if pair is not None:
        told = _of_file(out, fitted, (pair, llm), other_scorer)
    else:
        told = _of_set(out, fitted, str(comparison), of, scorer)
    out.data(told, explained)


def _of_set(out: Output, model: Any, comparison: str, of: str | None, scorer: str | None) -> Any:
    from reward_model.fitting import explain_comparison
    from reward_model.scores import load_scores
    from reward_model.store import open_comparisons

    origin = model.file_.origin
    name = of or origin.dataset
    if not name:
        raise UsageError("the model does not say what it was fitted to; name a set with --of")
    chosen = open_comparisons(out.workspace, name)
    scores = load_scores(out.workspace, chosen.content, scorer or origin.scorer.get("name"))
    return explain_comparison(model, chosen, scores, comparison)


def _of_file(out: Output, model: Any, given_by: tuple[Path, str | None], other_scorer: bool) -> Any:
    import msgspec

    from reward_model.reward import MemoryReward
    from reward_model.schema import Pair

    path, llm = given_by
    try:
        given = msgspec.json.decode(path.read_bytes(), type=Pair)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: no pair can be read from it ({error})") from error
    scorer = _scorer(out, model.file_.origin.scorer, llm)
    reward = MemoryReward(model, scorer, other_scorer=other_scorer)
    document: dict[str, Any] = msgspec.to_builtins(reward.explain(given))
    return document | {"scorer": scorer.identity, "file": str(path)}


def _scorer(out: Output, origin: dict[str, Any], llm: str | None) -> Any:
    """The offline scorer; or the language model, where one is named or graded for the model."""
    if llm is not None or origin.get("name") == "judge":
        from reward_model.judge_scorer import JudgeScorer
        from workbench.chat_models import open_llm

        return JudgeScorer(open_llm(llm, out.workspace))
    from reward_model.offline import OfflineScorer
    from workbench.embedders import open_embedder
    from workbench.vector_cache import VectorCache

    cache = VectorCache(out.workspace.folder("cache"), out.workspace.read_only)
    return OfflineScorer(open_embedder(origin.get("embedder", "minilm")), cache)


def plan_of(strengths: str, features: str | None, seed: int, **others: Any) -> Any:
    """An EvaluationPlan of what the options say. Raises UsageError for unknown words."""
    from reward_model.material import EvaluationPlan
    from reward_model.rubric import RUBRIC

    asked = {piece.strip() for piece in strengths.split(",") if piece.strip()}
    if not asked or asked - {"much", "slightly"}:
        raise UsageError(f"--strengths takes much, slightly, or both, not {strengths!r}")
    chosen: Any = tuple(sorted(asked))
    named = None
    if features is not None:
        named = tuple(piece.strip().upper() for piece in features.split(",") if piece.strip())
        if not named or set(named) - set(RUBRIC):
            raise UsageError(f"--features takes some of {', '.join(RUBRIC)}, not {features!r}")
    return EvaluationPlan(strengths=chosen, features=named, seed=seed, **others)


def coefficient_table(rows: list[dict[str, Any]], title: str) -> Any:
    """Coefficients with intervals, which depend on memories, and the paper's beside them."""
    from reward_model.rubric import RUBRIC

    body = [
        [
            row["feature"],
            RUBRIC[row["feature"]].title if row["feature"] in RUBRIC else "",
            interval(row["beta"], (row["lo"], row["hi"]), "+.3f"),
            f"{RUBRIC[row['feature']].paper:+.3f}" if row["feature"] in RUBRIC else "",
            "yes" if row["memory"] else "no",
        ]
        for row in rows
    ]
    return table(title, ["", "feature", "β", "paper's β", "memory"], body)


def fit_report(told: dict[str, Any]) -> Iterator[Any]:
    yield from synthetic(told)
    left = ", ".join(f"{n} {why}" for why, n in told["excluded"].items() if n) or "none"
    yield (
        f"model {told['model']}: fitted to {told['n']} comparisons of {told['participants']} "
        f"participants of {shown(told['dataset'])} ({told['preferring_memory']} prefer memory); "
        f"scorer {told['scorer'].get('name', '?')}, C = {told['C']:g}; not fitted: {left}"
    )
    title = f"weights in log odds a standard deviation, shrunken; {told['level']:.0%} intervals"
    yield coefficient_table(told["rows"], title)
    yield from map(shown, told["notes"])
    if told.get("file"):
        yield f"written to {shown(told['file'])}"


def explained(told: dict[str, Any]) -> Iterator[Any]:
    """The sum of an explanation, the largest parts first."""
    yield from synthetic(told)
    parts = sorted(told["parts"], key=lambda part: -abs(part["contribution"]))
    rows = [[part["feature"], part["value"], part["contribution"]] for part in parts]
    rows += [["intercept", "", told["intercept"]], ["log odds", "", told["logit"]]]
    yield table("", ["feature", "value", "adds to the log odds"], rows)
    yield f"probability that the memory response is preferred: {told['probability']:.3f}"
    if told.get("judgment"):
        preferred = {True: "with memory", False: "without memory", None: "neither"}
        yield f"judged: {told['judgment']} (preferred: {preferred[told['prefers_memory']]})"
