"""Operators say over code what counts: in drafts, by versions, each by who may."""

from typing import Any

import pytest

from app import Agent, tool
from app.authoring.approval_policy import ApprovalPolicy
from app.domain.errors import ClientFault, Conflict, Forbidden, InvalidArgument, NotFound
from app.domain.identity import ADMIN, ANONYMOUS, Identity
from app.domain.run import Ending
from app.threads.governing import Permissions
from tests.support.backend import Backend, memory_backend
from tests.support.store_world import StoreWorld

ROOT = Identity("root", frozenset({ADMIN}))
MANAGER = Identity("max", frozenset({"owner"}))
DEPLOYER = Identity("dora", frozenset({"release"}))
BOTH = Identity("bea", frozenset({"owner", "release"}))
USER = Identity("ann", frozenset({"editor"}))
PERMISSIONS = Permissions(manage=frozenset({"owner"}), deploy=frozenset({"release"}))


@tool(needs_approval=ApprovalPolicy(approvers=["cfo@example.com"]))
async def refund(amount: int) -> str:
    """Give money back."""
    return f"refunded {amount}"


@tool
async def look() -> str:
    """Look."""
    return "clear"


class Office:
    """Functions for operators, in memory."""

    def __init__(self, world: StoreWorld) -> None:
        agent = Agent(
            slug="support",
            model="openai:gpt-5",
            instructions="As coded.",
            tools=[refund, look],
            access="public",
        )
        computed = Agent(slug="other", model="default", instructions=lambda: "Computed.")
        self.backend: Backend = memory_backend(
            world, declared={"support": agent, "other": computed}, permissions=PERMISSIONS
        )

    async def call(self, name: str, by: Identity = ROOT, **args: Any) -> Any:  # noqa: ANN401  # JSON
        return await self.backend.functions.call(f"agents:{name}", args, caller=by)

    async def over(self, name: str, by: Identity = ROOT, **args: Any) -> Any:  # noqa: ANN401  # JSON
        return await self.call(name, by, agent="support", **args)

    async def view(self, by: Identity = ROOT) -> Any:  # noqa: ANN401  # JSON
        return await self.over("adminOverrides", by)

    async def publish(self, **content: Any) -> None:  # noqa: ANN401  # JSON
        await self.over("adminSaveDraft", content=content)
        await self.over("adminPublish")


@pytest.fixture
def office(world: StoreWorld) -> Office:
    return Office(world)


SAVE: dict[str, Any] = {"agent": "support", "content": {"maxTurns": 2}}
ACTIONS: dict[str, dict[str, Any]] = {
    "adminOverrides": {"agent": "support"},
    "adminGovernance": {},
    "adminAudit": {},
    "adminSaveDraft": {"agent": "support", "content": {"maxTurns": 3}},
    "adminDiscardDraft": {"agent": "support"},
    "adminPublish": {"agent": "support"},
    "adminReset": {"agent": "support"},
    "adminRestore": {"agent": "support", "version": 1},
    "adminSetApprovers": {"agent": "support", "tool": "refund", "approvers": ["bob"]},
    "adminSetGovernance": {"agent": "support", "use": ["bob"], "approve": None},
    "adminSetModels": {"models": ["openai:gpt-5"]},
    "adminSetMinutes": {"agent": "support", "minutes": 5},
}
OF_EITHER = {
    "adminOverrides",
    "adminGovernance",
    "adminAudit",
    "adminSaveDraft",
    "adminDiscardDraft",
}
OF_DEPLOY = OF_EITHER | {"adminPublish", "adminReset", "adminRestore"}
OF_MANAGE = OF_EITHER | {
    *("adminSetApprovers", "adminSetGovernance", "adminSetMinutes", "adminSetModels")
}


