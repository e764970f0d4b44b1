"""Rows of the JSONL format become dialogues, questions and observations that agree."""

from __future__ import annotations

from msgspec import UNSET

from workbench.datasets.report import ImportLog
from workbench.datasets.rows import (
    DialogueRow,
    GoldRow,
    ObservationRow,
    QuestionRow,
    Row,
    TurnRow,
    to_time,
)
from workbench.errors import DataError
from workbench.schema import Dialogue, Gold, Memory, Question, Turn, digest_of

__all__ = ["Gathering"]

ABSTAINING = ("abstention", "adversarial")


class _Growing:
    """A dialogue while its turns arrive."""

    def __init__(self) -> None:
        self.title = ""
        self.turns: list[Turn] = []
        self.aside: list[Turn] = []


class Gathering:
    """Collects rows. All dialogues and turns must be added before any question or observation,
    whose references are checked against them. Each row added is kept, skipped or failed."""

    def __init__(self, default_scope: str, log: ImportLog) -> None:
        self._default_scope = default_scope
        self._log = log
        self._dialogues: dict[tuple[str, str], _Growing] = {}
        self._homes: dict[tuple[str, str], tuple[str, Turn]] = {}
        self._sessions: dict[str, set[str]] = {}
        self._people: dict[str, dict[str, None]] = {}
        self.questions: dict[str, Question] = {}
        self.observations: dict[tuple[str, str], Memory] = {}

    def dialogues(self) -> tuple[Dialogue, ...]:
        """In order of their first row."""
        return tuple(
            Dialogue(
                id=name,
                scope=scope,
                title=growing.title,
                turns=tuple(growing.turns),
                aside=tuple(growing.aside),
            )
            for (scope, name), growing in self._dialogues.items()
        )

    def add_dialogue_or_turn(self, where: str, position: str, row: Row) -> None:
        """Add a row of these kinds; others are left for later."""
        try:
            if isinstance(row, DialogueRow):
                self._open(row.scope or self._default_scope, row.id).title = row.title
                self._log.keep()
            elif isinstance(row, TurnRow):
                self._add_turn(where, position, row)
        except DataError as error:
            self._log.fail(where, str(error))

    def add_question_or_observation(self, where: str, position: str, row: Row) -> None:
        """Add a row of these kinds; others are passed over."""
        try:
            if isinstance(row, QuestionRow):
                self._add_question(where, position, row)
            elif isinstance(row, ObservationRow):
                self._add_observation(where, row)
        except DataError as error:
            self._log.fail(where, str(error))

    def _open(self, scope: str, name: str) -> _Growing:
        return self._dialogues.setdefault((scope, name), _Growing())

    def _add_turn(self, where: str, position: str, row: TurnRow) -> None:
        scope = row.scope or self._default_scope
        home = row.dialogue or row.scope or self._default_scope
        turn = Turn(
            id=row.id or f"{row.session}:{position}",
            session=row.session,
            speaker=row.speaker,
            text=row.text,
            role=row.role,
            time=to_time(row.time),
            caption=row.caption,
            attachment=row.attachment,
            aside=row.aside,
        )
        earlier = self._homes.setdefault((scope, turn.id), (home, turn))
        if earlier[1] is not turn:
            if earlier != (home, turn):
                raise DataError(f"another turn of {scope!r} already has the id {turn.id!r}")
            self._log.skip(where, "a duplicate", turn.text)
            return
        growing = self._open(scope, home)
        growing.title = row.title if row.title is not None else growing.title
        if turn.aside is not None:
            growing.aside.append(turn)
            self._log.skip(where, f"set aside: {turn.aside}", turn.text)
        else:
            growing.turns.append(turn)
            self._sessions.setdefault(scope, set()).add(turn.session)
            if turn.role in ("person", "user"):
                self._people.setdefault(scope, {})[turn.speaker] = None
            self._log.keep()

    def _add_question(self, where: str, position: str, row: QuestionRow) -> None:
        scope = row.scope or self._default_scope
        if row.until is not None and self._turn(scope, row.until) is None:
            raise DataError(f"until {row.until!r} is no turn of {scope!r}; all would be seen")
        abstaining = row.category in ABSTAINING
        question = Question(
            id=row.id or f"q{position}",
            scope=scope,
            text=row.text,
            category=row.category,
            people=tuple(self._people.get(scope, ())) if row.people is None else row.people,
            gold=self._gold(where, scope, row.gold),
            audited=self._gold(where, scope, row.audited) if row.audited else None,
            audit=row.audit,
            asked=to_time(row.asked),
            until=row.until,
            abstention=abstaining if row.abstention is None else row.abstention,
            choices=row.choices,
        )
        earlier = self.questions.setdefault(question.id, question)
        self._keep_first(where, earlier is question, earlier == question, question.id)

    def _add_observation(self, where: str, row: ObservationRow) -> None:
        scope = row.scope or self._default_scope
        sources = tuple(source for source in row.sources if self._turn(scope, source))
        self._remark(where, set(row.sources) - set(sources), f"no turn of {scope!r}")
        first = self._turn(scope, sources[0]) if sources else None
        if first is None:
            raise DataError(f"none of its sources is a turn of {scope!r}")
        memory = Memory(
            id=row.id or "o:" + digest_of((row.text, sources)),
            scope=scope,
            kind="observation",
            text=row.text,
            sources=sources,
            owner=row.owner,
            subject=row.owner if row.subject is None else row.subject,
            role=row.role,
            session=first.session if row.session is None else row.session,
            time=first.time if row.time is UNSET else to_time(row.time),
            dimensions=row.dimensions,
        )
        earlier = self.observations.setdefault((scope, memory.id), memory)
        self._keep_first(where, earlier is memory, earlier == memory, memory.id)

    def _keep_first(self, where: str, is_first: bool, same: bool, name: str) -> None:
        if is_first:
            self._log.keep()
        elif same:
            self._log.skip(where, "a duplicate", name)
        else:
            raise DataError(f"an earlier row already has the id {name!r}")

    def _gold(self, where: str, scope: str, row: GoldRow) -> Gold:
        evidence = tuple(turn for turn in row.evidence if self._turn(scope, turn))
        turns = [turn for name in evidence if (turn := self._turn(scope, name))]
        own = tuple(dict.fromkeys(turn.session for turn in turns))
        stated = own if row.sessions is None else row.sessions
        known = self._sessions.get(scope, set())
        astray = [turn for turn in row.evidence if turn not in evidence]
        astray += [session for session in stated if session not in known]
        self._remark(where, astray, f"no turn or session of {scope!r}")
        return Gold(
            answer=None if row.answer is None else str(row.answer),
            evidence=evidence,
            sessions=tuple(session for session in stated if session in known),
            unresolved=(*row.unresolved, *astray),
        )

    def _remark(self, where: str, astray: list[str] | set[str], why: str) -> None:
        for reference in sorted(astray):
            self._log.unresolved(where, why, reference)

    def _turn(self, scope: str, name: str) -> Turn | None:
        """A turn of the conversation, not one that was set aside."""
        turn = self._homes[scope, name][1] if (scope, name) in self._homes else None
        return turn if turn is not None and turn.aside is None else None
