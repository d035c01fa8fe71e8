"""A deployment on real stores whose agent's conversations are branched."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from app.settings import Settings
from tests.support.backend import SECRET
from tests.support.branching_agent import PAID, SEEN
from tests.support.deployment import Deployment, deployment
from tests.support.team_folder import a_team_folder
from tests.support.wait_until import wait_until

AGENTS = """
from tests.support.branching_agent import branching_agents
desk, child = branching_agents()
"""
FINAL = ("completed", "failed", "cancelled")


class Desk:
    """What ann does at a deployment, and what became of it."""

    def __init__(self, fort: Deployment, ann: httpx2.AsyncClient) -> None:
        self.fort = fort
        self.ann = ann

    async def ask(self, text: str, key: str = "chat") -> str:
        """Have ann say something, and return the run once it rests."""
        run_id = await self.fort.talk("ann", key, text)
        await self.rests(run_id)
        return run_id

    async def rests(self, run_id: str) -> str:
        """Return what a run came to: it has ended, or it is parked."""

        async def is_at_rest() -> bool:
            return await self.fort.stores.store.rests(run_id)

        await wait_until(is_at_rest, description=f"{run_id} rests", interval_s=0.01)
        run = await self.fort.stores.reader.run(run_id)
        assert run is not None
        return run.status.value

    async def ended(self, run_id: str) -> None:
        """Return once a run is completed."""

        async def is_over() -> bool:
            return await self.rests(run_id) in FINAL

        await wait_until(is_over, description=f"{run_id} ends", interval_s=0.01)
        assert await self.rests(run_id) == "completed"

    async def post(self, path: str, key: str = "chat", **body: object) -> Any:  # noqa: ANN401  # JSON
        """Post to a session of ann's, and return the answer."""
        answer = await self.ann.post(f"/agents/desk/sessions/{key}/{path}", json=body)
        assert answer.status_code < 300, answer.text
        return answer.json() if answer.content else None

    async def branch(self, path: str, key: str = "chat", **body: object) -> tuple[str, str]:
        """Make a branch, and return its key and its run once that rests."""
        made = await self.post(path, key, **body)
        await self.rests(made["runId"])
        return made["sessionId"], made["runId"]

    async def session(self, key: str = "chat") -> Any:  # noqa: ANN401  # JSON
        """Return a session."""
        return (await self.ann.get(f"/agents/desk/sessions/{key}")).json()

    async def texts(self, key: str = "chat") -> list[str]:
        """Return what was said in a session, its places checked."""
        messages = (await self.session(key))["messages"]
        assert [each["seq"] for each in messages] == list(range(1, len(messages) + 1))
        return [each["text"] for each in messages]

    async def cards(self, key: str) -> list[str]:
        """Return the calls that wait for a person in a session."""
        return [each["toolCallId"] for each in (await self.session(key))["pendingApprovals"]]

    async def decide(self, key: str, call: str = "c0", decision: str = "approved") -> None:
        """Decide a call of a session."""
        args = {"key": key, "toolCallId": call, "decision": decision}
        answer = await self.ann.post("/functions/agents:agentResolveApproval", json=args)
        assert answer.status_code == 200, answer.text


@pytest.fixture
async def desk(
    tmp_path: Path, database_url: str, redis_url: str, redis_namespace: str
) -> AsyncIterator[Desk]:
    """A gateway and a worker, and ann."""
    SEEN.clear()
    PAID.clear()
    settings = Settings(
        database_url=database_url,
        redis_url=redis_url,
        redis_namespace=redis_namespace,
        jwt_secret=SECRET,
        calls_per_second=0,
    )
    with a_team_folder(tmp_path) as folder:
        declared = folder.write(desk=AGENTS).load()
        async with (
            deployment(declared, settings, works=True) as fort,
            fort.http("ann") as ann,
        ):
            yield Desk(fort, ann)
