"""The laws of a thread at every moment: after each transaction that changed anything of it.

The audit is replayed, thread by thread, in the order of the commits.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from app.domain.run import FINAL, LIVE, PARKED, RunStatus
from app.domain.thread import shown_status
from tests.support.law_evidence import Change, Evidence, Row
from tests.support.law_histories import faults_of, message_of

_LEGAL: Final = {
    None: {"pending", "queued"},
    "pending": {"queued", "failed", "cancelled"},
    "queued": {"running", "failed", "cancelled"},
    "running": {"queued", "awaiting_input", "waiting", "completed", "failed", "cancelled"},
    "awaiting_input": {"queued", "failed", "cancelled"},
    "waiting": {"queued", "failed", "cancelled"},
    "failed": {"queued"},
}
_RAISES_EPOCH: Final = {("queued", "running"), ("running", "queued"), ("failed", "queued")}
_SIGNED = re.compile(r"ropewalk \d+")
_VISIBLE: Final = ("messages", "approvals")


async def moment_faults(evidence: Evidence) -> list[str]:
    """Return a sentence for each moment at which a law did not hold."""
    faults: list[str] = []
    drivers = {line.key for line in evidence.bodies}
    for thread, moments in _moments(evidence.changes).items():
        replay = _Replay(thread, drivers)
        last = moments[-1]
        for changes in moments:
            before = len(faults)
            faults += replay.go_on(changes)
            if changes is last or (_speaks(changes) and replay.length <= evidence.render_up_to):
                faults += await replay.history_faults()
            if len(faults) > before:
                at = changes[0].at.time()
                faults[before:] = [f"{fault} (at {at})" for fault in faults[before:]]
    return faults


def _speaks(changes: Sequence[Change]) -> bool:
    return any(change.table == "messages" for change in changes)


def _moments(changes: Sequence[Change]) -> Mapping[str, list[list[Change]]]:
    """Return each thread's changes, by transaction."""
    thread_of_run: dict[str, str] = {}
    found: dict[str, dict[int, list[Change]]] = defaultdict(dict)
    for change in changes:
        row = change.row
        if change.table == "runs":
            thread_of_run[row["id"]] = row["thread"]
        thread = row["id"] if change.table == "threads" else row.get("thread")
        thread = thread or thread_of_run.get(row.get("run", ""))
        if thread is not None:
            found[thread].setdefault(change.tx, []).append(change)
    return {thread: list(by_tx.values()) for thread, by_tx in found.items()}


