"""One stretch of executing a run in a worker, from claim to park or end."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NoReturn

from app.domain.errors import ChatError, FenceLost, RunEnded, RunInterrupt, RunParked
from app.domain.ports import ClaimedRun, Ids, Journal, RunStore, Serves, TokenSink
from app.domain.run import Ending
from app.engine.bodies import OnStep, ignore_step
from app.engine.durable_run import DurableRun, Program
from app.engine.lease import Lease
from app.engine.recorder import Recorder
from app.telemetry.logs import log_context

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DrivePorts:
    """What every drive of a worker shares."""

    store: RunStore
    journal: Journal
    tokens: TokenSink
    lease: Lease
    ids: Ids
    programs: Mapping[str, Program]
    """By agent slug."""
    serves: Serves
    ending_for: Callable[[Exception], Ending]
    """Says in words a person can act on why a program failed."""
    on_step: OnStep = ignore_step


def prepare(claimed: ClaimedRun, ports: DrivePorts) -> DurableRun:
    """Return the run as its program will see it; nothing is read or written yet."""
    return DurableRun(
        claimed,
        recorder=Recorder(
            claimed.fence,
            ports.journal,
            ports.store,
            version=claimed.thread.version,
            wakes=claimed.thread.wakes,
        ),
        store=ports.store,
        lease=ports.lease,
        tokens=ports.tokens,
        ids=ports.ids,
        on_step=ports.on_step,
    )


async def drive(run: DurableRun, ports: DrivePorts) -> None:
    """Execute the run until it parks, ends, or is no longer ours.

    Whatever the program raises becomes the run's error.  Only a fault of the stores
    that outlasts the fence, or a cancellation, leaves the run as it is.
    """
    with log_context(run=run.run.id, thread=run.thread.key, epoch=run.fence.epoch):
        try:
            await _drive(run, ports)
        finally:
            if not run.is_over:
                await run.tidy()


async def _drive(run: DurableRun, ports: DrivePorts) -> None:
    try:
        try:
            await run.open()
            await ports.programs[run.run.agent](run)
        except BaseException as error:
            match _cause(error):
                case RunInterrupt() as interrupt:
                    raise interrupt from None
                case asyncio.CancelledError() as cancelled if run.is_cut_off:
                    raise cancelled from None
                case asyncio.CancelledError():
                    await _fail_after_cancelling_itself(run)
                case Exception() as failure:
                    log.warning("run %s fails: %s", run.run.id, failure, exc_info=failure)
                    await run.fail(ports.ending_for(failure))
                case _:
                    raise
        else:
            await run.fail(Ending.failed("INTERNAL", "the program returned without an end"))
    except (RunParked, RunEnded):
        await run.drop_journal()
    except FenceLost:
        log.info("run %s goes on elsewhere, or has ended", run.run.id)
    except Exception:
        # The edge of a drive: one run's fault must not reach its neighbours in the pool.
        # The run is still this worker's; the beat finds it undriven and releases it.
        log.exception("the drive of run %s broke", run.run.id)


async def _fail_after_cancelling_itself(run: DurableRun) -> NoReturn:
    """End a run whose own code cancelled its task: taken up again, it would do so for ever."""
    task = asyncio.current_task()
    while task is not None and task.cancelling():
        task.uncancel()
    said = "something that the run called cancelled the run's own task"
    log.warning("run %s fails: %s", run.run.id, said)
    await run.fail(Ending.failed("INTERNAL", said))


def plain_ending(error: Exception) -> Ending:
    """Return the ending for an error that nobody has better words for."""
    if isinstance(error, ChatError):
        return Ending.failed(error.code, error.message)
    return Ending.failed("INTERNAL", f"{type(error).__name__}: {error}")


def _cause(error: BaseException) -> BaseException:
    """Return what an exception group is about: control flow first, then the first failure."""
    if not isinstance(error, BaseExceptionGroup):
        return error
    causes = [_cause(inner) for inner in error.exceptions]
    for kind in (RunInterrupt, asyncio.CancelledError):
        for cause in causes:
            if isinstance(cause, kind):
                return cause
    return causes[0]
