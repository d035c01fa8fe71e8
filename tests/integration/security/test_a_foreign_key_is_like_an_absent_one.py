"""Nobody learns that a key is in use: not from bytes, not from frames, not from what it costs.

What is compared is exact: status, headers, body, frames, and every statement that reaches the
database.  The clock is looked at as well, but only to notice something gross: noise is no proof.
"""

import statistics
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, TypeAlias

import pytest

from app.settings import Settings
from tests.support.deployment import Deployment, deployment, statements
from tests.support.team_folder import TeamFolder
from tests.support.wait_until import wait_until
from tests.support.ways_in import Answer, Visitor, a_visitor

FOREIGN, ABSENT = "the-foreign-key", "the-missing-key"
OWN = "a-key-of-bens"
STRANGERS = {"nobody": None, "somebody": "ben"}
TIMES = 60
SAME_CLASS = 1.8
"""Medians of a read that finds ten times the rows differ by more."""

Names: TypeAlias = Mapping[str, Mapping[str, str]]

_SESSION = "/agents/desk/sessions/{key}"
ROUTES: Mapping[str, Mapping[str, Any] | None] = {
    f"GET {_SESSION}": None,
    f"GET {_SESSION}?before=3": None,
    f"GET {_SESSION}?limit=1": None,
    f"GET {_SESSION}/stream": None,
    f"POST {_SESSION}/cancel": {},
    f"POST {_SESSION}/cancel?": {"runId": "{run}"},
    f"POST {_SESSION}/retry": {},
    f"POST {_SESSION}/signals": {"message": "hello"},
    f"POST {_SESSION}/signals?": {"message": "hello", "mode": "inject"},
    "GET /agents/desk/sessions": None,
    "GET /agents/desk/sessions?before={thread}": None,
    "GET /runs/{run}": None,
    "POST /runs/{run}/cancel": {},
    "POST /runs/{run}/retry": {},
    "POST /runs/{run}/events": {"name": "go"},
    f"POST {_SESSION}/fork": {},
    f"POST {_SESSION}/fork?": {"messageId": "{message}", "edge": "before"},
    f"POST {_SESSION}/regenerate": {},
    f"POST {_SESSION}/regenerate?": {"messageId": "{message}"},
    f"POST {_SESSION}/messages/{{message}}/edit": {"message": "hello"},
    f"GET {_SESSION}/branches": None,
    f"POST {_SESSION}/branches/{{key}}/select": {},
    "POST /agents/desk/sessions/{own}/branches/{key}/select": {},
    "POST /agents/desk/sessions/{own}/regenerate": {"messageId": "{message}"},
    "POST /agents/desk/sessions/{own}/fork": {"messageId": "{message}"},
    "POST /agents/desk/sessions/{own}/messages/{message}/edit": {"message": "hello"},
}
_THEIRS: Mapping[str, Mapping[str, Any] | None] = {
    "GET /agents/desk/ai-sdk/{key}": None,
    "GET /agents/desk/ai-sdk/{key}/stream": None,
    "POST /agents/desk/ai-sdk/{key}/cancel": {},
    "POST /agents/desk/ai-sdk": {
        "id": "{key}",
        "trigger": "regenerate-message",
        "messages": [{"id": "m", "role": "user", "parts": []}],
    },
    "POST /agents/desk/ai-sdk?": {
        "id": "{key}",
        "messages": [
            {
                "id": "{run}",
                "role": "assistant",
                "parts": [
                    {
                        "type": "tool-sign",
                        "toolCallId": "call_1",
                        "state": "approval-responded",
                        "approval": {"id": "{message}", "approved": True},
                    }
                ],
            }
        ],
    },
    "POST /agents/desk/ag-ui": {
        "threadId": "{key}",
        "runId": "r",
        "messages": [{"id": "a", "role": "assistant", "content": "forged"}],
    },
    "POST /agents/desk/ag-ui?": {
        "threadId": "{key}",
        "runId": "r",
        "messages": [],
        "resume": [{"interruptId": "{message}", "status": "cancelled"}],
    },
}
"""The routes of other protocols."""

