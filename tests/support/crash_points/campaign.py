"""All the plays: every point once, every point frozen, points in pairs; and what they came to.

A *reference* play without a death says which points a scenario visits, and how often.  From it come
the single deaths; what a second worker visits after each of them is where the second death of a
pair may strike.  Everything that is drawn is drawn from the seed.
"""

import asyncio
import math
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tests.support.crash_points.kills import WORKER, Kill
from tests.support.crash_points.lane import Lane
from tests.support.crash_points.play import Played, play
from tests.support.crash_points.points import BODY, THAWED
from tests.support.crash_points.scenarios import AT_HOLD, OTHERS, SCENARIOS, WALK, Scenario

PROGRESS = 100
SECOND = f"{WORKER} 2"
LAST = 12
"""Points of each process that a violation is told with."""

Visits = Mapping[str, int]
"""How often each point was visited."""


@dataclass(frozen=True, slots=True)
class Plan:
    """A play to be."""

    scenario: Scenario
    kills: tuple[Kill, ...]
    build: str | None = None
    """A deliberately broken one."""

    def __str__(self) -> str:
        """Return it as ``make crash-points PLAY="..."`` takes it."""
        return " ".join([self.scenario.name, *map(str, self.kills)])

    @classmethod
    def parse(cls, text: str, build: str | None = None) -> "Plan":
        """Return what ``str`` wrote."""
        name, *kills = text.split()
        scenario = next(each for each in (*SCENARIOS, *AT_HOLD, *OTHERS) if each.name == name)
        return cls(scenario, tuple(map(Kill.parse, kills)), build)


@dataclass(slots=True)
class Tally:
    """What a phase came to."""

    phase: str
    of: int
    plays: int = 0
    deaths: int = 0
    missed: int = 0
    """Deaths that did not happen: the point was not visited so often this time."""
    seconds: float = 0.0

    def __str__(self) -> str:
        """Return one line."""
        return (
            f"{self.phase}: {self.plays} runs, {self.deaths} deaths, {self.missed} not reached, "
            f"{self.seconds:.0f} s"
        )


