"""What a step costs is counted where it arises, since a busy machine makes any step slow.

Counted are the rows that Postgres reads, the commands that Redis carries out and the bytes that it
sends, over fifty steps of a young run and of one that has made three hundred.  How long they take
is what ``benchmarks/steps.py`` measures.
"""

from dataclasses import dataclass
from functools import partial

import asyncpg
import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from redis.asyncio import Redis

from app import Agent, tool
from app.functions.registry import FunctionRegistry
from app.main.load_agents import Declarations
from app.settings import Settings
from tests.support.deployment import deployment
from tests.support.wait_until import wait_until

TURNS_BEFORE = {"young": 1, "old": 150}
"""A turn is two steps: the model's, and its tool's."""
TURNS_COUNTED = 25
MAY_BE_READ_AGAIN = 10
"""How often all that the run did so far is read while fifty steps are made: when a worker takes it
up, when somebody opens it.  A step that reads it makes that fifty."""

_OTHER_SESSIONS = """
SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
_ROWS_READ = """
SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables)
     + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes)
"""


@dataclass(frozen=True)
class Costs:
    """What the stores have done since they were started."""

    rows_read: int
    commands: int
    bytes_sent: int

    def __sub__(self, before: "Costs") -> "Costs":
        return Costs(
            self.rows_read - before.rows_read,
            self.commands - before.commands,
            self.bytes_sent - before.bytes_sent,
        )


@tool
async def work() -> str:
    """Work."""
    return "worked"


@tool(needs_approval=True)
async def sign() -> str:
    """Sign."""
    return "signed"


def _work_sign_and_work(before: int, messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    turn = sum(isinstance(message, ModelResponse) for message in messages)
    if turn == before + 1 + TURNS_COUNTED:
        return ModelResponse([TextPart("done")])
    return ModelResponse([ToolCallPart("sign" if turn == before else "work", {}, f"call_{turn}")])


def _declared() -> Declarations:
    def agent(slug: str, before: int) -> Agent:
        model = FunctionModel(partial(_work_sign_and_work, before))
        return Agent(slug=slug, model=model, tools=[work, sign], max_turns=400)

    agents = {slug: agent(slug, before) for slug, before in TURNS_BEFORE.items()}
    return Declarations(agents, FunctionRegistry())


async def _costs_so_far(settings: Settings) -> Costs:
    """Return what was done so far.  A session of Postgres tells when it ends: none may run."""
    connection = await asyncpg.connect(settings.database_url)
    try:

        async def is_told() -> bool:
            return bool(await connection.fetchval(_OTHER_SESSIONS) == 0)

        await wait_until(is_told, description="all sessions have ended", timeout_s=30)
        rows_read = int(await connection.fetchval(_ROWS_READ))
    finally:
        await connection.close()
    async with Redis.from_url(settings.redis_url) as redis:
        stats = await redis.info("stats")
    return Costs(rows_read, stats["total_commands_processed"], stats["total_net_output_bytes"])


@pytest.mark.req("DUR-07", "RUN-12")
async def test_b16_the_last_of_three_hundred_steps_cost_what_the_first_did(
    settings: Settings,
) -> None:
    cost: dict[str, Costs] = {}
    for slug, turns in TURNS_BEFORE.items():
        async with deployment(_declared(), settings, works=True) as made:
            await made.talk("ann", slug, "go", agent=slug)
            await made.until(slug, "awaiting_input")
        before = await _costs_so_far(settings)
        async with deployment(_declared(), settings, works=True) as made:
            async with made.http("ann") as ann:
                call = f"call_{turns}"
                decision = {"key": slug, "toolCallId": call, "decision": "approved"}
                answer = await ann.post("/functions/agents:agentResolveApproval", json=decision)
                assert answer.status_code == 200, answer.text
            await made.until(slug, "completed")
        cost[slug] = await _costs_so_far(settings) - before

    young, old = cost["young"], cost["old"]
    assert old.commands < 2 * young.commands
    assert old.bytes_sent < 2 * young.bytes_sent
    assert old.rows_read - young.rows_read < MAY_BE_READ_AGAIN * 2 * TURNS_BEFORE["old"]
