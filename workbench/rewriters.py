"""The rewriters that a workspace has: what an interface offers, and how a name is found.

A checkpoint of this workspace is named `trained:RUN-f1`, its base model `untrained:RUN-f1`: so a
link or a report needs no path of a machine, and an address can name no folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from workbench.ask import find_asker, find_question
from workbench.chat_models import ChatModel
from workbench.errors import UsageError
from workbench.library import BankSet
from workbench.reply_cache import reply_key
from workbench.rewrite import TRAINED, Rewriter, Rewriting, stating
from workbench.rewritten import wanted_of
from workbench.schema import Question
from workbench.statement import statement_request
from workbench.trained_model import KIND, TrainedModel, open_trained
from workbench.workspace import Workspace

__all__ = [
    "AS_ASKED",
    "Checkpoint",
    "located",
    "located_if_here",
    "open_checkpoint",
    "question_of",
    "reworded",
    "rewriter_labels",
    "unasked",
]

# The rewriter that leaves a question as it is, in a view; "identity" for commands.
AS_ASKED = ""


def rewriter_labels(workspace: Workspace) -> dict[str, str]:
    """What can be searched with without a model that the user names: each name with its words for
    people, the question as asked first, then what was trained (the newest first), each run's base
    model behind its checkpoints."""
    labels = {AS_ASKED: "the question as asked"}
    bases: dict[str, tuple[str, str]] = {}
    for key, manifest in reversed(workspace.manifests("rewriters").items()):
        if manifest.get("kind") != KIND:
            continue
        run, base = key.rpartition("-")[0][:8], manifest["base"]
        labels[f"trained:{key}"] = f"trained, {manifest['chosen_by']} (run {run}, {base['model']})"
        told = f"untrained: {base['model']}, the base of run {run}"
        bases.setdefault(base["weights"], (f"untrained:{key}", told))
    return {**labels, **dict(bases.values())}


def located(workspace: Workspace, name: str) -> str:
    """What `open_rewriter` takes for a name of `rewriter_labels`.

    Raises UsageError for a checkpoint that this workspace does not have.
    """
    if name in (AS_ASKED, "identity"):
        return "identity"
    kind, _, key = name.partition(":")
    if kind not in TRAINED or key not in workspace.manifests("rewriters"):
        raise UsageError(f"no rewriter {name[:60]!r} is in this workspace")
    return f"{kind}:{workspace.folder('rewriters', key).resolve()}"


def located_if_here(workspace: Workspace, name: str) -> str:
    """A name as a command takes it: a checkpoint of this workspace by its name, else as it is."""
    kind, _, key = name.partition(":")
    here = kind in TRAINED and key in workspace.manifests("rewriters")
    return located(workspace, name) if here else name


@dataclass(frozen=True)
class Checkpoint:
    """A rewriter of a workspace, opened once for many questions. Its weights are loaded for the
    first question that it has not put into its words yet, and stay loaded."""

    model: TrainedModel
    chat: ChatModel

    @property
    def rewrite(self) -> Rewriter:
        """What puts questions into its words; the workspace's cache is looked at first."""
        told = self.model.manifest
        return stating(self.chat, told["with_question"], told["tokens"])

    def unasked(self, banks: BankSet, questions: Sequence[Question]) -> int:
        """How many different questions are not in the workspace's cache yet."""
        asked = [one for one in wanted_of(banks, questions) if one.text.strip()]
        tokens = self.model.manifest["tokens"]
        keys = {reply_key(self.model.identity, statement_request(one, tokens)) for one in asked}
        return len(keys) - len(self.chat.cache.read(sorted(keys)))


def open_checkpoint(workspace: Workspace, name: str) -> Checkpoint:
    """The rewriter that a name of `rewriter_labels` means, other than the question as asked.

    Its files are checked, and its base model's, which takes a second for a large one; nothing is
    loaded. Raises UsageError for a name that is not here, ModelError for a damaged checkpoint or a
    base model that is gone.
    """
    kind, _, folder = located(workspace, name).partition(":")
    if kind not in TRAINED:
        raise UsageError("the question as asked is no checkpoint")
    model = open_trained(Path(folder), TRAINED[kind])
    return Checkpoint(model, ChatModel(name, workspace, model))


def unasked(workspace: Workspace, banks: BankSet, name: str, questions: Sequence[Question]) -> int:
    """How many of some questions a rewriter of `rewriter_labels` has not put into its words yet,
    so that its model would have to be loaded and asked."""
    if located(workspace, name) == "identity":
        return 0
    opened = open_checkpoint(workspace, name)
    try:
        return opened.unasked(banks, questions)
    finally:
        opened.chat.cache.close()


def question_of(banks: BankSet, asked: str, user: str | None = None) -> Question:
    """The dataset's question of that id, or free text as a question of whoever `user` names.

    Raises UsageError where `user` names nobody.
    """
    scope, people = find_asker(banks.dataset, asked, user)
    own = Question(id="", scope=scope, text=asked, people=people)
    return find_question(banks.dataset, asked) or own


def reworded(rewrite: Rewriter, banks: BankSet, question: Question) -> Rewriting:
    """One question in a rewriter's words; where it fails, its own, with the class of failure."""
    [made] = rewrite(wanted_of(banks, [question]))
    return made
