"""One deployment of its own: a database, a namespace, and whoever plays in them."""

import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import asyncpg
from pydantic import SecretStr
from redis.asyncio import Redis

from app.functions.dispatch import Functions
from app.keyspace import connect
from app.main.load_agents import load
from app.main.wiring import core, functions_over
from app.settings import Settings
from tests.support import body_log
from tests.support.crash_points import pace
from tests.support.crash_points.scenarios import THREAD, State
from tests.support.crash_points.told import SECRET, Told, listening_system
from tests.support.crash_points.zygote import Zygote
from tests.support.law_evidence import audited_tables

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record]"

_STATE = """
SELECT coalesce((SELECT array_agg(status ORDER BY created_at) FROM agent_runs
                  WHERE parent IS NULL), '{}') AS runs,
       coalesce((SELECT array_agg(id ORDER BY created_at) FROM agent_runs
                  WHERE parent IS NULL), '{}') AS ids,
       (SELECT count(*) FROM agent_runs WHERE finished_at IS NULL)
       + (SELECT count(*) FROM agent_timers WHERE run IS NULL AND fired_at IS NULL)
       + (SELECT count(*) FROM agent_notices WHERE settled_at IS NULL) AS busy,
       coalesce((SELECT array_agg(tool_call_id ORDER BY requested_at, id) FROM agent_approvals
                  WHERE status = 'pending'), '{}') AS asked,
       coalesce((SELECT array_agg(t.key ORDER BY a.requested_at, a.id)
                   FROM agent_approvals a JOIN agent_threads t ON t.id = a.thread
                  WHERE a.status = 'pending'), '{}') AS askers
"""


_NOT_AUDITED = (
    *("agent_calls", "agent_workers", "agent_notices"),
    *("agent_overrides", "agent_governance", "agent_audit"),
)


@dataclass
class Lane:
    """A database, a namespace, and who plays in them."""

    zygote: Zygote
    database_url: str
    redis_url: str
    namespace: str
    folder: Path
    database: Connection
    redis: Redis
    user: Functions
    telling: Functions
    """The same, where another system is told."""
    told: Told

    async def state(self) -> State:
        """Return what a user could know now."""
        row = await self.database.fetchrow(_STATE)
        assert row is not None
        bodies = body_log.lines(self.body_folder, [THREAD])
        starts = sum(line.event == "start" for line in bodies)
        return State(
            tuple(row["runs"]),
            tuple(row["ids"]),
            row["busy"],
            tuple(row["asked"]),
            tuple(row["askers"]),
            starts,
        )

    @property
    def body_folder(self) -> Path:
        """Where bodies are noted."""
        return self.folder / "bodies"

    async def clear(self) -> None:
        """Forget the last play."""
        self.told.clear()
        tables = ", ".join([*await audited_tables(self.database), *_NOT_AUDITED])
        await self.database.execute(f"TRUNCATE {tables}, law_audit")
        async for key in self.redis.scan_iter(match=f"*{self.namespace}*", count=1000):
            await self.redis.delete(key)
        for file in [*self.body_folder.iterdir(), *self.folder.glob("trace-*")]:
            file.unlink()
        for file in self.folder.glob("log*"):
            file.unlink()


@asynccontextmanager
async def lane(
    zygote: Zygote, *, database_url: str, redis_url: str, folder: Path, agents: Path
) -> AsyncIterator[Lane]:
    """Yield a lane on a migrated, audited database of its own."""
    namespace = f"lane{uuid.uuid4().hex[:8]}"
    (folder / "bodies").mkdir(parents=True)
    settings = Settings(database_url=database_url, redis_url=redis_url, redis_namespace=namespace)
    async with AsyncExitStack() as stack:
        stack.enter_context(pace.patient_ends())
        stores = await stack.enter_async_context(core(settings, connections=4))
        redis = await stack.enter_async_context(connect(redis_url))
        told = await stack.enter_async_context(listening_system())
        tells = settings.model_copy(
            update={"webhook_url": told.url, "webhook_secret": SecretStr(SECRET)}
        )
        telling = await stack.enter_async_context(core(tells, connections=2))
        database = await asyncpg.connect(
            database_url, server_settings={"application_name": "harness"}
        )
        stack.push_async_callback(database.close)
        yield Lane(
            zygote,
            database_url,
            redis_url,
            namespace,
            folder,
            database,
            redis,
            functions_over(stores, load(agents), settings),
            functions_over(telling, load(agents), tells),
            told,
        )
