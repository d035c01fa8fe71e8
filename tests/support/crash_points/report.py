"""What a campaign says at its end: points, runs, deaths, violations, and what was never reached."""

from collections import Counter
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Final

from tests.support.crash_points.campaign import Campaign
from tests.support.crash_points.points import BODY

UNREACHED: Final[dict[str, str]] = {}
"""Points that these scenarios do not visit, by pattern, and why."""


def report(campaign: Campaign, say: Callable[[str], None]) -> list[str]:
    """Say everything; return the points that were neither visited nor explained."""
    points = [name for name in campaign.points if name != BODY]
    missing = [name for name in points if not campaign.visited[name]]
    reasons = Counter(filter(None, map(why_unreached, missing)))
    unexplained = [name for name in missing if why_unreached(name) is None]
    runs = sum(tally.plays for tally in campaign.tallies)
    deaths = sum(tally.deaths for tally in campaign.tallies)
    say(f"{len(points)} points, {len(points) - len(missing)} visited, {len(missing)} not:")
    for reason, count in reasons.most_common():
        say(f"    {count:4} {reason}")
    for name in unexplained:
        say(f"    not visited, and nobody says why: {name}")
    say(f"{runs} runs, {deaths} deaths, {len(campaign.broken)} with violations")
    return unexplained


def why_unreached(point: str) -> str | None:
    """Return why the scenarios do not visit a point."""
    return next((why for pattern, why in UNREACHED.items() if fnmatchcase(point, pattern)), None)


def broken_laws(campaign: Campaign) -> str:
    """Return every violation with how to make it happen again; nothing when there is none."""
    return "\n".join(
        f'make crash-points PLAY="{plan}": {violation}'
        for plan, played in campaign.broken
        for violation in played.violations
    )