@pytest.mark.req("ACC-08", "ADM-02", "ADM-08", "APR-26")
@pytest.mark.parametrize("name", ACTIONS)
@pytest.mark.parametrize(
    ("caller", "allowed"),
    [
        pytest.param(ROOT, set(ACTIONS), id="admin"),
        pytest.param(MANAGER, OF_MANAGE, id="project:manage"),
        pytest.param(DEPLOYER, OF_DEPLOY, id="project:deploy"),
        pytest.param(BOTH, set(ACTIONS), id="both"),
        pytest.param(USER, set(), id="another role"),
        pytest.param(ANONYMOUS, set(), id="anonymous"),
    ],
)
async def test_each_role_may_do_what_its_permissions_are_for(
    office: Office, name: str, caller: Identity, allowed: set[str]
) -> None:
    await office.publish(instructions="Older.")
    await office.publish(instructions="Newer.")
    await office.call("adminSaveDraft", **SAVE)
    before = await office.view()

    if name in allowed:
        await office.call(name, caller, **ACTIONS[name])
        return
    with pytest.raises(Forbidden, match="needs the permission project:"):
        await office.call(name, caller, **ACTIONS[name])
    assert await office.view() == before


@pytest.mark.req("ACC-08")
async def test_each_is_told_what_he_may(office: Office) -> None:
    may = [(await office.view(by))["may"] for by in (ROOT, MANAGER, DEPLOYER)]

    assert may == [
        {"manage": True, "deploy": True},
        {"manage": True, "deploy": False},
        {"manage": False, "deploy": True},
    ]


@pytest.mark.req("ADM-02")
async def test_a_draft_has_no_effect_until_it_is_published(office: Office) -> None:
    await office.over("adminSaveDraft", MANAGER, content={"instructions": "Be kind."})
    drafted = await office.view()
    await office.over("adminPublish", DEPLOYER, note="kinder")
    published = await office.view()

    assert (drafted["version"], drafted["inForce"], drafted["versions"]) == (None, {}, [])
    assert drafted["draft"]["content"] == {"instructions": "Be kind."}
    assert (published["version"], published["draft"]) == (1, None)
    assert published["inForce"] == {"instructions": "Be kind."}
    (version,) = published["versions"]
    assert (version["author"], version["note"]) == ("dora", "kinder")


@pytest.mark.req("ADM-04")
async def test_a_reset_is_a_version_and_an_older_one_can_be_restored(office: Office) -> None:
    await office.publish(model="openai/gpt-6", maxTurns=4, toolsOff=["look", "look"])
    assert await office.over("adminReset") == {"version": 2}
    reset = await office.view()
    assert await office.over("adminRestore", version=1) == {"version": 3}
    restored = await office.view()
    fields = ["model", "maxTurns", "toolsOff"]

    assert reset["inForce"] == {}
    assert restored["inForce"] == {"model": "openai:gpt-6", "maxTurns": 4, "toolsOff": ["look"]}
    assert [each["note"] for each in restored["versions"]] == ["Version 1 again", None, None]
    assert [(each["action"], each["actor"], each["detail"]) for each in restored["audit"]] == [
        (
            "restored",
            "root",
            {"version": 3, "from": 1, "fields": fields},
        ),
        ("reset", "root", {"version": 2}),
        ("published", "root", {"version": 1, "fields": fields}),
    ]


async def test_an_empty_draft_takes_back_what_is_in_force(office: Office) -> None:
    await office.publish(maxTurns=4)
    await office.publish()

    view = await office.view()
    assert (view["version"], view["inForce"]) == (2, {})
    assert view["audit"][0]["action"] == "reset"


async def test_only_the_draft_that_was_shown_is_published(office: Office) -> None:
    await office.over("adminSaveDraft", content={"maxTurns": 2})

    with pytest.raises(Conflict, match="another than was shown") as refused:
        await office.over("adminPublish", content={"maxTurns": 3})
    assert refused.value.data == {"content": {"maxTurns": 2}}
    assert await office.over("adminPublish", content={"maxTurns": 2}) == {"version": 1}


