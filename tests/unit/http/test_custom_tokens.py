"""The team's own callable lets in whom it names; whatever goes wrong in it is never a pass."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from app import Identity, Unauthenticated
from app.domain.errors import Forbidden, TransientFault
from app.http import custom
from app.http.custom import CustomTokens

pytestmark = pytest.mark.req("IMP-05")

Judge = Callable[[str], Awaitable[Identity | None]]
ANN = Identity("ann", frozenset({"admin"}))


async def knows_ann(token: str) -> Identity | None:
    return ANN if token == "good" else None  # noqa: S105


async def test_whom_it_names_comes_in() -> None:
    assert await CustomTokens(knows_ann, "n").authenticate("good") == ANN


async def test_none_is_a_refusal() -> None:
    with pytest.raises(Unauthenticated, match="not known"):
        await CustomTokens(knows_ann, "n").authenticate("bad")


async def _refuses(token: str) -> Identity | None:
    raise Forbidden(f"not today, {token}")


async def test_its_own_words_reach_the_caller() -> None:
    with pytest.raises(Forbidden, match="not today"):
        await CustomTokens(_refuses, "n").authenticate("t")


async def _breaks(token: str) -> Identity | None:
    raise KeyError(token)


async def _exits(token: str) -> Identity | None:
    raise SystemExit(token)


async def _answers_true(token: str) -> Identity | None:
    return bool(token)  # type: ignore[return-value]  # what the test is about


async def _answers_nobody(token: str) -> Identity | None:
    del token
    return Identity()


async def _answers_a_line_break(token: str) -> Identity | None:
    return Identity(f"{token}\n")


async def _awaits_what_was_cancelled(token: str) -> Identity | None:
    del token
    stray: asyncio.Future[Identity] = asyncio.get_running_loop().create_future()
    stray.cancel()
    return await stray


@pytest.mark.parametrize(
    "judge",
    [
        _breaks,
        _exits,
        _answers_true,
        _answers_nobody,
        _answers_a_line_break,
        _awaits_what_was_cancelled,
    ],
)
async def test_whatever_breaks_is_logged_and_never_a_pass(
    judge: Judge, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(TransientFault) as refused:
        await CustomTokens(judge, "agents.auth:judge").authenticate("confidential")

    assert "confidential" not in refused.value.message
    assert "agents.auth:judge" in caplog.text


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"roles": "no-admin"}, "roles"),
        ({"roles": ["admin"]}, "roles"),
        ({"roles": frozenset({1})}, "roles"),
        ({"scopes": "agents:*"}, "scopes"),
        ({"issued_at": datetime(2026, 1, 1)}, "issued_at"),  # noqa: DTZ001  # that is what is wrong
        ({"issued_at": 1_700_000_000}, "issued_at"),
        ({"email": ["ann@x"]}, "email"),
    ],
)
async def test_an_identity_that_holds_something_else_than_it_says_is_no_pass(
    wrong: dict[str, Any], says: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def judge(token: str) -> Identity | None:
        return replace(Identity(token), **wrong)

    with pytest.raises(TransientFault):
        await CustomTokens(judge, "n").authenticate("ann")

    assert says in caplog.text


async def test_one_that_hangs_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(custom, "PATIENCE_S", 0.01)

    async def hangs(token: str) -> Identity | None:
        del token
        await asyncio.Event().wait()
        return None

    with pytest.raises(TransientFault):
        await CustomTokens(hangs, "n").authenticate("t")


async def test_a_caller_who_leaves_is_no_failure_of_it() -> None:
    begun = asyncio.Event()

    async def hangs(token: str) -> Identity | None:
        del token
        begun.set()
        await asyncio.Event().wait()
        return None

    task = asyncio.create_task(CustomTokens(hangs, "n").authenticate("t"))
    await begun.wait()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
