"""Those who only watch a storm: steady, restless, slow, asleep, and those who walk away."""

import asyncio
from random import Random

from tests.support.chaos.client import ChaosClient, Mood
from tests.support.chaos.ledger import Ledger
from tests.support.chaos.load import Talker

LOOK_S = 0.05

MOODS = (
    Mood("steady"),
    Mood("restless", leaves_after=(0.5, 4.0)),
    Mood("vanishing", leaves_after=(1.0, 6.0), says_goodbye=False),
    Mood("slow", dawdles=(0.0, 0.03)),
    Mood("sleepy", sleeps=(1.0, 4.0)),
    Mood("doubling", leaves_after=(3.0, 9.0)),
)


class Watcher:
    """Watches every thread of one talker."""

    def __init__(
        self, talker: Talker, urls: list[str], mood: Mood, rng: Random, ledger: Ledger
    ) -> None:
        self.client = ChaosClient(urls, talker.token, rng, ledger.violated, mood)
        self._talker = talker
        self._rng = rng

    async def watch(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self.client.run())
            seen = 0
            while True:
                for key in self._talker.keys[seen:]:
                    seen += 1
                    self._begin(key)
                await asyncio.sleep(LOOK_S)

    def _begin(self, key: str) -> None:
        self.client.watch_thread(key)
        self.client.watch_state(key)
        self.client.watch(key)
        if self.client.mood.name == "doubling":
            again = f"again {key}"
            self.client.watch(key, id_=again, stream=self._rng.random() < 0.5, limit=150)
            asyncio.get_running_loop().call_later(1, self.client.subscribe_twice, again)
