"""Code that may call everything calls as somebody: the function behind it keeps its own gate.

A tool acts for its thread's owner, without roles; an action and a schedule act for their caller,
whose scopes bind what comes from outside and nothing that server code does.
"""

import json
import uuid
from collections.abc import Iterator

import psycopg
import pytest

from app.authoring.contexts import ActionContext, MutationContext, QueryContext
from app.settings import Settings
from tests.support.deployment import Deployment, deployment
from tests.support.team_folder import TeamFolder
from tests.support.wait_until import wait_until
from tests.support.ways_in import a_visitor
from tests.support.ws_client import CallFailed

MAP = "the map of the treasure"


async def visits(fort: Deployment) -> list[tuple[str, str | None, str, str | None]]:
    """Return who came in where, as functions saw it: place, user, roles, scopes."""
    rows = await fort.stores.database.fetch("SELECT * FROM visits ORDER BY id")
    return [(row["place"], row["who"], row["roles"], row["scopes"]) for row in rows]


async def outcome(fort: Deployment, key: str) -> str:
    """Return what the last tool call of a thread came to, as its owner's page shows it."""
    async with fort.http("root", "admin") as root:
        session = (await root.get(f"/agents/desk/sessions/{key}")).json()
    parts = [part for each in session["messages"] for part in each["parts"]]
    return json.dumps([part["output"] for part in parts if part["type"] == "tool_result"][-1])


@pytest.mark.req("ACC-07", "TOOL-03")
async def test_a_tool_calls_as_the_threads_owner_without_roles(manned_fort: Deployment) -> None:
    fort = manned_fort
    relay = ["relay", {"ref": "vault:note_visit", "args": {"place": "by a tool"}}]
    async with fort.http("ann", "keeper", "admin") as ann:
        body = {"message": json.dumps(relay), "sessionId": "hers"}
        assert (await ann.post("/agents/desk", json=body)).status_code == 202
    await fort.until("hers", "completed")
    assert await visits(fort) == [("by a tool", "ann", "", None)]

    # An admin writes into her thread: it is still hers that the tool acts for.
    async with fort.http("root", "admin", "keeper") as root:
        body["message"] = json.dumps(["relay", {"ref": "vault:mine", "args": {}}])
        assert (await root.post("/agents/desk", json=body)).status_code == 202
        await fort.until("hers", "completed")
        assert MAP in await outcome(fort, "hers")
        body["message"] = json.dumps(["relay", {"ref": "vault:for_keepers", "args": {}}])
        assert (await root.post("/agents/desk", json=body)).status_code == 202
    await fort.until("hers", "completed")
    told = await outcome(fort, "hers")
    assert "for keepers only" in told
    assert MAP not in told


@pytest.mark.req("ACC-07")
@pytest.mark.parametrize(
    ("ref", "args"),
    [
        ("vault:open_one", {"number": 1}),
        ("agents:agent_messages", {"key": "hers"}),
        ("agents:agentState", {"key": "hers"}),
        ("agents:agentThread", {"key": "hers"}),
        ("agents:agent_cancel", {"key": "hers"}),
        ("agents:agentRun", {"agent": "desk", "key": "hers", "input": "hello"}),
        ("agents:agentRun", {"agent": "inner", "input": "hello"}),
        ("agents:agentSignal", {"agent": "desk", "key": "hers", "message": "hello"}),
        ("agents:agentRegenerate", {"key": "hers"}),
        ("agents:agentEditMessage", {"key": "hers", "messageId": "m", "input": "hello"}),
        ("agents:agentSelectBranch", {"key": "his", "branch": "hers"}),
        ("agents:agentFork", {"key": "hers"}),
        (
            "agents:agentResolveApproval",
            {"key": "hers", "toolCallId": "call_1", "decision": "approved"},
        ),
    ],
)
async def test_a_model_that_was_talked_into_it_reaches_nothing_of_another_person(
    manned_fort: Deployment, ref: str, args: dict[str, object]
) -> None:
    fort = manned_fort
    await fort.talk("ann", "hers", ["sign", {}])
    await fort.until("hers", "awaiting_input")
    before = await fort.stores.reader.snapshot("hers", 50)

    await fort.talk("ben", "his", ["relay", {"ref": ref, "args": args}])
    await fort.until("his", "completed")

    told = await outcome(fort, "his")
    assert MAP not in told
    assert "sign" not in told
    assert await fort.stores.reader.snapshot("hers", 50) == before


