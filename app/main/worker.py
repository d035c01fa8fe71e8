"""The worker process: claims runs, drives them, and hands them over when told to stop.

An arq job is only the doorbell; what it wakes is the pool, whose drives live in this
process's own task group.  Six loops run beside it: the bell, the sweeper, the scheduled
calls, the live text, the aborts, and the heartbeat, which has a thread of its own.
"""

import asyncio
import logging
import os
import secrets
import signal
import sys
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import uvloop

from app.authoring.tool_context import Dispatch
from app.domain.cron import Deck
from app.domain.errors import ChatError, StoreUnavailable
from app.domain.identity import Identity
from app.domain.ports import Clock, OverrideReader, Serves
from app.domain.storable import Json
from app.engine.clockwork import Clockwork
from app.engine.drive import DrivePorts, plain_ending
from app.engine.durable_run import Program
from app.engine.lease import Lease
from app.engine.pool import DrivePool
from app.engine.sweeper import Sweeper
from app.fanout.aborts import AbortListener
from app.fanout.tokens import RedisTokenSink
from app.functions.dispatch import Functions
from app.functions.due_calls import DueCalls
from app.loop.overriding import Overrides
from app.loop.program import LoopPorts, agent_program
from app.main.background import background
from app.main.lasting import lasting
from app.main.load_agents import Declarations, load
from app.main.metrics_port import metrics_port
from app.main.webhooks import check_webhook, send_webhooks
from app.main.wiring import Core, core, functions_over
from app.models.resolve import Models, default_model
from app.queue.worker import DoorbellWorker
from app.settings import Settings
from app.store.beat import Beat
from app.store.database import Database
from app.store.retention import forget_what_is_over
from app.telemetry.logs import set_up_logs
from app.telemetry.observers import recovery_observer, step_observer

log = logging.getLogger(__name__)

RETENTION_EVERY_S = 60.0
CONNECTIONS = 16
"""To Postgres: a drive holds one only while a statement runs."""


def serve(settings: Settings) -> None:
    """Drive runs until SIGTERM or SIGINT; then hand them over.

    Raises:
        Refusal: something that only an operator can mend; says what.
        DeclarationError: something under ``agents/`` is wrong.
    """
    set_up_logs(settings.log_format, settings.log_level)
    check_webhook(settings)
    with lasting():
        declared = load(settings.agents)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(settings, declared))


async def _serve(settings: Settings, declared: Declarations) -> None:
    told_to_stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, told_to_stop.set)
    async with core(settings, connections=CONNECTIONS) as stores:
        with metrics_port(stores.metrics, settings.host, settings.worker_metrics_port):
            await _work(settings, declared, stores, told_to_stop)


async def _work(
    settings: Settings, declared: Declarations, stores: Core, told_to_stop: asyncio.Event
) -> None:
    worker_id = new_worker_id()
    lease = Lease(stores.clock)
    functions = functions_over(stores, declared, settings)
    tokens = RedisTokenSink(stores.redis, stores.keys, lambda: lease.is_fresh)
    ports = DrivePorts(
        store=stores.store,
        journal=stores.journal,
        tokens=tokens,
        lease=lease,
        ids=stores.ids,
        programs=_programs(settings, declared, functions, stores.overrides),
        serves=Serves({slug: agent.version for slug, agent in declared.agents.items()}),
        ending_for=plain_ending,
        on_step=step_observer(stores.metrics),
    )
    pool = DrivePool(worker_id, ports, stores.clock, slots=settings.worker_slots)
    stores.metrics.drives.set_function(lambda: pool.size)
    stores.metrics.token_flushes.set_function(lambda: tokens.flushes)
    stores.metrics.token_flushes_failed.set_function(lambda: tokens.failures)
    sweeper = Sweeper(
        stores.store,
        stores.clock,
        pool,
        on_recovery=recovery_observer(stores.metrics),
        turn_crons=Clockwork(stores.crons, Deck.of(declared.crons), stores.clock).turn,
    )
    due_calls = DueCalls(functions.call, declared.functions, stores.calls)
    bell = DoorbellWorker(
        settings.redis_url, stores.keys, claim=pool.ring, has_room=lambda: pool.has_room
    )
    pool.on_room = bell.room_made
    beat = _beat(settings, worker_id, pool, stores.clock)
    async with background(
        drives=pool.run(),
        bell=bell.serve(),
        sweeper=sweeper.run(),
        due_calls=due_calls.run(),
        webhooks=send_webhooks(settings, stores),
        tokens=tokens.run(),
        aborts=AbortListener(settings.redis_url, stores.keys, worker_id, pool.abort).run(),
        retention=_forget_what_is_over(stores.database),
    ):
        beat.start()
        log.info("worker %s serves %s", worker_id, ", ".join(declared.agents) or "no agent")
        await told_to_stop.wait()
        async with asyncio.TaskGroup() as leaving:
            leaving.create_task(pool.hand_over(settings.drain))
            leaving.create_task(due_calls.hand_over(settings.drain))
    await beat.deregister()


async def _forget_what_is_over(database: Database) -> None:
    """Delete old calls, fired timers and read signals, one bite at a time."""
    while True:
        await asyncio.sleep(RETENTION_EVERY_S)
        try:
            await forget_what_is_over(database)
        except StoreUnavailable as error:
            log.warning("what is over is kept for now: %s", error)


def new_worker_id() -> str:
    """Return an id that no process had before; it ends in the process's number."""
    return f"worker-{secrets.token_hex(4)}-{os.getpid()}"


def _programs(
    settings: Settings, declared: Declarations, functions: Functions, overrides: OverrideReader
) -> Mapping[str, Program]:
    ports = LoopPorts(
        models=Models(
            default=default_model(settings.ropewalk_model, os.environ),
            settings=settings,
            demo_delay=timedelta(milliseconds=settings.demo_delay_ms),
        ),
        dispatch=_dispatch(functions),
        streaming=settings.stream_tokens,
        overrides=Overrides(overrides),
    )
    _warm_up(ports.models, declared)
    return {
        slug: agent_program(agent, ports, declared.functions)
        for slug, agent in declared.agents.items()
    }


def _warm_up(models: Models, declared: Declarations) -> None:
    """Import the providers' SDKs now: the first message should not wait for seconds of it."""
    for slug, agent in declared.agents.items():
        try:
            models.resolve(agent.model)
        except ChatError as error:
            log.warning("runs of %s will fail: %s", slug, error.message)


def _dispatch(functions: Functions) -> Dispatch:
    """Let tools call every function, internal ones included: they are the team's own code."""

    async def dispatch(
        reference: str, arguments: Mapping[str, Any], *, caller: Identity, dedupe: str | None = None
    ) -> Json:
        return await functions.call(
            reference, arguments, caller=caller, dedupe=dedupe, internal=True
        )

    return dispatch


def _beat(settings: Settings, worker_id: str, pool: DrivePool, clock: Clock) -> Beat:
    return Beat(
        settings.database_url,
        worker_id,
        list(pool.serves.agents),
        versions=list(pool.serves.agents.values()),
        on_answer=pool.on_beat,
        clock=clock,
        stuck_after_s=settings.loop_stuck_s,
        dump_to=sys.stderr,
    )
