"""The people of a storm: each talks to one thread after another, decides, cancels, sends twice.

A talker does what it does through two pages that break like all others, and goes on only when its
own page says that the thread rests; so what it never learns stops it, and that is a violation.
"""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from random import Random
from typing import Any

from app.protocol.calls import AGENT_RUN
from tests.support.backend import token_for
from tests.support.chaos.client import ChaosClient, Mood, Refused, ValueWatch
from tests.support.chaos.decider import Decider, until_answered
from tests.support.chaos.ledger import Ledger, Sent
from tests.support.chaos.plan import a_plan, dice
from tests.support.chaos.view import MessagesView

BUSY = {"queued", "running", "awaiting_input"}
AGENTS = ("rejecting", "rejecting", "rejecting", "queueing", "steering", "replacing")
RUNS_PER_THREAD = 8
PAUSE_S = 0.3
LOOK_S = 0.02
PATIENCE_S = 60.0
"""For one run, in the worst weather."""


@dataclass
class Weather:
    """What the talkers know of the phase of the round."""

    gentle: bool = False
    """Nothing that takes long: the phase is being measured."""
    over: bool = False
    """No further run is started."""


@dataclass
class Screen:
    """What a talker sees of a thread."""

    watch: ValueWatch
    view: MessagesView

    @property
    def failed_run(self) -> str | None:
        """The run that is shown as failed."""
        thread = self.watch.value or {}
        return thread.get("runId") if thread.get("status") == "failed" else None

    @property
    def changed_at(self) -> str | None:
        """When the thread that is shown was changed last."""
        thread: dict[str, Any] = self.watch.value or {}
        return thread.get("updatedAt")

    def rests_after(self, sents: Sequence[Sent], since: str | None) -> bool:
        """Whether it shows that these were answered, and nothing else goes on.

        Args:
            sents: what was said.
            since: what is shown has to be of another moment.
        """
        asked = [row for row in self.view.rows if row["role"] == "user"]
        thread = self.watch.value
        return (
            thread is not None
            and thread["updatedAt"] != since
            and thread["status"] not in BUSY
            and not thread["waiting"]
            and {sent.dedupe for sent in sents} <= {row.get("dedupe") for row in asked}
            and thread.get("runId") == asked[-1]["runId"]
        )


