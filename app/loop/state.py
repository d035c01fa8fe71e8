"""The thread's synced state, as one body of a tool uses it.

``set`` writes at once, so a body that runs again finds what it wrote.  ``update`` leaves a
receipt under the step's name and its place in the body: a body that runs again does not
apply it again.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from pydantic_core import to_jsonable_python

from app.authoring.tool_context import ToolError
from app.domain.storable import Json, encode
from app.engine.durable_run import DurableRun

MAX_STATE_BYTES: Final = 1 << 20
"""Every change is sent whole to each open tab."""


@dataclass(slots=True)
class StepState:
    """Implements ``app.authoring.tool_context.State`` for one attempt of a step."""

    run: DurableRun
    step: str
    turn: int
    _updates: int = field(default=0, init=False)

    async def get(self) -> Json:
        """See ``State.get``."""
        return await self.run.read_state()

    async def set(self, value: object) -> None:
        """See ``State.set``."""
        await self.run.write_state(_storable(value))

    async def update(self, change: Callable[[Json], object]) -> Json:
        """See ``State.update``."""
        receipt = f"{self.step}/state:{self._updates}"
        self._updates += 1

        def changed(state: Json) -> Json:
            return _storable(change(state))

        return await self.run.update_state(receipt, self.turn, changed)


def _storable(value: object) -> Json:
    """Return a value that can be stored and sent.

    Raises:
        TypeError: it is an awaitable: a change is made under a lock, so it must not wait.
        ToolError: it is too large.
    """
    if inspect.isawaitable(value):
        if inspect.iscoroutine(value):
            value.close()
        raise TypeError("update_state takes a plain function: it must not wait")
    state: Json = to_jsonable_python(value)
    size = len(encode(state).encode())
    if size > MAX_STATE_BYTES:
        raise ToolError(
            f"the state would be {size / MAX_STATE_BYTES:.1f} MiB; the limit is "
            f"{MAX_STATE_BYTES >> 20} MiB"
        )
    return state