@pytest.mark.parametrize(
    ("name", "args", "fault", "message"),
    [
        pytest.param(
            "adminSaveDraft",
            {"content": {"toolsOff": ["fly"]}},
            InvalidArgument,
            "toolsOff: support has no tool 'fly'; it has: refund, look",
            id="unknown-tool-off",
        ),
        pytest.param(
            "adminSaveDraft",
            {"content": {"model": "gpt"}},
            InvalidArgument,
            "model: 'gpt' names no provider",
            id="no-model",
        ),
        pytest.param(
            "adminSaveDraft",
            {"content": {"autonomy": "wild"}},
            InvalidArgument,
            "autonomy",
            id="no-autonomy",
        ),
        pytest.param(
            "adminSaveDraft", {"content": {"maxTurns": 0}}, InvalidArgument, "maxTurns", id="turns"
        ),
        pytest.param(
            "adminSaveDraft",
            {"content": {"temperature": 1}},
            InvalidArgument,
            "temperature: there is no such argument",
            id="unknown-field",
        ),
        pytest.param(
            "adminSaveDraft", {"content": {}}, InvalidArgument, "in force already", id="nothing-new"
        ),
        pytest.param("adminDiscardDraft", {}, NotFound, "no draft", id="no-draft-to-discard"),
        pytest.param("adminPublish", {}, NotFound, "no draft to publish", id="no-draft"),
        pytest.param("adminReset", {}, Conflict, "code is in force already", id="nothing-to-reset"),
        pytest.param("adminRestore", {"version": 7}, NotFound, "no version 7", id="no-version"),
        pytest.param(
            "adminSetApprovers",
            {"tool": "fly", "approvers": ["bob"]},
            InvalidArgument,
            "tool: support has no tool 'fly'",
            id="unknown-tool",
        ),
        pytest.param(
            "adminSetApprovers",
            {"tool": "refund", "approvers": ["$manager"]},
            InvalidArgument,
            r"'\$manager' stands for nobody: there are \$owner and \$speaker",
            id="bad-token",
        ),
        pytest.param(
            "adminSetApprovers",
            {"tool": "refund", "approvers": []},
            InvalidArgument,
            "name somebody",
            id="nobody",
        ),
        pytest.param(
            "adminSetApprovers",
            {"tool": "refund", "approvers": None},
            InvalidArgument,
            "picked already",
            id="nothing-to-clear",
        ),
        pytest.param(
            "adminSetGovernance",
            {"use": ["$owner"], "approve": None},
            InvalidArgument,
            r"use: '\$owner' stands for nobody here",
            id="token-on-a-list",
        ),
        pytest.param(
            "adminSetGovernance",
            {"use": [" bob"], "approve": None},
            InvalidArgument,
            "no e-mail and no user id",
            id="no-name",
        ),
        pytest.param(
            "adminSetGovernance",
            {"use": None, "approve": None},
            InvalidArgument,
            "what the lists say already",
            id="same-lists",
        ),
    ],
)
async def test_what_makes_no_sense_is_refused_in_words(
    office: Office,
    name: str,
    args: dict[str, Any],
    fault: type[ClientFault],
    message: str,
) -> None:
    with pytest.raises(fault, match=message):
        await office.over(name, **args)

    view = await office.view()
    assert (view["draft"], view["versions"], view["audit"]) == (None, [], [])


async def test_a_draft_is_not_saved_over_what_it_says_already(office: Office) -> None:
    await office.publish(maxTurns=4)

    with pytest.raises(InvalidArgument, match="discard the draft instead"):
        await office.over("adminSaveDraft", content={"maxTurns": 4})
    with pytest.raises(Conflict, match="nothing would change"):
        await office.over("adminRestore", version=1)


async def test_an_unknown_agent_is_none_to_those_who_may_look(office: Office) -> None:
    with pytest.raises(NotFound, match="no agent 'nobody'"):
        await office.call("adminOverrides", agent="nobody")
    with pytest.raises(Forbidden):
        await office.call("adminOverrides", USER, agent="nobody")


