"""The rules of the house, checked on the code, and each check on a planted violation."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from shell import environment

PROJECT = Path(__file__).resolve().parent.parent

# Imports point downwards: a part of `workbench` may import those that stand before it here.
# A new module gets its place in this list.
ORDER = [
    *(
        "__init__",
        "errors",
        "provenance",
        "shipped",
        "schema",
        "locks",
        "workspace",
        "holdings",
        "view",
    ),
    *("datasets", "vector_cache"),
    *(
        "parallel",
        "embed",
        "minilm",
        "encoder",
        "embedders",
        "llm",
        "prompting",
        "reply_json",
        "replies",
        "verdicts",
    ),
    *("reply_cache", "endpoint", "endpoint_reply", "openai_client", "scripted_file"),
    *(
        "output_layer",
        "prompt_batch",
        "prompt_blocks",
        "local_model",
        "model_store",
        "local_weights",
        "chat_models",
    ),
    *("memory", "bank", "build", "constructed", "lexical"),
    *("shelf", "priors", "scoring", "tokens", "answer_metrics", "answer_file"),
    *("runs", "intervals", "kappa", "stats", "compare", "contrasts", "run_list"),
    *("lending", "retrieve", "presets", "metrics"),
    *(
        "bank_set",
        "library",
        "memory_kinds",
        "construct",
        "statement",
        "trained_model",
        "rewrite",
        "prepare",
        "recall",
        "ask",
    ),
    *("inspection", "memory_quality", "memory_map", "extraction_quality", "streaming"),
    *("question_form", "spans", "answer_words", "answer_weights", "span_features", "answer"),
    *(
        "blend",
        "surface",
        "cells",
        "effects",
        "lambda_surface",
        "sweep",
        "settings",
        "grids",
    ),
    *(
        "score",
        "traces",
        "contexts",
        "prompted_answer",
        "attribution",
        "run_plan",
        "answering",
        "rewritten",
        "rewriters",
    ),
    *("answer_one", "usable"),
    *("judged", "longmemeval_score", "judge_score", "judge_agreement"),
    *("rubrics", "judge_votes", "answer_sources", "judge", "run_answers"),
    *("reward_guards", "reward_normaliser", "reward_search", "reward_answers", "reward_step"),
    *("reward_terms", "rewards", "rule_rewrites", "candidate_pool", "alpha_table", "alpha_report"),
    *("alpha_landscape", "toy_policy", "training", "run"),
    *("systems", "system_run"),
    *("evidence_read", "published", "table_rows", "table_plan", "table_values", "main_table"),
    *("case_words", "cases", "case_answers", "components", "plane", "forget", "verify", "doctor"),
    *(
        "passport",
        "theme",
        "escaped",
        "excerpt",
        "notebook",
        "linked_runs",
        "figures",
        "case_tables",
        "case_card",
        "lesson",
    ),
    "toy_lesson",
    *("report", "curves", "ceilings", "lambda_lines", "scenes", "demo", "cli", "__main__"),
]

REWARD_ORDER = [
    *("__init__", "schema", "store", "wordings", "columns", "spreadsheet", "source_rows"),
    *("row_reading", "loading", "quality", "agreement"),
    *("markup", "phrases", "text_features", "rubric", "claims", "prose_rules", "offline"),
    *("judge_scorer", "scores", "induced", "proposals", "induce"),
    *("logistic", "separation", "resampling", "coefficients", "model_file", "explanation"),
    *("model", "reward", "protocol", "calibration", "material", "outcome", "evaluate"),
    *("fitting", "models", "baseline_result", "baselines", "judge_baseline", "induced_evaluation"),
    *("classifier_baseline", "simulated_features", "simulated_judgments", "simulated_plans"),
    *("simulated_texts", "simulate"),
    *("profile_cues", "profile_shape", "profile_json", "profile_draft", "profile_store"),
    *("known_names", "exact_dates", "masked_spans", "recognisers", "placeholders", "left_over"),
    *("privacy", "screening", "screening_offline", "screening_judge"),
    *("responses", "pair_costs", "wanted_pairs", "pairs"),
    *("judgment_log", "collection_plan", "collection", "collect"),
    *("figures", "tables", "report", "demo", "ready", "scenes"),
]
ORDERS = {"workbench": ORDER, "reward_model": REWARD_ORDER}

# The readers of source formats: each knows nothing of the others.
LOADERS = frozenset(
    ("chatgpt", "claude", "jsonl", "librechat", "locomo", "longmemeval", "personamem")
)

# Libraries that cost seconds or run code on load, and the only modules that may import them.
RESERVED = {
    "openai": {"workbench.openai_client", "workbench.endpoint_reply"},
    "torch": {
        "workbench.encoder",
        "workbench.local_model",
        "workbench.prompt_batch",
        "workbench.prompt_blocks",
        "workbench.training.adapter",
        "reward_model.classifier_baseline",
    },
    "transformers": {
        "workbench.encoder",
        "workbench.local_model",
        "workbench.prompt_batch",
        "workbench.prompt_blocks",
        "workbench.training.adapter",
        "workbench.training.policy",
        "workbench.training.warm_start",
        "reward_model.classifier_baseline",
    },
    "sentence_transformers": {"workbench.encoder"},
    "openvino": {"workbench.encoder"},
    "trl": {"workbench.training.policy", "workbench.training.warm_start"},
    "pickle": set[str](),
    "joblib": {"workbench.parallel"},
    "pandas": set[str](),
    "presidio_analyzer": {"reward_model.recognisers"},
}
HEAVY = ("torch", "transformers", "sentence_transformers", "numpy", "scipy", "polars", "usearch")
CODE = ("workbench", "reward_model", "apps", "notebooks")
FORBIDDEN_NAMES = ("utils", "helpers", "manager", "factory")

MODULE_LINES, FUNCTION_LINES, PARAMETERS, FRONT_DOOR = 250, 40, 6, 12


class Module(NamedTuple):
    """A source file: its dotted name and its syntax tree. Packages are named `a.b.__init__`."""

    name: str
    lines: int
    tree: ast.Module


def modules(root: Path, *parts: str) -> list[Module]:
    """Every module under some folders of a project."""
    found = []
    for path in sorted(path for part in parts for path in (root / part).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        name = ".".join(path.relative_to(root).with_suffix("").parts)
        found.append(Module(name, len(text.splitlines()), ast.parse(text)))
    return found


def imports(module: Module, known: frozenset[str]) -> Iterator[str]:
    """Dotted names that a module imports, anywhere in it; those in `known` by their full name."""
    package = module.name.split(".")[:-1]
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from (_whole(alias.name, known) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                deeper = _whole(f"{base}.{alias.name}", known)
                # The front door leads everywhere: what is fetched through it counts as itself.
                through = base == "workbench" and alias.name != "__version__"
                yield deeper if deeper in known or through else _whole(base, known)


def _whole(name: str, known: frozenset[str]) -> str:
    return f"{name}.__init__" if f"{name}.__init__" in known else name


def names_of(found: list[Module]) -> frozenset[str]:
    return frozenset(module.name for module in found)


def part_of(name: str) -> str:
    """The part of `workbench` that a dotted name belongs to."""
    return name.split(".")[1] if "." in name else "__init__"


# ---------------------------------------------------------------- checks


def upward_imports(root: Path) -> Iterator[str]:
    for package, order in ORDERS.items():
        found = modules(root, package)
        for module in found:
            own = part_of(module.name)
            if own not in order:
                yield f"{module.name} has no place in ORDER"
                continue
            for target in imports(module, names_of(found)):
                theirs = part_of(target)
                if target.split(".")[0] != package or theirs == own:
                    continue
                if theirs not in order or order.index(theirs) >= order.index(own):
                    yield f"{module.name} imports {target}"


def cycles(root: Path) -> Iterator[str]:
    found = modules(root, "workbench", "reward_model")
    known = names_of(found)
    graph = {one.name: {name for name in imports(one, known) if name in known} for one in found}
    # Whatever imports nothing that is left is no part of a cycle, nor is what it alone leads to.
    while leaves := [name for name, targets in graph.items() if not targets]:
        for leaf in leaves:
            del graph[leaf]
        for targets in graph.values():
            targets.difference_update(leaves)
    yield from (f"{name} is in a cycle, or leads to one" for name in graph)


def sibling_loaders(root: Path) -> Iterator[str]:
    found = modules(root, "workbench/datasets")
    loaders = {f"workbench.datasets.{loader}" for loader in LOADERS}
    for module in found:
        for target in imports(module, names_of(found)):
            if module.name in loaders and target in loaders - {module.name}:
                yield f"{module.name} imports {target}"


def wrong_packages(root: Path) -> Iterator[str]:
    """`workbench` leaves `reward_model` alone (its `cli` may know both); nothing needs tests."""
    for module in modules(root, "workbench", "reward_model", "notebooks", "apps"):
        for target in imports(module, frozenset()):
            top = target.split(".")[0]
            science = module.name.startswith("workbench.") and part_of(module.name) != "cli"
            if top == "tests" or (top == "reward_model" and science):
                yield f"{module.name} imports {target}"


def reserved_libraries(root: Path) -> Iterator[str]:
    for module in modules(root, *CODE):
        for target in imports(module, frozenset()):
            allowed = RESERVED.get(target.split(".")[0])
            if allowed is not None and module.name not in allowed:
                yield f"{module.name} imports {target}"


def science_in_interfaces(root: Path) -> Iterator[str]:
    """Pages of the app show what the library computes: they reckon nothing with arrays."""
    for module in modules(root, "apps"):
        for target in imports(module, frozenset()):
            if target.split(".")[0] in ("numpy", "scipy"):
                yield f"{module.name} imports {target}"


def over_budget(root: Path) -> Iterator[str]:
    """A notebook is as long as its argument, and each of its cells as a page of it: neither has a
    limit, while a function inside has that of all others."""
    for module in modules(root, *CODE):
        if module.lines > MODULE_LINES and not module.name.startswith("notebooks."):
            yield f"{module.name} has {module.lines} lines"
        for node in ast.walk(module.tree):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or _is_cell(node):
                continue
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > FUNCTION_LINES:
                yield f"{module.name}.{node.name} has {lines} lines"
            given = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            number = sum(argument.arg not in ("self", "cls") for argument in given)
            if number > PARAMETERS and not module.name.startswith("workbench.cli."):
                yield f"{module.name}.{node.name} has {number} parameters"


def _is_cell(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether marimo calls it, with every name that the cell uses as a parameter."""
    marks = [one.func if isinstance(one, ast.Call) else one for one in node.decorator_list]
    return any(ast.unparse(mark) == "app.cell" for mark in marks)


