"""Rounds of storms on one pair of stores, each on a database of its own."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace

import uvloop

from tests.support.chaos.deployment import a_deployment, running_helpers
from tests.support.chaos.stores import Stores
from tests.support.chaos.storm import Course, Round, Storm
from tests.support.standstill import watch_for_standstills


def storm_for(
    stores: Stores,
    course: Course,
    *,
    seconds: float = 0,
    breaks: str = "",
    on_round: Callable[[Round], None] = lambda _: None,
) -> list[Round]:
    """Return what became of the rounds; the last one is the one that broke a law, if one did.

    Args:
        stores: are restarted, flushed and crashed.
        course: of each round; its seed is that of all, and a round's place is added to it.
        seconds: how long to go on; at least one round.
        breaks: what is broken on purpose (``breaks``).
        on_round: told of each.
    """
    watch_for_standstills()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_rounds(stores, course, seconds, breaks, on_round))


async def _rounds(
    stores: Stores,
    course: Course,
    seconds: float,
    breaks: str,
    on_round: Callable[[Round], None],
) -> list[Round]:
    rounds: list[Round] = []
    until = time.monotonic() + seconds
    async with running_helpers(stores) as helpers:
        while not rounds or (time.monotonic() < until and not rounds[-1].violations):
            one = replace(course, seed=f"{course.seed}/{len(rounds)}")
            async with a_deployment(helpers, breaks=breaks) as deployment:
                rounds.append(await Storm(deployment, one).run())
            on_round(rounds[-1])
    return rounds
