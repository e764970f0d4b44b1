"""Generating with Transformers: the one module for language models that imports it (and torch).

At temperature 0 the likeliest token is taken, without any penalty that a model's configuration may
carry. A batch is padded, and rounding makes a reply depend a little on its neighbours there. So
short replies (answers, verdicts: reading the prompt is what costs, and no batch makes it cheaper)
are generated one by one, and are the same whatever else is asked. Samples are drawn together, each
from its own seed (`prompt_batch.py`). What a prompt begins with in common with the last one is not
read again (`prompt_blocks.py`).
"""

from __future__ import annotations

import struct
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
import torch
from jinja2 import TemplateError
from safetensors import SafetensorError
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig
from transformers.utils import logging

from workbench.endpoint_reply import of_text
from workbench.errors import ModelError
from workbench.llm import Reply, Request
from workbench.output_layer import read_whole
from workbench.prompt_batch import How, alike, generated
from workbench.prompt_blocks import PromptBlocks

__all__ = ["Generator", "convert"]

Done = Callable[[int, Reply], None]

# Likeliest replies of at most so many tokens are generated one by one; so are those to prompts of
# more than so many, of which a batch would read again what the last prompt had already.
SHORT, LONG = 64, 4_096
# What some other user says: of two prompts with the same instructions, what is alike is theirs.
OTHER = "\u00a7"
# What a damaged or foreign file makes the libraries raise.
UNREADABLE = (
    *(OSError, ValueError, KeyError, IndexError, RuntimeError, ImportError),
    *(struct.error, SafetensorError),
)
# Tokenisers cannot be shared by threads, and one model takes all cores.
ONE_AT_A_TIME = threading.Lock()

logging.disable_progress_bar()


class Generator:
    """A loaded model with its tokeniser."""

    def __init__(self, folder: Path, gguf: str | None, dtype: str, device: str, block: int) -> None:
        self.device, self.block = device, block
        with _reading(folder / gguf if gguf else folder):
            kind = {"gguf_file": gguf} if gguf else {"use_safetensors": True}
            how = {"local_files_only": True, "trust_remote_code": False}
            self.tokenizer = AutoTokenizer.from_pretrained(
                str(folder), padding_side="left", **({"gguf_file": gguf} if gguf else {}), **how
            )
            self.model = AutoModelForCausalLM.from_pretrained(
                str(folder), dtype=getattr(torch, dtype), **kind, **how
            )
            self.model.to(device).eval()
        if not self.tokenizer.chat_template:
            raise ModelError(f"{folder.name} has no chat template: name an instruction-tuned model")
        if self.tokenizer.pad_token is None:
            self.tokenizer.pad_token = self.tokenizer.eos_token
        stops = getattr(self.model.generation_config, "eos_token_id", None)
        listed = stops if isinstance(stops, list) else [stops]
        self.stops = sorted({s for s in (*listed, self.tokenizer.eos_token_id) if s is not None})
        self.window = getattr(self.model.config, "max_position_embeddings", None) or 1 << 62
        # Penalties and the like that a model brings would enter through its own configuration.
        self.model.generation_config = GenerationConfig()
        self.blocks = PromptBlocks(self.model, self.block)
        self.rendered: dict[str, list[int]] = {}

    def adapt(self, folder: Path) -> None:
        """Put the adapter of a folder (safetensors) on top of the weights."""
        from peft import PeftModel

        with _reading(folder):
            self.model = read_whole(PeftModel.from_pretrained(self.model, str(folder)).eval())
        self.blocks = PromptBlocks(self.model, self.block)

    def complete(self, requests: Sequence[Request], batch: int, done: Done | None) -> list[Reply]:
        """One reply for each request; `done` is told of each as it comes."""
        replies: list[Reply] = [Reply()] * len(requests)

        def tell(row: int, reply: Reply) -> None:
            replies[row] = reply
            if done is not None:
                done(row, reply)

        with ONE_AT_A_TIME:
            prompts = [self._prompt(request) for request in requests]
            fitting = []
            for row, (prompt, request) in enumerate(zip(prompts, requests, strict=True)):
                if len(prompt) + request.max_tokens <= self.window:
                    fitting.append(row)
                else:
                    tell(row, self._too_long(prompt, request))
            for rows in _batches(requests, fitting, [len(p) for p in prompts], batch):
                made = self._batch([prompts[row] for row in rows], [requests[r] for r in rows])
                for row, reply in zip(rows, made, strict=True):
                    tell(row, reply)
        return replies

    def _too_long(self, prompt: list[int], request: Request) -> Reply:
        asked = f"{len(prompt)} tokens and {request.max_tokens} of the reply"
        detail = f"{asked}, and the model reads {self.window} in all"
        return Reply(failure="invalid", tokens_in=len(prompt), detail=detail)

    def _prompt(self, request: Request) -> list[int]:
        """Token ids of a request in the model's own template."""
        told = [{"role": "system", "content": request.system}] if request.system else []
        try:
            text = self._rendered([*told, {"role": "user", "content": request.user}])
        except TemplateError:  # some templates know no system message
            whole = f"{request.system}\n\n{request.user}"
            text = self._rendered([{"role": "user", "content": whole}])
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def _instructions(self, prompt: list[int], request: Request) -> int:
        """Tokens of a prompt before what its user says, as far as another user's prompt has the
        same; 0 for few. Nothing that was asked before has a part in it."""
        if request.system not in self.rendered:
            self.rendered = {
                request.system: self._prompt(msgspec.structs.replace(request, user=OTHER))
            }
        return alike([prompt, self.rendered[request.system]])

    def _rendered(self, messages: list[dict[str, str]]) -> str:
        # Models that can think aloud are asked not to; other templates don't know the word.
        return str(
            self.tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=True, enable_thinking=False
            )
        )

    def _batch(self, prompts: list[list[int]], requests: list[Request]) -> list[Reply]:
        """Replies to prompts that are asked alike."""
        began = time.perf_counter()
        how = How(
            most=requests[0].max_tokens,
            stops=self.stops,
            pad=self.tokenizer.pad_token_id,
            temperature=requests[0].temperature,
            seeds=[request.seed for request in requests],
        )
        with _quiet():
            if len(prompts) > 1:
                made = generated(self.model, prompts, how)
            else:
                first = self._instructions(prompts[0], requests[0])
                with torch.inference_mode(), self.blocks.of(prompts[0], first) as held:
                    made = generated(self.model, prompts, how, held)
        each = round((time.perf_counter() - began) / len(prompts), 3)
        return [self._reply(prompt, row, each) for prompt, row in zip(prompts, made, strict=True)]

    def _reply(self, prompt: list[int], made: list[int], seconds: float) -> Reply:
        end = next((place for place, token in enumerate(made) if token in self.stops), None)
        own = made[:end]
        text = self.tokenizer.decode(own, skip_special_tokens=True)
        reply = of_text(text, cut=end is None)
        return Reply(
            text=reply.text,
            failure=reply.failure,
            detail=reply.detail,
            tokens_in=len(prompt),
            tokens_out=len(own),
            seconds=seconds,
        )


