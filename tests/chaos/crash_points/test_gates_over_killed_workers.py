"""Gated calls decided in drawn orders on real stores, by workers killed between the decisions."""

import asyncio
import json
import random
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from app.domain.identity import Identity
from app.main.embedded import EmbeddedRedis
from tests.support import body_log
from tests.support.crash_points.deployment import lanes
from tests.support.crash_points.lane import Lane
from tests.support.crash_points.orders import Order
from tests.support.crash_points.scenarios import THREAD
from tests.support.crash_points.zygote import Child, Zygote
from tests.support.embedded_stores import Databases
from tests.support.wait_until import wait_until

ALICE = Identity("alice")
ROWS = "SELECT parts::text AS parts FROM agent_messages WHERE role = 'tool' ORDER BY seq"
RUNS = "SELECT status, attempts FROM agent_runs"
DECIDED = """
SELECT count(*) FROM law_audit
 WHERE name = 'agent_approvals' AND old->>'status' = 'pending' AND new->>'status' <> 'pending'
"""


class Gates:
    """A turn of one to four gated calls and an ungated one, on a lane of its own."""

    def __init__(self, forking: Zygote, lane: Lane, chance: random.Random) -> None:
        self.forking = forking
        self.lane = lane
        self.chance = chance
        names = ["pay"] * chance.randint(1, 4)
        names.insert(chance.randrange(len(names) + 1), "look")
        self.calls = [(f"c{number}", name, number + 1) for number, name in enumerate(names)]
        self.fates = {
            call: chance.choice(("approved", "denied", "edited"))
            for call, name, _ in self.calls
            if name == "pay"
        }

    async def play(self) -> None:
        """Play it, and look at what came of it."""
        await self.lane.clear()
        said = {"agent": "a", "key": THREAD, "input": json.dumps(self.calls)}
        await self.lane.user.call("agents:agentRun", said, caller=ALICE, dedupe="start")
        worker = await self._fork()
        await wait_until(self._is_parked, description="it waits", interval_s=0.01)
        for call in self.chance.sample(list(self.fates), len(self.fates)):
            is_alone = self.chance.random() < 0.5
            if is_alone:
                await worker.kill()
            await self._decide(call)
            if is_alone:
                worker = await self._fork()
        await wait_until(self._is_over, description="it ends", interval_s=0.01)
        await worker.kill()
        await self._check()

    async def _fork(self) -> Child:
        lane, number = self.lane, self.forking.next_id()
        return await self.forking.fork(
            Order(
                id=number,
                database_url=lane.database_url,
                redis_url=lane.redis_url,
                namespace=lane.namespace,
                trace=str(lane.folder / f"trace-{number}"),
                log=str(lane.folder / f"log{number:06}"),
                body_log=str(lane.body_folder),
            )
        )

    async def _decide(self, call: str) -> None:
        fate = self.fates[call]
        asked: dict[str, Any] = {"key": THREAD, "toolCallId": call, "decision": fate}
        if fate == "edited":
            asked |= {"decision": "approved", "editedInput": {"amount": 0}}
        if fate == "denied":
            asked["reason"] = "no"
        await self.lane.user.call("agents:agentResolveApproval", asked, caller=ALICE)

    async def _is_parked(self) -> bool:
        return (await self.lane.state()).runs == ("awaiting_input",)

    async def _is_over(self) -> bool:
        return (await self.lane.state()).runs == ("completed",)

    async def _check(self) -> None:
        rows = await self.lane.database.fetch(ROWS)
        (run,) = await self.lane.database.fetch(RUNS)
        bodies = body_log.lines(self.lane.body_folder, [THREAD])
        ran = Counter(line.key.rsplit(":")[-1] for line in bodies if line.event == "start")
        parts = [json.loads(row["parts"])[0] for row in rows]
        assert [part["toolCallId"] for part in parts] == [call for call, _, _ in self.calls]
        for (call, name, amount), part in zip(self.calls, parts, strict=True):
            assert self._expected(call, name, amount) in json.dumps(part["output"])
        assert run["attempts"] == 2, "it goes on once"
        for call, fate in self.fates.items():
            # The step of a refused call is made, too: it stores the refusal.
            assert ran[call] == 1, (call, fate, ran)
        assert await self.lane.database.fetchval(DECIDED) == len(self.fates)

    def _expected(self, call: str, name: str, amount: int) -> str:
        if name == "look":
            return f"saw {amount}"
        fate = self.fates[call]
        return "Reason: no" if fate == "denied" else f"paid {0 if fate == 'edited' else amount}"


def play_all(databases: Databases, audited: str, redis_url: str, seeds: range) -> None:
    """Play one after the other, some at a time."""

    async def run(folder: Path) -> None:
        async with lanes(databases, audited, redis_url, folder, count=2) as (forking, found):
            left = iter(seeds)

            async def work(lane: Lane) -> None:
                for seed in left:
                    gates = Gates(forking, lane, random.Random(seed))  # noqa: S311  # repeatable
                    try:
                        async with asyncio.timeout(60):
                            await gates.play()
                    except (AssertionError, TimeoutError) as error:
                        error.add_note(f"seed {seed}: {gates.calls} {gates.fates}")
                        raise

            async with asyncio.TaskGroup() as group:
                for lane in found:
                    group.create_task(work(lane))

    with tempfile.TemporaryDirectory(prefix="rw-gates-") as folder:
        asyncio.run(run(Path(folder)))


@pytest.mark.req("APR-05", "APR-06", "APR-08", "APR-09")
def test_results_belong_to_their_calls_whoever_dies_between_the_decisions(
    databases: Databases, audited: str, redis_server: EmbeddedRedis
) -> None:
    play_all(databases, audited, redis_server.fast_url, range(8))


@pytest.mark.long
@pytest.mark.req("APR-05", "APR-06", "APR-08", "APR-09")
@pytest.mark.parametrize("part", range(1, 11))
def test_the_same_for_hundreds_of_turns(
    databases: Databases, audited: str, redis_server: EmbeddedRedis, part: int
) -> None:
    play_all(databases, audited, redis_server.fast_url, range(part * 30, (part + 1) * 30))
