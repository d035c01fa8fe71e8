"""A course of random events, and the law that holds whenever it is quiet.

Whatever happened, every subscriber's last push equals a fresh read.  In a round without losses
only announcements may bring that about; in one with losses the counters heal it.
"""

import asyncio
import logging
import os
import random
import secrets
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from sqlalchemy import text

from app.authoring.contexts import MutationContext, QueryContext
from app.authoring.functions import ServerFunction, mutation, query
from app.domain.errors import ChatError
from app.domain.identity import ANONYMOUS
from app.gateway import write_ledger
from tests.support.query_view import QueryView
from tests.support.reactive.reads import execute, random_read
from tests.support.reactive.schema import random_schema
from tests.support.reactive.writes import Draw, Step, plain_sql, random_write
from tests.support.reactive_world import MODULE, Node, ReactiveWorld
from tests.support.wait_until import wait_until
from tests.support.ws_client import WsClient

_READS = 14
_PATIENCE_S = 6.0
_LOOK_S = 0.25
_EXPLAINS_S = 1.0
"""Instead of twelve seconds: here a commit is counted at once."""


def seed_of(number: int) -> str:
    """Return a course's seed; ``REACTIVE_SEED`` is one that is to be repeated."""
    return os.environ.get("REACTIVE_SEED") or f"{secrets.token_hex(3)}-{number}"


class Untrue(AssertionError):
    """A subscriber shows what is not so."""


