"""Real gateways in one process over one real Postgres, wired as ``app.main.web`` wires them.

Each has connections, an announcer, a listener and sockets of its own.  A test may lose what one
of them says or hears, and end it in any way.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any

import psycopg
from sqlalchemy import MetaData, create_engine
from sqlalchemy.schema import CreateSchema
from starlette.applications import Starlette
from starlette.routing import WebSocketRoute

from app.authoring.functions import ServerFunction
from app.domain.identity import ANONYMOUS
from app.domain.storable import Json
from app.domain.tables import TableWrites
from app.fanout.announcer import Announcer
from app.fanout.listener import Listener
from app.functions.dispatch import Functions
from app.gateway.asgi import Gateway, GatewayOptions
from app.main.system import SystemClock
from app.store.database import Database
from app.store.runs import PostgresRunStore
from app.store.scheduled_calls import PostgresCallStore
from app.store.thread_writer import PostgresThreadWriter
from app.store.threads import PostgresThreadReader
from app.store.transactions import PostgresTransactions
from app.store.write_counters import count_writes
from app.telemetry.metrics import Metrics
from app.testing.memory_journal import MemoryJournal
from tests.support.backend import Backend
from tests.support.fake_tokens import FakeTokens
from tests.support.gateway_server import FakeTokensOfPeople, running_frames
from tests.support.store_world import IDS, Surroundings
from tests.support.wait_until import wait_until
from tests.support.ws_client import WsClient, ws_client

MODULE = "team"
"""Of all functions here."""
NEVER_S = 3600.0


class Node:
    """One gateway.

    Attributes:
        is_mute: what is committed here is not announced to others, nor to itself.
        hears: asked for whatever others announce; who says no loses it.
    """

    def __init__(
        self,
        url: str,
        tables: MetaData,
        declared: Iterable[ServerFunction[..., Any]],
        options: GatewayOptions,
    ) -> None:
        self.is_mute = False
        self.hears: Callable[[TableWrites], bool] = lambda _: True
        self.metrics = Metrics()
        self.tokens = FakeTokens()
        self.url = ""
        """Of its socket, ``ws://...``."""
        self._database_url = url
        self._tables = tables
        self._declared = list(declared)
        self._options = options
        self._stack = AsyncExitStack()
        self._tasks: list[asyncio.Task[None]] = []

    async def start(self) -> "Node":
        """Serve, and hear the others."""
        around = Surroundings()
        self.database = await self._stack.enter_async_context(Database(self._database_url, size=3))
        self.announcer = Announcer(self._database_url)
        transactions = await self._stack.enter_async_context(
            PostgresTransactions(
                self._database_url,
                announce=self.announcer,
                announce_writes=self._written,
                doorbell=around,
                journal=around.journal,
                aborts=around,
                ids=IDS,
                tables=self._tables,
            )
        )
        self.backend = self._backend(transactions, around)
        self.backend.registry.add(MODULE, self._declared)
        self.gateway = Gateway(
            reader=self.backend.reader,
            functions=self.functions,
            count_writes=partial(count_writes, self.database, metadata=self._tables),
            authenticate=FakeTokensOfPeople(),
            token_source=self.tokens.connect,
            clock=SystemClock(),
            metrics=self.metrics,
            options=self._options,
        )
        self.announcer.on_written = self.gateway.on_writes
        self.listener = Listener(
            self._database_url,
            on_hint=self.gateway.on_hint,
            on_writes=self._heard,
            on_resumed=self.gateway.on_resumed,
            on_timeline=self.gateway.on_timeline,
        )
        for name, loop in (("listener", self.listener.run()), ("announcer", self.announcer.run())):
            self._tasks.append(asyncio.create_task(loop, name=name))
        await self.gateway.start()
        app = Starlette(routes=[WebSocketRoute("/ws", self.gateway)])
        _, self.url = await self._stack.enter_async_context(running_frames(app))
        await wait_until(lambda: self.listener.is_listening, description="Postgres is heard")
        return self

    @property
    def functions(self) -> Functions:
        """What can be called here without a socket."""
        return self.backend.functions

    @asynccontextmanager
    async def client(self, user: str | None = None) -> AsyncIterator[WsClient]:
        """Yield somebody who is connected here."""
        async with ws_client(self.url, user) as client:
            yield client

    def queries_run(self) -> float:
        """Return how often a watched query was asked here."""
        outcomes = ("pushed", "unchanged", "failed")
        return sum(self.metric("queries_total", outcome=each) for each in outcomes)

    def metric(self, name: str, **labels: str) -> float:
        """Return the value of a metric."""
        return self.metrics.registry.get_sample_value(f"ropewalk_{name}", labels) or 0.0

    async def crash(self) -> None:
        """Be gone without a word to anybody."""
        self.is_mute = True
        for connection in tuple(self.gateway._connections):
            connection.wire.abort()
        await self.stop()

    async def stop(self) -> None:
        """Leave in order."""
        await self.gateway.drain()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        await self._stack.aclose()

    def _backend(self, transactions: PostgresTransactions, around: Surroundings) -> Backend:
        store = PostgresRunStore(
            self.database,
            journal=MemoryJournal(),
            announce=self.announcer,
            doorbell=around,
            aborts=around,
            ids=IDS,
        )
        return Backend(
            store,
            PostgresThreadReader(self.database),
            transactions,
            PostgresThreadWriter(self.database, self.announcer),
            PostgresCallStore(self.database),
            metrics=self.metrics,
        )

    def _written(self, writes: TableWrites) -> None:
        if not self.is_mute:
            self.announcer.written(writes)

    def _heard(self, origin: str, writes: TableWrites) -> None:
        if origin != self.announcer.origin and self.hears(writes):
            self.gateway.on_writes(writes)


