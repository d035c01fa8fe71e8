"""Builds that are broken on purpose break a law, and the same plays on the real one break none.

Each play is one that hits where the build is broken.  What needs a gateway to be seen
(reconciling switched off while hints are lost) is shown by the chaos suite.
"""

from collections.abc import Mapping

import pytest

from app.main.embedded import EmbeddedRedis
from tests.chaos.crash_points.stage import play_all
from tests.support.crash_points.broken_builds import BUILDS
from tests.support.crash_points.campaign import Campaign, Plan
from tests.support.embedded_stores import Databases

RECORDED = "app.store.recording:record_step#1"
IN_THE_JOURNAL = "app.journal.scripts:complete_step#1:after"
SPEAKING = "app.loop.streaming:_streamed#2:got"

PLAYS = {
    "park-without-comparing-what-was-stored": (
        "approve-at worker/hold/app.store.waiting:park#1:before/1",
        "at every moment",
    ),
    "no-lease-check-before-a-body": (
        "walk worker/freeze/app.engine.bodies:Bodies.try_one#1:before/4",
        "bodies",
    ),
    "record-not-idempotent": (f"walk worker/kill/{RECORDED}:after/4", "as played"),
    "settle-without-closing-the-journal": (
        f"orphan worker/kill/{IN_THE_JOURNAL}/4",
        "at rest",
    ),
    "token-attempt-counted-per-drive": (f"walk worker/kill/{SPEAKING}/32", "words"),
    "fence-checked-without-the-lock": (
        f"taken-at worker/hold/{RECORDED}:before/4",
        "at every moment",
    ),
    "start-without-the-lock": (
        "both again/hold/app.store.starting:_locked_thread#2:after/1",
        "as played",
    ),
    "record-under-an-older-epoch": (
        f"walk worker/freeze/{RECORDED}:before/4",
        "at every moment",
    ),
    "what-a-dead-worker-left-in-the-journal-is-forgotten": (
        f"walk worker/kill/{IN_THE_JOURNAL}/4",
        "bodies",
    ),
    "journal-never-dropped": ("walk", "Redis"),
    "parallel-calls-start-when-a-run-was-taken": (
        "walk worker/freeze/app.engine.bodies:Bodies._may_start#1:after/4",
        "bodies",
    ),
}
"""By build: what is played, and the law that is broken."""

TRIES = 3
"""What a broken build does decides the machine as well: two in a hundred plays go by unharmed."""

Broken = Mapping[str, list[str]]
"""The laws that each play broke."""


@pytest.fixture(scope="module")
def broken(databases: Databases, audited: str, redis_server: EmbeddedRedis) -> Broken:
    async def play(campaign: Campaign) -> Broken:
        campaign.say = lambda _: None
        caught: dict[str, list[str]] = {build: [] for build in PLAYS}
        for _ in range(TRIES):
            plans = [
                Plan.parse(play, build)
                for build, (play, law) in PLAYS.items()
                if law not in caught[build]
            ]
            campaign.broken.clear()
            await campaign.run("broken builds", plans)
            for plan, played in campaign.broken:
                caught[plan.build or ""] += [violation.law for violation in played.violations]
        return caught

    return play_all(databases, audited, redis_server.fast_url, 0, play)


def test_every_broken_build_is_played() -> None:
    assert PLAYS.keys() == BUILDS.keys()


@pytest.mark.parametrize(("build", "law"), [(build, law) for build, (_, law) in PLAYS.items()])
def test_it_is_caught(build: str, law: str, broken: Broken) -> None:
    assert law in broken.get(build, [])


def test_the_same_plays_break_nothing_on_the_real_build(
    databases: Databases, audited: str, redis_server: EmbeddedRedis
) -> None:
    async def play(campaign: Campaign) -> list[str]:
        await campaign.run("real build", [Plan.parse(play) for play, _ in PLAYS.values()])
        return [f"{plan}: {list(map(str, played.violations))}" for plan, played in campaign.broken]

    assert play_all(databases, audited, redis_server.fast_url, 0, play) == []
