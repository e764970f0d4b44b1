"""A planted rule, and a policy of a few thousand random weights that can learn it in seconds.

Each conversation has one turn a word ("violin in Vienna"), and every question's evidence is the
turn with "violin": only a rewrite with that word finds it at K = 1, and only then is the answer
right. The policy's tokeniser knows those words and little else.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

WORDS = ("tea", "dog", "rain", "violin", "bread", "train", "moon", "chess")
CITIES = ("Lisbon", "Oslo", "Cairo", "Vienna", "Lima", "Delhi", "Quito", "Perth")
RIGHT = "violin"
SCOPES = ("learning", "choosing", "testing")
QUESTIONS = 6
TEMPLATE = (
    "{% for m in messages %}{{ m.role }} : {{ m.content }} {% endfor %}"
    "{% if add_generation_prompt %}reply : {% endif %}"
)


def planted(path: Path) -> Path:
    """The data set as a file in the workbench's own format."""
    rows: list[dict[str, Any]] = []
    where = WORDS.index(RIGHT)
    for scope in SCOPES:
        for at, word in enumerate(WORDS):
            about = {"id": f"D1:{at}", "scope": scope, "dialogue": scope, "session": "1"}
            speaker = f"{scope}{at % 2}"
            rows.append(
                {"kind": "turn", **about, "speaker": speaker, "text": f"{word} in {CITIES[at]}"}
            )
        for at in range(QUESTIONS):
            gold = {"answer": CITIES[where], "evidence": [f"D1:{where}"]}
            about = {"id": f"{scope}/{at}", "scope": scope, "people": [f"{scope}0"]}
            asked = f"Where was number {at} of {scope}?"
            rows.append({"kind": "question", **about, "text": asked, "category": "c", **gold})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def tiny(folder: Path, template: str | None = TEMPLATE) -> Path:
    """A model of one layer over a dozen words, with random weights of a fixed seed."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import MistralConfig, MistralForCausalLM, PreTrainedTokenizerFast

    words = ["<end>", "<pad>", "<unk>", "reply", *WORDS]
    known = Tokenizer(models.WordLevel({w: n for n, w in enumerate(words)}, unk_token="<unk>"))
    known.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    known.decoder = decoders.WordPiece(prefix="##", cleanup=False)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=known, eos_token="<end>", pad_token="<pad>", unk_token="<unk>"
    )
    tokenizer.chat_template = template
    config = MistralConfig(
        vocab_size=len(words),
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=2,
        max_position_embeddings=512,
        sliding_window=None,
        eos_token_id=0,
        pad_token_id=1,
        tie_word_embeddings=False,
    )
    with torch.random.fork_rng():
        torch.manual_seed(5)
        model = MistralForCausalLM(config)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
