"""``make crash-points``: every point, every freeze, and as many pairs as asked for."""

import argparse
import asyncio
import logging
import secrets
import sys
import time
from pathlib import Path

from app.store.migrate import upgrade
from tests.support.crash_points.campaign import Campaign, Plan
from tests.support.crash_points.deployment import LANES, lanes
from tests.support.crash_points.report import report
from tests.support.embedded_stores import (
    Databases,
    running_postgres,
    running_redis,
    session_folder,
)
from tests.support.law_evidence import install_audit

TEMPLATE = "ropewalk_audited"


def main() -> int:
    """Play, print the report, and return 1 if a law was broken."""
    asked = _arguments()
    begun = time.monotonic()
    logging.disable(logging.ERROR)  # of the harness's own stores; each process has its log
    with running_postgres() as postgres, running_redis() as redis, session_folder() as folder:
        databases = Databases(postgres)
        template = databases.create(TEMPLATE)
        upgrade(template)
        install_audit(template)
        is_broken = asyncio.run(_play(asked, databases, redis.fast_url, folder))
    _say(f"{time.monotonic() - begun:.0f} s in all")
    return 1 if is_broken else 0


async def _play(
    asked: argparse.Namespace, databases: Databases, redis_url: str, folder: Path
) -> bool:
    async with lanes(databases, TEMPLATE, redis_url, folder, count=asked.lanes) as (forking, found):
        campaign = Campaign(found, forking.points, asked.seed, say=_say)
        _say(f"seed {asked.seed}; {len(forking.points)} points in the code")
        if asked.play:
            await campaign.run("asked for", [Plan.parse(each, asked.build) for each in asked.play])
            for _, played in campaign.broken:
                _say(played.log)
            return bool(campaign.broken)
        await campaign.reference()
        await campaign.run("every point", campaign.singles(asked.visits, asked.sample))
        await campaign.run("points of a rescue", campaign.rescues())
        await campaign.run("frozen", campaign.freezes(asked.freezes))
        await campaign.run("held", campaign.holds(asked.holds))
        await campaign.run("pairs", campaign.pairs(asked.pairs))
        unexplained = report(campaign, _say)
    return bool(campaign.broken or unexplained)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make crash-points", description=__doc__)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1 << 31))
    parser.add_argument("--pairs", type=int, default=200, help="two deaths in a row")
    parser.add_argument("--visits", type=int, default=1, help="at how many visits a point strikes")
    parser.add_argument("--sample", type=int, default=30, help="known points of later scenarios")
    parser.add_argument("--freezes", type=int, default=150, help="points to stand still at")
    parser.add_argument("--holds", type=int, default=150, help="points to be held at")
    parser.add_argument("--lanes", type=int, default=LANES)
    parser.add_argument("--build", help="a deliberately broken build, for --play")
    parser.add_argument("--play", action="append", help="one play, as a violation names it")
    return parser.parse_args()


def _say(sentence: str) -> None:
    print(sentence, flush=True)  # noqa: T201  # a command


if __name__ == "__main__":
    sys.exit(main())
