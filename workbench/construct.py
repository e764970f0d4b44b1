"""Bank sets that a language model makes: extraction, aggregation, profiles.

Such a set is made by its command alone, never because somebody opens a page. Its identity holds the
model's own and the prompts' digests, so that sets of two models stand side by side. What failed is
named in the manifest as pending, and asked for again by the next run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from workbench.bank import Bank
from workbench.bank_set import BankSet, load_bank_set
from workbench.build import TAU_CLUSTER, Build, by_scope
from workbench.constructed.asking import Asker
from workbench.constructed.extraction import extract
from workbench.constructed.pieces import pieces_of
from workbench.constructed.profiles import profiles_by_model
from workbench.constructed.semantic import aggregate_by_model
from workbench.datasets.report import Dataset
from workbench.embed import Embedder
from workbench.embedders import open_embedder
from workbench.errors import ModelError
from workbench.library import MADE, dataset_in_force, identity_of, retire_others
from workbench.llm import LLM
from workbench.prompting import prompt
from workbench.provenance import code_digest
from workbench.schema import Memory, Profile, digest_of, encode_jsonl
from workbench.vector_cache import VectorCache
from workbench.workspace import Content, Workspace, verify_folder

__all__ = ["construct_banks"]

Progress = Callable[[str, int, int], None]

PROMPTS = ("extract_memories", "extract_semantic", "extract_profile")


class Construction(Build):
    """A build whose memories, aggregation and profiles are a model's."""

    def __init__(
        self,
        dataset: Dataset,
        embedder: Embedder,
        cached: VectorCache,
        asker: Asker,
    ) -> None:
        super().__init__(dataset, "llm", embedder, cached, asker.progress)
        self.asker = asker

    def make(self) -> tuple[dict[str, Content], dict[str, Any]]:
        """The set's files and facts, with every reply word for word, and what is pending.

        Raises ModelError where not one piece of dialogue was read.
        """
        files, facts = super().make()
        asker = self.asker
        failures = dict(sorted(Counter(asker.pending.values()).items()))
        told = {
            "units": dict(asker.asked),
            "failed": failures,
            "pending": asker.pending,
            "attempts": asker.attempts,
            "replies": _spent(asker.log),
        }
        return {**files, "construction.jsonl": encode_jsonl(asker.log)}, {**facts, **told}

    def _remember(self) -> tuple[dict[str, list[Memory]], list[Profile]]:
        scopes = by_scope(self.dataset)
        pieces = [
            piece
            for dialogues in scopes.values()
            for dialogue in dialogues
            for piece in pieces_of(dialogue, self.left_out)
        ]
        memories: dict[str, list[Memory]] = {scope: [] for scope in scopes}
        for memory in extract(self.asker, pieces, self.left_out):
            memories[memory.scope].append(memory)
        if pieces and len(self.asker.pending) == len(pieces):
            raise ModelError(_nothing(self.asker))
        people = {
            scope: list(dict.fromkeys(p for dialogue in dialogues for p in dialogue.people))
            for scope, dialogues in scopes.items()
        }
        return memories, profiles_by_model(self.asker, people, memories, self.left_out)

    def _aggregate(self, episodic: dict[str, Bank]) -> dict[str, list[Memory]]:
        made = aggregate_by_model(self.asker, episodic, TAU_CLUSTER, self.left_out)
        self.left_out = +self.left_out  # without reasons that never applied
        return made


def construct_banks(
    workspace: Workspace,
    name: str,
    llm: LLM,
    embedder: str = "minilm",
    progress: Progress | None = None,
) -> BankSet:
    """The bank set that a model makes of a dataset: made where it is missing, and made again where
    units of it are pending; `manifest["pending"]` names those that are still.

    Replies that came before are not asked for again where the model has a cache. Raises ModelError
    where no request gets through, or not one piece of dialogue was read.
    """
    opened = open_embedder(embedder, fetch=not workspace.read_only)
    dataset, content = dataset_in_force(workspace, name)
    identity = {
        **identity_of(name, content, MADE, opened),
        "constructed": code_digest("constructed"),
        "model": llm.identity,
        "asked_with": {one: prompt(one).digest for one in PROMPTS},
    }
    cached = VectorCache(workspace.folder("cache"), workspace.read_only)
    with workspace.lock(f"bank-{digest_of(identity)}"):
        before = _made_before(workspace, identity)
        key = before["id"] if before else ""
        if before is None or before["pending"]:
            asker = Asker(llm, _attempts(before), progress)
            files, facts = Construction(dataset, opened, cached, asker).make()
            said = [[one["unit"], one["answer"], one["failure"]] for one in asker.log]
            key = digest_of([identity, said])
            workspace.publish("banks", key, files, {**identity, **facts, "id": key})
            retire_others(workspace, key, identity)
    return load_bank_set(workspace.folder("banks", key), dataset, opened, cached)


def _made_before(workspace: Workspace, identity: dict[str, Any]) -> dict[str, Any] | None:
    """The manifest of the undamaged set of this identity, whatever is pending in it."""
    for key, manifest in workspace.manifests("banks").items():
        same = all(manifest.get(field) == value for field, value in identity.items())
        if same and not verify_folder(workspace.folder("banks", key)):
            return manifest
    return None


def _attempts(before: dict[str, Any] | None) -> dict[str, int]:
    """The number of the next attempt of every unit that has failed, or had, by name."""
    if before is None:
        return {}
    attempts: dict[str, int] = dict(before["attempts"])
    for unit in before["pending"]:
        attempts[unit] = attempts.get(unit, 0) + 1
    return attempts


def _spent(log: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """What all replies cost, those of the cache as they were when they were made."""
    replies = [reply for one in log for reply in one["replies"]]
    counts = {"replies": len(replies)}
    for what in ("tokens_in", "tokens_out"):
        counts[what] = sum(reply[what] for reply in replies)
    return {**counts, "seconds": round(sum(reply["seconds"] for reply in replies), 3)}


def _nothing(asker: Asker) -> str:
    counted = Counter(asker.pending.values()).most_common()
    why = ", ".join(f"{number} {kind}" for kind, number in counted)
    return (
        f"the model read none of {asker.asked['extracting']} pieces of dialogue ({why}); nothing "
        "is kept but its replies"
    )
