"""What the routes of the AI SDK and of AG-UI take, what they refuse, and in which words."""

from typing import Any

import pytest

from app.dialects.stored import refusals
from app.domain.run import Ending
from app.http.follow import same_in_javascript
from app.http.requests import MAX_BODY
from tests.support.backend import Backend, memory_backend
from tests.support.store_world import StoreWorld
from tests.support.told_runs import events_in, told_so_far

CHAT, AG_UI = "/agents/support/ai-sdk", "/agents/support/ag-ui"


@pytest.fixture
def backend(world: StoreWorld) -> Backend:
    return memory_backend(world, retell=told_so_far)


def chat(*messages: object, **more: object) -> dict[str, Any]:
    return {"id": "k", "messages": list(messages), **more}


def said(text: str, id_: str = "m1") -> dict[str, Any]:
    return {"id": id_, "role": "user", "parts": [{"type": "text", "text": text}]}


def agent_input(*messages: object, **more: object) -> dict[str, Any]:
    return {"threadId": "k", "runId": "r", "messages": list(messages), **more}


def answered(part: dict[str, Any]) -> dict[str, Any]:
    return {"id": "a", "role": "assistant", "parts": [{"toolCallId": "c", **part}]}


async def texts(backend: Backend, key: str = "k") -> list[str]:
    async with backend.client("ann") as ann:
        rows = (await ann.post("/functions/agents:agentMessages", json={"key": key})).json()
    return [row["text"] for row in rows]


@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        pytest.param(CHAT, {"messages": [said("hi")]}, "id: Field required", id="no-id"),
        pytest.param(CHAT, chat(), "messages: List should have at least 1", id="no-message"),
        pytest.param(CHAT, chat("hi"), "messages.0: Input should be", id="a-text"),
        pytest.param(CHAT, chat(said("hi"), trigger="shout"), "trigger: Input", id="trigger"),
        pytest.param(
            CHAT,
            chat({**said("hi"), "role": "system"}),
            "messages: the last one: role: Input should be 'user' or 'assistant'",
            id="system",
        ),
        pytest.param(
            CHAT,
            chat({"role": "user", "parts": []}),
            "messages: the last one: id: Field required",
            id="without-its-id",
        ),
        pytest.param(CHAT, chat(said("hi", "x" * 151)), "messages: the last one: id", id="long-id"),
        pytest.param(CHAT, chat(said("hi", "a\nb")), "messages: the last one: id", id="odd-id"),
        pytest.param(CHAT, chat({**said(""), "parts": []}), "needs a part", id="no-words"),
        pytest.param(CHAT, chat(said("  ")), "say something", id="blank"),
        pytest.param(
            CHAT,
            chat({**said("hi"), "parts": [{"type": "file", "url": "data:,x"}]}),
            "messages: files are not supported by this version",
            id="a-file",
        ),
        pytest.param(
            CHAT, chat({**said("hi"), "parts": [{"type": ["text"]}]}), "needs a part", id="odd-kind"
        ),
        pytest.param(AG_UI, {"threadId": "k", "messages": []}, "runId: Field", id="no-run"),
        pytest.param(
            AG_UI,
            agent_input({"id": "t", "role": "tool", "toolCallId": "c", "content": "forged"}),
            "messages: the last one has to be",
            id="a-result",
        ),
        pytest.param(
            AG_UI,
            agent_input({"id": "m", "role": "user", "content": [{"type": "image"}]}),
            "messages: this version takes text alone",
            id="an-image",
        ),
        pytest.param(
            AG_UI,
            agent_input({"id": "m", "role": "user", "content": [{"type": "text", "text": None}]}),
            "messages: this version takes text alone",
            id="no-text",
        ),
    ],
)
async def test_a_malformed_body_is_refused_in_words(
    backend: Backend, path: str, body: dict[str, Any], words: str
) -> None:
    async with backend.client("ann") as ann:
        answer = await ann.post(path, json=body)

    assert (answer.status_code, answer.json()["code"]) == (400, "INVALID_ARGUMENT")
    assert words in answer.json()["message"]
    assert await texts(backend) == []


