"""Language models on this machine: which files a name means, and how they are recognised again.

Nothing heavy is imported: where every reply is in the cache, no model is loaded.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.errors import ModelError, UsageError
from workbench.llm import Reply, Request
from workbench.model_store import KNOWN, stored
from workbench.schema import digest_of
from workbench.workspace import Workspace, file_sha256, read_manifest

if TYPE_CHECKING:
    from workbench.local_model import Generator

__all__ = ["BLOCK", "READING", "LocalModel", "local_model"]

Done = Callable[[int, Reply], None]

DTYPES = ("bfloat16", "float32")
# What the hub is asked for: weights that are plain numbers, and what says how to read them.
WANTED = ["*.json", "*.txt", "*.model", "*.jinja", "*.safetensors"]
# Requests that are generated at once, where their replies are long.
BATCH = 8
# Tokens of a prompt that are read at once (`prompt_blocks.py`): a reply depends on it by rounding.
BLOCK = 256
# Raise it where the same request would be read, or a sample drawn, in another way.
READING = 2


@dataclass
class LocalModel:
    """A model in a folder (or the GGUF file `gguf` in it), loaded for the first request that needs
    it. `batch` is the most requests that are generated together; see `local_model.py`."""

    name: str
    folder: Path
    gguf: str | None = None
    dtype: str = "float32"
    device: str = "cpu"
    batch: int = BATCH

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Names the weights by their digest; no path of this machine is in it."""
        if self.gguf:
            weights = [self.folder / self.gguf]
            others: list[Path] = []
        else:
            weights = sorted(self.folder.glob("*.safetensors"))
            others = [*sorted(self.folder.glob("*.json")), *sorted(self.folder.glob("*.jinja"))]
        # The manifest of a stored model names the time of its making, which changes nothing.
        read = [path for path in (*weights, *others) if path.name != "manifest.json"]
        hashes = {path.name: file_sha256(path) for path in read}
        self._as_prepared(hashes)
        return {
            "kind": "transformers",
            "model": self.name,
            "weights": digest_of(hashes),
            "dtype": self.dtype,
            "device": self.device.partition(":")[0],
            "batch": self.batch,
            "block": BLOCK,
            "reading": READING,
        }

    def _as_prepared(self, hashes: dict[str, str]) -> None:
        """Raise ModelError where a stored model is no longer what was prepared."""
        manifest = read_manifest(self.folder) if self.name in KNOWN else None
        prepared = manifest["files"] if manifest else {}
        changed = [name for name, of in prepared.items() if hashes.get(name) != of["sha256"]]
        if changed:
            raise ModelError(
                f"{self.name} was damaged ({', '.join(changed)}): remove {self.folder}, and "
                f"`workbench model get {self.name}` again"
            )

    @cached_property
    def generator(self) -> Generator:
        from workbench.local_model import Generator

        return Generator(self.folder, self.gguf, self.dtype, self.device, BLOCK)

    def complete(self, requests: Sequence[Request], done: Done | None = None) -> list[Reply]:
        """One reply for each request; `done` is told of each as it comes."""
        return self.generator.complete(requests, self.batch, done) if requests else []


def local_model(name: str, workspace: Workspace) -> LocalModel:
    """The model that a name means: one of `KNOWN` that was fetched, a GGUF file, a folder, or an id
    of the hub. Raises ModelError where it is not here and cannot be fetched."""
    how: dict[str, Any] = {"dtype": _dtype(), "device": _device(), "batch": _batch()}
    if name in KNOWN:
        return LocalModel(name=name, folder=stored(workspace, name), **how)
    path = Path(name).expanduser()
    if path.is_file():
        if path.suffix.lower() != ".gguf":
            raise ModelError(f"{path} is no model: name a folder with *.safetensors, or a .gguf")
        return LocalModel(name=path.name, folder=path.parent, gguf=path.name, **how)
    folder = path if path.is_dir() else _from_hub(name)
    if not any(folder.glob("*.safetensors")):
        found = sorted(file.name for file in folder.glob("*.gguf"))
        hint = f"; name the file, as in hf:{path / found[0]}" if found else ""
        raise ModelError(
            f"{folder} holds no *.safetensors (pickled weights are refused: loading them can run "
            f"code){hint}"
        )
    shown = path.resolve().name if path.is_dir() else name
    return LocalModel(name=shown, folder=folder, **how)


def _from_hub(name: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, allow_patterns=WANTED))
    except HFValidationError:
        raise UsageError(
            f"hf:{name} is no file, folder or model id; known names: {', '.join(KNOWN)}"
        ) from None
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise ModelError(
            f"hf:{name} is not on this machine and the hub did not give it "
            f"({type(error).__name__}). Name a folder, fetch a known one with `workbench model get "
            f"{next(iter(KNOWN))}`, or run once with a network"
        ) from error


def _dtype() -> str:
    """What weights are computed in: bfloat16 where the machine is fast with it."""
    chosen = os.environ.get("WORKBENCH_LLM_DTYPE")
    if chosen is None:
        return "bfloat16" if _device() != "cpu" or _fast_bfloat16() else "float32"
    if chosen not in DTYPES:
        raise UsageError(f"WORKBENCH_LLM_DTYPE={chosen!r}: use {' or '.join(DTYPES)}")
    return chosen


def _fast_bfloat16(flags: Path = Path("/proc/cpuinfo")) -> bool:
    """Whether this processor multiplies bfloat16 natively. Torch knows it too, but only after
    seconds of loading; where there is no such file, float32 is right everywhere."""
    try:
        text = flags.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return re.search(r"\b(?:amx_bf16|avx512_bf16|bf16)\b", text) is not None


def _device() -> str:
    device = os.environ.get("WORKBENCH_DEVICE", "cpu")
    if not re.fullmatch(r"(?:cpu|cuda|mps|xpu)(?::\d+)?", device):
        raise UsageError(f"WORKBENCH_DEVICE={device!r} is no device: use cpu, cuda, cuda:1 or mps")
    return device


def _batch() -> int:
    text = os.environ.get("WORKBENCH_LLM_BATCH", str(BATCH))
    if not text.isdecimal() or int(text) < 1:
        raise UsageError(f"WORKBENCH_LLM_BATCH={text!r} is no number of requests from 1")
    return int(text)
