"""Encoding throughput against plain `SentenceTransformer.encode`, and what it does to recall@25.

All of LoCoMo's turns, one memory a turn, each spelling of the embedder that this machine can run;
the plain library is measured before and after, and every figure is given as a ratio to it.
    python tests/bench/bench_encoding.py [TURNS]
"""

from __future__ import annotations

import sys
import time
from importlib.util import find_spec

import numpy as np
from common import locomo_workspace, row
from sentence_transformers import SentenceTransformer

from workbench.embedders import open_embedder
from workbench.library import BankSet, open_banks
from workbench.recall import recall
from workbench.schema import Recipe

SPELLINGS = ["minilm", "minilm+bf16", "minilm+openvino", "minilm+bf16+openvino"]


def plain_rate(texts: list[str], folder: str) -> tuple[float, np.ndarray]:
    model = SentenceTransformer(folder, device="cpu")
    model.encode(texts[:64], show_progress_bar=False)
    began = time.perf_counter()
    rows = model.encode(texts, normalize_embeddings=True, show_progress_bar=False)
    return len(texts) / (time.perf_counter() - began), rows


def our_rate(texts: list[str], spec: str) -> tuple[float, np.ndarray]:
    embedder = open_embedder(spec)
    embedder.encode(texts[:64], "passage")
    began = time.perf_counter()
    rows = embedder.encode(texts, "passage")
    return len(texts) / (time.perf_counter() - began), rows


def recall_25(banks: BankSet) -> float:
    return recall(banks, Recipe(prior="none", lam=1.0), [25])["recall"]["25"]


def main(limit: int) -> None:
    with locomo_workspace() as workspace:
        banks = open_banks(workspace, "locomo")
        texts = [m.text for bank in banks.episodic.values() for m in bank.memories][:limit]
        folder = str(open_embedder().folder)
        before, plain = plain_rate(texts, folder)
        row("embedder", "texts/s", "ratio", "least cosine", "recall@25")
        row("plain library", f"{before:.0f}", "1.00", "1.000000", "")
        for spec in SPELLINGS:
            if "openvino" in spec and find_spec("openvino") is None:
                row(spec, "not run: pip install 'recall-workbench[fast]'")
                continue
            rate, rows = our_rate(texts, spec)
            again, _ = plain_rate(texts[: limit // 4], folder)
            least = float(np.sum(rows * plain, axis=1).min())
            named = recall_25(open_banks(workspace, "locomo", embedder=spec))
            ratio = rate / ((before + again) / 2)
            row(spec, f"{rate:.0f}", f"{ratio:.2f}", f"{least:.6f}", f"{named:.4f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
