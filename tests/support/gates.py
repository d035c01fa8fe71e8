"""One turn of gated and ungated calls, decided in some order while workers come and go.

A ``Course`` says everything that happens; ``play`` lets it happen on the stores in memory, and
asserts what must come of it: each result belongs to its call, the run goes on once, a gated body
runs at most once and never without a decision that lets it, and each decision is noted once.
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from enum import StrEnum
from typing import Final

import pytest
from pydantic_ai.messages import ModelRequest, ToolReturnPart

from app import Agent, ApprovalPolicy, ToolContext, tool
from app.authoring.tools import Tool
from app.domain.approval import Approval, Decider, Decision, NewDecision, Place, expiry_fact
from app.domain.errors import Conflict
from app.domain.run import Run, RunStatus
from app.domain.storable import Json
from app.testing.memory_database import LONG_AGO
from app.testing.world import MemoryWorker
from tests.support.agent_world import ALICE, AgentWorld
from tests.support.scripted_model import Asks, Says, ScriptedModel

EDITED: Final = 0
"""What a person makes of an amount: false as a condition, and still an amount."""
PATIENCE: Final = timedelta(hours=1)
REASON: Final = "not today"
DEATHS: Final = 3
"""After so many a worker hands its run over: one that kills every worker is given up."""


class Fate(StrEnum):
    """What becomes of a gated call; ``LAPSE``: nobody decides, and that lets it run."""

    APPROVE = "approve"
    DENY = "deny"
    EDIT = "edit"
    EXPIRE = "expire"
    LAPSE = "lapse"
    CANCEL = "cancel"
    """The run is cancelled, and with it whatever is undecided."""


RUNS: Final = frozenset({Fate.APPROVE, Fate.EDIT, Fate.LAPSE})
BY_ITSELF: Final = frozenset({Fate.EXPIRE, Fate.LAPSE})

Event = tuple[Fate, int]
"""What happens to which of the turn's calls."""


@dataclass(frozen=True, slots=True)
class Course:
    """What happens in one turn.

    Attributes:
        shape: the calls in order, ``G`` for a gated and ``U`` for an ungated one.
        events: in the order in which they happen.
        restarts: during which events no worker is there; another one comes afterwards.
        early: how many of the events happen while an ungated call is still at work.
    """

    shape: str
    events: tuple[Event, ...]
    restarts: frozenset[int] = frozenset()
    early: int = 0

    @property
    def is_cancelled(self) -> bool:
        """Whether the run does not get to its end."""
        return any(fate is Fate.CANCEL for fate, _ in self.events)

    @property
    def fates(self) -> dict[int, Fate]:
        """Return what became of each call that something happened to."""
        return {call: fate for fate, call in self.events if fate is not Fate.CANCEL}


