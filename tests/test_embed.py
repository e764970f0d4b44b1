"""Embedding: real MiniLM, its prompts and limits, blanks, chunks, the cache, refusals."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from workbench.embed import embed, is_blank
from workbench.embedders import EMBEDDERS, Model, SentenceEmbedder, open_embedder
from workbench.errors import DataError, ModelError, UsageError
from workbench.minilm import FEW
from workbench.vector_cache import VectorCache

FILLER = "We walked along the river and talked about the weather for a while. " * 50


@pytest.fixture(scope="module")
def minilm() -> SentenceEmbedder:
    return open_embedder("minilm")


def copy_with_prompts(folder: Path, prompts: dict[str, str]) -> SentenceEmbedder:
    """The packaged model with a card that asks for prompts."""
    shutil.copytree(open_embedder("minilm").folder, folder)
    path = folder / "config_sentence_transformers.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "prompts": prompts}))
    return open_embedder(str(folder))


def test_rows_are_float32_unit_and_in_the_order_of_the_texts(minilm: SentenceEmbedder) -> None:
    texts = ["a cat on a mat", FILLER, "tea", "the stock market fell"]
    rows = minilm.encode(texts, "passage")
    assert rows.shape == (4, 384) == (4, minilm.dim)
    assert rows.dtype == np.float32
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    one = minilm.encode(["tea"], "passage")[0]
    assert np.allclose(rows[2], one, atol=1e-5)


def test_rows_agree_with_the_library_used_plainly(minilm: SentenceEmbedder) -> None:
    from sentence_transformers import SentenceTransformer

    texts = ["I adopted a dog last week.", "Where do I live?", "Unrelated sentence.", "A", "B"]
    plain = SentenceTransformer(str(minilm.folder), device="cpu").encode(
        texts, normalize_embeddings=True, show_progress_bar=False
    )
    assert np.allclose(minilm.encode(texts, "passage"), plain, atol=1e-6)


def test_a_few_texts_need_no_torch_and_agree_with_many(minilm: SentenceEmbedder) -> None:
    """Words, pieces of words, accents, other scripts, marks the tokeniser knows, the longest text
    that is not cut: against sentence-transformers' rows of one batch."""
    texts = [
        "Where do I live?",
        "a",
        "Où ? Æthelflæd, naïveté",
        "北京 [SEP] 42% 🙂 [MASK]",
        "tea " * 254,
    ]
    code = (
        "import sys, json; from workbench.embedders import open_embedder; e = open_embedder(); "
        "rows = [e.encode([text], 'query')[0].tolist() for text in json.load(sys.stdin)]; "
        "assert 'torch' not in sys.modules; print(json.dumps(rows))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    rows = np.array(json.loads(done.stdout), np.float32)
    assert len(texts) > FEW
    assert np.allclose(rows, minilm.encode(texts, "query"), atol=1e-6)
    assert minilm.small.encode(["tea " * 255]) is None


def test_a_long_text_is_read_to_its_end(minilm: SentenceEmbedder) -> None:
    lisbon, nuts = FILLER + "My sister moved to Lisbon.", FILLER + "My sister is allergic to nuts."
    rows = minilm.encode([lisbon, nuts], "passage")
    assert not np.array_equal(rows[0], rows[1])
    assert minilm.excess([lisbon, "short", nuts], "passage")[1] == 0
    to_lisbon = minilm.encode(["Which city did the sister move to? Lisbon?"], "query")[0]
    assert rows[0] @ to_lisbon > rows[1] @ to_lisbon
    to_nuts = minilm.encode(["What food is the sister allergic to?"], "query")[0]
    assert rows[1] @ to_nuts > rows[0] @ to_nuts


def test_a_chunked_text_is_the_token_weighted_mean_of_its_chunks(minilm: SentenceEmbedder) -> None:
    tokenizer = minilm.encoder.model.tokenizer
    offsets = tokenizer(
        FILLER, add_special_tokens=False, return_offsets_mapping=True, verbose=False
    )
    spans = offsets["offset_mapping"]
    room = 254  # 256 less the two special tokens
    chunks = [spans[i : i + room] for i in range(0, len(spans), room)]
    texts = [FILLER[c[0][0] : c[-1][1]] for c in chunks]
    rows = minilm.encode(texts, "passage")
    expected = np.average(rows, axis=0, weights=[len(c) for c in chunks])
    expected /= np.linalg.norm(expected)
    assert np.allclose(minilm.encode([FILLER], "passage")[0], expected, atol=1e-5)


def test_the_excess_is_counted_by_the_model_s_own_tokenizer(minilm: SentenceEmbedder) -> None:
    words = "tea " * 300  # one token each; 256 less two special ones are read at once
    assert minilm.excess([words, "tea", "tea " * 254], "passage") == [300 - 254, 0, 0]


def test_query_and_passage_differ_only_where_the_model_has_prompts(
    minilm: SentenceEmbedder, tmp_path: Path
) -> None:
    same = minilm.encode(["tea"], "query") - minilm.encode(["tea"], "passage")
    assert not same.any()
    prompted = copy_with_prompts(tmp_path / "e5", {"query": "query: ", "passage": "passage: "})
    query, passage = prompted.encode(["tea"], "query"), prompted.encode(["tea"], "passage")
    assert np.abs(query - passage).max() > 0.01
    assert np.allclose(query, minilm.encode(["query: tea"], "passage"), atol=1e-5)
    assert prompted.prompt("passage") == "passage: "
    assert prompted.fingerprint != minilm.fingerprint


def test_a_document_prompt_serves_as_the_passage_prompt(tmp_path: Path) -> None:
    prompted = copy_with_prompts(tmp_path / "m", {"query": "q: ", "document": "d: "})
    assert prompted.prompt("passage") == "d: "


def test_an_unknown_prompt_name_is_an_error(minilm: SentenceEmbedder) -> None:
    with pytest.raises(UsageError, match="no prompt 'summary'"):
        minilm.encode(["tea"], "summary")


@pytest.mark.parametrize("blank", ["", "   ", "\u200b", "\n\t", "\u00a0\u2060"])
def test_blanks_are_recognised_and_refused(minilm: SentenceEmbedder, blank: str) -> None:
    assert is_blank(blank)
    with pytest.raises(DataError, match="blank"):
        minilm.encode(["tea", blank], "passage")


def test_an_empty_list_has_the_right_width(minilm: SentenceEmbedder) -> None:
    assert minilm.encode([], "passage").shape == (0, 384)
    assert embed([], "query", minilm).shape == (0, 384)


def test_composed_and_decomposed_spellings_are_one_text(minilm: SentenceEmbedder) -> None:
    composed, decomposed = minilm.encode(["na\u00efve", "nai\u0308ve"], "query")
    assert np.allclose(composed, decomposed, atol=1e-6)


def test_the_cache_embeds_each_different_text_once(
    minilm: SentenceEmbedder, tmp_path: Path
) -> None:
    cache = VectorCache(tmp_path)
    counted: list[tuple[int, int]] = []
    report = lambda done, total: counted.append((done, total))  # noqa: E731
    first = embed(["tea", "coffee", "tea"], "passage", minilm, cache, report)
    assert counted[-1] == (2, 2)
    counted.clear()
    again = embed(["coffee", "tea", "milk"], "passage", minilm, cache, report)
    assert counted == [(1, 1)]
    assert np.array_equal(first[0], again[1])
    assert np.array_equal(first[1], again[0])


def test_a_model_that_returns_nan_is_refused_and_nothing_is_kept(tmp_path: Path) -> None:
    class Broken(SentenceEmbedder):
        def encode(self, texts, side):  # type: ignore[no-untyped-def]
            return np.full((len(texts), 384), np.nan, np.float32)

    broken = Broken("broken", open_embedder("minilm").folder, Model(hub=""))
    cache = VectorCache(tmp_path)
    with pytest.raises(ModelError, match="NaN"):
        embed(["tea"], "passage", broken, cache)
    assert len(cache) == 0


def test_weights_that_differ_from_the_pinned_hash_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "tampered"
    shutil.copytree(open_embedder("minilm").folder, folder)
    with (folder / "model.safetensors").open("ab") as stream:
        stream.write(b"x")
    tampered = SentenceEmbedder("minilm", folder, EMBEDDERS["minilm"])
    with pytest.raises(ModelError, match="pinned sha256"):
        tampered.encode(["tea"], "passage")


def test_pickled_weights_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "pickled"
    shutil.copytree(open_embedder("minilm").folder, folder)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match="safetensors"):
        open_embedder(str(folder)).encode(["tea"], "passage")


