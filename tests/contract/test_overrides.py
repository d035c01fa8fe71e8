"""What every store keeps of overrides and governance: in order, for good, audited, announced."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import pytest

from app.domain.approval import ApprovalRules
from app.domain.errors import Conflict
from app.domain.identity import Identity
from app.domain.override import (
    AS_CODED,
    AllowModels,
    Changed,
    DiscardDraft,
    Govern,
    Governance,
    Override,
    OverrideChange,
    Publish,
    SaveDraft,
    Standing,
)
from app.domain.ports import OnBusy, OverrideStore
from app.domain.ports.overrides import Decide
from app.domain.run import Ending
from app.domain.tables import AUDIT, GOVERNANCE, OVERRIDES, TableWrite
from app.store.database import Database
from app.store.overrides import PostgresOverrides
from app.testing.memory_overrides import MemoryOverrides
from tests.support.store_world import (
    AGENT,
    IDS,
    StoreWorld,
    a_signal,
    an_answer,
    memory_world,
    postgres_world,
)

pytestmark = pytest.mark.req("ADM-02")

KIND = Override("Be kind.", "openai:gpt-5", "always_ask", 3, ("refund", "ship"))
SHORT = Override(instructions="Be short.")


@dataclass(frozen=True)
class Office:
    """Where operators work, over a store of runs."""

    overrides: OverrideStore
    world: StoreWorld

    async def do(
        self, change: OverrideChange, agent: str = AGENT, action: str | None = None
    ) -> int | None:
        return await self.overrides.change(agent, "ann", lambda _: Changed(change, action))


@pytest.fixture(params=["memory", "postgres"])
async def office(request: pytest.FixtureRequest) -> AsyncIterator[Office]:
    if request.param == "memory":
        async with memory_world() as world:
            rows = world.store._db  # type: ignore[attr-defined]  # the memory store's own
            yield Office(MemoryOverrides(rows, world.around.announce_writes), world)
        return
    url = request.getfixturevalue("database_url")
    async with postgres_world(url) as world, Database(url) as database:
        yield Office(PostgresOverrides(database, world.around.announce_writes), world)


async def test_a_draft_is_kept_until_it_is_published_or_discarded(office: Office) -> None:
    await office.do(SaveDraft(KIND))
    await office.do(SaveDraft(SHORT))
    draft = await office.overrides.draft(AGENT)
    await office.do(DiscardDraft())

    assert draft is not None
    assert (draft.version, draft.content, draft.author) == (0, SHORT, "ann")
    assert await office.overrides.draft(AGENT) is None
    assert await office.overrides.versions(AGENT, 10) == []


async def test_versions_count_and_say_the_same_for_ever(office: Office) -> None:
    first = await office.do(Publish(KIND, "kinder"))
    await office.do(SaveDraft(SHORT))
    second = await office.do(Publish(SHORT, None, takes_draft=True))
    third = await office.do(Publish(AS_CODED, None))
    await office.do(Publish(KIND, None), agent="another")

    versions = await office.overrides.versions(AGENT, 10)
    assert (first, second, third) == (1, 2, 3)
    assert [(each.version, each.content, each.note) for each in versions] == [
        (3, AS_CODED, None),
        (2, SHORT, None),
        (1, KIND, "kinder"),
    ]
    assert versions[0].at >= versions[1].at >= versions[2].at
    assert await office.overrides.draft(AGENT) is None
    assert await office.overrides.override(AGENT, 1) == KIND
    assert await office.overrides.override(AGENT, 4) is None
    assert [each.version for each in await office.overrides.versions(AGENT, 1)] == [3]


async def test_a_change_sees_how_it_stands(office: Office) -> None:
    seen: list[Standing] = []
    governance = Governance(("bob@example.com",), (), {"refund": ("$owner", "cfo")}, 7.5)
    await office.do(Publish(KIND, None))
    await office.do(Publish(SHORT, None), agent="another")
    await office.do(SaveDraft(SHORT))
    await office.do(Govern(governance))
    await office.do(AllowModels(("openai:gpt-5",)), agent="")

    def look(standing: Standing) -> Changed:
        seen.append(standing)
        return Changed(DiscardDraft())

    await office.overrides.change(AGENT, "ann", look, restores=1)

    (standing,) = seen
    assert standing.in_force == KIND
    assert standing.draft is not None
    assert standing.draft.content == SHORT
    assert standing.restorable == standing.newest
    assert standing.governed.of(AGENT) == governance
    assert standing.governed.models == ("openai:gpt-5",)
    assert standing.models_in_force == {AGENT: "openai:gpt-5"}
    assert await office.overrides.governed() == standing.governed
    assert (await office.overrides.governed(["another"])).agents == {}
    assert (await office.overrides.governed(["another"])).models == ("openai:gpt-5",)


async def test_lists_can_be_taken_away_again(office: Office) -> None:
    await office.do(Govern(Governance((), ("ann",), {"refund": ("bob",)})))
    await office.do(AllowModels(()), agent="")
    shut = await office.overrides.governed()
    await office.do(Govern(Governance()))
    await office.do(AllowModels(None), agent="")
    open_again = await office.overrides.governed()

    assert (shut.of(AGENT).use, shut.models) == ((), ())
    assert (open_again.of(AGENT), open_again.models) == (Governance(), None)


async def test_a_refused_change_changes_nothing(office: Office) -> None:
    def refuse(_: Standing) -> Changed:
        raise Conflict("no")

    with pytest.raises(Conflict):
        await office.overrides.change(AGENT, "ann", refuse)

    assert office.world.around.written == []
    assert await office.overrides.audit(None, 10) == []


async def test_the_audit_keeps_who_did_what(office: Office) -> None:
    await office.do(Publish(KIND, None), action="published")
    await office.do(AllowModels(None), agent="", action="models")
    await office.do(SaveDraft(SHORT))

    newest, oldest = await office.overrides.audit(None, 10)

    assert (newest.agent, newest.action, newest.actor) == ("", "models", "ann")
    assert (oldest.agent, oldest.action, oldest.detail) == (AGENT, "published", {"version": 1})
    assert newest.id > oldest.id
    assert await office.overrides.audit(AGENT, 10) == [oldest]


async def test_what_is_changed_is_announced_by_table(office: Office) -> None:
    await office.do(SaveDraft(KIND))
    await office.do(Publish(KIND, None, takes_draft=True), action="published")
    await office.do(Govern(Governance()))

    assert office.world.around.written == [
        {OVERRIDES: TableWrite(1, None)},
        {OVERRIDES: TableWrite(2, None), AUDIT: TableWrite(1, None)},
        {GOVERNANCE: TableWrite(1, None)},
    ]


async def test_changes_happen_one_after_another(office: Office) -> None:
    def one_more(standing: Standing) -> Changed:
        turns = (standing.in_force.max_turns or 0) + 1
        return Changed(Publish(Override(max_turns=turns), None), "published")

    decide: Decide = one_more
    await asyncio.gather(*(office.overrides.change(AGENT, "ann", decide) for _ in range(12)))

    versions = await office.overrides.versions(AGENT, 20)
    assert [each.content.max_turns for each in versions] == list(range(12, 0, -1))
    assert [each.version for each in versions] == list(range(12, 0, -1))
    assert len(await office.overrides.audit(AGENT, 20)) == 12


@pytest.mark.req("ADM-03")
async def test_a_run_carries_the_version_of_when_it_was_asked_for(office: Office) -> None:
    world, agent = office.world, f"agent-{IDS.new()}"
    before = await world.start(agent=agent)
    claimed = await world.claim(agent)
    await office.do(SaveDraft(SHORT), agent=agent)
    held = await world.start(agent=agent, thread_key=before.thread_key, on_busy=OnBusy.QUEUE)
    await office.do(Publish(KIND, None), agent=agent)
    queued = await world.start(agent=agent, thread_key=before.thread_key, on_busy=OnBusy.QUEUE)
    after = await world.start(agent=agent)
    await world.store.record(claimed.fence, an_answer(claimed.fence, 0))
    await world.store.finish(claimed.fence, Ending.completed("final"), None)

    found = [(await world.run(each.run_id)).override for each in (before, held, queued, after)]
    assert found == [None, None, 1, 1]
    second = await world.claim(agent)
    third = await world.claim(agent, "w2")
    assert {(each.run.id, each.run.override) for each in (second, third)} == {
        (held.run_id, None),
        (after.run_id, 1),
    }


@pytest.mark.req("ADM-03")
async def test_a_run_that_a_signal_starts_carries_it_too(office: Office) -> None:
    world = office.world
    claimed = await world.drive()
    agent = claimed.run.agent
    await world.store.finish(claimed.fence, Ending.completed("final"), None)
    await office.do(Publish(KIND, None), agent=agent)

    signal = a_signal(claimed.thread.id, "one more thing")
    await world.store.signal(signal)

    assert (await world.claim(agent)).run.override == 1


@pytest.mark.req("APR-26")
async def test_picked_approvers_are_shown_what_waits_instead_of_those_in_code(
    office: Office,
) -> None:
    world, rules = office.world, ApprovalRules(("cfo@example.com",))
    claimed = await world.drive(owner="ann")
    await world.ask(claimed, "c1", gated=["c1"], rules=rules)
    await world.park(claimed, "c1")
    cfo, bob = Identity("cfo", email="CFO@example.com"), Identity("bob", email="Bob@example.com")

    async def see() -> list[bool]:
        people = (cfo, bob, Identity("carl"), Identity("ann"))
        return [bool(await world.reader.approvals(visible_to=each)) for each in people]

    coded = await see()
    await office.do(
        Govern(Governance(approvers={"look_up": ("bob@example.com", "carl")})),
        agent=claimed.run.agent,
    )
    picked = await see()
    await office.do(Govern(Governance(approvers={"other": ("carl",)})), agent=claimed.run.agent)

    assert coded == [True, False, False, True]
    assert picked == [False, True, True, True]
    assert await see() == coded
