"""One transaction and what it owes: announced, rung and dropped after the commit."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from app.store.database import Connection, Database
from app.store.notices import put_notices
from app.store.owed import Listeners, Owed
from app.store.showing import show_at_the_top, show_in_root

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Transacting:
    """Runs transactions on a database and tells the listeners what came of them."""

    database: Database
    listeners: Listeners

    async def run(self, work: Callable[[Connection, Owed], Awaitable[T]]) -> T:
        """Run one transaction; what it owes is paid after the commit."""

        async def once(connection: Connection) -> tuple[T, Owed]:
            owed = Owed(notices=[] if self.listeners.notices else None)
            result = await work(connection, owed)
            if owed.notices:
                await put_notices(connection, owed.notices)
            return result, owed

        result, owed = await self.database.transact(once)
        await owed.pay(self.listeners)
        await show_at_the_top(owed, lambda root: self.run(partial(show_in_root, root)))
        return result
