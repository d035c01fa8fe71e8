"""What is begun, said and stopped under a conversation's key is what its tabs show."""

import pytest

from tests.integration.branches.conftest import Desk
from tests.support.branching_agent import PAID

PAY = '[["c0", "pay", 5]]'


@pytest.mark.req("ACC-02")
async def test_a_run_and_a_signal_of_the_servers_are_seen_in_the_branch_on_show(desk: Desk) -> None:
    await desk.ask("one")
    branch, _ = await desk.branch("regenerate")

    woken = await desk.post("signals", message="a parcel came")
    await desk.rests(woken["runId"])
    begun = await desk.ask("two")

    asked = (await desk.texts(branch))[::2]
    assert asked == ["one", "[message] a parcel came\n", "two"]
    assert len(await desk.texts()) == 2, "the root is as it was"
    run = await desk.fort.stores.reader.run(begun)
    assert run is not None
    found = await desk.fort.stores.reader.find(branch)
    assert found is not None
    assert run.thread_id == found.id


async def test_a_cancel_under_the_roots_key_stops_what_is_shown_or_what_it_names(
    desk: Desk,
) -> None:
    hidden = await desk.ask(PAY)
    branch, shown = await desk.branch("regenerate")

    assert await desk.post("cancel") == {"cancelled": True}
    assert await desk.rests(shown) == "cancelled"
    assert await desk.rests(hidden) == "awaiting_input", "it waits for its own decision"
    assert await desk.post("cancel") == {"cancelled": False}
    assert await desk.post("cancel", branch, runId=hidden) == {"cancelled": False}
    assert await desk.post("cancel", runId=hidden) == {"cancelled": True}

    assert not PAID
