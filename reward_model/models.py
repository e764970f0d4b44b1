"""Fitted models in the workspace: one JSON file each, named by the digest of its content."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reward_model.model import MemoryAwareRewardModel
from workbench.errors import UsageError
from workbench.schema import digest_of
from workbench.workspace import Workspace

__all__ = ["open_model", "save_model", "saved_models"]

KIND = "models"
FILE = "model.json"


def save_model(workspace: Workspace, model: MemoryAwareRewardModel) -> str:
    """Keep a fitted model, and return its id."""
    text = model.to_json()
    name = digest_of(text)
    file = model.file_
    manifest = {
        "id": name,
        "dataset": file.origin.dataset,
        "content": file.origin.data,
        "scorer": file.origin.scorer,
        "synthetic": file.origin.synthetic,
        "n": file.n,
        "participants": file.participants,
        "C": file.C,
    }
    with workspace.lock(f"model-{name}"):
        workspace.publish(KIND, name, {FILE: text.encode() + b"\n"}, manifest)
    return name


def saved_models(workspace: Workspace) -> dict[str, dict[str, Any]]:
    """The manifests of the kept models by id, oldest first."""
    return workspace.manifests(KIND)


def open_model(workspace: Workspace, name: str) -> MemoryAwareRewardModel:
    """The model of an id (or its beginning) in the workspace, or of a file.

    Raises UsageError where it is neither, or begins several ids; DataError where the file is no
    model of ours.
    """
    if Path(name).is_file():
        return MemoryAwareRewardModel.load(name)
    known = saved_models(workspace)
    found = [one for one in known if one.startswith(name)] if name else []
    if len(found) != 1:
        listed = ", ".join(known) or "none"
        what = "several models" if found else "no file and no model"
        raise UsageError(
            f"{name!r} names {what}; in the workspace are: {listed}. "
            "`workbench reward fit NAME` makes one"
        )
    return MemoryAwareRewardModel.load(workspace.folder(KIND, found[0]) / FILE)
