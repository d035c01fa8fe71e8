"""The figures of a storm, for people."""

from collections import Counter
from collections.abc import Iterable

from tests.support.chaos.meter import Meter, Spans
from tests.support.chaos.storm import Round

_TIMES = {
    "SIGKILL until a run goes on elsewhere, nothing else broken": "takeovers",
    "the same in the storm": "takeovers_in_storm",
    "SIGTERM until a run without a tool in flight goes on elsewhere": "handovers",
    "the same in the storm ": "handovers_in_storm",
    "return of Redis until a step is recorded": "after_redis",
    "return of Postgres until a step is recorded": "after_postgres",
    "commit until a page shows it, in calm weather": "lag",
}

_BOUNDS = {
    "takeovers": (0.99, 3.0),
    "handovers": (0.99, 0.5),
    "after_redis": (0.99, 3.0),
    "after_postgres": (0.99, 3.0),
    # Forty pages, two gateways, two workers and both stores share the machine with who measures.
    "lag": (0.95, 0.1),
}
"""The share of all that has to be quicker than so many seconds."""


def late(rounds: Iterable[Round]) -> list[str]:
    """Return a sentence for each promise about time that was broken, or was not tried at all."""
    meters = [one.meter for one in rounds]
    sentences = []
    for name, field in _TIMES.items():
        share, bound_s = _BOUNDS.get(field, (1.0, float("inf")))
        spans = times_of(meters, field)
        if field in _BOUNDS and not spans.seconds:
            sentences.append(f"{name}: nothing was measured")
        elif spans.quantile(share) > bound_s:
            sentences.append(f"{name}: {spans}, and {share:.0%} may take {bound_s:g} s")
    return sentences


def report(rounds: Iterable[Round]) -> str:
    """Return the figures of all rounds as a page of text."""
    rounds = list(rounds)
    counts: Counter[str] = sum((one.counts for one in rounds), Counter())
    faults: Counter[str] = sum((one.faults for one in rounds), Counter())
    meters = [one.meter for one in rounds]
    kills = sum(one.kills for one in rounds)
    return "\n".join(
        [
            f"{len(rounds)} rounds, {kills} processes killed, {faults.total()} faults",
            *(f"  {number:6} {name}" for name, number in faults.most_common()),
            "under load:",
            *(f"  {number:6} {name}" for name, number in sorted(counts.items())),
            "times:",
            *(f"  {name}: {times_of(meters, field)}" for name, field in _TIMES.items()),
        ]
    )


def times_of(meters: Iterable[Meter], field: str) -> Spans:
    """Return the times of one kind that all of them took."""
    spans: list[Spans] = [getattr(meter, field) for meter in meters]
    return Spans([second for each in spans for second in each.seconds])
