"""``ctx.scheduler`` with functions: called once when due, as whoever scheduled it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.authoring.contexts import ActionContext, MutationContext, QueryContext
from app.authoring.functions import ServerFunction, action, mutation, query
from app.domain.errors import Conflict, InvalidArgument, NotFound, TransientFault
from app.domain.identity import Identity
from app.domain.scheduled import CallTarget
from app.domain.storable import Json
from app.functions.due_calls import TRIES, DueCalls
from app.testing.memory_database import MemoryCall
from tests.support.backend import Backend, memory_backend
from tests.support.store_world import StoreWorld
from tests.support.wait_until import wait_until

ANN = Identity("ann", frozenset({"editor"}))
LEASE = timedelta(seconds=15)

made: list[Any] = []


@mutation(internal=True)
async def note(ctx: MutationContext, text: str, times: int = 1) -> None:
    made.append((text, times, ctx.auth.user_id, sorted(ctx.auth.roles)))


@mutation
async def refuse(ctx: MutationContext) -> None:
    raise Conflict("not now")


@mutation
async def wobble(ctx: MutationContext) -> None:
    made.append("wobble")
    raise TransientFault("the network is away")


@action
async def send(ctx: ActionContext) -> None:
    made.append("send")


@action
async def send_and_wobble(ctx: ActionContext) -> None:
    made.append("send")
    raise TransientFault("the network is away")


@action
async def hang(ctx: ActionContext) -> None:
    made.append("hang")
    await asyncio.Event().wait()


@query
async def look(ctx: QueryContext) -> int:
    return 1


@mutation
async def schedule(
    ctx: MutationContext, ref: str, args: dict[str, Any], *, fails: bool = False
) -> str:
    scheduled = await ctx.scheduler.run_after(0, ref, args)
    if fails:
        raise Conflict("changed my mind")
    return scheduled.id


@action
async def schedule_by_object(ctx: ActionContext) -> str:
    later = await ctx.scheduler.run_after(timedelta(hours=1), note, {"text": "later"})
    return later.id


@mutation
async def cancel(ctx: MutationContext, schedule_id: str) -> bool:
    return await ctx.scheduler.cancel(schedule_id)


@mutation
async def schedule_run(ctx: MutationContext) -> str:
    return (await ctx.scheduler.run_after(0, ctx.agents.support, {"input": "hi"})).id


@pytest.fixture
def backend(world: StoreWorld) -> Backend:
    made.clear()
    backend = memory_backend(world)
    functions: list[ServerFunction[..., Any]] = [
        note,
        refuse,
        wobble,
        send,
        send_and_wobble,
        look,
        schedule,
        schedule_by_object,
    ]
    backend.registry.add("team", [*functions, hang, cancel, schedule_run])
    return backend


@asynccontextmanager
async def making(
    backend: Backend, call: Callable[..., Any] | None = None
) -> AsyncIterator[DueCalls]:
    """Make due calls while the block lasts."""
    calls = DueCalls(call or backend.functions.call, backend.registry, backend.calls)
    task = asyncio.create_task(calls.run())
    try:
        yield calls
    finally:
        task.cancel()
        await asyncio.wait([task])


async def do(backend: Backend, function: str, /, **args: Json) -> Any:  # noqa: ANN401  # what it answers
    return await backend.functions.call(f"team:{function}", args, caller=ANN)


def stored(world: StoreWorld, call_id: str) -> MemoryCall:
    found: MemoryCall = world.store._db.calls[call_id]  # type: ignore[attr-defined]  # in memory
    return found


async def until_made(world: StoreWorld, call_id: str) -> str | None:
    """Wait until a call is over and return its error."""
    await wait_until(lambda: stored(world, call_id).made_at, description="the call is over")
    return stored(world, call_id).error


@pytest.mark.parametrize("ref", ["team:note", "team:send"])
async def test_a_call_with_the_arguments_of_another_release_is_left_to_its_workers(
    backend: Backend, world: StoreWorld, ref: str
) -> None:
    past = datetime.now(UTC) - timedelta(minutes=1)
    await backend.calls.put("newer", CallTarget(ref, '{"novel":1}', ANN), past)

    async with making(backend):
        call = stored(world, "newer")
        await wait_until(lambda: call.due_at > past, description="it is put off")
    before = call.made_at
    call.due_at, call.attempts = past, TRIES - 1
    async with making(backend):
        error = await until_made(world, "newer")

    assert (before, made) == (None, [])
    assert error is not None
    assert "novel: there is no such argument" in error


@pytest.mark.req("SCH-04")
async def test_a_call_that_breaks_takes_no_other_one_with_it(
    backend: Backend, world: StoreWorld, caplog: pytest.LogCaptureFixture
) -> None:
    async def call(ref: str, args: Any, **options: Any) -> Json:  # noqa: ANN401  # as it is handed on
        if args["text"] == "broken":
            raise LookupError("nobody meant this")
        return await backend.functions.call(ref, args, **options)

    broken = await do(backend, "schedule", ref="team:note", args={"text": "broken"})
    async with making(backend, call):
        await wait_until(lambda: "nobody meant this" in caplog.text, description="it broke")
        sound = await do(backend, "schedule", ref="team:note", args={"text": "sound"})
        await until_made(world, sound)

    assert [text for text, *_ in made] == ["sound"]
    assert stored(world, broken).made_at is None


@pytest.mark.req("SCH-04", "IMP-03")
async def test_a_mutation_is_called_once_as_whoever_scheduled_it(
    backend: Backend, world: StoreWorld
) -> None:
    call_id = await do(backend, "schedule", ref="team:note", args={"text": "hi"})
    before = list(made)

    async with making(backend), making(backend):
        error = await until_made(world, call_id)

    assert (before, error) == ([], None)
    assert made == [("hi", 1, "ann", ["editor"])]


@pytest.mark.req("IMP-03")
async def test_a_mutation_that_rolls_back_has_scheduled_nothing(
    backend: Backend, world: StoreWorld
) -> None:
    with pytest.raises(Conflict, match="changed my mind"):
        await do(backend, "schedule", ref="team:note", args={"text": "hi"}, fails=True)

    assert world.store._db.calls == {}  # type: ignore[attr-defined]  # in memory


@pytest.mark.parametrize(
    ("ref", "args", "error", "said"),
    [
        ("team:none", {}, NotFound, "no function 'team:none'"),
        ("team:look", {}, InvalidArgument, "is a query"),
        ("team:note", {}, InvalidArgument, "text: is required"),
        ("team:note", {"text": 5}, InvalidArgument, "text: .*valid string"),
        ("team:note", {"text": "x" * 2_000_000}, InvalidArgument, "at most"),
    ],
)
async def test_what_could_not_be_called_is_refused_at_once(
    backend: Backend, ref: str, args: dict[str, Json], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        await do(backend, "schedule", ref=ref, args=args)


async def test_a_schedule_can_be_taken_back_while_it_waits(
    backend: Backend, world: StoreWorld
) -> None:
    call_id = await do(backend, "schedule_by_object")
    run_id = await do(backend, "schedule_run")
    answers = [
        await do(backend, "cancel", schedule_id=each)
        for each in (call_id, run_id, call_id, "there is none")
    ]

    assert answers == [True, True, False, False]
    assert await world.store.fire_due(10) == 0


async def test_a_call_that_was_made_cannot_be_taken_back(
    backend: Backend, world: StoreWorld
) -> None:
    call_id = await do(backend, "schedule", ref="team:note", args={"text": "hi"})
    async with making(backend):
        await until_made(world, call_id)

    assert not await do(backend, "cancel", schedule_id=call_id)


async def test_a_refusal_is_the_calls_end_and_written_down(
    backend: Backend, world: StoreWorld
) -> None:
    call_id = await do(backend, "schedule", ref="team:refuse", args={})

    async with making(backend):
        assert await until_made(world, call_id) == "not now"


async def test_a_mutation_is_put_off_while_something_is_away_and_an_action_is_not(
    backend: Backend, world: StoreWorld
) -> None:
    wobbling = await do(backend, "schedule", ref="team:wobble", args={})
    sending = await do(backend, "schedule", ref="team:sendAndWobble", args={})

    async with making(backend):
        assert await until_made(world, sending) == "the network is away"
        call = stored(world, wobbling)
        await wait_until(lambda: call.taken_until is None, description="put off")

    assert (call.made_at, call.attempts) == (None, 1)
    assert call.due_at > world.store._db.now() + timedelta(seconds=1)  # type: ignore[attr-defined]  # in memory
    assert sorted(made) == ["send", "wobble"]


@pytest.mark.parametrize("ref", ["team:note", "team:send"])
async def test_a_process_that_dies_between_call_and_mark_repeats_nothing(
    backend: Backend, world: StoreWorld, ref: str
) -> None:
    args: dict[str, Json] = {"text": "hi"} if ref == "team:note" else {}
    call_id = await do(backend, "schedule", ref=ref, args=args)
    (due,) = await backend.calls.claim([ref], 1, timedelta(seconds=-1))
    dedupe = f"scheduled:{due.id}"
    target = due.target
    await backend.functions.call(ref, args, caller=target.caller, dedupe=dedupe, internal=True)

    async with making(backend):
        error = await until_made(world, call_id)

    assert (len(made), error) == (1, None)
    assert stored(world, call_id).attempts == 2


async def test_a_call_that_takes_long_does_not_hold_up_others_and_ends_before_its_worker_leaves(
    backend: Backend, world: StoreWorld
) -> None:
    may_end = asyncio.Event()

    async def call(ref: str, *args: Any, **options: Any) -> Json:  # noqa: ANN401  # as of call
        if ref == "team:send":
            await may_end.wait()
        return await backend.functions.call(ref, *args, **options)

    slow = await do(backend, "schedule", ref="team:send", args={})
    async with making(backend, call) as calls:
        await wait_until(lambda: stored(world, slow).attempts, description="it has begun")
        quick = await do(backend, "schedule", ref="team:note", args={"text": "hi"})
        await until_made(world, quick)
        leaving = asyncio.create_task(calls.hand_over(timedelta(seconds=10)))
        late = await do(backend, "schedule", ref="team:note", args={"text": "late"})
        may_end.set()
        await leaving

        assert stored(world, slow).made_at is not None
        assert stored(world, late).attempts == 0


async def test_a_call_that_is_still_in_flight_when_patience_ends_is_cut_off(
    backend: Backend, world: StoreWorld
) -> None:
    async def call(*args: Any, **options: Any) -> Json:  # noqa: ANN401  # as of call
        await asyncio.Event().wait()
        return None

    slow = await do(backend, "schedule", ref="team:send", args={})
    async with making(backend, call) as calls:
        await wait_until(lambda: stored(world, slow).attempts, description="it has begun")
        await calls.hand_over(timedelta(seconds=0.01))

    assert stored(world, slow).made_at is None, "whoever comes next finds out what became of it"


async def test_an_action_whose_process_died_is_not_made_again_and_says_what_is_not_known(
    backend: Backend, world: StoreWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.functions.dispatch.ANSWER_PATIENCE_S", 0.01)
    call_id = await do(backend, "schedule", ref="team:hang", args={})
    async with making(backend):
        await wait_until(lambda: made, description="it has begun")
    database = world.store._db  # type: ignore[attr-defined]  # the memory store's own
    later = database.now() + timedelta(minutes=1)
    database.now = lambda: later

    async with making(backend):
        error = await until_made(world, call_id)

    assert error is not None
    assert "what became of it is not known" in error
    assert made == ["hang"]
