"""One play: a scenario on a lane, through its deaths, to its end; then the laws are checked.

At most one worker is at work at a time (two once a frozen one has thawed): the next is forked when
the one before has died and nothing of it is under way any more, so what the stores held at that
moment is known exactly.
"""

import asyncio
import itertools
import json
import signal
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias, cast

from app.domain.errors import ChatError
from app.domain.identity import Identity
from app.functions.dispatch import Functions
from app.keyspace.script import command
from tests.support.body_log import Line
from tests.support.crash_points import pace
from tests.support.crash_points.endings import as_played
from tests.support.crash_points.kills import DEEDS, WORKER, Kill
from tests.support.crash_points.lane import Lane
from tests.support.crash_points.orders import Order
from tests.support.crash_points.points import BODY, THAWED
from tests.support.crash_points.rivals import Standing, is_waited_for
from tests.support.crash_points.scenarios import USER, Act, Scenario, State
from tests.support.crash_points.zygote import Child
from tests.support.law_evidence import Death, Evidence, Words, gather, listening
from tests.support.laws import Violation, check
from tests.support.wait_until import wait_until

Call: TypeAlias = dict[str, Any]
Answer: TypeAlias = dict[str, Any]
"""With ``error`` and ``message`` if the call was refused."""

LOOK_S = 0.008
PATIENCE_S = 30.0
"""For a whole play; it takes three seconds, and several times as long on a machine that is busy."""
DOOR = "Bodies._may_start#1:after"
"""The point after which nothing stands between a step and its body."""
DRIVE = ("app.engine.drive:drive#1", "app.engine.drive:drive#2")
"""The awaits of a drive: behind the last one that it comes to, it has dropped its journal."""
TIDY_S = 10.0
"""For a drive that was cut off to do so: nothing says that it does not."""
SWEEPS = "app.engine.sweeper:Sweeper.run#1:before"
"""A point that a worker comes to again and again, whatever else it does."""
TRACES_S = 0.15
"""For processes to write down where they stand."""


class PlayBroke(Exception):
    """A process ended that nobody had ended."""


@dataclass(slots=True)
class Played:
    """What came of a play.

    Attributes:
        happened: the kills that did.
        violations: of the laws, and of what the scenario says.
        visits: by who it was (``worker``, ``worker 2`` ..., or the act), the points in order.
    """

    scenario: Scenario
    kills: Sequence[Kill]
    happened: list[Kill] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)
    visits: dict[str, list[int]] = field(default_factory=dict)
    seconds: float = 0.0
    log: str = ""
    evidence: Evidence = field(default_factory=Evidence)


async def play(
    lane: Lane,
    scenario: Scenario,
    kills: Sequence[Kill] = (),
    *,
    build: str | None = None,
    callers: bool = False,
    patience_s: float = PATIENCE_S,
) -> Played:
    """Play a scenario from an empty database to its end, and check the laws.

    Args:
        lane: where.
        scenario: see there.
        kills: who dies where; those of workers are for one after the other.
        build: a deliberately broken build that all processes are.
        callers: whether a process of its own does each act, so that its points are seen.
        patience_s: how long it may take.
    """
    begun = time.monotonic()
    await lane.clear()
    played = Played(scenario, kills)
    async with listening(lane.redis, lane.namespace) as words:
        under_way = _Play(lane, played, build, words, callers=callers or build is not None)
        try:
            async with asyncio.timeout(patience_s):
                await under_way.perform()
        except PlayBroke as broke:
            played.violations.append(Violation("as played", str(broke)))
        except TimeoutError:
            sentence = f"not over after {patience_s:g} s: {await under_way.standstill()}"
            played.violations.append(Violation("comes to an end", sentence))
        finally:
            await under_way.clear_up()
        await under_way.judge()
    played.seconds = time.monotonic() - begun
    return played


_SESSIONS = "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1"
_STEPS = "SELECT run || '/' || name AS key FROM agent_steps"
_MAY_LIVE = """
SELECT count(*) FROM agent_workers WHERE split_part(id, '-', 3) = $1 AND gone_at IS NULL
"""
_BEAT = "SELECT coalesce(max(beat), 0) FROM agent_workers WHERE split_part(id, '-', 3) = $1"
_UNFINISHED = """
SELECT format('%s is %s by %s', agent, status, worker) AS sentence
  FROM agent_runs WHERE finished_at IS NULL ORDER BY created_at
"""
_TRANSACTIONS = """
SELECT format('%s is %s for %s (%s): %s', application_name, state, now() - state_change,
              wait_event, left(query, 80)) AS sentence
  FROM pg_stat_activity WHERE datname = current_database() AND xact_start IS NOT NULL
   AND pid <> pg_backend_pid()
"""
_NOTICES = "SELECT id, kind, settled_at, error FROM agent_notices"
_OVER = "SELECT id FROM agent_threads WHERE status NOT IN ('queued', 'running')"


