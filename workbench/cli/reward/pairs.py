"""Command `reward pairs`: a model answers queries with memories and without; pairs to be judged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from workbench.cli.command import PARTIAL, Llm, command
from workbench.cli.output import Output, shown, table
from workbench.cli.reward.judgments import MADE_UP
from workbench.errors import DataError, UsageError

__all__ = ["register"]

SCREENS = ("none", "offline", "llm")
SHOWN = 15

Source = Annotated[
    str, typer.Argument(help="A dataset; or, with --profile, a participant with a profile.")
]
Into = Annotated[str, typer.Option(help="Name of the set of comparisons that the pairs go into.")]
Profile = Annotated[
    bool, typer.Option("--profile", help="Queries and memories of a participant's own profile.")
]
Queries = Annotated[
    Path | None,
    typer.Option(help='JSONL of {"participant", "query"}. Default: the dataset\'s questions.'),
]
Regime = Annotated[
    str, typer.Option(help="conservative, ordinary, aggressive; several with commas, or all.")
]
Screen = Annotated[
    str, typer.Option(help="Who chooses the best pairs: none, offline (rules), llm (the model).")
]


Memories = Annotated[str, typer.Option(help="Kind of memories of a dataset.")]
Embedder = Annotated[str, typer.Option(help="What retrieves.")]
Limit = Annotated[int | None, typer.Option(help="The first queries only.")]
Room = Annotated[int, typer.Option(help="Tokens that a response may have.")]
Temperature = Annotated[float, typer.Option(help="0: the likeliest response.")]
Best = Annotated[int, typer.Option(help="How many of each participant are chosen.")]
To = Annotated[Path | None, typer.Option(help="Write the pairs as well: jsonl, csv or parquet.")]


def register(app: typer.Typer) -> None:
    command(app, "pairs")(pairs)


def pairs(
    source: Source,
    into: Into,
    out: Output,
    llm: Llm = None,
    profile: Profile = False,
    queries: Queries = None,
    memories: Memories = "turns",
    embedder: Embedder = "minilm",
    regime: Regime = "ordinary",
    limit: Limit = None,
    max_tokens: Room = 600,
    temperature: Temperature = 0.0,
    screen: Screen = "none",
    best: Best = 15,
    to: To = None,
) -> None:
    """Write two responses to each query, with nine memories and without, to be judged by people.

    Each is a call of its own. What is there is never made again; exit code 3 where calls failed
    (the same command asks for them again), 5 where all did. Chosen pairs go into INTO-best.
    """
    from workbench.chat_models import open_llm

    regimes = _regimes(regime)
    _check(screen, to)
    model = open_llm(llm, out.workspace)
    with out.progress() as progress:
        how = (memories, embedder, queries, limit)
        wanted = _wanted(out, source, profile, how, progress)
        options = {"regimes": regimes, "max_tokens": max_tokens, "temperature": temperature}
        told = _answered(out, into, wanted, (model, options), progress)
        chosen = _screened(out, into, screen, (model, embedder, best, _screened_regime(regimes)))
    told |= {"screened": chosen, "file": _written(out, into, to), "usage": model.usage.record}
    if told["pending"] or (chosen and chosen["not_scored"]):
        out.exit_code = PARTIAL
    out.data(told, _made)


def _check(screen: str, to: Path | None) -> None:
    if screen not in SCREENS:
        raise UsageError(f"--screen is one of {', '.join(SCREENS)}, not {screen!r}")
    if to is not None and to.suffix.lower() not in (".jsonl", ".csv", ".parquet"):
        raise UsageError(f"--to ends in .jsonl, .csv or .parquet, not {to.name!r}")


def _wanted(
    out: Output, source: str, profile: bool, how: tuple[Any, ...], progress: Any
) -> tuple[list[Any], dict[str, int]]:
    """The queries with their memories, and what was left out."""
    *_, limit = how
    found = _of_profile(out, source, how[1]) if profile else _of_dataset(out, source, how, progress)
    if not found.pairs:
        raise DataError(f"{source}: no query to answer ({found.left_out or 'none there'})")
    return found.pairs[:limit], found.left_out


def _answered(
    out: Output,
    into: str,
    wanted: tuple[list[Any], dict[str, int]],
    how: tuple[Any, ...],
    tell: Any,
) -> dict[str, Any]:
    from reward_model.pairs import PairOptions, make_pairs

    model, options = how
    asked, left = wanted
    told = make_pairs(
        out.workspace, into, asked, model, PairOptions(**options, seed=out.seed), tell
    )
    return {**told, "left_out": left, "synthetic": asked[0].synthetic}


def _regimes(given: str) -> tuple[str, ...]:
    from reward_model.schema import REGIMES

    names = REGIMES if given == "all" else tuple(n.strip() for n in given.split(",") if n.strip())
    strange = [name for name in names if name not in REGIMES]
    if strange or not names:
        raise UsageError(f"--regime is one of {', '.join(REGIMES)} or all, not {given!r}")
    return tuple(dict.fromkeys(names))


def _screened_regime(regimes: tuple[str, ...]) -> str:
    """The paper's, where it was written."""
    return "ordinary" if "ordinary" in regimes else regimes[0]


