"""Many people branch, select, fork and talk on one conversation at once; then all laws hold."""

import asyncio
import random
from collections.abc import Sequence

import pytest

from app.domain.errors import Conflict
from app.domain.message import Message, plain_text
from app.domain.ports import Serves
from app.domain.run import Ending
from app.main.system import SystemIds
from app.store.mending import PostgresMender
from tests.integration.functions.conftest import Gateway, MakeGateway
from tests.integration.functions.test_a_branch_leaves_everything_as_it_was import (
    KEY,
    ask,
    call,
    everything_of,
    rows,
    tree,
)
from tests.support.store_world import a_start, an_answer

PEOPLE = 6
DEEDS = 12


async def act(gateway: Gateway, rng: random.Random) -> None:
    """Do one of the things that a page can do, on whichever branch."""
    _, threads = await tree(gateway)
    key = rng.choice(threads)[0]
    message = rng.choice(await rows(gateway, key))
    match rng.randrange(5):
        case 0:
            await call(gateway, "agentRegenerate", key=key, messageId=message.id)
        case 1:
            first, text = (await rows(gateway, key))[0].id, f"edited {rng.random()}"
            await call(gateway, "agentEditMessage", key=key, messageId=first, input=text)
        case 2:
            await call(gateway, "agentSelectBranch", key=KEY, branch=key)
        case 3:
            await call(gateway, "agentFork", key=key, messageId=message.id)
        case _:
            if key != KEY:
                with_key = a_start(thread_key=key, owner="ann")
                try:
                    await gateway.backend.store.start(with_key)
                except Conflict:
                    return  # it is being answered


async def work(gateway: Gateway, is_over: asyncio.Event) -> None:
    """Answer whatever is queued."""
    store = gateway.backend.store
    while True:
        last_look = is_over.is_set()
        claimed = await store.claim("worker-1", Serves.of("support"), 4)
        for each in claimed:
            await store.record(each.fence, an_answer(each.fence, 0, f"by {each.run.id}"))
            await store.finish(each.fence, Ending.completed("final"), None)
        if last_look and not claimed:
            return
        await asyncio.sleep(0)


def told(messages: Sequence[Message]) -> list[tuple[str, str, str]]:
    return [(row.run_id, row.role.value, plain_text(row.parts)) for row in messages]


@pytest.mark.parametrize("seed", range(4))
async def test_after_any_of_it_every_branch_is_whole_and_the_original_untouched(
    make_gateway: MakeGateway, gateway: Gateway, seed: int
) -> None:
    gateways = [gateway, await make_gateway()]
    for text in ("one", "two"):
        await ask(gateway, text)
    await call(gateway, "agentRegenerate", key=KEY)
    before = await everything_of(gateway, KEY)
    is_over = asyncio.Event()

    async def person(number: int) -> None:
        rng = random.Random(seed * 1000 + number)  # noqa: S311  # repeatable
        for _ in range(DEEDS):
            await act(gateways[number % 2], rng)

    async with asyncio.TaskGroup() as group:
        working = group.create_task(work(gateway, is_over))
        await asyncio.gather(*(person(number) for number in range(PEOPLE)))
        is_over.set()
        await working

    assert await everything_of(gateway, KEY) == before
    selected, threads = await tree(gateway)
    assert [await tree(each) for each in gateways] == [(selected, threads)] * 2
    assert selected in {key for key, _, _ in threads}
    shared_by = {key: shared for key, _, shared in threads}
    said = {key: told(await rows(gateway, key)) for key in shared_by}
    for key, parent, shared in threads[1:]:
        assert parent is not None
        assert parent == KEY or shared > shared_by[parent]
        assert said[key][:shared] == said[parent][:shared]
        assert (await call(gateway, "agentThread", key=key))["status"] == "completed"
    forks = await gateway.database.fetch(
        "SELECT key FROM agent_threads WHERE forked_from IS NOT NULL AND conversation IS NULL"
    )
    for fork in forks:
        found = await rows(gateway, fork["key"])
        assert [row.seq for row in found] == list(range(1, len(found) + 1))
    mender = PostgresMender(
        gateway.database,
        journal=gateway.around.journal,
        announce=gateway.around.announce,
        doorbell=gateway.around,
        aborts=gateway.around,
        ids=SystemIds(),
    )
    assert await mender.mend() == 0
