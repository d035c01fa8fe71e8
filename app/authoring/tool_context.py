"""What a tool is told about the call that it answers, and the errors that it may raise."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from app.domain.errors import AgentFault
from app.domain.identity import Identity
from app.domain.storable import Json


class ToolError(AgentFault):
    """An expected failure: its message goes to the model at once, and nothing is tried again.

    Any other exception is taken for a fault of the moment: the tool is started again,
    and only when its attempts are used up does the model hear of it.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)


class Dispatch(Protocol):
    """Calls a server function; the composition hands it in."""

    def __call__(
        self,
        reference: str,
        arguments: Mapping[str, Any],
        *,
        caller: Identity,
        dedupe: str | None = None,
    ) -> Awaitable[Any]:
        """Run ``module:name`` as ``caller`` and return its result as JSON values.

        With ``dedupe`` a mutation takes effect once however often it is called.
        """
        ...


async def no_functions(
    reference: str, arguments: Mapping[str, Any], *, caller: Identity, dedupe: str | None = None
) -> Any:  # noqa: ANN401  # whatever a function returns
    """Refuse: nothing was handed in to call server functions with."""
    del arguments, caller, dedupe
    raise ToolError(f"there is no server function {reference!r} here")


class State(Protocol):
    """The synced state of a thread, as one call of a tool sees it."""

    async def get(self) -> Json:
        """Return it; ``None`` when there is none."""
        ...

    async def set(self, value: object) -> None:
        """Replace it."""
        ...

    async def update(self, change: Callable[[Json], object]) -> Json:
        """Replace it by what ``change`` makes of it, once per call, and return it."""
        ...


class _NoState:
    async def get(self) -> Json:
        return None

    async def set(self, value: object) -> None:
        del value
        raise ToolError("there is no thread here whose state could be set")

    async def update(self, change: Callable[[Json], object]) -> Json:
        del change
        raise ToolError("there is no thread here whose state could be set")


NO_STATE: Final[State] = _NoState()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """The first parameter of a tool that asks for it: ``ctx: ToolContext``.

    Attributes:
        run_id: the run that the call belongs to.
        thread_key: the conversation.
        agent: the agent's slug.
        owner: who the thread belongs to; ``None`` for nobody.
        tool_call_id: the call's id, unique in the thread.
        idempotency_key: ``RUN/tool:NAME:CALL_ID``; the same for every attempt, on every
            worker.  Give it to whatever the tool changes outside.
        attempt: counted from 1 on this worker.
    """

    run_id: str
    thread_key: str
    agent: str
    owner: str | None
    tool_call_id: str
    idempotency_key: str
    attempt: int = 1
    dispatch: Dispatch = no_functions
    state: State = NO_STATE

    @property
    def auth(self) -> Identity:
        """The identity that the tool acts for: the thread's owner, without roles."""
        return Identity(self.owner)

    async def run(self, reference: str, arguments: Mapping[str, Any] | None = None) -> Any:  # noqa: ANN401  # whatever a function returns
        """Call the server function ``module:name`` with the thread's owner as caller.

        A retried tool calls again: hand ``idempotency_key`` on where that matters.
        """
        return await self.dispatch(reference, arguments or {}, caller=self.auth)

    async def get_state(self) -> Any:  # noqa: ANN401  # whatever the team keeps there
        """Return the thread's synced state, which every open tab shows; ``None`` for none."""
        return await self.state.get()

    async def set_state(self, value: object) -> None:
        """Replace the whole state by ``value``, anything with a JSON form.

        It is written at once.  A body that fails and runs again finds what it wrote, so
        write what does not depend on how often it ran: for counting and adding there is
        ``update_state``.
        """
        await self.state.set(value)

    async def update_state(self, change: Callable[[Any], object]) -> Any:  # noqa: ANN401  # see get_state
        """Apply ``change`` to the state at most once, however often the body runs.

        Args:
            change: a plain function that gets the state and returns the new one.  It is
                called while the thread is locked: quick, and without side effects.

        Returns:
            The state afterwards.
        """
        return await self.state.update(change)


@dataclass(frozen=True, slots=True, kw_only=True)
class InstructionsContext:
    """What a callable for ``instructions`` is told.  It is asked once a run."""

    run_id: str
    thread_key: str
    agent: str
    owner: str | None

    @property
    def auth(self) -> Identity:
        """The identity that the run acts for: the thread's owner, without roles."""
        return Identity(self.owner)