@pytest.mark.req("ACC-09")
async def test_the_thread_of_a_child_run_is_its_owners_alone(manned_fort: Deployment) -> None:
    fort = manned_fort
    await fort.talk("ann", "hers", ["ask_inner", {"message": "a secret"}])
    await fort.until("hers", "completed")
    child = await fort.stores.database.fetch(
        "SELECT key, owner FROM agent_threads WHERE agent = 'inner'"
    )
    assert [row["owner"] for row in child] == ["ann"]
    (key,) = [row["key"] for row in child]

    async with a_visitor(fort, "ann") as ann, a_visitor(fort, "ben") as ben, a_visitor(fort) as no:
        asked = [f"/agents/inner/sessions/{key}", f"/agents/inner/sessions/{key}/stream"]
        mine = await ann.request("GET", asked[0])
        assert "a secret" in mine["body"]
        for stranger in (ben, no):
            for path in asked:
                assert (await stranger.request("GET", path))["status"] == 404
            for ref, empty in (("agentMessages", []), ("agentThread", None), ("agentState", None)):
                told = await stranger.call(f"agents:{ref}", {"key": key})
                assert told == {"type": "result", "value": empty}
                watched = await stranger.subscribe(f"agents:{ref}", {"key": key})
                assert watched["value"] == empty


@pytest.mark.req("IMP-01", "ACC-07")
async def test_an_action_and_a_schedule_act_for_their_caller(manned_fort: Deployment) -> None:
    fort = manned_fort
    key = await fort.key("robot", "ops", scopes=["vault:visit", "vault:visitLater"])
    async with (
        fort.socket("ben") as ben,
        fort.socket("ann", "keeper") as keeper,
        fort.socket(token=key) as robot,
    ):
        for client in (ben, robot):
            await client.call("vault:visit", {"place": "at once"})
        with pytest.raises(CallFailed, match="FORBIDDEN"):
            await ben.call("vault:peep", {})
        with pytest.raises(CallFailed, match="FORBIDDEN"):
            await robot.call("vault:peep", {})
        assert await keeper.call("vault:peep", {}) == [MAP]

        for client in (ben, robot):
            await client.call("vault:visitLater", {"place": "later"})
        await ben.call("vault:peepLater", {})
        await keeper.call("vault:peepLater", {})
        done: list[object] = []

        async def all_were_made() -> bool:
            done[:] = await fort.stores.database.fetch(
                "SELECT error FROM agent_scheduled_calls WHERE made_at IS NOT NULL"
            )
            return len(done) == 4

        await wait_until(all_were_made, description="four calls were made", timeout_s=20)
    noted = await visits(fort)
    assert ("at once", "ben", "", None) in noted
    assert ("at once", "robot", "ops", "vault:visit vault:visitLater") in noted
    assert ("later", "ben", "", None) in noted
    assert ("later", "robot", "ops", None) in noted
    assert [each for each in noted if MAP in each[0]] == [(f"['{MAP}']", "ann", "keeper", None)]


@pytest.fixture
def bound_url(settings: Settings) -> Iterator[str]:
    """The address of the database for a role that the policies of the team's tables bind."""
    role = f"bound_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(settings.database_url, autocommit=True) as connection:

        def run(statement: str) -> None:
            connection.execute(statement.encode())

        for table in ("vault", "visits"):
            run(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
            run(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        run("CREATE POLICY hers ON vault USING (owner = 'nobody')")
        run(f"CREATE ROLE {role} LOGIN PASSWORD 'x' IN ROLE pg_monitor")
        run(f"GRANT ALL ON ALL TABLES IN SCHEMA public TO {role}")
        run(f"GRANT ALL ON ALL SEQUENCES IN SCHEMA public TO {role}")
        at = connection.info
        yield f"postgresql://{role}:x@/{at.dbname}?host={at.host}&port={at.port}"
        run(f"DROP OWNED BY {role}")
        run(f"DROP ROLE {role}")


@pytest.mark.req("ACC-06", "ACC-01")
async def test_policies_that_are_forced_on_the_teams_tables_do_not_stop_the_loop(
    folder: TeamFolder, settings: Settings, bound_url: str
) -> None:
    bound = settings.model_copy(update={"database_url": bound_url})
    async with deployment(folder.load(), bound, works=True) as fort:
        await fort.talk("ann", "hers", ["relay", {"ref": "vault:mine", "args": {}}])
        await fort.until("hers", "completed")
        assert await outcome(fort, "hers") == "[]", "the policies let nothing through"
        async with a_visitor(fort, "ben") as ben:
            told = await ben.request("GET", "/agents/desk/sessions/hers")
            assert told["status"] == 404
            assert (await ben.call("agents:agentMessages", {"key": "hers"}))["value"] == []


@pytest.mark.req("AGT-15")
def test_a_query_has_no_way_to_start_or_to_schedule_anything() -> None:
    for name in ("agents", "scheduler"):
        assert hasattr(MutationContext, name)
        assert hasattr(ActionContext, name)
        assert not hasattr(QueryContext, name)
    assert not hasattr(QueryContext, "run")
