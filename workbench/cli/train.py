"""The command that trains the rewriter."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.command import PARTIAL, Llm, command
from workbench.cli.output import Output, estimate, table

if TYPE_CHECKING:
    from workbench.training.plan import Settings

__all__ = ["register"]

Model = Annotated[str, typer.Option(help="What is trained: a folder, a fetched model, a hub id.")]
Preset = Annotated[str, typer.Option(help="paper (SPEC A.6), or cpu: small enough for one.")]
RecipeName = Annotated[
    str | None, typer.Option(help="Preset of the retrieval that is rewarded; see `recall`.")
]
K = Annotated[int | None, typer.Option(help="How many memories are rewarded (K_E).")]
Alpha = Annotated[float | None, typer.Option(help="Weight of the answer's reward, 0..1.")]
Steps = Annotated[int | None, typer.Option(help="Updates. Default: the preset's.")]
Lora = Annotated[int | None, typer.Option(help="Rank of the adapter; 0: all weights.")]
Warm = Annotated[
    int | None, typer.Option(help="Learn the best of so many own rewrites by heart first.")
]
WithQuestion = Annotated[
    bool | None, typer.Option(help="Search with the question and the rewrite behind it.")
]
Retrieval = Annotated[
    str | None, typer.Option("--retrieval-reward", help="recall, rank-aware, ndcg or all.")
]
Answer = Annotated[
    str | None, typer.Option("--answer-reward", help="bleu1, f1_squad or another answer measure.")
]
Answerer = Annotated[str | None, typer.Option(help="extractive, or llm with --llm.")]
Config = Annotated[Path | None, typer.Option(help="Settings in a JSON file.")]
Trl = Annotated[
    list[str] | None,
    typer.Option(help="NAME=VALUE of TRL's GRPOConfig, as often as needed (use_vllm=true)."),
]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with an unfinished training.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Drop an unfinished or finished one.")]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print what TRL would be given; nothing is trained.")
]


def register(app: typer.Typer) -> None:
    command(app, "train")(train)


def train(
    name: Annotated[str, typer.Argument(help="Name of the dataset.")],
    out: Output,
    model: Model,
    preset: Preset = "cpu",
    recipe: RecipeName = None,
    k: K = None,
    alpha: Alpha = None,
    steps: Steps = None,
    lora: Lora = None,
    warm: Warm = None,
    with_question: WithQuestion = None,
    retrieval: Retrieval = None,
    answer: Answer = None,
    answerer: Answerer = None,
    llm: Llm = None,
    config: Config = None,
    trl: Trl = None,
    resume: Resume = False,
    fresh: Fresh = False,
    dry_run: DryRun = False,
) -> None:
    """Train the rewriter by GRPO on the training conversation, choosing on the validation one.

    The test conversations are never looked at. Needs the extra `train`.
    """
    from workbench.training.options import settings_of

    asked = {
        **{"recipe": recipe, "k": k, "alpha": alpha, "steps": steps, "lora": lora, "warm": warm},
        **{"with_question": with_question, "retrieval": retrieval, "answer": answer},
        **{"answerer": answerer, "model": model, "dataset": name, "seed": out.seed},
    }
    of = settings_of(preset, asked, config, trl or [])
    _dry(out, of) if dry_run else _trained(out, of, (resume, fresh), llm)


def _dry(out: Output, of: Settings) -> None:
    from workbench.training.learn import dry_run

    out.data(dry_run(out.workspace, of), _settings)


def _trained(out: Output, of: Settings, how: tuple[bool, bool], llm: str | None) -> None:
    from workbench.chat_models import open_llm
    from workbench.run_plan import asks_llm
    from workbench.training.learn import Options, train

    opened = open_llm(llm, out.workspace) if asks_llm(of.answerer) else None
    with out.progress() as progress:
        report = train(out.workspace, of, Options(*how, progress), opened)
    if report["status"] != "done":
        out.exit_code = PARTIAL
    out.data(report, _report)


def _settings(report: dict[str, Any]) -> Iterator[Any]:
    sizes = report["split"]
    yield f"trains on {sizes['train']} questions, selects on {sizes['validation']}"
    numbers = report["trainable_parameters"]
    yield f"numbers trained: {'not known: the model is not here' if numbers is None else numbers}"
    yield "weights of the rewards (retrieval, answer): " + ", ".join(
        f"{weight:g}" for weight in report["reward_weights"]
    )
    yield table("", ["GRPOConfig", "value"], [[k, str(v)] for k, v in report["trl"].items()])


def _report(report: dict[str, Any]) -> Iterator[Any]:
    yield from report["notes"]
    done = f"{report['steps']} steps, {report['seconds']:.0f} s"
    yield f"{report['dataset']}: {report['status']} after {done}; run {report['run']}"
    if report["why"]:
        yield report["why"]
    rows = [
        [one["step"], _with(one, "recall"), _with(one, "f1"), one["missing"] or ""]
        for one in report["validations"]
    ]
    yield table("", ["step", "held-out recall", "held-out F1", "not answered"], rows)
    for measure, best in report["best"].items():
        yield f"best by validation {measure} (step {best['step']}): --rewriter {best['rewriter']}"
    share = report["time"]["rewards_share"]
    if share is not None:
        without = report["time"]["rewards_share_without_answers"]
        yield (
            f"a step took {report['time']['step_seconds']:.1f} s, the rewards {share:.1%} of it "
            f"({without:.1%} without the answers)"
        )
    left = [f"{n} {why}" for why, n in report["left_out"].items()]
    left += [f"{len(ids)} too long ({part})" for part, ids in report["too_long"].items() if ids]
    yield f"left out: {', '.join(left) or 'none'}; without evidence: {report['without_evidence']}"
    set_off = ", ".join(f"{n} {guard}" for guard, n in report["guards"].items()) or "none"
    yield f"guards set off by rewrites: {set_off}"


def _with(one: dict[str, Any], name: str) -> str:
    return estimate(one[name], one[f"{name}_interval"])