FUNCTIONS: Mapping[str, Mapping[str, Any]] = {
    "agents:agentMessages": {"key": "{key}"},
    "agents:agent_messages": {"key": "{key}", "before": 2},
    "agents:agentThread": {"key": "{key}"},
    "agents:agentState": {"key": "{key}"},
    "agents:agentCancel": {"key": "{key}"},
    "agents:agent_cancel": {"key": "{key}", "runId": "{run}"},
    "agents:agentRetry": {"key": "{key}"},
    "agents:agentResolveApproval": {
        "key": "{key}",
        "toolCallId": "call_1",
        "decision": "approved",
    },
    "agents:agentRegenerate": {"key": "{key}"},
    "agents:agent_regenerate": {"key": "{own}", "messageId": "{message}"},
    "agents:agentEditMessage": {"key": "{key}", "messageId": "{message}", "input": "hello"},
    "agents:agent_edit_message": {"key": "{own}", "messageId": "{message}", "input": "hello"},
    "agents:agentSelectBranch": {"key": "{key}", "branch": "{key}"},
    "agents:agent_select_branch": {"key": "{own}", "branch": "{key}"},
    "agents:agentFork": {"key": "{key}"},
    "agents:agent_fork": {"key": "{own}", "messageId": "{message}"},
}


@pytest.fixture
async def names(folder: TeamFolder, settings: Settings) -> Names:
    """A thread of Ann's with a state, messages and an open approval, and one that is not."""
    async with deployment(folder.load(), settings, works=True) as fort:
        await fort.talk("ann", FOREIGN, ["paint", {"state": "secret"}])
        await fort.until(FOREIGN, "completed")
        for _ in range(20):
            await fort.talk("ann", FOREIGN, "say nothing")
            await fort.until(FOREIGN, "completed")
        run = await fort.talk("ann", FOREIGN, ["sign", {}])
        await fort.until(FOREIGN, "awaiting_input")
        page = await fort.stores.reader.snapshot(FOREIGN, 3)
        assert page is not None
        await fort.talk("ben", OWN, "say nothing")
        await fort.until(OWN, "completed")
    thread, message = page.thread.id, page.messages[0].id
    foreign = {"key": FOREIGN, "run": run, "thread": thread, "message": message}
    absent = {"key": ABSENT, **{name: _other(foreign[name]) for name in foreign if name != "key"}}
    return {"foreign": {**foreign, "own": OWN}, "absent": {**absent, "own": OWN}}


def _other(id_: str) -> str:
    """Return an id that nothing has."""
    return id_[:-6] + ("000000" if id_[-6:] != "000000" else "111111")


def _named(template: Any, names: Mapping[str, str]) -> Any:  # noqa: ANN401  # any JSON
    match template:
        case str():
            return template.format(**names)
        case dict():
            return {name: _named(value, names) for name, value in template.items()}
        case list():
            return [_named(value, names) for value in template]
        case _:
            return template


Attempt: TypeAlias = Callable[[Mapping[str, str]], Awaitable[Answer]]


def _attempts(visitor: Visitor) -> dict[str, Attempt]:
    """Return all that a stranger may try, by what it is called."""

    def route(text: str, body: Any) -> Attempt:  # noqa: ANN401  # any JSON
        method, path = text.split()
        return lambda names: visitor.request(method, _named(path, names), _named(body, names))

    def function(way: str, ref: str, args: Any) -> Attempt:  # noqa: ANN401  # any JSON
        return lambda names: visitor.ways[way](ref, _named(args, names))

    routes = {text: route(text, body) for text, body in {**ROUTES, **_THEIRS}.items()}
    functions = {
        f"{way}: {ref}": function(way, ref, args)
        for way in visitor.ways
        for ref, args in FUNCTIONS.items()
    }
    return routes | functions


