"""A cancel in a model request closes the provider's connection, and the thread is free at once."""

import asyncio

import pytest

from app import Agent
from app.domain.ports import ShownText
from app.domain.run import RunStatus
from tests.support.agent_world import AgentWorld, no_backoff
from tests.support.late import LATE_S
from tests.support.provider_servers import Answers, ProviderServer, serving
from tests.support.wait_until import wait_until

__all__ = ["no_backoff"]

pytestmark = pytest.mark.parametrize("provider", ["openai", "anthropic"])

WORDS = " ".join(f"word{n}" for n in range(500))
FINE = Answers("All is well.")


async def stopped(world: AgentWorld, server: ProviderServer, *, words: int = 0) -> None:
    """Say something, and cancel it when the provider falls silent and its words were shown."""
    shown: list[str] = []
    show = world.journal.show

    def spying(thread_id: str, epoch: int, text: ShownText) -> None:
        shown[:] = text.text.split()
        show(thread_id, epoch, text)

    vars(world.journal)["show"] = spying
    world.worker(slots=1)
    run_id = await world.say()
    async with asyncio.timeout(10):
        await server.silent.wait()
    await wait_until(lambda: len(shown) >= words, description="the words are shown")
    run = await world.store.cancel(world.thread().id, run_id)
    assert run is not None
    assert run.status is RunStatus.CANCELLED
    async with asyncio.timeout(1 + LATE_S):
        await server.hung_up.wait()


async def test_b43_a_stop_in_the_middle_hangs_up_keeps_and_counts_what_was_seen(
    provider: str,
) -> None:
    half = Answers(WORDS, silent_after=53)
    async with (
        serving(provider, half, FINE) as (model, server),
        AgentWorld(Agent(model=model)) as world,
    ):
        await stopped(world, server, words=45)
        ((role, status, text),) = world.said()[1:]
        cost = world.thread().usage
        again = await world.answered("and now?")

    assert (role, status) == ("assistant", "interrupted")
    assert WORDS.startswith(text)
    assert 45 < len(text.split()) < 60
    assert again.stopped == "final"
    assert world.said()[-1] == ("assistant", "complete", "All is well.")
    assert cost.requests == 1
    # Anthropic's first event says what was read; OpenAI counts in the last one, which never came.
    assert (cost.input_tokens > 0) == (provider == "anthropic")


@pytest.mark.parametrize("streaming", [True, False])
async def test_b44_a_stop_before_the_first_token_hangs_up_and_frees_the_thread(
    provider: str,
    streaming: bool,  # noqa: FBT001  # a parameter
) -> None:
    async with (
        serving(provider, Answers("Never.", silent_after=0), FINE) as (model, server),
        AgentWorld(Agent(model=model), streaming=streaming) as world,
    ):
        await stopped(world, server)
        assert world.said() == [("user", "complete", "hello")]
        again = await world.answered("and now?")

    assert again.stopped == "final"
    assert world.said()[-1] == ("assistant", "complete", "All is well.")
    assert len(server.requests) == 2
