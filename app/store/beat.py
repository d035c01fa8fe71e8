"""A worker's heartbeat: a thread of its own, on a connection of its own.

Every half second it raises its number in ``agent_workers``; the answer lists the runs that
the table gives this worker.  It is a thread, not a process: a frozen worker must fall
silent.  It is not a task: a tool that blocks the event loop must not look like a death.

Nothing else silences it.  After an outage of Postgres it connects again by itself.
"""

import asyncio
import logging
import threading
from collections.abc import Callable, Sequence
from typing import TextIO

import psycopg
from psycopg.abc import RV, PQGen

from app.domain.ports import Clock
from app.domain.run import Fence
from app.store.addresses import libpq_address
from app.store.loop_watch import LOOK_EVERY_S, LoopWatch

log = logging.getLogger(__name__)

EVERY_S = 0.5
_PATIENCE_S = 2
"""A beat that takes longer has failed: others count two seconds."""
_JOIN_S = 3 * _PATIENCE_S
_BEAT = """
INSERT INTO agent_workers (id, beat, agents, versions)
VALUES (%(worker)s, 1, %(agents)s, %(versions)s)
    ON CONFLICT (id) DO UPDATE
   SET beat = agent_workers.beat + 1, agents = excluded.agents, versions = excluded.versions,
       gone_at = NULL
"""
_OURS = """
SELECT t.id, r.id, t.epoch
  FROM agent_runs r JOIN agent_threads t ON t.id = r.thread AND t.live_run = r.id
 WHERE r.worker = %(worker)s AND r.status = 'running'
"""
_LEAVE = """
WITH long_gone AS (
    DELETE FROM agent_workers WHERE gone_at < clock_timestamp() - interval '1 day'
)
UPDATE agent_workers SET gone_at = clock_timestamp() WHERE id = %(worker)s
"""


class PatientConnection(psycopg.Connection[tuple[str, str, int]]):
    """Gives up on a server that keeps the connection but does not answer.

    The server's own ``statement_timeout`` cannot: the whole machine may stand still, and
    after a failover somebody else is the server.
    """

    def wait(
        self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = _PATIENCE_S
    ) -> RV:
        """See ``psycopg.Connection.wait``; bounded unless it is told otherwise."""
        return super().wait(gen, interval, timeout)


Answer = Callable[[float, Sequence[Fence]], None]


class Beat:
    """Beats from ``start`` to ``stop``.

    Args:
        on_answer: called on the event loop with the boot-clock seconds at which the beat was
            sent and the runs that the table gives this worker.  While the loop stands still
            only the newest answer is kept.
        agents: what this worker serves.
        versions: of each of these agents, the one that its code has.
        stuck_after_s: see ``LoopWatch``.
        dump_to: a real file for tracebacks of a stuck loop.
    """

    def __init__(
        self,
        url: str,
        worker_id: str,
        agents: Sequence[str],
        *,
        versions: Sequence[str | None] = (),
        clock: Clock,
        on_answer: Answer,
        stuck_after_s: float = 300,
        dump_to: TextIO | None = None,
    ) -> None:
        self._address = libpq_address(url)
        self._arguments = {
            "worker": worker_id,
            "agents": list(agents),
            "versions": list(versions),
        }
        self._clock = clock
        self._on_answer = on_answer
        self._stuck_after_s = stuck_after_s
        self._dump_to = dump_to
        self._stopping = threading.Event()
        self._leaves = False
        self._connection: PatientConnection | None = None
        self._handing_over = threading.Lock()
        self._newest: tuple[float, list[Fence]] | None = None
        self._thread: threading.Thread | None = None
        self._is_heard = True

    def start(self) -> None:
        """Begin to beat; call it on the event loop's thread."""
        loop = asyncio.get_running_loop()
        watch = LoopWatch(
            loop,
            stuck_after_s=self._stuck_after_s,
            clock=self._clock.boot_s,
            dump_to=self._dump_to,
        )
        self._thread = threading.Thread(
            target=self._run, args=(loop, watch), name="beat", daemon=True
        )
        self._thread.start()

    async def stop(self) -> None:
        """Fall silent without a word, as a dead worker does: others will notice."""
        self._stopping.set()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join, _JOIN_S)

    async def deregister(self) -> None:
        """Fall silent and say so: nobody waits for this worker any more."""
        self._leaves = True
        await self.stop()

    def _run(self, loop: asyncio.AbstractEventLoop, watch: LoopWatch) -> None:
        due = self._clock.boot_s()
        try:
            while True:
                now = self._clock.boot_s()
                if now >= due:
                    due = max(due + EVERY_S, now)
                    self._beat(loop)
                watch.look()
                until_due = max(due - self._clock.boot_s(), 0.0)
                if self._stopping.wait(min(LOOK_EVERY_S, until_due)):
                    return
        except RuntimeError as error:  # the loop was closed under us
            log.info("the heartbeat ends with its event loop: %s", error)
        finally:
            self._leave()

    def _beat(self, loop: asyncio.AbstractEventLoop) -> None:
        sent_at = self._clock.boot_s()
        try:
            self._execute(_BEAT)
            # In a statement of its own: the beat may have waited for somebody who took runs from
            # us, and in one statement with it the look would be at what was before the wait.
            rows = self._execute(_OURS)
        except psycopg.Error as error:
            self._hang_up()
            if self._is_heard:
                log.warning("the heartbeat is not heard: %s", error)
            self._is_heard = False
            return
        if not self._is_heard:
            log.info("the heartbeat is heard again")
        self._is_heard = True
        with self._handing_over:
            is_waited_for = self._newest is not None
            self._newest = sent_at, [Fence(*row) for row in rows]
        if not is_waited_for:
            loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        with self._handing_over:
            newest, self._newest = self._newest, None
        if newest is not None and not self._stopping.is_set():
            self._on_answer(*newest)

    def _execute(self, statement: str) -> list[tuple[str, str, int]]:
        if self._connection is None:
            self._connection = PatientConnection.connect(
                self._address,
                autocommit=True,
                connect_timeout=_PATIENCE_S,
                # A beat need not outlive a crash of the server, nor wait for a standby.
                options=f"-c statement_timeout={_PATIENCE_S}s -c synchronous_commit=off",
                application_name="ropewalk beat",
            )
        cursor = self._connection.execute(statement, self._arguments, prepare=True)
        return cursor.fetchall() if cursor.description else []

    def _leave(self) -> None:
        try:
            if self._leaves:
                self._execute(_LEAVE)
        except psycopg.Error as error:
            log.info("this worker's end is left for others to notice: %s", error)
        finally:
            self._hang_up()

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
