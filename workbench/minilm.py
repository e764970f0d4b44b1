"""The packaged MiniLM for a question or two, in NumPy.

To import torch and sentence-transformers takes five seconds, to read a question ten milliseconds:
whoever asks one question should not wait for them. The arithmetic is that of a BERT encoder (Devlin
et al. 2019) with the mean over tokens; it differs from sentence-transformers' in the last digit,
about 1e-7, as that does between batch sizes. Rankings compare six decimals.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

__all__ = ["FEW", "MiniLM"]

# A question with a rewriting or two. Whoever has more is building or measuring, in torch's batches.
FEW = 4

LAYERS, HEADS, EPSILON = 6, 12, np.float32(1e-12)
Rows = npt.NDArray[np.float32]


class MiniLM:
    """all-MiniLM-L6-v2 from its folder. `limit` is the number of tokens that it reads at once,
    special ones included."""

    def __init__(self, folder: Path, limit: int) -> None:
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        self.limit = limit
        self.weights: dict[str, Rows] = load_file(folder / "model.safetensors")
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()

    def encode(self, texts: Sequence[str]) -> Rows | None:
        """(n, 384) unit rows; None where a text is longer than the limit."""
        tokens = [encoded.ids for encoded in self.tokenizer.encode_batch(list(texts))]
        if any(len(ids) > self.limit for ids in tokens):
            return None
        means = np.stack([self._hidden(ids).mean(axis=0) for ids in tokens])
        return means / np.linalg.norm(means, axis=1, keepdims=True)

    def _hidden(self, ids: list[int]) -> Rows:
        """(t, 384) what the last layer makes of each token."""
        words = self.weights["embeddings.word_embeddings.weight"][ids]
        places = self.weights["embeddings.position_embeddings.weight"][: len(ids)]
        kind = self.weights["embeddings.token_type_embeddings.weight"][0]
        hidden = self._norm(words + places + kind, "embeddings.LayerNorm")
        for layer in range(LAYERS):
            hidden = self._layer(hidden, f"encoder.layer.{layer}")
        return hidden

    def _layer(self, hidden: Rows, name: str) -> Rows:
        from scipy.special import erf

        query, key, value = (
            # (t, 384) to (heads, t, 32)
            self._linear(hidden, f"{name}.attention.self.{part}")
            .reshape(len(hidden), HEADS, -1)
            .swapaxes(0, 1)
            for part in ("query", "key", "value")
        )
        scores = query @ key.swapaxes(1, 2) / np.float32(np.sqrt(query.shape[-1]))
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        heard = (weights @ value).swapaxes(0, 1).reshape(hidden.shape)
        heard = self._linear(heard, f"{name}.attention.output.dense")
        hidden = self._norm(hidden + heard, f"{name}.attention.output.LayerNorm")
        wide = self._linear(hidden, f"{name}.intermediate.dense")
        wide = wide * np.float32(0.5) * (1 + erf(wide / np.float32(np.sqrt(2))))  # exact GELU
        return self._norm(
            hidden + self._linear(wide, f"{name}.output.dense"), f"{name}.output.LayerNorm"
        )

    def _linear(self, rows: Rows, name: str) -> Rows:
        return rows @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def _norm(self, rows: Rows, name: str) -> Rows:
        off = rows - rows.mean(axis=-1, keepdims=True)
        unit = off / np.sqrt((off**2).mean(axis=-1, keepdims=True) + EPSILON)
        return unit * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]