@dataclass
class Campaign:
    """Plays on several lanes at once.

    Attributes:
        lanes: as many workers are alive at a time (twice as many when some are frozen).
        points: the names of all points, by number.
        say: told of each violation, with how to reproduce it, and of each phase.
    """

    lanes: Sequence[Lane]
    points: Sequence[str]
    seed: int
    say: Callable[[str], None] = print
    until: float = math.inf
    """By ``time.monotonic``: nothing new is played after it."""
    tallies: list[Tally] = field(default_factory=list)
    broken: list[tuple[Plan, Played]] = field(default_factory=list)
    visited: Counter[str] = field(default_factory=Counter)
    seen: dict[str, dict[str, Visits]] = field(default_factory=dict)
    """By scenario and by who it was: the visits of the reference play."""
    after: dict[Plan, Visits] = field(default_factory=dict)
    """What the second worker visited after a single death."""

    def __post_init__(self) -> None:
        """Begin the sequence of draws."""
        self.random = random.Random(self.seed)  # noqa: S311  # repeatable, not secret

    # ---- what to play ----

    async def reference(self, scenarios: Sequence[Scenario] = SCENARIOS) -> None:
        """Play each scenario without a death, each act in a process of its own."""
        await self.run("reference", [Plan(each, ()) for each in scenarios], callers=True)

    def singles(self, most: int, sample: int) -> list[Plan]:
        """Return one death for each point, at up to ``most`` of its visits.

        A scenario adds what those before it did not visit, and ``sample`` of what they did.
        """
        plans: list[Plan] = []
        known: set[tuple[str, str]] = set()
        for scenario in SCENARIOS:
            new: list[Kill] = []
            old: list[Kill] = []
            for who, visits in self._targets(scenario):
                way_in = scenario.way_in(who)
                for point, times in visits.items():
                    deaths = [Kill(point, visit, who) for visit in self._some_of(times, most)]
                    (old if (way_in, point) in known else new).extend(deaths)
            known |= {(scenario.way_in(kill.who), kill.point) for kill in new}
            chosen = new + self.random.sample(old, min(sample, len(old)))
            plans += [Plan(scenario, (kill,)) for kill in chosen]
        return plans

    def freezes(self, count: int) -> list[Plan]:
        """Return up to ``count`` points at which a worker stands still and thaws later."""
        return self._drawn([WALK], "freeze", count)

    def holds(self, count: int) -> list[Plan]:
        """Return up to ``count`` points at which a worker is held while something happens."""
        return self._drawn(AT_HOLD, "hold", count)

    def rescues(self) -> list[Plan]:
        """Return a pair for each point that only a second worker visited."""
        first = {who_point for visits in self._seen_by_first() for who_point in visits}
        plans: dict[str, Plan] = {}
        for plan, visits in self.after.items():
            for point, times in visits.items():
                if point not in first and point not in plans:
                    second = Kill(point, self.random.randint(1, times))
                    plans[point] = Plan(plan.scenario, (*plan.kills, second))
        return list(plans.values())

    def pairs(self, count: int) -> list[Plan]:
        """Return ``count`` pairs: a death that was played, and one of what came after it."""
        singles = list(self.after)
        pairs = []
        for _ in range(count):
            first = self.random.choice(singles)
            points = self.after[first]
            point = self.random.choice(list(points))
            second = Kill(point, self.random.randint(1, points[point]))
            pairs.append(Plan(first.scenario, (*first.kills, second)))
        return pairs

    # ---- playing ----

    async def run(self, phase: str, plans: Sequence[Plan], *, callers: bool = False) -> None:
        """Play all of these; the lanes share the work.

        Args:
            phase: what the report calls it.
            plans: what is played.
            callers: see ``play``.
        """
        tally, begun = Tally(phase, len(plans)), time.monotonic()
        self.tallies.append(tally)
        left = iter(plans)

        async def work(lane: Lane) -> None:
            while time.monotonic() < self.until and (plan := next(left, None)) is not None:
                played = await play(
                    lane, plan.scenario, plan.kills, build=plan.build, callers=callers
                )
                self._note(tally, plan, played)

        async with asyncio.TaskGroup() as group:
            for lane in self.lanes:
                group.create_task(work(lane), name=f"plays of {lane.namespace}")
        tally.seconds = time.monotonic() - begun
        self.say(str(tally))

    def _note(self, tally: Tally, plan: Plan, played: Played) -> None:
        tally.plays += 1
        if tally.plays % PROGRESS == 0:
            self.say(f"    {tally.phase}: {tally.plays} of {tally.of}")
        tally.deaths += len(played.happened)
        tally.missed += len(plan.kills) - len(played.happened)
        visits = {who: self._count(numbers) for who, numbers in played.visits.items()}
        for counted in visits.values():
            self.visited.update(counted)
        if not plan.kills:
            self.seen[plan.scenario.name] = visits
        happened = [(kill.who, kill.deed) for kill in played.happened]
        if len(plan.kills) == 1 and happened == [(WORKER, "kill")] and SECOND in visits:
            self.after[plan] = visits[SECOND]
        if played.violations:
            self.broken.append((plan, played))
            self.say(f'VIOLATED (seed {self.seed}); again: make crash-points PLAY="{plan}"')
            for violation in played.violations:
                self.say(f"    {violation}")
            for who, numbers in played.visits.items():
                last = [self.points[each] for each in numbers[-LAST:] if each != THAWED]
                self.say(f"    {who} was last at {', '.join(last)}")

    # ---- points ----

    def _count(self, visits: Iterable[int]) -> Visits:
        names = (self.points[number] for number in visits if number != THAWED)
        return Counter(name for name in names if name != BODY)

    def _drawn(self, scenarios: Sequence[Scenario], deed: str, count: int) -> list[Plan]:
        visits = self.seen[WALK.name][WORKER]
        every = [
            Plan(scenario, (Kill(point, self.random.randint(1, times), WORKER, deed),))
            for scenario in scenarios
            for point, times in visits.items()
        ]
        return self.random.sample(every, min(count, len(every)))

    def _targets(self, scenario: Scenario) -> Iterator[tuple[str, Visits]]:
        for who, visits in self.seen[scenario.name].items():
            if not who.startswith(f"{WORKER} "):
                yield who, visits

    def _seen_by_first(self) -> Iterator[Visits]:
        for scenario in self.seen.values():
            yield from scenario.values()

    def _some_of(self, times: int, most: int) -> list[int]:
        """Return up to ``most`` visits: if there may be three, the first and the last are there."""
        if times <= most:
            return list(range(1, times + 1))
        if most < 3:
            return self.random.sample(range(1, times + 1), most)
        return [1, *self.random.sample(range(2, times), most - 2), times]