@pytest.mark.req("ADM-08")
async def test_the_view_shows_code_beside_what_was_picked(office: Office) -> None:
    await office.over("adminSetApprovers", tool="refund", approvers=["bob", "$owner", "bob"])
    view = await office.view()
    other = await office.call("adminOverrides", agent="other")

    assert view["approvers"] == {"refund": ["bob", "$owner"]}
    assert view["code"] == {
        "instructions": "As coded.",
        "model": "openai:gpt-5",
        "autonomy": "as_coded",
        "maxTurns": 100,
        "tools": [
            {
                "name": "refund",
                "description": "Give money back.",
                "approvers": ["cfo@example.com"],
            },
            {"name": "look", "description": "Look.", "approvers": []},
        ],
    }
    assert other["code"]["instructions"] is None


@pytest.mark.req("ADM-06", "IMP-17")
async def test_an_override_takes_a_model_of_the_catalog_or_the_codes_own(office: Office) -> None:
    await office.call("adminSetModels", models=["anthropic/claude-sonnet-5", "demo:"])

    with pytest.raises(InvalidArgument, match=r"may not be chosen here; .*anthropic:claude"):
        await office.over("adminSaveDraft", content={"model": "openai:gpt-6"})
    await office.publish(model="anthropic:claude-sonnet-5")
    await office.publish(model="openai/gpt-5")

    assert (await office.view())["inForce"] == {"model": "openai:gpt-5"}


@pytest.mark.req("ADM-06")
async def test_a_draft_and_an_older_version_are_held_to_the_catalog_as_it_is_now(
    office: Office,
) -> None:
    await office.publish(model="openai:gpt-6")
    await office.over("adminReset")
    await office.over("adminSaveDraft", content={"model": "openai:gpt-6"})
    await office.call("adminSetModels", models=["demo:"])

    with pytest.raises(InvalidArgument, match="may not be chosen"):
        await office.over("adminPublish")
    with pytest.raises(InvalidArgument, match="may not be chosen"):
        await office.over("adminRestore", version=1)


@pytest.mark.req("ADM-06")
async def test_the_catalog_keeps_what_overrides_in_force_use(office: Office) -> None:
    await office.publish(model="openai:gpt-6")

    with pytest.raises(Conflict, match=r"support \(openai:gpt-6\)"):
        await office.call("adminSetModels", models=["demo:"])
    await office.call("adminSetModels", models=["demo:", "openai:gpt-6"])
    await office.over("adminReset")
    await office.call("adminSetModels", models=["demo:"])

    assert (await office.view())["models"] == ["demo:"]


@pytest.mark.req("ADM-06")
async def test_a_prompt_takes_a_model_of_the_catalog_or_the_codes_own(office: Office) -> None:
    prompt: dict[str, Any] = {"agent": "support", "input": "hello"}
    await office.call("agentRun", USER, **prompt, model="openai:gpt-6")
    await office.call("adminSetModels", models=["demo:"])

    with pytest.raises(InvalidArgument, match="'openai:gpt-6' may not be chosen here"):
        await office.call("agentRun", USER, **prompt, model="openai:gpt-6")
    await office.call("agentRun", USER, **prompt, model="demo:")
    await office.call("agentRun", USER, **prompt, model="openai/gpt-5")
    await office.call("agentRun", USER, **prompt)


@pytest.mark.req("IMP-17")
async def test_who_is_not_on_the_use_list_cannot_prompt(office: Office) -> None:
    prompt: dict[str, Any] = {"agent": "support", "input": "hello"}
    listed = Identity("bob", email="Bob@Example.com")
    await office.over("adminSetGovernance", use=["bob@example.com"], approve=None)

    for caller in (USER, ROOT):
        with pytest.raises(Forbidden, match="not on the list of who may use"):
            await office.call("agentRun", caller, **prompt)
    with pytest.raises(ClientFault, match="sign in"):
        await office.call("agentRun", ANONYMOUS, **prompt)
    await office.call("agentRun", listed, **prompt)
    async with office.backend.client("ann") as client:
        answer = await client.post("/agents/support", json={"message": "hello"})
    assert (answer.status_code, answer.json()["code"]) == (403, "FORBIDDEN")

    await office.over("adminSetGovernance", use=None, approve=None)
    await office.call("agentRun", USER, **prompt)


