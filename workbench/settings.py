"""Settings that sweeps compare: a recipe without an ingredient, a prior and its controls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from workbench.errors import UsageError
from workbench.priors import REPEATED
from workbench.schema import Recipe, Record

__all__ = ["Setting", "ablations", "controls", "verdict"]


class Setting(Record, frozen=True, kw_only=True, omit_defaults=False):
    """A recipe under a name for people. Without `episodic`, only its semantic memories count."""

    name: str
    recipe: Recipe
    episodic: bool = True


# What a recipe may contain, where it does, and what it is without it (Paper A's ablations that
# need no language model, and the ingredients of `hybrid`).
INGREDIENTS: tuple[tuple[str, Callable[[Recipe], bool], dict[str, Any]], ...] = (
    ("prior", lambda r: r.prior != "none" and r.lam < 1, {"prior": "none"}),
    ("dimensions", lambda r: r.retriever == "ppro" and bool(r.boost), {"boost": 0.0}),
    # No cosine is below -1; None would mean the embedder's own threshold.
    ("threshold", lambda r: r.retriever == "ppro" and r.threshold is not None, {"threshold": -1.0}),
    ("semantic", lambda r: r.retriever == "ppro" and r.k_semantic > 0, {"k_semantic": 0}),
    (
        "lexical",
        lambda r: r.retriever == "hybrid" and bool(r.lexical_weight),
        {"lexical_weight": 0.0},
    ),
    ("dense", lambda r: r.retriever == "hybrid", {"retriever": "lexical"}),
    (
        "neighbours",
        lambda r: bool(r.neighbours or r.neighbours_far),
        {"neighbours": 0.0, "neighbours_far": 0.0},
    ),
)

# Fields that are no ingredient by themselves, or are one above.
NO_INGREDIENT = {
    *("memories", "embedder", "retriever", "prior", "lam", "k", "k_semantic", "threshold", "boost"),
    *("lexical_weight", "neighbours", "neighbours_far", "lend_from", "seed"),
}


def ablations(recipe: Recipe, alone: bool = False) -> list[Setting]:
    """The whole recipe, then it without each ingredient that it has.

    Every other field of a recipe is an ingredient where it differs from its default, which is
    what it then goes back to. Raises UsageError where the recipe has no ingredient, unless it may
    stand `alone`.
    """
    settings = [
        Setting(name=f"without {name}", recipe=msgspec.structs.replace(recipe, **changes))
        for name, contained, changes in INGREDIENTS
        if contained(recipe)
    ]
    plain = Recipe()
    for field in recipe.__struct_fields__:
        if field not in NO_INGREDIENT and getattr(recipe, field) != getattr(plain, field):
            without = msgspec.structs.replace(recipe, **{field: getattr(plain, field)})
            settings.append(Setting(name=f"without {NAMES.get(field, field)}", recipe=without))
    if recipe.retriever == "ppro" and recipe.k_semantic:
        settings.append(Setting(name="without episodic", recipe=recipe, episodic=False))
    if not settings and not alone:
        raise UsageError("this recipe is plain retrieval: there is nothing to take away from it")
    return [Setting(name="whole", recipe=recipe), *settings]


NAMES = {"lend": "lent scores", "centred": "centring"}

CONTROLS = ("other-user", "everyone", "shuffled", "random")


def controls(recipe: Recipe) -> list[Setting]:
    """The recipe with its own prior, with none, and with each control at the same λ.

    A control repeats the prior's rule with other people's facts. Raises UsageError where it cannot:
    no prior, one without a person in it, or one that does not enter the ranking.
    """
    base = recipe.prior.partition(":")[0]
    if base not in REPEATED or recipe.lam == 1 or recipe.retriever == "lexical":
        raise UsageError(
            f"prior {recipe.prior} at λ = {recipe.lam:g} with {recipe.retriever}: controls need a "
            f"prior that they can repeat with other people's facts: {', '.join(REPEATED)}"
        )
    priors = {
        recipe.prior: recipe.prior,
        "none": "none",
        **{name: f"{name}:{recipe.prior}" if name != "random" else name for name in CONTROLS},
    }
    return [
        Setting(name=name, recipe=msgspec.structs.replace(recipe, prior=prior))
        for name, prior in priors.items()
    ]


def verdict(rows: list[dict[str, Any]], alpha: float) -> str:
    """One line on the rows of a control sweep at one K, the prior's own first, `none` second.

    A setting is behind where its corrected p is below `alpha` and its interval below 0.
    """
    own, none, *rest = rows
    where = f"recall@{own['k']}"
    gain = f"{-100 * none['difference']:+.1f} points of {where} against none"
    if none["difference_lo"] > 0 and none["p_holm"] < alpha:
        return f"No gain: the prior costs recall ({gain})."
    if not _behind(none, alpha):
        return f"No gain is shown ({gain}, p = {none['p_holm']:.2g})."
    level = [row["setting"] for row in rest if not _behind(row, alpha)]
    if not level:
        return f"Personalisation: {gain}, and more than every control."
    if "everyone" in level:
        return f"Query expansion, not personalisation: {gain}, but {', '.join(level)} as well."
    return f"Not shown to be personalisation: {gain}, but {', '.join(level)} as well."


def _behind(row: dict[str, Any], alpha: float) -> bool:
    return bool(row["p_holm"] < alpha and row["difference_hi"] < 0)
