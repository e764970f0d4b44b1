"""The twelve features of the paper's example rubric (SPEC B.3): what each is, and its sign.

A pair's features compare the response written with memories to the one without, in that fixed
orientation ("memory minus no memory"):

- *compared* features are f(with) - f(without). Exchanging the responses changes their sign.
- REL is about the memories and the query alone; it sees no response.
- AXIS and OPT are *averaged* over both responses, and exchanging the responses leaves them as
  they are.

A feature that does not flip could not tell which of two exchangeable responses is better. Here
they are not exchangeable: the model predicts whether *the memory response* is preferred, and one
of the two always is the memory response, wherever it was shown. REL, AXIS and OPT describe the
occasion (the memories at hand, a query that calls for advice or for options) and shift the base
rate of preferring memory on such occasions, as the intercept does for all of them. For the same
reason the training data must never be augmented with exchanged pairs: the shift would cancel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Protocol

from reward_model.schema import Pair
from workbench.schema import Record

__all__ = ["MEMORY_FEATURES", "RESPONSE_FEATURES", "RUBRIC", "SCORED", "Feature", "Scorer"]


class Feature(Record, frozen=True, kw_only=True):
    """One line of the rubric.

    `sign` says what a larger value means. `compared` features flip when the responses are
    exchanged. `memory` marks what depends on memories (the paper labels features once, when the
    rubric is induced). `source` is "text" where plain counting gives the value, "scorer" where a
    `Scorer` does. `paper` is the standardised coefficient that the paper reports for its data.
    """

    name: str
    title: str
    definition: str
    sign: str
    compared: bool
    memory: bool
    source: Literal["text", "scorer"]
    paper: float


class Scorer(Protocol):
    """What gives the features that counting cannot: the offline rules, or a language model.

    `identity` names it ("name", and everything else that its scores depend on). `failed` counts,
    by reason, what it could not score since it was made.
    """

    @property
    def identity(self) -> dict[str, Any]: ...

    @property
    def failed(self) -> dict[str, int]: ...

    def scores(
        self, pairs: Sequence[Pair], features: Sequence[str]
    ) -> dict[str, list[float | None]]:
        """For each feature a value for each pair, in order; None where it could not be scored."""
        ...


def _line(
    name: str, title: str, paper: float, definition: str, sign: str, **kind: Any
) -> tuple[str, Feature]:
    kind = {"compared": True, "memory": False, "source": "scorer", **kind}
    return name, Feature(
        name=name, title=title, definition=definition, sign=sign, paper=paper, **kind
    )


MORE_IN_MEMORY = "positive: more of it in the memory response"

RUBRIC: dict[str, Feature] = dict(
    (
        _line(
            "HEAD",
            "Headings",
            0.646,
            "Number of headings in the memory response minus number in the other.",
            MORE_IN_MEMORY,
            source="text",
        ),
        _line(
            "LEN",
            "Length",
            0.571,
            "Log ratio of the words of visible prose (plus one each), memory over no memory.",
            "positive: the memory response is longer",
            source="text",
        ),
        _line(
            "REL",
            "Relevance of the memories",
            0.386,
            "How relevant the memories are to the query; no response is seen.",
            "larger: more relevant memories",
            compared=False,
            memory=True,
        ),
        _line(
            "PROP",
            "Justified personalisation",
            0.323,
            "How far the personal assumptions that a response makes are justified by the "
            "memories, compared.",
            "positive: those of the memory response are better justified",
            memory=True,
        ),
        _line(
            "ASSUMP",
            "Assumptions about the user",
            -0.201,
            "How much a response assumes about the user beyond what the query establishes, "
            "compared.",
            "positive: the memory response assumes more",
            memory=True,
        ),
        _line(
            "CLOSURE",
            "Next action",
            0.191,
            "How clear a next action a response ends with, compared.",
            "positive: the memory response ends with a clearer one",
        ),
        _line(
            "AXIS",
            "Advisory or factual",
            0.147,
            "(a - f) / (a + f) of advisory (a) and factual (f) words, averaged over both "
            "responses; 0 for a response with none of either.",
            "larger: both responses advise more than they state facts",
            compared=False,
            source="text",
        ),
        _line(
            "COMMIT",
            "Commitment",
            0.125,
            "How far a response commits to one recommendation, compared.",
            "positive: the memory response commits more",
        ),
        _line(
            "OPT",
            "Options and trade-offs",
            0.124,
            "Words for options and trade-offs per 100 words, averaged over both responses.",
            "larger: both responses weigh more options",
            compared=False,
            source="text",
        ),
        _line(
            "BREADTH",
            "Coverage",
            -0.083,
            "How much different ground a response covers, compared.",
            "positive: the memory response covers more",
        ),
        _line(
            "COST",
            "Effort before acting",
            0.036,
            "How much effort a response asks of the user before they can act, compared.",
            "positive: the memory response asks for more effort",
        ),
        _line(
            "REGISTER",
            "Register",
            0.030,
            "How well a response's register fits the query's, compared.",
            "positive: the memory response fits better",
        ),
    )
)

MEMORY_FEATURES = tuple(name for name, feature in RUBRIC.items() if feature.memory)
RESPONSE_FEATURES = tuple(name for name, feature in RUBRIC.items() if not feature.memory)
SCORED = tuple(name for name, feature in RUBRIC.items() if feature.source == "scorer")