def test_every_spelling_is_an_embedder_of_its_own(minilm: SentenceEmbedder) -> None:
    faster = open_embedder("minilm+bf16")
    assert faster.fingerprint != minilm.fingerprint
    texts = ["I adopted a dog.", "The weather is fine."]
    cosines = np.sum(faster.encode(texts, "passage") * minilm.encode(texts, "passage"), axis=1)
    assert (cosines > 0.999).all()


@pytest.mark.parametrize("spec", ["minilm+int3", "", "+bf16"])
def test_a_spec_that_means_nothing_is_refused(spec: str) -> None:
    with pytest.raises(UsageError, match="NAME"):
        open_embedder(spec)


def test_a_model_that_is_not_here_is_named_with_what_to_do(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ModelError, match=r"nobody/nothing.*Name a folder"):
        open_embedder("nobody/nothing")
    with pytest.raises(UsageError, match="no folder"):
        open_embedder("not a model id/../x")


def test_the_paper_s_embedder_knows_its_threshold_and_prompt() -> None:
    assert EMBEDDERS["bge"].threshold == 0.6
    assert EMBEDDERS["bge"].prompts.keys() == {"query"}
    assert EMBEDDERS["minilm"].threshold is None


def test_a_fingerprint_needs_no_torch() -> None:
    code = (
        "import sys; from workbench.embedders import open_embedder; "
        "e = open_embedder(); e.fingerprint, e.dim; print('torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.strip() == "False"