@pytest.mark.req("IMP-17")
async def test_who_was_taken_off_the_use_list_does_not_prompt_by_another_door(
    office: Office, world: StoreWorld
) -> None:
    started = await office.call("agentRun", USER, agent="support", input="hello")
    claimed = await world.claim("support")
    await world.store.finish(claimed.fence, Ending.failed("X", "broke"), None)
    await office.over("adminSetGovernance", use=["bob"], approve=None)

    with pytest.raises(Forbidden, match="may use"):
        await office.call("agentRetry", USER, key=started["key"])
    async with office.backend.client("ann") as client:
        path = f"/agents/support/sessions/{started['key']}/signals"
        signalled = await client.post(path, json={"message": "go on"})
        read = await client.get(f"/agents/support/sessions/{started['key']}")
    assert (signalled.status_code, read.status_code) == (403, 200)

    await office.over("adminSetGovernance", use=["bob", "ann"], approve=None)
    assert await office.call("agentRetry", USER, key=started["key"]) == {"retried": True}


@pytest.mark.req("IMP-17")
async def test_governance_shows_every_agent_and_the_audit_who_changed_it(office: Office) -> None:
    await office.over("adminSetGovernance", MANAGER, use=["bob"], approve=[])
    await office.call("adminSetModels", MANAGER, models=[])

    shown = await office.call("adminGovernance", DEPLOYER)
    audit = await office.call("adminAudit", DEPLOYER)

    assert shown == {
        "agents": [
            {
                "agent": "support",
                "name": "Support",
                "use": ["bob"],
                "approve": [],
                "approvers": {},
                "manualMinutes": None,
            },
            {
                "agent": "other",
                "name": "Other",
                "use": None,
                "approve": None,
                "approvers": {},
                "manualMinutes": None,
            },
        ],
        "models": [],
        "may": {"manage": False, "deploy": True},
    }
    assert [(each["agent"], each["action"], each["actor"]) for each in audit] == [
        (None, "models", "max"),
        ("support", "lists", "max"),
    ]


@pytest.mark.req("ADM-02")
async def test_only_the_draft_that_was_shown_is_thrown_away(office: Office) -> None:
    mine, theirs = {"maxTurns": 3}, {"maxTurns": 4, "toolsOff": ["look"]}
    await office.over("adminSaveDraft", content=theirs)

    with pytest.raises(Conflict, match="another than was shown") as refused:
        await office.over("adminDiscardDraft", content=mine)

    assert refused.value.data == {"content": theirs}
    await office.over("adminDiscardDraft", content=theirs)
    assert (await office.view())["draft"] is None


@pytest.mark.req("ADM-02")
async def test_a_draft_is_written_over_what_was_shown_or_not_at_all(office: Office) -> None:
    mine, theirs = {"maxTurns": 3}, {"maxTurns": 4, "toolsOff": ["look"]}
    await office.over("adminSaveDraft", content=mine, over="nothing")
    await office.over("adminSaveDraft", content=theirs, over=mine)

    with pytest.raises(Conflict, match="another than was shown") as refused:
        await office.over("adminSaveDraft", content=mine, over=mine)
    with pytest.raises(Conflict):
        await office.over("adminSaveDraft", content=mine, over="nothing")
    await office.over("adminDiscardDraft")
    with pytest.raises(Conflict) as gone:
        await office.over("adminSaveDraft", content=mine, over=theirs)

    assert (refused.value.data, gone.value.data) == ({"content": theirs}, {"content": None})
