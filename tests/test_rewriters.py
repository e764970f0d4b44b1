"""The rewriters of a workspace by name: what is offered, what is refused, what is known already."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tiny_policy import planted
from workbench.datasets import import_file
from workbench.errors import ModelError, UsageError
from workbench.library import BankSet, open_banks
from workbench.llm import Reply, Request
from workbench.rewriters import (
    located,
    located_if_here,
    open_checkpoint,
    question_of,
    reworded,
    rewriter_labels,
    unasked,
)
from workbench.trained_model import TrainedModel
from workbench.usable import usable
from workbench.view import View
from workbench.workspace import Workspace

RUN, OLDER = "c0ffee00c0ffee00", "0ddba11500000000"


@pytest.fixture(scope="module")
def banks(tmp_path_factory: pytest.TempPathFactory) -> BankSet:
    folder = tmp_path_factory.mktemp("rewriters")
    import_file(Workspace(folder / "ws"), planted(folder / "planted.jsonl"))
    return open_banks(Workspace(folder / "ws"), "planted")


def base(folder: Path, weights: bytes = b"weights") -> Path:
    """Something that has the files of a model; nothing here loads them."""
    folder.mkdir()
    (folder / "model.safetensors").write_bytes(weights)
    (folder / "config.json").write_text("{}", encoding="utf-8")
    return folder


def published(workspace: Workspace, key: str, folder: Path, chosen_by: str, **more: Any) -> None:
    """A checkpoint as a training leaves it, but for its weights."""
    from workbench.local_weights import local_model

    weights = local_model(str(folder), workspace).identity["weights"]
    about = {"model": folder.name, "folder": str(folder), "weights": weights}
    manifest = {
        **{"kind": "rewriter", "base": about, "adapter": False, "with_question": False},
        **{"tokens": 3, "chosen_by": chosen_by, "step": 5, **more},
    }
    files = {"model.safetensors": key.encode(), "config.json": b"{}"}
    workspace.publish("rewriters", key, files, manifest)


@pytest.fixture
def home(workspace: Workspace, tmp_path: Path) -> Workspace:
    """Two trainings of one base model, and a folder that is no rewriter."""
    folder = base(tmp_path / "tiny")
    published(workspace, f"{OLDER}-f1", folder, "validation f1")
    published(workspace, f"{RUN}-f1", folder, "validation f1")
    published(workspace, f"{RUN}-recall", folder, "validation recall")
    workspace.publish("rewriters", "other", {"a.txt": b"a"}, {"kind": "something"})
    return workspace


class Replies(list[Request]):
    """What models were asked; each says the same, whatever it is asked."""

    said = "the violin"

    def answer(self, requests: Sequence[Request], done: Any = None) -> list[Reply]:
        self.extend(requests)
        made = [Reply(text=self.said) for _ in requests]
        for place, reply in enumerate(made):
            done(place, reply)
        return made


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Replies:
    replies = Replies()
    monkeypatch.setattr(TrainedModel, "complete", replies.answer)
    return replies


def test_the_newest_is_offered_first_and_a_base_model_once(home: Workspace) -> None:
    labels = rewriter_labels(home)
    assert list(labels) == [
        "",
        f"trained:{RUN}-recall",
        f"trained:{RUN}-f1",
        f"trained:{OLDER}-f1",
        f"untrained:{RUN}-recall",
    ]
    assert len(set(labels.values())) == 5
    assert labels[f"trained:{RUN}-f1"] == "trained, validation f1 (run c0ffee00, tiny)"
    assert str(home.root) not in "".join([*labels, *labels.values()])


def test_another_base_model_of_the_same_name_is_another(home: Workspace, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    other = base(tmp_path / "b" / "tiny", b"others")
    published(home, "0123456789abcdef-f1", other, "validation f1")
    untrained = [one for name, one in rewriter_labels(home).items() if name.startswith("untr")]
    assert sorted(untrained) == [
        "untrained: tiny, the base of run 01234567",
        "untrained: tiny, the base of run c0ffee00",
    ]


def test_a_name_leads_into_the_workspace_and_nowhere_else(home: Workspace, tmp_path: Path) -> None:
    assert located(home, "") == located(home, "identity") == "identity"
    folder = home.root.resolve() / "rewriters" / f"{RUN}-f1"
    assert located(home, f"trained:{RUN}-f1") == f"trained:{folder}"
    outside = tmp_path / "tiny"
    for name in (f"trained:{outside}", "trained:../datasets", "prompted", f"loaded:{RUN}-f1"):
        with pytest.raises(UsageError, match="is in this workspace"):
            located(home, name)
        # A command may name any folder, and says itself what is wrong with it.
        assert located_if_here(home, name) == name
        view, said = usable(View(rewriter=name), ["sample"], (), rewriter_labels(home))
        assert view.rewriter == "" and "the question as asked is used" in said[0]
    assert located_if_here(home, f"untrained:{RUN}-f1") == f"untrained:{folder}"
    there = View(rewriter=f"untrained:{RUN}-recall")
    assert usable(there, ["sample"], (), rewriter_labels(home)) == (there, [])
    with pytest.raises(UsageError, match="no checkpoint"):
        open_checkpoint(home, "")


def test_what_was_asked_before_is_known_without_the_model(
    home: Workspace, banks: BankSet, asked: Replies
) -> None:
    name = f"trained:{RUN}-f1"
    first, second, *_ = questions = banks.dataset.questions
    blank = question_of(banks, "  ", "learning/learning0")
    assert unasked(home, banks, "", questions) == 0
    # Equal questions are one request, and a blank one is none.
    assert unasked(home, banks, name, [first, second, first, blank]) == 2
    opened = open_checkpoint(home, name)
    made = reworded(opened.rewrite, banks, first)
    assert (made.text, made.failure, len(asked)) == ("the violin", None, 1)
    assert unasked(home, banks, name, [first, second]) == 1
    assert opened.unasked(banks, [first]) == 0
    assert reworded(opened.rewrite, banks, first) == made and len(asked) == 1
    # Other weights are another model, and so is the base model.
    for other in (f"trained:{RUN}-recall", f"untrained:{RUN}-f1"):
        assert unasked(home, banks, other, [first]) == 1
    # Who may only read finds what was written to the end, and no error where nothing was.
    reading = Workspace(home.root, read_only=True)
    assert unasked(reading, banks, name, [first, second]) == 2
    opened.chat.cache.close()
    assert unasked(reading, banks, name, [first, second]) == 1
    assert json.dumps(asked[0].user).count("Where was number 0 of learning?") == 1
    assert "Vienna" not in asked[0].user  # the gold


def test_a_rewriter_that_says_nothing_leaves_the_question(
    home: Workspace, banks: BankSet, asked: Replies
) -> None:
    asked.said = ' "…" '
    opened = open_checkpoint(home, f"trained:{RUN}-f1")
    own = question_of(banks, "Where is my dog?", "choosing/choosing1")
    assert (own.id, own.scope, own.people) == ("", "choosing", ("choosing1",))
    made = reworded(opened.rewrite, banks, own)
    assert (made.text, made.failure, made.pending) == ("Where is my dog?", "empty", False)
    known = question_of(banks, "choosing/2")
    assert (known.id, known.scope) == ("choosing/2", "choosing")


def test_a_base_model_that_is_gone_is_named(
    home: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_TRAINED_BASE", str(base(tmp_path / "else", b"others")))
    with pytest.raises(ModelError, match="is not the model that"):
        open_checkpoint(home, f"untrained:{RUN}-f1")
    assert open_checkpoint(home, f"trained:{RUN}-f1").model.learnt  # whole weights of its own
