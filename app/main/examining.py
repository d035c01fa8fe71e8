"""``ropewalk doctor`` and ``crons`` as processes of their own: no agents, and no server."""

import asyncio
from collections.abc import Sequence

import uvloop

from app.domain.ports.schedules import CronState
from app.main.doctor import Finding
from app.main.wiring import core, doctor_over
from app.settings import Settings
from app.telemetry.logs import set_up_logs

CONNECTIONS = 2


def examine(settings: Settings, *, mend: bool) -> Sequence[Finding]:
    """Return what the doctor finds in the deployment that the settings name."""
    set_up_logs(settings.log_format, settings.log_level)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_examine(settings, mend=mend))


def list_crons(settings: Settings) -> Sequence[CronState]:
    """Return the crons of the deployment that the settings name."""
    set_up_logs(settings.log_format, settings.log_level)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_list_crons(settings))


async def _list_crons(settings: Settings) -> Sequence[CronState]:
    async with core(settings, connections=CONNECTIONS) as stores:
        return await stores.crons.crons()


async def _examine(settings: Settings, *, mend: bool) -> Sequence[Finding]:
    async with core(settings, connections=CONNECTIONS) as stores:
        return await doctor_over(stores).examine(mend)
