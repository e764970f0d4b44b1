"""Commands `reward simulate | import`: judgments, one's own or made up."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from workbench.cli.command import PARTIAL, command
from workbench.cli.output import Output, shown, table
from workbench.errors import UsageError

if TYPE_CHECKING:
    from reward_model.simulate import SimulationOptions

__all__ = ["Name", "interval", "register", "synthetic"]

MADE_UP = "SYNTHETIC: no person gave these judgments, and they say nothing about people"

SHOWN = 12

Name = Annotated[str, typer.Argument(help="Name of a set of comparisons.")]

Comparisons = Annotated[
    int, typer.Option(help="Comparisons in all, ties included; repeats and checks come on top.")
]
PositionBias = Annotated[float, typer.Option(help="What being shown as A is worth, in log odds.")]
ParticipantSpread = Annotated[
    float, typer.Option(help="Deviation of participants' own base rates, in log odds.")
]
RetestNoise = Annotated[
    float, typer.Option(help="Deviation of what changes from one showing to the next.")
]
Careless = Annotated[int, typer.Option(help="Participants who choose A, always, at once.")]


def register(app: typer.Typer) -> None:
    command(app, "simulate")(simulate)
    command(app, "import")(import_)


def simulate(
    out: Output,
    participants: Annotated[int, typer.Option(help="Synthetic participants.")] = 87,
    comparisons: Comparisons = 821,
    name: Annotated[str, typer.Option(help="Name of the set.")] = "simulated",
    position_bias: PositionBias = 0.0,
    participant_sd: ParticipantSpread = 0.5,
    retest: Annotated[int, typer.Option(help="How many comparisons are shown again.")] = 75,
    retest_noise: RetestNoise = 1.9,
    tie_share: Annotated[float, typer.Option(help="Expected share of ties.")] = 0.18,
    careless: Careless = 0,
) -> None:
    """Make synthetic judgments with known weights (the paper's coefficients), and their features.

    For demonstration, teaching and testing; marked as synthetic wherever they appear. They replace
    synthetic ones of the same name, and never people's.
    """
    from reward_model.simulate import SimulationOptions

    options = SimulationOptions(
        participants=participants,
        comparisons=comparisons,
        seed=out.seed,
        position_bias=position_bias,
        participant_sd=participant_sd,
        retest=retest,
        retest_noise=retest_noise,
        tie_share=tie_share,
        careless=careless,
    )
    out.data(_made(out, name, options), _simulated)


def _made(out: Output, name: str, options: SimulationOptions) -> dict[str, Any]:
    """Simulate, keep judgments and planned features, and tell of both."""
    from reward_model.scores import save_scores
    from reward_model.simulate import simulate
    from reward_model.store import save_comparisons

    made = simulate(options)
    kept = save_comparisons(out.workspace, name, made.comparisons, "workbench reward simulate")
    return {
        **_counted(kept.name, made.comparisons),
        "content": kept.content,
        "synthetic": True,
        "scores": save_scores(out.workspace, made.scores(kept.content)),
        "options": msgspec.to_builtins(options),
        "truth": made.truth,
    }


def import_(
    file: Annotated[Path, typer.Argument(help="JSONL, JSON, CSV or Parquet file of judgments.")],
    out: Output,
    name: Annotated[str, typer.Option(help="Name of the set. Default: the file's.")] = "",
    column: Annotated[
        list[str] | None,
        typer.Option(help="FIELD=COLUMN, where the file calls a field something else."),
    ] = None,
    judgment: Annotated[
        list[str] | None,
        typer.Option(help='WRITTEN=JUDGMENT, such as --judgment "A=A much better".'),
    ] = None,
) -> None:
    """Bring one's own judgments: every row is imported, or listed with the reason why not.

    Adding the same file again adds nothing. Exit code 3 where rows were refused, 4 where all were.
    """
    from reward_model.loading import load_comparisons
    from reward_model.store import add_comparisons
    from workbench.errors import DataError

    read, report = load_comparisons(
        file, _pairs(column, "--column"), _pairs(judgment, "--judgment")
    )
    if not read:
        reasons = "; ".join(f"line {r.line}: {r.field}: {r.reason}" for r in report.refused[:3])
        raise DataError(f"{file}: none of its {report.rows} rows is a comparison ({reasons})")
    added = add_comparisons(out.workspace, name or _name(file), read, source=file.name)
    told = {
        **_counted(added.held.name, added.held.comparisons),
        "content": added.held.content,
        "synthetic": added.held.synthetic,
        **{key: getattr(added, key) for key in ("added", "updated", "unchanged", "lost")},
        "conflicts": list(added.conflicts),
        "report": msgspec.to_builtins(report),
    }
    if report.refused or added.conflicts:
        out.exit_code = PARTIAL
    out.data(told, _imported)


def synthetic(told: dict[str, Any]) -> Iterator[str]:
    """The line that goes before everything made from synthetic data."""
    if told["synthetic"]:
        yield MADE_UP


def interval(mean: float | None, ends: Sequence[float | None], form: str = ".3f") -> str:
    """ "0.728 [0.690, 0.765]"."""
    if mean is None:
        return "-"
    if ends[0] is None or ends[1] is None:
        return f"{mean:{form}}"
    return f"{mean:{form}} [{ends[0]:{form}}, {ends[1]:{form}}]"


def _counted(name: str, comparisons: Sequence[Any]) -> dict[str, Any]:
    ordinary = [one for one in comparisons if one.attention is None and one.repeat_of is None]
    strengths = [one.strength for one in ordinary]
    return {
        "name": name,
        "participants": len({one.participant for one in comparisons}),
        "comparisons": len(ordinary),
        "repeats": sum(one.repeat_of is not None for one in comparisons),
        "attention": sum(one.attention is not None for one in comparisons),
        "judged": {key: strengths.count(key) for key in ("much", "slightly", "tie", None)}
        | {"none": strengths.count(None)},
    }


def _pairs(given: list[str] | None, option: str) -> dict[str, str] | None:
    """{"participant": "Prolific ID"} of ["participant=Prolific ID"]."""
    pairs = [one.partition("=") for one in given or ()]
    wrong = next((one for one in pairs if not one[0] or not one[1]), None)
    if wrong:
        raise UsageError(f"{option} takes NAME=VALUE, not {wrong[0]!r}")
    return {key.strip(): value.strip() for key, _, value in pairs} or None


def _name(file: Path) -> str:
    """A set's name from a file's: what no name may hold becomes a dash."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", file.stem).strip("-._")[:64] or "judgments"


