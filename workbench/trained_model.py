"""Checkpoints of a trained rewriter: which files they hold, and how they are recognised and opened.

A checkpoint is a folder with a manifest (`kind: rewriter`; the run, its recipe, the data's digest,
the base model's name and the digest of its weights) and either an adapter (`adapter_*`, used on top
of the base model) or a whole model. All weights are safetensors. Nothing heavy is imported here.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import ModelError
from workbench.llm import Reply, Request
from workbench.local_weights import BLOCK, READING, LocalModel, local_model
from workbench.schema import digest_of
from workbench.workspace import Workspace, read_manifest, verify_folder

if TYPE_CHECKING:
    from workbench.local_model import Generator

__all__ = ["BASE", "KIND", "TrainedModel", "open_trained"]

KIND = "rewriter"
# Names the base model's folder where it has moved since the training.
BASE = "WORKBENCH_TRAINED_BASE"

Done = Callable[[int, Reply], None]


@dataclass
class TrainedModel:
    """The model of a checkpoint, or with `learnt` False the one that it was trained from."""

    folder: Path
    manifest: dict[str, Any]
    base: LocalModel
    learnt: bool = True

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Names the weights by digests; no path of this machine is in it."""
        files = {name: stamp["sha256"] for name, stamp in self.manifest["files"].items()}
        return {
            "kind": "trained" if self.learnt else "untrained",
            "model": self.manifest["base"]["model"],
            "weights": digest_of(files) if self.learnt else self.manifest["base"]["weights"],
            "dtype": self.base.dtype,
            "device": self.base.device.partition(":")[0],
            "batch": self.base.batch,
            "block": BLOCK,
            "reading": READING,
        }

    @cached_property
    def generator(self) -> Generator:
        from workbench.local_model import Generator

        held = self.learnt and not self.manifest["adapter"]
        folder = self.folder if held else self.base.folder
        gguf = None if held else self.base.gguf
        made = Generator(folder, gguf, self.base.dtype, self.base.device, BLOCK)
        if self.learnt and self.manifest["adapter"]:
            made.adapt(self.folder)
        return made

    def complete(self, requests: Sequence[Request], done: Done | None = None) -> list[Reply]:
        """One reply for each request, each generated on its own; `done` is told as they come."""
        return self.generator.complete(requests, self.base.batch, done) if requests else []


def open_trained(folder: Path, learnt: bool = True) -> TrainedModel:
    """The model of a checkpoint's folder; nothing is loaded yet.

    The base model is looked for where it was, or in the folder that `$WORKBENCH_TRAINED_BASE`
    names, and must have the same weights. Raises ModelError where the checkpoint is missing or
    damaged, or its base model is.
    """
    manifest = read_manifest(folder)
    if manifest is None or manifest.get("kind") != KIND:
        raise ModelError(
            f"{folder} holds no trained rewriter: name a folder that `workbench train` printed"
        )
    damaged = verify_folder(folder)
    if damaged:
        raise ModelError(f"the trained rewriter in {folder} is damaged: {', '.join(damaged)}")
    base = manifest["base"]
    if learnt and not manifest["adapter"]:
        return TrainedModel(folder, manifest, _held(folder), learnt)
    found = local_model(os.environ.get(BASE) or base["folder"], Workspace())
    if found.identity["weights"] != base["weights"]:
        raise ModelError(
            f"{found.name} is not the model that {folder} was trained from: its weights are "
            f"{found.identity['weights']}, not {base['weights']}; set {BASE} to the right folder"
        )
    return TrainedModel(folder, manifest, found, learnt)


def _held(folder: Path) -> LocalModel:
    return local_model(str(folder), Workspace())
