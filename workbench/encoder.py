"""Running a sentence-transformers model: the one module that imports it (and torch).

Texts longer than the model's limit would be cut without a word. Here they are split at token
boundaries of the model's own tokenizer, every chunk is encoded, and the chunks' vectors are
averaged, weighted by their tokens, and brought back to unit length.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from sentence_transformers import SentenceTransformer
from transformers.utils import logging

from workbench.errors import ModelError

__all__ = ["Encoder"]

BATCH = 32

# A text of more chunks is read to here and no further: five megabytes in one message would take
# most of an hour, and its mean would say nothing. What is not read is counted (`excess`).
MOST_CHUNKS = 128

# Tokenisers cannot be shared by threads (the sessions of an app); and one encoder takes all cores.
ONE_AT_A_TIME = threading.Lock()

# The library draws a bar for each load on stderr, over whatever progress is shown there.
logging.disable_progress_bar()


class Encoder:
    """A loaded model. `limit` is the number of tokens, special ones included, that it reads."""

    def __init__(self, folder: Path, precision: str, backend: str, device: str, limit: int) -> None:
        try:
            self.model = SentenceTransformer(
                str(folder),
                device=device,
                local_files_only=True,
                model_kwargs={"use_safetensors": True},
            )
        except (OSError, ValueError, KeyError, RuntimeError) as error:
            raise ModelError(
                f"{folder} does not load as a sentence-transformers model: {error}"
            ) from error
        self.model.eval()
        self.limit = min(limit, self.model.max_seq_length or limit)
        self._forward = _openvino(self.model, precision) if backend == "openvino" else None
        if self._forward is None and precision == "bfloat16":
            self.model.to(torch.bfloat16)

    def encode(self, texts: Sequence[str], prompt: str) -> npt.NDArray[np.float32]:
        """(n, d) float32 unit rows."""
        with ONE_AT_A_TIME:
            chunks, owner, weight = self._chunks(texts, prompt)
            rows = self._rows(chunks)
        if len(chunks) == len(texts):
            return _unit(rows)
        pooled = np.zeros((len(texts), rows.shape[1]), np.float64)
        np.add.at(pooled, owner, _unit(rows).astype(np.float64) * np.asarray(weight)[:, None])
        return _unit(pooled.astype(np.float32))

    def _chunks(self, texts: Sequence[str], prompt: str) -> tuple[list[str], list[int], list[int]]:
        """Pieces to encode, the row of the text that each belongs to, and its tokens."""
        spans = self.model.tokenizer(
            list(texts), add_special_tokens=False, return_offsets_mapping=True, verbose=False
        )["offset_mapping"]
        room = self.limit - self._overhead(prompt)
        pieces, owner, weight = [], [], []
        for row, (text, offsets) in enumerate(zip(texts, spans, strict=True)):
            for start in range(0, max(min(len(offsets), MOST_CHUNKS * room), 1), room):
                part = offsets[start : start + room]
                whole = len(offsets) <= room
                pieces.append(prompt + (text if whole else text[part[0][0] : part[-1][1]]))
                owner.append(row)
                weight.append(max(len(part), 1))
        return pieces, owner, weight

    def _overhead(self, prompt: str) -> int:
        """Tokens that are spent before the text begins: the prompt and the special ones."""
        return len(self.model.tokenizer(prompt)["input_ids"])

    def _rows(self, pieces: list[str]) -> npt.NDArray[np.float32]:
        if self._forward is None:
            return self.model.encode(
                pieces, batch_size=BATCH, convert_to_numpy=True, show_progress_bar=False, prompt=""
            ).astype(np.float32)
        order = sorted(range(len(pieces)), key=lambda row: -len(pieces[row]))
        rows: list[Any] = [None] * len(pieces)
        for start in range(0, len(order), BATCH):
            batch = order[start : start + BATCH]
            for row, vector in zip(batch, self._forward([pieces[i] for i in batch]), strict=True):
                rows[row] = vector
        return np.asarray(rows, np.float32)


class _Sentences(torch.nn.Module):
    """The whole pipeline (transformer, pooling, ..) as one function of two tensors."""

    def __init__(self, model: SentenceTransformer) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        features = {"input_ids": input_ids, "attention_mask": attention_mask}
        return self.model(features)["sentence_embedding"]


def _openvino(
    model: SentenceTransformer, precision: str
) -> Callable[[list[str]], npt.NDArray[np.float32]]:
    """The model compiled by OpenVINO: a function from texts to rows."""
    import openvino

    # Tracing cannot follow the fused attention's mask handling.
    model[0].auto_model.set_attn_implementation("eager")
    example = (torch.ones(2, 8, dtype=torch.long), torch.ones(2, 8, dtype=torch.long))
    with warnings.catch_warnings():
        # Tracing warns of branches on shapes that are the same for every batch.
        warnings.filterwarnings("ignore", module="transformers|sentence_transformers|torch")
        graph = openvino.convert_model(_Sentences(model), example_input=example)
    hint = {"INFERENCE_PRECISION_HINT": "bf16" if precision == "bfloat16" else "f32"}
    compiled = openvino.Core().compile_model(graph, "CPU", hint)

    def forward(texts: list[str]) -> npt.NDArray[np.float32]:
        batch = model.tokenizer(
            texts,
            padding=True,
            truncation=True,
            max_length=model.max_seq_length,
            return_tensors="np",
        )
        inputs = [batch["input_ids"].astype(np.int64), batch["attention_mask"].astype(np.int64)]
        return np.array(compiled(inputs)[0], np.float32)

    return forward


def _unit(rows: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    lengths = np.linalg.norm(rows, axis=1, keepdims=True).astype(np.float32)
    return rows / np.maximum(lengths, np.float32(1e-12))