class Talker:
    """One user and the thread that it talks to just now."""

    def __init__(
        self,
        number: int,
        urls: list[str],
        rng: Random,
        ledger: Ledger,
        weather: Weather,
    ) -> None:
        self.name = f"user-{number}"
        self.agent = AGENTS[number % len(AGENTS)]
        self.token = token_for(self.name)
        self.keys: list[str] = []
        self.is_idle = False
        self.is_stuck = False
        self.doing = ""
        """What it waits for just now."""
        self._urls = urls
        self._rng = rng
        self._ledger = ledger
        self._weather = weather
        self._runs = itertools.count(1)
        self.pages = [self._page(), self._page()]

    def _page(self) -> ChaosClient:
        rng = dice(self._rng.random())
        return ChaosClient(self._urls, self.token, rng, self._ledger.violated, Mood("talking"))

    async def talk(self) -> None:
        """Talk until the weather is over, then only look, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for page in self.pages:
                group.create_task(page.run())
            for number in itertools.count(1):
                if self._weather.over or self.is_stuck:
                    break
                await self._one_thread(f"{self.name}-{number}")
            self.is_idle = True

    async def _one_thread(self, key: str) -> None:
        self.keys.append(key)
        watch, _ = [page.watch_thread(key) for page in self.pages]
        view, _ = [page.watch(key) for page in self.pages]
        self.pages[0].watch_state(key)
        decider = Decider(key, self.pages, watch, self._rng, self._ledger)
        async with self._beside(decider):
            for _ in range(RUNS_PER_THREAD):
                if self._weather.over or self.is_stuck:
                    return
                decider.is_quick = self._weather.gentle or self._weather.over
                await self._one_run(key, Screen(watch, view))
                await asyncio.sleep(self._rng.random() * PAUSE_S)

    @asynccontextmanager
    async def _beside(self, decider: Decider) -> AsyncIterator[None]:
        task = asyncio.create_task(decider.run(), name=f"decides for {self.name}")
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _one_run(self, key: str, screen: Screen) -> None:
        sents = await self._begin(key)
        runs = [sent.run for sent in sents if sent.run is not None]
        if not runs:
            refused = [sent.refused for sent in sents]
            self._ledger.violated(f"{key}: a free thread refused {refused} {screen.watch.value}")
            return
        kind = self._rng.random()
        if kind < 0.15 and not self._weather.gentle:
            if await self._cancelled(key, runs[0]):
                if len(runs) == 1 and self._rng.random() < 0.5:
                    return  # the thread is free at once, whatever the page shows
                # A run that was still held back takes its message with it.
                sents = [sent for sent in sents if sent.run != runs[0]]
        elif kind < (0.25 if self.agent == "rejecting" else 0.6):
            sents += await self._say_more(key)
        await self._until_rest(key, screen, [sent for sent in sents if sent.run is not None])
        await self._retry(key, screen)

    async def _until_rest(
        self, key: str, screen: Screen, sents: Sequence[Sent], *, since: str | None = None
    ) -> None:
        self.doing = f"sees {screen.watch.value}"
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not screen.rests_after(sents, since):  # noqa: ASYNC110  # two pages change it
                    await asyncio.sleep(LOOK_S)
        except TimeoutError:
            said = [(sent.dedupe, sent.run) for sent in sents]
            self._ledger.violated(f"{key}: {said} are not over for their talker: {screen.watch}")
            self.is_stuck = True

    # ------------------------------------------------------------ sends

    async def _begin(self, key: str) -> list[Sent]:
        """Say something to a free thread, once, twice, or two things at the same moment."""
        kind = self._rng.random()
        if kind < 0.15:
            self._ledger.figures["rival sends"] += 1
            sents = [self._new(key, is_alone=False) for _ in self.pages]
            pairs = zip(self.pages, sents, strict=True)
            await asyncio.gather(*(self._send(page, sent) for page, sent in pairs))
            return sents
        sent = self._new(key, is_alone=True)
        if kind < 0.35:
            self._ledger.figures["doubled sends"] += 1
            await asyncio.gather(*(self._send(page, sent) for page in self.pages))
        else:
            await self._send(self.pages[0], sent)
        return [sent]

    async def _say_more(self, key: str) -> list[Sent]:
        """Say more while the thread is busy, unless it has become free meanwhile."""
        sents = []
        for _ in range(1 if self.agent == "rejecting" else self._rng.randint(1, 3)):
            await asyncio.sleep(self._rng.random() * 0.4)
            sent = self._new(key, is_alone=False)
            sents.append(await self._send(self._rng.choice(self.pages), sent))
            self._ledger.figures[f"sends to a busy thread, {self.agent}"] += 1
        return sents

    def _new(self, key: str, *, is_alone: bool) -> Sent:
        number = next(self._runs)
        name = f"{self.name}.{number}"
        is_plan = is_alone or self.agent != "steering"
        plan = a_plan(name, self._rng, gentle=self._weather.gentle) if is_plan else None
        sent = Sent(self.agent, key, f"send-{name}", plan, is_alone)
        self._ledger.sends[sent.dedupe] = sent
        return sent

    async def _send(self, page: ChaosClient, sent: Sent) -> Sent:
        """Send until there is an answer that says yes or no."""
        args = {"agent": sent.agent, "key": sent.key, "input": sent.text}
        sent.begun = sent.begun or time.monotonic()
        self.doing = f"sends {sent.dedupe}"
        while True:
            try:
                answer = await page.call(AGENT_RUN, args, dedupe=sent.dedupe)
            except Refused as refused:
                self._ledger.figures[f"sends answered {refused.code}"] += 1
                if refused.code == "UNAVAILABLE":
                    await asyncio.sleep(self._rng.random() * 0.3)
                    continue
                self._refused(sent, refused)
            else:
                self._accepted(sent, answer)
            sent.answered = sent.answered or time.monotonic()
            return sent

    def _refused(self, sent: Sent, refused: Refused) -> None:
        if refused.code != "CONFLICT" or sent.agent != "rejecting":
            self._ledger.violated(f"{sent.key}: a send was refused: {refused}")
        if sent.run is not None:
            self._ledger.violated(f"{sent.key}: accepted as {sent.run}, then {refused}")
        sent.refused = refused.code

    def _accepted(self, sent: Sent, answer: dict[str, Any]) -> None:
        if sent.run not in {None, answer["id"]} or sent.refused is not None:
            self._ledger.violated(f"{sent.key}: two answers to one send: {sent} {answer}")
        sent.run = answer["id"]
        sent.is_steered = answer.get("steered", False)

    # ------------------------------------------------------------ cancelling and retrying

    async def _cancelled(self, key: str, run: str) -> bool:
        """Cancel a run at some moment; return whether the server says that this ended it."""
        await asyncio.sleep(self._rng.random() * 1.5)
        self._ledger.cancels[run] = False
        answer = await self._until_answered("agentCancel", key, run)
        self._ledger.figures["cancels"] += 1
        self._ledger.cancels[run] = bool(answer and answer["cancelled"])
        return self._ledger.cancels[run]

    async def _retry(self, key: str, screen: Screen) -> None:
        """Let a run that failed go on, a few times."""
        for _ in range(self._rng.choice((0, 2, 4))):
            run, since = screen.failed_run, screen.changed_at
            if run is None or self.is_stuck:
                return
            self._ledger.retries.add(run)
            self._ledger.figures["retries"] += 1
            answer = await self._until_answered("agentRetry", key, run)
            if answer and answer["retried"]:
                await self._until_rest(key, screen, (), since=since)

    async def _until_answered(self, function: str, key: str, run: str) -> dict[str, Any] | None:
        args = {"key": key, "runId": run}
        self.doing = f"calls {function} for {run}"
        return await until_answered(self.pages, function, args, self._rng, self._ledger)
