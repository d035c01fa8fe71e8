r"""The side that hears: an arq worker that waits for a nudge instead of polling.

A ring's job claims and is over within milliseconds; what it claimed is driven elsewhere.  arq
itself keeps a running job in its queue and reads the oldest ones at each poll (300 long jobs make
a new one wait for 200 ms, 500 for ever), recovers a lost job after the longest time-out of any
function (field cases B05, B06) and forgets one that waits for a day (B08).  None of that can
touch a run: a job that was taken is gone from the queue, is never retried and leaves no result,
and the table is the queue.

    idle --BLPOP nudge--> take (ZREM) --> job: claim() --> idle
      \--every 0.5 s: whatever lost its nudge-->/
    full: no BLPOP, so the nudges go to others, until room_made()
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from arq.connections import ArqRedis
from arq.worker import Worker, func
from redis.exceptions import RedisError

from app.keyspace import Keys
from app.keyspace.connection import ANSWER_S, connection_pool
from app.keyspace.script import command
from app.queue import jobs

log = logging.getLogger(__name__)

POLL_S = 0.5
"""How long a ring that lost its nudge waits; costs two cheap commands each."""
TURN_S = 10.0
LONGEST_RETRY_S = 1.0
JOBS_AT_ONCE = 20
JOB_S = 10.0
LEAVE_S = 0.5
"""How long a stop waits for jobs that are under way."""


class DoorbellWorker(Worker):
    """Makes ``claim`` be called when somebody rings.  Build it in the event loop that it serves.

    Args:
        claim: starts claiming; must return at once and may be called for nothing.
        has_room: whether anything could be claimed now; ``room_made`` says that it changed.
    """

    def __init__(
        self, url: str, keys: Keys, *, claim: Callable[[], None], has_room: Callable[[], bool]
    ) -> None:
        super().__init__(
            [func(self._ring, name=jobs.RING, timeout=JOB_S)],
            queue_name=keys.doorbell,
            redis_pool=ArqRedis(connection_pool(url)),
            handle_signals=False,
            max_jobs=JOBS_AT_ONCE,
            keep_result=0,
            max_tries=1 << 31,
            retry_jobs=False,
            log_results=False,
            job_serializer=jobs.encode,
            job_deserializer=jobs.decode,
        )
        self._keys = keys
        self._claim = claim
        self._has_room = has_room
        self._room = asyncio.Event()
        self._failures = 0
        self._is_listening = False
        """Whether a nudge may be on its way to this worker alone."""
        self.rings = 0
        """Rings that were heard, for metrics."""

    def room_made(self) -> None:
        """Pick rings again at once."""
        self._room.set()

    async def serve(self) -> None:
        """Hear rings until cancelled; then pass on what was not finished, and disconnect."""
        try:
            while True:
                try:
                    await self._turn()
                    self._failures = 0
                except (RedisError, OSError) as error:
                    await self._back_off(error)
        finally:
            await self.close()

    async def close(self) -> None:
        """End within a second, whatever Redis does."""
        self.allow_pick_jobs = False
        late = set(self.tasks.values())
        if late:
            _, late = await asyncio.wait(late, timeout=LEAVE_S)
            for task in late:
                task.cancel()
            if late:
                await asyncio.wait(late, timeout=LEAVE_S)
        try:
            async with asyncio.timeout(LEAVE_S):
                # A nudge that came with the stop has told nobody of the ring that it was for.
                if late or (self._is_listening and await self.pool.zcard(self.queue_name)):
                    await jobs.put(self.pool, self._keys, "passed-on")
                await self.pool.delete(self.health_check_key)
        except (RedisError, OSError) as error:
            log.warning("left without a word to Redis: %r", error)
        await self.pool.aclose(close_connection_pool=True)

    async def start_jobs(self, job_ids: list[bytes]) -> None:
        """Take these jobs, as far as there is room, and start each that nobody else has."""
        for job_id in (raw.decode() for raw in job_ids):
            if not self._picks:
                return
            due = await jobs.take(self.pool, self.queue_name, job_id)
            if due is not None:
                await self.sem.acquire()
                self.job_counter += 1
                task = self.loop.create_task(self.run_job(job_id, due), name=f"ring {job_id}")
                task.add_done_callback(lambda _: self._release_sem_dec_counter_on_complete())
                self.tasks[job_id] = task

    @property
    def _picks(self) -> bool:
        return self.job_counter < self.max_jobs and self._has_room()

    async def _ring(self, ctx: dict[Any, Any], *args: object, **kwargs: object) -> None:
        del ctx, args, kwargs  # any run will do: the oldest queued ones are claimed
        self.rings += 1
        self._claim()

    async def _turn(self) -> None:
        """Look once at the queue itself, then wait for nudges until it is time to look again."""
        self._forget_finished()
        self.allow_pick_jobs = self._picks
        async with asyncio.timeout(TURN_S):
            await self._poll_iteration()
        until = self.loop.time() + POLL_S
        while (left := until - self.loop.time()) > 0.001:
            if self._picks:
                await self._hear_nudge(left)
            else:
                self._room.clear()
                with suppress(TimeoutError):
                    async with asyncio.timeout(left):
                        await self._room.wait()

    async def _hear_nudge(self, wait_s: float) -> None:
        self._is_listening = True
        nudge = await command(
            self.pool,
            "BLPOP",
            self._keys.nudges,
            f"{wait_s:.3f}",
            within_s=wait_s + ANSWER_S,
        )
        match nudge:
            case [_, bytes(job_id)] if self._picks:
                await self.start_jobs([job_id])
            case [_, bytes(job_id)]:  # the last slot went while we waited
                await jobs.pass_on(self.pool, self._keys.nudges, job_id)
            case _:  # nobody rang
                pass
        self._is_listening = False

    def _forget_finished(self) -> None:
        """Take note of jobs that are over; arq lets a single failed one stop the whole turn."""
        for job_id, task in list(self.tasks.items()):
            if task.done():
                del self.tasks[job_id]
                if not task.cancelled() and (error := task.exception()):
                    log.warning("ring %s was heard but not finished: %r", job_id, error)

    def _release_sem_dec_counter_on_complete(self) -> None:
        super()._release_sem_dec_counter_on_complete()
        self._room.set()

    async def _back_off(self, error: Exception) -> None:
        self._failures += 1
        if self._failures == 1:
            log.warning("the doorbell is not heard, the worker's tick goes on: %r", error)
        await asyncio.sleep(min(LONGEST_RETRY_S, 0.05 * (1 << min(self._failures, 8))))
