"""Who is signed in by ``ropewalk dev``: whoever sits at its machine, unless it was told anyone."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from app.functions.registry import FunctionRegistry
from app.http.services import DevServices
from app.telemetry.metrics import Metrics
from tests.support.backend import Backend

pytestmark = pytest.mark.req("IMP-04")


def in_dev(backend: Backend, *, anyone: bool = False) -> Backend:
    dev = DevServices(
        "dev-user", "dev-admin", lambda user, _: user, Path("nowhere"), signs_in_anyone=anyone
    )
    return replace(backend, registry=FunctionRegistry(), metrics=Metrics(), dev=dev)


async def status(
    backend: Backend,
    peer: str,
    headers: Mapping[str, str] | None = None,
    host: str = "192.168.1.5:8000",
) -> int:
    async with backend.client(peer=peer) as client:
        answer = await client.get(
            "/dev/session?role=admin", headers={"host": host, **(headers or {})}
        )
    return int(answer.status_code)


@pytest.mark.parametrize("peer", ["127.0.0.1", "127.8.9.1", "::1", "::ffff:127.0.0.1"])
async def test_a_program_on_this_machine_is_signed_in(backend: Backend, peer: str) -> None:
    assert await status(in_dev(backend), peer) == 200


@pytest.mark.parametrize(
    "peer", ["192.168.1.7", "172.17.0.1", "fe80::1%eth0", "::ffff:10.0.0.1", "testclient", ""]
)
@pytest.mark.parametrize("host", ["192.168.1.5:8000", "localhost:8000", "127.0.0.1:8000"])
async def test_nobody_from_elsewhere_is_signed_in_whatever_name_he_asks_by(
    backend: Backend, peer: str, host: str
) -> None:
    assert await status(in_dev(backend), peer, host=host) == 403


async def test_the_refusal_says_where_to_open_the_page_and_what_lets_others_in(
    backend: Backend,
) -> None:
    async with in_dev(backend).client(peer="192.168.1.7") as client:
        answer = await client.get("/dev/session", headers={"host": "192.168.1.5:8017"})

    assert answer.json() == {
        "code": "FORBIDDEN",
        "message": "This server signs in only who opens it on the machine it runs on, as"
        " http://localhost:8017. To let anyone in who can reach it, start it with"
        " `ropewalk dev --sign-in anyone`.",
    }


@pytest.mark.parametrize(
    "header",
    ["X-Forwarded-For", "Forwarded", "X-Real-IP", "Via", "X-Forwarded-Host", "X-Forwarded-Proto"],
)
async def test_a_header_of_proxies_never_makes_a_request_local(
    backend: Backend, header: str
) -> None:
    """From elsewhere it is invented; from here it says that the asker is somewhere else."""
    said = {header: "127.0.0.1"}

    assert await status(in_dev(backend), "192.168.1.7", said) == 403
    assert await status(in_dev(backend), "127.0.0.1", said) == 403


def test_a_client_without_an_address_is_not_from_here(backend: Backend) -> None:
    client = TestClient(in_dev(backend).app, base_url="http://localhost")

    assert client.get("/dev/session").status_code == 403


async def test_who_was_told_to_sign_in_anyone_does_but_never_under_a_strangers_name(
    backend: Backend,
) -> None:
    told = in_dev(backend, anyone=True)

    assert await status(told, "192.168.1.7") == 200
    assert await status(told, "127.0.0.1", {"X-Forwarded-For": "9.9.9.9"}) == 200
    assert await status(told, "192.168.1.7", host="evil.example") == 403