def _of_profile(out: Output, participant: str, embedder: str) -> Any:
    from reward_model.profile_store import open_draft
    from reward_model.wanted_pairs import wanted_of_profile
    from workbench.embedders import open_embedder
    from workbench.vector_cache import VectorCache

    cache = VectorCache(out.workspace.folder("cache"), out.workspace.read_only)
    return wanted_of_profile(open_draft(out.workspace, participant), open_embedder(embedder), cache)


def _of_dataset(out: Output, name: str, how: tuple[Any, ...], progress: Any) -> Any:
    from reward_model.wanted_pairs import asked_of_questions, read_queries, wanted_of_dataset
    from workbench.library import open_banks

    memories, embedder, queries, limit = how
    banks = open_banks(out.workspace, name, memories, embedder, progress)
    asked, left = (
        asked_of_questions(banks) if queries is None else (read_queries(queries, banks), {})
    )
    found = wanted_of_dataset(banks, asked[:limit])
    return found._replace(left_out={**left, **found.left_out})


def _screened(out: Output, into: str, screen: str, how: tuple[Any, ...]) -> dict[str, Any] | None:
    """The set of the best pairs, and what the screening said of each."""
    if screen == "none":
        return None
    from reward_model.pairs import screen_pairs
    from reward_model.screening import ScreeningRules
    from reward_model.screening_judge import PromptedScreener
    from reward_model.screening_offline import OfflineScreener
    from workbench.embedders import open_embedder
    from workbench.vector_cache import VectorCache

    model, embedder, best, regime = how
    screener: Any = PromptedScreener(model)
    if screen == "offline":
        cache = VectorCache(out.workspace.folder("cache"), out.workspace.read_only)
        screener = OfflineScreener(open_embedder(embedder), cache)
    rules = ScreeningRules(best=best, regime=regime)
    name, found = screen_pairs(out.workspace, into, screener, rules)
    unread = {why: len(ids) for why, ids in found.dropped.items() if why.startswith("not scored")}
    return {
        "name": name,
        "screener": found.screener,
        "chosen": list(found.chosen),
        "passed_over": len(found.passed_over),
        "dropped": {why: len(ids) for why, ids in found.dropped.items()},
        "not_scored": unread,
        "short": found.short,
    }


def _written(out: Output, into: str, to: Path | None) -> str | None:
    if to is None:
        return None
    from reward_model.loading import export_comparisons
    from reward_model.store import open_comparisons

    return str(export_comparisons(open_comparisons(out.workspace, into).comparisons, to))


def _made(told: dict[str, Any]) -> Iterator[Any]:
    if told["synthetic"]:
        yield f"{MADE_UP}: the people of the sample are invented"
    generator = told["generator"].get("model", told["generator"].get("kind", ""))
    yield (
        f"{shown(told['name'])}: {told['wanted']} pairs wanted ({', '.join(told['regimes'])}), "
        f"{told['held']} there before, {told['made']} made, {told['pending']} pending; written by "
        f"{shown(str(generator), 80)}"
    )
    for what in ("failures", "left_out"):
        if told[what]:
            counted = ", ".join(f"{n} {why}" for why, n in told[what].items())
            yield f"{what.replace('_', ' ')}: {counted}"
    cost = "unknown" if told["cost"] is None else f"{told['cost']:.4f}"
    yield (
        f"tokens: {told['tokens']['in']} in, {told['tokens']['out']} out; {told['seconds']:.1f} s; "
        f"cost {cost} (WORKBENCH_LLM_PRICES)"
    )
    if screened := told["screened"]:
        yield from _chosen(screened)
    if told.get("file"):
        yield f"written: {shown(told['file'])}"
    ready = screened["name"] if screened else told["name"]
    yield f"next: workbench explore, page Study: start a collection from {shown(ready)}"


def _chosen(screened: dict[str, Any]) -> Iterator[Any]:
    left = ", ".join(f"{n} {why}" for why, n in screened["dropped"].items()) or "none"
    yield (
        f"{shown(screened['name'])}: {len(screened['chosen'])} chosen by "
        f"{screened['screener']['name']}, {screened['passed_over']} passed over; dropped: {left}"
    )
    rows = [
        [shown(one["participant"], 30), one["rank"], one["score"], shown(one["id"])]
        for one in screened["chosen"][:SHOWN]
    ]
    yield table("", ["participant", "rank", "score", "pair"], rows)
