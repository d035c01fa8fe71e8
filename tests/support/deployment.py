"""A whole deployment in the test's own loop: gateway, HTTP and worker over real stores.

Composed like ``app.main.web`` and ``app.main.worker``, from the same settings; so a test can see
what reaches the database, and still speaks through real sockets.
"""

import asyncio
import json
import secrets
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

import httpx2
import pytest
from sqlalchemy import event
from sqlalchemy.engine import Engine

from app.domain.api_key import ApiKey, PresentedKey
from app.fanout.listener import Listener
from app.fanout.token_source import RedisTokenSource
from app.functions.dispatch import Functions
from app.functions.registry import BUILT_IN_MODULE, FunctionRegistry
from app.gateway.asgi import Gateway, GatewayOptions
from app.gateway.frames import UVICORN_OPTIONS, FramesProtocol
from app.http.app import web_app
from app.http.identity import Authenticator
from app.http.services import HttpServices
from app.main import worker
from app.main.background import background
from app.main.load_agents import Declarations
from app.main.wiring import (
    Core,
    bearers_over,
    core,
    doctor_over,
    functions_over,
    identity_settings,
    limiter_over,
)
from app.settings import Settings
from app.store.api_keys import PostgresApiKeys
from app.store.database import Database
from app.store.write_counters import count_writes
from tests.support.backend import token_for
from tests.support.running_uvicorn import running_uvicorn
from tests.support.wait_until import wait_until
from tests.support.ws_client import WsClient


@dataclass
class Deployment:
    """One gateway over its stores, and whoever speaks to it."""

    stores: Core
    functions: Functions
    gateway: Gateway
    url: str
    """Of HTTP."""

    @property
    def socket_url(self) -> str:
        """Return where sockets are opened."""
        return f"{self.url.replace('http', 'ws', 1)}/ws"

    @asynccontextmanager
    async def http(
        self, user: str | None = None, *roles: str, token: str | None = None
    ) -> AsyncIterator[httpx2.AsyncClient]:
        """Yield a client that speaks for a user, or by a token."""
        shown = token or (token_for(user, *roles) if user else None)
        headers = {"authorization": f"Bearer {shown}"} if shown else {}
        async with httpx2.AsyncClient(base_url=self.url, headers=headers, timeout=30) as client:
            yield client

    @asynccontextmanager
    async def socket(
        self, user: str | None = None, *roles: str, token: str | None = None
    ) -> AsyncIterator[WsClient]:
        """Yield a socket that speaks for a user, or by a token."""
        client = WsClient(self.socket_url, token or (token_for(user, *roles) if user else None))
        await client.connect()
        try:
            yield client
        finally:
            await client.close()

    async def key(self, user: str, *roles: str, scopes: Collection[str] | None = None) -> str:
        """Return an API key of a user's."""
        shown = PresentedKey(secrets.token_hex(6), secrets.token_urlsafe(32))
        made = ApiKey(
            shown.id,
            shown.digest,
            "a test",
            user,
            frozenset(roles),
            None if scopes is None else frozenset(scopes),
            datetime.now(UTC),
        )
        await PostgresApiKeys(self.stores.database).create(made)
        return str(shown)

    async def status(self, key: str) -> str | None:
        """Return what a thread's status is."""
        thread = await self.stores.reader.find(key)
        return None if thread is None else thread.status.value

    async def until(self, key: str, status: str) -> None:
        """Return when a thread has this status."""
        async with asyncio.timeout(60), self.socket("root", "admin") as root:
            view = await root.watch_thread(key)
            await wait_until(
                lambda: view.value is not None and view.value["status"] == status,
                description=f"{key} is {status}",
                timeout_s=60,
            )

    async def talk(
        self, user: str, key: str, call: Sequence[object] | str, agent: str = "desk"
    ) -> str:
        """Have a user say something; return the run's id."""
        text = call if isinstance(call, str) else json.dumps(call)
        async with self.http(user) as client:
            body = {"message": text, "sessionId": key}
            answer = await client.post(f"/agents/{agent}", json=body)
            assert answer.status_code == 202, answer.text
            return str(answer.json()["runId"])