class Course:
    """Everything that is drawn from one seed."""

    def __init__(self, seed: str) -> None:
        self.seed = seed
        self.chance = random.Random(seed)  # noqa: S311  # a seed that can be repeated
        self.schema = random_schema(self.chance)
        self.reads = [random_read(self.chance, self.schema) for _ in range(_READS)]
        self.log: list[str] = []
        self._writes: list[list[Step]] = []
        self._clients: list[tuple[WsClient, dict[int, QueryView]]] = []
        self._is_lossy = False

    @property
    def declared(self) -> list[ServerFunction[..., Any]]:
        """The functions that gateways serve."""

        @query
        async def ask(ctx: QueryContext, number: int) -> list[list[str]]:
            return await self.reads[number].body(ctx.db)

        @mutation
        async def write(ctx: MutationContext, number: int) -> None:
            # Have it counted with the commit: else that may take ten seconds.
            await execute(ctx.db, text("SELECT pg_stat_force_next_flush()"))
            for step in self._writes[number]:
                await step.body(ctx.db)

        return [ask, write]

    async def run(self, world: ReactiveWorld, rounds: int) -> None:
        """Let things happen, and check the law after each round.

        Raises:
            Untrue: it does not hold; says who shows what, and what had happened.
        """
        with _quietly(), patch.object(write_ledger, "EXPLAINS_S", _EXPLAINS_S):
            try:
                await world.node()
                await world.node()
                for _ in range(6):
                    await self._write(world)
                for _ in range(3):
                    await self._come(world)
                for _ in range(rounds):
                    await self._round(world)
            finally:
                for client, _ in self._clients:
                    await client.close()

    async def _round(self, world: ReactiveWorld) -> None:
        self._is_lossy = self.chance.random() < 0.25
        self.log.append(f"--- a round {'with losses' if self._is_lossy else ''}")
        if self._is_lossy:
            for node in world.nodes:
                await node.gateway.reconcile()
        for _ in range(self.chance.randint(4, 8) if self._is_lossy else self.chance.randint(1, 4)):
            event = self.chance.choice(_LOSSES if self._is_lossy else _EVENTS)
            await event(self, world)
        for node in world.nodes:
            node.hears = lambda _: True
        await self._quiet(world)

    # ------------------------------------------------------------ the law

    async def _quiet(self, world: ReactiveWorld) -> None:
        fresh = {number: await _fresh(world, number) for number in range(_READS)}

        async def holds() -> bool:
            if self._is_lossy:
                for node in world.nodes:
                    await node.gateway.reconcile()
            return self._untrue(fresh) is None and all(map(_rests, world.nodes))

        try:
            await wait_until(
                holds,
                description="everybody is shown what is so",
                timeout_s=_PATIENCE_S,
                interval_s=_LOOK_S if self._is_lossy else 0.01,
            )
        except AssertionError as error:
            lines = "\n".join(self.log[-40:])
            raise Untrue(f"seed {self.seed}: {self._untrue(fresh)}\n{lines}") from error

    def _untrue(self, fresh: dict[int, tuple[str, Any]]) -> str | None:
        for client, views in self._clients:
            for number, view in views.items():
                if view.said != fresh[number]:
                    return (
                        f"{client.url} shows of {number} ({self.reads[number].says})"
                        f" {view.said}, but it is {fresh[number]}"
                    )
        return None

    # ------------------------------------------------------------ events

    async def _write(self, world: ReactiveWorld) -> None:
        node = self.chance.choice(world.nodes)
        await self._write_at(node)

    async def _write_together(self, world: ReactiveWorld) -> None:
        count = self.chance.randint(2, 4)
        await asyncio.gather(
            *(self._write_at(self.chance.choice(world.nodes)) for _ in range(count))
        )

    async def _write_at(self, node: Node) -> None:
        number = len(self._writes)
        self._writes.append(random_write(self.chance, self.schema))
        outcome = "done"
        try:
            await node.functions.call(f"{MODULE}:write", {"number": number}, caller=ANONYMOUS)
        except ChatError as error:
            outcome = f"{error.code} {error.__cause__ and str(error.__cause__)[:90]!r}"
        steps = "; ".join(each.says for each in self._writes[number])
        self.log.append(f"{node.url[-8:-3]} {number}: {steps}: {outcome}")

    async def _come(self, world: ReactiveWorld) -> None:
        client = WsClient(self.chance.choice(world.nodes).url)
        await client.connect()
        self._clients.append((client, {}))
        for _ in range(5):
            await self._subscribe(world)

    async def _subscribe(self, world: ReactiveWorld) -> None:
        if not self._clients:
            await self._come(world)
            return
        client, views = self.chance.choice(self._clients)
        number = self.chance.randrange(_READS)
        if number not in views:
            views[number] = await client.ask(f"{MODULE}:ask", id_=str(number), number=number)

    async def _unsubscribe(self, world: ReactiveWorld) -> None:
        del world
        client, views = self._somebody()
        if client is not None and views:
            number = self.chance.choice(sorted(views))
            del views[number]
            await client.unwatch(str(number))

    async def _leave(self, world: ReactiveWorld) -> None:
        del world
        if len(self._clients) > 1:
            client, _ = self._clients.pop(self.chance.randrange(len(self._clients)))
            await client.close()

    async def _reconnect(self, world: ReactiveWorld) -> None:
        client, _ = self._somebody()
        if client is not None:
            self.log.append(f"somebody of {client.url} reconnects")
            await (client.cut() if self.chance.random() < 0.5 else client.close())
            await _connect(client, self.chance.choice(world.nodes))

    async def _restart(self, world: ReactiveWorld) -> None:
        if self.chance.random() < 0.6:
            return
        node = self.chance.choice(world.nodes)
        crash = self.chance.random() < 0.5
        self.log.append(f"{node.url} {'crashes' if crash else 'leaves'}")
        new = await world.node()
        await world.stop(node, crash=crash)
        for client, _ in self._clients:
            if client.url == node.url:
                await client.close()
                await _connect(client, self.chance.choice([new, *world.nodes]))

    # ------------------------------------------------------------ losses

    async def _write_unsaid(self, world: ReactiveWorld) -> None:
        node = self.chance.choice(world.nodes)
        node.is_mute = True
        self.log.append("unsaid:")
        await self._write_at(node)
        node.is_mute = False

    async def _write_outside(self, world: ReactiveWorld) -> None:
        draw = Draw(self.chance, self.schema)
        statement = plain_sql(draw, self.chance.choice(self.schema.tables))
        self.log.append(f"outside: {statement}")
        try:
            await world.outside(statement)
        except Exception as error:  # noqa: BLE001 - it may break a constraint
            self.log.append(f"  refused: {error}")

    async def _lose(self, world: ReactiveWorld) -> None:
        node, share = self.chance.choice(world.nodes), self.chance.choice([0.0, 0.5, 1.0])
        self.log.append(f"{node.url} loses {share:.0%}")
        node.hears = lambda _: self.chance.random() >= share

    async def _look(self, world: ReactiveWorld) -> None:
        self.log.append("looks")
        await self.chance.choice(world.nodes).gateway.reconcile()

    def _somebody(self) -> tuple[WsClient | None, dict[int, QueryView]]:
        return self.chance.choice(self._clients) if self._clients else (None, {})


async def _connect(client: WsClient, node: Node) -> None:
    client.url = node.url
    for view in client.answers.values():
        view.frames.clear()
    await client.connect()
    await wait_until(
        lambda: all(view.is_answered for view in client.answers.values()),
        description="everything is answered again",
    )


async def _fresh(world: ReactiveWorld, number: int) -> tuple[str, Any]:
    try:
        return "snapshot", await world.fresh("ask", number=number)
    except ChatError as error:
        return "error", error.code


def _rests(node: Node) -> bool:
    return not any(live._is_running for live in node.gateway.queries._queries.values())


@contextmanager
def _quietly() -> Iterator[None]:
    """Keep what the drawn statements do wrong out of the log."""
    before = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        yield
    finally:
        logging.disable(before)


_Event = Callable[[Course, ReactiveWorld], Awaitable[None]]

_EVENTS: list[_Event] = [
    *(Course._write,) * 6,
    *(Course._write_together,) * 3,
    Course._come,
    Course._subscribe,
    Course._subscribe,
    Course._subscribe,
    Course._unsubscribe,
    Course._leave,
    Course._reconnect,
    Course._restart,
]
_LOSSES: list[_Event] = [
    *_EVENTS,
    *(Course._write_unsaid,) * 3,
    *(Course._write_outside,) * 3,
    *(Course._lose,) * 2,
    *(Course._look,) * 2,
]
