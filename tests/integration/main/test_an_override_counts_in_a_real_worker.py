"""What is published counts for the next prompt, on real stores, over restarts and deploys."""

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from app import Agent, tool
from app.functions.registry import FunctionRegistry
from app.main.load_agents import Declarations
from app.settings import Settings
from tests.support.deployment import Deployment, deployment, working

pytestmark = pytest.mark.req("ADM-03", "ADM-04")


@tool(needs_approval=True)
async def sign() -> str:
    """Sign."""
    return "signed"


def _sign_and_tell(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Sign first, then tell the instructions."""
    last = messages[-1]
    if isinstance(last, ModelRequest) and isinstance(last.parts[-1], ToolReturnPart):
        return ModelResponse([TextPart(info.instructions or "nothing")])
    return ModelResponse([ToolCallPart("sign", {}, "call_sign")])


def release(instructions: str) -> Declarations:
    """Return a release of the code, whose agent has these instructions."""
    model = FunctionModel(_sign_and_tell)
    agent = Agent(slug="helper", model=model, tools=[sign], instructions=instructions)
    return Declarations({"helper": agent}, FunctionRegistry())


async def operate(made: Deployment, name: str, **args: object) -> None:
    async with made.http("root", "admin") as root:
        answer = await root.post(f"/functions/agents:{name}", json={"agent": "helper", **args})
        assert answer.status_code == 200, answer.text


async def publish(made: Deployment, instructions: str) -> None:
    await operate(made, "adminSaveDraft", content={"instructions": instructions})
    await operate(made, "adminPublish")


async def ask(made: Deployment, key: str) -> None:
    """Have Ann prompt the agent, until it waits for her."""
    await made.talk("ann", key, "hello", agent="helper")
    await made.until(key, "awaiting_input")


async def told(made: Deployment, key: str) -> str:
    """Let Ann approve, and return what she is told then."""
    async with made.http("ann") as ann:
        decision = {"key": key, "toolCallId": "call_sign", "decision": "approved"}
        answer = await ann.post("/functions/agents:agentResolveApproval", json=decision)
        assert answer.status_code == 200, answer.text
        await made.until(key, "completed")
        view = (await ann.get(f"/agents/helper/sessions/{key}")).json()
    return str(view["messages"][-1]["text"])


async def test_a_run_ends_as_it_began_and_the_next_one_goes_by_what_was_published(
    settings: Settings,
) -> None:
    old, new = release("Old code."), release("New code.")
    async with deployment(old, settings) as made:
        async with working(settings, old):
            await ask(made, "before")
            await publish(made, "First.")
            await ask(made, "first")
            await publish(made, "Second.")
        async with working(settings, new):
            await ask(made, "second")
            await operate(made, "adminReset")
            await ask(made, "reset")
            heard = [await told(made, key) for key in ("before", "first", "second", "reset")]

    assert heard == ["New code.", "First.", "Second.", "New code."]
