"""GRPO on a tiny random model: it learns a planted rule, the same way every time, also when it is
killed and resumed; what it leaves is used by name."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from tiny_policy import CITIES, RIGHT, WORDS, planted, tiny
from workbench.cells import Study
from workbench.cli import app
from workbench.datasets import import_file
from workbench.errors import ModelError, UsageError
from workbench.grids import ablation_sweep
from workbench.library import open_banks
from workbench.metrics import Plan as Measures
from workbench.recall import measure
from workbench.rewards import RewriteRewards
from workbench.rewrite import open_rewriter, rewriter_identity, taken_away
from workbench.rewritten import rewritten, searched_with, wanted_of
from workbench.run import evaluate
from workbench.run_plan import Plan
from workbench.schema import Recipe
from workbench.stats import paired_difference
from workbench.training import learn, policy
from workbench.training.frozen import check_frozen, frozen
from workbench.training.learn import Options, train
from workbench.training.options import settings_of
from workbench.training.plan import Settings
from workbench.workspace import Workspace

RECIPE = Recipe(prior="none", lam=1.0, k=1)
STEPS = 14
# 16 completions an update: 8 of each of 2 questions; 14 updates go 4 2/3 times through the 6.
TRL = (
    *("learning_rate=0.02", "lr_scheduler_type=constant", "max_completion_length=3"),
    "per_device_train_batch_size=16",
)


class Home(NamedTuple):
    workspace: Workspace
    model: Path


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    folder = tmp_path_factory.mktemp("training")
    workspace = Workspace(folder / "ws")
    import_file(workspace, planted(folder / "planted.jsonl"))
    return Home(workspace, tiny(folder / "tiny"))


def settings(home: Home, *trl: str, **given: Any) -> Settings:
    whole = {
        **{"dataset": "planted", "model": str(home.model), "recipe": RECIPE, "steps": STEPS},
        **{"lora": 0, "prompts": 2, "dtype": "float32", "validate_every": 5, "save_every": 5},
    }
    return settings_of("cpu", {**whole, **given}, None, (*TRL, *trl))


@pytest.fixture(scope="module")
def report(home: Home) -> dict[str, Any]:
    return train(home.workspace, settings(home))


def steps_of(home: Home, report: dict[str, Any]) -> pl.DataFrame:
    """What the steps were, without their seconds."""
    frame = pl.read_parquet(home.workspace.folder("runs", report["run"]) / "steps.parquet")
    return frame.filter(~pl.col("series").str.starts_with("seconds"))


# ---------------------------------------------------------------- it learns


def test_the_reward_rises_significantly(home: Home, report: dict[str, Any]) -> None:
    paid = steps_of(home, report).filter(pl.col("series") == "retrieval reward")
    early = paid.filter(pl.col("step") <= 3)["value"].to_numpy()
    late = paid.filter(pl.col("step") > STEPS - 3)["value"].to_numpy()
    # Each of 8 words is drawn about as often at first; 3 words are at most written.
    assert early.mean() < 0.6 < late.mean()
    test = paired_difference(late, early, [str(n) for n in range(len(late))])
    assert test.lo is not None and test.lo > 0 and test.p < 0.05


def test_validation_comes_first_and_finds_what_was_learnt(report: dict[str, Any]) -> None:
    assert [one["step"] for one in report["validations"]] == [0, 5, 10, 14]
    first, last = report["validations"][0], report["validations"][-1]
    assert (first["recall"], first["f1"]) == (0.0, 0.0)
    assert (last["recall"], last["f1"]) == (1.0, 1.0)
    assert (last["n_recall"], last["n_f1"], last["missing"]) == (6, 6, 0)
    for name in ("f1", "recall"):
        best = report["best"][name]
        top = max(one[name] for one in report["validations"])
        assert best[name] == top == 1.0
        first_at = next(one["step"] for one in report["validations"] if one[name] == top)
        assert best["step"] == first_at  # of equals the earliest


def test_the_run_keeps_curves_that_the_figure_can_draw(home: Home, report: dict[str, Any]) -> None:
    from workbench.figures import training_curves
    from workbench.passport import passport_of
    from workbench.runs import load_run

    run = load_run(home.workspace, report["run"])
    assert run.manifest["kind"] == "train" and run.manifest["identity"]["dataset"] == "planted"
    curves = pl.read_parquet(home.workspace.folder("runs", run.id) / "training.parquet")
    assert curves.columns == ["series", "step", "mean", "lo", "hi"]
    shown = set(curves["series"])
    assert {"retrieval reward", "answer reward", "reward", "flat groups", "entropy"} <= shown
    assert {"retrieval reward, normalised", "KL divergence", "clipped share"} <= shown
    assert {"words of a rewrite", "copied questions", "held-out recall", "held-out F1"} <= shown
    figure = training_curves(curves, passport_of(run))
    assert len(figure.data) == 2 * len(shown)
    assert len({trace.yaxis for trace in figure.data}) == 7  # a panel for each scale
    # The last validation's questions, by metric.
    assert set(run.frame["metric"]) == {"recall@1", "f1_squad"} and len(run.frame) == 12


def test_the_windows_are_means_of_their_steps(home: Home, report: dict[str, Any]) -> None:
    curves = pl.read_parquet(home.workspace.folder("runs", report["run"]) / "training.parquet")
    series = pl.col("series") == "retrieval reward"
    shown = curves.filter(series)
    assert shown["step"].to_list() == [3, 6, 9, 12, 14]
    by_step = steps_of(home, report).filter(series)
    window = by_step.filter(pl.col("step").is_between(4, 6))["value"]
    assert shown.row(1, named=True)["mean"] == pytest.approx(window.mean())


# ---------------------------------------------------------------- the same again


class KilledError(Exception):
    """What stands for the end of the process."""


@pytest.fixture
def elsewhere(home: Home, tmp_path: Path) -> Home:
    """The same data and model in another workspace."""
    shutil.copytree(home.workspace.root, tmp_path / "ws")
    for kind in ("runs", "rewriters", "training"):
        shutil.rmtree(tmp_path / "ws" / kind, ignore_errors=True)
    return home._replace(workspace=Workspace(tmp_path / "ws"))


def test_a_killed_run_resumed_is_the_run_that_was_not(
    home: Home, report: dict[str, Any], elsewhere: Home
) -> None:
    one = settings(elsewhere)
    with pytest.MonkeyPatch.context() as patch:
        logged = policy.Learner.log

        def log(self: policy.Learner, *given: Any) -> None:
            logged(self, *given)
            if int(self.state.global_step) == 7:
                raise KilledError

        patch.setattr(policy.Learner, "log", log)
        with pytest.raises(KilledError):
            train(elsewhere.workspace, one)
    with pytest.raises(UsageError, match="--resume goes on with it"):
        train(elsewhere.workspace, one)
    with pytest.raises(UsageError, match=r"other settings: .*trl\.beta \(0\.001 → 0\.5\)"):
        train(elsewhere.workspace, settings(elsewhere, "beta=0.5"), Options(resume=True))
    again = train(elsewhere.workspace, one, Options(resume=True))
    assert again["resumed_from"] == 5
    assert steps_of(elsewhere, again).equals(steps_of(home, report))
    assert again["validations"] == report["validations"]
    ours, theirs = (Path(r["best"]["f1"]["rewriter"].partition(":")[2]) for r in (again, report))
    assert (ours / "model.safetensors").read_bytes() == (theirs / "model.safetensors").read_bytes()


def test_a_finished_run_is_not_made_again_and_another_seed_is_another_run(
    home: Home, report: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learn, "_learnt", lambda *_: pytest.fail("it trained again"))
    assert train(home.workspace, settings(home)) == report
    with pytest.raises(pytest.fail.Exception):
        train(home.workspace, settings(home, seed=1))


# ---------------------------------------------------------------- in use


def test_the_rewriter_is_used_by_name_everywhere(home: Home, report: dict[str, Any]) -> None:
    workspace, name = home.workspace, report["best"]["f1"]["rewriter"]
    banks = open_banks(workspace, "planted")
    asked = [q for q in banks.dataset.questions if q.scope == "testing"]
    [made, *_] = open_rewriter(name, None, workspace)(wanted_of(banks, asked))
    assert RIGHT in made.text.split() and made.failure is None and made.tokens_out
    changed, told = rewritten(workspace, banks, (name, None))
    found = {
        key: measure(one, RECIPE, Measures(ks=(1,))).report["recall"]["1"]
        for key, one in (("identity", banks), ("trained", changed))
    }
    assert found == {"identity": 0.0, "trained": 1.0}
    assert [q.gold for q in changed.dataset.questions] == [q.gold for q in banks.dataset.questions]
    assert told["not_rewritten"] == {} and str(home.model) not in json.dumps(told)
    scores = evaluate(Plan(workspace, banks, RECIPE, rewriter=name))
    assert scores["measures"]["f1_squad"]["micro"] == 1.0
    study = Study(workspace, changed, rewriter=told)
    without, _ = rewritten(workspace, banks, (taken_away(name)["without GRPO"], None))
    others = {
        "without GRPO": Study(workspace, without),
        "without rewriting": Study(workspace, banks),
    }
    rows = ablation_sweep(study, RECIPE, [1], others)["rows"]
    assert [(row["setting"], row["recall"]["1"]) for row in rows] == [
        *(("whole", 1.0), ("without GRPO", 0.0), ("without rewriting", 0.0)),
    ]
    assert rows[1]["test"]["1"]["difference"] == -1.0
    bare = name.partition(":")[2]
    assert searched_with(workspace, banks, (bare, None), asked[0].id) == made.text
    assert searched_with(workspace, banks, ("identity", None), asked[0].id) is None


def test_the_commands_take_a_rewriter_and_a_training(home: Home, report: dict[str, Any]) -> None:
    name = report["best"]["recall"]["rewriter"]
    plain = ("--prior", "none", "--k", "1", "--json", "--workspace", str(home.workspace.root))

    def told(*given: str) -> dict[str, Any]:
        done = CliRunner().invoke(app, [*given, *plain])
        assert done.exit_code == 0, done.output
        return json.loads(done.stdout)

    found = told("recall", "planted", "--split", "all", "--rewriter", name)
    assert found["recall"] == {"1": 1.0} and found["rewriter"]["name"] == "trained"
    asked = told("ask", "planted", "testing/0", "--rewriter", name, "--answerer", "extractive")
    assert RIGHT in asked["searched_with"] and asked["question"].startswith("Where was number 0")
    assert asked["answers"]["with"]["text"] == CITIES[WORDS.index(RIGHT)]
    swept = told("sweep", "ablation", "planted", "--rewriter", name)
    assert [row["setting"] for row in swept["rows"]][-2:] == ["without GRPO", "without rewriting"]
    dry = told_dry(home)
    assert set(dry) == {"trl", "reward_weights", "split", "trainable_parameters"}
    assert dry["reward_weights"] == [0.7, 0.3] and dry["trl"]["max_steps"] == 5
    assert dry["trl"]["top_p"] == 0.5


def told_dry(home: Home) -> dict[str, Any]:
    given = ("--alpha", "0.3", "--steps", "5", "--trl", "top_p=0.5", "--dry-run", "--json")
    where = ("--model", str(home.model), "--workspace", str(home.workspace.root))
    done = CliRunner().invoke(app, ["train", "planted", *given, *where])
    return json.loads(done.stdout)


def test_without_grpo_is_the_model_that_it_was_trained_from(
    home: Home, report: dict[str, Any]
) -> None:
    name = report["best"]["f1"]["rewriter"]
    folder = name.partition(":")[2]
    without = taken_away(name)
    assert without == {"without GRPO": f"untrained:{folder}", "without rewriting": "identity"}
    assert taken_away("identity") == {}
    assert rewriter_identity(name) != rewriter_identity(without["without GRPO"])
    banks = open_banks(home.workspace, "planted")
    asked = [q for q in banks.dataset.questions if q.scope == "testing"]
    said = open_rewriter(without["without GRPO"], None)(wanted_of(banks, asked))
    assert all(RIGHT not in one.text.split() for one in said)


def test_a_checkpoint_says_what_it_is_and_is_checked(
    home: Home, report: dict[str, Any], tmp_path: Path
) -> None:
    folder = Path(report["best"]["recall"]["rewriter"].partition(":")[2])
    manifest = msgspec.json.decode((folder / "manifest.json").read_bytes())
    assert manifest["base"]["model"] == "tiny" and manifest["chosen_by"] == "validation recall"
    assert manifest["recipe"]["k"] == 1 and manifest["dataset"] == "planted"
    assert not [p for p in folder.iterdir() if p.suffix in (".bin", ".pt", ".pkl", ".pth")]
    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / "config.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ModelError, match=r"damaged: config\.json"):
        open_rewriter(f"trained:{copy}", None)
    with pytest.raises(ModelError, match="holds no trained rewriter"):
        open_rewriter(f"trained:{tmp_path}", None)
    with pytest.raises(UsageError, match="or trained:FOLDER"):
        open_rewriter("nothing-of-this-name", None)


def test_another_base_model_is_refused(
    report: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Home
) -> None:
    from safetensors.torch import load_file, save_file

    other = shutil.copytree(home.model, tmp_path / "other")
    weights = load_file(other / "model.safetensors")
    save_file({k: v + 1 for k, v in weights.items()}, other / "model.safetensors", {"format": "pt"})
    monkeypatch.setenv("WORKBENCH_TRAINED_BASE", str(other))
    with pytest.raises(ModelError, match="is not the model that"):
        open_rewriter(report["best"]["f1"]["rewriter"].replace("trained", "untrained", 1), None)


# ---------------------------------------------------------------- adapter and warm start


def test_a_warm_start_with_an_adapter_learns_by_heart_and_goes_on(home: Home) -> None:
    one = settings(home, "learning_rate=0.01", lora=4, warm=12, steps=2, with_question=True)
    told = train(home.workspace, one)
    assert told["warm"]["of"] == 6 and 1 <= told["warm"]["pairs"] <= 6
    folder = Path(told["warm"]["rewriter"].partition(":")[2])
    assert (folder / "adapter_model.safetensors").is_file()
    assert not (folder / "model.safetensors").exists()
    # A and B of rank 4 beside seven 16 x 16 layers.
    assert told["trainable_parameters"] == 7 * 2 * 4 * 16
    banks = open_banks(home.workspace, "planted")
    asked = [q for q in banks.dataset.questions if q.scope == "testing"][:1]
    for name in (told["warm"]["rewriter"], told["best"]["f1"]["rewriter"]):
        [made] = open_rewriter(name, None, home.workspace)(wanted_of(banks, asked))
        assert made.text.startswith(asked[0].text) or made.failure == "empty"


# ---------------------------------------------------------------- what must not happen


def test_a_changed_embedder_is_noticed(home: Home) -> None:
    banks = open_banks(home.workspace, "planted")
    plan = Plan(home.workspace, banks, RECIPE)
    before = frozen(plan)
    check_frozen(before, plan)
    bank = banks.episodic["learning"]
    bank.vectors.setflags(write=True)
    bank.vectors[0, 0] += np.float32(1e-3)
    with pytest.raises(ModelError, match="must stay as it is: banks"):
        check_frozen(before, plan)


def test_what_trl_refuses_is_said_before_a_model_is_loaded(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learn, "plan_of", lambda *_: pytest.fail("it went on"))
    for trl, words in (
        ("use_cpu=false", "TRL refuses these settings: .*bf16"),
        ("vllm_importance_sampling_clip_min=9", "must be less than"),
        ("max_prompt_tokens=9", "no option 'max_prompt_tokens'"),
    ):
        with pytest.raises(UsageError, match=words):
            train(home.workspace, settings(home, trl, "bf16=true"))


def test_a_reward_of_another_number_is_named() -> None:
    def short(prompts: list[Any], completions: list[Any], **columns: Any) -> list[float]:
        return [1.0]

    def alone(prompts: list[Any], completions: list[Any], **columns: Any) -> float:
        return 1.0

    for function in (short, alone):
        with pytest.raises(UsageError, match=rf"{function.__name__} gave 1 rewards for 4"):
            policy.counted(function)(["p"] * 4, ["c"] * 4)


def test_a_prompt_that_is_too_long_is_left_out_whole_and_counted(home: Home) -> None:
    from workbench.training.adapter import load
    from workbench.training.material import material

    _, tokenizer = load(home.model, "float32")
    banks = open_banks(home.workspace, "planted")
    short, long, *_ = banks.dataset.questions
    long = msgspec.structs.replace(long, text="why " * 9000)
    made = material(banks, [short, long], tokenizer, 400)
    assert [one.question.id for one in made.asked] == [short.id] and made.too_long == [long.id]
    text = tokenizer.decode(made.asked[0].tokens)
    assert len(made.asked[0].tokens) <= 400 and text.endswith("reply <unk>")
    with pytest.raises(UsageError, match="longest_prompt = 10 tokens; the shortest has"):
        material(banks, [short], tokenizer, 10)


def test_what_the_policy_reads_has_nothing_of_the_gold(home: Home) -> None:
    from workbench.training.adapter import load
    from workbench.training.material import material, unrolled

    _, tokenizer = load(home.model, "float32")
    banks = open_banks(home.workspace, "planted")
    asked = material(banks, banks.dataset.questions, tokenizer, 500).asked
    rows = unrolled(asked, 4, 5, seed=3)
    assert {key for row in rows for key in row} == {"prompt", "question"}
    told = json.dumps(rows)
    assert RIGHT not in told.replace("the violin and the piano", "")  # the prompt's own example
    assert CITIES[WORDS.index(RIGHT)] not in told and "D1:" not in told
    # 18 questions: each once in the first 18 of 20 rows, in an order of its own.
    ids = [row["question"] for row in rows]
    assert len(rows) == 20 and len(set(ids[:18])) == 18
    assert ids != [row["question"] for row in unrolled(asked, 4, 5, seed=4)]


def test_the_rewards_see_the_whole_group_of_a_question(home: Home) -> None:
    banks = open_banks(home.workspace, "planted")
    rewards = RewriteRewards(Plan(home.workspace, banks, RECIPE))
    made = [policy.counted(function) for function in rewards.functions]
    columns = {"question": ["learning/0"] * 4}
    found, _ = (one(["p"] * 4, ["tea", "violin", "moon", "rain"], **columns) for one in made)
    assert np.argmax(found) == 1 and len(set(found)) == 2


def test_what_was_learnt_from_a_person_is_forgotten_with_them(
    home: Home, report: dict[str, Any], tmp_path: Path
) -> None:
    from workbench.forget import forget

    shutil.copytree(home.workspace.root, tmp_path / "ws")
    workspace = Workspace(tmp_path / "ws")
    left = workspace.folder("training", "unfinished")
    left.mkdir(parents=True)
    (left / "plan.json").write_text('{"dataset": "planted"}', encoding="utf-8")
    assert len(workspace.manifests("rewriters")) >= 2
    forget(workspace, "planted", "learning", ["D1:0"])
    assert not workspace.manifests("rewriters") and not left.exists()
