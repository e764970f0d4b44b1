"""Training settings: what TRL is given, and what is refused before any model is loaded."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tiny_policy import planted, tiny
from workbench.datasets import import_file, load_dataset
from workbench.datasets.report import Dataset
from workbench.errors import UsageError
from workbench.schema import Dialogue, Gold, Question, Recipe, Turn
from workbench.training.checks import check
from workbench.training.learn import dry_run
from workbench.training.options import settings_of
from workbench.training.plan import Settings
from workbench.training.questions import parts_of
from workbench.workspace import Workspace

GIVEN = {"dataset": "locomo", "model": "nowhere/no-model"}


def made(preset: str = "cpu", trl: tuple[str, ...] = (), **given: Any) -> Settings:
    return settings_of(preset, {**GIVEN, **given}, None, trl)


# ---------------------------------------------------------------- the paper's values

# SPEC A.6, one by one; 8 completions of each of 64 prompts are one update.
PAPER = {
    "num_generations": 8,
    "epsilon": 0.2,
    "beta": 0.001,
    "entropy_coef": 0.001,
    "learning_rate": 1e-6,
    "num_train_epochs": 30,
    "weight_decay": 0.01,
    "max_grad_norm": 1.0,
    "loss_type": "dapo",
    "scale_rewards": "group",
    "eval_on_start": True,
    "metric_for_best_model": "eval_f1",
    "greater_is_better": True,
    "reward_weights": [0.8, 0.2],
    "report_to": "none",
}


@pytest.mark.parametrize(("name", "value"), PAPER.items())
def test_the_paper_preset_has_the_papers_value(name: str, value: Any) -> None:
    assert check(made("paper"), 152)[name] == value


@pytest.mark.parametrize("preset", ["paper", "cpu"])
def test_trl_takes_the_preset_as_it_is(preset: str, tmp_path: Path) -> None:
    from trl import GRPOConfig

    from workbench.training.adapter import quiet

    # Where there is no card TRL refuses bf16, which is what `train` says before it loads a model.
    given = check(made(preset, ("use_cpu=true",)), 152)
    with quiet():
        config = GRPOConfig(output_dir=str(tmp_path), **given)
    for name in given.keys() - {"report_to"}:
        assert getattr(config, name) == given[name], name
    each = config.per_device_train_batch_size * config.gradient_accumulation_steps
    assert config.report_to == []
    assert config.generation_batch_size == each and config.num_iterations == 1


@pytest.mark.parametrize("world", [1, 2, 8])
def test_an_update_is_512_completions_of_64_prompts_on_any_number_of_processes(world: int) -> None:
    trl = check(made("paper"), 152, world)
    each = trl["per_device_train_batch_size"] * trl["gradient_accumulation_steps"] * world
    assert each == 512 and each // trl["num_generations"] == 64


def test_30_epochs_over_152_questions_are_71_updates() -> None:
    assert check(made("paper"), 152)["max_steps"] == 71  # 30 * 152 / 64 = 71.25


def test_the_papers_reward_is_retrieved_with_its_own_recipe() -> None:
    recipe = made("paper").recipe
    assert (recipe.retriever, recipe.prior, recipe.lam, recipe.k) == ("ppro", "profile", 0.8, 25)


def test_a_dry_run_of_locomo(test_data: Path, tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    import_file(workspace, test_data / "locomo" / "locomo10.json")
    told = dry_run(workspace, made("paper"))
    assert set(told) == {"trl", "reward_weights", "split", "trainable_parameters"}
    assert told["split"] == {"train": 152, "validation": 81}
    assert told["reward_weights"] == [0.8, 0.2]
    assert told["trainable_parameters"] is None and told["trl"]["max_steps"] == 71
    json.dumps(told, allow_nan=False)
    parts = parts_of(load_dataset(workspace, "locomo"))
    assert parts.without_evidence == 2
    assert len(parts.scopes["test"]) == 8


def test_parameters_are_counted_from_the_configuration(tmp_path: Path) -> None:
    from workbench.training.adapter import load, trainable_parameters

    folder = tiny(tmp_path / "tiny")
    model, _ = load(folder, "float32")
    assert trainable_parameters(folder, 0) == model.num_parameters()
    (folder / "model.safetensors").unlink()
    # q, o: 16 x 16; k, v: 16 x 16; gate, up, down: 16 x 16; each A and B of rank 2.
    assert trainable_parameters(folder, 2) == 7 * 2 * (2 * 16)


# ---------------------------------------------------------------- refused


@pytest.mark.parametrize(
    ("given", "trl", "words"),
    [
        (
            {},
            ("per_device_train_batch_size=1", "gradient_accumulation_steps=1", "num_generations=4"),
            "valid gradient_accumulation_steps: 4, 8, 12, 16",
        ),
        ({}, ("gradient_accumulation_steps=2",), "let `prompts` be 2"),
        ({}, ("per_device_eval_batch_size=3", "num_generations_eval=4"), "multiples of 4"),
        ({}, ("num_generations=1",), "num_generations must be at least 2"),
        (
            {},
            ("per_device_train_batch_size=3",),
            "let per_device_train_batch_size be one of 1, 2, 4, 8",
        ),
        ({"alpha": 1.5}, (), "alpha must lie in 0..1"),
        ({"answerer": "oracle"}, (), "known: extractive"),
        ({"retrieval": "precision"}, (), "known: recall"),
        ({"answer": "bleu4"}, (), "bleu1"),
        ({"warm": 1}, (), "at least 2 candidates"),
        ({"prompts": 1000}, (), "make no update"),
        ({"lora": -1}, (), "lora must be at least 0"),
    ],
)
def test_what_cannot_work_is_refused_with_what_would(
    given: dict[str, Any], trl: tuple[str, ...], words: str
) -> None:
    one = made("cpu", trl, **({"steps": 0} if "prompts" in given else {}), **given)
    with pytest.raises(UsageError, match=re.escape(words)):
        check(one, 152)


def test_batches_of_several_processes_must_hold_whole_groups() -> None:
    with pytest.raises(
        UsageError,
        match="does not divide it; let per_device_train_batch_size be one of none: 8 completions",
    ):
        check(made("cpu"), 152, world=3)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"max_prompt_length": 512}, "unknown setting 'max_prompt_length'.*longest_prompt"),
        ({"learning_rate": 1e-5}, "unknown setting 'learning_rate'.*under `trl`"),
        ({"trl": {"max_steps": 5}}, "max_steps is not set through trl.*--steps"),
        ({"trl": {"max_prompt_length": 512}}, "max_prompt_length"),
        ({"recipe": {"kk": 3}}, "a recipe has no 'kk'"),
        ({"steps": "many"}, "steps"),
    ],
)
def test_an_unknown_option_is_refused_by_name(
    tmp_path: Path, content: dict[str, Any], words: str
) -> None:
    path = tmp_path / "settings.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(UsageError, match=words):
        settings_of("cpu", GIVEN, path)


def test_an_option_that_trl_does_not_have_is_named() -> None:
    from workbench.training.policy import check_options

    with pytest.raises(UsageError, match="no option 'max_prompt_tokens'"):
        check_options({"beta": 0.1, "max_prompt_tokens": 512})


def test_options_reach_trl_unchanged_and_beat_the_file_and_the_preset(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text('{"alpha": 0.4, "steps": 7, "trl": {"beta": 0.5, "top_p": 0.9}}', "utf-8")
    one = settings_of(
        "paper",
        {**GIVEN, "steps": 9, "k": 5},
        path,
        ("use_vllm=true", "vllm_mode=server", "beta=0"),
    )
    trl = check(one, 152)
    assert (one.alpha, one.recipe.k, trl["max_steps"]) == (0.4, 5, 9)
    assert (trl["use_vllm"], trl["vllm_mode"], trl["beta"]) == (True, "server", 0)
    assert trl["top_p"] == 0.9


# ---------------------------------------------------------------- overlap


def dataset(splits: dict[str, str], **texts: str) -> Dataset:
    """A conversation of five turns for each split's scope; `texts` replaces what it says."""
    dialogues, questions = [], []
    for scope in splits or texts:
        said = texts.get(scope, scope)
        turns = tuple(
            Turn(id=f"D1:{n}", session="1", speaker="Ana", text=f"{said} {n}") for n in range(5)
        )
        dialogues.append(Dialogue(id=scope, scope=scope, turns=turns))
        gold = Gold(answer=said, evidence=("D1:0",))
        questions.append(Question(id=f"{scope}/0", scope=scope, text=f"What {said}?", gold=gold))
    return Dataset(
        name="d",
        format="x",
        dialogues=tuple(dialogues),
        questions=tuple(questions),
        splits=splits,
    )


