"""Another answer and another question are branches: all of them are kept, none touches another."""

from typing import Any

from app.domain.identity import Identity
from app.domain.message import Message
from app.domain.ports import ClaimedRun, Serves
from app.domain.run import Ending
from app.domain.storable import encode
from app.store.admin_reads import PostgresAdminReader
from tests.integration.functions.conftest import Gateway
from tests.support.store_world import a_start, an_answer

ANN, BOB = Identity("ann"), Identity("bob")
ADMIN = Identity("root", frozenset({"admin"}))
KEY = "chat"


async def ask(gateway: Gateway, text: str, key: str = KEY) -> str:
    """Let ann ask, have it answered, and return the run."""
    said = encode([{"type": "text", "text": text}])
    started = await gateway.backend.store.start(a_start(thread_key=key, owner="ann", parts=said))
    await answer(gateway, f"an answer to {text}")
    return started.run_id


async def claim(gateway: Gateway) -> ClaimedRun:
    (claimed,) = await gateway.backend.store.claim("worker-1", Serves.of("support"), 1)
    return claimed


async def answer(gateway: Gateway, text: str) -> None:
    """Answer the oldest queued run."""
    claimed = await claim(gateway)
    assert await gateway.backend.store.record(claimed.fence, an_answer(claimed.fence, 0, text))
    await gateway.backend.store.finish(claimed.fence, Ending.completed("final"), None)


async def call(gateway: Gateway, name: str, caller: Identity = ANN, **args: object) -> Any:  # noqa: ANN401  # JSON
    return await gateway.backend.functions.call(f"agents:{name}", args, caller=caller)


async def rows(gateway: Gateway, key: str = KEY) -> list[Message]:
    """Return all of a thread's messages."""
    snapshot = await gateway.backend.reader.snapshot(key, 1000)
    assert snapshot is not None
    return list(snapshot.messages)


async def texts(gateway: Gateway, key: str = KEY) -> list[str]:
    found = await rows(gateway, key)
    assert [row.seq for row in found] == list(range(1, len(found) + 1))
    return ["".join(str(part.get("text", "")) for part in row.parts) for row in found]


async def tree(gateway: Gateway, key: str = KEY) -> tuple[str, list[tuple[str, str | None, int]]]:
    """Return which branch is selected, and all of them."""
    view = (await call(gateway, "agentThread", key=key))["branches"]
    return view["selected"], [
        (each["key"], each["parent"], each["shared"]) for each in view["list"]
    ]


async def everything_of(gateway: Gateway, key: str) -> list[str]:
    """Return all that is stored of a thread, byte for byte, but for what names the shown branch."""
    statements = (
        "SELECT (to_jsonb(t) - 'branch' - 'version' - 'updated_at' - 'active_at')::text AS row"
        " FROM agent_threads t WHERE key = $1",
        "SELECT m::text AS row FROM agent_messages m WHERE thread ="
        " (SELECT id FROM agent_threads WHERE key = $1) ORDER BY seq",
        "SELECT r::text AS row FROM agent_runs r WHERE thread ="
        " (SELECT id FROM agent_threads WHERE key = $1) ORDER BY id",
        "SELECT s::text AS row FROM agent_steps s WHERE run IN (SELECT id FROM agent_runs WHERE"
        " thread = (SELECT id FROM agent_threads WHERE key = $1)) ORDER BY run, name",
        "SELECT a::text AS row FROM agent_approvals a WHERE thread ="
        " (SELECT id FROM agent_threads WHERE key = $1) ORDER BY id",
    )
    found = [await gateway.database.fetch(each, key) for each in statements]
    return [row["row"] for rows in found for row in rows]


async def test_two_new_answers_an_edit_and_a_selection_keep_all_that_was_said(
    gateway: Gateway,
) -> None:
    await ask(gateway, "one")
    await ask(gateway, "two")
    before = await everything_of(gateway, KEY)

    first = await call(gateway, "agentRegenerate", key=KEY)
    await answer(gateway, "another")
    second = await call(gateway, "agentRegenerate", key=KEY)
    await answer(gateway, "a third")
    question = (await rows(gateway))[0]
    edited = await call(gateway, "agentEditMessage", key=KEY, messageId=question.id, input="uno")
    await answer(gateway, "una respuesta")
    await call(gateway, "agentSelectBranch", key=second["key"], branch=first["key"])

    original = ["one", "an answer to one", "two", "an answer to two"]
    assert await everything_of(gateway, KEY) == before
    assert await texts(gateway) == original
    assert await texts(gateway, first["key"]) == [*original[:3], "another"]
    assert await texts(gateway, second["key"]) == [*original[:3], "a third"]
    assert await texts(gateway, edited["key"]) == ["uno", "una respuesta"]
    assert await tree(gateway) == (
        first["key"],
        [
            (KEY, None, 0),
            (first["key"], KEY, 2),
            (second["key"], KEY, 2),
            (edited["key"], KEY, 0),
        ],
    )


