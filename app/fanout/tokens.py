"""Live text from the drives of one worker to Redis: prompt, bounded, and never in anyone's way.

The first delta of a part leaves at once; after that all streams of the worker share one flush
every 25 ms, in one pipeline, and the next begins only when the last was answered.  So tokens cost
a round trip per window, not one each, and a slow Redis makes the deltas longer instead of the
model slower (field case B53).  Whatever goes wrong is settled here (field case B47): the whole
text is kept, and is sent again from offset 0 when Redis may not have all of it.
"""

import asyncio
import json
import logging
from collections.abc import Callable, Iterable
from contextlib import suppress

from redis.asyncio import Redis
from redis.exceptions import NoScriptError, RedisError

from app.domain.run import Fence, Usage
from app.fanout.live_part import LivePart
from app.keyspace import Keys
from app.keyspace.live_text import Append, Appended, load_append, queue_append

log = logging.getLogger(__name__)

WINDOW_S = 0.025
FLUSH_S = 1.0
"""A flush that takes longer counts as failed; ``close`` waits for one that is under way."""
LONGEST_RETRY_S = 1.0
FENCED_PAUSE_S = 0.5
"""How long a refused stream keeps silent: its drive will open the journal again, or be stopped."""
MAX_CHARACTERS = 2_000_000
"""Of one stream; above it no more is shown before the message itself.  Bounds the memory."""


class RedisTokenStream:
    """Implements ``app.domain.ports.TokenStream``."""

    def __init__(
        self, sink: "RedisTokenSink", fence: Fence, turn: int, attempt: int, version: int
    ) -> None:
        self.fence = fence
        self._sink = sink
        self._turn = turn
        self._attempt = attempt
        self._version = version
        self._parts: dict[int, LivePart] = {}
        self._so_far: Callable[[], Usage] | None = None
        self._characters = 0
        self._silent_until = 0.0
        self.is_over = False

    def add(self, part: int, kind: str, text: str) -> None:
        """See ``TokenStream.add``."""
        if self.is_over or not text:
            return
        live = self._parts.setdefault(part, LivePart(kind))
        self._characters += live.add(text)
        if self._characters > MAX_CHARACTERS:
            log.warning("run %s shows no more of turn %s", self.fence.run_id, self._turn)
            self.end()
        elif live.has_more and self._sink.now() >= self._silent_until:
            self._sink.note(self, at_once=live.is_fresh)

    def costs(self, so_far: Callable[[], Usage]) -> None:
        """See ``TokenStream.costs``."""
        self._so_far = so_far

    async def close(self) -> None:
        """See ``TokenStream.close``: nothing of it is published once this has returned."""
        self.end()
        await self._sink.landed(self)

    def end(self) -> None:
        """Forget everything and take no more."""
        self.is_over = True
        self._parts.clear()
        self._sink.forget(self)

    def take(self) -> list[Append]:
        """Return what Redis does not have yet, by part."""
        return [self._append(number, live) for number, live in self._parts.items() if live.has_more]

    def settle(self, part: int, outcome: object, now: float) -> bool:
        """Take note of what became of a delta; return whether Redis failed to answer."""
        live = self._parts.get(part)
        if live is None or outcome == Appended.STORED:
            return False
        if outcome == Appended.OUTDATED:
            self.end()
            return False
        live.take_back()
        if outcome == Appended.FENCED:
            self._silent_until = now + FENCED_PAUSE_S
            return False
        self._sink.note(self, at_once=outcome == Appended.GAP)
        return outcome != Appended.GAP

    def _append(self, number: int, live: LivePart) -> Append:
        offset, text, units = live.take()
        payload = {
            "run": self.fence.run_id,
            "turn": self._turn,
            "part": number,
            "kind": live.kind,
            "offset": offset,
            "text": text,
            "attempt": self._attempt,
            "version": self._version,
        }
        return Append(
            epoch=self.fence.epoch,
            run_id=self.fence.run_id,
            turn=self._turn,
            attempt=self._attempt,
            part=number,
            kind=live.kind,
            offset=offset,
            units=units,
            text=text,
            cost="" if self._so_far is None else json.dumps(self._so_far().to_json()),
            payload=json.dumps(payload, ensure_ascii=False, separators=(",", ":")).encode(),
        )