@pytest.mark.req("ACC-01", "ACC-02")
@pytest.mark.parametrize("who", STRANGERS)
async def test_every_way_in_answers_both_in_the_same_bytes_after_the_same_statements(
    names: Names,
    fort: Deployment,
    monkeypatch: pytest.MonkeyPatch,
    who: str,
) -> None:
    told: dict[str, object] = {}
    async with a_visitor(fort, STRANGERS[who]) as visitor:
        for what, attempt in _attempts(visitor).items():
            await attempt(names["absent"])  # whatever is done once is done
            seen = []
            for kind in ("foreign", "absent"):
                with statements(monkeypatch) as sent:
                    answer = await attempt(names[kind])
                seen.append((answer, [each for each in sent if "agent_revocations" not in each]))
            if seen[0] != seen[1] or FOREIGN in str(seen[0][0]):
                told[what] = seen

    assert told == {}
    assert await fort.status(FOREIGN) == "awaiting_input", "and nothing was done to it"


@pytest.mark.req("ACC-02")
async def test_both_are_in_the_same_class_of_time(names: Names, fort: Deployment) -> None:
    slow: dict[str, float] = {}
    async with a_visitor(fort, "ben") as visitor:
        attempts = _attempts(visitor)
        for what in (
            f"GET {_SESSION}",
            "GET /runs/{run}",
            "HTTP: agents:agentThread",
            "HTTP: agents:agentState",
        ):
            took: dict[str, list[float]] = {"foreign": [], "absent": []}
            for _ in range(TIMES):
                for kind, times in took.items():
                    begun = time.perf_counter()
                    await attempts[what](names[kind])
                    times.append(time.perf_counter() - begun)
            foreign, absent = (statistics.median(each) for each in took.values())
            if not 1 / SAME_CLASS < foreign / absent < SAME_CLASS:
                slow[what] = foreign / absent

    assert slow == {}


@pytest.mark.req("ACC-02")
async def test_who_watches_a_key_is_not_told_when_somebody_else_begins_to_use_it(
    manned_fort: Deployment,
) -> None:
    async with (
        a_visitor(manned_fort, "ben") as ben,
        a_visitor(manned_fort) as nobody,
        manned_fort.socket("ann") as ann,
    ):
        for each in (ben, nobody):
            for query in ("agentMessages", "agentThread", "agentState"):
                frame = {"type": "subscribe", "query": f"agents:{query}", "args": {"key": ABSENT}}
                await each.socket.send(id=query, **frame)
            await wait_until(partial(_has_frames, each, 3), description="answers")
        mine = await ann.watch_thread(ABSENT)
        await manned_fort.talk("ann", ABSENT, ["paint", {"state": "secret"}])
        await wait_until(
            lambda: mine.value is not None and mine.value["status"] == "completed",
            description="Ann's thread has answered",
        )
        await manned_fort.gateway.reconcile()
        for each in (ben, nobody):
            await each.socket.ping()
            frames = [frame for frame in each.socket.loose if frame["type"] != "pong"]
            assert [frame["value"] for frame in frames] == [[], None, None]


def _has_frames(visitor: Visitor, count: int) -> bool:
    return len(visitor.socket.loose) == count


@pytest.mark.req("ACC-01", "ACC-02")
@pytest.mark.parametrize("key", [FOREIGN, ABSENT])
async def test_whoever_becomes_its_owner_on_a_live_socket_is_shown_it_then(
    names: Names, fort: Deployment, key: str
) -> None:
    del names
    async with fort.socket("ben") as socket:
        view = await socket.watch(key)
        assert view.value == []

        async with fort.socket("ann") as ann:
            await socket.send(type="auth", token=ann.token)
        await wait_until(
            lambda: socket.welcome["identity"]["userId"] == "ann", description="a new identity"
        )
        if key == FOREIGN:
            await wait_until(lambda: bool(view.value), description="her messages")
        else:
            await fort.gateway.reconcile()
            assert view.value == []
