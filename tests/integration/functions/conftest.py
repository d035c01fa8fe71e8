"""Functions over a real Postgres, with whom they tell visible."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass

import pytest
from sqlalchemy.orm import registry
from sqlmodel import Field, SQLModel, UniqueConstraint

from app.store.branches import PostgresBranches
from app.store.database import Database
from app.store.runs import PostgresRunStore
from app.store.scheduled_calls import PostgresCallStore
from app.store.thread_writer import PostgresThreadWriter
from app.store.threads import PostgresThreadReader
from app.store.transactions import PostgresTransactions
from tests.support.backend import Backend
from tests.support.store_world import IDS, Surroundings


class TeamTable(SQLModel, registry=registry()):
    """Base of a team's tables; apart from the product's, which migrations are compared with."""


class Note(TeamTable, table=True):
    """A table of a team's."""

    __tablename__ = "notes"
    __table_args__ = (UniqueConstraint("body"),)

    id: int | None = Field(default=None, primary_key=True)
    body: str


@dataclass(frozen=True)
class Gateway:
    """One gateway's functions and stores."""

    backend: Backend
    database: Database
    around: Surroundings

    async def notes(self) -> list[str]:
        """Return what is in the team's table now."""
        rows = await self.database.fetch("SELECT body FROM notes ORDER BY id")
        return [row["body"] for row in rows]

    async def count(self, table: str) -> int:
        """Return how many rows a table has."""
        row = await self.database.first(f"SELECT count(*) AS n FROM {table}")  # noqa: S608
        return int(row["n"]) if row else 0


MakeGateway = Callable[[], Awaitable[Gateway]]


@pytest.fixture
async def make_gateway(database_url: str) -> AsyncIterator[MakeGateway]:
    """Make gateways on one database, each with connections of its own."""
    async with AsyncExitStack() as stack:

        async def make() -> Gateway:
            around = Surroundings()
            database = await stack.enter_async_context(Database(database_url))
            transactions = await stack.enter_async_context(
                PostgresTransactions(
                    database_url,
                    announce=around.announce,
                    announce_writes=around.announce_writes,
                    doorbell=around,
                    journal=around.journal,
                    aborts=around,
                    ids=IDS,
                    tables=TeamTable.metadata,
                )
            )
            store = PostgresRunStore(
                database,
                journal=around.journal,
                announce=around.announce,
                doorbell=around,
                aborts=around,
                ids=IDS,
            )
            writer = PostgresThreadWriter(database, around.announce)
            reader, calls = PostgresThreadReader(database), PostgresCallStore(database)
            branches = PostgresBranches(database, around.announce)
            backend = Backend(store, reader, transactions, writer, calls, branches=branches)
            return Gateway(backend, database, around)

        yield make


@pytest.fixture
async def gateway(make_gateway: MakeGateway) -> Gateway:
    """One gateway, and a table of the team's."""
    made = await make_gateway()
    await made.database.fetch("CREATE TABLE notes (id serial PRIMARY KEY, body text UNIQUE)")
    return made
