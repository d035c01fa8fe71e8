"""An agent at work in one process: ``MemoryWorld`` with the agent loop as its program."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from app.authoring.agent import Agent
from app.authoring.functions import ServerFunction
from app.authoring.tool_context import Dispatch, no_functions
from app.domain.approval import Decision
from app.domain.identity import Identity
from app.domain.message import Message
from app.domain.run import FINAL, Run, RunStatus
from app.domain.thread import Thread
from app.loop.program import LoopPorts, agent_program
from app.models.resolve import Models
from app.testing.world import MemoryWorld

ALICE = Identity("alice")


class NoFunctions:
    """A catalog without a server function."""

    def find(self, reference: str) -> ServerFunction[..., Any] | None:
        del reference
        return None

    def reference_of(self, function: ServerFunction[..., Any]) -> str | None:
        del function
        return None


class AgentWorld(MemoryWorld):
    """A world with one agent, ``a``."""

    def __init__(
        self,
        agent: Agent,
        *,
        streaming: bool = True,
        dispatch: Dispatch = no_functions,
        settings: object = None,
    ) -> None:
        ports = LoopPorts(Models(settings=settings), dispatch, streaming=streaming)
        super().__init__({"a": agent_program(agent, ports, NoFunctions())})

    async def __aenter__(self) -> "AgentWorld":
        """Return the world; it has no worker yet."""
        return self

    async def say(self, text: str = "hello", *, key: str = "thread") -> str:
        """Start a run and return its id."""
        return (await self.start("a", text, key=key)).run_id

    async def answered(self, text: str = "hello", *, key: str = "thread") -> Run:
        """Say something, with a worker at hand, and return the run once it has ended."""
        if not self.workers:
            self.worker()
        return await self.ended(await self.say(text, key=key))

    async def ended(self, run_id: str) -> Run:
        """Return the run once it has ended."""
        await self.until(run_id, *FINAL)
        return self.database.runs[run_id]

    async def parked(self, run_id: str) -> Run:
        """Return the run once it waits for a person."""
        await self.until(run_id, RunStatus.AWAITING_INPUT)
        return self.database.runs[run_id]

    async def decide(
        self, call_id: str, decision: Decision, reason: str | None = None, *, key: str = "thread"
    ) -> None:
        """Decide as Alice."""
        await self.store.decide(self.thread(key).id, call_id, decision, ALICE, reason)

    def thread(self, key: str = "thread") -> Thread:
        """Return a thread."""
        thread = self.database.by_key(key)
        assert thread is not None
        return thread

    def rows(self, key: str = "thread") -> Sequence[Message]:
        """Return a thread's messages."""
        return self.database.messages[self.thread(key).id]

    def said(self, key: str = "thread") -> list[tuple[str, str, str]]:
        """Return role, status and text or output of each message."""
        return [(row.role.value, row.status.value, _gist(row.parts)) for row in self.rows(key)]

    def steps(self, run_id: str) -> list[str]:
        """Return the names of a run's recorded steps, in order."""
        return list(self.database.steps[run_id])


def _gist(parts: Sequence[Mapping[str, Any]]) -> str:
    shown = []
    for part in parts:
        match part["type"]:
            case "tool_call":
                shown.append(f"{part['name']}({part['input']})")
            case "tool_result":
                shown.append(f"{'!' if part.get('isError') else ''}{part.get('output', '...')}")
            case _:
                shown.append(part["text"])
    return " ".join(shown)


@pytest.fixture(autouse=True)
def no_backoff(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the waits out of retries: full jitter of nothing is nothing."""
    monkeypatch.setattr(random, "random", lambda: 0.0)
