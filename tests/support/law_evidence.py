"""What happened, gathered from outside the product: rows and their changes, keys, words, bodies.

``install_audit`` lets the database itself write down each change of a row, in the transaction that
made it.  Since whoever changes anything of a thread holds its row through the commit, the order of
a thread's changes in the audit is the order of their commits: so the laws can be held at every
moment, and not only at the end.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import asyncpg
import psycopg
from redis.asyncio import Redis

from tests.support.body_log import Line, lines

Row = dict[str, Any]

_UNAUDITED = ("agent_workers", "agent_calls")
_AUDIT = """
CREATE TABLE law_audit (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    tx bigint NOT NULL,
    session text NOT NULL,
    name text NOT NULL,
    old jsonb,
    new jsonb
);
CREATE FUNCTION law_audit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO law_audit (tx, session, name, old, new)
    VALUES (txid_current(), current_setting('application_name'), TG_TABLE_NAME,
            CASE WHEN TG_OP <> 'INSERT' THEN to_jsonb(OLD) END,
            CASE WHEN TG_OP <> 'DELETE' THEN to_jsonb(NEW) END);
    RETURN NULL;
END $$;
"""
_TRIGGER = """
CREATE TRIGGER law_audit AFTER INSERT OR UPDATE OR DELETE ON {table}
FOR EACH ROW EXECUTE FUNCTION law_audit()
"""
_TABLES = """
SELECT relname FROM pg_class
 WHERE relkind = 'r' AND starts_with(relname, 'agent_') AND relname <> ALL (%s) ORDER BY relname
"""

_AUDITED = """
SELECT tgrelid::regclass::text AS name FROM pg_trigger WHERE tgname = 'law_audit' ORDER BY 1
"""
_CHANGES = """
SELECT id, at, tx, session, name, old::text AS old, new::text AS new FROM law_audit ORDER BY id
"""


@dataclass(frozen=True, slots=True)
class Change:
    """One row, before and after.

    Attributes:
        session: what the session that wrote it calls itself.
        table: without its prefix: ``threads``, ``runs``, ``messages`` ...
    """

    id: int
    at: datetime
    tx: int
    session: str
    table: str
    old: Row | None
    new: Row | None

    @property
    def row(self) -> Row:
        """The row as it is, or was."""
        return self.new or self.old or {}

    @property
    def at_ns(self) -> int:
        """When it was made, by the system's clock."""
        return int(self.at.timestamp() * 1_000_000) * 1_000


@dataclass(frozen=True, slots=True)
class Death:
    """A process that was killed or frozen.

    Attributes:
        at_ns: when it was known to be gone, with nothing of it under way any more.
        finished: keys (``RUN/STEP``) of the steps that a store held then.
        over: threads that had nothing to do then: what the dead one left of them in Redis stays
            until it expires (DESIGN 4.2).
    """

    pid: int
    at_ns: int
    finished: frozenset[str] = frozenset()
    over: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Words:
    """What a thread's channel said, in the order in which it did."""

    thread: str
    token: Row


@dataclass(slots=True)
class Evidence:
    """All that the laws are held against.

    Attributes:
        rows: of each audited table (``threads``, ``runs`` ...), as they are now.
        keys: of Redis, with their time to live in milliseconds; -1: for ever.
        bodies: see ``tests.support.body_log``.
        late: starts of bodies that had been let through before their process was frozen: nothing
            can stop those any more, which is what the idempotency key is for (DESIGN 4.2).
        render_up_to: messages of a thread up to which its history is rendered at every moment; of
            a longer one it is only as it stands at the end, since the cost grows by the square.
    """

    namespace: str = ""
    rows: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    changes: Sequence[Change] = ()
    keys: Mapping[str, int] = field(default_factory=dict)
    bodies: Sequence[Line] = ()
    words: Sequence[Words] = ()
    deaths: Sequence[Death] = ()
    late: frozenset[Line] = frozenset()
    render_up_to: int = 1 << 30


def install_audit(url: str) -> None:
    """Let a migrated database write down every change of a row of ours from now on."""
    with psycopg.connect(url) as connection:
        connection.execute(_AUDIT)
        for (table,) in connection.execute(_TABLES, [list(_UNAUDITED)]).fetchall():
            connection.execute(_TRIGGER.format(table=table))


async def audited_tables(database: "asyncpg.Connection[asyncpg.Record]") -> list[str]:
    """Return the tables that the audit sees."""
    return [row["name"] for row in await database.fetch(_AUDITED)]


async def gather(
    database: "asyncpg.Connection[asyncpg.Record]",
    redis: Redis,
    namespace: str,
    body_log: Path,
    **more: Any,  # noqa: ANN401  # fields of Evidence
) -> Evidence:
    """Return what the stores and the log of bodies say now."""
    rows = {
        table.removeprefix("agent_"): [
            json.loads(row["row"])
            for row in await database.fetch(f"SELECT to_jsonb(t)::text AS row FROM {table} t")  # noqa: S608
        ]
        for table in await audited_tables(database)
    }
    return Evidence(
        namespace=namespace,
        rows=rows,
        changes=[_change(row) for row in await database.fetch(_CHANGES)],
        keys=await keys_of(redis, namespace),
        bodies=lines(body_log, [row["key"] for row in rows.get("threads", ())]),
        **more,
    )


def _change(row: Any) -> Change:  # noqa: ANN401  # a record, by column name
    return Change(
        id=row["id"],
        at=row["at"],
        tx=row["tx"],
        session=row["session"],
        table=row["name"].removeprefix("agent_"),
        old=row["old"] and json.loads(row["old"]),
        new=row["new"] and json.loads(row["new"]),
    )


async def keys_of(redis: Redis, namespace: str) -> dict[str, int]:
    """Return every key of a namespace with its time to live in milliseconds."""
    found = {}
    async for key in redis.scan_iter(match=f"*{namespace}*", count=1000):
        left = await redis.pttl(key)
        if left != -2:  # it has gone meanwhile
            found[key.decode()] = left
    return found


@asynccontextmanager
async def listening(redis: Redis, namespace: str) -> AsyncIterator[list[Words]]:
    """Write down every word that a channel of this namespace says while the block lasts."""
    heard: list[Words] = []
    async with redis.pubsub() as channel:
        await channel.psubscribe(f"{namespace}:{{*}}:tokens")

        async def listen() -> None:
            async for message in channel.listen():
                if message["type"] == "pmessage":
                    thread = message["channel"].decode().split("{")[1].split("}")[0]
                    heard.append(Words(thread, json.loads(message["data"])))

        task = asyncio.create_task(listen(), name=f"words of {namespace}")
        try:
            yield heard
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
