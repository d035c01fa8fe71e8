"""What the processes of a deployment have in common, put together from settings.

No logic: each function builds adapters and hands them to one another.  The announcer
and the doorbell are given to every store, so that no writer can forget them.
"""

import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from importlib.metadata import version

from redis.asyncio import Redis
from redis.exceptions import RedisError

from app.authoring.slots import next_slot
from app.domain.ports import (
    Aborts,
    Clock,
    Doorbell,
    Ids,
    Journal,
    OverrideStore,
    RunStore,
    ThreadReader,
)
from app.domain.ports.schedules import CallStore, CronStore
from app.fanout.aborts import RedisAborts
from app.fanout.announcer import Announcer
from app.functions.agent_runs import AgentRuns
from app.functions.compose import compose_functions
from app.functions.dispatch import Functions
from app.functions.ports import ThreadWriter, Transactions
from app.http.api_keys import ApiKeys
from app.http.bearers import Bearers
from app.http.identity import Authenticator, IdentitySettings
from app.journal.journal import RedisJournal
from app.keyspace import Keys, connect, refuse_eviction
from app.keyspace.calls_bucket import CallLimiter
from app.keyspace.census import threads_with_keys
from app.main.authenticate import custom_tokens
from app.main.background import background
from app.main.doctor import Doctor
from app.main.load_agents import Declarations
from app.main.system import SystemClock, SystemIds
from app.queue.doorbell import RedisDoorbell
from app.settings import Settings, roles_in
from app.store.admin_reads import PostgresAdminReader
from app.store.api_keys import PostgresApiKeys
from app.store.branches import PostgresBranches
from app.store.crons import PostgresCrons
from app.store.database import Database
from app.store.mending import PostgresMender
from app.store.overrides import PostgresOverrides
from app.store.revocations import revocations
from app.store.runs import PostgresRunStore
from app.store.scheduled_calls import PostgresCallStore
from app.store.thread_writer import PostgresThreadWriter
from app.store.threads import PostgresThreadReader
from app.store.transactions import PostgresTransactions
from app.telemetry.metered import metered_doorbell, metered_journal, metered_store
from app.telemetry.metrics import Metrics
from app.threads.governing import Permissions

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Core:
    """The stores of a deployment as one process sees them."""

    metrics: Metrics
    clock: Clock
    ids: Ids
    keys: Keys
    database: Database
    redis: Redis
    journal: Journal
    doorbell: Doorbell
    aborts: Aborts
    announcer: Announcer
    store: RunStore
    reader: ThreadReader
    writer: ThreadWriter
    transactions: Transactions
    calls: CallStore
    crons: CronStore
    overrides: OverrideStore


@asynccontextmanager
async def core(settings: Settings, *, connections: int) -> AsyncIterator[Core]:
    """Yield the stores, connected as they are needed, with changes announced meanwhile.

    Args:
        settings: of this process.
        connections: to Postgres, for the store and reader.

    Raises:
        RedisMayEvict: Redis is set up to throw keys away.
    """
    keys, metrics, ids = Keys(settings.redis_namespace), Metrics(), SystemIds()
    announcer = Announcer(settings.database_url)
    async with AsyncExitStack() as stack:
        redis = await stack.enter_async_context(connect(settings.redis_url))
        await _check_redis(redis)
        database = await stack.enter_async_context(
            Database(settings.database_url, size=connections)
        )
        journal = metered_journal(RedisJournal(redis, keys), metrics)
        bell = RedisDoorbell(redis, keys)
        metrics.rings_lost.set_function(lambda: bell.lost)
        metrics.hints_dropped.set_function(lambda: announcer.dropped)
        doorbell = metered_doorbell(bell, metrics)
        aborts = RedisAborts(redis, keys)
        store = PostgresRunStore(
            database,
            journal=journal,
            announce=announcer,
            doorbell=doorbell,
            aborts=aborts,
            ids=ids,
            max_attempts=settings.max_attempts,
            notices=settings.webhook_url is not None,
        )
        transactions = await stack.enter_async_context(
            PostgresTransactions(
                settings.database_url,
                announce=announcer,
                announce_writes=announcer.written,
                doorbell=doorbell,
                journal=journal,
                aborts=aborts,
                ids=ids,
            )
        )
        await stack.enter_async_context(background(announcer=announcer.run()))
        yield Core(
            metrics=metrics,
            clock=SystemClock(),
            ids=ids,
            keys=keys,
            database=database,
            redis=redis,
            journal=journal,
            doorbell=doorbell,
            aborts=aborts,
            announcer=announcer,
            store=metered_store(store, metrics),
            reader=PostgresThreadReader(database),
            writer=PostgresThreadWriter(database, announcer),
            transactions=transactions,
            calls=PostgresCallStore(database),
            crons=PostgresCrons(database, next_slot, ids),
            overrides=PostgresOverrides(database, announcer.written),
        )