def convert(gguf: Path, folder: Path) -> None:
    """Write a GGUF file's model to a folder in bfloat16, with its tokeniser. Takes a minute or two
    for a billion parameters. Raises ModelError where the file cannot be read."""
    with _reading(gguf):
        model = AutoModelForCausalLM.from_pretrained(
            str(gguf.parent), gguf_file=gguf.name, dtype=torch.bfloat16, local_files_only=True
        )
        tokenizer = AutoTokenizer.from_pretrained(
            str(gguf.parent), gguf_file=gguf.name, local_files_only=True
        )
        model.hf_quantizer = None  # the weights are plain numbers now
        if hasattr(model.config, "quantization_config"):
            del model.config.quantization_config
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)


def _batches(
    requests: Sequence[Request], rows: list[int], lengths: list[int], most: int
) -> Iterator[list[int]]:
    """Rows to generate together, of like length so that little is padded."""
    order = sorted(rows, key=lambda row: (_alike(requests[row]), lengths[row], row))
    held: list[int] = []
    for row in order:
        costs_reading = requests[row].max_tokens <= SHORT or lengths[row] > LONG
        alone = requests[row].temperature == 0 and costs_reading
        if held and (
            alone or len(held) == most or _alike(requests[held[0]]) != _alike(requests[row])
        ):
            yield held
            held = []
        held.append(row)
    if held:
        yield held


def _alike(request: Request) -> tuple[float, int]:
    """What requests of one batch share."""
    return request.temperature, request.max_tokens


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Say which model is at fault where it does not load."""
    try:
        with _quiet():
            yield
    except UNREADABLE as error:
        raise ModelError(f"{path} does not load as a language model: {error}") from error


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the library's remarks on settings that are not ours."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        level = logging.get_verbosity()
        logging.set_verbosity_error()
        try:
            yield
        finally:
            logging.set_verbosity(level)