class ReactiveWorld:
    """A migrated database with a team's tables, and the gateways on it."""

    def __init__(
        self, url: str, tables: MetaData, declared: Iterable[ServerFunction[..., Any]]
    ) -> None:
        self.url = url
        self.nodes: list[Node] = []
        self._tables = tables
        self._declared = list(declared)

    async def node(self, *, reconcile_s: float = NEVER_S) -> Node:
        """Start another gateway; by default one that never looks at counters by itself."""
        options = GatewayOptions(reconcile_s=reconcile_s)
        node = await Node(self.url, self._tables, self._declared, options).start()
        self.nodes.append(node)
        return node

    async def stop(self, node: Node, *, crash: bool = False) -> None:
        """End a gateway."""
        self.nodes.remove(node)
        await (node.crash() if crash else node.stop())

    async def outside(self, *statements: str) -> None:
        """Execute statements as another program does, and have Postgres count them at once."""
        async with await psycopg.AsyncConnection.connect(self.url, autocommit=True) as connection:
            for statement in statements:
                await connection.execute(statement.encode())
            await connection.execute("SELECT pg_stat_force_next_flush()")

    async def fresh(self, ref: str, **args: Json) -> Json:
        """Return what a query answers now."""
        node = self.nodes[0]
        return await node.functions.call(f"{MODULE}:{ref}", args, caller=ANONYMOUS)


@asynccontextmanager
async def reactive_world(
    url: str, tables: MetaData, declared: Iterable[ServerFunction[..., Any]]
) -> AsyncIterator[ReactiveWorld]:
    """Yield a world without gateways; those that were started are stopped at the end."""
    world = ReactiveWorld(url, tables, declared)
    try:
        yield world
    finally:
        for node in tuple(world.nodes):
            await world.stop(node)


def create_tables(url: str, tables: MetaData) -> None:
    """Make the tables as they are declared."""
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://", 1))
    with engine.begin() as connection:
        for schema in {table.schema for table in tables.tables.values() if table.schema}:
            connection.execute(CreateSchema(schema))
        tables.create_all(connection)
    engine.dispose()
