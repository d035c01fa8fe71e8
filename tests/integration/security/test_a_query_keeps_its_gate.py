"""What a function shows is for who asks: no answer that is kept, and no frame, goes to another.

A watched query is asked once for all who are the same person with the same roles and scopes, so
these tests watch the same thing as people who differ in just one of them.
"""

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest

from tests.support.backend import token_for
from tests.support.client_view import Frame
from tests.support.deployment import Deployment
from tests.support.wait_until import wait_until
from tests.support.ws_client import WsClient

MAP = "the map of the treasure"
QUERIES: Mapping[str, Mapping[str, Any]] = {
    "vault:mine": {},
    "vault:openOne": {"number": 1},
    "vault:forKeepers": {},
}


class Recording(WsClient):
    """Keeps every frame in the order in which it came."""

    def __init__(self, url: str, token: str) -> None:
        super().__init__(url, token)
        self.heard: list[Frame] = []

    @property
    def is_another(self) -> bool:
        """Whether it has been welcomed as somebody else."""
        return len([each for each in self.heard if each["type"] == "welcome"]) == 2

    def _take(self, frame: Frame) -> None:
        self.heard.append(frame)
        super()._take(frame)


async def watch_all(client: WsClient) -> None:
    """Subscribe to every query of the vault, under its own name."""
    for ref, args in QUERIES.items():
        await client.send(type="subscribe", id=ref, query=ref, args=args)


def told(client: WsClient, since: int = 0) -> dict[str, object]:
    """Return the last thing that each subscription was told: a value, or a code."""
    return {
        each["id"]: each["value"] if each["type"] == "snapshot" else each["code"]
        for each in client.loose[since:]
        if each["type"] in {"snapshot", "error"} and "id" in each
    }


@pytest.mark.req("ACC-01", "SUB-05")
async def test_the_same_query_is_another_one_for_another_person_role_or_scope(
    fort: Deployment,
) -> None:
    scoped = await fort.key("ann", "keeper", scopes=["vault:mine", "vault:openOne"])
    nothing: list[str] = []
    closed, locked = "NOT_FOUND", "FORBIDDEN"
    expected: dict[str, tuple[str | None, tuple[object, ...]]] = {
        "ann": (token_for("ann"), ([MAP], MAP, locked)),
        "ann, a keeper": (token_for("ann", "keeper"), ([MAP], MAP, [MAP])),
        "ann, by a key": (scoped, ([MAP], MAP, locked)),
        "ben": (token_for("ben"), (nothing, closed, locked)),
        "ben, a keeper": (token_for("ben", "keeper"), (nothing, closed, [MAP])),
        "an admin": (token_for("root", "admin"), (nothing, closed, locked)),
        "nobody": (None, (nothing, closed, locked)),
        "Ann": (token_for("Ann"), (nothing, closed, locked)),
        "ann with a space": (token_for("ann "), (nothing, closed, locked)),
        "a Cyrillic ann": (token_for("\u0430nn"), (nothing, closed, locked)),
    }
    clients = {who: WsClient(fort.socket_url, token) for who, (token, _) in expected.items()}
    try:
        for client in clients.values():
            await client.connect()
            await watch_all(client)
        for who, (_, answers) in expected.items():
            client = clients[who]
            await wait_until(partial(_has_all, client), description=f"answers to {who}")
            assert dict(zip(QUERIES, answers, strict=True)) == told(client), who
        async with fort.socket("ben") as ben:
            await ben.call("vault:keep", {"what": "a parrot"})
        for who in ("ben", "ben, a keeper"):
            client = clients[who]
            await wait_until(partial(_has_parrot, client), description=f"{who}: news")
        for who in expected.keys() - {"ben", "ben, a keeper", "ann, a keeper"}:
            await clients[who].ping()
            assert "a parrot" not in str(clients[who].loose), who
    finally:
        for client in clients.values():
            await client.close()


def _has_all(client: WsClient) -> bool:
    return told(client).keys() == QUERIES.keys()


def _has_parrot(client: WsClient) -> bool:
    return told(client)["vault:mine"] == ["a parrot"]


@pytest.mark.req("IMP-05", "ACC-01")
async def test_after_somebody_else_has_signed_in_no_frame_is_about_the_one_before(
    manned_fort: Deployment,
) -> None:
    """Ann's data changes all the while; the socket becomes Ben's in the middle of it."""
    await manned_fort.talk("ann", "hers", ["paint", {"state": MAP}])
    await manned_fort.until("hers", "completed")

    async def write() -> None:
        async with manned_fort.socket("ann") as ann:
            for number in range(40):
                await ann.call("vault:keep", {"what": f"{MAP}, copy {number}"})
                if number % 10 == 0:
                    await manned_fort.talk("ann", "hers", f"{MAP} {number}")
                    await manned_fort.until("hers", "completed")

    client = Recording(manned_fort.socket_url, token_for("ann", "keeper"))
    await client.connect()
    try:
        await watch_all(client)
        for query in ("agentMessages", "agentThread", "agentState"):
            args = {"key": "hers"}
            await client.send(type="subscribe", id=query, query=f"agents:{query}", args=args)
        await wait_until(lambda: len(told(client)) == 6, description="all answers")
        assert str(told(client)).count(MAP) >= 5
        writing = asyncio.create_task(write())
        await wait_until(lambda: "copy 5" in str(client.loose), description="news")

        await client.send(type="auth", token=token_for("ben"))
        await wait_until(lambda: client.is_another, description="another identity")
        await writing
        await client.ping()

        after = client.heard[client.heard.index(client.welcome) :]
        assert MAP not in str(after)
        expected: dict[str, object] = {"vault:mine": [], "vault:openOne": "NOT_FOUND"}
        expected |= {
            "vault:forKeepers": "FORBIDDEN",
            "agentMessages": [],
            "agentThread": None,
            "agentState": None,
        }
        await wait_until(lambda: told(client) == expected, description="Ben's answers")
    finally:
        await client.close()
