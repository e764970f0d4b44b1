"""The exercises of the lesson: what the learner is asked, and whether an answer is right.

Every right answer is computed from the data at hand, none is written down here. A check says
whether the answer is right, and why, in a sentence that a page may show.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import polars as pl

from workbench.ask import asking
from workbench.bank_set import BankSet
from workbench.effects import Ranked
from workbench.passport import Passport, passport_of_banks
from workbench.schema import Question, Recipe, digest_of

__all__ = [
    "DIFFERENT",
    "SAME",
    "SOMEBODY",
    "VERDICTS",
    "Check",
    "check_best_lam",
    "check_control",
    "check_effects",
    "check_profile_alone",
    "check_rank",
    "check_twins",
    "control_rows",
    "lesson_passport",
    "lifted_most",
    "same_words",
    "twins",
]

SAME, DIFFERENT = "the same list", "different lists"
VERDICTS = (
    "one’s own profile finds clearly more",
    "no difference is shown",
    "one’s own profile finds clearly less",
)
SOMEBODY = "somebody else’s"
# What the settings of a control sweep are called here.
SETTINGS = {
    "profile": "one’s own",
    "none": "no profile",
    "other-user": SOMEBODY,
    "everyone": "everyone’s",
    "shuffled": "facts drawn at random",
    "random": "a random arrow",
}


class Check(NamedTuple):
    """Whether an answer is right (None: there is none yet), and why."""

    right: bool | None
    said: str


WAITING = Check(None, "Not answered yet.")


def same_words(found: Ranked) -> dict[str, list[Question]]:
    """The measurable questions that several people ask in the same words, by those words; the
    words that most people ask first."""
    by_text: dict[str, list[Question]] = {}
    for question in found.study.questions:
        if len(question.people) == 1:
            by_text.setdefault(question.text, []).append(question)
    several = {text: asked for text, asked in by_text.items() if len(asked) > 1}
    return dict(sorted(several.items(), key=lambda item: (-len(item[1]), item[0])))


def twins(questions: Sequence[Question]) -> tuple[Question, Question] | None:
    """Two people of one conversation among those who ask the same words; None where there are
    no such two."""
    for place, first in enumerate(questions):
        for second in questions[place + 1 :]:
            if first.scope == second.scope and first.people != second.people:
                return first, second
    return None


def lifted_most(frame: pl.DataFrame) -> str:
    """The id of the question whose evidence the prior lifts by the most places, of some rows of
    `effects.Ranked.at` that are known."""
    known = frame.drop_nulls(["rank_without", "rank_having"])
    best = (known if len(known) else frame).with_columns(
        places=pl.col("rank_without") - pl.col("rank_having")
    )
    return str(best.sort("places", "question", descending=[True, False])["question"][0])


def lesson_passport(found: Ranked, recipe: Recipe, n: int | None = None) -> Passport:
    """The passport of ranks of a study's questions, or of `n` of them."""
    study = found.study
    whole = passport_of_banks(study.banks.manifest, len(study.questions))
    return msgspec.structs.replace(
        whole,
        kind="ranks",
        recipe=digest_of(recipe),
        n=len(study.questions) if n is None else n,
        clusters=len(study.scopes) if n is None else 0,
        excluded=study.excluded if n is None else {},
    )


def control_rows(report: Mapping[str, Any], k: int) -> pl.DataFrame:
    """A `grids.control_sweep`'s report at one K as `figures.ablation_bars` takes it: `setting,
    mean, lo, hi`, and `difference, difference_lo, difference_hi` (null in the first row)."""
    rows = []
    for row in report["rows"]:
        lo, hi = row["interval"][str(k)]
        test = row.get("test", {}).get(str(k), {"difference": None, "interval": [None, None]})
        low, high = test["interval"]
        rows.append(
            {
                "setting": SETTINGS.get(row["setting"], row["setting"]),
                **{"mean": row["recall"][str(k)], "lo": lo, "hi": hi},
                "difference": test["difference"],
                **{"difference_lo": low, "difference_hi": high},
            }
        )
    return pl.DataFrame(rows, infer_schema_length=None)


# ---------------------------------------------------------------- checks


def check_twins(answer: str | None, banks: BankSet, pair: tuple[Question, Question]) -> Check:
    """Do two people who ask the same words, without a profile, get the same list?"""
    if not answer:
        return WAITING
    lists = [one.ranks(one.alone) for one in (asking(banks, q.id, Recipe()) for q in pair)]
    truth = SAME if lists[0] == lists[1] else DIFFERENT
    names = " and ".join(question.people[0] for question in pair)
    why = (
        f"{names} get the same list to the last place: the ranking sees the words, and who asks "
        "is not among them. Yet each of them needs another memory."
        if truth == SAME
        else f"{names} get different lists, though the words are the same."
    )
    return _checked(answer == truth, why)


