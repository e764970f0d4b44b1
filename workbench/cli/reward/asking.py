"""What `reward evaluate` asks a language model for: judges, and rubrics of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from workbench.cli.output import Output, shown
from workbench.cli.reward.judgments import interval
from workbench.errors import UsageError

__all__ = ["induced", "induced_lines", "judged", "model_asked"]


def model_asked(out: Output, llm: str | None, judge: bool, induce: bool) -> Any:
    """The language model, where anything asks one: a wrong name is told before all work."""
    if judge or induce:
        from workbench.chat_models import open_llm

        return open_llm(llm, out.workspace)
    if llm is not None:
        raise UsageError("--llm names the model of --judge or --induce; nothing else asks one")
    return None


def judged(fitted: Any, model: Any, progress: Any) -> list[Any]:
    """Both judges, each in the order that the person saw and in both orders."""
    from reward_model.judge_baseline import direct_judge, rubric_judge

    found = []
    judges: tuple[Any, ...] = (direct_judge, rubric_judge)
    for done, judge in enumerate(judges, start=1):
        found += judge(model, fitted).results
        progress("judges", done, len(judges))
    return found


def induced(out: Output, model: Any, what: tuple[Any, Any, Any], progress: Any) -> Any:
    """The induced rubrics' row; the rubrics are kept with their requests and replies."""
    import msgspec

    from reward_model.induced import save_rubric
    from reward_model.induced_evaluation import evaluate_induced

    chosen, scores, plan = what
    once = msgspec.structs.replace(plan, repeats=1)
    found = evaluate_induced(model, chosen, scores, once, progress=progress)
    for fold in found.folds:
        save_rubric(out.workspace, fold.rubric, fold.exchanges)
    return found.result


def induced_lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    """What was induced, and how it does against the fixed rubric on the same splits."""
    for row in rows:
        if not (rubrics := row["facts"].get("rubrics")):
            continue
        gap = row["facts"]["difference"]
        said = interval(gap["difference"], (gap["lo"], gap["hi"]), "+.3f")
        yield f"{row['baseline']} − fixed rubric: {said}, p = {gap['p']:.2g}; {row['note']}"
        for one in rubrics:
            titles = ", ".join(shown(dimension["title"], 40) for dimension in one["dimensions"])
            yield f"  fold {one['fold']}, rubric {one['rubric']}: {titles}"