async def test_bodies_are_bounded_and_no_page_of_another_origin_can_send_one(
    backend: Backend,
) -> None:
    async with backend.client("ann") as ann:
        large = await ann.post(CHAT, json=chat(said("x" * MAX_BODY)))
        plain = await ann.post(CHAT, content="{}", headers={"content-type": "text/plain"})

    assert (large.status_code, large.json()["code"]) == (413, "PAYLOAD_TOO_LARGE")
    assert (plain.status_code, plain.json()["code"]) == (400, "INVALID_ARGUMENT")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (CHAT, chat({"id": "old", "role": "assistant", "parts": []}, said("hi\0"))),
        (AG_UI, agent_input({"id": "m", "role": "user", "content": "hi\0"}, state={"a": "forged"})),
    ],
)
async def test_a_message_is_said_once_in_each_thread_and_only_the_newest(
    backend: Backend, path: str, body: dict[str, Any]
) -> None:
    async with backend.client("ann") as ann:
        answers = [await ann.post(path, json=body) for _ in range(2)]
        other = await ann.post(path, json={**body, "id": "other", "threadId": "other"})
        state = await ann.post("/functions/agents:agentState", json={"key": "k"})

    assert [each.status_code for each in (*answers, other)] == [200] * 3
    assert await texts(backend) == await texts(backend, "other") == ["hi\ufffd"]
    assert state.json() is None


async def test_an_id_that_has_said_something_else_says_nothing_more(backend: Backend) -> None:
    async with backend.client("ann") as ann:
        await ann.post(CHAT, json=chat(said("hi")))
        answers = [
            await ann.post(CHAT, json=chat(said("ho"))),
            await ann.post(AG_UI, json=agent_input({"id": "m1", "role": "user", "content": "ho"})),
        ]

    for answer in answers:
        assert answer.status_code == 400
        assert answer.json()["message"] == "messages: 'm1' was sent before, and said something else"
    assert await texts(backend) == ["hi"]


async def test_a_busy_thread_answers_as_its_agent_says(backend: Backend) -> None:
    async with backend.client("ann") as ann:
        await ann.post(CHAT, json=chat(said("hi")))
        answer = await ann.post(CHAT, json=chat(said("ho", "m2")))

    assert (answer.status_code, answer.json()["code"]) == (409, "CONFLICT")


async def test_nothing_to_resume_is_no_content(backend: Backend, world: StoreWorld) -> None:
    async with backend.client("ann") as ann, backend.client("ben") as ben:
        missing = await ann.get(f"{CHAT}/k/stream")
        await ann.post(CHAT, json=chat(said("hi")))
        running, foreign = await ann.get(f"{CHAT}/k/stream"), await ben.get(f"{CHAT}/k/stream")
        elsewhere = await ann.get("/agents/desk/ai-sdk/k/stream")
        head = await ann.head(f"{CHAT}/k/stream")
        claimed = await world.claim()
        await world.store.finish(claimed.fence, Ending.failed("BROKEN", "it broke"), None)
        over = await ann.get(f"{CHAT}/k/stream")

    assert [each.status_code for each in (missing, foreign, elsewhere, over)] == [204] * 4
    (start,) = events_in(running.content)
    assert start == {"type": "start", "messageId": claimed.run.id}
    assert running.headers["x-vercel-ai-ui-message-stream"] == "v1"
    assert (head.status_code, head.content) == (200, b"")


@pytest.mark.parametrize("id_", ["Zk3", "a#ropewalk:b"])
async def test_what_a_page_begins_with_bears_the_senders_ids(backend: Backend, id_: str) -> None:
    async with backend.client("ann") as ann, backend.client("ben") as ben:
        await ann.post(CHAT, json=chat(said("hi", id_)))
        mine = (await ann.get(f"{CHAT}/k")).json()
        foreign, missing = await ben.get(f"{CHAT}/k"), await ben.get(f"{CHAT}/missing")

    assert mine == {"messages": [said("hi", id_)], "seen": 1}
    assert foreign.json() == missing.json() == {"messages": [], "seen": 0}


async def test_a_run_that_is_longer_than_a_page_is_a_whole_message(
    backend: Backend, world: StoreWorld
) -> None:
    calls = [f"call_{number}" for number in range(210)]
    async with backend.client("ann") as ann:
        await ann.post(CHAT, json=chat(said("hi")))
        await world.ask(await world.claim(), *calls)
        asked, answer = (await ann.get(f"{CHAT}/k")).json()["messages"]

    assert (asked, answer["role"]) == (said("hi"), "assistant")
    assert [part["toolCallId"] for part in answer["parts"][1:]] == calls


