"""An agent at work in one process: ``MemoryWorld`` with the agent loop as its program."""

import random
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

import pytest

from app.authoring.agent import Agent
from app.authoring.functions import ServerFunction
from app.authoring.tool_context import Dispatch, no_functions
from app.domain.approval import Decision
from app.domain.identity import Identity
from app.domain.message import Message, text_part
from app.domain.override import Changed, Override, Publish
from app.domain.ports import StartedRun, StartRun
from app.domain.run import FINAL, Run, RunStatus, Terms
from app.domain.signal import NewSignal, Signalled, SignalMode
from app.domain.storable import Json, decode, encode
from app.domain.thread import Thread
from app.loop.overriding import Overrides
from app.loop.program import LoopPorts, agent_program
from app.models.resolve import Models
from app.testing.memory_database import MemoryDatabase
from app.testing.memory_overrides import MemoryOverrides
from app.testing.world import MemoryWorld
from tests.support.deciding import decide

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
    """A world with the agent ``a``, and others that it may ask, by slug."""

    def __init__(
        self,
        agent: Agent,
        *others: Agent,
        streaming: bool = True,
        dispatch: Dispatch = no_functions,
        settings: object = None,
    ) -> None:
        database = MemoryDatabase()
        self.overrides = MemoryOverrides(database)
        self._ports = LoopPorts(
            Models(settings=settings),
            dispatch,
            streaming=streaming,
            overrides=Overrides(self.overrides),
        )
        agents = {"a": agent} | {other.slug: other for other in others}
        for each in agents.values():
            each.bind_agents(agents)
        self.agent = agent
        self.policy: Mapping[str, Json] = {}
        super().__init__(
            {
                slug: agent_program(each, self._ports, NoFunctions())
                for slug, each in agents.items()
            },
            database,
        )

    async def __aenter__(self) -> "AgentWorld":
        """Return the world; it has no worker yet."""
        return self

    async def say(self, text: str = "hello", *, key: str = "thread") -> str:
        """Start a run, as the agent says, and return its id."""
        return (await self.send(text, key=key)).run_id

    async def send(self, text: str = "hello", *, key: str = "thread") -> StartedRun:
        """Say something, as the agent says for a busy thread."""
        state = self.agent.initial_state
        start = StartRun(
            run_id=self.ids.new(),
            thread_id=self.ids.new(),
            message_id=self.ids.new(),
            thread_key=key,
            agent="a",
            parts=encode([text_part(text)]),
            on_busy=self.agent.on_concurrent_run,
            initial_state=None if state is None else encode(state),
            terms=Terms(self.policy, timeout=self.agent.timeout),
        )
        return await self.store.start(start)

    async def signal(
        self, text: str, mode: SignalMode = SignalMode.INJECT, *, key: str = "thread"
    ) -> Signalled:
        """Put a message into a conversation, as Bob."""
        ids = (self.ids.new(), self.ids.new(), self.ids.new())
        signal = NewSignal(ids[0], self.thread(key).id, mode, text, "user:bob", *ids[1:])
        answer = await self.store.signal(signal)
        assert answer is not None
        return answer

    def deploy(self, agent: Agent) -> None:
        """Give workers that start from now on other code for the agent ``a``."""
        self.programs = {**self.programs, "a": agent_program(agent, self._ports, NoFunctions())}

    async def publish(self, content: Override, *, agent: str = "a") -> None:
        """Put something in force over an agent's code."""
        await self.overrides.change(agent, "root", lambda _: Changed(Publish(content, None)))

    async def later(self, after: timedelta) -> None:
        """Move the store's clock and do what a sweeper does then."""
        now = self.database.now
        self.database.now = lambda: now() + after
        await self.store.fire_due(100)
        await self.store.fail_overdue()

    async def waiting(self, run_id: str) -> Run:
        """Return the run once it waits for a machine."""
        await self.until(run_id, RunStatus.WAITING)
        return self.database.runs[run_id]

    def state(self, key: str = "thread") -> Json:
        """Return a thread's synced state."""
        stored = self.database.states.get(self.thread(key).id)
        return None if stored is None else decode(stored)

    def children(self, run_id: str) -> list[Run]:
        """Return the runs that were started by calls of a run, in order."""
        return [
            run
            for run in self.database.runs.values()
            if run.parent is not None and run.parent.run_id == run_id
        ]

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
        await decide(self.store, self.thread(key).id, call_id, decision, ALICE, reason)

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
