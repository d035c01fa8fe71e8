"""A key with scopes gets through no route that they do not name, whatever its user and role may."""

import re
from dataclasses import fields, replace
from typing import Any

import httpx2
import pytest

from app import MutationContext, QueryContext, mutation, query
from app.domain.errors import Forbidden, RateLimited
from app.domain.identity import Identity
from app.functions.registry import FunctionRegistry
from app.http.operation import DocumentedRoute
from app.protocol.peer import Peers
from tests.support.backend import Backend, memory_backend
from tests.support.store_world import StoreWorld
from tests.support.told_runs import told_so_far

pytestmark = pytest.mark.req("IMP-05")

ROBOT = Identity("robot", frozenset({"admin"}))


@query
async def orders(ctx: QueryContext) -> list[str]:
    return [ctx.auth.user_id or ""]


@mutation
async def place_order(ctx: MutationContext) -> bool:
    return ctx.auth.user_id is not None


def a_backend(world: StoreWorld, *scopes: str, **more: Any) -> Backend:  # noqa: ANN401  # fields
    """Return a backend to which whoever comes is an admin's key with these scopes."""

    async def authenticate(token: str | None) -> Identity:
        del token
        return replace(ROBOT, scopes=frozenset(scopes))

    registry = FunctionRegistry()
    registry.add("shop", [orders, place_order])
    plain = memory_backend(world)
    given = {each.name: getattr(plain, each.name) for each in fields(Backend) if each.init}
    own = {"registry": registry, "authenticate": authenticate, "retell": told_so_far}
    return Backend(**{**given, **own, **more})


def _addresses(backend: Backend) -> list[tuple[str, str]]:
    """Return every route that asks who is calling, as method and address."""
    found = []
    for route in backend.routes:
        if isinstance(route, DocumentedRoute) and route.operation.asks_who:
            path = route.path.replace("{ref}", "shop:orders")
            found.append((route.method, re.sub(r"{[^}]+}", "support", path)))
    return found


async def test_no_route_answers_a_key_without_its_scope(world: StoreWorld) -> None:
    backend = a_backend(world, "nothing:atAll")
    addresses = _addresses(backend)

    async with backend.client() as robot:
        answers = {each: await _ask(robot, *each) for each in addresses}

    assert len(addresses) >= 14
    assert {each: answer.status_code for each, answer in answers.items()} == dict.fromkeys(
        addresses, 403
    )
    assert all("no scope" in answer.json()["message"] for answer in answers.values())


async def _ask(client: httpx2.AsyncClient, method: str, address: str) -> httpx2.Response:
    # Enough for each: a body that no route could read would be refused before.
    bodies = {"/agents/support": {"message": "hi"}, "/signals": {"message": "hi"}}
    bodies |= {"/events": {"name": "paid"}}
    body = next((body for end, body in bodies.items() if address.endswith(end)), {})
    return await client.request(method, address, json=body if method == "POST" else None)


async def test_a_scope_opens_what_it_names_and_nothing_else(world: StoreWorld) -> None:
    backend = a_backend(world, "shop:orders", "agents:agentRun")

    async with backend.client() as robot:
        answers = {
            "named": await robot.post("/functions/shop:orders"),
            "not named": await robot.post("/functions/shop:place_order"),
            "prompt": await robot.post(
                "/agents/support", json={"message": "hi", "sessionId": "mine"}
            ),
            "its session": await robot.get("/agents/support/sessions/mine"),
            "not there": await robot.post("/functions/shop:missing"),
        }

    assert {name: answer.status_code for name, answer in answers.items()} == {
        "named": 200,
        "not named": 403,
        "prompt": 202,
        "its session": 403,
        "not there": 404,
    }
    assert answers["not named"].json()["message"] == "this key has no scope shop:placeOrder"


async def test_a_module_is_one_scope(world: StoreWorld) -> None:
    backend = a_backend(world, "shop:*")

    async with backend.client() as robot:
        calls = [await robot.post(f"/functions/shop:{n}") for n in ("orders", "placeOrder")]

    assert [each.json() for each in calls] == [["robot"], True]


async def test_server_code_is_bound_by_no_scope(world: StoreWorld) -> None:
    backend = a_backend(world)
    caller = replace(ROBOT, scopes=frozenset())

    assert await backend.functions.call("shop:orders", caller=caller, internal=True) == ["robot"]
    with pytest.raises(Forbidden):
        await backend.functions.call("shop:orders", caller=caller)


@pytest.mark.req("IMP-04")
async def test_a_request_too_many_is_told_when_to_come_again(world: StoreWorld) -> None:
    counted: list[tuple[str | None, str]] = []

    async def admit(caller: Identity, address: str) -> None:
        counted.append((caller.user_id, address))
        raise RateLimited("too many calls", {"retryAfter": 1.25})

    backend = a_backend(world, "shop:*", admit=admit, peers=Peers(1))
    async with backend.client() as robot:
        refused = await robot.post("/functions/shop:orders", headers={"x-forwarded-for": "1.2.3.4"})

    assert refused.status_code == 429
    assert refused.headers["retry-after"] == "2"
    assert refused.json() == {
        "code": "RATE_LIMITED",
        "message": "too many calls",
        "data": {"retryAfter": 1.25},
    }
    assert counted == [("robot", "1.2.3.4")]