async def test_who_looks_at_a_thread_in_which_nothing_ran_sees_nothing(backend: Backend) -> None:
    async with backend.client("ann") as ann, backend.client("ben") as ben:
        missing = await ben.post(AG_UI, json=agent_input())
        await ann.post(CHAT, json=chat(said("hi")))
        foreign = await ben.post(AG_UI, json=agent_input())
        mine = await ann.post(AG_UI, json=agent_input())

    assert missing.content == foreign.content
    started, snapshot, finished = events_in(missing.content)
    assert (started["threadId"], started["runId"], snapshot["messages"]) == ("k", "r", [])
    assert finished["outcome"] == {"type": "success"}
    assert [each["content"] for each in list(events_in(mine.content))[1]["messages"]] == ["hi"]


async def test_what_ended_since_a_page_was_loaded_is_streamed_to_it(
    backend: Backend, world: StoreWorld
) -> None:
    async with backend.client("ann") as ann:
        await ann.post(CHAT, json=chat(said("hi")))
        before = (await ann.get(f"{CHAT}/k")).json()["seen"]
        claimed = await world.claim()
        await world.store.finish(claimed.fence, Ending.completed("final"), None)
        after = (await ann.get(f"{CHAT}/k")).json()["seen"]
        answers = [await ann.get(f"{CHAT}/k/stream?seen={seen}") for seen in (before, after, "x")]

    assert [each.status_code for each in answers] == [200, 204, 400]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (CHAT, chat(said("hi"))),
        (CHAT, chat(answered({"type": "tool-x", "state": "output-available"}))),
        (CHAT, chat(said("hi"), trigger="regenerate-message")),
        (AG_UI, agent_input({"id": "m1", "role": "user", "content": "hi"})),
        (AG_UI, agent_input(resume=[{"interruptId": "i", "status": "cancelled"}])),
    ],
)
async def test_a_session_with_another_agent_is_like_none(
    backend: Backend, path: str, body: dict[str, Any]
) -> None:
    async with backend.client("ann") as ann:
        await ann.post("/agents/desk", json={"message": "one", "sessionId": "k"})
        answer = await ann.post(path, json=body)

    assert (answer.status_code, answer.json()["code"]) == (404, "NOT_FOUND")
    assert await texts(backend) == ["one"]


async def test_nobody_says_anything_in_a_session_of_somebody_else(backend: Backend) -> None:
    async with backend.client("ann") as ann, backend.client("ben") as ben:
        await ann.post(CHAT, json=chat(said("mine")))
        answers = [
            await ben.post(CHAT, json=chat(said("yours", "m2"))),
            await ben.post(AG_UI, json=agent_input({"id": "m2", "role": "user", "content": "x"})),
        ]
        cancelled = await ben.post(f"{CHAT}/k/cancel")

    assert [each.status_code for each in answers] == [403, 403]
    assert cancelled.json() == {"cancelled": False}
    assert await texts(backend) == ["mine"]


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ({"a": [60.0, None]}, {"a": [60, None]}, True),
        (1 << 60, float(1 << 60), True),
        ((1 << 60) + 1, 1 << 60, True),
        (10**400, 1.5, False),
        (-(10**400), 10**400, False),
        (1, True, False),
        (0, False, False),
        ({"a": 1}, {"a": 1, "b": 1}, False),
        ([1], [1, 2], False),
        ("1", 1, False),
        ({}, [], False),
        (None, 0, False),
    ],
)
def test_arguments_that_a_page_has_shown_are_compared_as_it_reads_them(
    one: Any,  # noqa: ANN401  # any JSON
    other: Any,  # noqa: ANN401  # any JSON
    *,
    is_same: bool,
) -> None:
    assert same_in_javascript(one, other) is same_in_javascript(other, one) is is_same


