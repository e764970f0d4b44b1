"""The runs of a workspace in words: what each is, of what, how large, when it was made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import polars as pl

from workbench.schema import Recipe
from workbench.workspace import Workspace

__all__ = ["KINDS", "apart", "named_scorer", "run_rows", "settings"]

KINDS = {
    "recall": "evidence recall",
    "score": "answers scored",
    "evaluate": "answers made and scored",
    "judge": "answers judged",
    "table": "main table",
    "sweep-lambda": "λ sweep",
    "sweep-layers": "layers, K_E × K_S",
    "sweep-ablation": "ablations",
    "sweep-controls": "control priors",
    "sweep-alpha": "α landscape",
    "sweep-alpha-train": "α, a training each",
    "train": "training",
    "reward-evaluate": "reward model",
}
# Named in every line; the others only where they are not at their default.
ALWAYS = ("memories", "retriever", "prior", "lam", "embedder")
SWEPT = {"sweep-lambda": ("lam", "k"), "sweep-layers": ("k", "k_semantic")}


def run_rows(workspace: Workspace) -> pl.DataFrame:
    """A row a run, the newest first: `run, kind, what` (the kind in words), `dataset, settings, n`
    (null where the run does not say) and `made` (seconds since 1970)."""
    rows = [_row(name, manifest) for name, manifest in workspace.manifests("runs").items()]
    schema = {
        "run": pl.String,
        "kind": pl.String,
        "what": pl.String,
        "dataset": pl.String,
        "settings": pl.String,
        "n": pl.Int64,
        "made": pl.Float64,
    }
    return pl.DataFrame(rows[::-1], schema=schema)


def settings(manifest: Mapping[str, Any]) -> str:
    """The settings of a run in a line: "turns, dense, prior profile, λ = 0.9, minilm"."""
    identity = manifest.get("identity", {})
    recipe = identity.get("recipe")
    said = [] if not recipe else _recipe(recipe, SWEPT.get(manifest["kind"], ()))
    if manifest["kind"] == "score":
        said.append(str(manifest.get("source", "")))
    if manifest["kind"] == "judge":
        judge = identity["judge"]["model"]
        said += [str(manifest.get("source", "")), f"judged by {judge.get('model', 'unknown')}"]
    if manifest["kind"] == "train" and identity.get("alpha") is not None:
        said.append(f"α = {identity['alpha']:g}")
        said += ["warm start"] if identity.get("warm") else []
        said += ["with the question"] if identity.get("with_question") else []
    if manifest["kind"] == "reward-evaluate":
        features = identity["plan"]["features"]
        said.append(", ".join(features) if features else "all features")
        said.append(f"scored by {named_scorer(identity['scorer'])}")
    split = identity.get("split", manifest.get("split", "all"))
    said += [f"{split} split"] if split != "all" else []
    said += [*_answering(identity), *_words(identity)]
    for name, usual in (("gold", "original"), ("level", "turn")):
        value = identity.get(name)
        if isinstance(value, str) and value != usual:
            said.append(f"{value} {name}")
    return ", ".join(filter(None, said))


def named_scorer(scorer: Mapping[str, Any]) -> str:
    """Who scored features, from a scorer's identity: "offline", "judge (Qwen2.5-1.5B)"."""
    name, model = str(scorer.get("name", "unknown")), scorer.get("model")
    if not isinstance(model, Mapping):
        return name
    return f"{name} ({model.get('model', model.get('kind', 'unknown'))})"


def apart(a: Mapping[str, Any], b: Mapping[str, Any]) -> tuple[str, str]:
    """What tells two runs apart, a name for each: the settings that only it has ("prior none"),
    the beginning of its id where it has none of its own."""
    said = [settings(one).split(", ") for one in (a, b)]
    own = [[piece for piece in one if piece not in other] for one, other in (said, said[::-1])]
    first, second = (
        ", ".join(filter(None, pieces)) or f"run {str(one.get('id', ''))[:8]}"
        for pieces, one in zip(own, (a, b), strict=True)
    )
    return first, second


def _answering(identity: Mapping[str, Any]) -> list[str]:
    """Who answered, and what a model read: "qwen answers (oracle context)"."""
    answerer, context = identity.get("answerer"), identity.get("context")
    if not isinstance(answerer, str):
        return []
    model = identity.get("llm")
    named = model.get("model") if answerer == "llm" and isinstance(model, Mapping) else None
    return [f"{named or answerer} answers" + (f" ({context} context)" if context else "")]


def _words(identity: Mapping[str, Any]) -> list[str]:
    """Whose words were searched with, where not the questions' own: "rewriter trained"."""
    told = identity.get("rewriter")
    name = told.get("name", told.get("kind")) if isinstance(told, Mapping) else told
    return [f"rewriter {name}"] if name not in (None, "identity") else []


def _recipe(recipe: Mapping[str, Any], swept: tuple[str, ...]) -> list[str]:
    usual = msgspec.to_builtins(Recipe())
    said = [
        str(recipe["memories"]),
        str(recipe["retriever"]),
        f"prior {recipe['prior']}",
        *([] if "lam" in swept or recipe["prior"] == "none" else [f"λ = {recipe['lam']:g}"]),
        str(recipe["embedder"]),
    ]
    for name, value in recipe.items():
        if name not in (*ALWAYS, *swept, "seed") and value != usual.get(name):
            said.append(
                f"{name.replace('_', ' ')} {value:g}" if _number(value) else _named(name, value)
            )
    return said


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _named(name: str, value: Any) -> str:
    shown = name.replace("_", " ")
    return shown if value is True else f"{shown} {value}"


def _row(name: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
    known = {**manifest.get("identity", {}), **manifest}
    kind = str(known.get("kind", "unknown"))
    n = known.get("n", (known.get("report") or {}).get("n"))
    return {
        "run": name,
        "kind": kind,
        "what": KINDS.get(kind, kind),
        "dataset": str(known.get("dataset") or known.get("name") or ""),
        "settings": settings(manifest),
        "n": n if isinstance(n, int) else None,
        "made": float(known.get("made", 0)),
    }