def check_rank(answer: float | None, row: Mapping[str, Any]) -> Check:
    """At which rank does a person's evidence stand by the question alone? `row` is one of
    `effects.Ranked.at`."""
    if answer is None:
        return WAITING
    rank = row["rank_without"]
    if answer == row["rank_having"] != rank:
        return Check(False, "That is the dot, the rank with the profile. Look for the ring.")
    between = int(rank or 0) - 1
    return _checked(
        answer == rank,
        f"it stands at rank {rank}: {between} {_memories(between)} nearer to the question.",
    )


def check_best_lam(answer: float | None, found: Ranked, question: str) -> Check:
    """For which λ of the grid does a question's evidence stand highest?"""
    if answer is None:
        return WAITING
    place = [one.id for one in found.study.questions].index(question)
    ranks = {
        round(lam, 2): int(rank) for lam, rank in zip(found.lams, found.first[place], strict=True)
    }
    known = {lam: rank for lam, rank in ranks.items() if rank}
    best = min(known.values())
    where = sorted(lam for lam, rank in known.items() if rank == best)
    own = known.get(round(answer, 2))
    here = f"at λ = {answer:g} it stands at rank {own}" if own else f"λ = {answer:g} loses it"
    least, most = f"{where[0]:g}", f"{where[-1]:g}"
    places = least if least == most else f"{least} to {most}"
    return _checked(own == best, f"{here}; the best is rank {best}, at λ = {places}.")


def check_profile_alone(
    answer: str | None, banks: BankSet, recipe: Recipe, pair: tuple[Question, Question]
) -> Check:
    """At λ = 0, does one person get the same list for two different questions?"""
    if not answer:
        return WAITING
    alone = msgspec.structs.replace(recipe, lam=0.0)
    lists = [one.ranks(one.recipe) for one in (asking(banks, q.id, alone) for q in pair)]
    truth = SAME if lists[0] == lists[1] else DIFFERENT
    why = (
        "at λ = 0 the arrow z is the profile itself, and the question is no longer heard: "
        "whatever is asked, the list is the same."
        if truth == SAME
        else "this prior itself listens to the question, so even at λ = 0 the lists differ."
    )
    return _checked(answer == truth, why)


def check_effects(helped: str | None, hurt: str | None, frame: pl.DataFrame) -> Check:
    """Is one question found that the prior lifts, and one that it pushes down?"""
    if not helped or not hurt:
        return WAITING
    rows = {row["question"]: row for row in frame.iter_rows(named=True)}
    up, down = rows[helped], rows[hurt]
    told = "; ".join(
        f"{row['question']}: {_rank(row['rank_without'])} → {_rank(row['rank_having'])}"
        for row in (up, down)
    )
    right = _far(up["rank_having"]) < _far(up["rank_without"]) and (
        _far(down["rank_having"]) > _far(down["rank_without"])
    )
    return _checked(right, f"{told}. A rank that falls is a gain.")


def check_control(answer: str | None, row: Mapping[str, Any]) -> Check:
    """Does one's own profile find more than somebody else's? `row` is that control's in the table
    of `grids.control_sweep`: differences are the control's less one's own."""
    if not answer:
        return WAITING
    low, high = row["difference_lo"], row["difference_hi"]
    clear = low is not None and high is not None and (low > 0 or high < 0)
    truth = VERDICTS[1] if not clear else VERDICTS[0] if high < 0 else VERDICTS[2]
    ends = f" [{-high:+.3f}, {-low:+.3f}]" if low is not None and high is not None else ""
    why = f"own less somebody else’s: {-row['difference']:+.3f}{ends}. " + (
        "The interval holds zero, so this data does not show that it matters whose profile it is."
        if truth == VERDICTS[1]
        else "The interval leaves zero out."
    )
    return _checked(answer == truth, why)


def _checked(right: bool, why: str) -> Check:
    if right:
        return Check(True, f"Right: {why}")
    return Check(False, f"Not quite: {why}")


def _memories(n: int) -> str:
    return "memory is" if n == 1 else "memories are"


def _rank(rank: int | None) -> str:
    return "beyond 200" if rank is None else str(rank)


def _far(rank: int | None) -> int:
    return rank if rank is not None else 201
