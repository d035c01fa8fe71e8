"""Builds that are broken on purpose break a law, and the same plays on the real one break none.

Each play is one that hits where the build is broken, each time: who gets where first is decided by
the play and never by the machine, so once is enough.  What needs a gateway to be seen
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
MAY_START = "app.engine.bodies:Bodies._may_start#1:before"
FIRST_OF_THE_CALLS = 3
"""Of the bodies: after the instructions' and a model request's.  None of the calls has begun, so
that none has anything to write before the others are let through."""
SAID = "app.fanout.tokens:RedisTokenSink._send#3:after"

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
    "token-attempt-counted-per-drive": (f"walk worker/kill/{SAID}/1", "words"),
    "fence-checked-without-the-lock": (
        f"taken-at worker/hold/{RECORDED}:before/2",
        "at every moment",
    ),
    "start-without-the-lock": (
        "both again/hold/app.store.starting:_locked_thread#2:after/1",
        "as played",
    ),
    "record-under-an-older-epoch": (
        f"taken-at worker/hold/{RECORDED}:before/2",
        "at every moment",
    ),
    "what-a-dead-worker-left-in-the-journal-is-forgotten": (
        f"walk worker/kill/{IN_THE_JOURNAL}/4",
        "bodies",
    ),
    "journal-never-dropped": ("walk", "Redis"),
    "parallel-calls-start-when-a-run-was-taken": (
        f"unheard worker/freeze/{MAY_START}/{FIRST_OF_THE_CALLS}",
        "bodies",
    ),
}
"""By build: what is played, and the law that is broken."""

Broken = Mapping[str, list[str]]
"""The laws that each play broke."""


@pytest.fixture(scope="module")
def broken(databases: Databases, audited: str, redis_server: EmbeddedRedis) -> Broken:
    async def play(campaign: Campaign) -> Broken:
        campaign.say = lambda _: None
        plans = [Plan.parse(play, build) for build, (play, _) in PLAYS.items()]
        await campaign.run("broken builds", plans)
        return {
            plan.build or "": [violation.law for violation in played.violations]
            for plan, played in campaign.broken
        }

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
