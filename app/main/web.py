"""The gateway process: sockets, HTTP and functions over the stores, until told to stop."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import uvloop

from app.domain.errors import ChatError
from app.domain.tables import TableWrites
from app.fanout.listener import Listener
from app.fanout.token_source import RedisTokenSource
from app.gateway.asgi import Gateway, GatewayOptions
from app.http.app import web_app
from app.http.identity import Authenticator, IdentityMisconfigured
from app.http.services import DevServices, HttpServices
from app.main.background import background
from app.main.lasting import lasting
from app.main.listening import listening_socket
from app.main.load_agents import Declarations, load
from app.main.migrating import warn_of_tables
from app.main.readiness import Readiness
from app.main.refusal import Refusal
from app.main.server import LeavingServer
from app.main.tokens import mint
from app.main.wiring import (
    Core,
    bearers_over,
    core,
    doctor_over,
    functions_over,
    identity_settings,
    limiter_over,
)
from app.protocol.peer import Peers
from app.settings import Settings
from app.store.census import count_everybody
from app.store.write_counters import count_writes
from app.telemetry.logs import set_up_logs

log = logging.getLogger(__name__)

CONNECTIONS = 20
"""To Postgres, for reads and starts; functions have a pool of their own."""

_STATIC = Path(__file__).resolve().parents[1] / "http" / "static"
CHAT = _STATIC / "chat"
ADMIN = _STATIC / "admin"
DEV_USER = "dev-user"
DEV_ADMIN = "dev-admin"
_DEV_TOKEN = timedelta(days=30)
_QUEUE_LOOK_S = 5.0


def serve(settings: Settings) -> None:
    """Serve until SIGTERM or SIGINT; leave in order within ten seconds.

    Raises:
        Refusal: something that only an operator can mend; says what.
        DeclarationError: something under ``agents/`` is wrong.
    """
    set_up_logs(settings.log_format, settings.log_level)
    try:
        authenticator = Authenticator(identity_settings(settings))
    except IdentityMisconfigured as error:
        raise Refusal(str(error)) from error
    with lasting():
        declared = load(settings.agents)
    _warn(settings, authenticator, declared)
    if settings.dev:
        warn_of_tables(settings.database_url, settings.agents, declared.tables)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(settings, authenticator, declared))


async def _serve(settings: Settings, authenticator: Authenticator, declared: Declarations) -> None:
    async with core(settings, connections=CONNECTIONS) as stores:
        functions = functions_over(stores, declared, settings)
        tokens = _TokenSources(settings, stores)
        bearers = bearers_over(stores, authenticator, settings)
        limiter, peers = limiter_over(stores, settings), Peers(settings.trusted_proxies)
        gateway = Gateway(
            reader=stores.reader,
            functions=functions,
            count_writes=partial(count_writes, stores.database),
            authenticate=bearers.authenticate,
            admit=limiter.admit,
            token_source=tokens.make,
            clock=stores.clock,
            metrics=stores.metrics,
            options=GatewayOptions(origins=settings.origins, peers=peers),
        )
        stores.announcer.on_written = gateway.on_writes
        listener = Listener(
            settings.database_url,
            on_hint=gateway.on_hint,
            on_writes=_unless_from(stores.announcer.origin, gateway.on_writes),
            on_resumed=gateway.on_resumed,
            on_timeline=gateway.on_timeline,
        )
        readiness = Readiness(
            stores.database, settings.database_url, stores.redis, listener, settings.agents
        )
        services = HttpServices(
            call=functions.call,
            authenticate=bearers.authenticate,
            admit=limiter.admit,
            peers=peers,
            agents=declared.agents,
            reader=stores.reader,
            store=stores.store,
            metrics=stores.metrics,
            readiness=readiness,
            examine=doctor_over(stores).examine,
            version=version("ropewalk"),
            streams=gateway.streams,
            retell=gateway.retellings,
            admin=ADMIN,
            dev=_dev_services(settings),
        )
        app = web_app(services, sockets=gateway, origins=settings.origins)

        def leave() -> None:
            readiness.is_leaving = True
            gateway.begin_drain()

        server = LeavingServer(app, leave)
        door = listening_socket(settings.host, settings.port, inherited=settings.listen_fd)
        with door as sock:
            async with background(
                listener=listener.run(), tokens=tokens.run(), queue=_watch_queue(stores)
            ):
                await gateway.start()
                log.info("serving at %s:%s", *sock.getsockname()[:2])
                await server.serve([sock])
                await gateway.drain()


def _unless_from(
    origin: str, hear: Callable[[TableWrites], None]
) -> Callable[[str, TableWrites], None]:
    """Return what hears the others' writes: our own were heard when they were committed."""

    def hear_others(other: str, writes: TableWrites) -> None:
        if other != origin:
            hear(writes)

    return hear_others


class _TokenSources:
    """Makes the one token source that the gateway asks for, and drives it."""

    def __init__(self, settings: Settings, stores: Core) -> None:
        self._settings = settings
        self._stores = stores
        self._source: RedisTokenSource | None = None

    def make(
        self, on_token: Callable[[str, Mapping[str, Any]], None], on_gap: Callable[[], None]
    ) -> RedisTokenSource:
        self._source = RedisTokenSource(
            self._settings.redis_url,
            self._stores.redis,
            self._stores.keys,
            on_token=on_token,
            on_gap=on_gap,
        )
        return self._source

    async def run(self) -> None:
        if self._source is not None:
            await self._source.run()


async def _watch_queue(stores: Core) -> None:
    """Keep what waits, and who is there to take it, in the metrics."""
    metrics = stores.metrics
    while True:
        try:
            waited = await stores.store.oldest_queued()
            census = await count_everybody(stores.database)
            metrics.queue_age.set(waited.total_seconds() if waited else 0)
            metrics.workers.set(census.workers)
            for status, runs in census.runs.items():
                metrics.unfinished.labels(status).set(runs)
        except ChatError as error:  # Postgres is away, or has no schema yet: /readyz says so
            log.debug("the queue could not be looked at: %s", error)
        await asyncio.sleep(_QUEUE_LOOK_S)


def _dev_services(settings: Settings) -> DevServices | None:
    if not settings.dev or settings.jwt_secret is None:
        return None
    secret = settings.jwt_secret.get_secret_value()

    def mint_token(user_id: str, roles: Sequence[str]) -> str:
        now = datetime.now(UTC)
        return mint(secret, user_id, now=now, lifetime=_DEV_TOKEN, settings=settings, roles=roles)

    anyone = settings.dev_sign_in == "anyone"
    return DevServices(DEV_USER, DEV_ADMIN, mint_token, CHAT, signs_in_anyone=anyone)


def _warn(settings: Settings, authenticator: Authenticator, declared: Declarations) -> None:
    if settings.dev:
        return
    if not authenticator.takes_tokens:
        log.warning("no key is configured: whoever shows no API key is anonymous")
    public = [slug for slug, agent in declared.agents.items() if agent.access == "public"]
    if authenticator.takes_tokens and public:
        log.warning("anybody may talk to these agents, signed in or not: %s", ", ".join(public))
