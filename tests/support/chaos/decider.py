"""The person who decides what a thread's agent asks, sometimes twice, sometimes two ways."""

import asyncio
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from tests.support.chaos.client import ChaosClient, Refused, ValueWatch
from tests.support.chaos.ledger import Ledger

LONGEST_S = 2.0
QUICK_S = 0.2


class Decider:
    """Decides for one thread until cancelled."""

    def __init__(
        self,
        key: str,
        pages: Sequence[ChaosClient],
        watch: ValueWatch,
        rng: Random,
        ledger: Ledger,
    ) -> None:
        self.is_quick = False
        self._key = key
        self._pages = pages
        self._watch = watch
        self._rng = rng
        self._ledger = ledger

    async def run(self) -> None:
        """Decide whatever is asked."""
        decided: set[str] = set()
        async with asyncio.TaskGroup() as group:
            while True:
                self._watch.changed.clear()
                thread: Mapping[str, Any] = self._watch.value or {}
                for approval in thread.get("pendingApprovals", ()):
                    call = approval["toolCallId"]
                    if call not in decided:
                        decided.add(call)
                        group.create_task(self._decide(call))
                await self._watch.changed.wait()

    async def _decide(self, call: str) -> None:
        await asyncio.sleep(self._rng.random() * (QUICK_S if self.is_quick else LONGEST_S))
        first = self._rng.choice(("approved", "approved", "denied"))
        wishes = [first, self._rng.choice((first, "denied"))][: self._rng.choice((1, 1, 2))]
        answers = await asyncio.gather(*(self._resolve(call, wish) for wish in wishes))
        said = {answer["decision"] for answer in answers if answer is not None}
        if len(said) > 1:
            self._ledger.violated(f"{self._key} {call}: decided two ways: {said}")
        for decision in said:
            self._ledger.decisions[self._key, call] = decision

    async def _resolve(self, call: str, decision: str) -> dict[str, Any] | None:
        args = {"key": self._key, "toolCallId": call, "decision": decision}
        return await until_answered(
            self._pages, "agentResolveApproval", args, self._rng, self._ledger
        )


async def until_answered(
    pages: Sequence[ChaosClient],
    function: str,
    args: Mapping[str, str],
    rng: Random,
    ledger: Ledger,
) -> dict[str, Any] | None:
    """Call about a thread until there is an answer; nothing if it came too late to matter.

    Args:
        pages: any of them may carry it.
        function: of the built-in ones.
        args: of the call, the thread's key among them.
        rng: chooses.
        ledger: is told of refusals that there must not be.
    """
    dedupe = f"{function}-{rng.random()}"
    while True:
        page = rng.choice(list(pages))
        try:
            answer: dict[str, Any] = await page.call(
                f"agents:{function}", dict(args), dedupe=dedupe
            )
        except Refused as refused:
            if refused.code == "UNAVAILABLE":
                await asyncio.sleep(rng.random() * 0.3)
                continue
            if refused.code != "CONFLICT":
                ledger.violated(f"{function} {args}: {refused}")
            return None
        return answer
