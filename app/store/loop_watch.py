"""Notices from another thread that the event loop stands still, and says who holds it up.

A worker beats on whatever its loop does, so that a tool which blocks is not taken for a
death.  The price is that a loop which never moves again would be immortal: after
``stuck_after_s`` the process is killed, and others take its runs over.

Only time during which the watching thread itself was running counts.  A process that was
frozen and thaws finds hours gone by; its loop has not been stuck, it has not been asked.

Code that holds the interpreter's lock stops this thread and the beat as well, so that others take
the runs over.  Nothing here looks at frames without that lock: a timer that does
(``faulthandler.dump_traceback_later``) may crash a process that thaws.
"""

import asyncio
import faulthandler
import logging
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from typing import TextIO

log = logging.getLogger(__name__)

WARN_AFTER_S = 0.5
LOOK_EVERY_S = 0.25
_FRAMES = 6


def kill_this_process() -> None:
    """End this process at once; nothing in it can be trusted to clean up."""
    os.kill(os.getpid(), signal.SIGKILL)


class LoopWatch:
    """Built on the loop's thread; ``look`` is called from another one, every ``LOOK_EVERY_S``.

    Args:
        stuck_after_s: seconds without a move of the loop after which the process is killed.
        clock: monotonic seconds.
        dump_to: a real file for tracebacks; ``None``: none are written.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        *,
        stuck_after_s: float,
        clock: Callable[[], float],
        dump_to: TextIO | None = None,
        kill: Callable[[], None] = kill_this_process,
    ) -> None:
        self._loop = loop
        self._loop_thread = threading.get_ident()
        self._stuck_after_s = stuck_after_s
        self._clock = clock
        self._dump_to = dump_to
        self._kill = kill
        self._looked_at = clock()
        self._still_s = 0.0
        self._has_moved = True
        self._is_named = False

    def look(self) -> None:
        """Ask the loop to move, and name what keeps it if it has not since the last look."""
        now = self._clock()
        elapsed, self._looked_at = now - self._looked_at, now
        if self._has_moved:
            self._still_s, self._has_moved, self._is_named = 0.0, False, False
            self._loop.call_soon_threadsafe(self._move)
            return
        self._still_s += min(elapsed, 2 * LOOK_EVERY_S)
        if self._still_s >= self._stuck_after_s:
            log.critical("the event loop has not moved for %.0f s: ending here", self._still_s)
            if self._dump_to is not None:
                faulthandler.dump_traceback(file=self._dump_to, all_threads=True)
            self._kill()
        elif self._still_s >= WARN_AFTER_S and not self._is_named:
            self._is_named = True
            log.warning("the event loop is held up by %s\n%s", self._holder(), self._where())

    def _move(self) -> None:
        self._has_moved = True

    def _holder(self) -> str:
        task = asyncio.current_task(self._loop)
        return f"task {task.get_name()!r}" if task is not None else "a callback"

    def _where(self) -> str:
        frame = sys._current_frames().get(self._loop_thread)  # noqa: SLF001  # documented
        return "".join(traceback.format_stack(frame)[-_FRAMES:]) if frame is not None else ""