def _size(told: dict[str, Any]) -> Iterator[str]:
    judged = told["judged"]
    yield (
        f"{shown(told['name'])}: {told['comparisons']:,} comparisons of "
        f"{told['participants']:,} participants ({judged['much']} much, {judged['slightly']} "
        f"slightly, {judged['tie']} ties, {judged['none']} not judged), {told['repeats']} repeats, "
        f"{told['attention']} attention checks"
    )


def _simulated(told: dict[str, Any]) -> Iterator[Any]:
    yield from synthetic(told)
    yield from _size(told)
    bayes = told["truth"]["bayes_accuracy"]
    yield (
        f"who knew the weights could predict {bayes['much']:.1%} of the clear preferences "
        f"({bayes['strict']:.1%} of all)"
    )
    yield f"scores {told['scores']} (the planned features); next: workbench reward evaluate " + (
        shown(told["name"])
    )


def _imported(told: dict[str, Any]) -> Iterator[Any]:
    yield from synthetic(told)
    yield from _size(told)
    report = told["report"]
    yield (
        f"{report['rows']} rows ({report['format']}): {report['imported']} read, "
        f"{report['duplicates']} twice, {len(report['refused'])} refused; {told['added']} added, "
        f"{told['updated']} updated, {told['unchanged']} unchanged, "
        f"{len(told['conflicts'])} in conflict with what is held"
    )
    if told["lost"]:
        yield f"WARNING: {shown(told['lost'])}"
    if report["unknown_columns"]:
        yield f"columns left out: {shown(', '.join(report['unknown_columns']))}"
    for field, taken in report["absent"].items():
        yield f"no column for {field}: {shown(str(taken))}"
    rows = [[r["line"], r["field"], shown(r["reason"], 100)] for r in report["refused"][:SHOWN]]
    if rows:
        yield table("refused", ["line", "field", "reason"], rows)
    if len(report["refused"]) > SHOWN:
        yield f"… and {len(report['refused']) - SHOWN} more (--json lists all)"
    yield f"next: workbench reward features {shown(told['name'])}"
