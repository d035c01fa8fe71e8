"""What a program sees of the run that it drives: steps, waiting, ending.

A program is a coroutine that reads as a list of steps.  It may be started again
from its top at any time, in any process: a step that was recorded answers from
the record, so that everything outside steps has to follow from their values.

A program ends by ``finish`` or ``park``.  Both compare what was stored for the
thread meanwhile (``wakes``) with what the program had seen; if something came,
they return, and the program looks again.  So no decision and no message can slip
in between the last look and the end.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import NoReturn, TypeAlias

from app.domain.errors import FenceLost, RunEnded, RunParked, StoreUnavailable
from app.domain.facts import NewTimer, event_fact, timer_fact
from app.domain.message import Message
from app.domain.ports import ClaimedRun, Ids, RunStore, StartedRun, StartRun, TokenSink, Verdict
from app.domain.record import Record
from app.domain.run import Ending, Fence, Run, Waits
from app.domain.signal import Signal
from app.domain.storable import Json, decode, encode
from app.domain.thread import Thread
from app.engine.bodies import Bodies, OnStep, ignore_step
from app.engine.lease import Lease
from app.engine.recorder import Recorder, outlast
from app.engine.steps import (
    DEFAULT_POLICY,
    MISSING,
    Body,
    Missing,
    StepPolicy,
    Tried,
)

TIDY_S = 1.0


class DurableRun:
    """One run under one fence.

    Attributes:
        run: the row as it was claimed; ``run.turn`` is the turn to resume at.
        thread: the row as it was claimed.
        ids: fresh identifiers, for rows that a step writes.
        tokens: where live text goes; it is no step and never recorded.
        bodies: what a shutdown asks about.
        is_over: whether this drive has parked or ended the run.
        is_leaving: the same, already while the store is being asked: its answer alone says
            whether the run is still ours.  A beat that was read after that commit and before
            its answer finds the run gone, as it would be if somebody had taken it.
        is_cut_off: the pool stops this drive: its cancellation is the pool's wish.
        signals: what to read before the next model request, as of the last look.
    """

    def __init__(
        self,
        claimed: ClaimedRun,
        *,
        recorder: Recorder,
        store: RunStore,
        lease: Lease,
        tokens: TokenSink,
        ids: Ids,
        on_step: OnStep = ignore_step,
    ) -> None:
        self.run: Run = claimed.run
        self.thread: Thread = claimed.thread
        self.ids = ids
        self.tokens = tokens
        self.signals: Sequence[Signal] = ()
        self.is_over = False
        self.is_cut_off = False
        self.is_leaving = False
        self._recorder = recorder
        self._store = store
        self.bodies = Bodies(lease, lambda: self.fence, on_step)
        self._memo: dict[str, tuple[int | None, str]] = {}
        self._seen = claimed.thread.wakes

    @property
    def fence(self) -> Fence:
        """The fence that this drive writes under."""
        return self._recorder.fence

    @property
    def version(self) -> int:
        """The newest version of the thread that this drive knows."""
        return self._recorder.version

    # ---- for programs ----

    def recorded(self, name: str) -> Json | Missing:
        """Return the value of a finished step of the open turn or the whole run."""
        found = self._memo.get(name)
        return MISSING if found is None else decode(found[1])

    async def step(
        self,
        name: str,
        body: Body,
        *,
        turn: int | None = None,
        policy: StepPolicy = DEFAULT_POLICY,
    ) -> Json:
        """Return the step's value, running ``body`` only if it is not recorded.

        The body is at least once done and exactly once recorded.  The value is decoded
        JSON, the same on the live path and on replay.  The next step starts only after
        Postgres has this one.

        Args:
            name: unique in the run.
            body: does the work and says what is stored with it.
            turn: the turn the step belongs to; ``None`` keeps it for the whole run.
            policy: attempts, timeout, and what a final failure means.

        Raises:
            FenceLost: somebody else has the thread; nothing was written.
            Exception: what the body raised last, when the policy has no more attempts and
                no ``exhausted``.
        """
        found = self._memo.get(name)
        if found is not None:
            return decode(found[1])
        tried = await self.bodies.try_one(name, body, policy)
        with self.bodies.holding():
            written = await self._recorder.write(
                Record(
                    run_id=self.run.id,
                    thread_id=self.thread.id,
                    step=name,
                    turn=turn,
                    value=encode(tried.result.value),
                    writes=tried.result.writes,
                    trace=self._trace(tried),
                )
            )
        self._remember(written)
        return decode(written.value)

    def _trace(self, tried: Tried) -> str:
        return encode(
            {
                "ms": round(tried.seconds * 1000, 3),
                "attempts": tried.attempts,
                "worker": self.run.worker,
                "epoch": self.fence.epoch,
            }
        )

    async def history(self) -> list[Message]:
        """Return the thread's messages in order, with their private ``model``."""
        return await outlast("reading the history", lambda: self._store.history(self.thread.id))

    # ---- what others have stored ----

    @property
    def has_news(self) -> bool:
        """Whether something was stored for the thread since the last look.  Asks nobody."""
        return self._recorder.wakes > self._seen

    async def look(self) -> None:
        """Read what was stored for the thread: facts, decisions, ``signals``."""
        found = await outlast("reading the open turn", lambda: self._store.open_turn(self.fence))
        if found is None:
            raise FenceLost
        self._seen = found.wakes
        self.signals = found.signals
        for name, value in found.steps.items():
            self._memo.setdefault(name, (None, value))

    async def park(self, waits: Waits, timers: Sequence[NewTimer] = ()) -> None:
        """End this drive because the run waits; return if something was stored meanwhile.

        Raises:
            RunParked: the run is parked.
            FenceLost: somebody else has the thread.
        """
        verdict = await self._leave(
            "parking", lambda: self._store.park(self.fence, self._seen, waits, timers)
        )
        if verdict is Verdict.DONE:
            raise RunParked
        await self._look_again(verdict)

    async def wait_for(self, waits: Waits, timers: Sequence[NewTimer] = ()) -> None:
        """Return when the condition is met; park as long as it is not."""
        while not waits.is_met(self._memo):
            await self.park(waits, timers)

    async def sleep(self, name: str, duration: timedelta) -> None:
        """Return when ``duration`` has passed since the first time this was asked.

        Args:
            name: unique in the run.
            duration: by the store's clock.
        """
        fact = timer_fact(name)
        await self.wait_for(Waits.for_all([fact]), [NewTimer(fact, duration)])

    async def wait_for_event(
        self, name: str, *, occurrence: int = 0, within: timedelta | None = None
    ) -> Json | Missing:
        """Return the payload of an event, or ``MISSING`` when it did not come in time.

        Args:
            name: of the event, as ``send_event`` says it.
            occurrence: the how-manieth of this name in the run, from 0.
            within: how long to wait; ``None``: for ever.
        """
        event, deadline = event_fact(name, occurrence), timer_fact(f"{name}#{occurrence}")
        if within is None:
            await self.wait_for(Waits.for_all([event]))
        else:
            await self.wait_for(Waits(((event, deadline),)), [NewTimer(deadline, within)])
        return self.recorded(event)

    async def spawn(self, start: StartRun) -> StartedRun:
        """Start a child run, once however often this is asked.

        Raises:
            FenceLost: somebody else has the thread.
        """
        started = await outlast("starting a child", lambda: self._store.spawn(self.fence, start))
        if started is None:
            raise FenceLost
        return started

    # ---- the thread's state ----

    async def read_state(self) -> Json:
        """Return the thread's synced state; ``None`` when it has none."""
        text = await outlast("reading state", lambda: self._store.read_state(self.thread.id))
        return None if text is None else decode(text)

    async def write_state(self, value: object) -> None:
        """Replace the thread's state.  A body that runs again writes it again."""
        text = encode(value)
        if not await outlast("writing state", lambda: self._store.write_state(self.fence, text)):
            raise FenceLost

    async def update_state(
        self, receipt: str, turn: int | None, change: Callable[[Json], object]
    ) -> Json:
        """Apply ``change`` to the state at most once under ``receipt``; return the state.

        Args:
            receipt: a step's name, unique in the run: what makes it single.
            turn: the turn that the receipt belongs to.
            change: gets the state and returns the new one; it must not wait.
        """

        def on_text(text: str | None) -> str:
            return encode(change(None if text is None else decode(text)))

        if not await outlast(
            "updating state",
            lambda: self._store.update_state(self.fence, receipt, turn, on_text),
        ):
            raise FenceLost
        return await self.read_state()

    # ---- the end ----

    async def finish(self, ending: Ending) -> None:
        """Settle the run; return if something was stored meanwhile.

        Raises:
            RunEnded: the run is settled.
            FenceLost: somebody else has the thread.
        """
        verdict = await self._settle(ending, self._seen)
        if verdict is Verdict.DONE:
            raise RunEnded
        await self._look_again(verdict)

    # ---- for the drive and the pool ----

    async def open(self) -> None:
        """Read what was left behind, then the steps of the open turn."""
        await self._recorder.open(may_skip_journal=self.run.attempts <= 1)
        await self.look()

    async def fail(self, ending: Ending) -> NoReturn:
        """Settle the run as failed, whatever was stored meanwhile."""
        if await self._settle(ending, None) is Verdict.LOST:
            raise FenceLost
        raise RunEnded

    async def tidy(self) -> None:
        """Delete the journal that this drive may have opened when its run was parked or over.

        Whoever had parked or ended it could not know of that.  A run that goes on elsewhere needs
        what is there; and an older epoch deletes nothing of a newer one's.
        """
        with suppress(TimeoutError, StoreUnavailable):  # then it expires by itself
            async with asyncio.timeout(TIDY_S):
                if await self._store.rests(self.run.id):
                    await self._recorder.drop()

    async def drop_journal(self) -> None:
        """Delete what the journal holds: Postgres has it all."""
        with self.bodies.holding():
            await self._recorder.drop()

    # ---- inside ----

    async def _settle(self, ending: Ending, seen: int | None) -> Verdict:
        return await self._leave("settling", lambda: self._store.finish(self.fence, ending, seen))

    async def _leave(self, what: str, call: Callable[[], Awaitable[Verdict]]) -> Verdict:
        """Ask the store to park or settle the run; neither a beat nor a shutdown cuts it off."""
        self.is_leaving = True
        try:
            with self.bodies.holding():
                verdict = await outlast(what, call)
            self.is_over = verdict is Verdict.DONE
        finally:
            self.is_leaving = self.is_over
        return verdict

    async def _look_again(self, verdict: Verdict) -> None:
        if verdict is Verdict.LOST:
            raise FenceLost
        await self.look()

    def _remember(self, record: Record) -> None:
        """Keep the open turn's steps; those of finished turns are never asked for again."""
        if record.turn is not None and record.writes.turn == record.turn:
            self._memo = {
                name: kept
                for name, kept in self._memo.items()
                if kept[0] is None or kept[0] >= record.turn
            }
        self._memo[record.step] = (record.turn, record.value)


Program: TypeAlias = Callable[[DurableRun], Awaitable[None]]
"""Drives a run to ``finish`` or ``park``; it never returns otherwise."""
