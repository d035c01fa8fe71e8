"""The system prompt of a run: asked for once, then kept (DUR-09)."""

import inspect
from collections.abc import Callable
from typing import cast

from app.authoring.agent import Agent, Instructions, takes_context
from app.authoring.contained import contained
from app.authoring.tool_context import InstructionsContext
from app.domain.errors import AgentFault
from app.domain.retry import RetryPolicy
from app.engine.durable_run import DurableRun
from app.engine.steps import StepContext, StepPolicy, StepResult, retry_any

STEP = "instructions"


class InstructionsFailed(AgentFault):
    """The callable for ``instructions`` raised."""

    code = "INSTRUCTIONS_FAILED"


async def instructions_of(agent: Agent, source: Instructions, run: DurableRun) -> str:
    """Return the run's instructions; a callable is asked in a recorded step.

    Args:
        agent: whose they are.
        source: what counts for the run: the agent's own, or what stands in their place.
        run: is asked about.

    Raises:
        InstructionsFailed: the callable raised, every time.
    """
    if isinstance(source, str):
        return source
    ask = cast(Callable[..., object], source)
    context = InstructionsContext(
        run_id=run.run.id,
        thread_key=run.thread.key,
        agent=run.run.agent,
        owner=run.thread.owner,
    )

    async def body(_: StepContext) -> StepResult:
        try:
            with contained("instructions"):
                asked = ask(context) if takes_context(ask) else ask()
                text = await asked if inspect.isawaitable(asked) else asked
        except Exception as error:
            raise InstructionsFailed(
                f"the instructions of {agent.slug} raised {error!r}"
            ) from error
        if not isinstance(text, str):
            raise InstructionsFailed(f"the instructions of {agent.slug} returned no text: {text!r}")
        return StepResult(text)

    policy = StepPolicy(delay_after=retry_any(RetryPolicy()))
    return cast(str, await run.step(STEP, body, policy=policy))