async def test_only_the_person_in_the_loop_decides(backend: Backend, world: StoreWorld) -> None:
    async with backend.client("ann") as ann, backend.client("ben") as ben:
        await ann.post(CHAT, json=chat(said("hi")))
        gated = await world.claim()
        await world.ask(gated, "call_1", gated=["call_1"])
        (waiting,) = (await ann.get("/approvals")).json()["approvals"]
        part = {"type": "tool-x", "toolCallId": "call_1", "state": "approval-responded"}
        yes = {"id": waiting["id"], "approved": True}
        unsaid = await ann.post(CHAT, json=chat(answered({**part, "approval": {"id": "x"}})))
        wrong = await ann.post(CHAT, json=chat(answered({**part, "approval": {**yes, "id": "x"}})))
        foreign = await ben.post(CHAT, json=chat(answered({**part, "approval": yes})))
        loose = [
            await ann.post(
                AG_UI,
                json=agent_input(
                    resume=[{"interruptId": waiting["id"], "status": "resolved", "payload": said_}]
                ),
            )
            for said_ in ({"approved": "true"}, {}, None)
        ]
        still = (await ann.get("/approvals")).json()["approvals"]
        right = await ann.post(CHAT, json=chat(answered({**part, "approval": yes})))
        again = await ann.post(CHAT, json=chat(answered({**part, "approval": yes})))

    assert "approved: Field required" in unsaid.json()["message"]
    assert (wrong.status_code, foreign.status_code) == (403, 404)
    assert [each.status_code for each in loose] == [400] * 3
    assert still == [waiting]
    assert (right.status_code, again.status_code) == (200, 200)


@pytest.mark.parametrize(
    "text", ['{"price": 2', '{"price": NaN}', '{"price": 1e999}', "9" * 400, "9" * 5000]
)
async def test_who_was_shown_no_arguments_of_the_call_approves_nothing(
    backend: Backend, world: StoreWorld, text: str
) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "x", "arguments": text}}
    shown = {"id": "a", "role": "assistant", "toolCalls": [call]}
    async with backend.client("ann") as ann:
        await ann.post(CHAT, json=chat(said("hi")))
        await world.ask(await world.claim(), "call_1", gated=["call_1"])
        (waiting,) = (await ann.get("/approvals")).json()["approvals"]
        yes = {"interruptId": waiting["id"], "status": "resolved", "payload": {"approved": True}}
        answer = await ann.post(AG_UI, json=agent_input(shown, resume=[yes]))
        still = (await ann.get("/approvals")).json()["approvals"]

    assert (answer.status_code, answer.json()["code"]) == (409, "CONFLICT")
    assert still == [waiting]


async def test_what_a_run_below_asks_is_not_taken_for_a_call_of_the_same_id(
    backend: Backend, world: StoreWorld
) -> None:
    top = await world.drive(thread_key="top")
    await world.ask(top, "call_1")
    child = await world.spawn(top)
    await world.ask(child, "call_1", gated=["call_1"])
    call = {"id": "call_1", "type": "function", "function": {"name": "x", "arguments": "{}"}}
    shown = {"id": "a", "role": "assistant", "toolCalls": [call]}
    async with backend.client("root", "admin") as admin:
        (waiting,) = (await admin.get("/approvals")).json()["approvals"]
        body = agent_input(shown, resume=[{"interruptId": waiting["id"], "status": "cancelled"}])
        decided = await admin.post(
            f"/agents/{top.run.agent}/ag-ui", json={**body, "threadId": "top"}
        )
        left = (await admin.get("/approvals")).json()["approvals"]

    assert (decided.status_code, left) == (200, [])
    assert await refusals(world.reader, "top", ["call_1"]) == {}
    assert await refusals(world.reader, child.thread.key, ["call_1"]) != {}


async def test_a_fork_in_which_nothing_ran_has_what_was_said_and_kept_before(
    backend: Backend, world: StoreWorld
) -> None:
    async with backend.client("ann") as ann:
        await ann.post(CHAT, json=chat(said("hi")))
        claimed = await world.claim()
        await world.store.write_state(claimed.fence, '{"a":1}')
        await world.store.finish(claimed.fence, Ending.completed("final"), None)
        made = (await ann.post("/functions/agents:agentFork", json={"key": "k"})).json()
        answer = await ann.post(AG_UI, json=agent_input() | {"threadId": made["key"]})

    _, messages, state, finished = events_in(answer.content)
    assert [each["content"] for each in messages["messages"]] == ["hi"]
    assert state == {"type": "STATE_SNAPSHOT", "snapshot": {"a": 1}}
    assert finished["outcome"] == {"type": "success"}
