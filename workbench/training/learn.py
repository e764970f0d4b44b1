"""A training run from beginning to end: checked, begun or taken up, learnt, kept."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from workbench.datasets import load_dataset
from workbench.errors import UsageError
from workbench.llm import LLM
from workbench.local_weights import LocalModel, local_model
from workbench.provenance import code_digest
from workbench.rewards import RewriteRewards
from workbench.run_plan import LLM_ANSWERER, Plan
from workbench.runs import load_run, run_id
from workbench.training import keeping
from workbench.training.checks import check, check_installed
from workbench.training.frozen import check_frozen, frozen
from workbench.training.material import Material, material, unrolled
from workbench.training.monitor import Alarms, Monitor
from workbench.training.paid import plan_of, terms_of
from workbench.training.plan import Settings
from workbench.training.questions import Parts, parts_of
from workbench.workspace import Workspace

if TYPE_CHECKING:
    from workbench.training.policy import Learner

__all__ = ["Options", "dry_run", "train"]

Progress = Callable[[str, int, int], None]


class Options(NamedTuple):
    """What changes nothing in the result: going on with an unfinished run, or dropping it."""

    resume: bool = False
    fresh: bool = False
    progress: Progress | None = None


def dry_run(workspace: Workspace, of: Settings) -> dict[str, Any]:
    """What a training would be given, without loading a model: TRL's settings, the weights of the
    two rewards (retrieval, answer), the questions, and the numbers that would be trained (None
    where the model's configuration is not here)."""
    check_installed()
    from workbench.training.adapter import trainable_parameters
    from workbench.training.policy import check_options

    parts = parts_of(load_dataset(workspace, of.dataset), of.train, of.validation)
    trl = check(of, len(parts.train))
    check_options(trl)
    folder = Path(of.model).expanduser()
    return {
        "trl": trl,
        "reward_weights": trl["reward_weights"],
        "split": parts.sizes,
        "trainable_parameters": trainable_parameters(
            folder if folder.is_dir() else None, of.preset.lora
        ),
    }


def train(
    workspace: Workspace, of: Settings, options: Options | None = None, llm: LLM | None = None
) -> dict[str, Any]:
    """Train a rewriter, keep its best weights and its record, and report.

    A finished run with the same settings, data and code is not made again. Raises UsageError for
    what cannot be trained, before any model is loaded; for an unfinished run that is not asked for
    with `resume`, or was begun otherwise (naming what changed). ModelError for a model that is not
    here, and where banks, embedder or answerer are not what they were at the beginning.
    """
    check_installed()
    from workbench.training.policy import configured

    options = options or Options()
    parts = parts_of(load_dataset(workspace, of.dataset), of.train, of.validation)
    trl = check(of, len(parts.train))
    configured(trl, workspace.folder("training"))
    if of.answerer == LLM_ANSWERER and llm is None:
        raise UsageError("the answerer is a language model: name one with --llm")
    base = local_model(of.model, workspace)
    if base.gguf:
        raise UsageError(f"{base.name} is quantised: name a folder with *.safetensors to train")
    plan = plan_of(workspace, of, llm, options.progress)
    identity = {
        **of.identity(parts, plan.banks.id),
        "base": base.identity["weights"],
        "llm": None if llm is None else llm.identity,
        "code": code_digest(),
    }
    name = run_id("train", identity)
    if name in workspace.manifests("runs") and not options.fresh:
        return dict(load_run(workspace, name).manifest["report"])
    with workspace.lock(f"training-{of.key}"):
        run = _Run(workspace, of, parts, plan, base, identity, trl)
        return _learnt(run, options)


class _Run(NamedTuple):
    workspace: Workspace
    of: Settings
    parts: Parts
    plan: Plan
    base: LocalModel
    identity: dict[str, Any]
    trl: dict[str, Any]

    @property
    def folder(self) -> Path:
        return self.workspace.folder("training", self.of.key)


def _learnt(run: _Run, options: Options) -> dict[str, Any]:
    """Learn, while the lock is held."""
    from workbench.training.adapter import adapted, load, quiet
    from workbench.training.policy import Job, latest_checkpoint, learner

    began = time.perf_counter()
    keeping.begin(run.folder, run.identity, options.resume, options.fresh)
    before = frozen(run.plan)
    rewards, monitor = RewriteRewards(run.plan, terms_of(run.of)), Monitor(Alarms())
    model, tokenizer = load(run.base.folder, run.of.preset.dtype)
    longest = _longest(run.of, model)
    asked = material(run.plan.banks, run.parts.train, tokenizer, longest)
    selecting = material(run.plan.banks, run.parts.validation, tokenizer, longest)
    model = adapted(model, run.of.preset.lora, run.of.seed)
    if run.of.warm:
        model = _warmed(run, (model, tokenizer), asked, (rewards, options))
    at = latest_checkpoint(run.folder) if options.resume else None
    if at is not None:
        monitor.restore(at[1]["monitor"])
        rewards.restore(at[1]["rewards"])
    rows = unrolled(asked.asked, run.of.preset.prompts, run.trl["max_steps"], run.of.seed)
    job = Job(
        run.folder, model, tokenizer, rewards, monitor, rows, selecting.asked, options.progress
    )
    trainer = learner(job, run.trl)
    with quiet():
        trainer.train(resume_from_checkpoint=None if at is None else str(at[0]))
    trainer.evaluate()  # the last weights, where the last step was no step of validation
    check_frozen(before, run.plan)
    told = {
        **_went(trainer, at),
        **_about(run, asked, selecting),
        "seconds": round(time.perf_counter() - began, 1),
    }
    return keeping.keep(run.workspace, _kept(run, told), monitor)


def _went(trainer: Learner, at: tuple[Path, dict[str, Any]] | None) -> dict[str, Any]:
    """How it went; `at` is the checkpoint that it was taken up from."""
    trained = (p.numel() for p in trainer.job.model.parameters() if p.requires_grad)
    return {
        "status": "stopped" if trainer.stopped else "done",
        "why": trainer.stopped,
        "steps": int(trainer.state.global_step),
        "resumed_from": None if at is None else int(at[0].name.split("-")[1]),
        "trainable_parameters": sum(trained),
        "guards": dict(sorted(trainer.job.rewards.counts.items())),
    }


def _kept(run: _Run, told: dict[str, Any]) -> keeping.Kept:
    base = {
        "model": run.base.name,
        "folder": str(run.base.folder.resolve()),
        "weights": run.base.identity["weights"],
    }
    facts = {
        "base": base,
        "adapter": bool(run.of.preset.lora),
        "with_question": run.of.with_question,
        "tokens": run.trl["max_completion_length"],
        "recipe": msgspec.to_builtins(run.of.recipe),
        "data": run.identity["data"],
        "dataset": run.of.dataset,
    }
    return keeping.Kept(run.folder, run.identity, facts, told)


def _about(run: _Run, asked: Material, selecting: Material) -> dict[str, Any]:
    """What was left out, and how large the parts are."""
    parts = run.parts
    return {
        "dataset": run.of.dataset,
        "split": parts.sizes,
        "scopes": {name: list(scopes) for name, scopes in parts.scopes.items()},
        "left_out": parts.left_out,
        "without_evidence": parts.without_evidence,
        "too_long": {"train": asked.too_long, "validation": selecting.too_long},
        "frozen": ["banks", "embedder", "answerer"],
        "notes": [parts.note] if parts.note else [],
    }


def _warmed(
    run: _Run,
    policy: tuple[Any, Any],
    asked: Material,
    given: tuple[RewriteRewards, Options],
) -> Any:
    """The model after its warm start, read again from the folder that it was written to."""
    from workbench.training.adapter import adapted, load
    from workbench.training.warm_start import How, warmed

    rewards, options = given
    how = How(
        folder=run.folder,
        candidates=run.of.warm,
        most=run.trl["max_completion_length"],
        seed=run.of.seed,
        use_cpu=bool(run.trl.get("use_cpu")),
        progress=options.progress,
    )
    folder = warmed(policy, asked.asked, rewards, how)
    if not run.of.preset.lora:
        return load(folder, run.of.preset.dtype)[0]
    plain = load(run.base.folder, run.of.preset.dtype)[0]
    return adapted(plain, run.of.preset.lora, run.of.seed, warm=folder)


def _longest(of: Settings, model: Any) -> int:
    """Tokens of a prompt: what the settings allow, and what leaves room for a rewrite."""
    window = getattr(model.config, "max_position_embeddings", None) or 1 << 30
    return int(min(of.preset.longest_prompt, window - of.preset.trl["max_completion_length"]))
