"""What a figure of the reward model says of its origin, and how it begins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import plotly.graph_objects as go

from reward_model.model_file import ModelFile
from reward_model.outcome import BASES
from reward_model.schema import ComparisonSet
from workbench import __version__
from workbench.passport import Over, Passport, passport_of
from workbench.run_list import named_scorer
from workbench.runs import Run
from workbench.schema import digest_of
from workbench.theme import axes

__all__ = [
    "ComparisonPassport",
    "comparisons_passport",
    "evaluation_passport",
    "model_passport",
    "opened",
]

SYNTHETIC = "SYNTHETIC DATA: made-up judgments, no findings about people"


class ComparisonPassport(Passport, frozen=True, kw_only=True, omit_defaults=False):
    """A passport that counts comparisons and participants.

    `scorer` names who scored the features ("" where none are shown), `synthetic` whether any of
    the data was made up.
    """

    scorer: str = ""
    synthetic: bool = False
    basis: Over = "participants"

    @property
    def counts(self) -> str:
        """ "n = 291 comparisons by 87 participants; excluded: 4 too fast"."""
        who = f" by {self.clusters:,} {_plural('participant', self.clusters)}"
        left = ", ".join(f"{n:,} {why}" for why, n in sorted(self.excluded.items()) if n)
        return (
            f"n = {self.n:,} {_plural('comparison', self.n)}{who if self.clusters else ''}; "
            f"excluded: {left or 'none'}"
        )

    @property
    def intervals(self) -> str:
        """ "95% intervals over participants"."""
        few = self.basis == "comparisons"
        what = "comparisons (too few participants to speak of others)" if few else "participants"
        return f"{self.level:.0%} intervals over {what}"

    @property
    def origin(self) -> str:
        """The rest of it in one line."""
        scored = f" · features scored by {self.scorer}" if self.scorer else ""
        return f"{SYNTHETIC + '. ' if self.synthetic else ''}{super().origin}{scored}"


def evaluation_passport(run: Run) -> ComparisonPassport:
    """The passport of a run of kind "reward-evaluate"."""
    told = msgspec.to_builtins(passport_of(run))
    scorer = run.manifest["identity"].get("scorer") or {}
    return ComparisonPassport(
        **(told | {"basis": BASES[told["basis"]]}),
        scorer=named_scorer(scorer) if scorer else "",
        synthetic=bool(run.manifest.get("synthetic")),
    )


def comparisons_passport(
    chosen: ComparisonSet, rows: Sequence[Mapping[str, Any]], what: str = "preferences"
) -> ComparisonPassport:
    """The passport of a table of comparisons themselves, as `agreement.preference_table` gives it.

    Its n is the sum of the rows'; participants are those of the whole set.
    """
    excluded: Counter[str] = Counter()
    for one in rows:
        excluded.update(one.get("excluded") or {})
    return ComparisonPassport(
        run="none kept",
        kind=what,
        dataset=chosen.name,
        data=chosen.content,
        recipe=digest_of(what),
        code=__version__,
        seed=0,
        n=sum(one["n"] for one in rows),
        clusters=len(chosen.participants),
        excluded=dict(excluded),
        synthetic=chosen.synthetic,
    )


def model_passport(file: ModelFile) -> ComparisonPassport:
    """The passport of a fitted model (`MemoryAwareRewardModel.file_`)."""
    origin = file.origin
    return ComparisonPassport(
        run="none kept",
        kind="reward-model",
        dataset=origin.dataset,
        data=origin.data,
        recipe=digest_of({"C": file.C, "features": [one.name for one in file.features]}),
        code=file.code,
        seed=0,
        n=file.n,
        clusters=file.participants,
        excluded=origin.excluded,
        level=file.level,
        scorer=named_scorer(origin.scorer) if origin.scorer else "",
        synthetic=origin.synthetic,
    )


def opened(
    passport: ComparisonPassport, title: str, subtitle: str, x: tuple[str, str], height: int
) -> go.Figure:
    """An empty figure whose subtitle begins with what must not be overlooked; `x` are the titles
    of both axes."""
    said = [SYNTHETIC.partition(":")[0]] if passport.synthetic else []
    return axes(title, " · ".join([*said, *([subtitle] if subtitle else [])]), *x, height=height)


def _plural(noun: str, n: int) -> str:
    return noun if n == 1 else f"{noun}s"
