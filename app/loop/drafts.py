"""What this drive wrote into rows, by the name that each step's value gives it.

A step's value is small: it names the draft that was recorded.  Mostly that is the
one that was just written here; after a take-over it is another worker's, and its
row has it.  So nothing that a model or a tool said is stored twice.
"""

from collections.abc import Callable, Sequence

from app.domain.message import Message, Part, Role
from app.domain.storable import Json, decode
from app.engine.durable_run import DurableRun


class Drafts:
    """The rows of the open turn."""

    def __init__(self, run: DurableRun, rows: Sequence[Message]) -> None:
        self._run = run
        self._rows = rows
        self._answers: dict[str, str] = {}
        self._results: dict[str, str] = {}
        self._inputs: dict[str, list[str]] = {}

    def keep_answer(self, message_id: str, model: str) -> None:
        """Remember the private JSON of an answer that is about to be recorded."""
        self._answers[message_id] = model

    def keep_result(self, name: str, parts: str) -> None:
        """Remember the parts of a result that is about to be recorded."""
        self._results[name] = parts

    def keep_inputs(self, name: str, parts: list[str]) -> None:
        """Remember the parts of messages that are about to be recorded."""
        self._inputs[name] = parts

    async def answer(self, message_id: str) -> str:
        """Return the private JSON of the answer that was recorded."""
        draft = self._answers.pop(message_id, None)
        if draft is not None:
            return draft
        return (await self._row(message_id)).model or ""

    async def inputs(self, recorded: str, messages: Sequence[str]) -> list[list[Part]]:
        """Return the parts of each of these messages, as their step recorded them."""
        drafts = self._inputs.pop(recorded, None)
        if drafts is not None:
            return [_parts(decode(draft)) for draft in drafts]
        return [(await self._row(message)).parts for message in messages]

    async def result(self, recorded: Json, call_id: str) -> Sequence[Part]:
        """Return the parts of a call's result, as its step recorded it."""
        draft = self._results.pop(str(recorded), None)
        if draft is not None:
            return _parts(decode(draft))
        row = await self._find(
            lambda row: (
                row.role is Role.TOOL
                and row.run_id == self._run.run.id
                and any(part.get("toolCallId") == call_id for part in row.parts)
                and any("isError" in part for part in row.parts)
            )
        )
        return row.parts

    async def _row(self, message_id: str) -> Message:
        return await self._find(lambda row: row.id == message_id)

    async def _find(self, fits: Callable[[Message], bool]) -> Message:
        found = next(filter(fits, self._rows), None)
        if found is None:
            self._rows = await self._run.history()
            found = next(filter(fits, self._rows), None)
        if found is None:
            raise LookupError(f"run {self._run.run.id} has a step without its row")
        return found


def _parts(value: Json) -> list[Part]:
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []
