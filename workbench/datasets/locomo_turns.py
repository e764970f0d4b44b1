"""The dialogue part of LoCoMo: numbered sessions, their dates, and turns with picture captions."""

from __future__ import annotations

import re
from collections import Counter
from datetime import datetime
from typing import Any

import msgspec

from workbench.datasets.report import ImportLog
from workbench.schema import Dialogue, Turn

__all__ = ["dates_without_dialogue", "parse_time", "read_dialogue"]

MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
TIME = re.compile(
    r"(\d{1,2}):(\d{2})\s*([ap])\.?m\.?\s+on\s+(\d{1,2})\s+([a-z]+),?\s+(\d{4})", re.IGNORECASE
)
NOON = 12
SESSION = re.compile(r"session_(\d+)")
SESSION_TIME = re.compile(r"(session_\d+)_date_time")
SPEAKER_KEYS = {"speaker_a", "speaker_b"}
TURN_FIELDS = {"speaker", "dia_id", "text", "img_url", "blip_caption", "query", "re-download"}


class _Turn(msgspec.Struct):
    speaker: str
    dia_id: str
    text: str
    img_url: Any = None
    blip_caption: str | None = None


def read_dialogue(scope: str, raw: dict[str, Any], where: str, log: ImportLog) -> Dialogue:
    """The sessions of a conversation in the order of their numbers, as one dialogue.

    `where` names the conversation in the log ("locomo10.json: conv-42").
    """
    numbers = {key: int(match[1]) for key in raw if (match := SESSION.fullmatch(key))}
    turns: dict[str, Turn] = {}
    for session in sorted(numbers, key=numbers.__getitem__):
        for turn in _session_turns(session, raw, where, log):
            if turn.id in turns:
                log.fail(f"{where}, {session}", f"a second turn has the id {turn.id}", turn.text)
            else:
                log.keep()
                turns[turn.id] = turn
    _remark_on_fields(raw, where, log)
    return Dialogue(id=scope, scope=scope, turns=tuple(turns.values()))


def dates_without_dialogue(raw: dict[str, Any]) -> int:
    """How many `session_N_date_time` have no session, or an empty one."""
    dated = (match[1] for key in raw if (match := SESSION_TIME.fullmatch(key)))
    return sum(not raw.get(session) for session in dated)


def parse_time(text: Any) -> datetime | None:
    """`1:56 pm on 8 May, 2023` as a time without a zone; None where it reads otherwise.

    Independent of the system's language. 12:05 am is 00:05, and 12:05 pm is 12:05.
    """
    match = TIME.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None or match[5].lower() not in MONTHS or not 1 <= int(match[1]) <= NOON:
        return None
    hour = int(match[1]) % NOON + (NOON if match[3] in "pP" else 0)
    month = MONTHS.index(match[5].lower()) + 1
    try:
        return datetime(int(match[6]), month, int(match[4]), hour, int(match[2]))
    except ValueError:
        return None


def _session_turns(session: str, raw: dict[str, Any], where: str, log: ImportLog) -> list[Turn]:
    """Turns of one session that can be read; the others fail here, each with its reason."""
    listed = raw[session]
    if not isinstance(listed, list):
        log.read()
        log.fail(f"{where}, {session}", "a session is not a list of turns", listed)
        return []
    time = parse_time(raw.get(f"{session}_date_time"))
    if time is None and listed:
        stated = raw.get(f"{session}_date_time")
        log.warn(f"{where}, {session}", "no date that can be read; its turns have no time", stated)
    turns = []
    for position, record in enumerate(listed):
        log.read()
        try:
            turn = msgspec.convert(record, _Turn)
        except msgspec.ValidationError as error:
            log.fail(f"{where}, {session}, turn {position}", str(error), record)
            continue
        turns.append(
            Turn(
                id=turn.dia_id,
                session=session,
                speaker=turn.speaker,
                text=turn.text,
                time=time,
                caption=turn.blip_caption or None,
            )
        )
    return turns


def _remark_on_fields(raw: dict[str, Any], where: str, log: ImportLog) -> None:
    """Warn of pictures without caption and of unknown fields: a misspelt key loses its content."""
    strangers = [
        key
        for key in raw
        if key not in SPEAKER_KEYS
        and not SESSION.fullmatch(key)
        and not SESSION_TIME.fullmatch(key)
    ]
    fields: Counter[str] = Counter()
    bare: list[str] = []
    sessions = (value for key, value in raw.items() if SESSION.fullmatch(key))
    for turn in (turn for listed in sessions if isinstance(listed, list) for turn in listed):
        if isinstance(turn, dict):
            fields.update(turn.keys() - TURN_FIELDS)
            if turn.get("img_url") and not turn.get("blip_caption"):
                bare.append(str(turn.get("dia_id")))
    if strangers:
        log.warn(where, "unknown fields were left out", ", ".join(strangers))
    for field, count in sorted(fields.items()):
        log.warn(where, f"the unknown field {field!r} of {count} turns was left out")
    if bare:
        log.warn(where, f"turns with img_url but no blip_caption: {len(bare)}", ", ".join(bare))
