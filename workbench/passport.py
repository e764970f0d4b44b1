"""What a figure, a table or a report says of its own origin, and carries wherever it is copied."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
import polars as pl

from workbench import __version__
from workbench.intervals import Basis
from workbench.runs import Run
from workbench.schema import Record, digest_of
from workbench.stats import mean_interval

__all__ = ["Passport", "passport_of", "passport_of_banks", "passport_of_question"]

# Digests are shown short: enough to tell runs apart by eye; the files hold them whole.
SHOWN = 10
LEVEL = 0.95
# What intervals speak of; comparisons of responses are grouped by participants.
Over = Basis | Literal["participants", "comparisons"]


class Passport(Record, frozen=True, kw_only=True, omit_defaults=False):
    """Where results come from.

    `run` is the run's id, `data` the digest of the data (or answers) behind it, `recipe` that of
    all its settings, `code` the workbench's version. `n` questions were scored, in `clusters`
    conversations or users; `excluded` says how many were not, by reason.
    `level` and `basis` are those of the intervals, `against` is the run compared with. `rewriter`
    says whose words were searched with, where not the questions' own.
    """

    run: str
    kind: str
    dataset: str
    data: str
    recipe: str
    code: str
    seed: int
    n: int
    clusters: int
    excluded: dict[str, int] = msgspec.field(default_factory=dict)
    level: float = LEVEL
    basis: Over = "conversations"
    against: str = ""
    rewriter: str = ""

    @property
    def counts(self) -> str:
        """ "n = 1,536 questions in 10 conversations; excluded: 4 without evidence"."""
        where = f" in {self.clusters:,} {_plural('conversation', self.clusters)}"
        left = ", ".join(f"{n:,} {why}" for why, n in sorted(self.excluded.items()) if n)
        return (
            f"n = {self.n:,} {_plural('question', self.n)}{where if self.clusters else ''}; "
            f"excluded: {left or 'none'}"
        )

    @property
    def intervals(self) -> str:
        """ "95% intervals over conversations": what a band or a bracket speaks of."""
        few = " (too few conversations to speak of others)" if self.basis == "questions" else ""
        return f"{self.level:.0%} intervals over {self.basis}{few}"

    @property
    def origin(self) -> str:
        """The rest of it in one line."""
        other = f" against {self.against[:SHOWN]}" if self.against else ""
        words = f" · in the words of {self.rewriter}" if self.rewriter else ""
        return (
            f"Data {self.dataset} {self.data[:SHOWN]} · recipe {self.recipe[:SHOWN]} · "
            f"code {self.code} · seed {self.seed} · run {self.run[:SHOWN]}{other}{words}"
        )


def passport_of(run: Run, against: Run | None = None) -> Passport:
    """The passport of a saved run, or of one compared with another over the questions of both.

    What a kind of run calls its inputs is its own affair: everything in its identity that is not
    the data or the seed counts as its recipe.
    """
    manifest, identity = run.manifest, dict(run.manifest["identity"])
    frame = run.frame
    if against is not None:
        frame = frame.join(against.frame, on=["question", "metric"], how="semi")
    scored = frame.select("question", "scope").unique()
    recipe = identity.get("recipe")
    seed = _first((identity, manifest, recipe or {}), ("seed",), 0)
    data = _first((identity, manifest), ("content", "data", "banks"), "")
    level = _first((manifest, identity), ("level",), LEVEL)
    settings = {k: v for k, v in identity.items() if k not in ("content", "data", "seed")}
    return Passport(
        run=run.id,
        kind=str(manifest["kind"]),
        dataset=str(_first((identity, manifest), ("dataset", "name"), "")),
        data=str(data),
        recipe=digest_of(settings if recipe is None else recipe),
        code=str(manifest.get("code", "")),
        seed=int(seed),
        n=scored["question"].n_unique(),
        clusters=scored["scope"].n_unique(),
        excluded=dict(manifest.get("excluded") or {}),
        # Evidence recall calls the turn or session at which it counts its level, too.
        level=level if isinstance(level, float) else LEVEL,
        basis=_basis(frame),
        against=against.id if against else "",
        rewriter=_rewriters(run, against),
    )


def _basis(frame: pl.DataFrame) -> Basis:
    """What the intervals of a frame's first measure speak of."""
    first = frame.drop_nulls("value").filter(pl.col("metric") == pl.col("metric").first())
    if not len(first):
        return "conversations"
    return mean_interval(first["value"].to_numpy(), first["scope"].to_list()).basis


def _rewriters(*runs: Run | None) -> str:
    """Whose words some runs were searched with: "trained tiny 0ddba11500", no path of a machine."""
    told = (run.manifest["identity"].get("rewriter") for run in runs if run is not None)
    return "+".join(dict.fromkeys(_named(one) for one in told if isinstance(one, Mapping)))


def _named(rewriter: Mapping[str, Any]) -> str:
    """A rewriter by its name, its model's, and the digest of its weights, as far as it has them."""
    own, asked = rewriter.get("identity"), rewriter.get("llm")
    model = next((one for one in (own, asked) if isinstance(one, Mapping)), {})
    said = [str(model.get("model", "")), str(model.get("weights", ""))[:SHOWN]]
    return " ".join(filter(None, [str(rewriter.get("name", "")), *said]))


def passport_of_question(asked: Mapping[str, Any], dataset: str) -> Passport:
    """The passport of one question's two rankings, as `workbench ask --json` prints them."""
    searched = [asked["searched_with"]] if "searched_with" in asked else []
    return Passport(
        run="none kept",
        kind="ask",
        dataset=dataset,
        data=str(asked["banks"]),
        recipe=digest_of([asked["recipe"], *searched] if searched else asked["recipe"]),
        code=__version__,
        seed=int(asked["recipe"]["seed"]),
        n=1,
        clusters=0,
        rewriter=str(asked.get("rewriter", "")),
    )


def passport_of_banks(manifest: Mapping[str, Any], n: int, **more: Any) -> Passport:
    """The passport of what is read from banks alone: `manifest` is the bank set's, `n` whatever a
    figure counts (memories, sessions), which its caption names; `more` are fields of a passport."""
    made_by = ("memories", "embedder", "fingerprint", "rules", "tau")
    return Passport(
        run="none kept",
        kind="inspection",
        dataset=str(manifest.get("dataset", "")),
        data=str(manifest["id"]),
        recipe=digest_of({name: manifest.get(name) for name in made_by}),
        code=__version__,
        n=n,
        **{"seed": 0, "clusters": 0, **more},
    )


def _first(places: tuple[Mapping[str, Any], ...], names: tuple[str, ...], default: Any) -> Any:
    """The first of some names that one of some mappings has."""
    found = (place[name] for name in names for place in places if place.get(name) is not None)
    return next(found, default)


def _plural(noun: str, n: int) -> str:
    return noun if n == 1 else f"{noun}s"
