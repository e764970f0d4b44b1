"""Which code made a result: other rules, other results, so the digest enters every identity."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

__all__ = ["code_digest"]

# Code, word lists and rule tables; what only shows results is left out.
KINDS = (".py", ".txt", ".tsv")
SHOWING = ("cli", "figures", "report")


@cache
def code_digest(part: str = "") -> str:
    """Digest of the package's code, or of one folder of it ("memory")."""
    root = Path(__file__).parent
    found = hashlib.sha256()
    for path in sorted((root / part).rglob("*")):
        where = path.relative_to(root)
        if path.suffix in KINDS and where.parts[0] not in SHOWING:
            found.update(str(where).encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:16]
