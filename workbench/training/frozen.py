"""What must not change while the rewriter learns: banks, embedder and answerer (SPEC A.5)."""

from __future__ import annotations

import hashlib
from typing import Any

from workbench.answer_weights import DATE_WEIGHTS, SPAN_WEIGHTS
from workbench.errors import ModelError
from workbench.library import BankSet
from workbench.minilm import FEW
from workbench.run_plan import Plan
from workbench.schema import digest_of

__all__ = ["check_frozen", "frozen"]

# What a changed weight would show in, whatever kind of embedder it is: enough texts for the loaded
# model itself, since a few are embedded without it.
PROBES = tuple("When did Ana adopt the dog? " * n for n in range(1, FEW + 2))


def frozen(plan: Plan) -> dict[str, str]:
    """A digest of each part: the banks' vectors, the vectors that the loaded embedder makes now
    (no cache between), and the answerer's weights."""
    embedder = plan.banks.embedder
    probed = hashlib.sha256()
    for side in ("query", "passage"):
        probed.update(
            embedder.encode(PROBES[: FEW + 1 if side == "passage" else 1], side).tobytes()
        )
    return {
        "banks": _vectors(plan.banks),
        "embedder": digest_of([embedder.fingerprint, probed.hexdigest()]),
        "answerer": digest_of([plan.answerer, _answerer(plan)]),
    }


def check_frozen(before: dict[str, str], plan: Plan) -> None:
    """Raises ModelError naming the parts that are no longer what they were."""
    now = frozen(plan)
    changed = [name for name, digest in before.items() if now[name] != digest]
    if changed:
        raise ModelError(
            f"training changed what must stay as it is: {', '.join(changed)}; its rewards and the "
            "rewriter learnt from them cannot be trusted"
        )


def _vectors(banks: BankSet) -> str:
    found = hashlib.sha256()
    for kind in (banks.episodic, banks.semantic):
        for scope, bank in sorted(kind.items()):
            found.update(scope.encode() + bank.vectors.tobytes())
    return found.hexdigest()


def _answerer(plan: Plan) -> Any:
    if plan.llm is None:
        return [DATE_WEIGHTS, SPAN_WEIGHTS]
    source = getattr(plan.llm, "source", plan.llm)
    source.__dict__.pop("identity", None)  # what was cached is looked at again
    return source.identity