def functions_over(core: Core, declared: Declarations, settings: Settings) -> Functions:
    """Return all server functions, the built-in ones included."""
    return compose_functions(
        declared.functions,
        declared.agents,
        transactions=core.transactions,
        runs=AgentRuns(core.store, core.reader, core.writer, core.ids, core.clock, core.calls),
        metrics=core.metrics,
        open_threads_decide=settings.open_threads_decide,
        admin=PostgresAdminReader(core.database),
        version=version("ropewalk"),
        overrides=core.overrides,
        branches=PostgresBranches(core.database, core.announcer),
        permissions=Permissions(
            manage=roles_in(settings.project_manage_roles),
            deploy=roles_in(settings.project_deploy_roles),
        ),
    )


def doctor_over(core: Core) -> Doctor:
    """Return who finds, and mends, what the laws do not allow."""
    mender = PostgresMender(
        core.database,
        journal=core.journal,
        announce=core.announcer,
        doorbell=core.doorbell,
        aborts=core.aborts,
        ids=core.ids,
    )
    return Doctor(
        store=core.store,
        reader=core.reader,
        journal=core.journal,
        mend_threads=mender.mend,
        threads_with_keys=lambda: threads_with_keys(core.redis, core.keys),
    )


def identity_settings(settings: Settings) -> IdentitySettings:
    """Return how tokens are checked."""
    secret = settings.jwt_secret
    return IdentitySettings(
        secret=None if secret is None else secret.get_secret_value(),
        public_key=settings.jwt_public_key,
        jwks_url=settings.jwks_url,
        callable_name=settings.authenticate,
        issuer=settings.jwt_issuer,
        audience=settings.jwt_audience,
        leeway=timedelta(seconds=settings.jwt_leeway),
        roles_claim=settings.jwt_roles_claim,
    )


def bearers_over(core: Core, authenticator: Authenticator, settings: Settings) -> Bearers:
    """Return who judges whatever a caller shows; the team's folder is loaded already.

    Raises:
        Refusal: ``AUTHENTICATE`` names nothing that could judge a token.
    """
    named = settings.authenticate
    judge = authenticator.authenticate if named is None else custom_tokens(named).authenticate
    return Bearers(
        judge, ApiKeys(PostgresApiKeys(core.database)), partial(revocations, core.database)
    )


def limiter_over(core: Core, settings: Settings) -> CallLimiter:
    """Return who counts calls."""
    limiter = CallLimiter(
        core.redis, core.keys, per_second=settings.calls_per_second, burst=settings.calls_burst
    )
    core.metrics.calls_refused.set_function(lambda: limiter.refused)
    core.metrics.calls_uncounted.set_function(lambda: limiter.uncounted)
    return limiter


async def _check_redis(redis: Redis) -> None:
    try:
        await refuse_eviction(redis)
    except (RedisError, OSError) as error:
        # It may come later; until then runs go on with Postgres alone.
        log.warning("Redis does not answer: %r", error)