class _Ready:
    async def __call__(self) -> dict[str, str | None]:
        return {}


@asynccontextmanager
async def deployment(
    declared: Declarations,
    settings: Settings,
    *,
    works: bool = False,
    options: GatewayOptions | None = None,
) -> AsyncIterator[Deployment]:
    """Serve what a folder declares; ``works`` runs a worker beside the gateway."""
    async with AsyncExitStack() as stack:
        stores = await stack.enter_async_context(core(settings, connections=8))
        functions = functions_over(stores, declared, settings)
        authenticator = Authenticator(identity_settings(settings))
        bearers = bearers_over(stores, authenticator, settings)
        limiter = limiter_over(stores, settings)
        sources: list[RedisTokenSource] = []

        def token_source(on_token: Any, on_gap: Any) -> RedisTokenSource:  # noqa: ANN401  # the gateway's own
            source = RedisTokenSource(
                settings.redis_url, stores.redis, stores.keys, on_token=on_token, on_gap=on_gap
            )
            sources.append(source)
            return source

        gateway = Gateway(
            reader=stores.reader,
            functions=functions,
            count_writes=partial(count_writes, stores.database),
            authenticate=bearers.authenticate,
            admit=limiter.admit,
            token_source=token_source,
            clock=stores.clock,
            metrics=stores.metrics,
            options=options,
        )
        stores.announcer.on_written = gateway.on_writes
        listener = Listener(
            settings.database_url,
            on_hint=gateway.on_hint,
            on_writes=lambda origin, writes: gateway.on_writes(writes),
            on_resumed=gateway.on_resumed,
            on_timeline=gateway.on_timeline,
        )
        services = HttpServices(
            call=functions.call,
            authenticate=bearers.authenticate,
            admit=limiter.admit,
            agents=declared.agents,
            reader=stores.reader,
            store=stores.store,
            metrics=stores.metrics,
            readiness=_Ready(),
            examine=doctor_over(stores).examine,
            version="0",
            streams=gateway.streams,
            retell=gateway.retellings,
        )
        app = web_app(services, sockets=gateway, origins=settings.origins)
        loops = background(listener=listener.run(), tokens=sources[0].run())
        await stack.enter_async_context(loops)
        await gateway.start()
        stack.push_async_callback(gateway.drain)
        if works:
            await stack.enter_async_context(working(settings, declared))
        serving = running_uvicorn(app, ws=FramesProtocol, **UVICORN_OPTIONS)
        _, where = await stack.enter_async_context(serving)
        await wait_until(lambda: listener.is_listening, description="the gateway listens")
        yield Deployment(stores, functions, gateway, f"http://{where}")


@asynccontextmanager
async def working(settings: Settings, declared: Declarations) -> AsyncIterator[None]:
    """Run a worker, with stores of its own, until the block ends; it hands over what it drives."""
    told_to_stop = asyncio.Event()

    async def work() -> None:
        async with core(settings, connections=8) as stores:
            await worker._work(settings, _once_more(declared), stores, told_to_stop)

    working = asyncio.create_task(work(), name="worker")
    try:
        yield
    finally:
        told_to_stop.set()
        await working


def _once_more(declared: Declarations) -> Declarations:
    """Return the same functions in a registry that has no built-in ones yet."""
    registry = FunctionRegistry()
    for each in declared.functions.all():
        module, _, _ = each.ref.partition(":")
        if module != BUILT_IN_MODULE:
            registry.add(module, [each.function])
    return replace(declared, functions=registry)


@contextmanager
def statements(patch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Yield the list of what is sent to the database from now on, by whichever way."""
    sent: list[str] = []
    fetch = Database.fetch

    async def noted(self: Database, statement: str, /, *arguments: object) -> Any:  # noqa: ANN401  # as it is
        sent.append(statement)
        return await fetch(self, statement, *arguments)

    def executed(connection: object, cursor: object, statement: str, *rest: object) -> None:
        del connection, cursor, rest
        sent.append(statement)

    with patch.context() as patched:
        patched.setattr(Database, "fetch", noted)
        event.listen(Engine, "before_cursor_execute", executed)
        try:
            yield sent
        finally:
            event.remove(Engine, "before_cursor_execute", executed)
