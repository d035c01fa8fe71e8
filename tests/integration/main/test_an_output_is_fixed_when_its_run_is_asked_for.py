"""A run answers in the form that its agent declared when it was asked for, on real stores."""

import json
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from app import ActionContext, Agent, OutputMismatch, action, tool
from app.authoring.output_type import OutputSchema
from app.functions.registry import FunctionRegistry
from app.main.load_agents import Declarations
from app.settings import Settings
from tests.support.backend import SECRET
from tests.support.deployment import Deployment, deployment, statements, working

pytestmark = pytest.mark.req("LOOP-12")


class Verdict(BaseModel):
    """What the first release is asked for."""

    urgent: bool
    team: str = "desk"


class Ruling(BaseModel):
    """What the next one is asked for."""

    priority: int


READ: dict[str, Any] = {}
ANSWERS = {"Verdict": {"urgent": True}, "Ruling": {"priority": 3}}


@tool(needs_approval=True)
async def sign() -> str:
    """Sign."""
    return "signed"


def _sign_and_answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Sign first, then answer in the form that is asked for, or in the words that no form is."""
    last = messages[-1]
    if not (isinstance(last, ModelRequest) and last.parts[-1].part_kind == "tool-return"):
        return ModelResponse([ToolCallPart("sign", {}, "call_sign")])
    (form,) = info.output_tools
    answer = ANSWERS[str(form.parameters_json_schema["title"])]
    return ModelResponse([ToolCallPart(form.name, json.dumps(answer), "call_answer")])


@action
async def read(ctx: ActionContext, run_id: str) -> None:
    """Read what a run came to."""
    try:
        result = await ctx.agents.judge.result(run_id)
    except OutputMismatch as mismatch:
        READ[run_id] = mismatch
    else:
        READ[run_id] = result and result.output


def release(output: OutputSchema | None) -> Declarations:
    """Return a release of the code, whose agent answers in this form."""
    model = FunctionModel(_sign_and_answer)
    agent = Agent(slug="judge", model=model, tools=[sign], output=output)
    functions = FunctionRegistry()
    functions.add("team", [read])
    return Declarations({"judge": agent}, functions)


async def ask(made: Deployment, key: str, **body: object) -> str:
    """Have Ann prompt the agent, until it waits for her; return the run."""
    async with made.http("ann") as ann:
        answer = await ann.post(
            "/agents/judge", json={"message": "hello", "sessionId": key, **body}
        )
        assert answer.status_code == 202, answer.text
    await made.until(key, "awaiting_input")
    return str(answer.json()["runId"])


async def approved(made: Deployment, key: str) -> Any:  # noqa: ANN401  # JSON
    """Let Ann approve, and return the session as it is then."""
    async with made.http("ann") as ann:
        decision = {"key": key, "toolCallId": "call_sign", "decision": "approved"}
        answer = await ann.post("/functions/agents:agentResolveApproval", json=decision)
        assert answer.status_code == 200, answer.text
        await made.until(key, "completed")
        return (await ann.get(f"/agents/judge/sessions/{key}")).json()


async def read_by(made: Deployment, run_id: str) -> Any:  # noqa: ANN401  # whatever it is read as
    async with made.http("ann") as ann:
        answer = await ann.post("/functions/team:read", json={"runId": run_id})
        assert answer.status_code == 200, answer.text
    return READ[run_id]


async def test_a_deploy_between_changes_nothing_of_a_run_that_was_asked_for(
    settings: Settings,
) -> None:
    first, second = release(Verdict), release(Ruling)
    schema = TypeAdapter(Verdict).json_schema()
    async with deployment(first, settings) as old:
        async with working(settings, first):
            begun = await ask(old, "before")
            other = await ask(old, "own", outputSchema=Ruling.model_json_schema())
        async with working(settings, second), deployment(second, settings) as new:
            after = await ask(new, "after")
            views = {key: await approved(new, key) for key in ("before", "own", "after")}
            shown = {key: view["output"] for key, view in views.items()}
            typed = [await read_by(old, begun), await read_by(old, other)]
            typed += [await read_by(new, after)]
            misfit = await read_by(new, begun)
            again = await new.stores.reader.run(begun)
            async with new.socket("ann") as ann:
                thread = await ann.watch_thread("before")

    assert shown == {"before": {"urgent": True}, "own": {"priority": 3}, "after": {"priority": 3}}
    assert typed == [Verdict(urgent=True, team="desk"), {"priority": 3}, Ruling(priority=3)]
    assert isinstance(misfit, OutputMismatch)
    assert again is not None
    assert again.policy == {"outputSchema": schema, "outputFromAgent": True}
    assert thread.value["output"] == {"urgent": True}


async def test_a_form_costs_no_statement(
    database_url: str,
    redis_url: str,
    redis_namespace: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = Settings(
        database_url=database_url,
        redis_url=redis_url,
        redis_namespace=redis_namespace,
        jwt_secret=SECRET,
        calls_per_second=0,
    )
    sent: dict[bool, list[str]] = {}
    for has_form in (False, True):
        async with deployment(release(Verdict if has_form else None), settings) as made:
            await made.talk("ann", f"first {has_form}", "hello", agent="judge")
            with statements(monkeypatch) as noted:
                await made.talk("ann", f"second {has_form}", "hello", agent="judge")
            sent[has_form] = noted

    assert sent[True] == sent[False]
