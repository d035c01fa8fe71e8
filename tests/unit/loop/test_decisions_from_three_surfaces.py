"""Whoever decides, from wherever, however many at once: decided once, run as decided."""

import asyncio
import itertools

import pytest

from app.domain.errors import ChatError
from tests.support.agent_world import no_backoff
from tests.support.decision_schedules import SURFACES, Answer, Attempt, Schedule, drawn, play
from tests.support.memory_desk import memory_desk

__all__ = ["no_backoff"]

DESK = 20
"""Schedules on one pair of stores: what the inbox lists grows with them."""


async def play_all(patch: pytest.MonkeyPatch, seeds: range) -> None:
    for first in range(seeds.start, seeds.stop, DESK):
        async with memory_desk(patch) as desk:
            for seed in range(first, min(first + DESK, seeds.stop)):
                try:
                    async with asyncio.timeout(10):
                        await play(desk, drawn(seed))
                except (ChatError, AssertionError, TimeoutError) as error:
                    error.add_note(f"in {drawn(seed)}")
                    raise


@pytest.mark.req("APR-04", "APR-12", "APR-16", "APR-28", "APR-31", "APR-33")
async def test_schedules_drawn_from_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    await play_all(monkeypatch, range(300))


@pytest.mark.req("APR-33")
async def test_of_twenty_people_on_three_surfaces_one_decides_and_the_others_learn_who(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    crowd = [f"admin-{number}" for number in range(20)]
    async with memory_desk(monkeypatch, dict.fromkeys(crowd, ("admin",))) as desk:
        await desk.begin("k", Schedule(0, (("c0", "pay", 1),), (), None))
        verdicts = itertools.cycle(("approved", "denied"))
        attempts = [
            Attempt(person, person, surface, (Answer("c0", verdict),), 0)
            for person, surface, verdict in zip(
                crowd, itertools.cycle(SURFACES), verdicts, strict=False
            )
        ]

        replies = await asyncio.gather(*(desk.send("k", each) for each in attempts))

        (stored,) = await desk.stored("k")
        (winner,) = [each for each in replies if each.code == "OK"]
        others = [each for each in replies if each is not winner]
    assert stored.decided_by == stored.reason == winner.attempt.person
    assert {each.code for each in others} == {"CONFLICT"}
    assert {each.data["decidedBy"] for each in others} == {stored.decided_by}


@pytest.mark.long
@pytest.mark.req("APR-04", "APR-12", "APR-16", "APR-28", "APR-31", "APR-33")
@pytest.mark.parametrize("part", range(1, 26))
async def test_ten_thousand_schedules(monkeypatch: pytest.MonkeyPatch, part: int) -> None:
    await play_all(monkeypatch, range(part * 400, (part + 1) * 400))