@dataclass(slots=True)
class _Replay:
    """One thread as it was, and what was wrong with it."""

    id: str
    drivers: set[str]
    """Keys of the steps that a drive's body answers; others are facts, which anybody stores."""
    thread: Row = field(default_factory=dict)
    runs: dict[str, Row] = field(default_factory=dict)
    messages: dict[str, Row] = field(default_factory=dict)
    approvals: dict[str, Row] = field(default_factory=dict)
    steps: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    holder: str = ""
    """The session that claimed the run last."""

    def go_on(self, changes: Sequence[Change]) -> Iterator[str]:
        """Take in one transaction; yield what it did that it must not, or left as it must not."""
        before = self.thread
        moved = [
            it for it in changes if it.table == "runs" and self._status(it.old) != it.row["status"]
        ]
        yield from self._fence_faults(changes, moved)
        for change in changes:
            yield from self._change_faults(change)
            self._take(change)
        if self.thread:
            yield from self._number_faults(before, changes, moved)
            yield from self._run_faults()
            yield from self._message_faults()

    async def history_faults(self) -> list[str]:
        """Return what a provider would refuse of the thread as it is now."""
        rows = sorted(self.messages.values(), key=lambda row: row["seq"])
        return [f"{self._name}: {fault}" for fault in await faults_of(map(message_of, rows))]

    @property
    def length(self) -> int:
        """How many messages there are."""
        return len(self.messages)

    @property
    def _name(self) -> str:
        return f"thread {self.thread.get('key', self.id)}"

    @staticmethod
    def _status(row: Row | None) -> str | None:
        return None if row is None else row["status"]

    def _take(self, change: Change) -> None:
        row = change.row
        match change.table:
            case "threads":
                self.thread = row
            case "runs":
                if row["status"] == "running" and self._status(change.old) == "queued":
                    self.holder = change.session
                self.runs[row["id"]] = row
            case "messages":
                self.messages[row["id"]] = row
            case "approvals":
                self.approvals[row["id"]] = row
            case "steps":
                self.steps[row["run"]].add(row["name"])
            case _:
                pass

    def _fence_faults(self, changes: Iterable[Change], moved: Sequence[Change]) -> Iterator[str]:
        """A step that a drive makes is written by the drive that holds the run, or by its end."""
        ended = {it.row["id"] for it in moved if RunStatus(it.row["status"]) in FINAL}
        for change in changes:
            if change.table != "steps" or change.old is not None:
                continue
            run, step = change.row["run"], change.row["name"]
            if run in ended or f"{run}/{step}" not in self.drivers:
                continue
            status = self.runs.get(run, {}).get("status")
            if status != "running":
                yield f"{self._name}: {step} was recorded while its run was {status}"
            elif change.session != self.holder and _SIGNED.fullmatch(change.session):
                yield (
                    f"{self._name}: {step} was recorded by {change.session}, "
                    f"while {self.holder} had the run"
                )

    def _change_faults(self, change: Change) -> Iterator[str]:
        old, new = change.old, change.new
        match change.table:
            case "runs" if new is not None:
                was, status = self._status(old), new["status"]
                if was != status and status not in _LEGAL.get(was, set()):
                    yield f"{self._name}: run {new['id']} went from {was} to {status}"
            case "messages" if old is not None:
                yield from self._rewriting_faults(old, new)
            case "steps" if old is not None:
                what = "changed" if new else "deleted"
                yield f"{self._name}: the recorded step {old['name']} was {what}"
            case _:
                pass

    def _rewriting_faults(self, old: Row, new: Row | None) -> Iterator[str]:
        if new is None:
            yield f"{self._name}: message {old['key']} was deleted"
        elif (old["seq"], old["key"]) != (new["seq"], new["key"]):
            yield f"{self._name}: message {old['key']} became {new['key']} at {new['seq']}"
        elif old["status"] == "interrupted" and new["status"] == "open":
            pass  # a failed run is tried again
        elif old["status"] != "open" and old["parts"] != new["parts"]:
            yield f"{self._name}: message {old['key']} ({old['status']}) was written again"

    def _number_faults(
        self, before: Row, changes: Sequence[Change], moved: Sequence[Change]
    ) -> Iterator[str]:
        now = self.thread
        for number in ("epoch", "version", "wakes", "seq"):
            if before and now[number] < before[number]:
                yield f"{self._name}: {number} fell from {before[number]} to {now[number]}"
        raises = [(self._status(it.old), it.row["status"]) for it in moved]
        for was, status in raises:
            is_end = was in LIVE and RunStatus(status) in FINAL
            if ((was, status) in _RAISES_EPOCH or is_end) and now["epoch"] <= before["epoch"]:
                yield f"{self._name}: a run went from {was} to {status} under the same epoch"
        floor = before["version"] if before else 0
        for change in changes:
            if change.table in _VISIBLE and not floor < change.row["version"] <= now["version"]:
                yield (
                    f"{self._name}: {change.table} got version {change.row['version']} in a change "
                    f"from {floor} to {now['version']}"
                )

    def _run_faults(self) -> Iterator[str]:
        live = [run for run in self.runs.values() if RunStatus(run["status"]) in LIVE]
        if len(live) > 1:
            yield f"{self._name} has {len(live)} live runs"
        if self.thread["live_run"] != (live[0]["id"] if live else None):
            yield f"{self._name} says that {self.thread['live_run']} is its live run"
        for run in live:
            status = RunStatus(run["status"])
            if self.thread["status"] != shown_status(status).value:
                yield f"{self._name} shows {self.thread['status']} while its run is {status}"
            if status in PARKED and is_met(run["waits"], self.steps[run["id"]]):
                yield f"{self._name}: run {run['id']} is parked, and what it waits for is there"

    def _message_faults(self) -> Iterator[str]:
        rows = sorted(self.messages.values(), key=lambda row: row["seq"])
        places = [row["seq"] for row in rows]
        if places != list(range(1, len(rows) + 1)) or self.thread["seq"] != len(rows):
            yield f"{self._name} has messages at {places}, and counts {self.thread['seq']}"
        keys = [row["key"] for row in rows]
        if len(set(keys)) != len(keys):
            yield f"{self._name} has a message twice: {keys}"
        for at, row in enumerate(rows):
            if row["role"] == "assistant" and row["status"] == "complete":
                yield from self._result_faults(row, rows[at + 1 :])
        for row in rows:
            run = self.runs.get(row["run"], {"status": "completed"})
            if row["status"] == "open" and RunStatus(run["status"]) in FINAL:
                yield f"{self._name}: {row['key']} is open though its run is {run['status']}"

    def _result_faults(self, answer: Row, after: Sequence[Row]) -> Iterator[str]:
        """Each call has exactly one result row, next to it and in the order of the calls."""
        asked = _call_ids(answer, "tool_call")
        given = [each for row in after[: len(asked)] for each in _call_ids(row, "tool_result")]
        everywhere = [
            each
            for row in self.messages.values()
            if row["run"] == answer["run"] and row["turn"] == answer["turn"]
            for each in _call_ids(row, "tool_result")
        ]
        if asked != given or sorted(asked) != sorted(everywhere):
            yield (
                f"{self._name}: the calls {asked} of {answer['key']} are followed by the results "
                f"{given}, and there are {everywhere}"
            )


def is_met(waits: Any, steps: set[str]) -> bool:  # noqa: ANN401  # JSON
    """Whether one fact of every group that a run waits for is there."""
    if isinstance(waits, dict):
        waits = [[f"approval:{each}"] for each in waits.get("approvals", [])]
    return all(any(name in steps for name in group) for group in waits or [])


def _call_ids(row: Row, kind: str) -> list[str]:
    return [part["toolCallId"] for part in row["parts"] if part["type"] == kind]
