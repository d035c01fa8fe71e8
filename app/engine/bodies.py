"""Trying bodies: when one may start, how often, for how long, and what a shutdown waits for."""

import asyncio
import logging
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from app.domain.run import Fence
from app.engine.lease import Lease
from app.engine.steps import Body, StepContext, StepPolicy, StepResult, StepTimedOut, Tried
from app.telemetry.logs import log_context

log = logging.getLogger(__name__)

OnStep = Callable[[str, float, int], None]
"""Told of each body that came to an end: its step's name, the seconds it took, the attempt."""


def ignore_step(name: str, seconds: float, attempt: int) -> None:
    """Measure nothing."""


@contextmanager
def _task_called(name: str) -> Iterator[None]:
    """Let the running task go by a name, by which a body that blocks the loop is found."""
    task = asyncio.current_task()
    if task is None:
        yield
        return
    before = task.get_name()
    task.set_name(name)
    try:
        yield
    finally:
        task.set_name(before)


class Bodies:
    """The bodies of one drive.

    Args:
        fence: asked anew for each body: a failover raises the epoch in the middle.
    """

    def __init__(self, lease: Lease, fence: Callable[[], Fence], on_step: OnStep) -> None:
        self._lease = lease
        self._fence = fence
        self._on_step = on_step
        self._busy = 0
        self._quiet = asyncio.Event()
        self._quiet.set()
        self._draining = False

    async def try_one(self, name: str, body: Body, policy: StepPolicy) -> Tried:
        """Return what ``body`` returns, trying it as often as its policy says.

        Raises:
            Exception: what it raised last, when the policy has no ``exhausted``.
        """
        attempt, begun = 0, time.perf_counter()
        while True:
            attempt += 1
            try:
                result = await self._attempt(name, attempt, body, policy)
                return Tried(result, attempt, time.perf_counter() - begun)
            except Exception as error:
                delay = policy.delay_after(error, attempt, random.random())  # noqa: S311
                if delay is None:
                    if policy.exhausted is None:
                        raise
                    log.warning("step %s failed for good: %s", name, error, exc_info=error)
                    result = policy.exhausted(error)
                    return Tried(result, attempt, time.perf_counter() - begun)
                log.warning("step %s failed, attempt %d: %s", name, attempt, error)
            await asyncio.sleep(delay.total_seconds())

    @contextmanager
    def holding(self, *, unless: bool = False) -> Iterator[None]:
        """Keep a shutdown waiting for what happens inside."""
        if unless:
            yield
            return
        self._busy += 1
        self._quiet.clear()
        try:
            yield
        finally:
            self._busy -= 1
            if not self._busy:
                self._quiet.set()

    def drain(self) -> None:
        """Start no further body."""
        self._draining = True

    async def quiet(self) -> None:
        """Return when nothing is in flight that a shutdown has to wait for."""
        while self._busy:
            await self._quiet.wait()

    async def _attempt(self, name: str, attempt: int, body: Body, policy: StepPolicy) -> StepResult:
        await self._may_start()
        fence = self._fence()
        context = StepContext(name, attempt, f"{fence.run_id}/{name}", fence)
        bound = asyncio.timeout(policy.timeout.total_seconds() if policy.timeout else None)
        begun = time.perf_counter()
        with (
            self.holding(unless=policy.releasable),
            log_context(step=name),
            _task_called(f"{name} of run {fence.run_id}"),
        ):
            try:
                async with bound:
                    return await body(context)
            except TimeoutError as error:
                if policy.timeout is None or not bound.expired():
                    raise
                raise StepTimedOut(name, policy.timeout) from error
            finally:
                self._on_step(name, time.perf_counter() - begun, attempt)

    async def _may_start(self) -> None:
        await self._lease.hold()
        if self._draining:
            await asyncio.Event().wait()  # until the pool cancels the drive
