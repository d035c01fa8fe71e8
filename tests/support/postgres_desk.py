"""A gateway, workers and real stores, at which schedules of decisions are played."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from app.domain.approval import Approval
from app.domain.run import FINAL, RunStatus
from app.main.load_agents import Declarations
from app.settings import Settings
from tests.support.backend import SECRET
from tests.support.deciding_agent import RAN
from tests.support.decision_schedules import OWNER, PEOPLE, Attempt, Reply, Schedule
from tests.support.deployment import Deployment, deployment, working
from tests.support.law_evidence import install_audit
from tests.support.surfaces import Outcome, Surfaces
from tests.support.team_folder import a_team_folder
from tests.support.wait_until import wait_until
from tests.support.ws_client import CallFailed, WsClient

AGENT = """
from tests.support.deciding_agent import deciding_agent
a = deciding_agent()
"""
_DECISIONS = """
SELECT new->>'tool_call_id' AS call, count(*) AS times FROM law_audit
 WHERE name = 'agent_approvals' AND new->>'thread' = $1
   AND old->>'status' = 'pending' AND new->>'status' IN ('approved', 'denied')
 GROUP BY 1
"""


class PostgresDesk:
    """Implements ``tests.support.decision_schedules.Desk``."""

    def __init__(
        self, fort: Deployment, surfaces: Surfaces, settings: Settings, declared: Declarations
    ) -> None:
        self.fort = fort
        self.surfaces = surfaces
        self._settings = settings
        self._declared = declared
        self._worker: AbstractAsyncContextManager[None] | None = None
        self._changing = asyncio.Lock()
        self._ids: dict[str, dict[str, str]] = {}

    async def begin(self, key: str, schedule: Schedule) -> str:
        """See ``Desk.begin``."""
        RAN.pop(key, None)
        run_id = await self.fort.talk(OWNER, key, json.dumps(schedule.calls), agent="a")

        async def is_asked() -> bool:
            return len(await self.stored(key)) == len(schedule.gated)

        await wait_until(is_asked, description=f"{key} asks", interval_s=0.01)
        self._ids[key] = {each.tool_call_id: each.id for each in await self.stored(key)}
        return run_id

    async def send(self, key: str, attempt: Attempt) -> Reply:
        """See ``Desk.send``."""
        return await self.surfaces.send(key, self._ids[key], attempt)

    async def interrupt(self, key: str, run_id: str, kind: str) -> None:
        """See ``Desk.interrupt``."""
        client = self.surfaces.clients[OWNER]
        match kind:
            case "cancel":
                await client.post(f"/runs/{run_id}/cancel")
            case "restart":
                await self.work(is_over=False)
            case _:
                body = {"message": "yes, go ahead", "sessionId": key}
                answer = await client.post("/agents/a", json=body)
                assert answer.status_code == 202, answer.text

    async def ended(self, run_id: str) -> None:
        """See ``Desk.ended``."""
        found = []

        async def is_over() -> bool:
            run = await self.fort.stores.reader.run(run_id)
            assert run is not None
            found.append(run.status)
            return run.status in FINAL

        await wait_until(is_over, description=f"{run_id} ends", interval_s=0.01)
        assert found[-1] is not RunStatus.FAILED

    async def stored(self, key: str) -> Sequence[Approval]:
        """See ``Desk.stored``."""
        return await self.fort.stores.reader.approvals(key=key, everything=True)

    def ran(self, key: str) -> Sequence[tuple[str, int]]:
        """See ``Desk.ran``."""
        return RAN[key]

    async def noted(self, key: str) -> Counter[str]:
        """See ``Desk.noted``."""
        thread = await self.fort.stores.reader.find(key)
        assert thread is not None
        rows = await self.fort.stores.database.fetch(_DECISIONS, thread.id)
        return Counter({row["call"]: row["times"] for row in rows})

    async def work(self, *, is_over: bool) -> None:
        """Let the worker leave, if there is one, and another one come unless all is over."""
        async with self._changing:
            if self._worker is not None:
                await self._worker.__aexit__(None, None, None)
                self._worker = None
            if not is_over:
                self._worker = working(self._settings, self._declared)
                await self._worker.__aenter__()


@asynccontextmanager
async def postgres_desk(
    folder: Path, database_url: str, redis_url: str, namespace: str
) -> AsyncIterator[PostgresDesk]:
    """Yield a desk with a worker, over a database that writes down each change of a row."""
    install_audit(database_url)
    settings = Settings(
        database_url=database_url,
        redis_url=redis_url,
        redis_namespace=namespace,
        jwt_secret=SECRET,
        calls_per_second=0,
    )
    async with AsyncExitStack() as stack:
        team = stack.enter_context(a_team_folder(folder)).write(desk=AGENT)
        declared = team.load()
        fort = await stack.enter_async_context(deployment(declared, settings))
        clients = {
            person: await stack.enter_async_context(fort.http(person, *roles))
            for person, roles in PEOPLE.items()
        }
        sockets = {
            person: await stack.enter_async_context(fort.socket(person, *roles))
            for person, roles in PEOPLE.items()
        }
        desk = PostgresDesk(fort, Surfaces(_calling(sockets), clients), settings, declared)
        await desk.work(is_over=False)
        try:
            yield desk
        finally:
            await desk.work(is_over=True)


def _calling(sockets: Mapping[str, WsClient]) -> Any:  # noqa: ANN401  # see ``Surfaces.call``
    async def call(person: str, ref: str, args: Mapping[str, Any]) -> Outcome:
        try:
            await sockets[person].call(ref, args)
        except CallFailed as failed:
            return failed.code, failed.frame.get("data") or {}
        return "OK", {}

    return call
