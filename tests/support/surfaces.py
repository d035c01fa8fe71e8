"""The three ways in which somebody decides, as a browser, a program and a terminal send it."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import httpx2

from tests.support.decision_schedules import PLACES, Answer, Attempt, Reply

Outcome: TypeAlias = tuple[str, Mapping[str, Any]]
"""``OK``, or the word of a refusal; and its data."""

RESOLVE_ONE = "agents:agentResolveApproval"
RESOLVE_MANY = "agents:agentResolveApprovals"


@dataclass(frozen=True)
class Surfaces:
    """Everybody's socket and HTTP client.

    Attributes:
        call: calls a function on a person's socket.
        clients: by person.
        agent: whose sessions they are.
    """

    call: Callable[[str, str, Mapping[str, Any]], Awaitable[Outcome]]
    clients: Mapping[str, httpx2.AsyncClient]
    agent: str = "a"

    async def send(self, key: str, ids: Mapping[str, str], attempt: Attempt) -> Reply:
        """Let somebody decide; ``ids`` has the approval of each call."""
        match attempt.surface:
            case "socket":
                code, data = await self._on_a_socket(key, attempt)
            case "http":
                code, data = await self._over_http(key, ids, attempt)
            case _:
                code, data = await self._at_a_terminal(key, ids, attempt)
        return Reply(attempt, code, data)

    async def _on_a_socket(self, key: str, attempt: Attempt) -> Outcome:
        given = [{"toolCallId": each.call, **_body(each, attempt.id)} for each in attempt.answers]
        via = PLACES["socket"]
        if len(given) == 1:
            return await self.call(
                attempt.person, RESOLVE_ONE, {"key": key, "via": via, **given[0]}
            )
        many = {"key": key, "via": via, "decisions": given}
        return await self.call(attempt.person, RESOLVE_MANY, many)

    async def _over_http(self, key: str, ids: Mapping[str, str], attempt: Attempt) -> Outcome:
        client, path = (
            self.clients[attempt.person],
            f"/agents/{self.agent}/sessions/{key}/approvals",
        )
        given = [
            {"approvalId": ids[each.call], **_body(each, attempt.id)} for each in attempt.answers
        ]
        if len(given) == 1:
            one = given[0]
            return _outcome(await client.post(f"{path}/{one.pop('approvalId')}", json=one))
        return _outcome(await client.post(path, json={"decisions": given}))

    async def _at_a_terminal(self, key: str, ids: Mapping[str, str], attempt: Attempt) -> Outcome:
        """Do what ``ropewalk approvals`` does: list, find the row, decide on what it shows."""
        client, (answer,) = self.clients[attempt.person], attempt.answers
        listed = await client.get("/approvals", params={"status": "all", "limit": 1000})
        wanted = ids[answer.call]
        row = next((each for each in listed.json()["approvals"] if each["id"] == wanted), None)
        if row is None:
            return "FORBIDDEN", {"toolCallId": answer.call}
        body = {"inputHash": row["inputHash"], **_body(answer, attempt.id), "via": PLACES["cli"]}
        path = f"/agents/{row['agent']}/sessions/{row['key']}/approvals/{wanted}"
        return _outcome(await client.post(path, json=body))


def _body(answer: Answer, reason: str) -> dict[str, Any]:
    body: dict[str, Any] = {"decision": answer.decision, "reason": reason}
    if answer.edited is not None:
        body["editedInput"] = dict(answer.edited)
    if answer.shown is not None:
        body["inputHash"] = answer.shown
    return body


def _outcome(response: httpx2.Response) -> Outcome:
    if response.is_success:
        return "OK", {}
    error = response.json()
    return error["code"], error.get("data") or {}