class RedisTokenSink:
    """Implements ``app.domain.ports.TokenSink``; one in each worker, driven by ``run``.

    Args:
        lease_is_fresh: asked before each flush: a worker that was frozen and thaws sends nothing.
    """

    def __init__(self, redis: Redis, keys: Keys, lease_is_fresh: Callable[[], bool]) -> None:
        self._redis = redis
        self._keys = keys
        self._lease_is_fresh = lease_is_fresh
        self._waiting: dict[RedisTokenStream, None] = {}
        self._urgent: dict[RedisTokenStream, None] = {}
        self._something = asyncio.Event()
        self._something_urgent = asyncio.Event()
        self._in_flight: set[RedisTokenStream] = set()
        self._landed = asyncio.Event()
        self._failures_in_a_row = 0
        self.flushes = 0
        """Pipelines sent, for metrics."""
        self.failures = 0
        """Pipelines that Redis did not answer."""

    def open(self, fence: Fence, turn: int, attempt: int, version: int) -> RedisTokenStream:
        """See ``TokenSink.open``."""
        return RedisTokenStream(self, fence, turn, attempt, version)

    async def run(self) -> None:
        """Flush what is added, until cancelled."""
        with suppress(RedisError, OSError):  # else the first flush finds out
            await load_append(self._redis)
        window_ends = 0.0
        while True:
            await self._something.wait()
            if await self._is_urgent_before(window_ends):
                batch = list(self._urgent)
            else:
                window_ends = self.now() + WINDOW_S
                batch = list(self._waiting)
            if not self._lease_is_fresh():
                await asyncio.sleep(WINDOW_S)
            elif await self._flush(batch):
                self._failures_in_a_row = 0
            else:
                await self._back_off()

    def note(self, stream: RedisTokenStream, *, at_once: bool) -> None:
        """Remember that a stream has something to send."""
        self._waiting[stream] = None
        self._something.set()
        if at_once:
            self._urgent[stream] = None
            self._something_urgent.set()

    def forget(self, stream: RedisTokenStream) -> None:
        """Leave a stream out of the next flush."""
        self._waiting.pop(stream, None)
        self._urgent.pop(stream, None)
        if not self._waiting:
            self._something.clear()
        if not self._urgent:
            self._something_urgent.clear()

    async def landed(self, stream: RedisTokenStream) -> None:
        """Return when no flush with deltas of this stream is under way."""
        while stream in self._in_flight:
            await self._landed.wait()

    def now(self) -> float:
        """Return the event loop's time, in seconds."""
        return asyncio.get_running_loop().time()

    async def _is_urgent_before(self, when: float) -> bool:
        """Return whether something urgent came; else wait until then (a timer may be early)."""
        if self.now() >= when:
            return False
        with suppress(TimeoutError):
            async with asyncio.timeout_at(when):
                await self._something_urgent.wait()
        return bool(self._urgent)

    async def _flush(self, streams: Iterable[RedisTokenStream]) -> bool:
        """Send what these streams have; return whether Redis answered."""
        deltas = []
        for stream in streams:
            self.forget(stream)
            deltas += [(stream, delta) for delta in stream.take()]
        self._in_flight = {stream for stream, _ in deltas}
        self._landed.clear()
        self.flushes += 1
        try:
            outcomes = await self._send(deltas)
        finally:
            self._in_flight = set()
            self._landed.set()
        now, failed = self.now(), False
        for (stream, delta), outcome in zip(deltas, outcomes, strict=True):
            failed |= stream.settle(delta.part, outcome, now)
        return not failed

    async def _send(self, deltas: list[tuple[RedisTokenStream, Append]]) -> list[object]:
        """Return what became of each delta: an ``Appended`` or an error."""
        try:
            async with asyncio.timeout(FLUSH_S), self._redis.pipeline(transaction=False) as pipe:
                for stream, delta in deltas:
                    queue_append(pipe, self._keys.thread(stream.fence.thread_id), delta)
                outcomes: list[object] = await pipe.execute(raise_on_error=False)
                if any(isinstance(outcome, NoScriptError) for outcome in outcomes):
                    await load_append(self._redis)  # the server was restarted or flushed
                    outcomes = [
                        Appended.GAP if isinstance(outcome, NoScriptError) else outcome
                        for outcome in outcomes
                    ]
        except (RedisError, OSError) as error:
            return [error] * len(deltas)
        return outcomes

    async def _back_off(self) -> None:
        self.failures += 1
        self._failures_in_a_row += 1
        if self._failures_in_a_row == 1:
            log.warning("no live text gets through to Redis; it is kept and sent again")
        await asyncio.sleep(min(LONGEST_RETRY_S, WINDOW_S * (1 << min(self._failures_in_a_row, 9))))