def bad_habits(root: Path) -> Iterator[str]:
    """Bare excepts, stubs, and names that say nothing."""
    for module in modules(root, *CODE):
        if any(name in module.name.split(".") for name in FORBIDDEN_NAMES):
            yield f"{module.name} says nothing"
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ExceptHandler) and node.type is None:
                yield f"{module.name}, line {node.lineno}: bare except"
            if isinstance(node, ast.Raise) and "NotImplemented" in ast.unparse(node):
                yield f"{module.name}, line {node.lineno}: stub"
            named = isinstance(node, ast.ClassDef | ast.FunctionDef)
            if named and node.name.lower().endswith(FORBIDDEN_NAMES):
                yield f"{module.name}.{node.name} says nothing"


def front_door(root: Path) -> Iterator[str]:
    """What `import workbench` offers, loads and costs, in a process of its own."""
    told = _loaded(root, "workbench")
    if len(told["names"]) > FRONT_DOOR:
        yield f"workbench offers {len(told['names'])} names"
    if told["seconds"] > 0.3:
        yield f"import workbench took {told['seconds']:.2f} s"
    for name in ("workbench", "workbench.cli"):
        yield from (f"{name} loads {heavy}" for heavy in _loaded(root, name)["heavy"])


PROBE = """
import importlib, json, sys, time
began = time.process_time()
module = importlib.import_module(sys.argv[1])
seconds = time.process_time() - began
heavy = [name for name in sys.argv[2:] if name in sys.modules]
print(json.dumps({"names": module.__all__, "heavy": heavy, "seconds": seconds}))
"""


