"""What a campaign says at its end: points, runs, deaths, violations, and what was never reached."""

from collections import Counter
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Final

from tests.support.crash_points.campaign import Campaign
from tests.support.crash_points.points import BODY

UNREACHED: Final[dict[str, str]] = {
    "app.store.mending:*": "an operator's command, begun again when it dies",
    "app.store.census:*": "reads for metrics",
    "app.store.retention:*": "comes once in an hour, and again after a death",
    "app.store.calls:forget_old_calls#*": "comes once in an hour, and again after a death",
    "app.store.crons:PostgresCrons.crons#*": "reads for the command line",
    "app.store.crons:*": "these deployments declare no cron; tests/e2e kills workers between slots",
    "app.store.scheduled_calls:*": "these scenarios schedule runs; the claims are raced elsewhere",
    "app.store.timers:cancel#*": "nobody takes a schedule back here",
    "app.store.runs:PostgresRunStore.unschedule#*": "nobody takes a schedule back here",
    "app.store.overrides:PostgresOverrides.draft#*": "reads for the admin UI",
    "app.store.overrides:PostgresOverrides.versions#*": "reads for the admin UI",
    "app.store.overrides:PostgresOverrides.audit#*": "reads for the admin UI",
    "app.store.threads:*": "reads for pages",
    "app.store.transactions:PostgresTransactions.read_only#*": "reads for queries",
    "app.keyspace.live_text:read_shown#*": "reads for pages",
    "app.keyspace.census:*": "reads for the doctor",
    "app.store.thread_writer:*": "for workflows, which nobody plays yet",
    "app.engine.durable_run:DurableRun.sleep#*": "for workflows, which nobody plays yet",
    "app.engine.durable_run:DurableRun.wait_for_event#*": "for workflows, which nobody plays yet",
    "app.engine.durable_run:DurableRun.wait_for#*": "for workflows, which nobody plays yet",
    "*._back_off#*": "a store is away: storms do that",
    "app.store.database:Database._repeated#3:*": "a store is away: storms do that",
    "app.queue.worker:DoorbellWorker._turn#5:after": "a store is away: storms do that",
    "app.loop.streaming:ask#*": "a model that does not stream",
}
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
