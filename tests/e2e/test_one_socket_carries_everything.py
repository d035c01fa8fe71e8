"""One socket carries calls of a team's functions and the threads that they start."""

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect

from tests.support.backend import token_for
from tests.support.gateway_process import GatewayProcess, a_gateway

AGENTS = """
from app import Agent, MutationContext, QueryContext, mutation, query

helper = Agent(model="demo:", access="public")

@query
async def greeting(ctx: QueryContext, name: str) -> str:
    return f"Hello {name}, you are {ctx.auth.user_id}"

@query(internal=True)
async def secret(ctx: QueryContext) -> str:
    return "secret"

@mutation
async def ask(ctx: MutationContext, question: str, thread_key: str) -> str:
    run = await ctx.agents.helper.run(
        input=question, owner=ctx.auth.user_id, thread_key=thread_key
    )
    return run.id
"""


@pytest.fixture
def gateway(
    tmp_path: Path, database_url: str, redis_url: str, redis_namespace: str
) -> Iterator[GatewayProcess]:
    folder = tmp_path / "agents"
    folder.mkdir()
    (folder / "team.py").write_text(AGENTS)
    with a_gateway(
        tmp_path,
        database_url=database_url,
        redis_url=redis_url,
        namespace=redis_namespace,
        agents=folder,
    ) as running:
        yield running


class Client:
    """Sends frames and waits for those of one id; others wait for whoever asks for them."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._waiting: dict[object, list[dict[str, Any]]] = defaultdict(list)

    async def ask(self, **frame: object) -> dict[str, Any]:
        """Send a frame and return the next one that carries its id."""
        await self._socket.send(json.dumps(frame))
        return await self.next(str(frame["id"]))

    async def next(self, frame_id: str) -> dict[str, Any]:
        """Return the next frame that carries this id."""
        while not self._waiting[frame_id]:
            frame: dict[str, Any] = json.loads(await self._socket.recv())
            self._waiting[frame.get("id")].append(frame)
        return self._waiting[frame_id].pop(0)


@pytest.mark.req("SUB-05", "ACC-05", "IMP-01")
async def test_calls_and_threads_share_a_socket(gateway: GatewayProcess) -> None:
    async with connect(gateway.socket_url, subprotocols=["ropewalk.v1"]) as socket:  # type: ignore[list-item]  # a NewType of str
        await socket.send(json.dumps({"type": "hello", "protocol": 1, "token": token_for("ann")}))
        client = Client(socket)
        messages = {"query": "agents:agentMessages", "args": {"key": "k"}}
        empty = await client.ask(type="subscribe", id="thread", **messages)
        args: dict[str, object] = {"name": "Ann"}
        greeted = await client.ask(type="call", id="1", fn="team:greeting", args=args)
        asked = {"question": "Who are you?", "threadKey": "k"}
        started = await client.ask(type="call", id="2", fn="team:ask", args=asked, dedupe="send-1")
        pushed = await client.next("thread")
        refused = [
            await client.ask(type="call", id=fn, fn=fn, args={})
            for fn in ("team:secret", "agents:agentAppendMessage")
        ]
        wrong = await client.ask(type="call", id="3", fn="team:greeting", args={"name": 1})

    (row,) = pushed["value"]
    assert empty["value"] == []
    assert greeted["value"] == "Hello Ann, you are ann"
    assert (pushed["type"], row["text"], row["dedupe"]) == ("snapshot", "Who are you?", "send-1")
    assert row["runId"] == started["value"]
    assert [(each["type"], each["code"]) for each in refused] == [("error", "NOT_FOUND")] * 2
    assert (wrong["code"], "name" in wrong["message"]) == ("INVALID_ARGUMENT", True)