class Turn:
    """The course at work."""

    def __init__(self, course: Course) -> None:
        self.course = course
        self.ran: Counter[str] = Counter()
        self._at_work = asyncio.Event()
        self._may_end = asyncio.Event()
        if not course.early:
            self._may_end.set()
        self.model = ScriptedModel(Says(calls=self._calls()), "Done.")
        self.world = AgentWorld(Agent(model=self.model, tools=self._tools()))
        self._worker: MemoryWorker | None = None
        self._takeovers = 0

    async def play(self) -> None:
        """Let everything happen, and look at what came of it."""
        world, course = self.world, self.course
        async with world:
            self._worker = world.worker()
            run_id = await world.say()
            if course.early:
                await self._at_work.wait()
            else:
                await world.parked(run_id)
            for place, event in enumerate(course.events):
                if place == course.early and course.early:
                    self._may_end.set()
                    await world.parked(run_id)
                await self._happens(run_id, event, is_alone=place in course.restarts)
            self._may_end.set()
            run = await world.ended(run_id)
            await self._check(run)

    def _calls(self) -> list[Asks]:
        fates = self.course.fates
        asked = []
        for place, kind in enumerate(self.course.shape):
            name = "lend" if fates.get(place) is Fate.LAPSE else "pay"
            asks = (
                Asks(name, {"amount": place + 1}, f"c{place}")
                if kind == "G"
                else Asks("look", {}, f"c{place}")
            )
            asked.append(asks)
        return asked

    def _tools(self) -> list[Tool]:
        @tool(needs_approval=ApprovalPolicy(editable=True, expires_in=PATIENCE))
        async def pay(ctx: ToolContext, amount: int) -> str:
            self.ran[ctx.tool_call_id] += 1
            return f"{ctx.tool_call_id} paid {amount}"

        @tool(needs_approval=ApprovalPolicy(expires_in=PATIENCE, on_expiry="approved"))
        async def lend(ctx: ToolContext, amount: int) -> str:
            self.ran[ctx.tool_call_id] += 1
            return f"{ctx.tool_call_id} lent {amount}"

        @tool
        async def look(ctx: ToolContext) -> str:
            self.ran[ctx.tool_call_id] += 1
            self._at_work.set()
            await self._may_end.wait()
            return f"{ctx.tool_call_id} looked"

        return [pay, lend, look]

    async def _happens(self, run_id: str, event: Event, *, is_alone: bool) -> None:
        world, worker = self.world, self._worker
        assert worker is not None
        is_running = world.database.runs[run_id].status is RunStatus.RUNNING
        if is_alone and is_running:
            await self._goes_in_the_middle(worker)
        elif is_alone:
            await worker.kill()
        await self._befalls(run_id, event)
        if is_alone:
            self._worker = world.worker()
            if is_running and not self.course.is_cancelled and not self._may_end.is_set():
                await self._at_work.wait()

    async def _goes_in_the_middle(self, worker: MemoryWorker) -> None:
        self._at_work.clear()
        self._takeovers += 1
        if self._takeovers > DEATHS:
            await worker.terminate(timedelta(0))
        else:
            await worker.kill()
            await self.world.take_over(worker)

    async def _befalls(self, run_id: str, event: Event) -> None:
        fate, place = event
        world, call = self.world, f"c{place}"
        thread_id = world.thread().id
        match fate:
            case Fate.CANCEL:
                await world.store.cancel(thread_id, run_id)
            case Fate.EXPIRE | Fate.LAPSE:
                key = f"{run_id}/{expiry_fact(call)}"
                timers = world.database.timers
                timers[key] = replace(timers[key], due_at=LONG_AGO)
                assert await world.store.fire_due(100) == 1
            case _:
                (decided,) = await world.store.decide(
                    thread_id, [self._decision(fate, call)], Decider(ALICE, Place.CLI)
                )
                assert decided.tool_call_id == call

    @staticmethod
    def _decision(fate: Fate, call: str) -> NewDecision:
        if fate is Fate.DENY:
            return NewDecision(call, Decision.DENIED, REASON)
        edited: dict[str, Json] | None = {"amount": EDITED} if fate is Fate.EDIT else None
        return NewDecision(call, Decision.APPROVED, edited_input=edited)

    # ---- what came of it ----

    async def _check(self, run: Run) -> None:
        await self._check_decisions()
        self._check_bodies()
        assert await self.world.store.stranded() == []
        if self.course.is_cancelled:
            assert run.status is RunStatus.CANCELLED
            assert len(self.model.requests) == 1
            return
        assert run.status is RunStatus.COMPLETED
        was_parked = self.course.early < len(self.course.events)
        assert run.attempts == 1 + was_parked + self._takeovers, "it goes on once"
        assert len(self.model.requests) == 2
        self._check_results()

    async def _check_decisions(self) -> None:
        world, fates = self.world, self.course.fates
        stored = await world.reader.approvals(key="thread", everything=True)
        noted = {each.tool_call_id: each for each in stored}
        gated = [place for place, kind in enumerate(self.course.shape) if kind == "G"]
        assert sorted(noted) == [f"c{place}" for place in gated]
        assert len(stored) == len(noted), "one row for each"
        for place in gated:
            assert _gist(noted[f"c{place}"]) == _NOTED[fates.get(place, Fate.CANCEL)]
            assert noted[f"c{place}"].input == {"amount": place + 1}
            for decision in Decision:
                late = NewDecision(f"c{place}", decision, edited_input={"amount": 7})
                with pytest.raises(Conflict):
                    await world.store.decide(world.thread().id, [late], Decider(ALICE))

    def _check_bodies(self) -> None:
        fates = self.course.fates
        for place, kind in enumerate(self.course.shape):
            ran = self.ran[f"c{place}"]
            if kind == "U":
                assert 1 <= ran <= 1 + self._takeovers
            else:
                may_run = fates.get(place) in RUNS and not self.course.is_cancelled
                assert ran == (1 if may_run else 0), (place, ran)

    def _check_results(self) -> None:
        last = self.model.requests[1][-1]
        assert isinstance(last, ModelRequest)
        told = [part for part in last.parts if isinstance(part, ToolReturnPart)]
        rows = self.world.rows()[2:-1]
        assert len(told) == len(rows) == len(self.course.shape)
        for place, (part, row) in enumerate(zip(told, rows, strict=True)):
            call, expected = f"c{place}", self._expected(place)
            assert part.tool_call_id == call
            assert row.parts[0]["toolCallId"] == call
            assert expected in str(part.content), (call, part.content)
            assert expected in str(row.parts[0]["output"])

    def _expected(self, place: int) -> str:
        if self.course.shape[place] == "U":
            return f"c{place} looked"
        return {
            Fate.APPROVE: f"c{place} paid {place + 1}",
            Fate.EDIT: f"c{place} paid {EDITED}",
            Fate.LAPSE: f"c{place} lent {place + 1}",
            Fate.DENY: f"Reason: {REASON}",
            Fate.EXPIRE: "Reason: nobody decided within",
        }[self.course.fates[place]]


def _gist(approval: Approval) -> tuple[object, ...]:
    place = approval.place and approval.place.value
    return (approval.status.value, approval.decided_by, place, approval.edited_input)


_NOTED: Final[dict[Fate, tuple[object, ...]]] = {
    Fate.APPROVE: ("approved", "alice", "cli", None),
    Fate.EDIT: ("approved", "alice", "cli", {"amount": EDITED}),
    Fate.DENY: ("denied", "alice", "cli", None),
    Fate.EXPIRE: ("denied", None, "system", None),
    Fate.LAPSE: ("approved", None, "system", None),
    Fate.CANCEL: ("cancelled", None, None, None),
}
"""Status, decider, place and edit."""


async def play_all(courses: Sequence[Course]) -> None:
    """Play courses, one after the other; a failure says which one."""
    for course in courses:
        try:
            async with asyncio.timeout(30):
                await Turn(course).play()
        except (Exception, AssertionError) as error:
            error.add_note(f"in {course}")
            raise
