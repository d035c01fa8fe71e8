"""A call repeated under its dedupe key takes effect once and answers the same."""

import asyncio

import pytest
from pydantic import JsonValue

from app.authoring.contexts import ActionContext, MutationContext
from app.authoring.functions import action, mutation
from app.domain.errors import AgentFault, Conflict, InvalidArgument, RateLimited
from app.domain.identity import ANONYMOUS, Identity
from app.functions import dispatch
from app.functions.memory import digest
from tests.support.backend import Backend, memory_backend
from tests.support.store_world import StoreWorld
from tests.support.wait_until import wait_until

ANN, BOB = Identity("ann"), Identity("bob")


class Till:
    """Functions that leave a trace of each time that they ran."""

    def __init__(self) -> None:
        self.rung: list[JsonValue] = []
        self.may_go = asyncio.Event()
        self.may_go.set()

    async def sell(self, ctx: MutationContext, item: JsonValue) -> int:
        self.rung.append(item)
        if item == "sold out":
            raise Conflict("sold out")
        return len(self.rung)

    async def charge(self, ctx: ActionContext, card: str) -> int:
        self.rung.append(card)
        await self.may_go.wait()
        if card == "declined":
            raise RateLimited("later", {"retryAfter": 5})
        if card == "broken":
            raise ValueError("secret")
        return len(self.rung)

    async def refresh(self, ctx: ActionContext) -> int:
        self.rung.append("refresh")
        return len(self.rung)


@pytest.fixture
def till() -> Till:
    return Till()


@pytest.fixture
def backend(world: StoreWorld, till: Till) -> Backend:
    made = memory_backend(world)
    made.registry.add(
        "till", [mutation(till.sell), action(till.charge), action(idempotent=True)(till.refresh)]
    )
    return made


@pytest.mark.parametrize(("ref", "name"), [("till:sell", "item"), ("till:charge", "card")])
async def test_the_second_call_answers_what_the_first_did(
    backend: Backend, till: Till, ref: str, name: str
) -> None:
    answers = [
        await backend.functions.call(ref, {name: "rope"}, caller=ANN, dedupe="k") for _ in range(3)
    ]

    assert answers == [1, 1, 1]
    assert till.rung == ["rope"]


@pytest.mark.parametrize(
    "key", ["scheduled:0199", "0199a1b2-0000-7000-8000-000000000001/tool:sell:call_1"]
)
async def test_nobody_outside_makes_the_call_that_the_server_is_to_make(
    backend: Backend, till: Till, key: str
) -> None:
    call = backend.functions.call

    outside = [await call("till:sell", {"item": "a"}, caller=ANN, dedupe=key) for _ in range(2)]
    inside = [
        await call("till:sell", {"item": "b"}, caller=ANN, dedupe=key, internal=True)
        for _ in range(2)
    ]

    assert (outside, inside) == ([1, 1], [2, 2])
    assert till.rung == ["a", "b"]


async def test_both_spellings_of_a_call_are_one_call(backend: Backend, till: Till) -> None:
    call = backend.functions.call
    args = {"agent": "support", "input": "hi"}

    first = await call("agents:agentRun", args, caller=ANN, dedupe="k")
    second = await call("agents:agent_run", args, caller=ANN, dedupe="k")

    assert first == second


@pytest.mark.parametrize(("ref", "name"), [("till:sell", "item"), ("till:charge", "card")])
async def test_other_arguments_under_the_same_key_are_refused(
    backend: Backend, ref: str, name: str
) -> None:
    await backend.functions.call(ref, {name: "rope"}, caller=ANN, dedupe="k")

    with pytest.raises(InvalidArgument, match="with other arguments"):
        await backend.functions.call(ref, {name: "string"}, caller=ANN, dedupe="k")


async def test_a_key_belongs_to_its_caller_and_its_function(backend: Backend, till: Till) -> None:
    for caller in (ANN, BOB, ANONYMOUS):
        await backend.functions.call("till:sell", {"item": "rope"}, caller=caller, dedupe="k")
    await backend.functions.call("till:charge", {"card": "visa"}, caller=ANN, dedupe="k")

    assert till.rung == ["rope", "rope", "rope", "visa"]


async def test_a_mutation_that_was_refused_may_be_tried_again(backend: Backend, till: Till) -> None:
    args = {"item": "sold out"}

    for _ in range(2):
        with pytest.raises(Conflict):
            await backend.functions.call("till:sell", args, caller=ANN, dedupe="k")

    assert len(till.rung) == 2, "nothing of the first was left behind"


async def test_an_action_that_was_refused_answers_the_same_refusal(
    backend: Backend, till: Till
) -> None:
    args = {"card": "declined"}

    for _ in range(2):
        with pytest.raises(RateLimited) as refused:
            await backend.functions.call("till:charge", args, caller=ANN, dedupe="k")
        assert (refused.value.message, refused.value.data) == ("later", {"retryAfter": 5})

    assert till.rung == ["declined"]


async def test_an_action_that_broke_is_not_tried_again(backend: Backend, till: Till) -> None:
    with pytest.raises(AgentFault):
        await backend.functions.call("till:charge", {"card": "broken"}, caller=ANN, dedupe="k")
    with pytest.raises(Exception, match="till:charge failed"):
        await backend.functions.call("till:charge", {"card": "broken"}, caller=ANN, dedupe="k")

    assert till.rung == ["broken"]


async def test_a_repeated_action_waits_for_the_first_ones_answer(
    backend: Backend, till: Till, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "_POLL_S", 0.001)
    till.may_go.clear()

    async def call() -> object:
        return await backend.functions.call("till:charge", {"card": "visa"}, caller=ANN, dedupe="k")

    async with asyncio.TaskGroup() as group:
        first, second = group.create_task(call()), group.create_task(call())
        await wait_until(lambda: till.rung, description="the action has begun")
        till.may_go.set()

    assert (first.result(), second.result(), till.rung) == (1, 1, ["visa"])


async def test_an_action_that_was_cut_off_is_not_tried_again(
    backend: Backend, till: Till, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatch, "ANSWER_PATIENCE_S", 0.01)
    till.may_go.clear()
    args = {"card": "visa"}
    first = asyncio.create_task(backend.functions.call("till:charge", args, caller=ANN, dedupe="k"))
    await wait_until(lambda: till.rung, description="the action has begun")
    first.cancel()
    await asyncio.wait([first])

    with pytest.raises(Conflict, match="what became of it is not known"):
        await backend.functions.call("till:charge", args, caller=ANN, dedupe="k")

    assert till.rung == ["visa"]


async def test_an_idempotent_action_runs_again(backend: Backend) -> None:
    call = backend.functions.call

    assert [await call("till:refresh", caller=ANN, dedupe="k") for _ in range(2)] == [1, 2]


@pytest.mark.parametrize("key", ["", "k" * 301, "a\nb"])
async def test_a_key_that_cannot_be_one_is_refused(backend: Backend, key: str) -> None:
    with pytest.raises(InvalidArgument, match="dedupe key"):
        await backend.functions.call("till:sell", {"item": 1}, caller=ANN, dedupe=key)


def test_the_order_of_names_does_not_make_other_arguments() -> None:
    assert digest({"a": 1, "b": [1, {"c": None, "d": 2}]}) == digest(
        {"b": [1, {"d": 2, "c": None}], "a": 1}
    )
    assert digest({"a": [1, 2]}) != digest({"a": [2, 1]})
    assert digest({}) != digest({"a": None})
