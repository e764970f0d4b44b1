"""Training the rewriter by GRPO (SPEC A.5, A.6): `workbench train`.

`plan` says what is trained on what and how, `checks` refuses what cannot work before any model is
loaded, `learn` does it. The trainer itself is TRL's; `policy` is the only module that imports it.
"""

from __future__ import annotations

__all__: list[str] = []