def _loaded(root: Path, name: str) -> dict[str, list[str] | float]:
    done = subprocess.run(
        [sys.executable, "-c", PROBE, name, *HEAVY],
        env=environment(PYTHONPATH=str(root)),
        cwd=root,
        capture_output=True,
        check=True,
    )
    return json.loads(done.stdout)


Check = Callable[[Path], Iterator[str]]

CHECKS: list[Check] = [
    upward_imports,
    cycles,
    sibling_loaders,
    wrong_packages,
    reserved_libraries,
    science_in_interfaces,
    over_budget,
    bad_habits,
    front_door,
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_code_keeps_the_rule(check: Check) -> None:
    assert list(check(PROJECT)) == []


def test_the_checks_look_at_all_of_the_code() -> None:
    found = names_of(modules(PROJECT, "workbench"))
    assert {"workbench.schema", "workbench.datasets.locomo", "workbench.cli.__init__"} < found
    [library] = [m for m in modules(PROJECT, "workbench") if m.name == "workbench.library"]
    targets = set(imports(library, found))
    assert {"workbench.datasets.store", "workbench.provenance", "workbench.bank_set"} < targets


# ---------------------------------------------------------------- planted violations

SEVEN = "def f(a, b, c, d, e, *, g, h): pass"
LINES = "\n" + "x = 1\n" * 250
LONG = "def f():\n" + "    x = 1\n" * 40

PLANTED: list[tuple[Check, dict[str, str], str]] = [
    (upward_imports, {"schema.py": "import workbench.bank"}, "workbench.schema imports"),
    (upward_imports, {"bank.py": "def f():\n    from workbench import ask"}, "workbench.bank impo"),
    (upward_imports, {"bank.py": "from . import cli", "cli/__init__.py": ""}, "workbench.bank"),
    (upward_imports, {"errors.py": "from .schema import Turn", "schema.py": ""}, "workbench.err"),
    (upward_imports, {"datasets/x.py": "from ..bank import Bank"}, "workbench.datasets.x"),
    (upward_imports, {"schema.py": "from workbench import Bank"}, "workbench.schema imports"),
    (upward_imports, {"novel.py": ""}, "workbench.novel has no place in ORDER"),
    (upward_imports, {"ask.py": "import workbench.novel"}, "workbench.ask imports"),
    (
        upward_imports,
        {"../reward_model/schema.py": "from reward_model.store import x"},
        "reward_model.schema imports reward_model.store",
    ),
    (upward_imports, {"../reward_model/novel.py": ""}, "reward_model.novel has no place"),
    (
        cycles,
        {"memory/a.py": "from workbench.memory import b", "memory/b.py": "from .a import x"},
        "workbench.memory.a is in a cycle",
    ),
    (
        sibling_loaders,
        {"datasets/claude.py": "from workbench.datasets.chatgpt import load"},
        "workbench.datasets.claude imports workbench.datasets.chatgpt",
    ),
    (
        sibling_loaders,
        {"datasets/claude.py": "from . import chatgpt", "datasets/chatgpt.py": ""},
        "workbench.datasets.claude imports workbench.datasets.chatgpt",
    ),
    (wrong_packages, {"bank.py": "from reward_model.model import fit"}, "workbench.bank imports"),
    (wrong_packages, {"../notebooks/n.py": "import tests.shell"}, "notebooks.n imports tests"),
    (wrong_packages, {"../apps/views/v.py": "from tests import x"}, "apps.views.v imports tests"),
    (reserved_libraries, {"bank.py": "import torch.nn as nn"}, "workbench.bank imports torch.nn"),
    (reserved_libraries, {"bank.py": "def f():\n    import pickle"}, "workbench.bank imports"),
    (over_budget, {"bank.py": "x = 1\n" * 251}, "workbench.bank has 251 lines"),
    (over_budget, {"bank.py": LONG}, "workbench.bank.f has 41 lines"),
    (over_budget, {"bank.py": SEVEN}, "workbench.bank.f has 7 parameters"),
    (over_budget, {"bank.py": f"class A:\n    {SEVEN}"}, "workbench.bank.f has 7 parameters"),
    (reserved_libraries, {"../notebooks/n.py": "import torch"}, "notebooks.n imports torch"),
    (science_in_interfaces, {"../apps/views/v.py": "import numpy as np"}, "apps.views.v imports"),
    (science_in_interfaces, {"../apps/parts/p.py": "from scipy.stats import t"}, "apps.parts.p im"),
    (over_budget, {"../apps/views/v.py": "x = 1\n" * 251}, "apps.views.v has 251 lines"),
    (over_budget, {"../apps/parts/p.py": LONG}, "apps.parts.p.f has 41 lines"),
    (over_budget, {"../notebooks/n.py": LONG}, "notebooks.n.f has 41 lines"),
    (bad_habits, {"../notebooks/n.py": "try:\n    x\nexcept:\n    x"}, "notebooks.n, line 3: bare"),
    (bad_habits, {"bank.py": "try:\n    pass\nexcept:\n    pass"}, "workbench.bank, line 3: bare"),
    (bad_habits, {"bank.py": "def f():\n    raise NotImplementedError('later')"}, "workbench.bank"),
    (bad_habits, {"utils.py": ""}, "workbench.utils says nothing"),
    (bad_habits, {"datasets/helpers/x.py": ""}, "workbench.datasets.helpers.x says nothing"),
    (bad_habits, {"bank.py": "class BankManager: pass"}, "workbench.bank.BankManager"),
    (front_door, {"__init__.py": f"__all__ = {list('abcdefghijklm')}"}, "workbench offers 13"),
    (front_door, {"cli/__init__.py": "import numpy\n__all__ = []"}, "workbench.cli loads numpy"),
    (
        front_door,
        {"__init__.py": "import time\nsum(range(30_000_000))\n__all__ = []"},
        "import workbench took",
    ),
]


@pytest.mark.parametrize(("check", "files", "why"), PLANTED)
def test_a_planted_violation_is_found(
    tmp_path: Path, check: Check, files: dict[str, str], why: str
) -> None:
    sound = {"__init__.py": "__all__ = []", "cli/__init__.py": "__all__ = []"}
    for name, text in {**sound, **files}.items():
        path = tmp_path / "workbench" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    found = list(check(tmp_path))
    assert found and found[0].startswith(why)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_sound_code_passes(tmp_path: Path, check: Check) -> None:
    six = "def f(self, a, b, c, d, e, *, g):\n" + "    x = 1\n" * 39
    files = {
        "__init__.py": "__all__ = ['f']",
        "encoder.py": "import torch",
        "bank.py": "from workbench.errors import X\nimport workbench.datasets.store\n" + six,
        "datasets/claude.py": "from workbench.datasets.chats import x",
        "datasets/chats.py": "",
        "cli/__init__.py": "import reward_model\n__all__ = []",
        "cli/x.py": SEVEN,
        "../reward_model/__init__.py": "",
        "../reward_model/evaluate.py": "from workbench.bank import f\nimport reward_model.schema",
        "../reward_model/schema.py": "",
        "../notebooks/n.py": "@app.cell\n" + LONG + "@app.cell(hide_code=True)\n" + SEVEN + LINES,
    }
    for name, text in files.items():
        path = tmp_path / "workbench" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert list(check(tmp_path)) == []
