"""Messages from outside, read before a model request (``inject:TURN``).

A step turns what waits into messages and marks it as read, in one record.  So each is read
once, stands between the results of a turn and the next answer, and is told again in the
same place by whoever resumes.  A message that comes while the last answer is being given
makes another turn; one that the turn limit leaves over starts the next run.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from app.domain.message import plain_text
from app.domain.record import Writes
from app.domain.signal import Signal, messages_of
from app.domain.storable import Json
from app.engine.durable_run import DurableRun
from app.engine.steps import MISSING, StepContext, StepResult
from app.loop.drafts import Drafts
from app.loop.history import History
from app.loop.planned import turn_step


@dataclass(frozen=True, slots=True)
class Heard:
    """The value of ``inject:TURN``.

    Attributes:
        draft: names what was recorded; see ``app.loop.drafts``.
        messages: ids of the messages, in order.
        signals: ids of the signals that they were.
    """

    draft: str
    messages: tuple[str, ...]
    signals: tuple[str, ...]

    def to_json(self) -> dict[str, Json]:
        """Return the step's value."""
        return {
            "draft": self.draft,
            "messages": list(self.messages),
            "signals": list(self.signals),
        }

    @classmethod
    def from_json(cls, value: Json) -> "Heard":
        """Return what ``to_json`` wrote."""
        match value:
            case {"draft": str(draft), "messages": list(messages), "signals": list(signals)}:
                return cls(draft, tuple(map(str, messages)), tuple(map(str, signals)))
            case _:
                raise ValueError(f"not the record of heard messages: {value!r}")


class Hearing:
    """What one drive has heard so far."""

    def __init__(self, run: DurableRun, history: History, drafts: Drafts) -> None:
        self._run = run
        self._history = history
        self._drafts = drafts
        self._read: set[str] = set()

    @property
    def has_unread(self) -> bool:
        """Whether a message waits that came before the last look."""
        return bool(self._unread())

    def was_recorded(self, turn: int) -> bool:
        """Whether messages were read before this turn: then it has to be taken."""
        return self._run.recorded(inject_step(turn)) is not MISSING

    async def listen(self, turn: int) -> None:
        """Append what waits to the history, right before the turn's model request."""
        recorded = self._run.recorded(inject_step(turn))
        if recorded is MISSING:
            if self._run.recorded(turn_step(turn)) is not MISSING:
                return  # it was answered before this drive: what waits belongs to the next turn
            if self._run.has_news:
                await self._run.look()
            unread = self._unread()
            if not unread:
                return
            recorded = await self._read_in_a_step(turn, unread)
        heard = Heard.from_json(recorded)
        self._read.update(heard.signals)
        for parts in await self._drafts.inputs(heard.draft, heard.messages):
            self._history.add_input(plain_text(parts))

    def _unread(self) -> list[Signal]:
        return [signal for signal in self._run.signals if signal.id not in self._read]

    async def _read_in_a_step(self, turn: int, unread: Sequence[Signal]) -> Json:
        async def body(_: StepContext) -> StepResult:
            rows = messages_of(self._run.run.id, unread)
            signals = tuple(signal.id for signal in unread)
            heard = Heard(self._run.ids.new(), tuple(row.id for row in rows), signals)
            self._drafts.keep_inputs(heard.draft, [row.parts for row in rows])
            return StepResult(heard.to_json(), Writes(messages=rows, consumed=signals))

        return await self._run.step(inject_step(turn), body, turn=turn)


def recorded_inputs(run: DurableRun, turn: int) -> Collection[str]:
    """Return the ids of the messages that were read before the open turn or the next one.

    They are told again when the drive comes to them, so the history begins without them.
    """
    found = (run.recorded(inject_step(each)) for each in (turn, turn + 1))
    return {
        message
        for value in found
        if value is not MISSING
        for message in Heard.from_json(value).messages
    }


def inject_step(turn: int) -> str:
    """Return the name of the step that reads messages before a turn."""
    return f"inject:{turn}"