async def test_a_branch_hangs_below_the_thread_whose_messages_it_shares(gateway: Gateway) -> None:
    await ask(gateway, "one")
    await ask(gateway, "two")
    below = (await call(gateway, "agentRegenerate", key=KEY))["key"]
    await answer(gateway, "another")
    await ask(gateway, "three", below)
    copy, *_, own = await rows(gateway, below)

    of_a_copy = await call(gateway, "agentRegenerate", key=below, messageId=copy.id)
    await answer(gateway, "x")
    of_its_own = await call(gateway, "agentRegenerate", key=of_a_copy["key"], messageId=own.id)
    await answer(gateway, "y")

    _, found = await tree(gateway)
    assert found[1:] == [(below, KEY, 2), (of_a_copy["key"], KEY, 0), (of_its_own["key"], below, 4)]
    view = await call(gateway, "agentThread", key=below)
    assert (view["conversation"], "branches" in view) == (KEY, False)


async def test_a_roots_key_means_what_is_shown_and_a_branchs_key_that_branch(
    gateway: Gateway,
) -> None:
    await ask(gateway, "one")
    branch = (await call(gateway, "agentRegenerate", key=KEY))["key"]
    await answer(gateway, "another")
    await ask(gateway, "of the branch", branch)

    of_shown = (await call(gateway, "agentRegenerate", key=KEY))["key"]
    await answer(gateway, "x")
    await call(gateway, "agentSelectBranch", key=branch, branch=KEY)
    of_branch = (await call(gateway, "agentRegenerate", key=branch))["key"]
    await answer(gateway, "y")
    await call(gateway, "agentSelectBranch", key=branch, branch=KEY)
    of_root = (await call(gateway, "agentRegenerate", key=KEY))["key"]

    _, found = await tree(gateway)
    assert found[2:] == [(of_shown, branch, 2), (of_branch, branch, 2), (of_root, KEY, 0)]


async def test_a_branch_begins_with_what_the_thread_is_but_spent_nothing(gateway: Gateway) -> None:
    await ask(gateway, "one")
    await gateway.database.fetch(
        "UPDATE agent_threads SET state = '{\"step\": 2}', title = 'Named' WHERE key = $1", KEY
    )

    branch = (await call(gateway, "agentRegenerate", key=KEY))["key"]

    view = await call(gateway, "agentThread", key=branch)
    assert (view["title"], view["owner"], view["agent"]) == ("Named", "ann", "support")
    assert view["usage"]["requests"] == 0
    assert await call(gateway, "agentState", key=branch) == {"step": 2}
    (copied,) = await gateway.database.fetch(
        "SELECT forked_from = conversation AS root, shared_seq FROM agent_threads WHERE key = $1",
        branch,
    )
    assert (copied["root"], copied["shared_seq"]) == (True, 0)


async def test_copies_are_rows_of_their_own_that_say_the_same(gateway: Gateway) -> None:
    run = await ask(gateway, "one")
    await ask(gateway, "two")
    branch = (await call(gateway, "agentRegenerate", key=KEY))["key"]

    for original, copy in zip((await rows(gateway))[:2], await rows(gateway, branch), strict=False):
        assert (copy.id, copy.thread_id) != (original.id, original.thread_id)
        assert copy.run_id == original.run_id == run
        assert (copy.parts, copy.author, copy.created_at, copy.model_name, copy.usage) == (
            original.parts,
            original.author,
            original.created_at,
            original.model_name,
            original.usage,
        )


async def test_what_was_chosen_for_a_run_holds_for_its_branch(gateway: Gateway) -> None:
    form = {"type": "object", "properties": {"sum": {"type": "integer"}}}
    chosen: dict[str, Any] = {"model": "test:slow", "outputSchema": form}
    started = await call(gateway, "agentRun", agent="support", input="hi", **chosen)
    await answer(gateway, "yes")

    same = await call(gateway, "agentRegenerate", key=started["key"])
    await answer(gateway, "no")
    other = await call(gateway, "agentRegenerate", key=started["key"], model="test:fast")

    found = [await gateway.backend.reader.run(each["id"]) for each in (same, other)]
    assert [run and run.policy for run in found] == [chosen, {**chosen, "model": "test:fast"}]


async def test_threads_are_listed_by_their_roots(gateway: Gateway) -> None:
    await ask(gateway, "one")
    await ask(gateway, "older", "other")
    await call(gateway, "agentRegenerate", key=KEY)
    await answer(gateway, "another")
    fork = (await call(gateway, "agentFork", key=KEY))["key"]

    listed = await gateway.backend.reader.sessions(
        "support", "ann", everybody=False, before=None, limit=10
    )
    operators = await PostgresAdminReader(gateway.database).threads(
        agent=None, owner=None, status=None, search=None, before=None, limit=10
    )

    assert [thread.key for thread in listed] == [fork, KEY, "other"]
    assert [row["key"] for row in operators] == [fork, KEY, "other"]


async def test_who_talks_on_in_a_branch_has_its_conversation_at_the_top(gateway: Gateway) -> None:
    await ask(gateway, "one")
    branch = (await call(gateway, "agentRegenerate", key=KEY))["key"]
    await answer(gateway, "another")
    await ask(gateway, "newer", "other")

    await ask(gateway, "and then?", branch)

    listed = await gateway.backend.reader.sessions(
        "support", "ann", everybody=False, before=None, limit=10
    )
    assert [thread.key for thread in listed] == [KEY, "other"]