@dataclass(frozen=True, slots=True)
class _Thaw:
    """When a process went on, and how often its heart had beaten by then."""

    at_ns: int
    beat: int


class _Play:
    """One play under way."""

    def __init__(
        self,
        lane: Lane,
        played: Played,
        build: str | None,
        words: list[Words],
        *,
        callers: bool,
    ) -> None:
        self._callers = callers
        self._lane = lane
        self._played = played
        self._build = build
        self._words = words
        self._kills = {
            WORKER: [kill for kill in played.kills if kill.who == WORKER],
            **{kill.who: [kill] for kill in played.kills if kill.who != WORKER},
        }
        self._children: dict[str, Child] = {}
        self._worker: Child | None = None
        self._armed: Kill | None = None
        self._frozen: list[Child] = []
        self._thawed: dict[Child, _Thaw] = {}
        self._deaths: list[Death] = []
        self._done: set[str] = set()
        self._calls = itertools.count()
        self._dedupe = uuid.uuid4().hex

    @property
    def _functions(self) -> Functions:
        return self._lane.telling if self._played.scenario.tells else self._lane.user

    async def perform(self) -> None:
        """Do every act when it is due, with a worker at hand, until all runs have ended."""
        acts = list(self._played.scenario.acts)
        while True:
            await self._see_who_died()
            state = replace(
                await self._lane.state(), deaths=len(self._deaths), done=frozenset(self._done)
            )
            due = next((act for act in acts if act.due(state)), None)
            if due is not None:
                acts.remove(due)
                if not await self._act(due, state):
                    acts.append(due)
                continue
            if not state.busy:
                break
            await self._see_to_worker()
            await self._thaw_the_buried()
            await asyncio.sleep(LOOK_S)
        await self._see_thawed_ones_out()
        await self._tidied()

    async def standstill(self) -> str:
        """Let every process log where it stands; return who should be doing what."""
        for child in self._children.values():
            child.send(signal.SIGUSR1)
        rows = await self._lane.database.fetch(_UNFINISHED)
        rows += await self._lane.database.fetch(_TRANSACTIONS)
        await asyncio.sleep(TRACES_S)
        return "; ".join(row["sentence"] for row in rows)

    async def clear_up(self) -> None:
        """Kill what is left."""
        for child in self._children.values():
            if child.is_alive:
                await child.kill()

    async def judge(self) -> None:
        """Gather what is known and hold the laws against it."""
        lane, played = self._lane, self._played
        played.visits = {who: child.visited() for who, child in self._children.items()}
        played.log = "".join(file.read_text() for file in sorted(lane.folder.glob("log*")))
        played.evidence = await gather(
            lane.database,
            lane.redis,
            lane.namespace,
            lane.body_folder,
            words=self._words,
            deaths=self._deaths,
            late=frozenset(),
        )
        played.evidence.late = self._late_starts(played.evidence)
        is_over = not played.violations
        played.violations += await check(played.evidence, at_rest=is_over)
        if is_over:
            played.violations += as_played(played.scenario, played.evidence, self._done)
            if played.scenario.tells:
                notices = [dict(row) for row in await lane.database.fetch(_NOTICES)]
                ends = [row["status"] for row in played.evidence.rows["runs"]]
                played.violations += lane.told.lacks(notices, ends.count("completed"))

    # ---- acts ----

    async def _act(self, act: Act, state: State) -> bool:
        """Do it; return false if it came too late and is to be done again."""
        self._done.add(act.name)
        if act.signal is not None:
            await self._see_to_worker()
            assert self._worker is not None
            self._worker.send(act.signal)
            return True
        call: Call = {
            "function": act.function,
            "arguments": dict(act.arguments(state)),
            "caller": USER,
            "roles": sorted(act.roles),
            "dedupe": f"{self._dedupe}-{act.name}-{next(self._calls)}",
        }
        kills = self._kills.pop(act.name, [])
        if kills or self._callers:
            answer = await self._call_elsewhere(act, call, kills)
            if answer is not None:
                return "error" not in answer or self._was_due(act, answer)
        if kills and act.is_asked_anew:
            call["dedupe"] += "-anew"
        try:
            await self._functions.call(
                call["function"],
                call["arguments"],
                caller=Identity(USER, act.roles),
                dedupe=call["dedupe"],
            )
        except ChatError as error:
            if not (kills and act.is_asked_anew):
                return self._was_due(act, {"error": error.code, "message": error.message})
        return True

    def _was_due(self, act: Act, refusal: Answer) -> bool:
        """Return false of an act that may come too late, and did; blame any other refusal."""
        if act.may_be_late and refusal["error"] == "CONFLICT":
            self._done.discard(act.name)
            return False
        self._blame(f"{act.name} was refused: {refusal}")
        return True

    async def _call_elsewhere(self, act: Act, call: Call, kills: Sequence[Kill]) -> Answer | None:
        """Let a process of its own do it; return its answer, or nothing if it was killed."""
        answer = self._lane.folder / f"log-answer-{act.name}"
        child = await self._fork(act.name, kills, call=call, answer=answer)
        if kills and kills[0].deed == "hold":
            await child.stands_or_ended()
            if child.is_frozen:
                await self._while_held(child, kills[0])
        code = await child.ended()
        if code == -signal.SIGKILL:
            await self._bury(child, kills[0])
            return None
        if code != 0:
            self._blame(f"{act.name} ended with {code}")
            return {}
        answered: Answer = json.loads(answer.read_text())
        return answered

    # ---- workers ----

    async def _see_who_died(self) -> None:
        """Note the death of a worker; let one that is held go on when that is done."""
        worker = self._worker
        if worker is None or (worker.is_alive and not worker.is_frozen):
            return
        if self._armed is not None and self._armed.deed == "hold" and worker.is_frozen:
            await self._while_held(worker, self._armed)
        else:
            self._worker = None
            await self._lost(worker)

    async def _see_to_worker(self) -> None:
        """Have a living worker."""
        if self._worker is not None:
            return
        kills = self._kills[WORKER]
        self._armed = kills.pop(0) if kills else None
        number = 1 + sum(who.startswith(WORKER) for who in self._children)
        name = WORKER if number == 1 else f"{WORKER} {number}"
        self._worker = await self._fork(name, [self._armed] if self._armed else [])

    async def _while_held(self, held: Child, kill: Kill) -> None:
        """Let something happen while a process stands still, then let it go on.

        It may hold what the others want: then they get it when it has gone on.
        """
        self._played.happened.append(kill)
        act, state = self._played.scenario.at_hold, await self._lane.state()
        if act is None or not act.due(state):
            held.thaw()
        elif act.does is not None:
            self._done.add(act.name)
            await act.does(self._standing(held, kill))
        else:
            async with asyncio.TaskGroup() as group:
                doing = group.create_task(self._act(act, state), name=act.name)
                await self._until(lambda: self._may_go_on(held, act, doing), f"{act.name} is done")
                held.thaw()

    async def _may_go_on(self, held: Child, act: Act, doing: asyncio.Task[bool]) -> bool:
        """Whether all is done, or who does it waits for what a process holds that is held."""
        if doing.done():
            return act.settled(await self._lane.state())
        own = pace.session_of(held.pid)
        worker = () if self._worker is None else (pace.session_of(self._worker.pid),)
        return await is_waited_for(self._lane.database, own, but_by=(own, *worker))

    def _standing(self, child: Child, kill: Kill) -> Standing:
        def has_passed() -> bool:
            way_on = self._lane.zygote.points.index(kill.way_on)
            return way_on in child.visited_since_thaw()

        return Standing(child.pid, self._lane.database_url, child.thaw, has_passed)

    async def _lost(self, worker: Child) -> None:
        kill = self._armed
        if worker.is_frozen and kill is not None:
            self._frozen.append(worker)
            await self._bury(worker, kill)
            if self._played.scenario.at_freeze is not None:
                await self._played.scenario.at_freeze(self._standing(worker, kill))
        elif worker.exit_code == -signal.SIGKILL and kill is not None:
            await self._bury(worker, kill)
        elif worker.exit_code != 0:
            raise PlayBroke(f"worker {worker.pid} ended with {worker.exit_code}")

    async def _fork(
        self, name: str, kills: Sequence[Kill], *, call: Call | None = None, answer: Path = Path()
    ) -> Child:
        lane = self._lane
        number = lane.zygote.next_id()
        order = Order(
            id=number,
            database_url=lane.database_url,
            redis_url=lane.redis_url,
            namespace=lane.namespace,
            trace=str(lane.folder / f"trace-{number}"),
            log=str(lane.folder / f"log{number:06}"),
            body_log=str(lane.body_folder),
            plan=tuple((kill.point, kill.visit, DEEDS[kill.deed]) for kill in kills),
            is_held=any(kill.deed == "hold" for kill in kills),
            build=self._build,
            call=call,
            answer=str(answer),
            webhook_url=lane.told.url if self._played.scenario.tells else None,
        )
        child = self._children[name] = await lane.zygote.fork(order)
        return child

    async def _bury(self, child: Child, kill: Kill) -> None:
        """Note what the stores held when it died, once nothing of it is under way any more."""
        self._played.happened.append(kill)
        lane = self._lane
        if not child.is_frozen:
            session = pace.session_of(child.pid)
            await self._until(lambda: self._has_gone(session), f"{session} has gone")
        await lane.redis.ping()
        finished = {row["key"] for row in await lane.database.fetch(_STEPS)}
        async for key in lane.redis.scan_iter(match=f"{lane.namespace}:{{*}}:journal"):
            entries = cast("list[bytes]", await command(lane.redis, "HKEYS", key))
            finished |= {entry.decode() for entry in entries} - {"#"}
        over = {row["id"] for row in await lane.database.fetch(_OVER)}
        death = Death(child.pid, time.time_ns(), frozenset(finished), frozenset(over))
        self._deaths.append(death)

    async def _has_gone(self, session: str) -> bool:
        left: int = await self._lane.database.fetchval(_SESSIONS, session)
        return left == 0

    async def _thaw_the_buried(self) -> None:
        """Let frozen workers go on once they were taken for dead: in the middle of the rescue."""
        for child in list(self._frozen):
            if await self._lane.database.fetchval(_MAY_LIVE, str(child.pid)):
                continue
            if self._played.scenario.thaws(await self._lane.state()):
                self._frozen.remove(child)
                await self._thaw(child)

    async def _see_thawed_ones_out(self) -> None:
        """Let those that were frozen do what they must not do.

        What they do not do at once they do when they hear a whole beat: then the lease is fresh.
        It is told to a worker's loop before the next beat, and has been acted on when the loop
        has turned.
        """
        for child in self._frozen:
            await self._thaw(child)
        self._frozen.clear()
        sweeps = self._lane.zygote.points.index(SWEEPS)
        for child, thaw in self._thawed.items():
            await self._until(partial(self._has_beaten, child, thaw.beat + 2), "it has beaten")
            swept = child.visited().count(sweeps)
            await self._until(partial(self._has_come_to, child, sweeps, swept + 2), "it has swept")

    async def _thaw(self, child: Child) -> None:
        self._thawed[child] = _Thaw(time.time_ns(), await self._beat_of(child))
        child.thaw()

    async def _has_beaten(self, child: Child, times: int) -> bool:
        return not child.is_alive or await self._beat_of(child) >= times

    def _has_come_to(self, child: Child, point: int, times: int) -> bool:
        return not child.is_alive or child.visited().count(point) >= times

    async def _beat_of(self, child: Child) -> int:
        beat: int = await self._lane.database.fetchval(_BEAT, str(child.pid))
        return beat

    def _late_starts(self, evidence: Evidence) -> frozenset[Line]:
        """Return the starts of bodies that had been let through when their process froze."""
        late: set[Line] = set()
        points = self._lane.zygote.points
        for child, thaw in self._thawed.items():
            visited = child.visited()
            names = [points[each] for each in visited[: visited.index(THAWED)]]
            let_through = sum(name.endswith(DOOR) for name in names) - names.count(BODY)
            after = [
                line
                for line in evidence.bodies
                if (line.pid, line.event) == (child.pid, "start") and line.at_ns > thaw.at_ns
            ]
            late.update(after[: max(let_through, 0)])
        return frozenset(late)

    async def _tidied(self) -> None:
        """Return when the last drive has dropped its journal, or is over and has not."""
        redis, namespace = self._lane.redis, self._lane.namespace
        deadline = time.monotonic() + TIDY_S
        while time.monotonic() < deadline:
            await self._see_who_died()
            if self._worker is None:
                return
            excused = {thread for death in self._deaths for thread in death.over}
            keys = [key async for key in redis.scan_iter(match=f"{namespace}:{{*}}:*")]
            threads = {key.decode().split("{")[1].split("}")[0] for key in keys}
            if threads <= excused | {"queue"} or self._drives_are_over():
                return
            await asyncio.sleep(LOOK_S)

    def _drives_are_over(self) -> bool:
        """Whether no worker is at an await of a drive; one that was cut off there seems to be."""
        if self._worker is not None and not self._worker.is_alive:
            return False  # its death is to be noted first: it excuses what was left behind
        number_of = self._lane.zygote.points.index
        for visited in [child.visited() for child in self._children.values() if child.is_alive]:
            for point in DRIVE:
                begun = visited.count(number_of(f"{point}:before"))
                if begun != visited.count(number_of(f"{point}:after")):
                    return False
        return True

    async def _until(self, is_so: Callable[[], object], description: str) -> None:
        """Return when it is so; the play's own patience ends first."""
        await wait_until(
            is_so, description=description, timeout_s=2 * PATIENCE_S, interval_s=LOOK_S
        )

    def _blame(self, sentence: str) -> None:
        self._played.violations.append(Violation("as played", sentence))