SPLITS = {"a": "train", "b": "validation", "c": "test"}


def test_parts_of_clean_splits() -> None:
    parts = parts_of(dataset(SPLITS))
    assert [q.id for q in (*parts.train, *parts.validation)] == ["a/0", "b/0"]
    assert parts.scopes["test"] == ("c",) and parts.note == ""


def test_without_splits_the_first_scope_trains_and_the_note_says_so() -> None:
    parts = parts_of(dataset({}, x="x", y="y", z="z"))
    assert parts.scopes == {"train": ("x",), "validation": ("y",), "test": ("z",)}
    assert "no splits" in parts.note


@pytest.mark.parametrize(
    ("given", "train", "words"),
    [
        (dataset(SPLITS), "test", "train and test overlap: both have c"),
        (dataset(SPLITS, a="same", c="same"), "train", "session a/1 is also c/1"),
        (dataset(SPLITS, b="same", c="same"), "train", "validation and test overlap"),
        (dataset(SPLITS), "validation", "train and validation overlap"),
        (dataset(SPLITS), "nothing", "no split 'nothing'; it has: test, train, validation"),
        (dataset({}, x="x"), "train", "one scope"),
    ],
)
def test_parts_that_know_each_other_are_refused(given: Dataset, train: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parts_of(given, train)


def test_a_question_that_the_test_has_too_is_refused() -> None:
    clean = dataset(SPLITS)
    first, second, third = clean.questions
    copied = msgspec.structs.replace(third, text=f" {first.text.upper()} ", gold=first.gold)
    with pytest.raises(UsageError, match="question a/0 is also c/0"):
        parts_of(msgspec.structs.replace(clean, questions=(first, second, copied)))


def test_questions_that_nothing_can_be_learnt_from_are_left_out_and_counted() -> None:
    clean = dataset(SPLITS)
    extra = (
        Question(id="a/1", scope="a", text="No?", abstention=True),
        Question(id="a/2", scope="a", text="Nothing?"),
        Question(id="a/3", scope="a", text=" "),
        Question(id="a/4", scope="a", text="Said?", gold=Gold(answer="tea")),
    )
    parts = parts_of(msgspec.structs.replace(clean, questions=(*clean.questions, *extra)))
    assert [q.id for q in parts.train] == ["a/0", "a/4"]
    assert parts.left_out == {"abstention": 1, "blank": 1, "without evidence and answer": 1}
    assert parts.without_evidence == 1


def test_a_dry_run_of_the_planted_data(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path / "ws")
    import_file(workspace, planted(tmp_path / "planted.jsonl"))
    given = {"dataset": "planted", "model": str(tiny(tmp_path / "tiny")), "lora": 0}
    told = dry_run(workspace, settings_of("cpu", {**given, "recipe": Recipe()}))
    assert told["split"] == {"train": 6, "validation": 6}
    assert (
        told["trainable_parameters"] == 2224
    )  # 2 * 12 * 16 in and out, 7 * 16 * 16 between, 3 * 16 norms
