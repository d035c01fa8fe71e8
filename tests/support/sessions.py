"""A user of a running ``dev``, over HTTP: starts runs and reads what is stored."""

import time
import uuid
from collections.abc import Callable
from typing import Any

import httpx2

from tests.support.dev_process import DevProcess
from tests.support.standstill import seconds_since, watch_for_standstills
from tests.support.wait_until import wait_until_sync

View = dict[str, Any]


class Session:
    """One thread of one agent."""

    def __init__(self, dev: DevProcess, agent: str) -> None:
        self._dev = dev
        self.agent = agent
        self.key = f"{agent}-{uuid.uuid4().hex[:8]}"

    def send(self, message: str, *, dedupe: str | None = None) -> str:
        """Start a run and return its id."""
        answer = httpx2.post(
            f"{self._dev.url}/agents/{self.agent}",
            json={"message": message, "sessionId": self.key},
            headers={"idempotency-key": dedupe} if dedupe else {},
            timeout=30,
        )
        assert answer.status_code == 202, answer.text
        return str(answer.json()["runId"])

    def regenerate(self) -> "tuple[Session, str]":
        """Have the last run answered again; return the branch and the run."""
        address = f"{self._dev.url}/agents/{self.agent}/sessions/{self.key}/regenerate"
        answer = httpx2.post(address, timeout=30)
        assert answer.status_code == 202, answer.text
        branch = Session(self._dev, self.agent)
        branch.key = answer.json()["sessionId"]
        return branch, str(answer.json()["runId"])

    def cancel(self, run_id: str) -> bool:
        """Cancel a run; return whether this ended it."""
        answer = httpx2.post(f"{self._dev.url}/runs/{run_id}/cancel", timeout=30)
        assert answer.status_code == 200, answer.text
        return bool(answer.json()["cancelled"])

    def approve(self, call_id: str, *, key: str | None = None) -> None:
        """Approve a call that waits for a person, here or in a thread that is named."""
        answer = httpx2.post(
            f"{self._dev.url}/functions/agents:agentResolveApproval",
            json={"key": key or self.key, "toolCallId": call_id, "decision": "approved"},
            timeout=30,
        )
        assert answer.status_code == 200, answer.text

    def view(self) -> View:
        """Return the session as the server shows it."""
        answer = httpx2.get(f"{self._dev.url}/agents/{self.agent}/sessions/{self.key}", timeout=30)
        assert answer.status_code == 200, answer.text
        found: View = answer.json()
        return found

    def until(
        self, predicate: Callable[[View], object], *, description: str, within_s: float = 30
    ) -> View:
        """Return the first view for which ``predicate`` is true; a dead gateway is waited out."""
        seen: list[View] = []

        def holds() -> bool:
            try:
                seen.append(self.view())
            except (httpx2.TransportError, AssertionError):
                return False
            return bool(predicate(seen[-1]))

        wait_until_sync(holds, description=f"{self.key}: {description}", timeout_s=within_s)
        return seen[-1]

    def until_ended(self, *, within_s: float = 30) -> View:
        """Return the view once no run is unfinished."""
        return self.until(
            lambda view: view["status"] in {"completed", "failed", "cancelled"},
            description="the run ends",
            within_s=within_s,
        )


def seconds_until(predicate: Callable[[], object], *, description: str) -> float:
    """Return how long it took until ``predicate`` was true, but for the machine's standstills."""
    watch_for_standstills()
    begun = time.time()
    wait_until_sync(predicate, description=description, interval_s=0.005)
    return seconds_since(begun)
