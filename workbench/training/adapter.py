"""The model that is trained: loaded, with an adapter where one is asked for, counted, saved.

An adapter (LoRA) leaves the model's own weights alone and trains two thin matrices beside each;
its checkpoint is a few megabytes, and the untrained rewriter is the model without it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging

from workbench.errors import ModelError
from workbench.output_layer import read_whole

__all__ = ["adapted", "load", "quiet", "save", "trainable_parameters"]

HOW = {"local_files_only": True, "trust_remote_code": False}

logging.disable_progress_bar()


@contextmanager
def quiet() -> Iterator[None]:
    """Without the libraries' warnings of each other's old names."""
    with warnings.catch_warnings():
        for kind in (FutureWarning, DeprecationWarning):
            warnings.simplefilter("ignore", kind)
        yield


def load(folder: Path, dtype: str) -> tuple[Any, Any]:
    """A folder's model and tokeniser. Raises ModelError where they do not load, or where there is
    no chat template to ask with."""
    try:
        tokenizer = AutoTokenizer.from_pretrained(str(folder), padding_side="left", **HOW)
        model = AutoModelForCausalLM.from_pretrained(
            str(folder), dtype=getattr(torch, dtype), use_safetensors=True, **HOW
        )
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise ModelError(f"{folder} does not load as a language model: {error}") from error
    if not tokenizer.chat_template:
        raise ModelError(f"{folder.name} has no chat template: name an instruction-tuned model")
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return model, tokenizer


def lora(rank: int) -> LoraConfig:
    """An adapter of that rank beside every linear layer but the last."""
    return LoraConfig(
        r=rank,
        lora_alpha=2 * rank,
        lora_dropout=0.0,
        target_modules="all-linear",
        task_type="CAUSAL_LM",
    )


def adapted(model: Any, rank: int, seed: int, warm: Path | None = None) -> Any:
    """The model with a new adapter of that rank (0: as it is), or with the one in `warm`."""
    if warm is None and not rank:
        return model
    with quiet():
        if warm is not None:
            return read_whole(PeftModel.from_pretrained(model, str(warm), is_trainable=True))
        torch.manual_seed(seed)
        return read_whole(get_peft_model(model, lora(rank)))


def save(model: Any, tokenizer: Any, folder: Path) -> None:
    """Write an adapter, or a whole model with its tokeniser, as safetensors."""
    if isinstance(model, PeftModel):
        model.save_pretrained(str(folder), selected_adapters=["default"])
        return
    model.save_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))


def trainable_parameters(folder: Path | None, rank: int) -> int | None:
    """How many numbers would be trained, from the model's configuration alone; None where there is
    no such folder here."""
    if folder is None or not (folder / "config.json").is_file():
        return None
    try:
        with quiet(), torch.device("meta"):  # shapes without memory
            model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(str(folder), **HOW))
            trained = get_peft_model(model, lora(rank)) if rank else model
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(f"{folder}: its config.json names no language model: {error}") from error
    return sum(one.numel() for one in trained.parameters() if one.requires_grad)
