"""What the paper says of its own results: in its words' sense, never as numbers of ours.

All that may be quoted of Paper A stands here (SPEC A.10). The cells of its tables are not available
to us, so no value is given for any of them, and none may be filled in from memory.
"""

from __future__ import annotations

from workbench.schema import Record

__all__ = ["NOT_AVAILABLE", "PROVENANCE", "PUBLISHED", "Published"]

NOT_AVAILABLE = "not available"
PROVENANCE = (
    "Published elsewhere, not measured here: Paper A (PPRO, listed as arXiv 2607.00017), on its "
    "own data, prompts and models. The cells of its tables are not available to this project"
)


class Published(Record, frozen=True, kw_only=True, omit_defaults=False):
    """One system (or ablation) of the paper: the value of its cell, which nobody here knows, and
    what the paper's text says of it."""

    system: str
    benchmark: str
    said: str = NOT_AVAILABLE
    value: str = NOT_AVAILABLE


LOCOMO, LONGMEMEVAL = "LoCoMo, F1", "LongMemEval-S, judge"

PUBLISHED = (
    Published(
        system="PPRO",
        benchmark=LOCOMO,
        said="best overall on GPT-4o, Qwen2.5-3B and Qwen3-8B, 7 to 19 points above SimpleMem; "
        "with Qwen2.5-7B more than 5 points above MemAgent; gains most in temporal and multi-hop "
        "questions against SimpleMem, in temporal and single-hop against MemAgent",
    ),
    Published(
        system="PPRO",
        benchmark=LONGMEMEVAL,
        said="best overall, most in temporal and multi-session questions",
    ),
    Published(system="Full-Context", benchmark=LOCOMO, said="wins single-hop on GPT-4o"),
    Published(system="MemGPT", benchmark=LOCOMO),
    Published(system="A-Mem", benchmark=LOCOMO),
    Published(system="LightMem", benchmark=LOCOMO),
    Published(system="Mem0", benchmark=LOCOMO),
    Published(system="SimpleMem", benchmark=LOCOMO, said="wins single-hop on Qwen3-8B"),
    Published(system="MEM1", benchmark=LOCOMO),
    Published(system="MemAgent", benchmark=LOCOMO, said="wins multi-hop against PPRO"),
    Published(system="without episodic", benchmark=LOCOMO, said="hurts most of the ablations"),
    Published(system="without semantic", benchmark=LOCOMO, said="hurts second most"),
    Published(system="without profile", benchmark=LOCOMO, said="hurts: the profile helps"),
    Published(system="without dimensions", benchmark=LOCOMO, said="hurts: they help"),
    Published(system="without GRPO", benchmark=LOCOMO, said="hurts: training helps"),
)
